/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What is remembered of entries that are not held: verdicts of handlers, when the next attempt is
 * due. Bounded: when it is full the oldest is forgotten, which costs an attempt that comes
 * earlier or once more, and nothing else. Lost at a restart.
 */
#pragma once

#include "base/clock.h"
#include "base/entry_id.h"
#include "base/error.h"
#include "lease.h"
#include <stddef.h>
#include <uthash.h>

#define MEMORY_MAX 10000

enum memory_what {
    MEMORY_REJECTED, /* by its handler: never again */
    MEMORY_STUCK,    /* cannot be dead-lettered: never again */
    MEMORY_MISSING,  /* its body is gone while it stays pending */
    MEMORY_RETRY,    /* failed; not before `due` */
};

struct memory_item {
    struct entry_id id;
    enum memory_what what;
    char *reason;       /* MEMORY_REJECTED: what the handler said; may be NULL */
    usec_t due;         /* MEMORY_RETRY: CLOCK_BOOTTIME */
    struct lease lease; /* MEMORY_RETRY: of our last claim */
    bool claim_out;     /* MEMORY_RETRY: an XCLAIM naming it is unanswered */
    UT_hash_handle hh;
};

struct memory {
    struct memory_item *by_id; /* in the order of being put there */
};

/* Replaces what was known. NULL where memory is short: then it is just not remembered. */
struct memory_item *memory_put(struct memory *memory, struct entry_id id, enum memory_what what,
                               const char *reason);
struct memory_item *memory_find(const struct memory *memory, struct entry_id id);
void memory_forget(struct memory *memory, struct memory_item *item);
void memory_clear(struct memory *memory);

/* Over all items; the current one may be forgotten. */
#define MEMORY_FOREACH(memory, item)                                                               \
    for (struct memory_item *item = (memory)->by_id, *_next = item ? item->hh.next : NULL; item;   \
         item = _next, _next = item ? item->hh.next : NULL)
