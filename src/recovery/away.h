/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Time in which the server did not answer is not idle time. Pure.
 *
 * Delivery times are absolute, so while a server is down, stopped or paused every entry grows
 * idle although its consumer may be at work; whoever comes back first and claims with min_idle
 * takes what others are still handling. Therefore, for min_idle after an absence of D, scans
 * claim with min_idle + D, and the first claim is a probe that can take nothing: a claim that
 * has waited out the absence itself would otherwise be executed with the old argument.
 *
 * An absence begins when the first command was sent that failed or took longer than M/4 (of any
 * kind), or when the connection ended. Only a write answered in time ends it: reads pass while
 * writes are paused.
 *
 * Whoever was born into an absence does not know how long it has lasted, and no D makes up for
 * that. It claims nothing until those who were there before have come back and renewed what they
 * hold. Who gets through within M/4 of its birth takes it that there was none.
 */
#pragma once

#include "base/clock.h"
#include <stdbool.h>

/* Start with away_init(). Times are CLOCK_BOOTTIME. */
struct away {
    usec_t born;
    usec_t silence; /* how long others may take to come back and renew */
    usec_t since;   /* 0: the server answers */
    usec_t extra;   /* D of the last absence */
    usec_t until;   /* until which D counts */
    bool read;      /* something was answered in time, once */
    bool written;   /* ... a write */
    bool unknown;   /* the absence may have begun before we were there */
    usec_t silent_until;
};

/* reconnect_max: the longest that others wait before they try to connect again. */
void away_init(struct away *away, usec_t now, usec_t min_idle, usec_t reconnect_max);
/* write: of what kind the first was that failed; a lost connection is no write. */
void away_begin(struct away *away, usec_t since, bool write);
/* Something was answered in time. That ends no absence. */
void away_answered(struct away *away);
/* A write was answered in time. */
void away_end(struct away *away, usec_t now, usec_t min_idle);
/* The server's clock has jumped forward by this much: as if it had been away. */
void away_add(struct away *away, usec_t step, usec_t now, usec_t min_idle);
/* After an absence of unknown length: nothing is claimed. */
static inline bool away_is_silent(const struct away *away, usec_t now) {
    return now < away->silent_until;
}
static inline bool away_now(const struct away *away) {
    return away->since != 0;
}
/* What a scan must claim with. */
usec_t away_min_idle(const struct away *away, usec_t now, usec_t min_idle);
