/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The server's clock, looked at once a pass where the ACL allows it.
 *
 * Delivery times are wall-clock times. If that clock advanced by more than ours, every entry has
 * grown idle without its time having passed (a step forward, or this machine was paused by its
 * hypervisor): all that is held is asked for, and scans claim later. If it advanced by less, idle
 * times stand still and prove nothing for a while.
 */
#include "inside.h"

static void compare(struct recovery *r, const struct answer *answer, uint64_t server) {
    struct time_guard *guard = &r->time_guard;
    usec_t min_idle = r->settings->min_idle;
    uint64_t theirs = usec_sub(server, guard->server);
    usec_t ours_most = usec_sub(answer->answered, guard->sent);
    usec_t ours_least = usec_sub(answer->sent, guard->answered);

    if (theirs > usec_add(ours_most, min_idle / 8)) {
        guard->stepped_until = usec_add(answer->answered, min_idle);
        away_add(&r->away, theirs - ours_most, answer->answered, min_idle);
        ask_about_all(r);
    } else if (usec_add(theirs, min_idle / 8) < ours_least) {
        guard->stepped_until = usec_add(answer->answered, usec_add(ours_least - theirs, min_idle));
    }
}

static void time_reply(void *data, const struct answer *answer, uint64_t unix_usec) {
    struct recovery *r = data;
    struct time_guard *guard = &r->time_guard;

    if (!recovery_answered(r, ORDER_TIME, answer)) {
        guard->refused = answer->kind == ANSWER_ERROR && answer->error == REDIS_ERROR_NOPERM;
        return;
    }
    if (guard->known)
        compare(r, answer, unix_usec);
    guard->known = true;
    guard->server = unix_usec;
    guard->sent = answer->sent;
    guard->answered = answer->answered;
}

void time_guard_ask(struct recovery *r) {
    if (!r->time_guard.refused && link_is_up(r->parts.link))
        (void)recovery_sent(r, command_time(r->parts.link, time_reply, r));
}

bool time_guard_stepped(const struct recovery *r, usec_t now) {
    return now < r->time_guard.stepped_until;
}
