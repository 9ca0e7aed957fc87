/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Randomness from the kernel. Where there is none yet the clock serves: this is for jitter only.
 */
#include "base/random.h"

#include "base/clock.h"
#include <sys/random.h>

uint32_t random_u32(void) {
    uint32_t value;

    if (getrandom(&value, sizeof(value), GRND_NONBLOCK) != (ssize_t)sizeof(value))
        value = (uint32_t)clock_monotonic();
    return value;
}
