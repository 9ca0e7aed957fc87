/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * How long to wait before the next try: exponential, with jitter. Pure: no clock, no random
 * source inside.
 */
#pragma once

#include "base/clock.h"
#include <stdint.h>

struct backoff {
    usec_t min;
    usec_t max;
    unsigned failures; /* in a row */
};

void backoff_init(struct backoff *backoff, usec_t min, usec_t max);
void backoff_reset(struct backoff *backoff);

/* The wait before the next try, and one failure more. Without jitter it is min, 2 min, 4 min
 * ...; jitter adds up to a quarter. Never above max nor above cap (USEC_INFINITY: none), and
 * not below min unless the cap is. random: any number, for the jitter. */
usec_t backoff_next(struct backoff *backoff, usec_t cap, uint32_t random);
