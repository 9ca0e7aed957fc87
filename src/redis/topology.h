/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Which address now? They are tried in turn, in rounds; a round ends when each has failed once.
 * Pure.
 */
#pragma once

#include "config/settings.h"
#include <stdbool.h>

struct topology {
    const struct redis_settings *settings;
    size_t current;
    size_t tried; /* in this round, the current one with them */
};

void topology_init(struct topology *topology, const struct redis_settings *settings);

const struct server_address *topology_current(const struct topology *topology);

/* The current address has failed. True if there is another one to try in this round (which is
 * then the current one); false if the round is over, and the next begins at the first. */
bool topology_failed(struct topology *topology);

/* The connection to the current address, which had been up, is over: a new round. It begins at
 * the first address, or, where the current one turned out to be a replica, behind that. */
void topology_lost(struct topology *topology, bool replica);
