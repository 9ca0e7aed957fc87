/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * One connection from the first connect(2) to its end: hiredis' context and everything that
 * must be known about it. Never used again: the next connection is another object, so that no
 * answer can reach the wrong one.
 *
 * The order of answers is kept here, not by hiredis: each command is a struct pending in one
 * queue, and what comes while that is empty is found out instead of asserted.
 */
#pragma once

#include "base/error.h"
#include "config/settings.h"
#include "loop/loop.h"

#include <hiredis.h>
#include <stddef.h>

struct connection;

/* A command that was sent. Belongs to whoever sent it, until it is answered. */
struct pending {
    struct pending *next;
    uint64_t end; /* of its bytes in all that was sent */
    /* Exactly once. NULL: the connection has ended or its answers can no longer be told apart;
     * `ended` of the owner has been called by then. */
    void (*answered)(struct pending *pending, const redisReply *reply);
};

struct connection_owner {
    /* The socket is connected: time to greet. */
    void (*connected)(void *data);
    /* It has ended by itself, or must end; at most once. From within hiredis or a timer: the
     * owner frees the connection from a deferred call. reason: printable, without secrets.
     * refusal: the server's own error where it refused us, else NULL. */
    void (*ended)(void *data, const char *reason, const redisReply *refusal);
    void *data;
};

struct connection_settings {
    const struct server_address *address; /* not a name; for connection_new() only */
    usec_t connect_timeout;               /* until connection_greeted(), for messages */
    usec_t connect_left;                  /* what is left of it */
    usec_t command_timeout;               /* the oldest answer made no progress for so long */
};

#define CONNECTION_REASON_MAX 128

/* 0; CONNECTION_E_REFUSED with the reason (nothing is left then, `ended` is not called);
 * -ENOMEM. */
enum { CONNECTION_E_REFUSED = 1 };
MUST_CHECK int connection_new(struct loop *loop, const struct connection_settings *settings,
                              const struct connection_owner *owner, struct connection **ret,
                              char reason[CONNECTION_REASON_MAX]);
/* Whatever is still pending is answered with NULL. Not from within hiredis. */
struct connection *connection_free(struct connection *connection);

/* command_timeout, from the next answer on. */
void connection_set_timeout(struct connection *connection, usec_t command_timeout);

/* The greeting is done: from now on the outstanding answers are watched. */
void connection_greeted(struct connection *connection);

/* Sends a formatted command. False: it cannot take one any more; nothing will be answered. */
MUST_CHECK bool connection_send(struct connection *connection, struct pending *pending,
                                const char *command, size_t size);

/* From now on everything pending is answered with NULL, whatever still comes. */
void connection_distrust(struct connection *connection);

/* CLOCK_MONOTONIC time by which it must have moved; USEC_INFINITY at rest. */
usec_t connection_deadline(const struct connection *connection);
