/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Owns the descriptor and the two watches. The requests are their senders'; their payloads are
 * given up as soon as they are written.
 */
#include "channel.h"

#include "base/cleanup.h"
#include "loop/io.h"
#include "protocol.h"

#include <errno.h>
#include <linux/sockios.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <utlist.h>

enum {
    READ_PER_TURN = 16 * 1024,
    WRITE_PER_TURN = 64 * 1024,
    REQUESTS_PER_TURN = 64,
    /* No more lies in the buffer of a socket. */
    READS_OF_THE_REST = 32,
};

struct channel {
    int fd;
    struct channel_owner owner;
    struct io_watch *reading;
    struct io_watch *writing;
    struct protocol_lines lines;
    struct request *unsent;
    bool ended;
};

static void stop_writing(struct channel *channel) {
    if (channel->writing)
        io_watch_enable(channel->writing, false);
}

static void end(struct channel *channel, enum channel_end how) {
    if (channel->ended)
        return;
    channel->ended = true;
    channel->reading = io_watch_free(channel->reading);
    channel->writing = io_watch_free(channel->writing);
    channel->owner.ended(channel->owner.data, how);
}

/* --- reading --------------------------------------------------------------------------------- */

enum reading {
    READING_MORE,    /* there may be more at once */
    READING_NOTHING, /* nothing is there now */
    READING_OVER,    /* nothing will come; the channel may be freed by now */
};

static enum reading pass_on(struct channel *channel, struct blob input) {
    struct blob line;

    for (;;) {
        switch (protocol_cut(&channel->lines, &input, &line)) {
        case PROTOCOL_LINE:
            if (!channel->owner.line(channel->owner.data, line))
                return READING_OVER;
            break;
        case PROTOCOL_MORE:
            return READING_MORE;
        case PROTOCOL_TOO_LONG:
            end(channel, CHANNEL_TOO_LONG);
            return READING_OVER;
        }
    }
}

/* The other side has ended its output. What it has not read is still ours then; once it has closed
 * its end, that is an error. */
static bool left_unread(int fd) {
    int unread = 0, error = 0;
    socklen_t size = sizeof(error);

    return (ioctl(fd, SIOCOUTQ, &unread) == 0 && unread > 0) ||
           (getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &size) == 0 && error == ECONNRESET);
}

static enum reading read_piece(struct channel *channel) {
    char piece[READ_PER_TURN];
    ssize_t n = recv(channel->fd, piece, sizeof(piece), MSG_DONTWAIT);

    if (n > 0)
        return pass_on(channel, (struct blob){piece, (size_t)n});
    if (n < 0 && (errno == EAGAIN || errno == EINTR))
        return READING_NOTHING;
    if (n == 0 ? left_unread(channel->fd) : errno == ECONNRESET)
        end(channel, CHANNEL_UNREAD);
    else
        end(channel, n == 0 ? CHANNEL_CLOSED : CHANNEL_FAILED);
    return READING_OVER;
}

static void readable(void *data) {
    (void)read_piece(data);
}

static enum reading read_rest(struct channel *channel) {
    enum reading reading = READING_MORE;

    for (int i = 0; i < READS_OF_THE_REST && reading == READING_MORE; i++)
        reading = read_piece(channel);
    return reading;
}

void channel_read_rest(struct channel *channel) {
    if (!channel->ended)
        (void)read_rest(channel);
}

/* --- writing --------------------------------------------------------------------------------- */

static void sent(struct channel *channel, struct request *request) {
    DL_DELETE(channel->unsent, request);
    request->payload = payload_free(request->payload);
    request->sent = true;
}

/* What the next write is made of: a piece of the first request, and as long as the one before is
 * whole, the next ones. -ENOMEM. */
static int gather(struct channel *channel, struct iovec *pieces, size_t *ret_n, size_t *ret_bytes) {
    struct blob chunk;

    *ret_n = *ret_bytes = 0;
    for (const struct request *request = channel->unsent; request; request = request->next) {
        if (payload_next(request->payload, &chunk) < 0)
            return -ENOMEM;
        pieces[(*ret_n)++] = (struct iovec){.iov_base = (void *)chunk.data, .iov_len = chunk.size};
        *ret_bytes += chunk.size;
        if (*ret_n == REQUESTS_PER_TURN || *ret_bytes >= WRITE_PER_TURN ||
            !payload_is_last(request->payload))
            break;
    }
    return 0;
}

/* How many bytes the socket took; 0 where it takes none now. */
static ssize_t write_pieces(struct channel *channel, struct iovec *pieces, size_t n_pieces) {
    const struct msghdr message = {.msg_iov = pieces, .msg_iovlen = n_pieces};
    ssize_t n = sendmsg(channel->fd, &message, MSG_DONTWAIT | MSG_NOSIGNAL);

    if (n >= 0)
        return n;
    return errno == EAGAIN || errno == EINTR ? 0 : -errno;
}

/* So many bytes of the first requests are written. That one is written to its end is known at
 * once: an answer may come before the next turn. */
static int take(struct channel *channel, const struct iovec *pieces, size_t n_pieces, size_t n) {
    struct blob chunk;

    for (size_t i = 0; i < n_pieces && n >= pieces[i].iov_len; i++) {
        struct request *request = channel->unsent;

        n -= pieces[i].iov_len;
        request->written += pieces[i].iov_len;
        payload_take(request->payload, pieces[i].iov_len);
        if (payload_next(request->payload, &chunk) < 0)
            return -ENOMEM;
        if (chunk.size > 0)
            return 0;
        sent(channel, request);
    }
    if (n > 0) {
        channel->unsent->written += n;
        payload_take(channel->unsent->payload, n);
    }
    return 0;
}

/* What it has answered before it stopped reading counts. */
static void failed(struct channel *channel, int error) {
    if (read_rest(channel) != READING_OVER)
        end(channel, error == -ECONNRESET ? CHANNEL_UNREAD
                     : error == -EPIPE    ? CHANNEL_CLOSED
                                          : CHANNEL_FAILED);
}

static void writable(void *data) {
    struct channel *channel = data;
    struct iovec pieces[REQUESTS_PER_TURN];
    size_t n_pieces, bytes;
    int r = gather(channel, pieces, &n_pieces, &bytes);

    if (r == 0 && bytes > 0) {
        ssize_t n = write_pieces(channel, pieces, n_pieces);

        r = n < 0 ? (int)n : take(channel, pieces, n_pieces, (size_t)n);
    }
    if (r < 0)
        failed(channel, r);
    else if (!channel->unsent)
        stop_writing(channel);
}

void channel_send(struct channel *channel, struct request *request) {
    DL_APPEND(channel->unsent, request);
    if (channel->writing)
        io_watch_enable(channel->writing, true);
}

void channel_finish(struct channel *channel) {
    stop_writing(channel);
    (void)shutdown(channel->fd, SHUT_WR);
}

/* --- life ------------------------------------------------------------------------------------ */

int channel_new(struct loop *loop, int fd, const struct channel_owner *owner,
                struct channel **ret) {
    struct channel *channel = calloc(1, sizeof(*channel));

    if (!channel) {
        (void)close(fd);
        return -ENOMEM;
    }
    channel->fd = fd;
    channel->owner = *owner;
    int r = io_watch_new(loop, fd, IO_READ, readable, channel, &channel->reading);
    if (r == 0)
        r = io_watch_new(loop, fd, IO_WRITE, writable, channel, &channel->writing);
    if (r < 0) {
        channel_free(channel);
        return r;
    }
    io_watch_enable(channel->reading, true);
    *ret = channel;
    return 0;
}

struct channel *channel_free(struct channel *channel) {
    if (!channel)
        return NULL;
    while (channel->unsent) {
        struct request *request = channel->unsent;

        DL_DELETE(channel->unsent, request);
        request->payload = payload_free(request->payload);
    }
    io_watch_free(channel->writing);
    io_watch_free(channel->reading);
    (void)close(channel->fd);
    free(channel);
    return NULL;
}
