/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Away time. No clock is read here.
 */
#include "away.h"

void away_begin(struct away *away, usec_t since) {
    if (away->since == 0 || since < away->since)
        away->since = since;
}

static void away_count(struct away *away, usec_t length, usec_t now, usec_t min_idle) {
    if (now < away->until)
        length = usec_add(length, away->extra); /* one absence on top of another */
    away->extra = length;
    /* M, and M/4 for a command that may take so long to be answered. */
    away->until = usec_add(now, min_idle + min_idle / 4);
}

void away_end(struct away *away, usec_t now, usec_t min_idle) {
    if (away->since == 0)
        return;
    away_count(away, usec_sub(now, away->since), now, min_idle);
    away->since = 0;
}

void away_add(struct away *away, usec_t step, usec_t now, usec_t min_idle) {
    away_count(away, step, now, min_idle);
}

usec_t away_min_idle(const struct away *away, usec_t now, usec_t min_idle) {
    return now < away->until ? usec_add(min_idle, away->extra) : min_idle;
}
