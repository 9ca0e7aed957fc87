/* SPDX-License-Identifier: BSD-3-Clause */
#include "unit.h"

#include "recovery/transfer.h"

static void test_grows_while_pages_are_short(void **state) {
    /* at most twofold, as one page says little of the next */
    assert_int_equal(transfer_next_count(8, 8, false, 10), 16);
    assert_int_equal(transfer_next_count(8, 0, false, 1), 16);
    assert_int_equal(transfer_next_count(100, 100, false, 1250), 120);
}

static void test_shrinks_where_they_are_long(void **state) {
    assert_int_equal(transfer_next_count(100, 100, false, 3000), 50);
    assert_int_equal(transfer_next_count(100, 0, false, 2200), 68);
    assert_int_equal(transfer_next_count(1, 1, false, 50000), 1);
}

static void test_a_page_that_was_cut_says_how_many(void **state) {
    assert_int_equal(transfer_next_count(100, 37, true, 1500), 37);
    assert_int_equal(transfer_next_count(100, 0, true, 9000), 1);
}

static void test_stays_where_nothing_was_measured(void **state) {
    assert_int_equal(transfer_next_count(8, 8, false, 0), 8);
}

static void test_any_measure_will_do(void **state) {
    for (uint64_t asked = 1; asked <= 2000; asked = asked * 3 + 1)
        for (usec_t spent = 0; spent < USEC_PER_SEC; spent = spent * 3 + 1) {
            uint64_t next = transfer_next_count(asked, asked, false, spent);

            assert_in_range(next, 1, 2 * asked);
        }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_grows_while_pages_are_short),
        cmocka_unit_test(test_shrinks_where_they_are_long),
        cmocka_unit_test(test_a_page_that_was_cut_says_how_many),
        cmocka_unit_test(test_stays_where_nothing_was_measured),
        cmocka_unit_test(test_any_measure_will_do),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
