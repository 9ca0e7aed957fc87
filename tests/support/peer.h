/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A server that does what a test tells it: a listener on the loopback, in the test's own loop,
 * one client at a time. Requests are handed over parsed.
 */
#pragma once

#include "config/settings.h"
#include "loop/loop.h"

#include <hiredis.h>

struct peer;

struct peer_script {
    void (*accepted)(void *data, struct peer *peer); /* may be NULL */
    /* word: the first of the request. */
    void (*requested)(void *data, struct peer *peer, const redisReply *request, const char *word);
    void *data;
};

struct peer *peer_new(struct loop *loop, const struct peer_script *script);
struct peer *peer_free(struct peer *peer);

uint16_t peer_port(const struct peer *peer);
unsigned peer_accepted_count(const struct peer *peer);
void peer_send(struct peer *peer, const char *bytes, size_t n);
void peer_say(struct peer *peer, const char *text);
/* Closes the client. */
void peer_hang_up(struct peer *peer);
/* HELLO, SELECT, CLIENT, AUTH answered as a server would; false for all others. */
bool peer_greet(struct peer *peer, const char *word);
