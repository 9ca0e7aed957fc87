/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The daemon's handler slots, lent to recoveries in turn.
 */
#include "recovery/slots.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <utlist.h>

struct slots {
    uint64_t used;
    uint64_t total; /* after a resize it may be below what is used */
    uint64_t body_bytes;
    uint64_t max_body_bytes;
    struct slots_waiter *queue;
    size_t n_waiting;
};

int slots_new(uint64_t max_handlers, uint64_t max_body_bytes, struct slots **ret) {
    struct slots *slots = calloc(1, sizeof(*slots));

    if (!slots)
        return -ENOMEM;
    slots->total = max_handlers;
    slots->max_body_bytes = max_body_bytes;
    *ret = slots;
    return 0;
}

struct slots *slots_free(struct slots *slots) {
    if (!slots)
        return NULL;
    assert(slots->used == 0 && slots->body_bytes == 0 && !slots->queue);
    free(slots);
    return NULL;
}

static uint64_t count_free(const struct slots *slots) {
    return slots->total > slots->used ? slots->total - slots->used : 0;
}

static void leave_queue(struct slots *slots, struct slots_waiter *waiter) {
    if (!waiter->waiting)
        return;
    DL_DELETE(slots->queue, waiter);
    waiter->waiting = false;
    slots->n_waiting--;
}

static void join_queue(struct slots *slots, struct slots_waiter *waiter) {
    DL_APPEND(slots->queue, waiter);
    waiter->waiting = true;
    slots->n_waiting++;
}

/* How many bodies of this size may begin: each while those before it are below the limit. */
static uint64_t count_bodies(const struct slots *slots, uint64_t body_bytes) {
    if (slots->body_bytes >= slots->max_body_bytes)
        return 0;
    if (body_bytes == 0)
        return UINT64_MAX;
    return (slots->max_body_bytes - slots->body_bytes - 1) / body_bytes + 1;
}

static uint64_t min_u64(uint64_t a, uint64_t b) {
    return a < b ? a : b;
}

size_t slots_take(struct slots *slots, size_t want, uint64_t body_bytes,
                  struct slots_waiter *waiter) {
    bool in_turn = !slots->queue || slots->queue == waiter;
    size_t grant = 0;

    if (in_turn) {
        size_t others = slots->n_waiting - (waiter->waiting ? 1 : 0);
        uint64_t part = (count_free(slots) + others) / (others + 1);

        grant = (size_t)min_u64(want, min_u64(part, count_bodies(slots, body_bytes)));
    }
    slots->used += grant;
    if (grant > 0 || want == 0)
        leave_queue(slots, waiter);
    if (grant < want && !waiter->waiting)
        join_queue(slots, waiter);
    /* What is left goes to the next in the queue, if that is somebody else. */
    if (grant > 0 && count_free(slots) > 0 && slots->queue && slots->queue != waiter)
        slots->queue->wake(slots->queue->data);
    return grant;
}

static void wake_first(struct slots *slots) {
    if (slots->queue && count_free(slots) > 0 && slots->body_bytes < slots->max_body_bytes)
        slots->queue->wake(slots->queue->data);
}

void slots_give(struct slots *slots, size_t n) {
    assert(slots->used >= n);
    slots->used -= n;
    wake_first(slots);
}

void slots_resize(struct slots *slots, uint64_t max_handlers, uint64_t max_body_bytes) {
    slots->total = max_handlers;
    slots->max_body_bytes = max_body_bytes;
    wake_first(slots);
}

void slots_forget(struct slots *slots, struct slots_waiter *waiter) {
    bool was_first = slots->queue == waiter;

    leave_queue(slots, waiter);
    if (was_first)
        wake_first(slots);
}

void slots_body_begin(struct slots *slots, uint64_t bytes) {
    slots->body_bytes += bytes;
}

void slots_body_end(struct slots *slots, uint64_t bytes) {
    assert(slots->body_bytes >= bytes);
    slots->body_bytes -= bytes;
    wake_first(slots);
}
