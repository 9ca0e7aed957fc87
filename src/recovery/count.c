/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The counters of what was just claimed: one XPENDING a page, filtered by our consumer, off the
 * critical path. JUSTID neither raises nor returns them.
 *
 * The answer is paged: entries under our name that we never heard of (a claim whose answer was
 * lost) lie between those that were asked for.
 */
#include "inside.h"

#include <stdlib.h>

/* Of an answer; few IDs may be asked for across many of those others. */
#define PAGE BATCH_MAX

static void counted_one(struct recovery *r, const struct pending_entry *entry) {
    struct held *held = ledger_find(&r->ledger, entry->id);
    const struct memory_item *item;

    if (!held || held->state != HELD_COUNTING)
        return;
    held->deliveries = entry->deliveries;
    held->counted = true;
    item = memory_find(&r->memory, held->id);
    if (item && item->what == MEMORY_REJECTED)
        bury(r, held, true, item->reason ? item->reason : "rejected by its handler");
    else if (bury_is_over(r, held->deliveries))
        bury(r, held, false, NULL);
    else
        held_enter(&r->ledger, held, HELD_READY);
}

/* What was asked for and not in the answer: nobody knows why, so it is asked for by itself. */
static void uncounted(struct recovery *r, const struct batch *batch, bool again) {
    for (size_t i = 0; i < batch->n; i++) {
        struct held *held = ledger_find(&r->ledger, batch->ids[i]);

        if (!held || held->state != HELD_COUNTING)
            continue;
        if (again)
            held_enter(&r->ledger, held, HELD_CLAIMED);
        else
            ask_about(r, held);
    }
}

static int count_send(struct recovery *r, struct batch *batch, struct entry_id first,
                      bool after_first);

static void count_reply(void *data, const struct answer *answer,
                        const struct pending_entry *entries, size_t n) {
    struct batch *batch = data;
    struct recovery *r = batch->recovery;
    struct entry_id last = batch->ids[batch->n - 1];
    bool ok = recovery_answered(r, ORDER_XPENDING, answer);

    for (size_t i = 0; ok && i < n; i++)
        counted_one(r, &entries[i]);
    if (ok && n >= PAGE && entry_id_compare(entries[n - 1].id, last) < 0 &&
        count_send(r, batch, entries[n - 1].id, true))
        return;
    uncounted(r, batch, !ok);
    free(batch);
}

static int count_send(struct recovery *r, struct batch *batch, struct entry_id first,
                      bool after_first) {
    const struct pending_range range = {
        .first = first,
        .last = batch->ids[batch->n - 1],
        .after_first = after_first,
        .count = PAGE,
        .only_ours = true,
    };
    return recovery_sent(
        r, command_xpending_range(r->parts.link, &r->ref, &range, count_reply, batch));
}

static int compare_ids(const void *a, const void *b) {
    return entry_id_compare(*(const struct entry_id *)a, *(const struct entry_id *)b);
}

void count_pump(struct recovery *r) {
    while (ledger_first(&r->ledger, HELD_CLAIMED) && !trouble_blocks(r, ORDER_XPENDING)) {
        struct batch *batch = batch_new(r);

        if (!batch)
            return;
        LEDGER_FOREACH (&r->ledger, HELD_CLAIMED, held) {
            if (batch->n == BATCH_MAX)
                break;
            if (!time_guard_looked_since(r, held->claimed))
                continue; /* the answer wakes the pump */
            batch->ids[batch->n++] = held->id;
            held_enter(&r->ledger, held, HELD_COUNTING);
        }
        if (batch->n == 0) {
            free(batch);
            return;
        }
        qsort(batch->ids, batch->n, sizeof(batch->ids[0]), compare_ids);
        if (!count_send(r, batch, batch->ids[0], false)) {
            uncounted(r, batch, true);
            free(batch);
            return;
        }
    }
}
