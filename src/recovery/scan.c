/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * One walk of the pending entries list: the gate (is anything pending?), then pages of
 * XAUTOCLAIM JUSTID from cursor 0-0 until the server returns 0-0.
 *
 * Only that cursor ends a scan: a page may be empty and not the last. The cursor is passed on
 * verbatim and outlives a lost connection. A page is asked for only when there is room for what
 * it may bring. What becomes of a page depends on the kind: it is held for handlers, handed over
 * (claim_only.c), or has been moved when its answer comes (transfer.c).
 */
#include "base/random.h"
#include "inside.h"
#include "policy.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

static void scan_restart(struct scan *scan) {
    (void)strcpy(scan->cursor, "0-0");
}

void scan_begin(struct recovery *r) {
    struct scan *scan = &r->scan;
    int error;

    if (scan->active)
        return;
    error = pass_new(clock_monotonic(), &scan->pass);
    if (error < 0) {
        loop_fail(r->parts.loop, error);
        return;
    }
    scan->active = r->scanned = true;
    scan->gate_due = true;
    scan_restart(scan);
    if (r->trouble.kind == TROUBLE_NONE)
        recovery_enter(r, RECOVERY_SCANNING);
    time_guard_look(r);
}

static void scan_close(struct recovery *r) {
    r->scan.active = false;
    settle_pass_close(r, TAKE(r->scan.pass));
    recovery_wake(r);
}

/* The server returned 0-0, or there is nothing pending. */
static void scan_end(struct recovery *r) {
    usec_t interval = r->settings->interval;

    if (r->trouble.kind == TROUBLE_NONE && r->state == RECOVERY_SCANNING)
        recovery_enter(r, RECOVERY_RESTING);
    if (r->mode == RECOVERY_FOREVER && recovery_may_claim(r) &&
        (r->trouble.kind == TROUBLE_NONE || r->retrying))
        timer_arm(r->timer, policy_jitter(interval, random_u32()));
    scan_close(r);
}

void scan_abort(struct recovery *r) {
    if (r->scan.active)
        scan_close(r);
}

void scan_stop_if_over(struct recovery *r) {
    if (!recovery_may_claim(r))
        scan_abort(r);
}

static void gate_reply(void *data, const struct answer *answer,
                       const struct pending_summary *summary) {
    struct recovery *r = data;

    r->scan.out = false;
    if (!recovery_answered(r, ORDER_XPENDING, answer) || !r->scan.active) {
        scan_stop_if_over(r);
        return;
    }
    r->scan.gate_due = false;
    r->pending = summary->total;
    r->oldest = summary->lowest;
    if (summary->total == 0) {
        trouble_leave(r, r->trouble.order); /* nothing is left that could be refused */
        bury_mended(r);
        scan_end(r);
    }
    scan_stop_if_over(r);
}

void hold(struct recovery *r, struct entry_id id, const struct lease *lease, struct pass *pass) {
    struct held *held;

    if (ledger_add(&r->ledger, id, &held) < 0) { /* it stays pending and comes back */
        pass_settle(pass, SETTLED_DEFERRED);
        return;
    }
    if (ledger_size(&r->ledger) == 1) {
        link_hold(r->parts.link);
        timer_arm(r->keeper, r->settings->min_idle / KEEP_TICKS);
    }
    held->lease = *lease;
    held->claimed = lease->sent;
    held->pass = pass;
    pass->open++;
}

/* A scan has claimed what is held already. */
static void claimed_again(struct recovery *r, struct held *held, const struct answer *answer) {
    lease_claimed(&held->lease, answer->sent, answer->answered, r->settings->min_idle);
    if (held->state == HELD_LOST && !held->void_result)
        held_enter(&r->ledger, held, HELD_HANDLING); /* taken back as any scan may */
    ask_about(r, held); /* others may have had it meanwhile, or it names another message */
}

/* True if what is remembered of it says that it is not to be held. */
static bool claimed_in_vain(struct recovery *r, struct memory_item *item,
                            const struct answer *answer, enum settled *ret) {
    switch (item->what) {
    case MEMORY_REJECTED:
        *ret = SETTLED_EXHAUSTED;
        return !r->settings->dead_letter_stream;
    case MEMORY_STUCK:
        *ret = SETTLED_EXHAUSTED;
        return true;
    case MEMORY_MISSING:
        report_missing(r->subject, item->id, false);
        *ret = SETTLED_MISSING;
        return true;
    case MEMORY_RETRY:
        *ret = SETTLED_DEFERRED;
        if (!retry_is_due(r, item, answer))
            return true;
        memory_forget(&r->memory, item);
        break;
    }
    return false;
}

static void claimed_one(struct recovery *r, struct entry_id id, const struct answer *answer) {
    struct pass *pass = r->scan.pass;
    struct held *held = ledger_find(&r->ledger, id);
    struct memory_item *item = memory_find(&r->memory, id);
    struct lease lease = {0};
    enum settled how;

    if (held) {
        claimed_again(r, held, answer);
        pass_settle(pass, SETTLED_DEFERRED);
    } else if (item && claimed_in_vain(r, item, answer, &how)) {
        pass_settle(pass, how);
    } else {
        lease_claimed(&lease, answer->sent, answer->answered, r->settings->min_idle);
        hold(r, id, &lease, pass);
    }
}

/* What a scan finds deleted has left the pending entries list: a held entry among it is gone. */
static void deleted_one(struct recovery *r, struct entry_id id) {
    struct held *held = ledger_find(&r->ledger, id);

    if (held)
        ask_about(r, held);
}

static void page_take(struct recovery *r, const struct answer *answer,
                      const struct autoclaim_answer *page) {
    struct pass *pass = r->scan.pass;
    bool proves = !lease_too_slow(answer->sent, answer->answered, r->settings->min_idle);

    pass->account.pages++;
    pass->account.claimed += page->n_claimed;
    pass->account.deleted += page->n_deleted;
    report_page(r->subject, &(struct report_page){
                                .cursor = r->scan.cursor,
                                .cursor_next = page->cursor,
                                .claimed = page->n_claimed,
                                .deleted = page->n_deleted,
                            });
    if (page->n_deleted > 0)
        report_deleted(r->subject, page->deleted, page->n_deleted);
    for (size_t i = 0; i < page->n_deleted; i++)
        deleted_one(r, page->deleted[i]);
    if (r->settings->handler == HANDLER_CLAIM_ONLY) {
        claim_only_take(r, page->claimed, page->n_claimed, answer->sent);
        return;
    }
    for (size_t i = 0; i < page->n_claimed; i++) {
        if (proves)
            claimed_one(r, page->claimed[i], answer);
        else
            pass_settle(pass, SETTLED_DEFERRED);
    }
}

void scan_page_done(struct recovery *r, const char *cursor, bool at_end) {
    if (at_end)
        scan_end(r);
    else if (strlen(cursor) >= CURSOR_MAX)
        scan_restart(&r->scan);
    else
        (void)strcpy(r->scan.cursor, cursor);
    scan_stop_if_over(r);
}

static void page_reply(void *data, const struct answer *answer,
                       const struct autoclaim_answer *page) {
    struct recovery *r = data;

    r->scan.out = false;
    if (answer->kind == ANSWER_UNKNOWN) /* it may have claimed what is held, too */
        LEDGER_FOREACH_ALL (&r->ledger, held)
            lease_unanswered(&held->lease, answer->sent);
    if (!recovery_answered(r, ORDER_XAUTOCLAIM, answer) || !r->scan.active) {
        scan_stop_if_over(r);
        return;
    }
    page_take(r, answer, page);
    scan_page_done(r, page->cursor, page->at_end);
}

/* How many may be held more, where that is worth a page; else 0. */
static uint64_t count_for_handlers(const struct recovery *r) {
    uint64_t count = r->settings->count;
    size_t room = recovery_room(r), window = recovery_window(r);
    size_t least = window / 2 > 0 ? window / 2 : 1;

    if (room < (count < least ? count : least))
        return 0;
    return room < count ? room : count;
}

/* What is not held needs no room; in trouble one entry at a time is tried. */
static uint64_t page_count(const struct recovery *r) {
    if (r->handler)
        return count_for_handlers(r);
    return r->trouble.kind == TROUBLE_NONE ? r->settings->count : 1;
}

static void page_begin(struct recovery *r) {
    const struct recovery_settings *s = r->settings;
    uint64_t count = page_count(r);
    usec_t now = clock_boottime(), min_idle = away_min_idle(&r->away, now, s->min_idle);

    if (count == 0)
        return;
    /* A step of the clock that nobody has seen makes entries claimable that others handle. */
    if (!time_guard_is_fresh(r, now))
        return;
    time_guard_forget(r);
    if (s->handler == HANDLER_MOVE) {
        transfer_page_begin(r, min_idle);
        return;
    }
    r->scan.out = recovery_sent(r, command_xautoclaim(r->parts.link, &r->ref, min_idle,
                                                      r->scan.cursor, count, page_reply, r));
    time_guard_look_behind(r);
}

void scan_pump(struct recovery *r) {
    if (!r->scan.active || r->scan.out || !recovery_may_claim(r) || away_now(&r->away) ||
        (r->trouble.kind != TROUBLE_NONE && !r->retrying) || r->handover.ids)
        return;
    if (r->scan.gate_due) {
        if (!trouble_blocks(r, ORDER_XPENDING))
            r->scan.out =
                recovery_sent(r, command_xpending_summary(r->parts.link, &r->ref, gate_reply, r));
        return;
    }
    if (away_is_silent(&r->away, clock_boottime()))
        timer_arm(r->keeper, usec_sub(r->away.silent_until, clock_boottime()));
    else if (!trouble_blocks(r, ORDER_XAUTOCLAIM) && !trouble_blocks(r, ORDER_MOVE))
        page_begin(r);
}
