/* SPDX-License-Identifier: BSD-3-Clause */
#include "unit.h"

#include "daemon/inside.h"
#include <string.h>

static const struct server_address address = {.text = "127.0.0.1:6379"};
static const struct redis_settings redis = {.name = "", .addresses = &address, .n_addresses = 1};
static const struct recovery_settings orders = {.name = "orders", .redis = &redis};
static const struct recovery_settings invoices = {.name = "invoices", .redis = &redis};

static void compose(const struct recovery_facts *facts, size_t n, bool stopping, const char *want) {
    char text[NOTIFY_STATUS_MAX + 1], state[NOTIFY_STATUS_MAX + 1];

    const struct status_view view = {.facts = facts, .n = n, .configured = n, .stopping = stopping};

    status_compose(&view, text, state);
    assert_string_equal(text, want);
    assert_memory_equal(text, state, strlen(state));
}

static void test_nothing_to_do(void **state) {
    compose(NULL, 0, false, "nothing to do: no [recovery] is configured");
}

static void test_all_is_well(void **state) {
    const struct recovery_facts facts[] = {{.settings = &orders, .trouble = ""}};

    compose(facts, 1, false, "1 recovery");
}

static void test_the_example_of_the_manual(void **state) {
    const struct recovery_facts facts[] = {
        {.settings = &orders, .trouble = "no group \"order-workers\""},
        {.settings = &invoices,
         .trouble = "",
         .held = 3,
         .last_pass_at = 5,
         .last_pass = {.claimed = 25, .acked = 24, .failed = 1}},
    };
    compose(facts, 2, false,
            "2 recoveries, 1 waiting (orders: no group \"order-workers\"); last pass invoices: "
            "25 claimed, 24 acked, 1 failed; holding 3");
}

static void test_errors_come_first_and_the_link_speaks_for_all(void **state) {
    const struct recovery_facts facts[] = {
        {.settings = &orders, .trouble = "Connection refused", .trouble_is_link = true},
        {.settings = &invoices, .trouble = "Connection refused", .trouble_is_link = true},
        {.settings = &orders, .trouble = "no permission for XACK", .trouble_is_error = true},
    };
    compose(facts, 3, false,
            "3 recoveries, 1 in error (orders: no permission for XACK), 2 waiting (redis "
            "127.0.0.1:6379: Connection refused)");
}

static void test_where_nothing_runs(void **state) {
    const struct recovery_facts moved[] = {{.settings = &orders,
                                            .trouble = "",
                                            .last_pass_at = 5,
                                            .last_pass = {.claimed = 9, .acked = 8, .moved = 8}}};
    const struct recovery_facts claimed[] = {{.settings = &orders,
                                              .trouble = "",
                                              .last_pass_at = 5,
                                              .last_pass = {.claimed = 9, .handed_over = 9}}};

    compose(moved, 1, false, "1 recovery; last pass orders: 9 claimed, 8 acked, 8 moved");
    compose(claimed, 1, false, "1 recovery; last pass orders: 9 claimed, 0 acked, 9 handed over");
}

static void test_stopping(void **state) {
    const struct recovery_facts facts[] = {
        {.settings = &orders, .trouble = "", .running = 2, .held = 2}};

    compose(facts, 1, true, "1 recovery, stopping: waiting for 2 running handlers; holding 2");
}

static void compose_view(const struct status_view *view, const char *want) {
    char text[NOTIFY_STATUS_MAX + 1], state[NOTIFY_STATUS_MAX + 1];

    status_compose(view, text, state);
    assert_string_equal(text, want);
    assert_memory_equal(text, state, strlen(state));
}

static void test_after_a_reload(void **state) {
    const struct recovery_facts facts[] = {
        {.settings = &orders, .trouble = "", .state = RECOVERY_PAUSED},
        {.settings = &invoices, .trouble = "", .state = RECOVERY_DRAINING, .running = 1, .held = 1},
    };

    compose_view(&(struct status_view){.facts = facts, .n = 2, .configured = 1},
                 "1 recovery, 1 draining (1 running handler), 1 paused; holding 1");
    compose_view(
        &(struct status_view){.facts = facts, .n = 1, .configured = 1, .reload_failed = "x.conf:3"},
        "reload failed at x.conf:3; the old configuration is in force; 1 recovery, "
        "1 paused");
}

static void test_never_longer_than_200_bytes(void **state) {
    char long_phrase[1000];
    char text[NOTIFY_STATUS_MAX + 1], state_text[NOTIFY_STATUS_MAX + 1];
    struct recovery_facts facts[] = {{.settings = &orders, .trouble = long_phrase, .held = 1}};

    memset(long_phrase, 'x', sizeof(long_phrase) - 1);
    long_phrase[sizeof(long_phrase) - 1] = '\0';
    status_compose(&(struct status_view){.facts = facts, .n = 1, .configured = 1}, text,
                   state_text);
    assert_int_equal(strlen(text), NOTIFY_STATUS_MAX);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_nothing_to_do),
        cmocka_unit_test(test_all_is_well),
        cmocka_unit_test(test_the_example_of_the_manual),
        cmocka_unit_test(test_errors_come_first_and_the_link_speaks_for_all),
        cmocka_unit_test(test_where_nothing_runs),
        cmocka_unit_test(test_stopping),
        cmocka_unit_test(test_after_a_reload),
        cmocka_unit_test(test_never_longer_than_200_bytes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
