/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The proxy that breaks connections where a test says: what its relay (faultproxy_relay.c) and
 * its command line (faultproxy.c) share.
 */
#pragma once

#include "resp_scan.h"

#include <event2/event.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/socket.h>

enum side { UP, DOWN }; /* to the server, to the client */

#define RULES_MAX 32
#define COMMANDS_MAX 64

enum fate { FATE_PASS, FATE_SWALLOW, FATE_SWALLOW_AND_CUT, FATE_HOLD };

/* What to do with the nth request from now whose first word this is, or with the reply to it. */
struct rule {
    char word[RESP_WORD_MAX];
    unsigned long nth;
    enum fate fate;
};

struct counted {
    char word[RESP_WORD_MAX];
    unsigned long n;
};

struct endpoint {
    struct sockaddr_storage address;
    socklen_t size;
};

struct proxy {
    struct event_base *base;
    struct endpoint upstream;
    FILE *record;
    struct relay *relays;
    unsigned long last_number;

    bool refuse;
    bool held[2];
    bool cut_armed[2];
    unsigned long long cut_after[2];
    unsigned long long bytes_per_second; /* 0: no limit */
    size_t split;                        /* 0: off */
    struct rule rules[RULES_MAX];
    size_t n_rules;

    unsigned long accepted, refused, open, cut, requests, replies, swallowed;
    unsigned long long bytes[2];
    struct counted commands[COMMANDS_MAX];
    size_t n_commands;
};

/* Takes the accepted socket. */
void relay_begin(struct proxy *proxy, int client);
/* Resets all connections. */
void relay_cut_all(struct proxy *proxy);
/* After a change of the rules: goes on with all that may go on. */
void relay_pump_all(struct proxy *proxy);
