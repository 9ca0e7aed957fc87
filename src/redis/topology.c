/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The addresses of one server in turn.
 */
#include "topology.h"

#include <assert.h>

static void begin_round(struct topology *topology, size_t at) {
    topology->current = at % topology->settings->n_addresses;
    topology->tried = 1;
}

void topology_init(struct topology *topology, const struct redis_settings *settings) {
    assert(settings->n_addresses > 0);
    topology->settings = settings;
    begin_round(topology, 0);
}

const struct server_address *topology_current(const struct topology *topology) {
    return &topology->settings->addresses[topology->current];
}

bool topology_failed(struct topology *topology) {
    if (topology->tried >= topology->settings->n_addresses) {
        begin_round(topology, 0);
        return false;
    }
    topology->tried++;
    topology->current = (topology->current + 1) % topology->settings->n_addresses;
    return true;
}

void topology_lost(struct topology *topology, bool replica) {
    begin_round(topology, replica ? topology->current + 1 : 0);
}
