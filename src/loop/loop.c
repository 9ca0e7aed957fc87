/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The event loop on libevent, with its timers, deferred calls and signals.
 *
 * Owns the event base; each object owns its event. Time is not cached over a turn and timers
 * are precise, so that none fires before timer_due() and a long turn shortens none.
 *
 * libevent frees nothing behind our back and touches an event no more once its callback is
 * entered; therefore each callback here ends with the call to the user's, which may free the
 * object.
 */
#include "loop/loop.h"

#include "base/cleanup.h"
#include "loop_internal.h"

#include <assert.h>
#include <errno.h>
#include <event2/event.h>
#include <signal.h>
#include <stdlib.h>

struct loop {
    struct event_base *base;
    size_t objects;
    bool stopped;
    int error;
    usec_t turn_began; /* 0: no callback yet since the poll */
    usec_t longest_turn;
};

struct timer {
    struct loop *loop;
    struct event *event;
    loop_callback callback;
    void *data;
    usec_t due;
};

struct deferred {
    struct loop *loop;
    struct event *event;
    loop_callback callback;
    void *data;
};

struct signal_watch {
    struct loop *loop;
    struct event *event;
    loop_callback callback;
    void *data;
};

/* Longer waits are cut to this: libevent adds them to "now" without looking. */
#define TIMER_MAX (USEC_PER_SEC * 86400 * 365 * 100)

/* --- the loop -------------------------------------------------------------------------------- */

/* libevent would write to standard error, where only the log may write. What matters comes
 * back as a failed call. */
static void discard_message(int severity, const char *message) {
    (void)severity;
    (void)message;
}

static struct event_base *base_new(void) {
    struct event_config *config = event_config_new();
    if (!config)
        return NULL;

    struct event_base *base = NULL;
    int flags = EVENT_BASE_FLAG_NOLOCK | EVENT_BASE_FLAG_IGNORE_ENV |
                EVENT_BASE_FLAG_NO_CACHE_TIME | EVENT_BASE_FLAG_PRECISE_TIMER;
    if (event_config_set_flag(config, flags) == 0)
        base = event_base_new_with_config(config);
    event_config_free(config);
    return base;
}

int loop_new(struct loop **ret) {
    event_set_log_callback(discard_message);
    /* Neither hiredis nor a pipe to a handler that has gone may end the process. */
    if (signal(SIGPIPE, SIG_IGN) == SIG_ERR)
        return -errno;

    struct loop *loop = calloc(1, sizeof(*loop));
    if (!loop)
        return -ENOMEM;
    loop->base = base_new();
    if (!loop->base) {
        loop_free(loop);
        return -ENOMEM;
    }
    *ret = loop;
    return 0;
}

struct loop *loop_free(struct loop *loop) {
    if (!loop)
        return NULL;
    assert(loop->objects == 0);
    if (loop->base)
        event_base_free(loop->base);
    free(loop);
    return NULL;
}

static void turn_ended(struct loop *loop) {
    if (loop->turn_began == 0)
        return;
    usec_t took = usec_sub(clock_monotonic(), loop->turn_began);
    loop->longest_turn = usec_max(loop->longest_turn, took);
    loop->turn_began = 0;
}

int loop_run(struct loop *loop) {
    while (!loop->stopped && loop->error == 0) {
        if (event_base_loop(loop->base, EVLOOP_ONCE | EVLOOP_NO_EXIT_ON_EMPTY) < 0)
            loop_fail(loop, errno > 0 ? -errno : -EIO);
        turn_ended(loop);
    }
    loop->stopped = false;
    return loop->error;
}

void loop_stop(struct loop *loop) {
    loop->stopped = true;
    (void)event_base_loopbreak(loop->base);
}

void loop_fail(struct loop *loop, int error) {
    assert(error < 0);
    if (loop->error == 0)
        loop->error = error;
    (void)event_base_loopbreak(loop->base);
}

usec_t loop_longest_turn(const struct loop *loop) {
    return loop->longest_turn;
}

struct event_base *loop_event_base(struct loop *loop) {
    return loop->base;
}

void loop_mark(struct loop *loop) {
    if (loop->turn_began == 0)
        loop->turn_began = clock_monotonic();
}

void loop_object_born(struct loop *loop) {
    loop->objects++;
}

void loop_object_died(struct loop *loop) {
    assert(loop->objects > 0);
    loop->objects--;
}

/* --- timers ---------------------------------------------------------------------------------- */

static void timer_fired(evutil_socket_t fd, short what, void *data) {
    (void)fd;
    (void)what;
    struct timer *timer = data;

    loop_mark(timer->loop);
    timer->due = USEC_INFINITY;
    timer->callback(timer->data);
}

int timer_new(struct loop *loop, loop_callback callback, void *data, struct timer **ret) {
    struct timer *timer = calloc(1, sizeof(*timer));
    if (!timer)
        return -ENOMEM;
    *timer = (struct timer){.loop = loop, .callback = callback, .data = data, .due = USEC_INFINITY};
    loop_object_born(loop);
    timer->event = event_new(loop->base, -1, 0, timer_fired, timer);
    if (!timer->event) {
        timer_free(timer);
        return -ENOMEM;
    }
    *ret = timer;
    return 0;
}

struct timer *timer_free(struct timer *timer) {
    if (!timer)
        return NULL;
    if (timer->event)
        event_free(timer->event);
    loop_object_died(timer->loop);
    free(timer);
    return NULL;
}

void timer_arm(struct timer *timer, usec_t from_now) {
    usec_t wait = usec_min(from_now, TIMER_MAX);
    struct timeval tv = {
        .tv_sec = (time_t)(wait / USEC_PER_SEC),
        .tv_usec = (suseconds_t)(wait % USEC_PER_SEC),
    };

    /* One that has expired but not yet been called would keep its place in the queue. */
    timer_disarm(timer);
    timer->due = usec_add(clock_monotonic(), wait);
    if (event_add(timer->event, &tv) < 0)
        loop_fail(timer->loop, -ENOMEM);
}

void timer_disarm(struct timer *timer) {
    timer->due = USEC_INFINITY;
    (void)event_del(timer->event);
}

bool timer_armed(const struct timer *timer) {
    return timer->due != USEC_INFINITY;
}

usec_t timer_due(const struct timer *timer) {
    return timer->due;
}

/* --- deferred calls -------------------------------------------------------------------------- */

static void deferred_fired(evutil_socket_t fd, short what, void *data) {
    (void)fd;
    (void)what;
    struct deferred *deferred = data;

    loop_mark(deferred->loop);
    deferred->callback(deferred->data);
}

int deferred_new(struct loop *loop, loop_callback callback, void *data, struct deferred **ret) {
    struct deferred *deferred = calloc(1, sizeof(*deferred));
    if (!deferred)
        return -ENOMEM;
    *deferred = (struct deferred){.loop = loop, .callback = callback, .data = data};
    loop_object_born(loop);
    deferred->event = event_new(loop->base, -1, 0, deferred_fired, deferred);
    if (!deferred->event) {
        deferred_free(deferred);
        return -ENOMEM;
    }
    *ret = deferred;
    return 0;
}

struct deferred *deferred_free(struct deferred *deferred) {
    if (!deferred)
        return NULL;
    if (deferred->event)
        event_free(deferred->event);
    loop_object_died(deferred->loop);
    free(deferred);
    return NULL;
}

void deferred_call(struct deferred *deferred) {
    /* Goes to the end of the queue that this turn works off; nothing if it is in there. */
    event_active(deferred->event, 0, 0);
}

/* --- signals --------------------------------------------------------------------------------- */

static void signal_came(evutil_socket_t signo, short what, void *data) {
    (void)signo;
    (void)what;
    struct signal_watch *watch = data;

    loop_mark(watch->loop);
    watch->callback(watch->data);
}

int signal_watch_new(struct loop *loop, int signo, loop_callback callback, void *data,
                     struct signal_watch **ret) {
    struct signal_watch *watch = calloc(1, sizeof(*watch));
    if (!watch)
        return -ENOMEM;
    *watch = (struct signal_watch){.loop = loop, .callback = callback, .data = data};
    loop_object_born(loop);
    watch->event = evsignal_new(loop->base, signo, signal_came, watch);
    if (!watch->event || event_add(watch->event, NULL) < 0) {
        signal_watch_free(watch);
        return -ENOMEM;
    }
    *ret = watch;
    return 0;
}

struct signal_watch *signal_watch_free(struct signal_watch *watch) {
    if (!watch)
        return NULL;
    if (watch->event)
        event_free(watch->event);
    loop_object_died(watch->loop);
    free(watch);
    return NULL;
}
