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
 */
#pragma once

#include "base/clock.h"
#include <stdbool.h>

struct away {
    usec_t since; /* CLOCK_BOOTTIME; 0: the server answers */
    usec_t extra; /* D of the last absence */
    usec_t until; /* CLOCK_BOOTTIME until which D counts */
};

void away_begin(struct away *away, usec_t since);
/* A write was answered in time. */
void away_end(struct away *away, usec_t now, usec_t min_idle);
/* The server's clock has jumped forward by this much: as if it had been away. */
void away_add(struct away *away, usec_t step, usec_t now, usec_t min_idle);
static inline bool away_now(const struct away *away) {
    return away->since != 0;
}
/* What a scan must claim with. */
usec_t away_min_idle(const struct away *away, usec_t now, usec_t min_idle);
