/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The addresses of one server in turn.
 */
#include "topology.h"

#include <assert.h>

static void begin_round(struct topology *topology, size_t at) {
    topology->current = at % topology->settings->n_addresses;
    topology->tried = 1;
    topology->found = topology->at = 0;
}

void topology_init(struct topology *topology, const struct redis_settings *settings) {
    assert(settings->n_addresses > 0);
    topology->settings = settings;
    begin_round(topology, 0);
}

const struct server_address *topology_current(const struct topology *topology) {
    return &topology->settings->addresses[topology->current];
}

void topology_found(struct topology *topology, size_t n) {
    assert(n > 0);
    topology->found = n;
    topology->at = 0;
}

bool topology_is_found(const struct topology *topology, size_t *ret_at) {
    if (topology->found == 0)
        return false;
    *ret_at = topology->at;
    return true;
}

bool topology_is_alone(const struct topology *topology) {
    return topology->settings->n_addresses == 1 && topology->found <= 1;
}

bool topology_failed(struct topology *topology) {
    if (topology->at + 1 < topology->found) {
        topology->at++;
        return true;
    }
    topology->found = topology->at = 0;
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
