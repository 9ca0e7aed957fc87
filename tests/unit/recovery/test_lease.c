/* SPDX-License-Identifier: BSD-3-Clause */
#include "unit.h"

#include "recovery/lease.h"

#define S USEC_PER_SEC
#define MS USEC_PER_MSEC
#define M (10 * S)

static struct lease claimed_at(usec_t sent, usec_t answered) {
    struct lease lease = {0};

    lease_claimed(&lease, sent, answered, M);
    return lease;
}

static void test_sure_from_the_sending_on(void **state) {
    struct lease lease = claimed_at(100 * S, 101 * S);

    assert_true(lease.sure_until == 110 * S);
    assert_true(lease_is_sure(&lease, 110 * S - 1));
    assert_false(lease_is_sure(&lease, 110 * S));
}

static void test_older_news_changes_nothing(void **state) {
    struct lease lease = claimed_at(100 * S, 101 * S);

    lease_claimed(&lease, 99 * S, 102 * S, M);
    assert_true(lease.sure_until == 110 * S && lease.answered == 101 * S);
    lease_claimed(&lease, 103 * S, 104 * S, M);
    assert_true(lease.sure_until == 113 * S);
}

static void test_a_quarter_must_be_left_for_a_claim(void **state) {
    struct lease lease = claimed_at(100 * S, 100 * S);

    assert_true(lease_may_claim(&lease, 100 * S, M));
    assert_true(lease_may_claim(&lease, 107 * S + 500 * MS, M));
    assert_false(lease_may_claim(&lease, 107 * S + 500 * MS + 1, M));
    assert_false(lease_may_claim(&lease, 200 * S, M));
}

static void test_no_claim_while_an_answer_is_unknown(void **state) {
    struct lease lease = claimed_at(100 * S, 100 * S);

    lease_unanswered(&lease, 101 * S);
    lease_unanswered(&lease, 102 * S); /* the first one counts */
    assert_true(lease.unanswered == 101 * S);
    assert_false(lease_may_claim(&lease, 101 * S, M));
    lease_claimed(&lease, 103 * S, 103 * S, M);
    assert_true(lease_may_claim(&lease, 103 * S, M));
}

static void test_fence_grows_with_time_less_the_slack(void **state) {
    struct lease lease = claimed_at(100 * S, 101 * S);

    assert_int_equal(lease_fence(&lease, 101 * S, M), 0);
    assert_int_equal(lease_fence(&lease, 101 * S + 20 * MS, M), 0);
    /* 3.2 s later: 20 ms and a sixteenth of it are forgiven */
    assert_int_equal(lease_fence(&lease, 104200 * MS, M), 3200 * MS - 20 * MS - 200 * MS);
    /* never more than M/4 is forgiven */
    assert_int_equal(lease_fence(&lease, 201 * S, M), 100 * S - 2500 * MS);
    /* a clock that seems to run backwards is no reason to wrap */
    assert_int_equal(lease_fence(&lease, 50 * S, M), 0);
}

static void test_asked_and_ours_by_the_answered_claim(void **state) {
    struct lease lease = claimed_at(100 * S, 101 * S);

    /* executed somewhere between 100 and 101; asked at 105: idle 4 to 5 s */
    assert_true(lease_asked(&lease, 105 * S, 105 * S, 4500 * MS, M));
    assert_true(lease.sent == 105 * S - 4501 * MS);
    assert_true(lease.sure_until == lease.sent + M);
    assert_true(lease.checked);
}

static void test_asked_and_ours_by_the_unanswered_claim(void **state) {
    struct lease lease = claimed_at(100 * S, 100 * S);

    lease_unanswered(&lease, 103 * S);
    assert_true(lease_asked(&lease, 106 * S, 106 * S, 2900 * MS, M));
    assert_int_equal(lease.unanswered, 0);
    assert_true(lease_may_claim(&lease, 106 * S, M));
}

static void test_carried_out_too_late(void **state) {
    struct lease lease = claimed_at(100 * S, 100 * S);

    /* sent in time, and carried out while the first claim was still sure */
    lease_unanswered(&lease, 107 * S);
    assert_true(lease_asked(&lease, 112 * S, 112 * S, 3 * S, M));
    assert_false(lease.late);
    /* carried out when others could have it */
    lease = claimed_at(100 * S, 100 * S);
    lease_unanswered(&lease, 107 * S);
    assert_true(lease_asked(&lease, 112 * S, 112 * S, 1 * S, M));
    assert_true(lease.late);
    lease_claimed(&lease, 113 * S, 113 * S, M);
    assert_false(lease.late);
}

static void test_asked_and_claimed_under_our_name_by_another(void **state) {
    struct lease lease = claimed_at(100 * S, 100 * S);

    /* somebody did something at 104 that we did not do */
    assert_false(lease_asked(&lease, 106 * S, 106 * S, 2 * S, M));
    assert_true(lease.sent == 100 * S); /* untouched */
    /* nor before our claim */
    assert_false(lease_asked(&lease, 106 * S, 106 * S, 8 * S, M));
    /* an unanswered claim explains only what came after it was sent */
    lease_unanswered(&lease, 105 * S);
    assert_false(lease_asked(&lease, 106 * S, 106 * S, 3 * S, M));
}

static void test_after_asking_the_first_claim_is_not_fenced(void **state) {
    struct lease lease = claimed_at(100 * S, 100 * S);

    assert_true(lease_asked(&lease, 102 * S, 102 * S, 2 * S, M));
    assert_int_equal(lease_fence(&lease, 102 * S, M), 0);
    /* but only with half of the lease left */
    assert_true(lease_fence(&lease, 106 * S, M) > 0);
}

static void test_seen_counts_from_the_idle_time_whoever_made_it(void **state) {
    struct lease lease = claimed_at(100 * S, 100 * S);

    /* set back: hardly idle at all */
    lease_seen(&lease, 103 * S, 103100 * MS, 0, M);
    assert_true(lease.sure_until == 113 * S - 1 * MS && lease.answered == 103100 * MS);
    assert_int_equal(lease_fence(&lease, 104 * S, M), 0);
    /* set ahead: anybody may have it */
    lease_unanswered(&lease, 104 * S);
    lease_seen(&lease, 105 * S, 105 * S, 60 * S, M);
    assert_false(lease_is_sure(&lease, 105 * S));
    assert_true(lease.unanswered == 0);
    /* a server may say anything */
    lease_seen(&lease, 105 * S, 105 * S, USEC_INFINITY, M);
    assert_false(lease_is_sure(&lease, 105 * S));
}

static void test_slow_answers_prove_nothing(void **state) {
    assert_false(lease_too_slow(100 * S, 102500 * MS, M));
    assert_true(lease_too_slow(100 * S, 102500 * MS + 1, M));
    assert_false(lease_too_slow(100 * S, 99 * S, M));
}

static void test_suspended_for_an_hour(void **state) {
    struct lease lease;
    usec_t mono = 5000 * S, boot = 9000 * S;

    clock_test_set(mono, boot);
    lease = claimed_at(clock_boottime(), clock_boottime());
    assert_true(lease_is_sure(&lease, clock_boottime()));
    /* the machine sleeps: MONOTONIC stands still */
    clock_test_set(mono, boot + 3600 * S);
    assert_false(lease_is_sure(&lease, clock_boottime()));
    assert_false(lease_may_claim(&lease, clock_boottime(), M));
    clock_test_release();
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_sure_from_the_sending_on),
        cmocka_unit_test(test_older_news_changes_nothing),
        cmocka_unit_test(test_a_quarter_must_be_left_for_a_claim),
        cmocka_unit_test(test_no_claim_while_an_answer_is_unknown),
        cmocka_unit_test(test_fence_grows_with_time_less_the_slack),
        cmocka_unit_test(test_asked_and_ours_by_the_answered_claim),
        cmocka_unit_test(test_asked_and_ours_by_the_unanswered_claim),
        cmocka_unit_test(test_carried_out_too_late),
        cmocka_unit_test(test_asked_and_claimed_under_our_name_by_another),
        cmocka_unit_test(test_after_asking_the_first_claim_is_not_fenced),
        cmocka_unit_test(test_seen_counts_from_the_idle_time_whoever_made_it),
        cmocka_unit_test(test_slow_answers_prove_nothing),
        cmocka_unit_test(test_suspended_for_an_hour),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
