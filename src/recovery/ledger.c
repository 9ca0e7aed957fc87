/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The table of held entries and the one door for their state.
 */
#define HASH_NONFATAL_OOM 1
/* The default falls through cases in a way that clang warns about. */
#define HASH_FUNCTION HASH_OAT
#include "ledger.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <utlist.h>

#define BIT(state) (1u << (state))

/* From each state, where it may go. */
static const unsigned ONLY_ASSERTED legal[_HELD_STATE_MAX] = {
    [HELD_CLAIMED] =
        BIT(HELD_COUNTING) | BIT(HELD_RETURNING) | BIT(HELD_DOUBTED) | BIT(HELD_SETTLED),
    [HELD_COUNTING] = BIT(HELD_CLAIMED) | BIT(HELD_READY) | BIT(HELD_DEAD) | BIT(HELD_RETURNING) |
                      BIT(HELD_DOUBTED) | BIT(HELD_SETTLED),
    [HELD_READY] =
        BIT(HELD_ATTEMPTING) | BIT(HELD_RETURNING) | BIT(HELD_DOUBTED) | BIT(HELD_SETTLED),
    [HELD_ATTEMPTING] = BIT(HELD_READY) | BIT(HELD_HANDLING) | BIT(HELD_RETURNING) |
                        BIT(HELD_DOUBTED) | BIT(HELD_SETTLED),
    [HELD_HANDLING] = BIT(HELD_LOST) | BIT(HELD_DONE) | BIT(HELD_DEAD) | BIT(HELD_RETURNING) |
                      BIT(HELD_DOUBTED) | BIT(HELD_SETTLED),
    [HELD_LOST] = BIT(HELD_HANDLING) | BIT(HELD_DOUBTED) | BIT(HELD_SETTLED),
    [HELD_DONE] = BIT(HELD_ACKING) | BIT(HELD_DOUBTED) | BIT(HELD_SETTLED),
    [HELD_ACKING] = BIT(HELD_DONE) | BIT(HELD_DOUBTED) | BIT(HELD_SETTLED),
    [HELD_DEAD] = BIT(HELD_BURYING) | BIT(HELD_DONE) | BIT(HELD_SETTLED),
    [HELD_BURYING] = BIT(HELD_DEAD) | BIT(HELD_DONE) | BIT(HELD_SETTLED),
    [HELD_RETURNING] = BIT(HELD_RELEASING) | BIT(HELD_SETTLED),
    [HELD_RELEASING] =
        BIT(HELD_READY) | BIT(HELD_RETURNING) | BIT(HELD_DOUBTED) | BIT(HELD_SETTLED),
    [HELD_DOUBTED] = BIT(HELD_ASKING) | BIT(HELD_SETTLED),
    [HELD_ASKING] = BIT(HELD_DOUBTED) | BIT(HELD_CLAIMED) | BIT(HELD_READY) | BIT(HELD_DEAD) |
                    BIT(HELD_RETURNING) | BIT(HELD_DONE) | BIT(HELD_SETTLED),
    [HELD_SETTLED] = 0,
};

static const char *const names[_HELD_STATE_MAX] = {
    [HELD_CLAIMED] = "claimed",     [HELD_COUNTING] = "counting",
    [HELD_READY] = "ready",         [HELD_ATTEMPTING] = "attempting",
    [HELD_HANDLING] = "handling",   [HELD_LOST] = "lost",
    [HELD_DONE] = "done",           [HELD_ACKING] = "acking",
    [HELD_DEAD] = "dead",           [HELD_BURYING] = "burying",
    [HELD_RETURNING] = "returning", [HELD_RELEASING] = "releasing",
    [HELD_DOUBTED] = "doubted",     [HELD_ASKING] = "asking",
    [HELD_SETTLED] = "settled",
};

const char *held_state_to_string(enum held_state state) {
    return names[state];
}

int ledger_add(struct ledger *ledger, struct entry_id id, struct held **ret) {
    struct held *held = calloc(1, sizeof(*held));

    if (!held)
        return -ENOMEM;
    assert(!ledger_find(ledger, id));
    held->id = id;
    held->state = HELD_CLAIMED;
    HASH_ADD(hh, ledger->by_id, id, sizeof(held->id), held);
    if (!held->hh.tbl) { /* uthash could not grow its table */
        free(held);
        return -ENOMEM;
    }
    DL_APPEND(ledger->lists[HELD_CLAIMED], held);
    ledger->counts[HELD_CLAIMED]++;
    *ret = held;
    return 0;
}

struct held *ledger_find(const struct ledger *ledger, struct entry_id id) {
    struct held *held;

    HASH_FIND(hh, ledger->by_id, &id, sizeof(id), held);
    return held;
}

size_t ledger_running(const struct ledger *ledger) {
    return ledger->counts[HELD_ATTEMPTING] + ledger->counts[HELD_HANDLING] +
           ledger->counts[HELD_LOST];
}

void held_enter(struct ledger *ledger, struct held *held, enum held_state state) {
    assert(legal[held->state] & BIT(state));
    DL_DELETE(ledger->lists[held->state], held);
    ledger->counts[held->state]--;
    held->state = state;
    DL_APPEND(ledger->lists[state], held);
    ledger->counts[state]++;
}

void ledger_remove(struct ledger *ledger, struct held *held) {
    assert(held->state == HELD_SETTLED);
    assert(!held->run && !held->pass);
    DL_DELETE(ledger->lists[HELD_SETTLED], held);
    ledger->counts[HELD_SETTLED]--;
    HASH_DEL(ledger->by_id, held);
    free(held->reason);
    free(held);
}
