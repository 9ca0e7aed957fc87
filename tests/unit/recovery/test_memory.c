/* SPDX-License-Identifier: BSD-3-Clause */
#include "unit.h"

#include "recovery/memory.h"
#include "recovery/told.h"

static struct entry_id id(uint64_t ms) {
    return (struct entry_id){ms, 7};
}

static void test_remembers_and_replaces(void **state) {
    struct memory memory = {0};
    struct memory_item *item;

    assert_null(memory_find(&memory, id(1)));
    assert_non_null(memory_put(&memory, id(1), MEMORY_REJECTED, "because"));
    assert_non_null(memory_put(&memory, id(2), MEMORY_MISSING, NULL));
    item = memory_find(&memory, id(1));
    assert_int_equal(item->what, MEMORY_REJECTED);
    assert_string_equal(item->reason, "because");
    assert_int_equal(memory_find(&memory, id(2))->what, MEMORY_MISSING);
    assert_non_null(memory_put(&memory, id(1), MEMORY_RETRY, NULL));
    item = memory_find(&memory, id(1));
    assert_int_equal(item->what, MEMORY_RETRY);
    assert_null(item->reason);
    memory_forget(&memory, item);
    assert_null(memory_find(&memory, id(1)));
    memory_clear(&memory);
    assert_null(memory_find(&memory, id(2)));
}

static void test_forgets_the_oldest_when_full(void **state) {
    struct memory memory = {0};
    size_t n = 0;

    for (uint64_t i = 0; i < MEMORY_MAX + 5; i++)
        assert_non_null(memory_put(&memory, id(i), MEMORY_REJECTED, NULL));
    for (uint64_t i = 0; i < 5; i++)
        assert_null(memory_find(&memory, id(i)));
    for (uint64_t i = 5; i < MEMORY_MAX + 5; i++)
        assert_non_null(memory_find(&memory, id(i)));
    MEMORY_FOREACH (&memory, item) {
        n++;
        memory_forget(&memory, item);
    }
    assert_int_equal(n, MEMORY_MAX);
    assert_null(memory.by_id);
}

static void test_each_is_told_once(void **state) {
    struct told told = {0};

    for (uint64_t i = 0; i < 100000; i++)
        assert_true(told_first(&told, id(i)));
    for (uint64_t i = 0; i < 100000; i++)
        assert_false(told_first(&told, id(i)));
    assert_true(told_first(&told, (struct entry_id){5, 8}));
    told_clear(&told);
    assert_true(told_first(&told, id(1)));
    told_clear(&told);
}

static void test_what_does_not_fit_counts_as_told(void **state) {
    struct told told = {0};

    for (uint64_t i = 0; i < TOLD_MAX; i++)
        assert_true(told_first(&told, (struct entry_id){i, i}));
    assert_false(told_first(&told, (struct entry_id){1, 2}));
    assert_true(told.n_slots <= 2 * TOLD_MAX);
    told_clear(&told);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_remembers_and_replaces),
        cmocka_unit_test(test_forgets_the_oldest_when_full),
        cmocka_unit_test(test_each_is_told_once),
        cmocka_unit_test(test_what_does_not_fit_counts_as_told),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
