/* SPDX-License-Identifier: BSD-3-Clause */
#include "unit.h"

#include "recovery/slots.h"

struct user {
    struct slots_waiter waiter;
    int woken;
};

static void wake(void *data) {
    ((struct user *)data)->woken++;
}

#define USER(name) struct user name = {.waiter = {.wake = wake, .data = &(name)}}

static struct slots *make(uint64_t handlers, uint64_t bytes) {
    struct slots *slots = NULL;

    assert_int_equal(slots_new(handlers, bytes, &slots), 0);
    return slots;
}

static void test_alone_it_takes_all_it_wants(void **state) {
    struct slots *slots = make(10, 100);
    USER(a);

    assert_int_equal(slots_take(slots, 4, 0, &a.waiter), 4);
    assert_int_equal(slots_take(slots, 20, 0, &a.waiter), 6);
    assert_true(a.waiter.waiting);
    slots_give(slots, 10);
    assert_int_equal(a.woken, 1);
    slots_forget(slots, &a.waiter);
    slots_free(slots);
}

static void test_those_who_wait_are_served_in_turn(void **state) {
    struct slots *slots = make(2, 100);
    USER(a);
    USER(b);
    USER(c);

    assert_int_equal(slots_take(slots, 8, 0, &a.waiter), 2);
    assert_int_equal(slots_take(slots, 8, 0, &b.waiter), 0);
    assert_int_equal(slots_take(slots, 8, 0, &c.waiter), 0);
    slots_give(slots, 1); /* a waits first: it was given less than it wanted */
    assert_int_equal(a.woken, 1);
    assert_int_equal(slots_take(slots, 8, 0, &b.waiter), 0); /* not its turn */
    assert_int_equal(slots_take(slots, 7, 0, &a.waiter), 1); /* back to the end of the queue */
    slots_give(slots, 1);
    assert_int_equal(b.woken, 1);
    assert_int_equal(slots_take(slots, 8, 0, &b.waiter), 1);
    slots_give(slots, 1);
    assert_int_equal(c.woken, 1);
    assert_int_equal(slots_take(slots, 8, 0, &c.waiter), 1);
    slots_give(slots, 2);
    slots_forget(slots, &a.waiter);
    slots_forget(slots, &b.waiter);
    slots_forget(slots, &c.waiter);
    slots_free(slots);
}

static void test_nobody_takes_more_than_its_part_while_others_wait(void **state) {
    struct slots *slots = make(8, 100);
    USER(a);
    USER(b);

    assert_int_equal(slots_take(slots, 8, 0, &a.waiter), 8);
    assert_int_equal(slots_take(slots, 8, 0, &b.waiter), 0);
    slots_give(slots, 8);
    assert_int_equal(slots_take(slots, 8, 0, &b.waiter), 8); /* nobody else waits */
    assert_int_equal(slots_take(slots, 8, 0, &a.waiter), 0);
    slots_body_begin(slots, 100); /* holds b back, too */
    assert_int_equal(slots_take(slots, 8, 0, &b.waiter), 0);
    slots_give(slots, 8);
    slots_body_end(slots, 100);
    assert_int_equal(slots_take(slots, 8, 0, &a.waiter), 4);
    assert_int_equal(slots_take(slots, 8, 0, &b.waiter), 2);
    slots_give(slots, 6);
    slots_forget(slots, &a.waiter);
    slots_forget(slots, &b.waiter);
    slots_free(slots);
}

static void test_bodies_at_their_limit_hold_everybody_back(void **state) {
    struct slots *slots = make(8, 100);
    USER(a);

    slots_body_begin(slots, 150);
    assert_int_equal(slots_take(slots, 1, 0, &a.waiter), 0);
    slots_body_end(slots, 50);
    assert_int_equal(a.woken, 0);
    slots_body_end(slots, 100);
    assert_int_equal(a.woken, 1);
    assert_int_equal(slots_take(slots, 1, 0, &a.waiter), 1);
    assert_false(a.waiter.waiting);
    slots_give(slots, 1);
    slots_free(slots);
}

static void test_bodies_that_are_expected_count(void **state) {
    struct slots *slots = make(8, 100);
    USER(a);
    USER(b);

    /* each begins while those before it are below the limit */
    assert_int_equal(slots_take(slots, 8, 30, &a.waiter), 4);
    assert_true(a.waiter.waiting);
    slots_body_begin(slots, 4 * 30);
    assert_int_equal(slots_take(slots, 4, 30, &a.waiter), 0);
    slots_body_end(slots, 30);
    assert_int_equal(slots_take(slots, 4, 30, &a.waiter), 1);
    slots_body_end(slots, 90);
    assert_int_equal(slots_take(slots, 3, 100, &a.waiter), 1);
    assert_int_equal(slots_take(slots, 1, UINT64_MAX, &a.waiter), 1);
    assert_int_equal(slots_take(slots, 1, 1, &a.waiter), 1);
    slots_give(slots, 8);
    assert_int_equal(slots_take(slots, 8, 0, &b.waiter), 8); /* not known yet */
    slots_give(slots, 8);
    slots_free(slots);
}

static void test_who_forgets_lets_the_next_one_go(void **state) {
    struct slots *slots = make(1, 100);
    USER(a);
    USER(b);

    slots_body_begin(slots, 100);
    assert_int_equal(slots_take(slots, 1, 0, &a.waiter), 0);
    assert_int_equal(slots_take(slots, 1, 0, &b.waiter), 0);
    slots_body_end(slots, 100);
    assert_int_equal(a.woken, 1);
    slots_forget(slots, &a.waiter);
    assert_int_equal(b.woken, 1);
    slots_forget(slots, &b.waiter);
    slots_free(slots);
}

static void test_a_resize_takes_effect_at_once(void **state) {
    struct slots *slots = make(4, 100);
    USER(a);

    assert_int_equal(slots_take(slots, 4, 0, &a.waiter), 4);
    slots_resize(slots, 2, 100); /* two too many are lent: they come back in their own time */
    assert_int_equal(slots_take(slots, 1, 0, &a.waiter), 0);
    slots_give(slots, 2);
    assert_int_equal(slots_take(slots, 1, 0, &a.waiter), 0);
    assert_int_equal(a.woken, 0);
    slots_resize(slots, 3, 100); /* whoever waits is called */
    assert_int_equal(a.woken, 1);
    assert_int_equal(slots_take(slots, 1, 0, &a.waiter), 1);
    slots_give(slots, 3);
    slots_body_begin(slots, 50);
    slots_resize(slots, 3, 50);
    assert_int_equal(slots_take(slots, 1, 1, &a.waiter), 0);
    slots_resize(slots, 3, 51);
    assert_int_equal(a.woken, 2);
    assert_int_equal(slots_take(slots, 1, 1, &a.waiter), 1);
    slots_body_end(slots, 50);
    slots_give(slots, 1);
    slots_free(slots);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_alone_it_takes_all_it_wants),
        cmocka_unit_test(test_those_who_wait_are_served_in_turn),
        cmocka_unit_test(test_nobody_takes_more_than_its_part_while_others_wait),
        cmocka_unit_test(test_bodies_at_their_limit_hold_everybody_back),
        cmocka_unit_test(test_bodies_that_are_expected_count),
        cmocka_unit_test(test_who_forgets_lets_the_next_one_go),
        cmocka_unit_test(test_a_resize_takes_effect_at_once),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
