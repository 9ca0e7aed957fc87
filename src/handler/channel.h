/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A stream socket to somebody who speaks the protocol: writes requests one after the other,
 * reads lines. A bounded piece of each a turn of the loop, so that one who reads nothing, or
 * writes without end, holds up nobody.
 */
#pragma once

#include "loop/loop.h"
#include "payload.h"

struct channel;

/* Owned by whoever sends it; known to the channel until it is sent, or the channel is freed. */
struct request {
    struct payload *payload; /* freed when it is sent; NULL then */
    bool sent;               /* to its last byte */
    size_t written;          /* bytes */
    struct request *prev, *next;
};

enum channel_end {
    CHANNEL_CLOSED, /* the other side has closed it, or will not read any more */
    CHANNEL_UNREAD, /* ... and has not read all that was written */
    CHANNEL_FAILED, /* an error */
    CHANNEL_TOO_LONG,
};

struct channel_owner {
    /* A line, borrowed. False: nothing more of what has come is passed on; the channel may be
     * freed by now. */
    bool (*line)(void *data, struct blob line);
    /* Once, unless it is freed before. What was written before that end was passed on. The
     * channel may be freed. */
    void (*ended)(void *data, enum channel_end how);
    void *data;
};

/* Takes over fd (connected, non-blocking), also when it fails. */
MUST_CHECK int channel_new(struct loop *loop, int fd, const struct channel_owner *owner,
                           struct channel **ret);
struct channel *channel_free(struct channel *channel);

void channel_send(struct channel *channel, struct request *request);
/* The other side reads an end of file; what it still answers is passed on. */
void channel_finish(struct channel *channel);
/* The writer has ended: passes on what has come until now. */
void channel_read_rest(struct channel *channel);
