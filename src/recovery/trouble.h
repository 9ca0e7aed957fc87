/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What is wrong with a recovery: entered once, left once, tried again in between.
 *
 * A trouble belongs to the order that was refused and ends only when that very order succeeds;
 * so a right that is missing for XACK alone does not come and go with each successful scan.
 */
#pragma once

#include "base/clock.h"
#include "redis/command.h"
#include <stdbool.h>

enum order {
    ORDER_NONE,
    ORDER_XPENDING,
    ORDER_XAUTOCLAIM,
    ORDER_XCLAIM,
    ORDER_XRANGE,
    ORDER_XACK,
    ORDER_EXISTS, /* optional: no trouble of its own */
    ORDER_TIME,   /* optional: no trouble of its own */
    ORDER_SCRIPT, /* its refusals are a trouble beside the troubles: bury.c */
    ORDER_MOVE,   /* the script of `move` */
    ORDER_RPUSH,  /* to the worklist */
    ORDER_HANDLER,
    ORDER_ANY_WRITE, /* answered in time */
    _ORDER_MAX,
};

enum trouble_kind {
    TROUBLE_NONE,
    TROUBLE_GROUP,     /* waiting: no such key or group */
    TROUBLE_TRANSIENT, /* waiting: LOADING and the like */
    TROUBLE_HANDLER,   /* waiting: the handler cannot be started */
    TROUBLE_SLOW,      /* waiting: answers take longer than min_idle/4 */
    TROUBLE_TYPE,      /* error: the key is no stream */
    TROUBLE_PERMISSION,
    TROUBLE_TOO_OLD,
    TROUBLE_CLUSTER,
    TROUBLE_OTHER,
    _TROUBLE_MAX,
};

#define TROUBLE_PHRASE_MAX 256

struct trouble {
    enum trouble_kind kind;
    enum order order;
    char phrase[TROUBLE_PHRASE_MAX]; /* for the status: what is wrong; printable */
    usec_t since;                    /* CLOCK_MONOTONIC */
    unsigned tries;
    unsigned told[_TROUBLE_MAX]; /* bits of the orders of which there is a record */
};

struct recovery;

bool trouble_is_error(enum trouble_kind kind);

/* Pure: how long to wait before trying again. */
usec_t trouble_wait(enum trouble_kind kind, unsigned tries, usec_t interval, usec_t min_idle);

/* An order was answered with an error. */
void trouble_from_error(struct recovery *r, enum order order, const struct answer *answer);
void trouble_handler(struct recovery *r, const char *reason);
/* The answers come too late; over as soon as one comes in time. */
void trouble_slow(struct recovery *r);
/* The order was carried out: if the trouble was about it, it is over. */
void trouble_leave(struct recovery *r, enum order order);
/* True if the order was refused and it is not yet time to try again. */
bool trouble_blocks(const struct recovery *r, enum order order);
