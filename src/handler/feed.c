/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Owns the pipe's end and the payload until all is written or the reader has gone; then both
 * are given up at once, not only when the run ends. SIGPIPE is ignored in the daemon.
 */
#include "feed.h"

#include "base/cleanup.h"
#include "loop/io.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

enum {
    DEFAULT_PIPE_SIZE = 64 * 1024,
    LARGE_PIPE_SIZE = 256 * 1024,
};

struct feed {
    int fd;
    struct payload *payload;
    struct io_watch *watch;
};

static void feed_finish(struct feed *feed) {
    feed->watch = io_watch_free(feed->watch);
    if (feed->fd >= 0)
        (void)close(feed->fd);
    feed->fd = -1;
    feed->payload = payload_free(feed->payload);
}

/* A chunk a turn. */
static void feed_write(void *data) {
    struct feed *feed = data;
    struct blob chunk;
    ssize_t n;

    if (payload_next(feed->payload, &chunk) < 0 || chunk.size == 0) {
        feed_finish(feed);
        return;
    }
    n = write(feed->fd, chunk.data, chunk.size);
    if (n < 0) {
        /* EPIPE: it has closed its input, which is its right. */
        if (errno != EAGAIN && errno != EINTR)
            feed_finish(feed);
        return;
    }
    payload_take(feed->payload, (size_t)n);
    if ((size_t)n == chunk.size && (payload_next(feed->payload, &chunk) < 0 || chunk.size == 0))
        feed_finish(feed);
}

int feed_new(struct loop *loop, int fd, struct payload *payload, struct feed **ret) {
    struct feed *feed = calloc(1, sizeof(*feed));
    if (!feed) {
        payload_free(payload);
        (void)close(fd);
        return -ENOMEM;
    }
    *feed = (struct feed){.fd = fd, .payload = payload};
    /* Fewer turns for a large one; refused where the user has too many such pipes. */
    if (payload_size_guess(payload) > DEFAULT_PIPE_SIZE)
        (void)fcntl(fd, F_SETPIPE_SZ, (int)LARGE_PIPE_SIZE);
    if (io_watch_new(loop, fd, IO_WRITE, feed_write, feed, &feed->watch) < 0) {
        feed_free(feed);
        return -ENOMEM;
    }
    *ret = feed;
    return 0;
}

struct feed *feed_free(struct feed *feed) {
    if (!feed)
        return NULL;
    feed_finish(feed);
    free(feed);
    return NULL;
}

void feed_start(struct feed *feed) {
    feed_write(feed);
    if (feed->watch)
        io_watch_enable(feed->watch, true);
}
