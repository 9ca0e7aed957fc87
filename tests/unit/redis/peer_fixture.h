/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A link and a scripted peer that answers what a test tells it.
 */
#pragma once

#include "link_fixture.h"
#include "peer.h"
#include "redis/command.h"

#define MS USEC_PER_MSEC

struct peer_test {
    struct link_fixture f;
    struct peer *peer;
    const char *answer; /* to what is no greeting; NULL: silence */
    const char *hello;  /* to HELLO; NULL: as a server would */
    const char *auth;   /* to AUTH */
    bool cut_after;     /* hang up behind the answer */
    struct timer *drip;
    const char *drip_text;
    size_t dripped;
    usec_t drip_every;
    char seen[512];  /* first words of all requests */
    char words[512]; /* all of the last request that was no greeting */
    char password[64];
    int answers, unknown, errors, ok;
    int refused_in_callback;
};

extern struct peer_test t;

/* Answers as t says. */
extern const struct peer_script scripted;
/* Takes everything and says nothing. */
extern const struct peer_script silent;

int peer_setup(void **state);
int peer_teardown(void **state);

/* Makes the peer, whose address is the link's next one. */
void use_peer(const struct peer_script *script);
/* With the scripted peer, until it is up. */
void bring_up(void);
/* A port on which nobody listens. */
uint16_t dead_port(void);
/* The peer sends this byte by byte. */
void start_to_drip(const char *text, usec_t every);

/* TIME, so many times; the answers are counted in t. */
void ask(int times);
void on_time(void *data, const struct answer *answer, uint64_t unix_usec);

#define LINK_TEST(test) cmocka_unit_test_setup_teardown(test, peer_setup, peer_teardown)
