/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Every entry that this recovery holds: where it is, when its claim is sure until when.
 *
 * Being in a state is being on that state's list, in the order of arrival; held_enter() is the
 * only door between them and refuses (asserts) moves that the table in docs/design.md does not
 * have. The ledger is bounded by the window of its recovery.
 */
#pragma once

#include "base/clock.h"
#include "base/entry_id.h"
#include "base/error.h"
#include "handler/handler.h"
#include "lease.h"
#include "pass.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <uthash.h>

enum held_state {
    HELD_CLAIMED,    /* by a scan; its counter is not known yet */
    HELD_COUNTING,   /* XPENDING for the counter is out */
    HELD_READY,      /* waits for a slot */
    HELD_ATTEMPTING, /* XCLAIM by ID is out */
    HELD_HANDLING,   /* with a handler */
    HELD_LOST,       /* with a handler, but not ours any more */
    HELD_DONE,       /* the handler said ok; to be acknowledged */
    HELD_ACKING,     /* XACK is out */
    HELD_DEAD,       /* not handed out any more: to be dead-lettered */
    HELD_BURYING,    /* the script for that is out */
    HELD_RETURNING,  /* to be given back, or its charge to be taken back */
    HELD_RELEASING,  /* XCLAIM for that is out */
    HELD_DOUBTED,    /* nobody runs it; to be asked for before anything else is done with it */
    HELD_ASKING,     /* XPENDING id, or XRANGE id, is out */
    HELD_SETTLED,    /* left the ledger */
    _HELD_STATE_MAX,
};
const char *held_state_to_string(enum held_state state);

struct held {
    struct entry_id id;
    enum held_state state;
    bool claim_out : 1;    /* an XCLAIM naming it is unanswered: no second one */
    bool ask_out : 1;      /* HANDLING: the owner is being asked */
    bool ask_soon : 1;     /* HANDLING: the owner is to be asked */
    bool result_ok : 1;    /* DOUBTED, ASKING: its handler said ok */
    bool asked_ok : 1;     /* the last question was answered with: ours (or: may be acked) */
    bool ack_repeated : 1; /* an XACK, or a script, naming it was sent and never answered */
    bool rejected : 1;     /* DEAD, BURYING: by its handler; else delivered too often */
    bool ack_missing : 1;  /* acked because it is missing, not because it was handled */
    bool gone_hint : 1;    /* the server has said that some body of the batch is gone */
    bool void_result : 1;  /* the ID may name another message now: never ack */
    bool release : 1;      /* RETURNING: for anybody at once; else it stays ours */
    bool counted : 1;      /* deliveries is known */
    bool charged : 1;      /* deliveries includes an attempt that has not begun */
    bool attempt_lost : 1; /* DOUBTED, ASKING: an attempt was sent and never answered */
    bool by_step : 1;      /* ASKING: only a step of the server's clock made it claimable */
    uint64_t deliveries;   /* the server's counter */
    uint64_t body_bytes;   /* ATTEMPTING: expected; HANDLING: given to the handler */
    char *reason;          /* DEAD, BURYING: why; owned, may be NULL */
    usec_t claimed;        /* when the claim was sent that took it, CLOCK_BOOTTIME */
    usec_t suspected;      /* when its idle time looked odd, CLOCK_BOOTTIME; 0: it does not */
    struct lease lease;
    struct pass *pass; /* the pass that claimed it; holds one of its opens */
    struct handler_run *run;
    struct held *prev, *next; /* the ledger's list of this state */
    UT_hash_handle hh;
};

struct ledger {
    struct held *by_id;
    struct held *lists[_HELD_STATE_MAX];
    size_t counts[_HELD_STATE_MAX];
};

/* Adds an entry as HELD_CLAIMED. It must not be there yet. -ENOMEM. */
MUST_CHECK int ledger_add(struct ledger *ledger, struct entry_id id, struct held **ret);
struct held *ledger_find(const struct ledger *ledger, struct entry_id id);
static inline size_t ledger_size(const struct ledger *ledger) {
    return HASH_COUNT(ledger->by_id);
}
/* Entries with a handler, or about to have one. */
size_t ledger_running(const struct ledger *ledger);
static inline struct held *ledger_first(const struct ledger *ledger, enum held_state state) {
    return ledger->lists[state];
}

void held_enter(struct ledger *ledger, struct held *held, enum held_state state);

/* Takes a HELD_SETTLED entry out and frees it. */
void ledger_remove(struct ledger *ledger, struct held *held);

/* Iterates over one state's list; the current entry may move to another state meanwhile. */
#define LEDGER_FOREACH(ledger, state, held)                                                        \
    for (struct held *held = (ledger)->lists[state], *_next = held ? held->next : NULL; held;      \
         held = _next, _next = held ? held->next : NULL)
/* Over all entries; the current one may be removed. */
#define LEDGER_FOREACH_ALL(ledger, held)                                                           \
    for (struct held *held = (ledger)->by_id, *_next = held ? held->hh.next : NULL; held;          \
         held = _next, _next = held ? held->hh.next : NULL)
