/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The way from down to greeting: the name of the current url is looked up, if it has one, then
 * one of its addresses is connected to. connect_timeout holds for each address; what the look-up
 * took counts for the first.
 *
 * A look-up that did not end in time goes on by itself. If the link wants the same name again,
 * it waits for that one; its answer is used, however late, unless the link has been up since.
 */
#include "link_internal.h"

#include "base/text.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

/* The name is in the address of the record; here it must leave room for the reason. */
#define NAME_SHOWN_MAX 80

/* --- connecting ------------------------------------------------------------------------------ */

static void on_connected(void *data) {
    struct link *link = data;

    if (link->state != LINK_CONNECTING)
        return;
    link_enter(link, LINK_GREETING);
    greeting_begin(link);
}

static void on_ended(void *data, const char *reason, const redisReply *refusal) {
    struct link *link = data;

    if (refusal && refusal->type == REDIS_REPLY_ERROR)
        greeting_refused(link, NULL, refusal);
    else
        link_close(link, reason, NULL, false);
}

static void connect_to(struct link *link, const struct server_address *address, usec_t left) {
    const struct connection_owner owner = {on_connected, on_ended, link};
    const struct connection_settings settings = {
        .address = address,
        .connect_timeout = link->settings->connect_timeout,
        .connect_left = left,
        .command_timeout = link->settings->command_timeout,
    };
    char reason[CONNECTION_REASON_MAX];

    link_enter(link, LINK_CONNECTING);
    int r = connection_new(link->loop, &settings, &owner, &link->connection, reason);
    if (r < 0)
        loop_fail(link->loop, r);
    if (r != 0)
        link_close(link, r < 0 ? "out of memory" : reason, NULL, false);
}

static void connect_to_found(struct link *link, size_t at, usec_t left) {
    struct server_address address = *topology_current(&link->topology);

    address.host = link->resolved.addresses[at];
    address.is_name = false;
    connect_to(link, &address, left);
}

/* --- resolving ------------------------------------------------------------------------------- */

static void resolve_failed(struct link *link, const char *why) {
    const char *name = topology_current(&link->topology)->host;
    bool whole = strlen(name) <= NAME_SHOWN_MAX;
    char reason[LINK_TROUBLE_MAX];

    (void)snprintf(reason, sizeof(reason), "cannot resolve %.*s%s: %s", NAME_SHOWN_MAX, name,
                   whole ? "" : "...", why);
    link_close(link, reason, NULL, false);
}

static void on_answered(void *data, const struct resolved *resolved, const char *why) {
    struct link *link = data;
    usec_t due = timer_due(link->resolving);

    assert(link->state == LINK_RESOLVING);
    if (!resolved) {
        resolve_failed(link, why);
        return;
    }
    timer_disarm(link->resolving);
    link->resolved = *resolved;
    topology_found(&link->topology, resolved->n);
    connect_to_found(link, 0, usec_sub(due, clock_monotonic()));
}

static void on_too_slow(void *data) {
    struct link *link = data;
    char wait[32], why[64];

    text_format_duration(link->settings->connect_timeout, wait, sizeof(wait));
    (void)snprintf(why, sizeof(why), "no answer within %s", wait);
    resolve_failed(link, why);
}

static void resolve_begin(struct link *link) {
    timer_arm(link->resolving, link->settings->connect_timeout);
    int r = resolver_ask(link->resolver, topology_current(&link->topology)->host);
    if (r < 0) {
        loop_fail(link->loop, r);
        link_close(link, "out of memory", NULL, false);
    }
}

void connect_leave(struct link *link) {
    timer_disarm(link->resolving);
    if (link->resolver)
        resolver_leave(link->resolver);
}

void connect_done(struct link *link) {
    if (link->resolver)
        resolver_forget(link->resolver);
}

usec_t connect_deadline(const struct link *link) {
    return timer_due(link->resolving);
}

void connect_begin(struct link *link) {
    const struct server_address *address = topology_current(&link->topology);
    size_t at;

    link_enter(link, LINK_RESOLVING);
    if (!address->is_name)
        connect_to(link, address, link->settings->connect_timeout);
    else if (topology_is_found(&link->topology, &at))
        connect_to_found(link, at, link->settings->connect_timeout);
    else
        resolve_begin(link);
}

/* --- beginning ------------------------------------------------------------------------------- */

static void on_reconnect(void *data) {
    connect_begin(data);
}

void link_start(struct link *link) {
    if (link->state == LINK_DOWN && !timer_armed(link->reconnect))
        connect_begin(link);
}

static bool has_a_name(const struct redis_settings *settings) {
    for (size_t i = 0; i < settings->n_addresses; i++)
        if (settings->addresses[i].is_name)
            return true;
    return false;
}

int connect_init(struct link *link) {
    const struct resolver_owner owner = {on_answered, link};

    int r = timer_new(link->loop, on_reconnect, link, &link->reconnect);
    if (r == 0)
        r = timer_new(link->loop, on_too_slow, link, &link->resolving);
    if (r == 0 && has_a_name(link->settings))
        r = resolver_new(link->loop, &owner, &link->resolver);
    return r;
}

void connect_free(struct link *link) {
    link->resolver = resolver_free(link->resolver);
    link->resolving = timer_free(link->resolving);
    link->reconnect = timer_free(link->reconnect);
}
