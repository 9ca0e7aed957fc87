/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A loop with one link in it, and waiting for things to happen to them.
 */
#pragma once

#include "loop/loop.h"
#include "redis/link.h"
#include "report_stub.h"
#include "unit.h"

struct link_fixture {
    struct loop *loop;
    struct timer *limit;
    struct server_address addresses[3];
    struct redis_settings settings;
    struct link *link;
    struct link_listener listener;
    int ups, downs, failures;
    int ends;           /* downs and failures */
    char news[64];      /* u, d, f in their order */
    const int *counter; /* waited for */
    int target;
};

/* Fast settings and no address yet. */
void fixture_init(struct link_fixture *f);
void fixture_tcp(struct link_fixture *f, uint16_t port);
void fixture_name(struct link_fixture *f, const char *name, uint16_t port);
void fixture_unix(struct link_fixture *f, const char *path);
/* Makes the link, listens, starts. */
void fixture_start(struct link_fixture *f);
/* Frees the link only. */
void fixture_done_link(struct link_fixture *f);
void fixture_done(struct link_fixture *f);

/* Runs the loop until *counter >= target; fails the test after ten seconds. */
void fixture_wait(struct link_fixture *f, const int *counter, int target);
/* To be called by whatever changes a counter. */
void fixture_poke(struct link_fixture *f);
/* Runs the loop for so long. */
void fixture_run_for(struct link_fixture *f, usec_t duration);
