/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The relay of one connection: two pipes, one a direction. Each reads into a buffer and gives
 * away what the rules allow at the moment. Requests are counted when they are read, replies are
 * matched to them in their order when they are given away.
 */
#include "faultproxy.h"

#include <errno.h>
#include <event2/buffer.h>
#include <event2/util.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define BUFFER_MAX ((size_t)1 << 20)
#define CHUNK_MAX ((size_t)16384)
#define SPLIT_GAP_USEC 500
#define SLOW_TICK_USEC 10000

struct request {
    struct request *next;
    enum fate fate;
};

struct pipe {
    struct relay *relay;
    enum side side;
    int from, to;
    struct evbuffer *buffer;
    struct event *readable, *writable, *tick;
    struct resp_scan scan;
    bool ended; /* nothing more to read */
    bool waiting;
};

struct relay {
    struct proxy *proxy;
    struct relay *next;
    unsigned long number;
    struct pipe pipes[2];
    struct resp_scan requests;
    struct request *first, *last; /* not yet answered */
};

/* --- record ---------------------------------------------------------------------------------- */

static void print_base64(FILE *out, const unsigned char *bytes, size_t n) {
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

    for (size_t i = 0; i < n; i += 3) {
        unsigned v = (unsigned)bytes[i] << 16 | (i + 1 < n ? (unsigned)bytes[i + 1] << 8 : 0) |
                     (i + 2 < n ? bytes[i + 2] : 0);
        (void)fputc(digits[v >> 18], out);
        (void)fputc(digits[v >> 12 & 63], out);
        (void)fputc(i + 1 < n ? digits[v >> 6 & 63] : '=', out);
        (void)fputc(i + 2 < n ? digits[v & 63] : '=', out);
    }
}

static void record(const struct pipe *pipe, const unsigned char *bytes, size_t n, bool swallowed) {
    FILE *out = pipe->relay->proxy->record;
    struct timespec now;

    if (!out)
        return;
    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    (void)fprintf(out, "{\"t\": %lld.%06ld, \"conn\": %lu, \"dir\": \"%s\", ",
                  (long long)now.tv_sec, now.tv_nsec / 1000, pipe->relay->number,
                  pipe->side == UP ? "up" : "down");
    if (swallowed)
        (void)fputs("\"swallowed\": true, ", out);
    (void)fputs("\"data\": \"", out);
    print_base64(out, bytes, n);
    (void)fputs("\"}\n", out);
    (void)fflush(out);
}

/* --- the end --------------------------------------------------------------------------------- */

static void pipe_done(struct pipe *pipe) {
    if (pipe->readable)
        event_free(pipe->readable);
    if (pipe->writable)
        event_free(pipe->writable);
    if (pipe->tick)
        event_free(pipe->tick);
    if (pipe->buffer)
        evbuffer_free(pipe->buffer);
}

static void relay_free(struct relay *relay, bool hard) {
    const struct linger linger = {.l_onoff = 1, .l_linger = 0};
    struct relay **at = &relay->proxy->relays;

    while (*at && *at != relay)
        at = &(*at)->next;
    if (*at)
        *at = relay->next;
    relay->proxy->open--;
    relay->proxy->cut += hard;
    for (int side = UP; side <= DOWN; side++) {
        if (hard)
            (void)setsockopt(relay->pipes[side].from, SOL_SOCKET, SO_LINGER, &linger,
                             sizeof(linger));
        pipe_done(&relay->pipes[side]);
    }
    (void)close(relay->pipes[UP].from);
    (void)close(relay->pipes[DOWN].from);
    while (relay->first) {
        struct request *request = relay->first;
        relay->first = request->next;
        free(request);
    }
    free(relay);
}

void relay_cut_all(struct proxy *proxy) {
    while (proxy->relays)
        relay_free(proxy->relays, true);
}

/* --- requests and replies -------------------------------------------------------------------- */

static enum fate fate_of(struct proxy *proxy, const char *word) {
    for (size_t i = 0; i < proxy->n_rules; i++) {
        struct rule *rule = &proxy->rules[i];
        if (strcasecmp(rule->word, word) != 0 || --rule->nth > 0)
            continue;
        enum fate fate = rule->fate;
        *rule = proxy->rules[--proxy->n_rules];
        return fate;
    }
    return FATE_PASS;
}

static void count_command(struct proxy *proxy, const char *word) {
    size_t i = 0;

    proxy->requests++;
    while (i < proxy->n_commands && strcmp(proxy->commands[i].word, word) != 0)
        i++;
    if (i == COMMANDS_MAX)
        return;
    if (i == proxy->n_commands) {
        (void)snprintf(proxy->commands[i].word, sizeof(proxy->commands[i].word), "%s", word);
        proxy->n_commands++;
    }
    proxy->commands[i].n++;
}

static void note_request(struct relay *relay) {
    struct request *request = calloc(1, sizeof(*request));
    if (!request)
        abort();
    count_command(relay->proxy, relay->requests.word);
    request->fate = fate_of(relay->proxy, relay->requests.word);
    if (request->fate == FATE_HOLD) { /* what was read with it is held, too */
        relay->proxy->held[UP] = true;
        request->fate = FATE_PASS;
    }
    if (relay->last && relay->first)
        relay->last->next = request;
    else
        relay->first = request;
    relay->last = request;
}

static void note_requests(struct relay *relay, const char *bytes, size_t n) {
    while (n > 0) {
        bool end;
        size_t taken = resp_scan_take(&relay->requests, bytes, n, &end);
        if (end)
            note_request(relay);
        bytes += taken;
        n -= taken;
    }
}

static enum fate current_fate(const struct pipe *pipe) {
    const struct request *request = pipe->relay->first;

    return pipe->side == DOWN && request ? request->fate : FATE_PASS;
}

/* The reply has gone by. */
static enum fate finish_reply(struct relay *relay) {
    struct request *request = relay->first;

    relay->proxy->replies++;
    if (!request)
        return FATE_PASS;
    enum fate fate = request->fate;
    relay->first = request->next;
    free(request);
    return fate;
}

/* --- giving away ----------------------------------------------------------------------------- */

static void wait_a_moment(struct pipe *pipe, unsigned long long usec) {
    const struct timeval tv = {.tv_sec = (time_t)(usec / 1000000),
                               .tv_usec = (suseconds_t)(usec % 1000000)};

    pipe->waiting = true;
    (void)event_add(pipe->tick, &tv);
}

/* How much may go now: not beyond the end of a reply, a piece, a cut. */
static size_t allowance(const struct pipe *pipe, const char *bytes, size_t n) {
    const struct proxy *proxy = pipe->relay->proxy;
    struct resp_scan ahead = pipe->scan;
    bool end;

    if (pipe->side == DOWN)
        n = resp_scan_take(&ahead, bytes, n, &end);
    if (proxy->split > 0 && n > proxy->split)
        n = proxy->split;
    if (proxy->bytes_per_second > 0) {
        unsigned long long most = proxy->bytes_per_second * SLOW_TICK_USEC / 1000000;
        n = n > most && most > 0 ? (size_t)most : most > 0 ? n : 1;
    }
    if (proxy->cut_armed[pipe->side] && n > proxy->cut_after[pipe->side])
        n = (size_t)proxy->cut_after[pipe->side];
    return n;
}

/* Sends or swallows. -1: the connection has failed, 0: not now. */
static ssize_t give(struct pipe *pipe, const unsigned char *bytes, size_t n, bool swallow) {
    if (swallow) {
        record(pipe, bytes, n, true);
        return (ssize_t)n;
    }
    ssize_t sent = send(pipe->to, bytes, n, MSG_NOSIGNAL);
    if (sent < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) {
        (void)event_add(pipe->writable, NULL);
        return 0;
    }
    if (sent > 0) {
        record(pipe, bytes, (size_t)sent, false);
        pipe->relay->proxy->bytes[pipe->side] += (unsigned long long)sent;
    }
    return sent;
}

/* True if it is to be cut now: so many bytes have passed. */
static bool use_up_cut(struct pipe *pipe, size_t n) {
    struct proxy *proxy = pipe->relay->proxy;

    if (!proxy->cut_armed[pipe->side])
        return false;
    proxy->cut_after[pipe->side] -= n;
    if (proxy->cut_after[pipe->side] > 0)
        return false;
    proxy->cut_armed[pipe->side] = false;
    return true;
}

static void pause_if_told(struct pipe *pipe, size_t n) {
    const struct proxy *proxy = pipe->relay->proxy;

    if (proxy->bytes_per_second > 0)
        wait_a_moment(pipe, n * 1000000 / proxy->bytes_per_second);
    else if (proxy->split > 0)
        wait_a_moment(pipe, SPLIT_GAP_USEC);
}

/* One step. False: no more steps now (the relay may be gone). */
static bool pump_step(struct pipe *pipe) {
    struct relay *relay = pipe->relay;
    size_t n = evbuffer_get_length(pipe->buffer);

    n = n < CHUNK_MAX ? n : CHUNK_MAX;
    unsigned char *bytes = evbuffer_pullup(pipe->buffer, (ev_ssize_t)n);
    enum fate fate = current_fate(pipe);
    n = allowance(pipe, (const char *)bytes, n);
    ssize_t given = n > 0 ? give(pipe, bytes, n, fate != FATE_PASS) : 0;
    if (given < 0 ||
        (fate == FATE_PASS && (given > 0 || n == 0) && use_up_cut(pipe, (size_t)given))) {
        relay_free(relay, true);
        return false;
    }
    if (given == 0)
        return false;

    bool end = false;
    if (pipe->side == DOWN)
        (void)resp_scan_take(&pipe->scan, (const char *)bytes, (size_t)given, &end);
    (void)evbuffer_drain(pipe->buffer, (size_t)given);
    if (end && fate != FATE_PASS)
        relay->proxy->swallowed++;
    if (end && finish_reply(relay) == FATE_SWALLOW_AND_CUT) {
        relay_free(relay, true);
        return false;
    }
    pause_if_told(pipe, (size_t)given);
    return !pipe->waiting;
}

static void pump(struct pipe *pipe) {
    struct relay *relay = pipe->relay;

    if (relay->proxy->held[pipe->side] || pipe->waiting)
        return;
    while (evbuffer_get_length(pipe->buffer) > 0)
        if (!pump_step(pipe))
            return;
    if (pipe->ended)
        relay_free(relay, false);
    else
        (void)event_add(pipe->readable, NULL);
}

void relay_pump_all(struct proxy *proxy) {
    /* A step may free its relay, never another one. */
    for (int side = UP; side <= DOWN; side++) {
        struct relay *next = NULL;
        for (struct relay *relay = proxy->relays; relay; relay = next) {
            next = relay->next;
            pump(&relay->pipes[side]);
        }
    }
}

/* --- events ---------------------------------------------------------------------------------- */

static void on_readable(evutil_socket_t fd, short what, void *data) {
    (void)what;
    struct pipe *pipe = data;
    char bytes[CHUNK_MAX];

    ssize_t n = recv(fd, bytes, sizeof(bytes), 0);
    if (n < 0 && (errno == EAGAIN || errno == EINTR))
        return;
    if (n < 0) {
        relay_free(pipe->relay, true);
        return;
    }
    if (n == 0) {
        pipe->ended = true;
        (void)event_del(pipe->readable);
    } else {
        if (pipe->side == UP)
            note_requests(pipe->relay, bytes, (size_t)n);
        (void)evbuffer_add(pipe->buffer, bytes, (size_t)n);
        if (evbuffer_get_length(pipe->buffer) >= BUFFER_MAX)
            (void)event_del(pipe->readable);
    }
    pump(pipe);
}

static void on_writable(evutil_socket_t fd, short what, void *data) {
    (void)fd;
    (void)what;
    pump(data);
}

static void on_tick(evutil_socket_t fd, short what, void *data) {
    (void)fd;
    (void)what;
    struct pipe *pipe = data;

    pipe->waiting = false;
    pump(pipe);
}

/* --- the beginning --------------------------------------------------------------------------- */

static void pipe_init(struct relay *relay, enum side side, int from, int to) {
    struct pipe *pipe = &relay->pipes[side];
    struct event_base *base = relay->proxy->base;

    *pipe = (struct pipe){.relay = relay, .side = side, .from = from, .to = to};
    pipe->buffer = evbuffer_new();
    pipe->readable = event_new(base, from, EV_READ | EV_PERSIST, on_readable, pipe);
    pipe->writable = event_new(base, to, EV_WRITE, on_writable, pipe);
    pipe->tick = event_new(base, -1, 0, on_tick, pipe);
    if (!pipe->buffer || !pipe->readable || !pipe->writable || !pipe->tick)
        abort();
    (void)event_add(pipe->readable, NULL);
}

static int connect_upstream(const struct proxy *proxy) {
    int fd = socket(proxy->upstream.address.ss_family, SOCK_STREAM | SOCK_CLOEXEC, 0);

    if (fd < 0)
        return -1;
    if (connect(fd, (const struct sockaddr *)&proxy->upstream.address, proxy->upstream.size) < 0) {
        (void)close(fd);
        return -1;
    }
    return fd;
}

static void prepare(int fd) {
    (void)evutil_make_socket_nonblocking(fd);
    (void)setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &(int){1}, sizeof(int));
}

void relay_begin(struct proxy *proxy, int client) {
    int server = connect_upstream(proxy);

    if (server < 0) {
        (void)close(client);
        return;
    }
    struct relay *relay = calloc(1, sizeof(*relay));
    if (!relay)
        abort();
    prepare(client);
    prepare(server);
    *relay = (struct relay){.proxy = proxy, .next = proxy->relays, .number = ++proxy->last_number};
    proxy->relays = relay;
    proxy->open++;
    pipe_init(relay, UP, client, server);
    pipe_init(relay, DOWN, server, client);
}
