/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Exponential back-off with jitter.
 */
#include "backoff.h"

#include <assert.h>

void backoff_init(struct backoff *backoff, usec_t min, usec_t max) {
    assert(min > 0 && min <= max);
    *backoff = (struct backoff){.min = min, .max = max};
}

void backoff_reset(struct backoff *backoff) {
    backoff->failures = 0;
}

usec_t backoff_next(struct backoff *backoff, usec_t cap, uint32_t random) {
    usec_t limit = usec_min(backoff->max, cap);
    usec_t base = backoff->min;

    for (unsigned i = 0; i < backoff->failures && base < limit; i++)
        base = usec_add(base, base);
    if (backoff->failures < 64)
        backoff->failures++;

    /* At the limit the jitter goes below it, else everybody would come at the same time. */
    usec_t floor = usec_min(backoff->min, limit);
    base = usec_max(usec_min(base, limit / 5 * 4), floor);
    usec_t jitter = base / 4;
    usec_t wait = jitter ? usec_add(base, random % (jitter + 1)) : base;
    return usec_min(wait, limit);
}
