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

    away_begin(&away, 100 * S, false);
    away_begin(&away, 130 * S, false);
    away_begin(&away, 95 * S, false); /* sent earlier, known later */
    assert_true(away_now(&away));
    away_end(&away, 140 * S, M);
    assert_false(away_now(&away));
    assert_true(away_min_idle(&away, 140 * S, M) == M + 45 * S);
    assert_true(away_min_idle(&away, 152 * S, M) == M + 45 * S);
    assert_true(away_min_idle(&away, 152 * S + 500 * USEC_PER_MSEC, M) == M);
}

static void test_absences_in_a_row_add_up(void **state) {
    struct away away = {0};

    away_begin(&away, 100 * S, false);
    away_end(&away, 120 * S, M);
    away_begin(&away, 125 * S, false);
    away_end(&away, 130 * S, M);
    assert_true(away_min_idle(&away, 130 * S, M) == M + 25 * S);
    /* one that comes later starts anew */
    away_begin(&away, 200 * S, false);
    away_end(&away, 203 * S, M);
    assert_true(away_min_idle(&away, 203 * S, M) == M + 3 * S);
}

static void test_a_clock_step_counts_as_absence(void **state) {
    struct away away = {0};

    away_add(&away, 7 * S, 100 * S, M);
    assert_false(away_now(&away));
    assert_true(away_min_idle(&away, 101 * S, M) == M + 7 * S);
}

/* How long scans are silent after an absence of 6 s. */
static usec_t silence_after(struct away *away, usec_t since, bool write) {
    usec_t end = since + 6 * S;

    away_begin(away, since, write);
    away_end(away, end, M);
    return usec_sub(away->silent_until, end);
}

static void test_one_of_unknown_length_is_followed_by_silence(void **state) {
    struct away away;

    away_init(&away, 100 * S, M, 30 * S); /* it may have begun long before */
    assert_true(silence_after(&away, 100 * S, false) == M / 2);
    assert_true(away_is_silent(&away, 106 * S + M / 2 - 1));
    assert_false(away_is_silent(&away, 106 * S + M / 2));
    assert_true(silence_after(&away, 200 * S, true) == 0); /* this one was seen from its start */
    away_init(&away, 100 * S, M, 2 * S);
    assert_true(silence_after(&away, 100 * S, false) == 3 * S);
}

static void test_reads_know_of_absences_but_not_of_paused_writes(void **state) {
    struct away away;

    away_init(&away, 100 * S, M, 30 * S);
    away_answered(&away);
    assert_true(silence_after(&away, 200 * S, false) == 0);
    away_init(&away, 100 * S, M, 30 * S);
    away_answered(&away);
    assert_true(silence_after(&away, 200 * S, true) == M / 2);
}

static void test_who_gets_through_at_once_saw_no_absence(void **state) {
    struct away away;

    away_init(&away, 100 * S, M, 30 * S);
    away_begin(&away, 100 * S, false); /* the first connection was refused, say */
    away_end(&away, 101 * S, M);
    assert_false(away_is_silent(&away, 101 * S));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_normally_nothing_is_added),
        cmocka_unit_test(test_an_absence_counts_from_its_first_command),
        cmocka_unit_test(test_absences_in_a_row_add_up),
        cmocka_unit_test(test_a_clock_step_counts_as_absence),
        cmocka_unit_test(test_one_of_unknown_length_is_followed_by_silence),
        cmocka_unit_test(test_reads_know_of_absences_but_not_of_paused_writes),
        cmocka_unit_test(test_who_gets_through_at_once_saw_no_absence),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
