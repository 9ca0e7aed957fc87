/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The life of a link: one connection after the other. See link_internal.h for the states.
 */
#include "link_internal.h"

#include "report/report.h"
#include "version.h"

#include <assert.h>
#include <errno.h>
#include <event2/util.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *const state_names[_LINK_STATE_MAX] = {
    [LINK_DOWN] = "down",
    [LINK_RESOLVING] = "resolving",
    [LINK_CONNECTING] = "connecting",
    [LINK_GREETING] = "greeting",
    [LINK_UP] = "up",
    [LINK_CLOSING] = "closing",
};

/* --- state ----------------------------------------------------------------------------------- */

const char *link_state_to_string(enum link_state state) {
    return state_names[state];
}

bool link_move_is_legal(enum link_state from, enum link_state to) {
    switch (from) {
    case LINK_DOWN:
        return to == LINK_RESOLVING;
    case LINK_RESOLVING:
        return to == LINK_CONNECTING || to == LINK_CLOSING;
    case LINK_CONNECTING:
        return to == LINK_GREETING || to == LINK_CLOSING;
    case LINK_GREETING:
        return to == LINK_UP || to == LINK_CLOSING;
    case LINK_UP:
        return to == LINK_CLOSING;
    case LINK_CLOSING:
        return to == LINK_DOWN;
    case _LINK_STATE_MAX:
        break;
    }
    return false;
}

/* Where the url has a name: which of its addresses. */
static const char *numeric_address(const struct link *link) {
    size_t at;

    return topology_is_found(&link->topology, &at) ? link->resolved.addresses[at] : "";
}

void link_enter(struct link *link, enum link_state state) {
    assert(link_move_is_legal(link->state, state));
    report_link_state(link_address(link), numeric_address(link), link_state_to_string(link->state),
                      link_state_to_string(state));
    link->state = state;
    link->entered = clock_monotonic();
}

enum link_state link_state(const struct link *link) {
    return link->state;
}

bool link_is_up(const struct link *link) {
    return link->state == LINK_UP;
}

const char *link_address(const struct link *link) {
    return topology_current(&link->topology)->text;
}

const char *link_trouble(const struct link *link) {
    return link->trouble.text;
}

bool link_trouble_is_error(const struct link *link) {
    return link->trouble.error;
}

struct connection *link_connection(struct link *link) {
    return link->state == LINK_UP ? link->connection : NULL;
}

usec_t link_deadline(const struct link *link) {
    switch (link->state) {
    case LINK_DOWN:
        return timer_due(link->reconnect);
    case LINK_RESOLVING:
        return connect_deadline(link);
    case LINK_CLOSING:
        return link->entered;
    case LINK_CONNECTING:
    case LINK_GREETING:
    case LINK_UP:
        return connection_deadline(link->connection);
    case _LINK_STATE_MAX:
        break;
    }
    return USEC_INFINITY;
}

/* --- listeners ------------------------------------------------------------------------------- */

/* A walk does not meet those that come while it goes on: they are put before its place. */
void link_listen(struct link *link, struct link_listener *listener) {
    listener->prev = NULL;
    listener->next = link->listeners;
    if (link->listeners)
        link->listeners->prev = listener;
    link->listeners = listener;
}

void link_unlisten(struct link *link, struct link_listener *listener) {
    if (link->next_listener == listener)
        link->next_listener = listener->next;
    if (listener->prev)
        listener->prev->next = listener->next;
    else
        link->listeners = listener->next;
    if (listener->next)
        listener->next->prev = listener->prev;
    listener->prev = listener->next = NULL;
}

enum news { NEWS_UP, NEWS_DOWN, NEWS_FAILED };

static void tell(struct link_listener *listener, enum news news) {
    switch (news) {
    case NEWS_UP:
        listener->up(listener->data);
        break;
    case NEWS_DOWN:
        listener->down(listener->data);
        break;
    case NEWS_FAILED:
        if (listener->failed)
            listener->failed(listener->data);
        break;
    }
}

static void tell_all(struct link *link, enum news news) {
    for (struct link_listener *listener = link->listeners; listener;
         listener = link->next_listener) {
        link->next_listener = listener->next;
        tell(listener, news);
    }
    link->next_listener = NULL;
}

/* --- up ------------------------------------------------------------------------------------- */

static void report_faults(struct link *link) {
    const struct reply_hello *server = &link->greeting.server;
    const char *fault;

    /* Once a version, not once a connection. */
    if (strcmp(link->version_reported, server->version) == 0)
        return;
    (void)snprintf(link->version_reported, sizeof(link->version_reported), "%s", server->version);
    for (size_t i = 0; (fault = version_fault(server->brand, server->version, i)); i++)
        report_server_fault(link_address(link), server->version, fault);
}

void link_greeted(struct link *link) {
    const struct reply_hello *server = &link->greeting.server;
    usec_t now = clock_boottime();

    connection_greeted(link->connection);
    connect_done(link);
    link->trouble = (struct trouble){0};
    link->up_since = clock_monotonic();
    link->down_reported = false;
    link_enter(link, LINK_UP);
    report_link_up(link_address(link), server->brand, server->version,
                   link->down_since ? usec_sub(now, link->down_since) : 0);
    report_faults(link);
    tell_all(link, NEWS_UP);
}

/* --- the one door out ------------------------------------------------------------------------ */

static void trouble_set(struct trouble *trouble, const char *reason, const char *word, bool error) {
    (void)snprintf(trouble->text, sizeof(trouble->text), "%s", reason);
    (void)snprintf(trouble->word, sizeof(trouble->word), "%s", word ? word : "");
    trouble->error = error;
}

void link_close(struct link *link, const char *reason, const char *word, bool error) {
    if (link->state == LINK_DOWN || link->state == LINK_CLOSING)
        return;
    trouble_set(&link->trouble, reason, word, error);
    link->was_up = link->state == LINK_UP;
    if (link->state == LINK_RESOLVING)
        connect_leave(link);
    link_enter(link, LINK_CLOSING);
    deferred_call(link->close);
}

static bool is_auth_word(const char *word) {
    return word && (strcmp(word, "NOAUTH") == 0 || strcmp(word, "WRONGPASS") == 0);
}

void link_drop(struct link *link, const char *reason, const char *error_word) {
    if (link->state == LINK_UP && error_word && strcmp(error_word, "READONLY") == 0)
        link->replica = true;
    link_close(link, reason, error_word, is_auth_word(error_word));
}

static usec_t held_cap(const struct link *link) {
    usec_t smallest = link->settings->smallest_min_idle;

    return link->held > 0 && smallest != USEC_INFINITY ? usec_max(smallest / 4, 1) : USEC_INFINITY;
}

static void link_wait(struct link *link) {
    uint32_t random;

    evutil_secure_rng_get_bytes(&random, sizeof(random));
    link->waited = backoff_next(&link->backoff, held_cap(link), random);
    timer_arm(link->reconnect, link->waited);
}

/* Once an outage, however many connects fail in it. */
static void report_trouble(struct link *link) {
    if (link->down_reported)
        return;
    link->down_reported = true;
    report_link_down(link_address(link), link->trouble.text,
                     link->trouble.word[0] ? link->trouble.word : NULL);
}

static void after_up(struct link *link) {
    link->down_since = clock_boottime();
    /* One that held no longer than we had waited for it was not worth a fresh start: a server
     * that takes connections only to drop them is not called ten times a second. */
    if (usec_sub(clock_monotonic(), link->up_since) > link->waited)
        backoff_reset(&link->backoff);
    link_wait(link);
    topology_lost(&link->topology, link->replica);
    tell_all(link, NEWS_DOWN);
}

static void after_failure(struct link *link) {
    if (topology_failed(&link->topology)) {
        connect_begin(link);
        return;
    }
    link_wait(link);
    tell_all(link, NEWS_FAILED);
}

/* Where commands are still unanswered, they are told so here, before `down`. */
static void on_close(void *data) {
    struct link *link = data;

    link->connection = connection_free(link->connection);
    link_enter(link, LINK_DOWN);
    report_trouble(link);
    if (link->was_up)
        after_up(link);
    else
        after_failure(link);
    link->replica = false;
}

/* --- holding --------------------------------------------------------------------------------- */

void link_hold(struct link *link) {
    link->held++;
    if (link->held != 1 || !timer_armed(link->reconnect))
        return;
    usec_t left = usec_sub(timer_due(link->reconnect), clock_monotonic());
    if (left > held_cap(link))
        timer_arm(link->reconnect, held_cap(link));
}

void link_unhold(struct link *link) {
    assert(link->held > 0);
    link->held--;
}

/* --- birth and death ------------------------------------------------------------------------- */

int link_new(struct loop *loop, const struct redis_settings *settings, struct link **ret) {
    struct link *link = calloc(1, sizeof(*link));
    if (!link)
        return -ENOMEM;
    link->loop = loop;
    link->settings = settings;
    link->state = LINK_DOWN;
    topology_init(&link->topology, settings);
    backoff_init(&link->backoff, settings->reconnect_min, settings->reconnect_max);

    int r = connect_init(link);
    if (r == 0)
        r = deferred_new(loop, on_close, link, &link->close);
    if (r < 0) {
        link_free(link);
        return r;
    }
    *ret = link;
    return 0;
}

void link_tune(struct link *link, const struct redis_settings *settings) {
    assert(settings->n_addresses == link->settings->n_addresses);
    link->settings = settings;
    link->topology.settings = settings;
    link->backoff.min = settings->reconnect_min;
    link->backoff.max = settings->reconnect_max;
    if (link->connection)
        connection_set_timeout(link->connection, settings->command_timeout);
}

struct link *link_free(struct link *link) {
    if (!link)
        return NULL;
    assert(!link->listeners);
    /* What is answered now must find a link that takes nothing. */
    if (link->state != LINK_DOWN && link->state != LINK_CLOSING)
        link_enter(link, LINK_CLOSING);
    link->connection = connection_free(link->connection);
    deferred_free(link->close);
    connect_free(link);
    free(link);
    return NULL;
}
