/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * One connection to one server, shared by all its recoveries and pipelined; kept up for ever.
 *
 *   down -> resolving -> connecting -> greeting -> up -> closing -> down
 *
 * Whatever ends a connection (refused, reset, a reply that made no progress for
 * command_timeout, a reply of a shape nobody knows, link_drop()) goes through one door, tells
 * the listeners once, and arms the one reconnect timer. A command that was not answered when
 * its connection ended is answered ANSWER_UNKNOWN, before `down` is called; an answer of an old
 * connection never reaches a command of a new one.
 */
#pragma once

#include "base/clock.h"
#include "base/error.h"
#include "config/settings.h"
#include "loop/loop.h"
#include <stdbool.h>

struct link;

enum link_state {
    LINK_DOWN,
    LINK_RESOLVING,
    LINK_CONNECTING,
    LINK_GREETING,
    LINK_UP,
    LINK_CLOSING,
    _LINK_STATE_MAX,
};

/* Owned by the listener, known to the link from link_listen() to link_unlisten(). */
struct link_listener {
    void (*up)(void *data);
    void (*down)(void *data);
    /* A whole round of addresses has failed; may be NULL. */
    void (*failed)(void *data);
    void *data;
    struct link_listener *prev, *next; /* the link's list */
};

/* Settings are borrowed and outlive the link. */
MUST_CHECK int link_new(struct loop *loop, const struct redis_settings *settings,
                        struct link **ret);
/* Ends the connection at once; unanswered commands are answered ANSWER_UNKNOWN from here.
 * Asserts that nobody listens. From a timer, a deferred call or the top of the loop only, in any
 * state; not from the callback of a command nor from a listener's. */
struct link *link_free(struct link *link);

/* The same section in another set of settings, which are borrowed from now on: addresses, user and
 * password file are equal, times may differ. The connection stays. */
void link_tune(struct link *link, const struct redis_settings *settings);

/* Begins to connect; from then on the link looks after itself. */
void link_start(struct link *link);

void link_listen(struct link *link, struct link_listener *listener);
void link_unlisten(struct link *link, struct link_listener *listener);

enum link_state link_state(const struct link *link);
const char *link_state_to_string(enum link_state state);
bool link_is_up(const struct link *link);

/* Where to: the url in use or tried, for people ("db.example:6379"). Borrowed until the next
 * turn. */
const char *link_address(const struct link *link);
/* Why it is not up, one printable phrase that holds no secret ("Connection refused",
 * "WRONGPASS", ...); "" while it is up. Borrowed until the next turn. */
const char *link_trouble(const struct link *link);
/* True if the trouble is one that waiting does not mend (credentials). */
bool link_trouble_is_error(const struct link *link);

/* Ends the connection from a deferred call and connects anew, with back-off. reason as
 * link_trouble() shows it. */
void link_drop(struct link *link, const char *reason, const char *error_word);

/* While anybody holds claimed entries, the reconnect delay stays under a quarter of the
 * smallest min_idle. Counted. */
void link_hold(struct link *link);
void link_unhold(struct link *link);

/* When the link must have moved by itself (CLOCK_MONOTONIC); USEC_INFINITY at rest. For the
 * watchdog. */
usec_t link_deadline(const struct link *link);
