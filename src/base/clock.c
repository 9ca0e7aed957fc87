/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Reads the two clocks. A test may stop both at values of its own.
 */
#include "base/clock.h"

#include <assert.h>
#include <stdbool.h>
#include <time.h>

static struct {
    bool stopped;
    usec_t monotonic;
    usec_t boottime;
} clock_test;

static usec_t clock_read(clockid_t id) {
    struct timespec ts;

    int r = clock_gettime(id, &ts);
    assert(r == 0);
    (void)r;
    return (usec_t)ts.tv_sec * USEC_PER_SEC + (usec_t)ts.tv_nsec / 1000;
}

usec_t clock_monotonic(void) {
    return clock_test.stopped ? clock_test.monotonic : clock_read(CLOCK_MONOTONIC);
}

usec_t clock_boottime(void) {
    return clock_test.stopped ? clock_test.boottime : clock_read(CLOCK_BOOTTIME);
}

usec_t clock_realtime(void) {
    return clock_read(CLOCK_REALTIME);
}

void clock_test_set(usec_t monotonic, usec_t boottime) {
    clock_test.stopped = true;
    clock_test.monotonic = monotonic;
    clock_test.boottime = boottime;
}

void clock_test_release(void) {
    clock_test.stopped = false;
}
