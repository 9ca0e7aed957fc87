/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * WATCHDOG=1 each third of its time, and only while everything that must move by itself does:
 * every timer fires, every reconnect and every running command has its deadline, every handler
 * its time-out. That a server is away is no reason to be restarted; that we forgot to look is.
 */
#include "inside.h"

#include <utlist.h>

/* How late something may be on a busy machine. */
#define LATE (10 * USEC_PER_SEC)

static usec_t earliest_deadline(const struct daemon *d) {
    usec_t earliest = USEC_INFINITY;
    const struct member *member;
    const struct server *server;

    DL_FOREACH (d->members, member)
        earliest = usec_min(earliest, recovery_deadline(member->recovery));
    DL_FOREACH (d->servers, server)
        earliest = usec_min(earliest, link_deadline(server->link));
    return earliest;
}

static void watchdog_fired(void *data) {
    struct daemon *d = data;

    timer_arm(d->watchdog_timer, d->watchdog_interval / 3);
    if (clock_monotonic() <= usec_add(earliest_deadline(d), LATE))
        notify_watchdog();
}

int watchdog_init(struct daemon *d) {
    int error = timer_new(d->loop, watchdog_fired, d, &d->watchdog_timer);

    if (error < 0)
        return error;
    d->watchdog_interval = notify_watchdog_interval();
    if (d->watchdog_interval > 0)
        timer_arm(d->watchdog_timer, d->watchdog_interval / 3);
    return 0;
}

void watchdog_done(struct daemon *d) {
    d->watchdog_timer = timer_free(d->watchdog_timer);
}
