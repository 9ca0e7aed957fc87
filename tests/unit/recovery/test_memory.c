/* SPDX-License-Identifier: BSD-3-Clause */
#include "unit.h"

#include "recovery/memory.h"

static struct entry_id id(uint64_t ms) {
    return (struct entry_id){ms, 7};
}

static void test_remembers_and_replaces(void **state) {
    struct memory memory = {0};

    assert_int_equal(memory_get(&memory, id(1)), MEMORY_NOTHING);
    memory_put(&memory, id(1), MEMORY_REJECTED);
    memory_put(&memory, id(2), MEMORY_MISSING);
    assert_int_equal(memory_get(&memory, id(1)), MEMORY_REJECTED);
    assert_int_equal(memory_get(&memory, id(2)), MEMORY_MISSING);
    memory_put(&memory, id(1), MEMORY_MISSING);
    assert_int_equal(memory_get(&memory, id(1)), MEMORY_MISSING);
    memory_clear(&memory);
    assert_int_equal(memory_get(&memory, id(1)), MEMORY_NOTHING);
}

static void test_forgets_the_oldest_when_full(void **state) {
    struct memory memory = {0};

    for (uint64_t i = 0; i < MEMORY_MAX + 5; i++)
        memory_put(&memory, id(i), MEMORY_REJECTED);
    for (uint64_t i = 0; i < 5; i++)
        assert_int_equal(memory_get(&memory, id(i)), MEMORY_NOTHING);
    for (uint64_t i = 5; i < MEMORY_MAX + 5; i++)
        assert_int_equal(memory_get(&memory, id(i)), MEMORY_REJECTED);
    memory_clear(&memory);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_remembers_and_replaces),
        cmocka_unit_test(test_forgets_the_oldest_when_full),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
