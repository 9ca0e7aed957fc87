/* SPDX-License-Identifier: BSD-3-Clause */
#include "unit.h"

#include "control/status.h"
#include <string.h>

#define SEC USEC_PER_SEC

static struct status_recovery recoveries[] = {
    {.name = "orders",
     .state = "resting",
     .trouble = "",
     .stream = "orders",
     .group = "workers",
     .consumer = "c",
     .redis = "",
     .pending = 1234567,
     .oldest = 200 * SEC,
     .held = 3,
     .running = 2,
     .next_scan = 48 * SEC,
     .last_pass = 12 * SEC,
     .last = {[STATUS_CLAIMED] = 25, [STATUS_ACKED] = 24},
     .total =
         {[STATUS_CLAIMED] = 1025, [STATUS_ACKED] = 1000, [STATUS_FAILED] = 25, [STATUS_LOST] = 1},
     .passes = 7},
    {.name = "a",
     .state = "waiting",
     .trouble = "no stream \"a\"",
     .stream = "a",
     .group = "g",
     .consumer = "c",
     .redis = "x",
     .oldest = USEC_INFINITY,
     .next_scan = USEC_INFINITY,
     .last_pass = USEC_INFINITY},
};
static struct status_server servers[] = {
    {.name = "", .address = "127.0.0.1:6379", .state = "up", .trouble = "", .recoveries = 1},
    {.name = "x",
     .address = "unix:///run/r",
     .state = "down",
     .trouble = "Connection refused",
     .recoveries = 1},
};
static const struct control_status whole = {.version = "0.1.0",
                                            .sentence = "2 recoveries",
                                            .pid = 77,
                                            .up = 3 * 3600 * SEC + 720 * SEC,
                                            .recoveries = recoveries,
                                            .n_recoveries = 2,
                                            .servers = servers,
                                            .n_servers = 2};

static char *json_of(const struct control_status *status) {
    char *text = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&text, &size);

    assert_non_null(out);
    assert_int_equal(status_write(status, out), 0);
    assert_int_equal(fclose(out), 0);
    return text;
}

static char *table_of(const struct control_status *status) {
    char *text = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&text, &size);

    assert_non_null(out);
    status_print(status, out);
    assert_int_equal(fclose(out), 0);
    return text;
}

static void test_what_is_written_is_read_back(void **state) {
    char *json = json_of(&whole), *again;
    struct status_read *read = NULL;

    assert_int_equal(status_read(json, &read), 0);
    again = json_of(status_read_get(read));
    assert_string_equal(json, again);
    assert_string_equal(status_read_get(read)->recoveries[1].trouble, "no stream \"a\"");
    assert_true(status_read_get(read)->recoveries[0].oldest == 200 * SEC);
    assert_true(status_read_get(read)->recoveries[1].oldest == USEC_INFINITY);
    read = status_read_free(read);
    free(again);
    free(json);
}

static void test_any_bytes_become_json(void **state) {
    struct status_recovery odd = recoveries[0];
    struct control_status status = whole;
    struct status_read *read = NULL;

    odd.stream = "\xff\n\"\\\x01";
    odd.pending = UINT64_MAX;
    status.recoveries = &odd;
    status.n_recoveries = 1;
    char *json = json_of(&status);
    assert_int_equal(status_read(json, &read), 0);
    assert_string_equal(status_read_get(read)->recoveries[0].stream, "\\xff\\x0a\"\\\\\\x01");
    assert_true(status_read_get(read)->recoveries[0].pending == INT64_MAX);
    status_read_free(read);
    free(json);
}

static void test_what_is_not_understood(void **state) {
    static const char *const texts[] = {
        "",
        "{",
        "[]",
        "{}",
        "null",
        "{\"recoveries\": []}",
        "{\"recoveries\": {}, \"servers\": []}",
        "{\"recoveries\": [], \"servers\": 1}",
    };

    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
        struct status_read *read = NULL;

        assert_int_equal(status_read(texts[i], &read), STATUS_E_BAD);
        assert_null(read);
    }
}

static void test_of_another_version_what_is_known_is_shown(void **state) {
    struct status_read *read = NULL;
    static const char text[] = "{\"recoveries\": [{\"name\": 5, \"pending\": \"many\", "
                               "\"held\": -1, \"new\": []}, 7], \"servers\": [{}]}";

    assert_int_equal(status_read(text, &read), 0);
    char *table = table_of(status_read_get(read));
    assert_non_null(strstr(table, "RECOVERY"));
    status_read_free(read);
    free(table);
}

static void test_the_table(void **state) {
    char *table = table_of(&whole);

    assert_string_equal(
        table, "xautoclaimd 0.1.0, process 77, up 3h 12m\n"
               "2 recoveries\n"
               "\n"
               "RECOVERY  STATE      PENDING  OLDEST       HELD  LAST PASS                    "
               "  NEXT  CLAIMED  ACKED  FAILED  LOST\n"
               "orders    resting  1,234,567  3m 20s  3 (2 run)  25 claimed, 24 acked, 12s ago"
               "   48s    1,025  1,000      25     1\n"
               "a         waiting          0       -          0  -                            "
               "     -        0      0       0     0\n"
               "a: no stream \"a\"\n"
               "\n"
               "REDIS  ADDRESS         RECOVERIES  STATE\n"
               "-      127.0.0.1:6379           1  up\n"
               "x      unix:///run/r            1  down: Connection refused\n");
    free(table);
}

static void test_nothing_to_do(void **state) {
    const struct control_status empty = {
        .version = "0.1.0", .sentence = "nothing to do", .pid = 1, .up = 86400 * SEC};
    char *table = table_of(&empty);

    assert_string_equal(table, "xautoclaimd 0.1.0, process 1, up 1d 0h\nnothing to do\n");
    free(table);
}

static void test_a_line(void **state) {
    char *text = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&text, &size);

    status_print_line(&recoveries[1], out);
    assert_int_equal(fclose(out), 0);
    assert_string_equal(text, "a waiting pending=0 held=0 running=0 claimed=0 acked=0 failed=0 "
                              "rejected=0 exhausted=0 dead_lettered=0 missing=0 lost=0 deleted=0 "
                              "moved=0 handed_over=0 trouble: no stream \"a\"\n");
    free(text);
}

static void test_ages(void **state) {
    assert_true(status_age(1700000000000, 1700000001500) == 1500 * USEC_PER_MSEC);
    assert_true(status_age(1700000000000, 1700000000000) == 0);
    assert_true(status_age(1, 1700000000000) == USEC_INFINITY);
    assert_true(status_age(1700000000001, 1700000000000) == USEC_INFINITY);
    assert_true(status_age(UINT64_MAX, 1700000000000) == USEC_INFINITY);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_what_is_written_is_read_back),
        cmocka_unit_test(test_any_bytes_become_json),
        cmocka_unit_test(test_what_is_not_understood),
        cmocka_unit_test(test_of_another_version_what_is_known_is_shown),
        cmocka_unit_test(test_the_table),
        cmocka_unit_test(test_nothing_to_do),
        cmocka_unit_test(test_a_line),
        cmocka_unit_test(test_ages),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
