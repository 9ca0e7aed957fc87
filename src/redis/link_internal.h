/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The link as its own files see it.
 *
 *   state       what ends it or moves it on                          next
 *   down        link_start(), the reconnect timer                    resolving
 *   resolving   the address is known: numeric in the url, found      connecting
 *               for its name, or the next one of these
 *               none is found, connect_timeout, link_drop()          closing
 *   connecting  the socket is connected                              greeting
 *               refused, connect_timeout, link_drop()                closing
 *   greeting    all of the greeting is answered                      up
 *               its refusal, connect_timeout, a lost connection      closing
 *   up          a lost connection, command_timeout, link_drop()      closing
 *   closing     the deferred call that frees the connection          down
 *
 * From closing on no command is taken, so that none can be issued where commands are answered
 * with "unknown". Listeners are told from the deferred call: no code of theirs but the callbacks
 * of commands and `up` ever runs inside hiredis.
 */
#pragma once

#include "backoff.h"
#include "connection.h"
#include "redis/link.h"
#include "reply.h"
#include "resolver.h"
#include "topology.h"

#define LINK_TROUBLE_MAX 192

/* Why the link is not up. */
struct trouble {
    char text[LINK_TROUBLE_MAX];
    char word[REDIS_ERROR_WORD_MAX]; /* of a server's error, else "" */
    bool error;                      /* waiting does not mend it */
};

struct greeting {
    struct pending auth;
    struct pending hello;
    struct pending select;
    struct pending setname;
    struct reply_hello server;
};

struct link {
    struct loop *loop;
    const struct redis_settings *settings;
    enum link_state state;
    usec_t entered; /* CLOCK_MONOTONIC, the state */
    struct connection *connection;
    struct greeting greeting;
    struct topology topology;
    struct backoff backoff;
    struct resolver *resolver; /* NULL: no url has a name */
    struct resolved resolved;  /* of the current url */
    struct timer *resolving;   /* how long it may take */
    struct timer *reconnect;
    struct deferred *close;
    struct trouble trouble;
    struct link_listener *listeners;
    struct link_listener *next_listener; /* of the walk that is going on */
    unsigned held;
    usec_t waited;     /* before the last connect */
    usec_t up_since;   /* CLOCK_MONOTONIC */
    usec_t down_since; /* CLOCK_BOOTTIME; 0: it has never been up */
    bool was_up;       /* the connection that is closing */
    bool replica;      /* it is closing because this is a replica */
    bool down_reported;
    char version_reported[REPLY_HELLO_TEXT_MAX];
};

/* The only place that changes the state. */
void link_enter(struct link *link, enum link_state state);
bool link_move_is_legal(enum link_state from, enum link_state to);

/* Ends the connection: closing now, the rest from the deferred call. Nothing where there is no
 * connection to end. Strings are copied. */
void link_close(struct link *link, const char *reason, const char *word, bool error);

/* The greeting is answered. */
void link_greeted(struct link *link);

/* connect.c: from down to greeting. Ends in greeting_begin() or link_close(). */
void connect_begin(struct link *link);
/* No longer resolving. */
void connect_leave(struct link *link);
/* The link is up: what is still to be found out about addresses will be too old. */
void connect_done(struct link *link);
usec_t connect_deadline(const struct link *link);
MUST_CHECK int connect_init(struct link *link);
void connect_free(struct link *link);

/* greeting.c: sends the greeting; ends in link_greeted() or link_close(). */
void greeting_begin(struct link *link);
/* Closes the link for an error reply to `command`. */
void greeting_refused(struct link *link, const char *command, const redisReply *reply);

/* Commands go here; NULL unless the link is up. */
struct connection *link_connection(struct link *link);
