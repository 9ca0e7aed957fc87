/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The server's clock, looked at before each page and whenever an idle time looks odd, where the
 * ACL allows it.
 *
 * Delivery times are wall-clock times. If that clock advanced by more than ours, every entry has
 * grown idle without its time having passed (a step forward, or this machine was paused by its
 * hypervisor): all that is held is asked for, and scans claim later. If it advanced by less, idle
 * times stand still and prove nothing for a while.
 */
#include "inside.h"

/* Two clocks that nobody touches drift apart by less than that. */
static usec_t drift(usec_t elapsed) {
    return 10 * USEC_PER_MSEC + elapsed / 1024;
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
    if (answer->kind != ANSWER_UNKNOWN) { /* an error: it must go on without */
        guard->looked = answer->sent;
        guard->fresh_until = usec_add(answer->answered, r->settings->min_idle / 32);
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
    guard->due = false;
    guard->out = recovery_sent(r, command_time(r->parts.link, time_reply, r));
}

void time_guard_forget(struct recovery *r) {
    r->time_guard.fresh_until = 0;
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
    if (!guard->out)
        time_guard_look(r);
    return false;
}

bool time_guard_stepped(const struct recovery *r, usec_t now) {
    return now < r->time_guard.stepped_until;
}
