/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The scripted server.
 */
#include "peer.h"

#include "loop/io.h"
#include "unit.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

struct peer {
    struct loop *loop;
    struct peer_script script;
    int listener;
    int client;
    uint16_t port;
    unsigned accepted;
    struct io_watch *accepting;
    struct io_watch *reading;
    redisReader *reader;
};

void peer_hang_up(struct peer *peer) {
    if (peer->client < 0)
        return;
    peer->reading = io_watch_free(peer->reading);
    (void)close(peer->client);
    peer->client = -1;
}

void peer_send(struct peer *peer, const char *bytes, size_t n) {
    if (peer->client >= 0)
        (void)send(peer->client, bytes, n, MSG_NOSIGNAL);
}

void peer_say(struct peer *peer, const char *text) {
    peer_send(peer, text, strlen(text));
}

bool peer_greet(struct peer *peer, const char *word) {
    if (strcmp(word, "HELLO") == 0)
        peer_say(peer, "*6\r\n$6\r\nserver\r\n$5\r\nredis\r\n$7\r\nversion\r\n$6\r\n7.0.15\r\n"
                       "$5\r\nproto\r\n:2\r\n");
    else if (strcmp(word, "AUTH") == 0 || strcmp(word, "SELECT") == 0 ||
             strcmp(word, "CLIENT") == 0)
        peer_say(peer, "+OK\r\n");
    else
        return false;
    return true;
}

static void handle_requests(struct peer *peer) {
    void *reply = NULL;

    while (peer->client >= 0 && redisReaderGetReply(peer->reader, &reply) == REDIS_OK && reply) {
        const redisReply *request = reply;
        assert_int_equal(request->type, REDIS_REPLY_ARRAY);
        peer->script.requested(peer->script.data, peer, request, request->element[0]->str);
        freeReplyObject(reply);
        reply = NULL;
    }
}

static void on_readable(void *data) {
    struct peer *peer = data;
    char buf[4096];

    ssize_t n = recv(peer->client, buf, sizeof(buf), 0);
    if (n <= 0) {
        peer_hang_up(peer);
        return;
    }
    assert_int_equal(redisReaderFeed(peer->reader, buf, (size_t)n), REDIS_OK);
    handle_requests(peer);
}

static void on_acceptable(void *data) {
    struct peer *peer = data;

    peer_hang_up(peer);
    peer->client = accept4(peer->listener, NULL, NULL, SOCK_CLOEXEC);
    assert_true(peer->client >= 0);
    /* Single bytes are to leave at once. */
    (void)setsockopt(peer->client, IPPROTO_TCP, TCP_NODELAY, &(int){1}, sizeof(int));
    peer->accepted++;
    if (peer->reader)
        redisReaderFree(peer->reader);
    peer->reader = redisReaderCreate();
    assert_int_equal(
        io_watch_new(peer->loop, peer->client, IO_READ, on_readable, peer, &peer->reading), 0);
    io_watch_enable(peer->reading, true);
    if (peer->script.accepted)
        peer->script.accepted(peer->script.data, peer);
}

uint16_t peer_port(const struct peer *peer) {
    return peer->port;
}

unsigned peer_accepted_count(const struct peer *peer) {
    return peer->accepted;
}

struct peer *peer_new(struct loop *loop, const struct peer_script *script) {
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t size = sizeof(address);
    struct peer *peer = calloc(1, sizeof(*peer));
    assert_non_null(peer);
    *peer = (struct peer){.loop = loop, .script = *script, .client = -1};
    peer->listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_true(peer->listener >= 0);
    assert_int_equal(bind(peer->listener, (struct sockaddr *)&address, sizeof(address)), 0);
    assert_int_equal(listen(peer->listener, 16), 0);
    assert_int_equal(getsockname(peer->listener, (struct sockaddr *)&address, &size), 0);
    peer->port = ntohs(address.sin_port);
    assert_int_equal(
        io_watch_new(loop, peer->listener, IO_READ, on_acceptable, peer, &peer->accepting), 0);
    io_watch_enable(peer->accepting, true);
    return peer;
}

struct peer *peer_free(struct peer *peer) {
    if (!peer)
        return NULL;
    peer_hang_up(peer);
    io_watch_free(peer->accepting);
    (void)close(peer->listener);
    if (peer->reader)
        redisReaderFree(peer->reader);
    free(peer);
    return NULL;
}
