/* SPDX-License-Identifier: BSD-3-Clause */
#include "unit.h"

#include "base/entry_id.h"
#include <string.h>

static void good(const char *text, uint64_t ms, uint64_t seq) {
    struct entry_id id;
    char out[ENTRY_ID_TEXT_MAX];

    assert_true(entry_id_parse(text, strlen(text), &id));
    assert_true(id.ms == ms && id.seq == seq);
    size_t n = entry_id_format(id, out);
    assert_int_equal(n, strlen(out));
    assert_string_equal(out, text);
}

static void test_reads_what_a_server_writes(void **state) {
    good("0-0", 0, 0);
    good("1700000000000-17", 1700000000000, 17);
    good("18446744073709551615-18446744073709551615", UINT64_MAX, UINT64_MAX);
}

static void test_refuses_everything_else(void **state) {
    static const char *const bad[] = {
        "",
        "-",
        "1",
        "1-",
        "-1",
        "1-2 ",
        " 1-2",
        "+1-2",
        "1-+2",
        "1--2",
        "a-1",
        "1-a",
        "1-2-3",
        "0x1-1",
        "18446744073709551616-0",
        "0-18446744073709551616",
        "99999999999999999999999999-0",
    };
    struct entry_id id = {7, 7};

    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
        assert_false(entry_id_parse(bad[i], strlen(bad[i]), &id));
    assert_false(entry_id_parse("1-2\0", 4, &id));
    assert_true(id.ms == 7 && id.seq == 7);
}

static void test_writes_the_longest_in_its_buffer(void **state) {
    char out[ENTRY_ID_TEXT_MAX];

    entry_id_format((struct entry_id){UINT64_MAX, UINT64_MAX}, out);
    assert_string_equal(out, "18446744073709551615-18446744073709551615");
}

static void test_orders_by_time_then_sequence(void **state) {
    struct entry_id a = {1, 9}, b = {2, 0}, c = {2, 1};

    assert_true(entry_id_compare(a, b) < 0);
    assert_true(entry_id_compare(c, b) > 0);
    assert_int_equal(entry_id_compare(b, b), 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_reads_what_a_server_writes),
        cmocka_unit_test(test_refuses_everything_else),
        cmocka_unit_test(test_writes_the_longest_in_its_buffer),
        cmocka_unit_test(test_orders_by_time_then_sequence),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
