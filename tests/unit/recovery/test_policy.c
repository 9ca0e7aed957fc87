/* SPDX-License-Identifier: BSD-3-Clause */
#include "unit.h"

#include "recovery/policy.h"
#include "recovery/trouble.h"

#define S USEC_PER_SEC
#define DAY (86400 * S)

static void test_jitter_stays_within_a_tenth(void **state) {
    static const usec_t waits[] = {0, 9, 10000, 60 * S, 30 * DAY};
    static const uint32_t randoms[] = {0, 1, UINT32_MAX / 2, UINT32_MAX};

    for (size_t i = 0; i < 5; i++)
        for (size_t j = 0; j < 4; j++) {
            usec_t got = policy_jitter(waits[i], randoms[j]);

            assert_true(got >= waits[i] - waits[i] / 10);
            assert_true(got <= waits[i] + waits[i] / 10);
            assert_true(policy_first_wait(waits[i], randoms[j]) <= waits[i] / 10);
        }
    assert_true(policy_jitter(60 * S, 0) == 54 * S);
    assert_true(policy_jitter(60 * S, UINT32_MAX) > 65 * S);
}

static void test_doubling_ends_at_the_limit(void **state) {
    assert_true(policy_double(S, 0, 30 * S) == S);
    assert_true(policy_double(S, 4, 30 * S) == 16 * S);
    assert_true(policy_double(S, 5, 30 * S) == 30 * S);
    assert_true(policy_double(S, 4000000000u, 30 * S) == 30 * S);
    assert_true(policy_double(S, 3, USEC_INFINITY) == 8 * S);
}

static void test_waits_of_troubles(void **state) {
    assert_true(trouble_wait(TROUBLE_GROUP, 7, 60 * S, 10 * S) == 60 * S);
    assert_true(trouble_wait(TROUBLE_PERMISSION, 7, 60 * S, 10 * S) == 60 * S);
    assert_true(trouble_wait(TROUBLE_TRANSIENT, 0, 60 * S, 10 * S) == S / 10);
    assert_true(trouble_wait(TROUBLE_TRANSIENT, 20, 60 * S, 10 * S) == 60 * S);
    assert_true(trouble_wait(TROUBLE_TRANSIENT, 20, S / 100, 10 * S) == S);
    assert_true(trouble_wait(TROUBLE_HANDLER, 0, 60 * S, 10 * S) == 60 * S);
    assert_true(trouble_wait(TROUBLE_HANDLER, 0, S / 100, 10 * S) == S);
    assert_true(trouble_wait(TROUBLE_HANDLER, 20, S / 100, 10 * S) == 30 * S);
    assert_true(trouble_wait(TROUBLE_SLOW, 3, 60 * S, 10 * S) == 10 * S / 4);
}

static void test_what_somebody_must_mend_is_an_error(void **state) {
    assert_false(trouble_is_error(TROUBLE_GROUP));
    assert_false(trouble_is_error(TROUBLE_TRANSIENT));
    assert_false(trouble_is_error(TROUBLE_HANDLER));
    assert_false(trouble_is_error(TROUBLE_SLOW));
    assert_true(trouble_is_error(TROUBLE_TYPE));
    assert_true(trouble_is_error(TROUBLE_PERMISSION));
    assert_true(trouble_is_error(TROUBLE_TOO_OLD));
    assert_true(trouble_is_error(TROUBLE_CLUSTER));
    assert_true(trouble_is_error(TROUBLE_OTHER));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_jitter_stays_within_a_tenth),
        cmocka_unit_test(test_doubling_ends_at_the_limit),
        cmocka_unit_test(test_waits_of_troubles),
        cmocka_unit_test(test_what_somebody_must_mend_is_an_error),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
