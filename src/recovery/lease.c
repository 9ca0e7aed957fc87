/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The lease rules. No clock is read here.
 */
#include "lease.h"

/* Clocks of two machines run differently: a step of this much is always forgiven, and a slew of
 * 1/16 of the time that has passed (chrony slews up to 8%). */
#define LEASE_SLACK (20 * USEC_PER_MSEC)

static usec_t slack(usec_t elapsed, usec_t min_idle) {
    return usec_min(LEASE_SLACK + elapsed / 16, min_idle / 4);
}

void lease_claimed(struct lease *lease, usec_t sent, usec_t answered, usec_t min_idle) {
    if (sent < lease->sent)
        return;
    *lease = (struct lease){
        .sent = sent,
        .answered = answered,
        .sure_until = usec_add(sent, min_idle),
    };
}

void lease_unanswered(struct lease *lease, usec_t sent) {
    if (lease->unanswered == 0)
        lease->unanswered = sent;
}

bool lease_may_claim(const struct lease *lease, usec_t now, usec_t min_idle) {
    return lease->unanswered == 0 && usec_sub(lease->sure_until, now) >= min_idle / 4;
}

bool lease_is_sure(const struct lease *lease, usec_t now) {
    return now < lease->sure_until;
}

usec_t lease_fence(const struct lease *lease, usec_t now, usec_t min_idle) {
    usec_t elapsed = usec_sub(now, lease->answered);

    /* After a backward step of the server's clock an idle time stays at 0 until the clock has
     * caught up; somebody has just looked and it is ours for long enough. */
    if (lease->checked && usec_sub(lease->sure_until, now) >= min_idle / 2)
        return 0;
    return usec_sub(elapsed, slack(elapsed, min_idle));
}

void lease_seen(struct lease *lease, usec_t sent, usec_t answered, usec_t idle, usec_t min_idle) {
    /* Idle times are whole milliseconds, rounded down. */
    usec_t earliest = usec_sub(sent, usec_add(idle, USEC_PER_MSEC));

    *lease = (struct lease){
        .sent = earliest,
        .answered = usec_sub(answered, idle),
        .sure_until = usec_add(earliest, min_idle),
        .checked = true,
    };
}

bool lease_asked(struct lease *lease, usec_t sent, usec_t answered, usec_t idle, usec_t min_idle) {
    usec_t earliest = usec_sub(sent, usec_add(idle, USEC_PER_MSEC)),
           latest = usec_sub(answered, idle);
    usec_t tolerance = slack(usec_sub(answered, lease->sent), min_idle);
    bool by_answered =
        latest + tolerance >= lease->sent && earliest <= usec_add(lease->answered, tolerance);
    bool by_unanswered = lease->unanswered != 0 && latest + tolerance >= lease->unanswered;
    bool late = !by_answered && latest > lease->sure_until;

    if (!by_answered && !by_unanswered)
        return false;
    lease_seen(lease, sent, answered, idle, min_idle);
    lease->late = late;
    return true;
}
