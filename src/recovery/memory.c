/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A bounded map from entry ID to what is remembered of it; uthash keeps the order of insertion,
 * so the first is the oldest.
 */
#define HASH_NONFATAL_OOM 1
/* The default falls through cases in a way that clang warns about. */
#define HASH_FUNCTION HASH_OAT
#include "memory.h"

#include <stdlib.h>
#include <uthash.h>

struct memory_item {
    struct entry_id id;
    enum memory_what what;
    UT_hash_handle hh;
};

static void forget(struct memory *memory, struct memory_item *item) {
    HASH_DEL(memory->by_id, item);
    free(item);
}

static struct memory_item *find(const struct memory *memory, struct entry_id id) {
    struct memory_item *item;

    HASH_FIND(hh, memory->by_id, &id, sizeof(id), item);
    return item;
}

void memory_put(struct memory *memory, struct entry_id id, enum memory_what what) {
    struct memory_item *item = find(memory, id);

    if (item) {
        item->what = what;
        return;
    }
    if (HASH_COUNT(memory->by_id) >= MEMORY_MAX)
        forget(memory, memory->by_id);
    item = calloc(1, sizeof(*item));
    if (!item)
        return;
    item->id = id;
    item->what = what;
    HASH_ADD(hh, memory->by_id, id, sizeof(item->id), item);
    if (!item->hh.tbl)
        free(item);
}

enum memory_what memory_get(const struct memory *memory, struct entry_id id) {
    const struct memory_item *item = find(memory, id);

    return item ? item->what : MEMORY_NOTHING;
}

void memory_clear(struct memory *memory) {
    while (memory->by_id)
        forget(memory, memory->by_id);
}
