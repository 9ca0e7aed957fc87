/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The inside of a recovery, shared by the files of this room. Each file is one step of an
 * entry's way: scan.c, count.c, attempt.c, ack.c, settle.c; ask.c where something is not known,
 * keep.c for what is held meanwhile; trouble.c for what goes wrong. Where nothing runs the way ends
 * behind the scan, in transfer.c or claim_only.c. recovery.c is the timer, the state and the pump
 * that calls them.
 */
#pragma once

#include "away.h"
#include "handler/handler.h"
#include "ledger.h"
#include "memory.h"
#include "recovery/recovery.h"
#include "redis/command.h"
#include "told.h"
#include "transfer.h"
#include "trouble.h"

/* IDs in one XCLAIM, XACK or question. */
#define BATCH_MAX 200
#define CURSOR_MAX 64
/* A counter that XNACK FATAL has set: poison, never raised, never handed out. */
#define DELIVERIES_FATAL ((uint64_t)INT64_MAX)

struct scan {
    bool active;
    bool gate_due;           /* XPENDING first: is anything pending at all? */
    bool out;                /* a command of the scan is unanswered */
    char cursor[CURSOR_MAX]; /* verbatim, of the last answer */
    struct pass *pass;
};

/* The server's clock against ours. */
struct time_guard {
    bool refused; /* the ACL does not allow TIME */
    bool due;     /* somebody wants to know */
    bool out;     /* TIME is unanswered */
    bool behind;  /* ... and was sent behind a page */
    bool known;
    usec_t looked;      /* when the last TIME was sent that was answered */
    usec_t fresh_until; /* a page may be claimed on the strength of that look */
    uint64_t server;    /* unix microseconds at the last look */
    usec_t sent;        /* our clock around it */
    usec_t answered;
    usec_t stepped_until; /* a step was seen: idle times prove nothing until then */
};

/* claim-only: what is claimed and not in the worklist yet, at most one page. */
struct handover {
    struct entry_id *ids;
    size_t n;
    usec_t claimed;    /* when the page was sent */
    bool out;          /* its RPUSH is unanswered */
    struct pass *pass; /* which it keeps open */
};

struct recovery {
    const struct recovery_settings *settings;
    struct recovery_parts parts;
    struct recovery_owner owner;
    struct group_ref ref;
    enum recovery_mode mode;
    enum recovery_state state;
    bool started;
    bool scanned; /* a scan has begun */
    bool cut_short;
    bool killing; /* what is left of the handler is not asked politely */
    struct trouble trouble;
    bool retrying; /* the timer has fired: what was refused may be tried once more */
    struct report_subject *subject;
    struct handler *handler; /* NULL: nothing runs */
    struct link_listener listener;
    struct slots_waiter slots_waiter;
    struct timer *timer;       /* the next scan, or the next try */
    struct timer *keeper;      /* renewals, while something is held */
    struct timer *retry_timer; /* the earliest thing to do about a failed entry */
    struct deferred *pump;     /* everything that is sent, once a turn of the loop */
    struct deferred *news;     /* calls the owner */
    struct ledger ledger;
    struct memory memory;
    struct told told;
    usec_t
        burial_since;   /* CLOCK_MONOTONIC since when dead letters cannot be written; 0: they can */
    usec_t burial_next; /* CLOCK_MONOTONIC of the next try */
    char burial_phrase[TROUBLE_PHRASE_MAX];
    struct scan scan;
    struct transfer transfer;
    struct handover handover;
    struct away away;
    bool probe_out;
    struct time_guard time_guard;
    size_t outstanding;     /* commands whose callback has not come */
    uint64_t expected_body; /* bytes: what the largest body lately suggests for the next */
    struct report_pass last_pass;
    struct report_pass total;
    usec_t last_pass_at;
    uint64_t passes;
    uint64_t pending;
    struct entry_id oldest; /* pending, at the last gate */
};

/* The entries that one command names; freed by its callback. */
struct batch {
    struct recovery *recovery;
    size_t n;
    struct entry_id ids[BATCH_MAX];
    bool repeated; /* XACK: sent before */
    bool release;  /* XCLAIM: given back */
    bool as_scan;  /* XCLAIM: with min_idle itself, as anybody may */
};

/* recovery.c */
void recovery_wake(struct recovery *r);
void recovery_changed(struct recovery *r);
void recovery_enter(struct recovery *r, enum recovery_state state);
/* How many more entries may be claimed now. */
size_t recovery_room(const struct recovery *r);
size_t recovery_window(const struct recovery *r);
/* Takes the result of a command_ function: true if it was sent. */
bool recovery_sent(struct recovery *r, int result);
/* First thing in each callback: what the answer says of the server. True if it is ANSWER_OK. */
bool recovery_answered(struct recovery *r, enum order order, const struct answer *answer);
bool recovery_may_start(const struct recovery *r);
/* New entries may be claimed: it is neither paused nor drained. */
bool recovery_may_claim(const struct recovery *r);
/* So many are no longer pending: what is said of them need not wait for the next gate. */
void recovery_unpend(struct recovery *r, uint64_t n);
struct batch *batch_new(struct recovery *r);

/* scan.c */
/* Puts an ID that was just claimed into the ledger, for this pass to account for. */
void hold(struct recovery *r, struct entry_id id, const struct lease *lease, struct pass *pass);
void scan_begin(struct recovery *r);
void scan_pump(struct recovery *r);
void scan_abort(struct recovery *r);
/* A page was taken: the scan goes on at this cursor, or ends. */
void scan_page_done(struct recovery *r, const char *cursor, bool at_end);
/* The last answer of a scan that a drain or a pause has overtaken. */
void scan_stop_if_over(struct recovery *r);

/* transfer.c */
/* Asks for one page of a move. */
void transfer_page_begin(struct recovery *r, usec_t min_idle);

/* claim_only.c */
/* A page was claimed for the user's consumer. */
void claim_only_take(struct recovery *r, const struct entry_id *ids, size_t n, usec_t sent);
void claim_only_pump(struct recovery *r);
/* What is not in the worklist yet: a later scan claims it again. */
void claim_only_drop(struct recovery *r);

/* probe.c */
void probe_pump(struct recovery *r);

/* time_guard.c */
/* The next turn looks, before it asks for anything else. */
void time_guard_look(struct recovery *r);
void time_guard_pump(struct recovery *r);
/* Whether it was looked at since; if not it will be, and the answer wakes the pump. True where it
 * cannot be. */
bool time_guard_looked_since(struct recovery *r, usec_t when);
/* The same, for a page: a moment ago, and not before time_guard_forget(). */
bool time_guard_is_fresh(struct recovery *r, usec_t now);
void time_guard_forget(struct recovery *r);
/* A page is on its way: right behind it the clock is looked at again. */
void time_guard_look_behind(struct recovery *r);
/* While a scan waits for room: often enough that no step hides behind another. */
void time_guard_keep(struct recovery *r, usec_t now);
/* It was set lately: idle times do not tell who claimed when. */
bool time_guard_stepped(const struct recovery *r, usec_t now);

/* count.c */
void count_pump(struct recovery *r);

/* attempt.c */
void attempt_pump(struct recovery *r);
void attempt_give_slot(struct recovery *r, struct held *held);
void attempt_ended(void *data, void *token, enum outcome outcome, const char *reason,
                   usec_t duration);

/* bury.c */
/* True if an entry with this counter is not handed out any more. */
bool bury_is_over(const struct recovery *r, uint64_t deliveries);
/* Dead-letters it, or leaves it pending for good. reason: NULL: its counter. */
void bury(struct recovery *r, struct held *held, bool rejected, const char *reason);
void bury_pump(struct recovery *r);
/* A copy could be written, or nothing is left that would need one. */
void bury_mended(struct recovery *r);

/* retry.c */
/* Its attempt has failed: it is left pending, and taken again when its delay is over. */
void retry_later(struct recovery *r, const struct held *held);
/* A scan has claimed it: is its delay over? If not, the claim is remembered. */
bool retry_is_due(struct recovery *r, struct memory_item *item, const struct answer *answer);
void retry_tick(struct recovery *r);

/* ack.c */
void ack_pump(struct recovery *r);

/* ask.c */
void ask_pump(struct recovery *r);
/* Something about its claim is not known: nothing is done with it until it was asked for. */
void ask_about(struct recovery *r, struct held *held);
void ask_about_all(struct recovery *r);
/* Held, and gone from the stream. */
void missing(struct recovery *r, struct held *held, bool still_pending);

/* keep.c */
/* How often in a min_idle it is looked at what is due: a claim is renewed when it is M/4 old, so
 * that whoever is suspended the moment before has 0.7 M of it left. */
#define KEEP_TICKS 24
void keep_tick(struct recovery *r);
/* Something was shown to be ours: it is renewed while that is fresh. */
void keep_soon(struct recovery *r);
void release_pump(struct recovery *r);
/* Gives back all that has not been started. */
void release_all(struct recovery *r);

/* settle.c */
void settle(struct recovery *r, struct held *held, enum settled how);
/* The group is gone: what is held names nothing any more. */
void settle_all_void(struct recovery *r);
/* The scan and every entry of the pass are done with: reports it. */
void settle_pass_close(struct recovery *r, struct pass *pass);
