/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The set of what has been told.
 */
#include "told.h"

#include <stdlib.h>

/* splitmix64's finalizer over both halves; never 0. */
static uint64_t fingerprint(struct entry_id id) {
    uint64_t x = id.ms * UINT64_C(0x9e3779b97f4a7c15) + id.seq;

    x = (x ^ (x >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    x = (x ^ (x >> 27)) * UINT64_C(0x94d049bb133111eb);
    x ^= x >> 31;
    return x ? x : 1;
}

/* True if it was not there. */
static bool insert(uint64_t *slots, size_t n_slots, uint64_t print) {
    size_t at = (size_t)print & (n_slots - 1);

    while (slots[at] != 0 && slots[at] != print)
        at = (at + 1) & (n_slots - 1);
    if (slots[at] == print)
        return false;
    slots[at] = print;
    return true;
}

/* At most half full. */
static bool has_room(struct told *told) {
    size_t larger = told->n_slots > 0 ? 2 * told->n_slots : 1024;
    uint64_t *slots;

    if (2 * (told->n + 1) <= told->n_slots)
        return true;
    if (told->n >= TOLD_MAX)
        return false;
    slots = calloc(larger, sizeof(*slots));
    if (!slots)
        return false;
    for (size_t i = 0; i < told->n_slots; i++)
        if (told->slots[i] != 0)
            (void)insert(slots, larger, told->slots[i]);
    free(told->slots);
    told->slots = slots;
    told->n_slots = larger;
    return true;
}

bool told_first(struct told *told, struct entry_id id) {
    if (!has_room(told) || !insert(told->slots, told->n_slots, fingerprint(id)))
        return false;
    told->n++;
    return true;
}

void told_clear(struct told *told) {
    free(told->slots);
    *told = (struct told){0};
}
