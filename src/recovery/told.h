/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Which exhausted entries have been told of: one record each, then silence, however many there
 * are and however often a scan meets them.
 *
 * A set of 64-bit fingerprints, 8 bytes an entry, up to TOLD_MAX; what no longer fits counts as
 * told. Lost at a restart.
 */
#pragma once

#include "base/entry_id.h"
#include <stdbool.h>
#include <stddef.h>

#define TOLD_MAX (1u << 20)

struct told {
    uint64_t *slots; /* open addressing, a power of two; 0: free */
    size_t n_slots;
    size_t n;
};

/* True the first time. */
bool told_first(struct told *told, struct entry_id id);
void told_clear(struct told *told);
