/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The attempt: one XCLAIM by ID for what starts in this turn of the loop. In one step the server
 * says whether the entry is still ours, raises its counter before the handler starts, and
 * returns the body; so an attempt that kills the daemon or the machine has been counted, and
 * what was only claimed ahead has not.
 */
#include "inside.h"

#include <stdlib.h>

/* Processes that one answer starts: each keeps the loop for about half a millisecond. Those that
 * stay are begun by their own measure; to give them an entry costs next to nothing. */
#define STARTS_MAX 4

/* Bodies that one answer should bring at most, judged by the largest seen lately. */
#define ANSWER_BYTES (8u << 20)

static uint64_t entry_bytes(const struct entry *entry) {
    uint64_t bytes = 0;

    for (size_t i = 0; i < entry->n_strings; i++)
        bytes += entry->strings[i].size;
    return bytes;
}

static void expect_body(struct recovery *r, uint64_t bytes) {
    r->expected_body = bytes > r->expected_body ? bytes : r->expected_body - r->expected_body / 8;
    if (r->expected_body == 0)
        r->expected_body = 1;
}

/* Nothing runs for it, and nothing will before it is its turn again. */
void attempt_give_slot(struct recovery *r, struct held *held) {
    slots_body_end(r->parts.slots, held->body_bytes);
    held->body_bytes = 0;
    slots_give(r->parts.slots, 1);
}

/* What is expected of it counts until its body has come. */
static void set_body_bytes(struct recovery *r, struct held *held, uint64_t bytes) {
    slots_body_begin(r->parts.slots, bytes);
    slots_body_end(r->parts.slots, held->body_bytes);
    held->body_bytes = bytes;
}

/* It was counted, but no handler has it: the charge is taken back and everybody may have it. */
static void put_back(struct recovery *r, struct held *held) {
    held->charged = true;
    held->release = true;
    attempt_give_slot(r, held);
    held_enter(&r->ledger, held, HELD_RETURNING);
}

static void start(struct recovery *r, struct held *held, const struct entry *entry) {
    int error = handler_start(r->handler, entry, held->deliveries, held, &held->run);

    if (error < 0) {
        loop_fail(r->parts.loop, error);
        put_back(r, held);
        return;
    }
    if (error != 0) {
        put_back(r, held);
        if (error == HANDLER_E_AWAY)
            trouble_handler(r, handler_away_reason(r->handler));
        return;
    }
    trouble_leave(r, ORDER_HANDLER);
    set_body_bytes(r, held, entry_bytes(entry));
    expect_body(r, held->body_bytes);
    held_enter(&r->ledger, held, HELD_HANDLING);
    report_attempt_begun(r->subject, held->id, held->deliveries);
}

/* The server has given it to us once more. */
static void granted(struct recovery *r, struct held *held, const struct entry *entry,
                    const struct answer *answer) {
    usec_t sure_until = held->lease.sure_until;
    bool in_time = answer->answered < sure_until;

    held->deliveries++;
    lease_claimed(&held->lease, answer->sent, answer->answered, r->settings->min_idle);
    if (!in_time || !lease_is_sure(&held->lease, clock_boottime()))
        settle(r, held, SETTLED_DEFERRED); /* proves nothing: not started, not given back */
    else if (!recovery_may_start(r))
        put_back(r, held);
    else
        start(r, held, entry);
}

/* What the answer did not bring: refused, or gone, or never asked for. */
static void not_granted(struct recovery *r, struct held *held, const struct answer *answer,
                        bool some_gone) {
    switch (answer->kind) {
    case ANSWER_OK:
        held->gone_hint = some_gone;
        if (some_gone) /* carried out for what is gone (Redis 6.2), and nobody says for which */
            lease_unanswered(&held->lease, answer->sent);
        break;
    case ANSWER_ERROR: /* not carried out; where it is refused for good, the claim cannot be kept */
        if (answer->error != REDIS_ERROR_TRANSIENT) {
            settle(r, held, SETTLED_DEFERRED);
            return;
        }
        attempt_give_slot(r, held);
        held_enter(&r->ledger, held, HELD_READY);
        return;
    case ANSWER_UNKNOWN:
        lease_unanswered(&held->lease, answer->sent);
        held->attempt_lost = true;
        break;
    }
    attempt_give_slot(r, held);
    held_enter(&r->ledger, held, HELD_DOUBTED);
}

static struct held *attempted(struct recovery *r, struct entry_id id) {
    struct held *held = ledger_find(&r->ledger, id);

    return held && held->state == HELD_ATTEMPTING ? held : NULL;
}

static void attempt_reply(void *data, const struct answer *answer, const struct entry *entries,
                          size_t n, size_t n_gone) {
    struct batch *batch = data;
    struct recovery *r = batch->recovery;
    bool ok = recovery_answered(r, ORDER_XCLAIM, answer);

    for (size_t i = 0; i < batch->n; i++) {
        struct held *held = attempted(r, batch->ids[i]);

        if (held)
            held->claim_out = false;
    }
    for (size_t i = 0; ok && i < n; i++) {
        struct held *held = attempted(r, entries[i].id);

        if (held)
            granted(r, held, &entries[i], answer);
    }
    for (size_t i = 0; i < batch->n; i++) {
        struct held *held = attempted(r, batch->ids[i]);

        if (held)
            not_granted(r, held, answer, n_gone > 0);
    }
    free(batch);
}

/* payload = id: no body is read; the counter is set instead of raised. */
static void attempt_ids_reply(void *data, const struct answer *answer, const struct entry_id *ids,
                              size_t n) {
    struct entry entries[BATCH_MAX];

    for (size_t i = 0; i < n && i < BATCH_MAX; i++)
        entries[i] = (struct entry){.id = ids[i]};
    attempt_reply(data, answer, entries, n < BATCH_MAX ? n : BATCH_MAX, 0);
}

static int attempt_send(struct recovery *r, struct batch *batch, usec_t fence) {
    const struct held *first = ledger_find(&r->ledger, batch->ids[0]);
    const struct claim_options options = {.retry_count = first->deliveries + 1};

    if (r->settings->payload == PAYLOAD_ID)
        return command_xclaim_ids(r->parts.link, &r->ref, fence, batch->ids, batch->n, &options,
                                  attempt_ids_reply, batch);
    return command_xclaim_bodies(r->parts.link, &r->ref, fence, batch->ids, batch->n, attempt_reply,
                                 batch);
}

/* Entries of one command carry one counter where that is set, and one fence, the lowest. */
static bool fits(const struct recovery *r, const struct batch *batch, const struct held *held) {
    const struct held *first;

    if (r->settings->payload != PAYLOAD_ID || batch->n == 0)
        return true;
    first = ledger_find(&r->ledger, batch->ids[0]);
    return first->deliveries == held->deliveries;
}

static void attempt_collect(struct recovery *r, struct batch *batch, size_t most, usec_t *fence) {
    usec_t now = clock_boottime(), min_idle = r->settings->min_idle;

    LEDGER_FOREACH (&r->ledger, HELD_READY, held) {
        if (batch->n == most)
            break;
        if (held->claim_out || !fits(r, batch, held))
            continue;
        if (!lease_may_claim(&held->lease, now, min_idle)) {
            ask_about(r, held);
            continue;
        }
        *fence = usec_min(*fence, lease_fence(&held->lease, now, min_idle));
        batch->ids[batch->n++] = held->id;
    }
}

/* How many may be asked for in one command. */
static size_t attempt_most(const struct recovery *r) {
    size_t starts = r->settings->handler == HANDLER_EXEC ? STARTS_MAX : BATCH_MAX;
    uint64_t by_size;

    if (r->settings->payload == PAYLOAD_ID)
        return starts;
    if (r->expected_body == 0) /* none seen yet */
        return 1;
    by_size = ANSWER_BYTES / r->expected_body;
    return by_size < 1 ? 1 : by_size > starts ? starts : (size_t)by_size;
}

static void attempt_batch(struct recovery *r, struct batch *batch, usec_t fence) {
    size_t granted_slots = slots_take(r->parts.slots, batch->n, r->expected_body, &r->slots_waiter);

    batch->n = granted_slots;
    if (batch->n == 0 || !recovery_sent(r, attempt_send(r, batch, fence))) {
        slots_give(r->parts.slots, granted_slots);
        free(batch);
        return;
    }
    for (size_t i = 0; i < batch->n; i++) {
        struct held *held = ledger_find(&r->ledger, batch->ids[i]);

        held->claim_out = true;
        set_body_bytes(r, held, r->expected_body);
        held_enter(&r->ledger, held, HELD_ATTEMPTING);
    }
}

/* How many may be asked for besides those that run: not more than there are handlers for. */
static size_t attempt_room(struct recovery *r) {
    size_t limit = recovery_window(r), running = ledger_running(&r->ledger), room;

    if (limit > r->settings->concurrency)
        limit = r->settings->concurrency;
    if (!ledger_first(&r->ledger, HELD_READY) || running >= limit || !recovery_may_start(r))
        return 0;
    if (handler_room(r->handler, &room) == HANDLER_E_AWAY) {
        trouble_handler(r, handler_away_reason(r->handler));
        return 0;
    }
    /* Those that were asked for already will take theirs. */
    room = room > r->ledger.counts[HELD_ATTEMPTING] ? room - r->ledger.counts[HELD_ATTEMPTING] : 0;
    return room < limit - running ? room : limit - running;
}

void attempt_pump(struct recovery *r) {
    size_t room = attempt_room(r), most = attempt_most(r);
    usec_t fence = USEC_INFINITY;
    struct batch *batch;

    /* One answer with large bodies at a time. Whoever can take no slot now stands in nobody's way.
     */
    if (room == 0 || r->ledger.counts[HELD_ATTEMPTING] >= most) {
        slots_forget(r->parts.slots, &r->slots_waiter);
        return;
    }
    batch = batch_new(r);
    if (!batch)
        return;
    attempt_collect(r, batch, room < most ? room : most, &fence);
    if (batch->n == 0) {
        slots_forget(r->parts.slots, &r->slots_waiter);
        free(batch);
        return;
    }
    attempt_batch(r, batch, fence);
}

/* Left pending and tried again later, or delivered too often by now. */
static void failed(struct recovery *r, struct held *held, bool lost, const char *reason) {
    if (lost) {
        settle(r, held, SETTLED_LOST);
        return;
    }
    if (bury_is_over(r, held->deliveries)) {
        bury(r, held, false, reason);
        return;
    }
    retry_later(r, held);
    settle(r, held, SETTLED_FAILED);
}

void attempt_ended(void *data, void *token, enum outcome outcome, const char *reason,
                   usec_t duration) {
    static const enum report_outcome reported[] = {
        [OUTCOME_OK] = REPORT_OK,
        [OUTCOME_RETRY] = REPORT_RETRY,
        [OUTCOME_REJECT] = REPORT_REJECT,
    };
    struct recovery *r = data;
    struct held *held = token;
    bool lost = held->state == HELD_LOST;
    bool last = outcome == OUTCOME_RETRY && !lost && bury_is_over(r, held->deliveries);

    held->run = NULL;
    attempt_give_slot(r, held);
    if (outcome != OUTCOME_NOT_BEGUN)
        report_attempt_ended(r->subject, held->id, held->deliveries,
                             last ? REPORT_LAST : reported[outcome], reason, duration);
    switch (outcome) {
    case OUTCOME_OK:
        held->result_ok = true;
        if (lost && held->void_result)
            settle(r, held, SETTLED_LOST);
        else
            held_enter(&r->ledger, held,
                       lost || held->ask_soon || held->ask_out ? HELD_DOUBTED : HELD_DONE);
        break;
    case OUTCOME_RETRY:
        failed(r, held, lost, reason);
        break;
    case OUTCOME_REJECT:
        if (lost) /* its owner decides */
            settle(r, held, SETTLED_LOST);
        else
            bury(r, held, true, reason);
        break;
    case OUTCOME_NOT_BEGUN:
        if (lost) {
            settle(r, held, SETTLED_LOST);
            break;
        }
        held->charged = held->release = true;
        held_enter(&r->ledger, held, HELD_RETURNING);
        break;
    }
    recovery_wake(r);
}
