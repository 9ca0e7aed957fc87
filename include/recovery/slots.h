/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What all recoveries of the daemon share: the number of handlers at once (max_handlers) and the
 * bytes of bodies in memory (max_body_bytes).
 *
 * Shared fairly: whoever was refused is called back in turn, and while others wait nobody is
 * given more than its part of what is free.
 */
#pragma once

#include "base/cleanup.h"
#include "base/error.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct slots;

/* Owned by the recovery; known to the slots while it waits. */
struct slots_waiter {
    void (*wake)(void *data);
    void *data;
    bool waiting;
    struct slots_waiter *prev, *next; /* the slots' queue */
};

MUST_CHECK int slots_new(uint64_t max_handlers, uint64_t max_body_bytes, struct slots **ret);
/* From now on so many. What is lent beyond that comes back in its own time. */
void slots_resize(struct slots *slots, uint64_t max_handlers, uint64_t max_body_bytes);
/* Asserts that all slots came back. */
struct slots *slots_free(struct slots *slots);

/* Takes up to `want` handler slots for bodies of about so many bytes each, and returns how many;
 * fewer than wanted: the waiter is queued and woken when it is its turn. None while the bodies in
 * memory are at their limit; below it one at least, and no more than begin below it. */
size_t slots_take(struct slots *slots, size_t want, uint64_t body_bytes,
                  struct slots_waiter *waiter);
void slots_give(struct slots *slots, size_t n);
/* No longer interested. */
void slots_forget(struct slots *slots, struct slots_waiter *waiter);

/* So many bytes are expected or have come; they will not come, or their handler has ended. */
void slots_body_begin(struct slots *slots, uint64_t bytes);
void slots_body_end(struct slots *slots, uint64_t bytes);
