/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The server's clock, looked at before and behind each page and whenever an idle time looks odd,
 * where the ACL allows it.
 *
 * Delivery times are wall-clock times. If that clock advanced by more than ours, every entry has
 * grown idle without its time having passed (a step forward, or this machine was paused by its
 * hypervisor): all that is held is asked for, and scans claim later. What was claimed in between,
 * by a page that the look behind it shows to have come too late, is left alone: nothing is done
 * with an entry before that look. If it advanced by less, idle times stand still and prove nothing
 * for a while.
 */
#include "inside.h"

/* The look behind a page is the one before the next, if that goes out at once. */
#define FRESH_BEHIND (2 * USEC_PER_MSEC)

/* Two clocks that nobody touches drift apart by less than that. */
static usec_t drift(usec_t elapsed) {
    return 10 * USEC_PER_MSEC + elapsed / 1024;
}

/* Claimed since the last look, when others may have been at work on it. */
static void drop_claimed(struct recovery *r) {
    if (!r->handover.out && r->handover.claimed >= r->time_guard.sent)
        claim_only_drop(r);
    LEDGER_FOREACH_ALL (&r->ledger, held) {
        if (held->claimed < r->time_guard.sent)
            continue;
        if (held->state == HELD_CLAIMED || (held->state == HELD_DOUBTED && !held->result_ok))
            settle(r, held, SETTLED_DEFERRED);
        else if (held->state == HELD_ASKING)
            held->by_step = true;
    }
}

static void compare(struct recovery *r, const struct answer *answer, uint64_t server) {
    struct time_guard *guard = &r->time_guard;
    usec_t min_idle = r->settings->min_idle, now = answer->answered;
    /* What its clock must show at least and at most, if it has gone on as ours has. */
    uint64_t least = usec_add(guard->server, usec_sub(answer->sent, guard->answered));
    uint64_t most = usec_add(guard->server, usec_sub(now, guard->sent));

    if (server > usec_add(most, min_idle / 8)) {
        guard->stepped_until = usec_max(guard->stepped_until, usec_add(now, min_idle));
        away_add(&r->away, server - most, now, min_idle);
        drop_claimed(r);
        ask_about_all(r);
    } else if (usec_add(server, drift(now - guard->sent)) < least) {
        guard->stepped_until =
            usec_max(guard->stepped_until, usec_add(now, usec_add(least - server, min_idle)));
    }
}

static void time_reply(void *data, const struct answer *answer, uint64_t unix_usec) {
    struct recovery *r = data;
    struct time_guard *guard = &r->time_guard;
    bool ok = recovery_answered(r, ORDER_TIME, answer);

    guard->out = false;
    guard->refused = answer->kind == ANSWER_ERROR && answer->error == REDIS_ERROR_NOPERM;
    if (answer->kind != ANSWER_UNKNOWN) { /* an error: it must go on as if there were no guard */
        guard->looked = answer->sent;
        guard->fresh_until =
            usec_add(answer->answered, guard->behind ? FRESH_BEHIND : r->settings->min_idle / 32);
    }
    if (!ok)
        return;
    if (guard->known)
        compare(r, answer, unix_usec);
    guard->known = true;
    guard->server = unix_usec;
    guard->sent = answer->sent;
    guard->answered = answer->answered;
}

void time_guard_look(struct recovery *r) {
    r->time_guard.due = true;
    recovery_wake(r);
}

void time_guard_pump(struct recovery *r) {
    struct time_guard *guard = &r->time_guard;

    if (!guard->due || guard->out || guard->refused)
        return;
    guard->due = guard->behind = false;
    guard->out = recovery_sent(r, command_time(r->parts.link, time_reply, r));
}

void time_guard_look_behind(struct recovery *r) {
    bool before = r->time_guard.out;

    r->time_guard.due = true;
    time_guard_pump(r); /* or when the one that is out is answered */
    r->time_guard.behind = r->time_guard.out && !before;
}

void time_guard_forget(struct recovery *r) {
    r->time_guard.fresh_until = 0;
}

void time_guard_keep(struct recovery *r, usec_t now) {
    if (usec_sub(now, r->time_guard.looked) >= r->settings->min_idle / 8)
        time_guard_look(r);
}

bool time_guard_is_fresh(struct recovery *r, usec_t now) {
    const struct time_guard *guard = &r->time_guard;

    if (guard->refused || now < guard->fresh_until)
        return true;
    if (!guard->out)
        time_guard_look(r);
    return false;
}

bool time_guard_looked_since(struct recovery *r, usec_t when) {
    const struct time_guard *guard = &r->time_guard;

    if (guard->refused || guard->looked >= when)
        return true;
    if (!guard->out && link_is_up(r->parts.link)) /* else all that is held is asked for later */
        time_guard_look(r);
    return false;
}

bool time_guard_stepped(const struct recovery *r, usec_t now) {
    return now < r->time_guard.stepped_until;
}
