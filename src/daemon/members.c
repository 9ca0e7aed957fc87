/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Who takes part: members, and the servers they share. Born at the start or by a reload; one that a
 * reload has changed or removed drains and dies, and only then whoever follows it is born, so that
 * no entry is in two hands.
 */
#include "inside.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <utlist.h>

/* How often it is looked whether one that leaves still waits for its handlers. */
#define LOOK_AGAIN USEC_PER_SEC

/* --- who is wanted --------------------------------------------------------------------------- */

static bool is_chosen(const struct options *options, const char *name) {
    if (options->n_recoveries == 0)
        return true;
    for (size_t i = 0; i < options->n_recoveries; i++)
        if (strcmp(options->recoveries[i], name) == 0)
            return true;
    return false;
}

bool members_is_wanted(const struct daemon *d, const char *name) {
    return is_chosen(d->options, name) && edition_recovery(d->edition, name);
}

static bool is_same_group(const struct recovery_settings *a, const struct recovery_settings *b) {
    return strcmp(a->stream, b->stream) == 0 && strcmp(a->group, b->group) == 0;
}

struct member *members_find(const struct daemon *d, const char *name) {
    struct member *member;

    DL_FOREACH (d->members, member)
        if (!member->gone && strcmp(member->settings->name, name) == 0)
            return member;
    return NULL;
}

size_t members_count(const struct daemon *d) {
    size_t n = 0;

    for (size_t i = 0; i < d->edition->config->n_recoveries; i++)
        n += is_chosen(d->options, d->edition->config->recoveries[i].name) ? 1 : 0;
    return n;
}

static bool all_gone(const struct daemon *d) {
    const struct member *member;

    DL_FOREACH (d->members, member)
        if (!member->gone)
            return false;
    return true;
}

struct recovery_facts *members_facts(const struct daemon *d, size_t *ret_n) {
    struct recovery_facts *facts;
    const struct member *member;
    size_t n = 0, i = 0;

    DL_FOREACH (d->members, member)
        n++;
    facts = calloc(n + 1, sizeof(*facts));
    if (!facts)
        return NULL;
    DL_FOREACH (d->members, member)
        if (!member->gone)
            recovery_facts(member->recovery, &facts[i++]);
    *ret_n = i;
    return facts;
}

/* --- servers --------------------------------------------------------------------------------- */

static void server_free(struct daemon *d, struct server *server) {
    assert(server->users == 0);
    DL_DELETE(d->servers, server);
    server->link = link_free(server->link);
    edition_leave(server->edition);
    free(server);
}

static int server_new(struct daemon *d, const struct redis_settings *settings,
                      struct server **ret) {
    struct server *server = calloc(1, sizeof(*server));
    int error = server ? link_new(d->loop, settings, &server->link) : -ENOMEM;

    if (error < 0) {
        free(server);
        return error;
    }
    server->edition = edition_use(d->edition);
    server->settings = settings;
    server->current = true;
    DL_APPEND(d->servers, server);
    *ret = server;
    return 0;
}

/* Made when the first member needs it. */
static int server_for(struct daemon *d, const struct redis_settings *settings,
                      struct server **ret) {
    struct server *server;

    DL_FOREACH (d->servers, server)
        if (server->current && strcmp(server->settings->name, settings->name) == 0) {
            *ret = server;
            return 0;
        }
    return server_new(d, settings, ret);
}

static void free_unused_servers(struct daemon *d) {
    struct server *server, *next;

    DL_FOREACH_SAFE (d->servers, server, next)
        if (server->users == 0)
            server_free(d, server);
}

/* The section says the same: its connection stays, with what follows from other sections. */
static void server_adopt(struct daemon *d, struct server *server) {
    const struct redis_settings *settings = edition_redis(d->edition, server->settings->name);

    if (!server->current || !settings ||
        !config_redis_equal(server->edition->config, d->edition->config, settings->name)) {
        server->current = false;
        return;
    }
    link_tune(server->link, settings);
    edition_leave(server->edition);
    server->edition = edition_use(d->edition);
    server->settings = settings;
}

/* --- a member -------------------------------------------------------------------------------- */

static int member_new(struct daemon *d, const struct recovery_settings *settings,
                      struct member **ret) {
    struct member *member = calloc(1, sizeof(*member));
    int error = member ? server_for(d, settings->redis, &member->server) : -ENOMEM;

    if (error < 0) {
        free(member);
        return error;
    }
    member->daemon = d;
    member->settings = settings;
    member->edition = edition_use(d->edition);
    member->server->users++;
    DL_APPEND(d->members, member);
    *ret = member;
    return 0;
}

static void member_free(struct daemon *d, struct member *member) {
    DL_DELETE(d->members, member);
    member->patience = timer_free(member->patience);
    member->recovery = recovery_free(member->recovery);
    member->server->users--;
    edition_leave(member->edition);
    free(member);
}

static void start_missing(struct daemon *d, const struct member *gone);

static void member_changed(void *data) {
    struct member *member = data;

    status_update(member->daemon);
}

/* One that a reload has ended makes room for whoever comes after it. */
static void member_left(struct daemon *d, struct member *member) {
    struct member *heir;

    start_missing(d, member);
    heir = members_find(d, member->settings->name);
    if (member->paused && heir)
        recovery_pause(heir->recovery);
    member_free(d, member);
    free_unused_servers(d);
    status_update(d);
}

static void member_gone(void *data) {
    struct member *member = data;
    struct daemon *d = member->daemon;

    member->gone = true;
    if (d->options->mode == DAEMON_RUN && !d->stopping) {
        member_left(d, member);
        return;
    }
    status_update(d);
    if (all_gone(d))
        loop_stop(d->loop);
}

static int make_recovery(struct daemon *d, struct member *member) {
    const struct recovery_parts parts = {d->loop, member->server->link, d->children, d->slots};
    const struct recovery_owner owner = {member_changed, member_gone, member};

    return recovery_new(member->settings, &parts, &owner, &member->recovery);
}

/* --- leaving --------------------------------------------------------------------------------- */

/* Handlers are waited for as long as they take. But where they have ended, and what they did cannot
 * be acknowledged (the server is gone for good, a right is missing: why the configuration was
 * changed, perhaps), it is left pending after a while. */
static void patience_fired(void *data) {
    struct member *member = data;
    struct recovery_facts facts;

    recovery_facts(member->recovery, &facts);
    if (facts.running == 0)
        recovery_cut_short(member->recovery, false);
    timer_arm(member->patience, LOOK_AGAIN);
}

static void member_leave(struct daemon *d, struct member *member) {
    struct recovery_facts facts;
    int error = timer_new(d->loop, patience_fired, member, &member->patience);

    if (error < 0) {
        loop_fail(d->loop, error);
        return;
    }
    recovery_facts(member->recovery, &facts);
    member->paused = facts.state == RECOVERY_PAUSED;
    member->leaving = true;
    recovery_drain(member->recovery);
    timer_arm(member->patience, usec_max(d->edition->config->daemon.drain_timeout, LOOK_AGAIN));
}

/* --- a reload -------------------------------------------------------------------------------- */

/* Somebody that is leaving has entries of the same group. Which server that is on is not asked:
 * sections of different names may lead to the same one. */
static bool must_wait(const struct daemon *d, const struct recovery_settings *settings) {
    const struct member *member;

    DL_FOREACH (d->members, member)
        if (!member->gone && member->leaving && is_same_group(member->settings, settings))
            return true;
    return false;
}

static int start_one(struct daemon *d, const struct recovery_settings *settings) {
    struct member *member;
    int error = member_new(d, settings, &member);

    if (error == 0)
        error = make_recovery(d, member);
    if (error < 0)
        return error;
    recovery_start(member->recovery, RECOVERY_FOREVER);
    link_start(member->server->link);
    return 0;
}

static bool has_waited_for(const struct recovery_settings *settings, const struct member *gone) {
    return strcmp(settings->name, gone->settings->name) == 0 ||
           is_same_group(settings, gone->settings);
}

/* gone: look only at what may have waited for that one; NULL: at all. */
static void start_missing(struct daemon *d, const struct member *gone) {
    const struct config *config = d->edition->config;

    for (size_t i = 0; i < config->n_recoveries; i++) {
        const struct recovery_settings *settings = &config->recoveries[i];
        int error;

        if (gone && !has_waited_for(settings, gone))
            continue;
        if (!is_chosen(d->options, settings->name) || members_find(d, settings->name) ||
            must_wait(d, settings))
            continue;
        error = start_one(d, settings);
        if (error < 0) {
            loop_fail(d->loop, error);
            return;
        }
    }
}

static void member_adopt(struct daemon *d, struct member *member, struct report_reload *count) {
    const char *name = member->settings->name;
    bool wanted = members_is_wanted(d, name);

    if (!member->leaving && wanted && member->server->current &&
        config_recovery_equal(member->edition->config, d->edition->config, name)) {
        count->unchanged++;
        return;
    }
    count->changed += wanted ? 1 : 0;
    count->removed += wanted || member->leaving ? 0 : 1;
    if (!member->leaving)
        member_leave(d, member);
}

void members_adopt(struct daemon *d, struct edition *edition, struct report_reload *ret) {
    struct report_reload count = {0};
    struct edition *old = d->edition;
    struct server *server;
    struct member *member;

    d->edition = edition;
    DL_FOREACH (d->servers, server)
        server_adopt(d, server);
    DL_FOREACH (d->members, member)
        member_adopt(d, member, &count);
    edition_leave(old);
    count.added = members_count(d) - count.unchanged - count.changed;
    start_missing(d, NULL);
    *ret = count;
}

/* --- the start and the end ------------------------------------------------------------------- */

int members_init(struct daemon *d) {
    const struct config *config = d->edition->config;

    for (size_t i = 0; i < config->n_recoveries; i++) {
        struct member *member;

        if (!is_chosen(d->options, config->recoveries[i].name))
            continue;
        int error = member_new(d, &config->recoveries[i], &member);
        if (error < 0)
            return error;
    }
    return 0;
}

int members_make_recoveries(struct daemon *d) {
    struct member *member;

    DL_FOREACH (d->members, member) {
        int error = make_recovery(d, member);

        if (error < 0)
            return error;
    }
    return 0;
}

void members_start(struct daemon *d) {
    enum recovery_mode mode = d->options->mode == DAEMON_ONCE ? RECOVERY_ONCE : RECOVERY_FOREVER;
    struct member *member;
    struct server *server;

    DL_FOREACH (d->members, member)
        recovery_start(member->recovery, mode);
    DL_FOREACH (d->servers, server)
        link_start(server->link);
}

void members_done(struct daemon *d) {
    struct member *member, *next;

    DL_FOREACH_SAFE (d->members, member, next)
        member_free(d, member);
    free_unused_servers(d);
}
