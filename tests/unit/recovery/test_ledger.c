/* SPDX-License-Identifier: BSD-3-Clause */
#include "unit.h"

#include "recovery/ledger.h"
#include <signal.h>
#include <stdio.h>
#include <sys/wait.h>

static struct held *add(struct ledger *ledger, uint64_t ms) {
    struct held *held = NULL;

    assert_int_equal(ledger_add(ledger, (struct entry_id){ms, 0}, &held), 0);
    return held;
}

static void drop_all(struct ledger *ledger) {
    LEDGER_FOREACH_ALL (ledger, held) {
        if (held->state != HELD_SETTLED)
            held_enter(ledger, held, HELD_SETTLED);
        ledger_remove(ledger, held);
    }
    assert_int_equal(ledger_size(ledger), 0);
}

static void test_finds_what_it_holds(void **state) {
    struct ledger ledger = {0};
    struct held *a = add(&ledger, 1), *b = add(&ledger, 2);

    assert_ptr_equal(ledger_find(&ledger, (struct entry_id){1, 0}), a);
    assert_ptr_equal(ledger_find(&ledger, (struct entry_id){2, 0}), b);
    assert_null(ledger_find(&ledger, (struct entry_id){2, 1}));
    assert_int_equal(ledger_size(&ledger), 2);
    drop_all(&ledger);
}

static void test_lists_keep_the_order_of_arrival(void **state) {
    struct ledger ledger = {0};
    uint64_t want = 1;

    for (uint64_t ms = 1; ms <= 100; ms++)
        add(&ledger, ms);
    LEDGER_FOREACH (&ledger, HELD_CLAIMED, held)
        held_enter(&ledger, held, HELD_COUNTING);
    assert_int_equal(ledger.counts[HELD_CLAIMED], 0);
    assert_int_equal(ledger.counts[HELD_COUNTING], 100);
    LEDGER_FOREACH (&ledger, HELD_COUNTING, held)
        assert_int_equal(held->id.ms, want++);
    assert_int_equal(want, 101);
    drop_all(&ledger);
}

/* The table of docs/design.md, cell by cell. A way to each state from the first one: */
static const enum held_state ways[_HELD_STATE_MAX][6] = {
    [HELD_CLAIMED] = {HELD_CLAIMED},
    [HELD_COUNTING] = {HELD_COUNTING},
    [HELD_READY] = {HELD_COUNTING, HELD_READY},
    [HELD_ATTEMPTING] = {HELD_COUNTING, HELD_READY, HELD_ATTEMPTING},
    [HELD_HANDLING] = {HELD_COUNTING, HELD_READY, HELD_ATTEMPTING, HELD_HANDLING},
    [HELD_LOST] = {HELD_COUNTING, HELD_READY, HELD_ATTEMPTING, HELD_HANDLING, HELD_LOST},
    [HELD_DONE] = {HELD_COUNTING, HELD_READY, HELD_ATTEMPTING, HELD_HANDLING, HELD_DONE},
    [HELD_ACKING] = {HELD_DOUBTED, HELD_ASKING, HELD_DONE, HELD_ACKING},
    [HELD_DEAD] = {HELD_COUNTING, HELD_DEAD},
    [HELD_BURYING] = {HELD_COUNTING, HELD_DEAD, HELD_BURYING},
    [HELD_RETURNING] = {HELD_RETURNING},
    [HELD_RELEASING] = {HELD_RETURNING, HELD_RELEASING},
    [HELD_DOUBTED] = {HELD_DOUBTED},
    [HELD_ASKING] = {HELD_DOUBTED, HELD_ASKING},
    [HELD_SETTLED] = {HELD_SETTLED},
};

/* Rows: from; columns: to. One letter a state, '.' where the move is a bug. */
static const char *const moves[_HELD_STATE_MAX] = {
    /*                    c C r A H L D K X B R V d a S */
    [HELD_CLAIMED] = "    . x . . . . . . . . x . x . x",
    [HELD_COUNTING] = "   x . x . . . . . x . x . x . x",
    [HELD_READY] = "      . . . x . . . . . . x . x . x",
    [HELD_ATTEMPTING] = " . . x . x . . . . . x . x . x",
    [HELD_HANDLING] = "   . . . . . x x . x . x . x . x",
    [HELD_LOST] = "       . . . . x . . . . . . . x . x",
    [HELD_DONE] = "       . . . . . . . x . . . . x . x",
    [HELD_ACKING] = "     . . . . . . x . . . . . x . x",
    [HELD_DEAD] = "       . . . . . . x . . x . . . . x",
    [HELD_BURYING] = "    . . . . . . x . x . . . . . x",
    [HELD_RETURNING] = "  . . . . . . . . . . . x . . x",
    [HELD_RELEASING] = "  . . x . . . . . . . x . x . x",
    [HELD_DOUBTED] = "    . . . . . . . . . . . . . x x",
    [HELD_ASKING] = "     x . x . . . x . x . x . x . x",
    [HELD_SETTLED] = "    . . . . . . . . . . . . . . .",
};

static bool is_legal(enum held_state from, enum held_state to) {
    const char *cell = moves[from];

    while (*cell == ' ')
        cell++;
    return cell[2 * to] == 'x';
}

/* In a child, because a move that is a bug ends in an assert. */
static bool survives(enum held_state from, enum held_state to) {
    int status;
    pid_t pid = fork();

    if (pid == 0) {
        struct ledger ledger = {0};
        struct held *held = add(&ledger, 1);

        if (!freopen("/dev/null", "w", stderr))
            _exit(2);
        (void)signal(SIGABRT, SIG_DFL);
        for (size_t i = 0; held->state != from; i++)
            held_enter(&ledger, held, ways[from][i]);
        held_enter(&ledger, held, to);
        _exit(0);
    }
    assert_int_equal(waitpid(pid, &status, 0), pid);
    return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

static void test_every_move_of_the_table(void **state) {
    LEAVE_OUT_IF(!LIBRARY_ASSERTS, "the library was built without asserts (NDEBUG)");
    for (int from = 0; from < _HELD_STATE_MAX; from++)
        for (int to = 0; to < _HELD_STATE_MAX; to++)
            if (survives(from, to) != is_legal(from, to))
                fail_msg("%s -> %s", held_state_to_string(from), held_state_to_string(to));
}

static void test_each_state_has_a_name(void **state) {
    for (int i = 0; i < _HELD_STATE_MAX; i++)
        assert_non_null(held_state_to_string(i));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_finds_what_it_holds),
        cmocka_unit_test(test_lists_keep_the_order_of_arrival),
        cmocka_unit_test(test_every_move_of_the_table),
        cmocka_unit_test(test_each_state_has_a_name),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
