/* SPDX-License-Identifier: BSD-3-Clause */
#include "unit.h"

#include "report/limit.h"

#define S USEC_PER_SEC

static void test_a_burst_then_silence(void **state) {
    const struct limit_rule rule = {3, 30 * S};
    struct limit limit = {0};

    for (int i = 0; i < 3; i++)
        assert_true(limit_pass(&limit, &rule, 100 * S));
    assert_false(limit_pass(&limit, &rule, 100 * S));
    assert_false(limit_pass(&limit, &rule, 130 * S - 1));
    assert_true(limit_pass(&limit, &rule, 130 * S));
    assert_int_equal(limit_take_held_back(&limit), 2);
    assert_int_equal(limit_take_held_back(&limit), 0);
}

static void test_a_window_begins_with_a_record(void **state) {
    const struct limit_rule rule = {2, 30 * S};
    struct limit limit = {0};

    assert_true(limit_pass(&limit, &rule, 5 * S));
    /* long after the first window: two more, and not a third because a new one just began */
    assert_true(limit_pass(&limit, &rule, 64 * S));
    assert_true(limit_pass(&limit, &rule, 65 * S));
    assert_false(limit_pass(&limit, &rule, 66 * S));
}

static void test_no_rule_no_limit(void **state) {
    const struct limit_rule rule = {0, 0};
    struct limit limit = {0};

    for (int i = 0; i < 1000; i++)
        assert_true(limit_pass(&limit, &rule, 0));
    assert_int_equal(limit_take_held_back(&limit), 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_burst_then_silence),
        cmocka_unit_test(test_a_window_begins_with_a_record),
        cmocka_unit_test(test_no_rule_no_limit),
    };
    return cmocka_run_group_tests_name("report/limit", tests, NULL, NULL);
}
