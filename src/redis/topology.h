/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Which address now? The urls are tried in turn, in rounds; a round ends when each has failed
 * once. A url whose host is a name stands for as many addresses as were found for it when its turn
 * came; each is tried before the next url. Pure.
 */
#pragma once

#include "config/settings.h"
#include <stdbool.h>

struct topology {
    const struct redis_settings *settings;
    size_t current;
    size_t tried; /* in this round, the current one with them */
    size_t found; /* addresses of the current one's name; 0: not looked up */
    size_t at;    /* which of these */
};

void topology_init(struct topology *topology, const struct redis_settings *settings);

const struct server_address *topology_current(const struct topology *topology);

/* The name of the current url has so many addresses, of which the first is now to be tried. */
void topology_found(struct topology *topology, size_t n);
/* Has it been looked up? ret_at: which of its addresses. */
bool topology_is_found(const struct topology *topology, size_t *ret_at);
/* There is nothing else to go to. */
bool topology_is_alone(const struct topology *topology);

/* The current address has failed. True if there is another one to try in this round (which is
 * then the current one); false if the round is over, and the next begins at the first url. A name
 * that was left is looked up anew when it comes again. */
bool topology_failed(struct topology *topology);

/* The connection to the current address, which had been up, is over: a new round. It begins at
 * the first url, or, where the current one turned out to be a replica, behind that. */
void topology_lost(struct topology *topology, bool replica);
