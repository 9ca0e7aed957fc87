/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Born in this order: loop, children, slots, links, recoveries, signals, status, watchdog; dead
 * in the reverse. READY=1 when all of that stands, whether or not a server can be reached.
 */
#include "inside.h"

#include "base/cleanup.h"
#include "report/log.h"
#include "report/report.h"
#include <errno.h>
#include <string.h>
#include <sys/resource.h>

static void member_changed(void *data) {
    struct member *member = data;

    status_update(member->daemon);
}

static void member_gone(void *data) {
    struct member *member = data;
    struct daemon *d = member->daemon;

    status_update(d);
    if (++d->n_gone == d->n_members)
        loop_stop(d->loop);
}

static bool is_wanted(const struct options *options, const char *name) {
    if (options->n_recoveries == 0)
        return true;
    for (size_t i = 0; i < options->n_recoveries; i++)
        if (strcmp(options->recoveries[i], name) == 0)
            return true;
    return false;
}

/* The link of a [redis] section, made when the first member needs it. */
static int link_for(struct daemon *d, const struct redis_settings *settings, struct link **ret) {
    size_t i = (size_t)(settings - d->config->redis);

    if (!d->links[i]) {
        int error = link_new(d->loop, settings, &d->links[i]);

        if (error < 0)
            return error;
    }
    *ret = d->links[i];
    return 0;
}

static int make_members(struct daemon *d) {
    d->links = calloc(d->config->n_redis + 1, sizeof(*d->links));
    d->members = calloc(d->config->n_recoveries + 1, sizeof(*d->members));
    if (!d->links || !d->members)
        return -ENOMEM;
    for (size_t i = 0; i < d->config->n_recoveries; i++) {
        struct member *member = &d->members[d->n_members];
        int error;

        if (!is_wanted(d->options, d->config->recoveries[i].name))
            continue;
        *member = (struct member){.daemon = d, .settings = &d->config->recoveries[i]};
        error = link_for(d, member->settings->redis, &member->link);
        if (error < 0)
            return error;
        d->n_members++;
    }
    return 0;
}

static int make_recoveries(struct daemon *d) {
    for (size_t i = 0; i < d->n_members; i++) {
        struct member *member = &d->members[i];
        const struct recovery_parts parts = {d->loop, member->link, d->children, d->slots};
        const struct recovery_owner owner = {member_changed, member_gone, member};
        int error = recovery_new(member->settings, &parts, &owner, &member->recovery);

        if (error < 0)
            return error;
    }
    return 0;
}

static int daemon_init(struct daemon *d) {
    int error = loop_new(&d->loop);

    if (error == 0)
        error = children_new(d->loop, &d->children);
    if (error == 0)
        error =
            slots_new(d->config->daemon.max_handlers, d->config->daemon.max_body_bytes, &d->slots);
    if (error == 0)
        error = make_members(d);
    return error;
}

static void daemon_done(struct daemon *d) {
    watchdog_done(d);
    status_done(d);
    stop_done(d);
    for (size_t i = 0; d->members && i < d->n_members; i++)
        d->members[i].recovery = recovery_free(d->members[i].recovery);
    for (size_t i = 0; d->links && i < d->config->n_redis; i++)
        d->links[i] = link_free(d->links[i]);
    free(d->members);
    free(d->links);
    d->slots = slots_free(d->slots);
    d->children = children_free(d->children);
    d->loop = loop_free(d->loop);
}

/* Each handler takes a few descriptors; the soft limit is meant for select(2). */
static void raise_descriptor_limit(void) {
    struct rlimit limit;

    if (getrlimit(RLIMIT_NOFILE, &limit) == 0 && limit.rlim_cur < limit.rlim_max) {
        limit.rlim_cur = limit.rlim_max;
        (void)setrlimit(RLIMIT_NOFILE, &limit);
    }
}

static size_t count_links(const struct daemon *d) {
    size_t n = 0;

    for (size_t i = 0; i < d->config->n_redis; i++)
        n += d->links[i] ? 1 : 0;
    return n;
}

static void start(struct daemon *d) {
    enum recovery_mode mode = d->options->mode == DAEMON_ONCE ? RECOVERY_ONCE : RECOVERY_FOREVER;

    report_started(PROJECT_VERSION, d->n_members, count_links(d));
    for (size_t i = 0; i < d->n_members; i++)
        recovery_start(d->members[i].recovery, mode);
    for (size_t i = 0; i < d->config->n_redis; i++)
        if (d->links[i])
            link_start(d->links[i]);
}

static int run_members(struct daemon *d, enum daemon_exit *ret) {
    int error = make_recoveries(d);

    if (error == 0)
        error = stop_init(d);
    if (error == 0)
        error = status_init(d);
    if (error == 0)
        error = watchdog_init(d);
    if (error < 0)
        return error;
    start(d);
    if (d->options->mode != DAEMON_ONCE || d->n_members > 0)
        error = loop_run(d->loop);
    if (error == 0) {
        *ret = d->options->mode == DAEMON_ONCE ? once_summary(d) : EXIT_STATUS_OK;
        report_stopped(loop_longest_turn(d->loop));
    }
    return error;
}

int daemon_run(const struct options *options, const struct config *config, enum daemon_exit *ret) {
    struct daemon d = {.options = options, .config = config};
    enum daemon_exit status = EXIT_STATUS_OK;
    int error;

    raise_descriptor_limit();
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
