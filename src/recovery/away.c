/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Away time. No clock is read here.
 */
#include "away.h"

void away_init(struct away *away, usec_t now, usec_t min_idle, usec_t reconnect_max) {
    *away = (struct away){
        .born = now,
        .silence = usec_min(min_idle / 2, usec_add(reconnect_max, USEC_PER_SEC)),
    };
}

void away_begin(struct away *away, usec_t since, bool write) {
    if (away->since == 0 || since < away->since)
        away->since = since;
    /* While writes are paused reads are answered. */
    if (!away->written && (write || !away->read))
        away->unknown = true;
}

void away_answered(struct away *away) {
    away->read = true;
}

static void away_count(struct away *away, usec_t length, usec_t now, usec_t min_idle) {
    if (now < away->until)
        length = usec_add(length, away->extra); /* one absence on top of another */
    away->extra = length;
    /* M, and M/4 for a command that may take so long to be answered. */
    away->until = usec_add(now, min_idle + min_idle / 4);
}

void away_end(struct away *away, usec_t now, usec_t min_idle) {
    away->read = away->written = true;
    if (away->since == 0)
        return;
    away_count(away, usec_sub(now, away->since), now, min_idle);
    away->since = 0;
    if (away->unknown && usec_sub(now, away->born) > min_idle / 4)
        away->silent_until = usec_add(now, away->silence);
    away->unknown = false;
}

void away_add(struct away *away, usec_t step, usec_t now, usec_t min_idle) {
    away_count(away, step, now, min_idle);
}

usec_t away_min_idle(const struct away *away, usec_t now, usec_t min_idle) {
    return now < away->until ? usec_add(min_idle, away->extra) : min_idle;
}
