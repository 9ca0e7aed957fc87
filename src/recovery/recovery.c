/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * One recovery: its birth and death, its timer, its state, and the pump.
 *
 * Nothing is sent from inside a callback. Whatever happens wakes the pump, which runs once a
 * turn of the loop and sends what is due, the most urgent first; so commands come in batches,
 * and a callback never finds the world changed under its feet.
 */
#include "inside.h"
#include "policy.h"

#include "base/random.h"
#include <assert.h>
#include <errno.h>
#include <stdlib.h>

static const char *const state_names[_RECOVERY_STATE_MAX] = {
    [RECOVERY_RESTING] = "resting", [RECOVERY_SCANNING] = "scanning",
    [RECOVERY_WAITING] = "waiting", [RECOVERY_FAILING] = "error",
    [RECOVERY_PAUSED] = "paused",   [RECOVERY_DRAINING] = "draining",
    [RECOVERY_GONE] = "gone",
};

const char *recovery_state_to_string(enum recovery_state state) {
    return state_names[state];
}

#define BIT(state) (1u << (state))
#define AT_WORK                                                                                    \
    (BIT(RECOVERY_RESTING) | BIT(RECOVERY_SCANNING) | BIT(RECOVERY_WAITING) | BIT(RECOVERY_FAILING))

static const unsigned ONLY_ASSERTED legal[_RECOVERY_STATE_MAX] = {
    [RECOVERY_RESTING] =
        AT_WORK | BIT(RECOVERY_PAUSED) | BIT(RECOVERY_DRAINING) | BIT(RECOVERY_GONE),
    [RECOVERY_SCANNING] = AT_WORK | BIT(RECOVERY_PAUSED) | BIT(RECOVERY_DRAINING),
    [RECOVERY_WAITING] =
        AT_WORK | BIT(RECOVERY_PAUSED) | BIT(RECOVERY_DRAINING) | BIT(RECOVERY_GONE),
    [RECOVERY_FAILING] =
        AT_WORK | BIT(RECOVERY_PAUSED) | BIT(RECOVERY_DRAINING) | BIT(RECOVERY_GONE),
    [RECOVERY_PAUSED] = AT_WORK | BIT(RECOVERY_DRAINING),
    [RECOVERY_DRAINING] = BIT(RECOVERY_GONE),
    [RECOVERY_GONE] = 0,
};

void recovery_enter(struct recovery *r, enum recovery_state state) {
    if (r->state == state)
        return;
    assert(legal[r->state] & BIT(state));
    report_recovery_state(r->subject, state_names[r->state], state_names[state]);
    r->state = state;
    recovery_changed(r);
}

void recovery_wake(struct recovery *r) {
    deferred_call(r->pump);
}

void recovery_changed(struct recovery *r) {
    deferred_call(r->news);
}

size_t recovery_window(const struct recovery *r) {
    /* In trouble one entry at a time is tried. */
    if (r->trouble.kind != TROUBLE_NONE)
        return 1;
    return (size_t)(r->settings->concurrency + r->settings->claim_ahead);
}

size_t recovery_room(const struct recovery *r) {
    size_t window = recovery_window(r), held = ledger_size(&r->ledger);

    return held < window ? window - held : 0;
}

bool recovery_may_start(const struct recovery *r) {
    bool retry = r->retrying && !ledger_first(&r->ledger, HELD_DONE);

    return r->state != RECOVERY_DRAINING && link_is_up(r->parts.link) && !away_now(&r->away) &&
           (r->trouble.kind == TROUBLE_NONE || retry);
}

bool recovery_may_claim(const struct recovery *r) {
    return r->state != RECOVERY_PAUSED && r->state != RECOVERY_DRAINING &&
           r->state != RECOVERY_GONE;
}

void recovery_unpend(struct recovery *r, uint64_t n) {
    r->pending = r->pending > n ? r->pending - n : 0;
}

struct batch *batch_new(struct recovery *r) {
    struct batch *batch = malloc(sizeof(*batch));

    if (!batch) {
        loop_fail(r->parts.loop, -ENOMEM);
        return NULL;
    }
    batch->recovery = r;
    batch->n = 0;
    batch->repeated = batch->release = batch->as_scan = false;
    return batch;
}

bool recovery_sent(struct recovery *r, int result) {
    if (result < 0)
        loop_fail(r->parts.loop, result);
    if (result != 0)
        return false;
    r->outstanding++;
    return true;
}

static bool is_write(enum order order) {
    return order == ORDER_XAUTOCLAIM || order == ORDER_XCLAIM || order == ORDER_XACK ||
           order == ORDER_SCRIPT || order == ORDER_MOVE || order == ORDER_RPUSH;
}

/* What each answer says of the server: is it away, and is it back? */
static void note_absence(struct recovery *r, enum order order, const struct answer *answer) {
    usec_t min_idle = r->settings->min_idle;
    bool carried_out = answer->kind == ANSWER_OK || answer->error == REDIS_ERROR_NOGROUP ||
                       answer->error == REDIS_ERROR_WRONGTYPE;

    if (answer->kind == ANSWER_UNKNOWN || answer->error == REDIS_ERROR_TRANSIENT ||
        answer->error == REDIS_ERROR_READONLY) {
        away_begin(&r->away, answer->sent, is_write(order));
    } else if (lease_too_slow(answer->sent, answer->answered, min_idle)) {
        away_begin(&r->away, answer->sent, is_write(order));
        trouble_slow(r);
    } else if (is_write(order) && carried_out) {
        away_end(&r->away, answer->answered, min_idle);
        trouble_leave(r, ORDER_ANY_WRITE);
    } else {
        away_answered(&r->away);
    }
}

/* What is optional makes no trouble of its own; dead letters make another one. */
static bool is_essential(enum order order, const struct answer *answer) {
    return order != ORDER_EXISTS && order != ORDER_TIME &&
           (order != ORDER_SCRIPT || answer->error == REDIS_ERROR_NOGROUP);
}

bool recovery_answered(struct recovery *r, enum order order, const struct answer *answer) {
    assert(r->outstanding > 0);
    r->outstanding--;
    recovery_wake(r);
    note_absence(r, order, answer);
    if (answer->kind == ANSWER_OK)
        trouble_leave(r, order);
    else if (answer->kind == ANSWER_ERROR && is_essential(order, answer))
        trouble_from_error(r, order, answer);
    return answer->kind == ANSWER_OK;
}

/* --- the end --------------------------------------------------------------------------------- */

static bool is_running(const struct held *held) {
    return held->state == HELD_HANDLING || held->state == HELD_LOST;
}

/* What waits for a server that cannot be had, or for a right that is missing, is left pending. */
static void leave_the_rest(struct recovery *r) {
    LEDGER_FOREACH_ALL (&r->ledger, held)
        if (!is_running(held) && !held->claim_out && !held->ask_out &&
            held->state != HELD_COUNTING && held->state != HELD_ACKING &&
            held->state != HELD_BURYING)
            settle(r, held, SETTLED_DEFERRED);
}

static bool once_is_over(const struct recovery *r) {
    return r->mode == RECOVERY_ONCE && r->scanned && !r->scan.active;
}

static void end_if_done(struct recovery *r) {
    bool once = once_is_over(r);

    bool in_vain = once && r->trouble.kind != TROUBLE_NONE;

    if (r->cut_short || in_vain)
        leave_the_rest(r);
    if (!r->handover.out && (r->state == RECOVERY_DRAINING || in_vain))
        claim_only_drop(r);
    if (r->outstanding > 0 || ledger_size(&r->ledger) > 0 || r->handover.ids)
        return;
    if (r->state != RECOVERY_DRAINING && !once)
        return;
    if (r->handler)
        handler_close(r->handler, r->killing);
    if (r->handler && !handler_is_closed(r->handler)) /* it calls when it is */
        return;
    timer_disarm(r->timer);
    timer_disarm(r->retry_timer);
    timer_disarm(r->keeper);
    slots_forget(r->parts.slots, &r->slots_waiter);
    link_unlisten(r->parts.link, &r->listener);
    recovery_enter(r, RECOVERY_GONE);
}

/* --- the pump -------------------------------------------------------------------------------- */

static void pump(void *data) {
    struct recovery *r = data;

    if (r->state == RECOVERY_GONE)
        return;
    if (r->state == RECOVERY_DRAINING)
        release_all(r);
    if (link_is_up(r->parts.link)) {
        ack_pump(r);
        time_guard_pump(r);
        bury_pump(r);
        ask_pump(r);
        release_pump(r);
        probe_pump(r);
        count_pump(r);
        attempt_pump(r);
        claim_only_pump(r);
        scan_pump(r);
    } else { /* others are next, on servers that are there */
        slots_forget(r->parts.slots, &r->slots_waiter);
    }
    end_if_done(r);
}

static void tell_owner(void *data) {
    struct recovery *r = data;

    if (r->state == RECOVERY_GONE)
        r->owner.gone(r->owner.data);
    else
        r->owner.changed(r->owner.data);
}

/* --- the timer ------------------------------------------------------------------------------- */

/* A pause is not changed by what happens to the server meanwhile. */
static void enter_waiting(struct recovery *r) {
    if (recovery_may_claim(r))
        recovery_enter(r, RECOVERY_WAITING);
}

static void timer_fired(void *data) {
    struct recovery *r = data;

    if (!link_is_up(r->parts.link)) { /* the link calls when it is up */
        enter_waiting(r);
        return;
    }
    r->retrying = r->trouble.kind != TROUBLE_NONE;
    /* While results wait for their XACK nothing new is claimed. */
    bool results_first = r->trouble.order == ORDER_XACK && ledger_first(&r->ledger, HELD_DONE);
    if (!results_first && recovery_may_claim(r))
        scan_begin(r);
    recovery_wake(r);
}

static void keeper_fired(void *data) {
    keep_tick(data);
}

static void retry_timer_fired(void *data) {
    retry_tick(data);
}

/* --- the link -------------------------------------------------------------------------------- */

static void link_came_up(void *data) {
    struct recovery *r = data;

    /* It took us long: something was there before us, or was away. */
    if (!r->away.read && usec_sub(clock_boottime(), r->away.born) > r->settings->min_idle / 4)
        away_begin(&r->away, r->away.born, false);
    ask_about_all(r);
    if (r->state == RECOVERY_WAITING && r->trouble.kind == TROUBLE_NONE)
        recovery_enter(r, r->scan.active ? RECOVERY_SCANNING : RECOVERY_RESTING);
    /* The timer may have fired in vain; what was refused waits for it, mid-scan and paused too. */
    if (r->state == RECOVERY_DRAINING)
        r->retrying = r->trouble.kind != TROUBLE_NONE;
    else if (!timer_armed(r->timer) &&
             (r->trouble.kind != TROUBLE_NONE || (recovery_may_claim(r) && !r->scan.active)))
        timer_arm(r->timer, 0);
    recovery_changed(r);
    recovery_wake(r);
}

static void link_went_down(void *data) {
    struct recovery *r = data;

    if (!r->away.read &&
        !away_now(&r->away)) /* it was there, and has not been asked for anything */
        r->away.born = clock_boottime();
    away_begin(&r->away, clock_boottime(), false);
    if (r->trouble.kind == TROUBLE_NONE)
        enter_waiting(r);
    recovery_changed(r);
    recovery_wake(r);
}

static void link_has_failed(void *data) {
    struct recovery *r = data;

    if (link_trouble_is_error(r->parts.link) && !r->away.read) /* the server is there */
        r->away.born = clock_boottime();
    else
        away_begin(&r->away, clock_boottime(), false);
    if (r->mode == RECOVERY_ONCE && r->state != RECOVERY_GONE && r->state != RECOVERY_DRAINING) {
        scan_abort(r);
        r->cut_short = true; /* what runs is waited for; its result has nowhere to go */
        timer_disarm(r->timer);
        recovery_enter(r, RECOVERY_DRAINING);
    }
    recovery_changed(r);
    recovery_wake(r);
}

/* --- life ------------------------------------------------------------------------------------ */

static void handler_changed(void *data) {
    struct recovery *r = data;
    size_t room;

    /* Somebody can be had again. */
    if (r->trouble.order == ORDER_HANDLER && r->state != RECOVERY_DRAINING &&
        r->state != RECOVERY_GONE && handler_room(r->handler, &room) == 0 && room > 0)
        trouble_leave(r, ORDER_HANDLER);
    recovery_wake(r);
}

static int make_parts(struct recovery *r) {
    const struct handler_owner handler_owner = {attempt_ended, handler_changed, r};
    const struct recovery_settings *s = r->settings;
    struct loop *loop = r->parts.loop;
    int error = report_subject_new(s->name, s->stream, s->group, s->consumer, &r->subject);

    if (error == 0 && s->handler != HANDLER_MOVE && s->handler != HANDLER_CLAIM_ONLY)
        error = handler_new(loop, r->parts.children, s, r->subject, &handler_owner, &r->handler);
    if (error == 0)
        error = timer_new(loop, timer_fired, r, &r->timer);
    if (error == 0)
        error = timer_new(loop, keeper_fired, r, &r->keeper);
    if (error == 0)
        error = timer_new(loop, retry_timer_fired, r, &r->retry_timer);
    if (error == 0)
        error = deferred_new(loop, pump, r, &r->pump);
    if (error == 0)
        error = deferred_new(loop, tell_owner, r, &r->news);
    return error;
}

static void slots_free_now(void *data) {
    recovery_wake(data);
}

int recovery_new(const struct recovery_settings *settings, const struct recovery_parts *parts,
                 const struct recovery_owner *owner, struct recovery **ret) {
    CLEANUP(recovery_freep) struct recovery *r = calloc(1, sizeof(*r));
    int error;

    if (!r)
        return -ENOMEM;
    r->settings = settings;
    r->parts = *parts;
    r->owner = *owner;
    r->ref = (struct group_ref){settings->stream, settings->group, settings->consumer};
    r->slots_waiter = (struct slots_waiter){.wake = slots_free_now, .data = r};
    r->listener = (struct link_listener){
        .up = link_came_up, .down = link_went_down, .failed = link_has_failed, .data = r};
    error = make_parts(r);
    if (error < 0)
        return error;
    *ret = TAKE(r);
    return 0;
}

struct recovery *recovery_free(struct recovery *r) {
    if (!r)
        return NULL;
    assert(r->outstanding == 0);
    assert(!r->started || r->state == RECOVERY_GONE);
    scan_abort(r);
    claim_only_drop(r);
    LEDGER_FOREACH_ALL (&r->ledger, held)
        settle(r, held, SETTLED_DEFERRED);
    memory_clear(&r->memory);
    told_clear(&r->told);
    r->handler = handler_free(r->handler);
    r->news = deferred_free(r->news);
    r->pump = deferred_free(r->pump);
    r->retry_timer = timer_free(r->retry_timer);
    r->keeper = timer_free(r->keeper);
    r->timer = timer_free(r->timer);
    r->subject = report_subject_free(r->subject);
    free(r);
    return NULL;
}

void recovery_start(struct recovery *r, enum recovery_mode mode) {
    usec_t wait =
        mode == RECOVERY_ONCE ? 0 : policy_first_wait(r->settings->interval, random_u32());

    r->mode = mode;
    link_listen(r->parts.link, &r->listener);
    timer_arm(r->timer, wait);
    r->started = true;
    away_init(&r->away, clock_boottime(), r->settings->min_idle, r->settings->redis->reconnect_max);
}

/* A page that is on its way is waited for: what it claims is held and goes on, or is given back. */
static void stop_scan(struct recovery *r) {
    if (!r->scan.out)
        scan_abort(r);
}

void recovery_drain(struct recovery *r) {
    if (r->state == RECOVERY_DRAINING || r->state == RECOVERY_GONE)
        return;
    recovery_enter(r, RECOVERY_DRAINING);
    timer_disarm(r->timer);
    /* What was refused is tried once more, and again soon: the trouble may be over since, and
     * nobody wants to wait for results that could be acknowledged. */
    r->retrying = r->trouble.kind != TROUBLE_NONE;
    r->trouble.tries = 0;
    stop_scan(r);
    recovery_wake(r);
}

void recovery_run(struct recovery *r) {
    if (recovery_may_claim(r) && !r->scan.active)
        timer_arm(r->timer, 0);
}

void recovery_pause(struct recovery *r) {
    if (!recovery_may_claim(r))
        return;
    recovery_enter(r, RECOVERY_PAUSED);
    report_recovery_paused(r->subject, true);
    if (r->trouble.kind == TROUBLE_NONE)
        timer_disarm(r->timer);
    timer_disarm(r->retry_timer);
    stop_scan(r);
    recovery_wake(r);
}

void recovery_resume(struct recovery *r) {
    if (r->state != RECOVERY_PAUSED)
        return;
    if (trouble_is_error(r->trouble.kind))
        recovery_enter(r, RECOVERY_FAILING);
    else if (r->trouble.kind != TROUBLE_NONE || !link_is_up(r->parts.link))
        recovery_enter(r, RECOVERY_WAITING);
    else
        recovery_enter(r, r->scan.active ? RECOVERY_SCANNING : RECOVERY_RESTING);
    report_recovery_paused(r->subject, false);
    if (!r->scan.active)
        timer_arm(r->timer, 0);
    timer_arm(r->retry_timer, 0);
    recovery_wake(r);
}

void recovery_cut_short(struct recovery *r, bool kill) {
    r->cut_short = true;
    r->killing = kill;
    LEDGER_FOREACH (&r->ledger, HELD_HANDLING, held)
        handler_stop(held->run, kill);
    LEDGER_FOREACH (&r->ledger, HELD_LOST, held)
        handler_stop(held->run, kill);
    recovery_wake(r);
}

void recovery_facts(const struct recovery *r, struct recovery_facts *ret) {
    bool link_away = !link_is_up(r->parts.link);

    *ret = (struct recovery_facts){
        .settings = r->settings,
        .state = r->state,
        .trouble = link_away                         ? link_trouble(r->parts.link)
                   : r->trouble.kind != TROUBLE_NONE ? r->trouble.phrase
                                                     : r->burial_phrase,
        .trouble_is_error =
            link_away ? link_trouble_is_error(r->parts.link) : trouble_is_error(r->trouble.kind),
        .trouble_is_link = link_away,
        .held = ledger_size(&r->ledger),
        .running = r->handler ? handler_running(r->handler) : 0,
        .last_pass = r->last_pass,
        .last_pass_at = r->last_pass_at,
        .total = r->total,
        .passes = r->passes,
        .pending = r->pending,
        .oldest = r->oldest,
        .next_scan = r->scan.active || !recovery_may_claim(r) ? USEC_INFINITY : timer_due(r->timer),
        .counters = report_counters(r->subject),
    };
}

usec_t recovery_deadline(const struct recovery *r) {
    return usec_min(usec_min(timer_due(r->timer), timer_due(r->keeper)),
                    r->handler ? handler_deadline(r->handler) : USEC_INFINITY);
}
