/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A bounded map from entry ID to what is remembered of it; uthash keeps the order of insertion,
 * so the first is the oldest.
 */
#define HASH_NONFATAL_OOM 1
/* The default one falls through its cases, of which clang warns. */
#define HASH_FUNCTION HASH_OAT
#include "memory.h"

#include <stdlib.h>
#include <string.h>

void memory_forget(struct memory *memory, struct memory_item *item) {
    HASH_DEL(memory->by_id, item);
    free(item->reason);
    free(item);
}

struct memory_item *memory_find(const struct memory *memory, struct entry_id id) {
    struct memory_item *item;

    HASH_FIND(hh, memory->by_id, &id, sizeof(id), item);
    return item;
}

struct memory_item *memory_put(struct memory *memory, struct entry_id id, enum memory_what what,
                               const char *reason) {
    struct memory_item *item = memory_find(memory, id);

    if (item)
        memory_forget(memory, item);
    if (HASH_COUNT(memory->by_id) >= MEMORY_MAX)
        memory_forget(memory, memory->by_id);
    item = calloc(1, sizeof(*item));
    if (!item)
        return NULL;
    item->id = id;
    item->what = what;
    item->reason = reason ? strdup(reason) : NULL;
    HASH_ADD(hh, memory->by_id, id, sizeof(item->id), item);
    if (item->hh.tbl)
        return item;
    free(item->reason); /* uthash could not grow its table */
    free(item);
    return NULL;
}

void memory_clear(struct memory *memory) {
    while (memory->by_id)
        memory_forget(memory, memory->by_id);
}
