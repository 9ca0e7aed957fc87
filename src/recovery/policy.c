/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Waiting times.
 */
#include "policy.h"

/* random/2^32 of the range, without overflow for ranges up to 2^63. */
static usec_t part(usec_t range, uint32_t random) {
    return (range >> 32) * random + (((range & UINT32_MAX) * random) >> 32);
}

usec_t policy_jitter(usec_t wait, uint32_t random) {
    return wait - wait / 10 + part(wait / 5, random);
}

usec_t policy_first_wait(usec_t interval, uint32_t random) {
    return part(interval / 10, random);
}

usec_t policy_double(usec_t base, unsigned tries, usec_t max) {
    while (tries-- > 0 && base < max)
        base = usec_add(base, base);
    return usec_min(base, max);
}
