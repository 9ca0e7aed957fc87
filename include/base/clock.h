/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The clocks, in microseconds, as unsigned 64-bit counts from an arbitrary zero.
 *
 * MONOTONIC measures how long we wait (timers, rate limits, durations).
 * BOOTTIME measures how long a claim holds: it goes on while the machine is
 * suspended, as Redis' own clock does; MONOTONIC stands still then, and a claim
 * measured with it would look fresh after a resume.
 *
 * Time comes into the pure parts as a parameter. Code that must not work with an
 * old "now" (before each handler start, when a reply arrives) reads the clock here.
 */
#pragma once

#include <stdint.h>

typedef uint64_t usec_t;

#define USEC_PER_MSEC ((usec_t)1000)
#define USEC_PER_SEC ((usec_t)1000000)
#define USEC_INFINITY UINT64_MAX

usec_t clock_monotonic(void);
usec_t clock_boottime(void);
/* The wall clock, since 1970: for ages of entry IDs that people read, never for decisions. */
usec_t clock_realtime(void);

/* Tests only: from now on both clocks stand still at these values, until the next
 * call or clock_test_release(). */
void clock_test_set(usec_t monotonic, usec_t boottime);
void clock_test_release(void);

/* a - b, or 0 where b is later. */
static inline usec_t usec_sub(usec_t a, usec_t b) {
    return a > b ? a - b : 0;
}

/* a + b, USEC_INFINITY where that overflows. */
static inline usec_t usec_add(usec_t a, usec_t b) {
    return a > USEC_INFINITY - b ? USEC_INFINITY : a + b;
}

static inline usec_t usec_min(usec_t a, usec_t b) {
    return a < b ? a : b;
}

static inline usec_t usec_max(usec_t a, usec_t b) {
    return a > b ? a : b;
}
