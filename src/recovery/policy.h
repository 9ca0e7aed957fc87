/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * How long to wait. Pure: randomness comes in as a parameter.
 */
#pragma once

#include "base/clock.h"

/* The wait, shortened or lengthened by up to a tenth. */
usec_t policy_jitter(usec_t wait, uint32_t random);
/* Before the first scan: somewhere in the first tenth of the interval, so that many recoveries
 * that start together do not scan together. */
usec_t policy_first_wait(usec_t interval, uint32_t random);
/* base doubled `tries` times, at most max. */
usec_t policy_double(usec_t base, unsigned tries, usec_t max);
