/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The clocks of failed entries. They stay pending under our name and are not held; each is taken
 * again by its ID when it is due.
 *
 * Delays live here and not in the server: a delay written there as an idle time costs newer
 * servers a walk through the pending list. What the server knows is only our last claim. Taken
 * by ID, an entry is either still sure to be ours, or has been idle for min_idle, so that anybody
 * may have it. In between lies a quarter of min_idle in which neither holds: where that would
 * meet the time when an entry is due, its claim is renewed before.
 */
#include "inside.h"
#include "policy.h"

#include <stdlib.h>

/* Several that are due close together go in one command. */
#define TOGETHER (50 * USEC_PER_MSEC)

/* Of a deferred entry, what is to be done with it, and when. */
enum step {
    STEP_RENEW,
    STEP_TAKE,   /* it is sure to be ours */
    STEP_RETAKE, /* as any scan may */
};

static enum step next_step(const struct memory_item *item, usec_t min_idle, usec_t *ret_when) {
    usec_t sure = usec_add(item->lease.sent, min_idle - min_idle / 4);
    usec_t idle = usec_add(item->lease.answered, min_idle + min_idle / 16);

    *ret_when = item->due;
    if (item->lease.sent == 0 || item->due >= idle) /* nothing is known of it, or time has told */
        return STEP_RETAKE;
    if (item->due <= sure)
        return STEP_TAKE;
    *ret_when = usec_add(item->lease.sent, min_idle / 2);
    return STEP_RENEW;
}

/* For one that fell due and could not be taken in time. */
static enum step step_now(const struct memory_item *item, usec_t now, usec_t min_idle,
                          usec_t *ret_when) {
    enum step step = next_step(item, min_idle, ret_when);

    if (*ret_when > now || lease_may_claim(&item->lease, now, min_idle))
        return step;
    *ret_when = usec_max(*ret_when, usec_add(item->lease.answered, min_idle + min_idle / 16));
    return STEP_RETAKE;
}

static void arm(struct recovery *r) {
    usec_t now = clock_boottime(), earliest = USEC_INFINITY, when;

    MEMORY_FOREACH (&r->memory, item) {
        if (item->what != MEMORY_RETRY || item->claim_out)
            continue;
        (void)step_now(item, now, r->settings->min_idle, &when);
        earliest = usec_min(earliest, when);
    }
    if (earliest == USEC_INFINITY)
        timer_disarm(r->retry_timer);
    else
        timer_arm(r->retry_timer, usec_max(usec_sub(earliest, now), TOGETHER));
}

void retry_later(struct recovery *r, const struct held *held) {
    const struct recovery_settings *s = r->settings;
    uint64_t failures = held->deliveries > 1 ? held->deliveries - 1 : 1;
    unsigned doublings = failures > 64 ? 63 : (unsigned)(failures - 1);
    usec_t now = clock_boottime();
    struct memory_item *item = memory_put(&r->memory, held->id, MEMORY_RETRY, NULL);
    usec_t when;

    if (!item)
        return;
    item->lease = held->lease;
    item->due = usec_add(now, policy_double(s->retry_delay, doublings, s->retry_delay_max));
    (void)step_now(item, now, s->min_idle, &when);
    /* The others have their time; this one may be earlier. */
    if (when < usec_add(now, usec_sub(timer_due(r->retry_timer), clock_monotonic())))
        timer_arm(r->retry_timer, usec_max(usec_sub(when, now), TOGETHER));
}

bool retry_is_due(struct recovery *r, struct memory_item *item, const struct answer *answer) {
    lease_claimed(&item->lease, answer->sent, answer->answered, r->settings->min_idle);
    item->claim_out = false;
    return item->due <= answer->answered;
}

/* --- taking ---------------------------------------------------------------------------------- */

/* A wave of retries is accounted as a pass of its own, without a page. */
static void take(struct recovery *r, struct memory_item *item, struct pass **wave) {
    struct entry_id id = item->id;
    struct lease lease = item->lease;

    memory_forget(&r->memory, item);
    if (!*wave && pass_new(clock_monotonic(), wave) < 0)
        return; /* left to a scan */
    (*wave)->account.claimed++;
    hold(r, id, &lease, *wave);
}

static void close_wave(struct recovery *r, struct pass *wave) {
    if (wave)
        settle_pass_close(r, wave);
}

static void claim_reply(void *data, const struct answer *answer, const struct entry_id *ids,
                        size_t n) {
    struct batch *batch = data;
    struct recovery *r = batch->recovery;
    bool ok = recovery_answered(r, ORDER_XCLAIM, answer);

    for (size_t i = 0; ok && i < n; i++) {
        struct memory_item *item = memory_find(&r->memory, ids[i]);

        if (item && item->what == MEMORY_RETRY)
            lease_claimed(&item->lease, answer->sent, answer->answered, r->settings->min_idle);
    }
    for (size_t i = 0; i < batch->n; i++) {
        struct memory_item *item = memory_find(&r->memory, batch->ids[i]);

        if (!item || !item->claim_out)
            continue;
        item->claim_out = false;
        /* Refused, gone, or unknown: a scan will find it, if it is there to be found. */
        if (item->lease.sent < answer->sent)
            memory_forget(&r->memory, item);
    }
    free(batch);
    arm(r);
}

static void claim_send(struct recovery *r, struct batch *batch, usec_t min_idle) {
    static const struct claim_options keep = {.retry_count = CLAIM_KEEP_COUNT};

    if (batch->n == 0 ||
        !recovery_sent(r, command_xclaim_ids(r->parts.link, &r->ref, min_idle, batch->ids, batch->n,
                                             &keep, claim_reply, batch))) {
        for (size_t i = 0; i < batch->n; i++)
            memory_find(&r->memory, batch->ids[i])->claim_out = false;
        free(batch);
    }
}

/* False: something is due, and the server's clock has to be looked at first. */
static bool claim_kind(struct recovery *r, enum step kind, usec_t now) {
    usec_t m = r->settings->min_idle, fence = USEC_INFINITY, when;
    struct batch *batch = batch_new(r);

    if (!batch)
        return true;
    if (kind == STEP_RETAKE) /* a claim like a page's, and as careful */
        fence = away_min_idle(&r->away, now, m);
    MEMORY_FOREACH (&r->memory, item) {
        if (batch->n == BATCH_MAX)
            break;
        if (item->what != MEMORY_RETRY || item->claim_out ||
            step_now(item, now, m, &when) != kind || when > usec_add(now, TOGETHER))
            continue;
        if (kind == STEP_RETAKE && !time_guard_is_fresh(r, now)) {
            free(batch);
            return false;
        }
        if (kind == STEP_RENEW)
            fence = usec_min(fence, lease_fence(&item->lease, now, m));
        item->claim_out = true;
        batch->ids[batch->n++] = item->id;
    }
    claim_send(r, batch, fence);
    return true;
}

static void take_due(struct recovery *r, usec_t now) {
    struct pass *wave = NULL;
    usec_t when;

    MEMORY_FOREACH (&r->memory, item) {
        if (recovery_room(r) == 0)
            break;
        if (item->what == MEMORY_RETRY && !item->claim_out &&
            step_now(item, now, r->settings->min_idle, &when) == STEP_TAKE &&
            when <= usec_add(now, TOGETHER))
            take(r, item, &wave);
    }
    close_wave(r, wave);
}

void retry_tick(struct recovery *r) {
    usec_t now = clock_boottime();

    if (!recovery_may_claim(r))
        return;
    if (link_is_up(r->parts.link) && !away_now(&r->away) && r->trouble.kind == TROUBLE_NONE) {
        take_due(r, now);
        (void)claim_kind(r, STEP_RENEW, now);
        if (claim_kind(r, STEP_RETAKE, now))
            arm(r);
        else /* while the look is fresh, which is not for long */
            timer_arm(r->retry_timer, usec_min(r->settings->min_idle / 64, TOGETHER));
    } else {
        timer_arm(r->retry_timer, usec_max(r->settings->min_idle / 16, TOGETHER));
    }
    recovery_wake(r);
}
