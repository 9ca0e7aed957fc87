/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Signals and the drain: SIGTERM or SIGINT stops new claims, lets running handlers go on for
 * drain_timeout, then ends them; a second one ends them at once. SIGHUP reloads.
 */
#include "inside.h"

#include <signal.h>
#include <utlist.h>

/* After handlers were told to stop: their SIGKILL comes 5 s later, then they must be gone. */
#define STOP_GRACE (7 * USEC_PER_SEC)
#define KILL_GRACE (1 * USEC_PER_SEC)

static void count_held(const struct daemon *d, size_t *ret_running, size_t *ret_held) {
    const struct member *member;

    *ret_running = *ret_held = 0;
    DL_FOREACH (d->members, member) {
        struct recovery_facts facts;

        recovery_facts(member->recovery, &facts);
        *ret_running += facts.running;
        *ret_held += facts.held;
    }
}

static void cut_short(struct daemon *d, bool kill, const char *why) {
    struct member *member;
    size_t running, held;

    count_held(d, &running, &held);
    report_drain_cut_short(running, why);
    d->cut_short = true;
    DL_FOREACH (d->members, member)
        recovery_cut_short(member->recovery, kill);
    timer_arm(d->drain_timer, kill ? KILL_GRACE : STOP_GRACE);
}

/* A server that does not answer holds up the end: what is out is left unknown. */
static void give_up_links(struct daemon *d) {
    struct server *server;

    DL_FOREACH (d->servers, server)
        link_drop(server->link, "stopping", NULL);
}

static void drain_timer_fired(void *data) {
    struct daemon *d = data;

    if (!d->cut_short)
        cut_short(d, false, "drain_timeout is over");
    else
        give_up_links(d);
}

static void begin_drain(struct daemon *d, const char *signal_name) {
    usec_t timeout = d->edition->config->daemon.drain_timeout;
    struct member *member;
    size_t running, held;

    count_held(d, &running, &held);
    d->stopping = true;
    report_stopping(signal_name, running, held, timeout);
    notify_stopping("stopping");
    notify_extend_timeout(usec_add(timeout, STOP_GRACE + 5 * USEC_PER_SEC));
    status_update(d);
    if (!d->members)
        loop_stop(d->loop);
    DL_FOREACH (d->members, member) {
        if (member->patience)
            timer_disarm(member->patience);
        recovery_drain(member->recovery);
    }
    timer_arm(d->drain_timer, timeout);
}

static void stop_signal(struct daemon *d, const char *name) {
    if (!d->stopping)
        begin_drain(d, name);
    else
        cut_short(d, true, "a second signal");
}

static void sigterm(void *data) {
    stop_signal(data, "SIGTERM");
}

static void sigint(void *data) {
    stop_signal(data, "SIGINT");
}

/* Where nothing is reloaded, its default would still end the daemon. */
static void sighup(void *data) {
    struct daemon *d = data;

    if (d->options->mode == DAEMON_RUN)
        (void)reload(d, NULL);
}

int stop_init(struct daemon *d) {
    int error = signal_watch_new(d->loop, SIGTERM, sigterm, d, &d->signals[0]);

    if (error == 0)
        error = signal_watch_new(d->loop, SIGINT, sigint, d, &d->signals[1]);
    if (error == 0)
        error = signal_watch_new(d->loop, SIGHUP, sighup, d, &d->signals[2]);
    if (error == 0)
        error = timer_new(d->loop, drain_timer_fired, d, &d->drain_timer);
    return error;
}

void stop_done(struct daemon *d) {
    d->drain_timer = timer_free(d->drain_timer);
    for (size_t i = 0; i < 3; i++)
        d->signals[i] = signal_watch_free(d->signals[i]);
}
