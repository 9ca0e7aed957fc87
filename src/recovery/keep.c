/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What is held is kept: claims are renewed long before they run out, in batches; and what will
 * not be started is given back, so that others can have it at once.
 *
 * Both are fenced XCLAIMs that never take anything back from somebody else. An entry has at most
 * one unanswered XCLAIM: two would refuse each other.
 */
#include "inside.h"

#include <stdlib.h>

/* --- renewals -------------------------------------------------------------------------------- */

static void renewed(struct recovery *r, struct held *held, const struct answer *answer,
                    bool as_scan) {
    if (as_scan || answer->answered < held->lease.sure_until)
        lease_claimed(&held->lease, answer->sent, answer->answered, r->settings->min_idle);
    else
        ask_about(r, held);
    if (held->state == HELD_LOST &&
        !held->void_result) { /* taken back; is it still that message? */
        held_enter(&r->ledger, held, HELD_HANDLING);
        ask_about(r, held);
    }
}

static void renew_reply(void *data, const struct answer *answer, const struct entry_id *ids,
                        size_t n) {
    struct batch *batch = data;
    struct recovery *r = batch->recovery;
    bool ok = recovery_answered(r, ORDER_XCLAIM, answer);
    size_t n_renewed = 0;

    for (size_t i = 0; ok && i < n; i++) {
        struct held *held = ledger_find(&r->ledger, ids[i]);

        if (held && held->claim_out) {
            held->claim_out = false;
            renewed(r, held, answer, batch->as_scan);
            n_renewed++;
        }
    }
    if (n_renewed > 0)
        report_renewed(r->subject, n_renewed);
    for (size_t i = 0; i < batch->n; i++) {
        struct held *held = ledger_find(&r->ledger, batch->ids[i]);

        if (!held || !held->claim_out)
            continue;
        held->claim_out = false;
        if (answer->kind == ANSWER_UNKNOWN)
            lease_unanswered(&held->lease, answer->sent);
        if (answer->kind != ANSWER_ERROR)
            ask_about(r, held);
    }
    free(batch);
}

static void renew_send(struct recovery *r, struct batch *batch, usec_t fence) {
    static const struct claim_options keep = {.retry_count = CLAIM_KEEP_COUNT};

    if (batch->n == 0 ||
        !recovery_sent(r, command_xclaim_ids(r->parts.link, &r->ref, fence, batch->ids, batch->n,
                                             &keep, renew_reply, batch))) {
        free(batch);
        return;
    }
    for (size_t i = 0; i < batch->n; i++)
        ledger_find(&r->ledger, batch->ids[i])->claim_out = true;
}

static bool is_kept(enum held_state state) {
    switch (state) {
    case HELD_CLAIMED:
    case HELD_COUNTING:
    case HELD_READY:
    case HELD_HANDLING:
    case HELD_DONE:
    case HELD_DEAD:
        return true;
    case HELD_ATTEMPTING:
    case HELD_LOST:
    case HELD_ACKING:
    case HELD_BURYING:
    case HELD_RETURNING:
    case HELD_RELEASING:
    case HELD_DOUBTED:
    case HELD_ASKING:
    case HELD_SETTLED:
    case _HELD_STATE_MAX:
        break;
    }
    return false;
}

enum renewal {
    RENEW_NOT_YET,
    RENEW_FENCED,
    RENEW_AS_A_SCAN, /* seen to be ours, but no longer sure: only if it is idle for min_idle */
    RENEW_TAKE_BACK, /* lost, but running: only as a scan would claim it */
    RENEW_ASK,
};

/* Whoever has it may be nobody: a claim that was carried out for a daemon that had given up
 * waiting. Nobody renews that, and what a scan would start is still running here. */
static bool may_take_back(const struct held *held) {
    return held->state == HELD_LOST && !held->void_result && !held->claim_out;
}

/* age: from which on a claim is renewed that may still be. */
static enum renewal renewal_due(const struct held *held, usec_t now, usec_t min_idle, usec_t age) {
    if (may_take_back(held))
        return RENEW_TAKE_BACK;
    if (!is_kept(held->state) || held->claim_out || held->ask_out || held->ask_soon)
        return RENEW_NOT_YET;
    if (lease_may_claim(&held->lease, now, min_idle))
        return usec_sub(now, held->lease.sent) < age ? RENEW_NOT_YET : RENEW_FENCED;
    if (held->state == HELD_HANDLING && held->asked_ok)
        return RENEW_AS_A_SCAN;
    return RENEW_ASK;
}

/* The min-idle that one entry of this kind may be claimed with. */
static usec_t renewal_min_idle(const struct recovery *r, const struct held *held, enum renewal kind,
                               usec_t now) {
    usec_t min_idle = r->settings->min_idle;

    switch (kind) {
    case RENEW_FENCED:
        return lease_fence(&held->lease, now, min_idle);
    case RENEW_TAKE_BACK:
        return away_min_idle(&r->away, now, min_idle);
    case RENEW_AS_A_SCAN:
    case RENEW_NOT_YET:
    case RENEW_ASK:
        break;
    }
    return min_idle;
}

static void renew_kind(struct recovery *r, enum renewal kind, usec_t now, usec_t age) {
    struct batch *batch = batch_new(r);
    usec_t fence = USEC_INFINITY;

    if (!batch)
        return;
    LEDGER_FOREACH_ALL (&r->ledger, held) {
        if (renewal_due(held, now, r->settings->min_idle, age) != kind)
            continue;
        if (batch->n == BATCH_MAX) /* the others at the next tick */
            break;
        fence = usec_min(fence, renewal_min_idle(r, held, kind, now));
        batch->ids[batch->n++] = held->id;
    }
    batch->as_scan = kind != RENEW_FENCED;
    renew_send(r, batch, fence);
}

static bool any_is_due(const struct recovery *r, usec_t now, usec_t age) {
    LEDGER_FOREACH_ALL (&r->ledger, held)
        if (renewal_due(held, now, r->settings->min_idle, age) == RENEW_FENCED)
            return true;
    return false;
}

void keep_tick(struct recovery *r) {
    usec_t now = clock_boottime(), age = r->settings->min_idle / 4;

    if (ledger_size(&r->ledger) == 0) {
        recovery_wake(r); /* the end of a silence */
        return;
    }
    timer_arm(r->keeper, r->settings->min_idle / KEEP_TICKS);
    if (!link_is_up(r->parts.link))
        return;
    if (r->scan.active)
        time_guard_keep(r, now);
    LEDGER_FOREACH_ALL (&r->ledger, held)
        if (renewal_due(held, now, r->settings->min_idle, age) == RENEW_ASK)
            ask_about(r, held);
    if (any_is_due(r, now, age)) /* those that soon will be come along */
        renew_kind(r, RENEW_FENCED, now, age / 2);
    if (!away_now(&r->away)) { /* else it could wait out the absence and take what others renew */
        renew_kind(r, RENEW_AS_A_SCAN, now, age);
        renew_kind(r, RENEW_TAKE_BACK, now, age);
    }
    recovery_wake(r);
}

void keep_soon(struct recovery *r) {
    usec_t wait = r->settings->min_idle / 48; /* a server that refuses each time is not chased */

    if (timer_due(r->keeper) > usec_add(clock_monotonic(), wait))
        timer_arm(r->keeper, wait);
}

/* --- giving back ----------------------------------------------------------------------------- */

static void returned(struct recovery *r, struct held *held, const struct answer *answer) {
    if (held->charged) {
        held->charged = false;
        held->deliveries--;
    }
    if (held->release) {
        settle(r, held, SETTLED_RELEASED);
        return;
    }
    lease_claimed(&held->lease, answer->sent, answer->answered, r->settings->min_idle);
    held_enter(&r->ledger, held, HELD_READY);
}

static void not_returned(struct recovery *r, struct held *held, const struct answer *answer) {
    switch (answer->kind) {
    case ANSWER_OK:
        break;
    case ANSWER_ERROR: /* it cannot be given back: it is left alone */
        settle(r, held, SETTLED_DEFERRED);
        return;
    case ANSWER_UNKNOWN:
        lease_unanswered(&held->lease, answer->sent);
        break;
    }
    held_enter(&r->ledger, held, HELD_DOUBTED);
}

static void release_reply(void *data, const struct answer *answer, const struct entry_id *ids,
                          size_t n) {
    struct batch *batch = data;
    struct recovery *r = batch->recovery;
    bool ok = recovery_answered(r, ORDER_XCLAIM, answer);

    for (size_t i = 0; ok && i < n; i++) {
        struct held *held = ledger_find(&r->ledger, ids[i]);

        if (held && held->state == HELD_RELEASING) {
            held->claim_out = false;
            returned(r, held, answer);
        }
    }
    if (ok && batch->release && n > 0)
        report_released(r->subject, n);
    for (size_t i = 0; i < batch->n; i++) {
        struct held *held = ledger_find(&r->ledger, batch->ids[i]);

        if (held && held->state == HELD_RELEASING) {
            held->claim_out = false;
            not_returned(r, held, answer);
        }
    }
    free(batch);
}

static uint64_t retry_count(const struct held *held) {
    return held->charged ? held->deliveries - 1 : CLAIM_KEEP_COUNT;
}

/* Entries that one command can give back: one counter, one purpose. */
static void release_collect(struct recovery *r, struct batch *batch, usec_t *fence,
                            uint64_t *count) {
    usec_t now = clock_boottime(), min_idle = r->settings->min_idle;

    LEDGER_FOREACH (&r->ledger, HELD_RETURNING, held) {
        if (held->claim_out)
            continue; /* its answer comes first */
        if (!lease_may_claim(&held->lease, now, min_idle)) {
            settle(r, held, SETTLED_DEFERRED);
            continue;
        }
        if (batch->n == 0) {
            *count = retry_count(held);
            batch->release = held->release;
        } else if (batch->n == BATCH_MAX || retry_count(held) != *count ||
                   held->release != batch->release) {
            continue;
        }
        *fence = usec_min(*fence, lease_fence(&held->lease, now, min_idle));
        batch->ids[batch->n++] = held->id;
        held_enter(&r->ledger, held, HELD_RELEASING);
        held->claim_out = true;
    }
}

static bool release_send(struct recovery *r) {
    usec_t fence = USEC_INFINITY;
    struct claim_options options = {.retry_count = CLAIM_KEEP_COUNT};
    struct batch *batch = batch_new(r);

    if (!batch)
        return false;
    release_collect(r, batch, &fence, &options.retry_count);
    options.release = batch->release;
    if (batch->n > 0 &&
        recovery_sent(r, command_xclaim_ids(r->parts.link, &r->ref, fence, batch->ids, batch->n,
                                            &options, release_reply, batch)))
        return true;
    for (size_t i = 0; i < batch->n; i++) {
        struct held *held = ledger_find(&r->ledger, batch->ids[i]);

        held->claim_out = false;
        held_enter(&r->ledger, held, HELD_RETURNING);
    }
    free(batch);
    return false;
}

void release_pump(struct recovery *r) {
    while (ledger_first(&r->ledger, HELD_RETURNING) && release_send(r))
        ;
}

static bool release_list(struct recovery *r, enum held_state state) {
    bool any = false;

    LEDGER_FOREACH (&r->ledger, state, held) {
        if (state == HELD_CLAIMED && !time_guard_looked_since(r, held->claimed))
            continue; /* is it ours to give? the answer wakes the pump */
        held->release = any = true;
        held_enter(&r->ledger, held, HELD_RETURNING);
    }
    return any;
}

void release_all(struct recovery *r) {
    bool claimed = release_list(r, HELD_CLAIMED), counting = release_list(r, HELD_COUNTING);

    if (release_list(r, HELD_READY) || claimed || counting)
        recovery_wake(r);
}
