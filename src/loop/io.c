/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Readiness of one descriptor, level-triggered. Owns its event, never the descriptor.
 */
#include "loop/io.h"

#include "loop_internal.h"

#include <errno.h>
#include <event2/event.h>
#include <stdlib.h>

struct io_watch {
    struct loop *loop;
    struct event *event;
    loop_callback callback;
    void *data;
    bool enabled;
};

/* The callback may free the watch, so nothing comes after it. */
static void io_ready(evutil_socket_t fd, short what, void *data) {
    (void)fd;
    (void)what;
    struct io_watch *watch = data;

    loop_mark(watch->loop);
    watch->callback(watch->data);
}

int io_watch_new(struct loop *loop, int fd, enum io_direction direction, loop_callback callback,
                 void *data, struct io_watch **ret) {
    struct io_watch *watch = calloc(1, sizeof(*watch));
    if (!watch)
        return -ENOMEM;
    *watch = (struct io_watch){.loop = loop, .callback = callback, .data = data};
    loop_object_born(loop);
    short what = (short)((direction == IO_READ ? EV_READ : EV_WRITE) | EV_PERSIST);
    watch->event = event_new(loop_event_base(loop), fd, what, io_ready, watch);
    if (!watch->event) {
        io_watch_free(watch);
        return -ENOMEM;
    }
    *ret = watch;
    return 0;
}

struct io_watch *io_watch_free(struct io_watch *watch) {
    if (!watch)
        return NULL;
    if (watch->event)
        event_free(watch->event);
    loop_object_died(watch->loop);
    free(watch);
    return NULL;
}

void io_watch_enable(struct io_watch *watch, bool enable) {
    if (watch->enabled == enable)
        return;
    watch->enabled = enable;
    if (!enable) {
        (void)event_del(watch->event);
        return;
    }
    errno = 0;
    if (event_add(watch->event, NULL) < 0)
        loop_fail(watch->loop, errno > 0 ? -errno : -ENOMEM);
}
