/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The event loop of the process: timers, deferred calls, signals. libevent is known only in
 * this room (and where hiredis' own adapter is attached, in redis/link.c).
 *
 * One loop, one thread. Callbacks run from loop_run() only. Every object here belongs to
 * whoever made it, is freed with its own death, and must be freed before the loop. Freeing an
 * object inside its own callback is allowed.
 */
#pragma once

#include "base/clock.h"
#include "base/error.h"
#include <stdbool.h>

struct event_base;
struct loop;
struct timer;
struct deferred;
struct signal_watch;

typedef void (*loop_callback)(void *data);

MUST_CHECK int loop_new(struct loop **ret);
struct loop *loop_free(struct loop *loop);

/* Runs until loop_stop() or loop_fail(). 0, or the negative errno given to loop_fail(). */
MUST_CHECK int loop_run(struct loop *loop);
void loop_stop(struct loop *loop);
/* For callbacks that cannot go on: ends loop_run() with this negative errno. The first wins. */
void loop_fail(struct loop *loop, int error);

/* The longest time that one turn of the loop (all callbacks between two polls) has taken so
 * far. */
usec_t loop_longest_turn(const struct loop *loop);

/* For hiredis' adapter only. Borrowed. */
struct event_base *loop_event_base(struct loop *loop);

/* Says that a turn has begun: for callbacks that libevent runs without this room between (those
 * of hiredis' adapter). All others are counted here. */
void loop_mark(struct loop *loop);

/* One-shot timers on CLOCK_MONOTONIC. Arming an armed timer moves it. */
MUST_CHECK int timer_new(struct loop *loop, loop_callback callback, void *data, struct timer **ret);
struct timer *timer_free(struct timer *timer);
void timer_arm(struct timer *timer, usec_t from_now);
void timer_disarm(struct timer *timer);
bool timer_armed(const struct timer *timer);
/* CLOCK_MONOTONIC time at which it fires; USEC_INFINITY if it is not armed. */
usec_t timer_due(const struct timer *timer);

/* A call that is made once, later in this same turn of the loop, when the callbacks that are
 * already waiting have run; asking again before that changes nothing. */
MUST_CHECK int deferred_new(struct loop *loop, loop_callback callback, void *data,
                            struct deferred **ret);
struct deferred *deferred_free(struct deferred *deferred);
void deferred_call(struct deferred *deferred);

/* Calls back in the loop, outside signal context. */
MUST_CHECK int signal_watch_new(struct loop *loop, int signo, loop_callback callback, void *data,
                                struct signal_watch **ret);
struct signal_watch *signal_watch_free(struct signal_watch *watch);
