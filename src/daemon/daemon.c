/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Born in this order: loop, children, slots, members with their links and recoveries, signals,
 * control socket, status, watchdog; dead in the reverse. READY=1 when all of that stands, whether
 * or not a server can be reached.
 */
#include "inside.h"

#include "report/log.h"
#include <sys/resource.h>
#include <utlist.h>

static int daemon_init(struct daemon *d) {
    const struct daemon_settings *settings = &d->edition->config->daemon;
    int error = loop_new(&d->loop);

    if (error == 0)
        error = children_new(d->loop, &d->children);
    if (error == 0)
        error = slots_new(settings->max_handlers, settings->max_body_bytes, &d->slots);
    if (error == 0)
        error = members_init(d);
    return error;
}

static void daemon_done(struct daemon *d) {
    watchdog_done(d);
    status_done(d);
    commands_done(d);
    stop_done(d);
    members_done(d);
    d->slots = slots_free(d->slots);
    d->children = children_free(d->children);
    d->loop = loop_free(d->loop);
    d->edition = edition_leave(d->edition);
}

/* Each handler takes a few descriptors; the soft limit is meant for select(2). */
static void raise_descriptor_limit(void) {
    struct rlimit limit;

    if (getrlimit(RLIMIT_NOFILE, &limit) == 0 && limit.rlim_cur < limit.rlim_max) {
        limit.rlim_cur = limit.rlim_max;
        (void)setrlimit(RLIMIT_NOFILE, &limit);
    }
}

static void start(struct daemon *d) {
    const struct server *server;
    size_t n_servers;

    DL_COUNT(d->servers, server, n_servers);
    report_started(PROJECT_VERSION, members_count(d), n_servers);
    members_start(d);
}

static int run_members(struct daemon *d, enum daemon_exit *ret) {
    int error = members_make_recoveries(d);

    if (error == 0)
        error = stop_init(d);
    if (error == 0)
        error = commands_init(d);
    if (error == 0)
        error = status_init(d);
    if (error == 0)
        error = watchdog_init(d);
    if (error < 0)
        return error;
    start(d);
    if (d->options->mode != DAEMON_ONCE || d->members)
        error = loop_run(d->loop);
    if (error == 0) {
        *ret = d->options->mode == DAEMON_ONCE ? once_summary(d) : EXIT_STATUS_OK;
        report_stopped(loop_longest_turn(d->loop));
    }
    return error;
}

int daemon_run(const struct options *options, const struct config_source *source,
               struct config *config, enum daemon_exit *ret) {
    struct daemon d = {.options = options, .source = source, .started = clock_boottime()};
    enum daemon_exit status = EXIT_STATUS_OK;
    int error = edition_new(config, &d.edition);

    own_memory_deny_exec();
    raise_descriptor_limit();
    if (error == 0)
        error = daemon_init(&d);
    if (error == 0)
        error = options->mode == DAEMON_DRY_RUN ? daemon_dry_run(&d, &status)
                                                : run_members(&d, &status);
    if (error < 0) {
        /* Something essential was refused in mid-air: nothing is taken apart in order, the
         * kernel does it. Children die with us, and Redis holds the truth. */
        report_broken("running", error);
        return error;
    }
    daemon_done(&d);
    *ret = status;
    return 0;
}
