/* SPDX-License-Identifier: BSD-3-Clause */
#include "unit.h"

#include "recovery/pass.h"
#include <stdlib.h>

static void test_each_end_has_its_own_column(void **state) {
    struct pass *pass = NULL;
    const struct report_pass *a;

    assert_int_equal(pass_new(5, &pass), 0);
    a = &pass->account;
    for (int how = 0; how < _SETTLED_MAX; how++)
        for (int i = 0; i <= how; i++)
            pass_settle(pass, how);
    assert_int_equal(a->ok, 1);
    assert_int_equal(a->failed, 2);
    assert_int_equal(a->rejected, 3);
    assert_int_equal(a->exhausted, 4);
    assert_int_equal(a->deferred, 5);
    assert_int_equal(a->missing, 6);
    assert_int_equal(a->lost, 7);
    assert_int_equal(a->released, 8);
    assert_int_equal(a->moved, 9);
    assert_int_equal(a->handed_over, 10);
    pass_settle_many(pass, SETTLED_MOVED, 100);
    assert_int_equal(a->moved, 109);
    free(pass);
}

static void test_closes_with_its_last_opening(void **state) {
    struct pass *pass = NULL;

    assert_int_equal(pass_new(0, &pass), 0);
    pass->open += 2;
    assert_false(pass_close(pass));
    assert_false(pass_close(pass));
    assert_true(pass_close(pass));
    free(pass);
}

static void test_sums_every_column(void **state) {
    const struct report_pass one = {1,  2,  3,  4,  5,  6,  7,  8,  9,
                                    10, 11, 12, 13, 14, 15, 16, 17, false};
    struct report_pass total = {0};

    pass_sum(&total, &one);
    pass_sum(&total, &one);
    assert_int_equal(total.pages, 2);
    assert_int_equal(total.claimed, 4);
    assert_int_equal(total.ok, 6);
    assert_int_equal(total.failed, 8);
    assert_int_equal(total.rejected, 10);
    assert_int_equal(total.exhausted, 12);
    assert_int_equal(total.deferred, 14);
    assert_int_equal(total.missing, 16);
    assert_int_equal(total.lost, 18);
    assert_int_equal(total.released, 20);
    assert_int_equal(total.moved, 22);
    assert_int_equal(total.handed_over, 24);
    assert_int_equal(total.deleted, 26);
    assert_int_equal(total.dead_lettered, 28);
    assert_int_equal(total.acked, 30);
    assert_int_equal(total.ack_none, 32);
    assert_int_equal(total.duration, 34);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_each_end_has_its_own_column),
        cmocka_unit_test(test_closes_with_its_last_opening),
        cmocka_unit_test(test_sums_every_column),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
