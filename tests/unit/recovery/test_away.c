/* SPDX-License-Identifier: BSD-3-Clause */
#include "unit.h"

#include "recovery/away.h"

#define S USEC_PER_SEC
#define M (10 * S)

static void test_normally_nothing_is_added(void **state) {
    struct away away = {0};

    assert_false(away_now(&away));
    away_end(&away, 5 * S, M);
    assert_true(away_min_idle(&away, 5 * S, M) == M);
}

static void test_an_absence_counts_from_its_first_command(void **state) {
    struct away away = {0};

    away_begin(&away, 100 * S);
    away_begin(&away, 130 * S);
    away_begin(&away, 95 * S); /* sent earlier, known later */
    assert_true(away_now(&away));
    away_end(&away, 140 * S, M);
    assert_false(away_now(&away));
    assert_true(away_min_idle(&away, 140 * S, M) == M + 45 * S);
    assert_true(away_min_idle(&away, 152 * S, M) == M + 45 * S);
    assert_true(away_min_idle(&away, 152 * S + 500 * USEC_PER_MSEC, M) == M);
}

static void test_absences_in_a_row_add_up(void **state) {
    struct away away = {0};

    away_begin(&away, 100 * S);
    away_end(&away, 120 * S, M);
    away_begin(&away, 125 * S);
    away_end(&away, 130 * S, M);
    assert_true(away_min_idle(&away, 130 * S, M) == M + 25 * S);
    /* one that comes later starts anew */
    away_begin(&away, 200 * S);
    away_end(&away, 203 * S, M);
    assert_true(away_min_idle(&away, 203 * S, M) == M + 3 * S);
}

static void test_a_clock_step_counts_as_absence(void **state) {
    struct away away = {0};

    away_add(&away, 7 * S, 100 * S, M);
    assert_false(away_now(&away));
    assert_true(away_min_idle(&away, 101 * S, M) == M + 7 * S);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_normally_nothing_is_added),
        cmocka_unit_test(test_an_absence_counts_from_its_first_command),
        cmocka_unit_test(test_absences_in_a_row_add_up),
        cmocka_unit_test(test_a_clock_step_counts_as_absence),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
