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
    WRITE_PER_TURN = 64 * 1024,
    DEFAULT_PIPE_SIZE = 64 * 1024,
    LARGE_PIPE_SIZE = 256 * 1024,
};

struct feed {
    int fd;
    struct payload payload;
    size_t written;
    struct io_watch *watch;
};

static void feed_finish(struct feed *feed) {
    feed->watch = io_watch_free(feed->watch);
    if (feed->fd >= 0)
        (void)close(feed->fd);
    feed->fd = -1;
    payload_clear(&feed->payload);
}

static void feed_write(void *data) {
    struct feed *feed = data;
    size_t left = feed->payload.size - feed->written;
    size_t most = left < WRITE_PER_TURN ? left : WRITE_PER_TURN;
    ssize_t n = write(feed->fd, feed->payload.data + feed->written, most);

    if (n < 0) {
        /* EPIPE: it has closed its input, which is its right. */
        if (errno != EAGAIN && errno != EINTR)
            feed_finish(feed);
        return;
    }
    feed->written += (size_t)n;
    if (feed->written == feed->payload.size)
        feed_finish(feed);
}

int feed_new(struct loop *loop, int fd, struct payload *payload, struct feed **ret) {
    struct feed *feed = calloc(1, sizeof(*feed));
    if (!feed) {
        payload_clear(payload);
        (void)close(fd);
        return -ENOMEM;
    }
    *feed = (struct feed){.fd = fd, .payload = *payload};
    *payload = (struct payload){0};
    /* Fewer turns for a large one; refused where the user has too many such pipes. */
    if (feed->payload.size > DEFAULT_PIPE_SIZE)
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
