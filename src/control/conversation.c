/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Reads one line, has it carried out, writes the answer. One timer bounds it: the request must have
 * come in time as a whole, so that a client that sends a byte now and then gains nothing; the
 * answer must go on.
 */
#include "conversation.h"

#include "base/cleanup.h"
#include "loop/io.h"
#include <errno.h>
#include <string.h>
#include <sys/socket.h>

struct conversation {
    int fd;
    struct conversation_owner owner;
    struct io_watch *reader;
    struct io_watch *writer;
    struct timer *timer;
    char request[CONTROL_REQUEST_MAX];
    size_t n_request;
    char *answer; /* head and body; NULL: nothing was asked yet */
    size_t n_answer;
    size_t written;
};

static void over(struct conversation *conversation) {
    conversation->owner.over(conversation->owner.data, conversation);
}

/* --- the answer ------------------------------------------------------------------------------ */

static void write_some(void *data) {
    struct conversation *c = data;
    ssize_t n = send(c->fd, c->answer + c->written, c->n_answer - c->written, MSG_NOSIGNAL);

    if (n < 0 && (errno == EAGAIN || errno == EINTR)) {
        io_watch_enable(c->writer, true);
        return;
    }
    if (n > 0)
        c->written += (size_t)n;
    if (n < 0 || c->written == c->n_answer) {
        over(c);
        return;
    }
    timer_arm(c->timer, CONTROL_PATIENCE);
    io_watch_enable(c->writer, true);
}

/* False: out of memory. */
static bool put_answer(struct conversation *c, bool ok, const char *body, size_t size) {
    char head[CONTROL_HEAD_MAX];
    size_t n = control_head_format(ok, size, head);

    c->answer = malloc(n + size);
    if (!c->answer)
        return false;
    memcpy(c->answer, head, n);
    memcpy(c->answer + n, body, size);
    c->n_answer = n + size;
    return true;
}

static bool carry_out(struct conversation *c, const struct control_request *request) {
    CLEANUP_FREE char *body = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&body, &size);

    if (!out)
        return false;
    bool ok = c->owner.carry_out(c->owner.carry_out_data, request, out);
    bool whole = !ferror(out);
    return fclose(out) == 0 && whole && put_answer(c, ok, body, size);
}

static bool refuse(struct conversation *c, const char *why) {
    char line[256];
    int n = snprintf(line, sizeof(line), "%s\n", why);

    return put_answer(c, false, line, (size_t)n);
}

/* --- the request ----------------------------------------------------------------------------- */

/* The last thing done with it in this turn: it may be over afterwards. */
static void answer(struct conversation *c, const char *line, size_t size) {
    struct control_request request;
    const char *why;
    bool answered;

    io_watch_enable(c->reader, false);
    if (!line)
        answered = refuse(c, "the request is too long, or has no end");
    else if (control_request_parse(line, size, &request, &why))
        answered = carry_out(c, &request);
    else
        answered = refuse(c, why);
    if (!answered) { /* out of memory: nothing can be said */
        over(c);
        return;
    }
    timer_arm(c->timer, CONTROL_PATIENCE);
    write_some(c);
}

static void read_some(void *data) {
    struct conversation *c = data;
    ssize_t n =
        recv(c->fd, c->request + c->n_request, sizeof(c->request) - c->n_request, MSG_DONTWAIT);
    const char *end;

    if (n < 0) {
        if (errno != EAGAIN && errno != EINTR)
            over(c);
        return;
    }
    if (n == 0 && c->n_request == 0) { /* it has nothing to say */
        over(c);
        return;
    }
    end = memchr(c->request + c->n_request, '\n', (size_t)n);
    c->n_request += (size_t)n;
    if (end)
        answer(c, c->request, (size_t)(end - c->request));
    else if (n == 0 || c->n_request == sizeof(c->request))
        answer(c, NULL, 0);
}

static void too_late(void *data) {
    over(data);
}

/* --- birth and death ------------------------------------------------------------------------- */

int conversation_new(struct loop *loop, int fd, const struct conversation_owner *owner,
                     struct conversation **ret) {
    struct conversation *c = calloc(1, sizeof(*c));
    int error;

    if (!c) {
        cleanup_close(&fd);
        return -ENOMEM;
    }
    c->fd = fd;
    c->owner = *owner;
    error = io_watch_new(loop, fd, IO_READ, read_some, c, &c->reader);
    if (error == 0)
        error = io_watch_new(loop, fd, IO_WRITE, write_some, c, &c->writer);
    if (error == 0)
        error = timer_new(loop, too_late, c, &c->timer);
    if (error < 0) {
        conversation_free(c);
        return error;
    }
    io_watch_enable(c->reader, true);
    timer_arm(c->timer, CONTROL_PATIENCE);
    *ret = c;
    return 0;
}

struct conversation *conversation_free(struct conversation *c) {
    if (!c)
        return NULL;
    timer_free(c->timer);
    io_watch_free(c->writer);
    io_watch_free(c->reader);
    cleanup_close(&c->fd);
    free(c->answer);
    free(c);
    return NULL;
}
