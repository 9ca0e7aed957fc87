/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * hiredis' asynchronous context on our loop. What has to be known about it, all versions:
 *
 * - A failed connect calls on_connect() with an error and frees the context itself; there is
 *   no on_disconnect() then.
 * - Freeing the context from on_connect() is a use after free in old versions, and from the
 *   callback of an answer it is put off. It is freed from the top of the loop only.
 * - When a connection ends, all callbacks run with a NULL reply first, then on_disconnect(),
 *   then the context is freed.
 * - An answer that nobody waits for ends the process in an assert. So there is always one
 *   callback more than there are commands (the guard), and the queue here is what counts.
 * - Its time-outs are missing in old versions and end slow but living commands in others. Ours
 *   watch the progress of the oldest answer.
 */
#include "connection.h"

#include "base/text.h"
#include "socket_options.h"

#include <assert.h>
#include <async.h>
#include <errno.h>
#include <event2/event.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <adapters/libevent.h>

#define HIREDIS_VERSION (HIREDIS_MAJOR * 10000 + HIREDIS_MINOR * 100 + HIREDIS_PATCH)

/* Bigger answers than any server sends: what has been read of one and is not yet understood. */
#define REPLY_BYTES_MAX ((size_t)1 << 30)
#define REPLY_ELEMENTS_MAX ((long long)1 << 20)
/* The reader keeps a buffer of this size between answers. */
#define READER_IDLE_BUFFER ((size_t)1 << 20)

struct connection {
    struct loop *loop;
    struct connection_settings settings;
    struct connection_owner owner;
    redisAsyncContext *context; /* NULL once hiredis has freed it or is about to */
    void (*adapter_add_read)(void *adapter);
    struct pending *oldest, *newest;
    uint64_t queued;  /* bytes given to hiredis so far */
    uint64_t written; /* of these, bytes that the kernel has taken */
    usec_t progress;  /* CLOCK_MONOTONIC, of the oldest answer */
    struct timer *timer;
    bool greeted;
    bool distrusted;
    bool ended;
};

/* --- the end --------------------------------------------------------------------------------- */

static void connection_end(struct connection *connection, const char *reason,
                           const redisReply *refusal) {
    if (connection->ended)
        return;
    connection->ended = true;
    timer_disarm(connection->timer);
    connection->owner.ended(connection->owner.data, reason, refusal);
}

/* hiredis' own text is used for errors of the system only: elsewhere it can hold what the
 * server sent. */
static void describe_error(const redisContext *c, char reason[CONNECTION_REASON_MAX]) {
    const char *text = "protocol error";

    if (c->err == REDIS_ERR_IO)
        text = c->errstr[0] ? c->errstr : "input/output error";
    else if (c->err == REDIS_ERR_EOF || c->err == 0)
        text = "closed by the server";
    else if (c->err == REDIS_ERR_OOM)
        text = "out of memory";
    (void)text_printable((struct blob){.data = text, .size = strlen(text)}, reason,
                         CONNECTION_REASON_MAX);
}

static void connection_end_by_error(struct connection *connection, const redisContext *c) {
    char reason[CONNECTION_REASON_MAX];

    describe_error(c, reason);
    connection_end(connection, reason, NULL);
}

void connection_distrust(struct connection *connection) {
    connection->distrusted = true;
}

/* --- answers --------------------------------------------------------------------------------- */

static struct pending *queue_pop(struct connection *connection) {
    struct pending *pending = connection->oldest;

    if (!pending)
        return NULL;
    connection->oldest = pending->next;
    if (!connection->oldest)
        connection->newest = NULL;
    pending->next = NULL;
    return pending;
}

static void queue_push(struct connection *connection, struct pending *pending) {
    pending->next = NULL;
    if (connection->newest)
        connection->newest->next = pending;
    else
        connection->oldest = pending;
    connection->newest = pending;
}

static void on_reply(redisAsyncContext *context, void *data, void *privdata);

/* The one callback more. hiredis wants to see a command, of which no byte is sent. */
static bool arm_guard(struct connection *connection) {
    static const char command[] = "*1\r\n$4\r\nPING\r\n";

    return redisAsyncFormattedCommand(connection->context, on_reply, connection, command, 0) ==
           REDIS_OK;
}

/* Nobody asked. A server that refuses a connection says why in this way. */
static void on_unasked(struct connection *connection, const redisReply *reply) {
    (void)arm_guard(connection);
    connection_distrust(connection);
    connection_end(connection, "an answer to nothing that was asked", reply);
}

static void on_reply(redisAsyncContext *context, void *data, void *privdata) {
    struct connection *connection = privdata;
    const redisReply *reply = data;

    loop_mark(connection->loop);
    if (!reply)
        connection_end_by_error(connection, &context->c);
    else
        connection->progress = clock_monotonic();

    struct pending *pending = queue_pop(connection);
    if (pending)
        pending->answered(pending, connection->distrusted ? NULL : reply);
    else if (reply)
        on_unasked(connection, reply);
}

bool connection_send(struct connection *connection, struct pending *pending, const char *command,
                     size_t size) {
    if (connection->ended || connection->distrusted || !connection->context)
        return false;
    if (redisAsyncFormattedCommand(connection->context, on_reply, connection, command, size) !=
        REDIS_OK)
        return false;

    connection->queued += size;
    pending->end = connection->queued;
    if (!connection->oldest) {
        connection->progress = clock_monotonic();
        if (connection->greeted)
            timer_arm(connection->timer, connection->settings.command_timeout);
    }
    queue_push(connection, pending);
    return true;
}

/* --- progress and deadlines ------------------------------------------------------------------ */

/* Bytes of later commands that go out are no progress of the oldest one. */
static bool note_written(struct connection *connection) {
    uint64_t written = connection->queued - sdslen(connection->context->c.obuf);

    if (written == connection->written)
        return false;
    if (connection->oldest && connection->written < connection->oldest->end)
        connection->progress = clock_monotonic();
    connection->written = written;
    return true;
}

/* hiredis asks for more input after each read and after each write that went well. */
static void on_moved(void *adapter) {
    redisAsyncContext *context = ((redisLibeventEvents *)adapter)->context;
    struct connection *connection = context->data;
    const redisReader *reader = context->c.reader;

    loop_mark(connection->loop);
    if (!note_written(connection))
        connection->progress = clock_monotonic();
    if (reader->len - reader->pos > REPLY_BYTES_MAX) {
        connection_distrust(connection);
        connection_end(connection, "an answer too large to take", NULL);
    }
    connection->adapter_add_read(adapter);
}

static void on_timer(void *data) {
    struct connection *connection = data;
    char reason[CONNECTION_REASON_MAX], wait[32];

    if (!connection->greeted) {
        text_format_duration(connection->settings.connect_timeout, wait, sizeof(wait));
        (void)snprintf(reason, sizeof(reason), "no connection and greeting within %s", wait);
        connection_end(connection, reason, NULL);
        return;
    }
    if (!connection->oldest)
        return;
    usec_t due = usec_add(connection->progress, connection->settings.command_timeout);
    usec_t left = usec_sub(due, clock_monotonic());
    if (left > 0) {
        timer_arm(connection->timer, left);
        return;
    }
    text_format_duration(connection->settings.command_timeout, wait, sizeof(wait));
    (void)snprintf(reason, sizeof(reason), "no answer for %s", wait);
    connection_end(connection, reason, NULL);
}

void connection_greeted(struct connection *connection) {
    if (connection->ended)
        return;
    connection->greeted = true;
    connection->progress = clock_monotonic();
    timer_disarm(connection->timer);
    if (connection->oldest)
        timer_arm(connection->timer, connection->settings.command_timeout);
}

void connection_set_timeout(struct connection *connection, usec_t command_timeout) {
    connection->settings.command_timeout = command_timeout;
    /* It may be due sooner now; one that is not looks again when it fires. */
    if (connection->greeted && timer_armed(connection->timer))
        timer_arm(connection->timer, 0);
}

usec_t connection_deadline(const struct connection *connection) {
    if (!connection->greeted)
        return timer_due(connection->timer);
    if (!connection->oldest)
        return USEC_INFINITY;
    return usec_add(connection->progress, connection->settings.command_timeout);
}

/* --- birth and death ------------------------------------------------------------------------- */

static void on_connect(const redisAsyncContext *context, int status) {
    struct connection *connection = context->data;

    loop_mark(connection->loop);
    if (status != REDIS_OK) {
        connection->context = NULL;
        connection_end_by_error(connection, &context->c);
        return;
    }
    if (connection->ended)
        return;
    if (!arm_guard(connection)) {
        connection_end(connection, "out of memory", NULL);
        return;
    }
    connection->owner.connected(connection->owner.data);
}

static void on_disconnect(const redisAsyncContext *context, int status) {
    (void)status;
    struct connection *connection = context->data;

    loop_mark(connection->loop);
    connection->context = NULL;
    connection_end_by_error(connection, &context->c);
}

static redisAsyncContext *open_context(const struct server_address *address) {
    assert(!address->is_name); /* its own look-up blocks */
    switch (address->kind) {
    case SERVER_TCP:
        return redisAsyncConnect(address->host, address->port);
    case SERVER_UNIX:
        return redisAsyncConnectUnix(address->host);
    }
    return NULL;
}

static void limit_reader(redisReader *reader) {
    reader->maxbuf = READER_IDLE_BUFFER;
#if HIREDIS_VERSION >= 10000
    reader->maxelements = REPLY_ELEMENTS_MAX;
#else
    (void)REPLY_ELEMENTS_MAX; /* bounded by its own int */
#endif
}

static int attach(struct connection *connection) {
    redisAsyncContext *context = connection->context;

    context->data = connection;
    if (redisLibeventAttach(context, loop_event_base(connection->loop)) != REDIS_OK)
        return -ENOMEM;
    connection->adapter_add_read = context->ev.addRead;
    context->ev.addRead = on_moved;
    if (redisAsyncSetConnectCallback(context, on_connect) != REDIS_OK ||
        redisAsyncSetDisconnectCallback(context, on_disconnect) != REDIS_OK)
        return -ENOMEM;
    return 0;
}

static int connection_open(struct connection *connection, char reason[CONNECTION_REASON_MAX]) {
    connection->context = open_context(connection->settings.address);
    if (!connection->context)
        return -ENOMEM;
    if (connection->context->err != 0) {
        describe_error(&connection->context->c, reason);
        return CONNECTION_E_REFUSED;
    }
    limit_reader(connection->context->c.reader);
    socket_prepare(connection->context->c.fd, connection->settings.address->kind);
    return attach(connection);
}

int connection_new(struct loop *loop, const struct connection_settings *settings,
                   const struct connection_owner *owner, struct connection **ret,
                   char reason[CONNECTION_REASON_MAX]) {
    struct connection *connection = calloc(1, sizeof(*connection));
    if (!connection)
        return -ENOMEM;
    *connection = (struct connection){.loop = loop, .settings = *settings, .owner = *owner};

    int r = timer_new(loop, on_timer, connection, &connection->timer);
    if (r == 0)
        r = connection_open(connection, reason);
    if (r != 0) {
        connection->ended = true;
        connection_free(connection);
        return r;
    }
    timer_arm(connection->timer, settings->connect_left);
    *ret = connection;
    return 0;
}

struct connection *connection_free(struct connection *connection) {
    if (!connection)
        return NULL;
    connection->ended = true;
    connection_distrust(connection);
    if (connection->context) {
        assert(!(connection->context->c.flags & REDIS_IN_CALLBACK));
        redisAsyncFree(connection->context);
    }
    assert(!connection->oldest);
    timer_free(connection->timer);
    free(connection);
    return NULL;
}
