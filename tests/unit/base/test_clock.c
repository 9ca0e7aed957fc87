/* SPDX-License-Identifier: BSD-3-Clause */
#include "unit.h"

#include "base/clock.h"

static void test_clocks_advance(void **state) {
    usec_t mono = clock_monotonic(), boot = clock_boottime();

    assert_true(mono > 0 && boot > 0);
    while (clock_monotonic() == mono)
        ;
    assert_true(clock_boottime() >= boot);
}

static void test_clocks_stand_still_when_set(void **state) {
    clock_test_set(5, 9);
    assert_int_equal(clock_monotonic(), 5);
    assert_int_equal(clock_boottime(), 9);
    clock_test_set(5, 9 + 3600 * USEC_PER_SEC);
    assert_int_equal(clock_monotonic(), 5);
    clock_test_release();
    assert_true(clock_monotonic() > 5);
}

static void test_arithmetic_saturates(void **state) {
    assert_int_equal(usec_sub(3, 5), 0);
    assert_int_equal(usec_sub(5, 3), 2);
    assert_true(usec_add(USEC_INFINITY, 1) == USEC_INFINITY);
    assert_true(usec_add(USEC_INFINITY - 1, 5) == USEC_INFINITY);
    assert_int_equal(usec_add(1, 2), 3);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_clocks_advance),
        cmocka_unit_test(test_clocks_stand_still_when_set),
        cmocka_unit_test(test_arithmetic_saturates),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
