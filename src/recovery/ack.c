/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * XACK for what the handler finished: variadic, once a turn of the loop, repeated until it is
 * answered. What it returns is what was acknowledged; the rest was not ours to acknowledge any
 * more. No ID is sent twice in one command, as no entry is twice in the ledger.
 */
#include "inside.h"

#include <stdlib.h>

/* The reply was lost with the connection, or the order was refused: it is kept and sent again. */
static void not_acked(struct recovery *r, struct held *held, bool unknown) {
    if (unknown)
        held->ack_repeated = true;
    held_enter(&r->ledger, held, HELD_DONE);
}

static void ack_account(struct recovery *r, const struct batch *batch, uint64_t acked) {
    struct held *first = NULL;

    for (size_t i = 0; i < batch->n && !first; i++)
        first = ledger_find(&r->ledger, batch->ids[i]);
    report_acked(r->subject, batch->ids, batch->n, acked, batch->repeated);
    recovery_unpend(r, acked);
    if (!first || !first->pass)
        return;
    first->pass->account.acked += acked;
    if (!batch->repeated && acked < batch->n)
        first->pass->account.ack_none += batch->n - acked;
}

static void ack_reply(void *data, const struct answer *answer, uint64_t acked) {
    struct batch *batch = data;
    struct recovery *r = batch->recovery;
    bool ok = recovery_answered(r, ORDER_XACK, answer);

    if (ok)
        ack_account(r, batch, acked);
    for (size_t i = 0; i < batch->n; i++) {
        struct held *held = ledger_find(&r->ledger, batch->ids[i]);

        if (!held || held->state != HELD_ACKING)
            continue;
        if (ok)
            settle(r, held, held->ack_missing ? SETTLED_MISSING : SETTLED_OK);
        else
            not_acked(r, held, answer->kind == ANSWER_UNKNOWN);
    }
    free(batch);
}

/* One command is of one pass, so that its integer can be booked, and either new or repeated. */
static void ack_collect(struct recovery *r, struct batch *batch) {
    const struct pass *pass = NULL;

    LEDGER_FOREACH (&r->ledger, HELD_DONE, held) {
        if (batch->n == BATCH_MAX)
            break;
        if (batch->n == 0) {
            pass = held->pass;
            batch->repeated = held->ack_repeated;
        }
        if (held->pass != pass || held->ack_repeated != batch->repeated)
            continue;
        batch->ids[batch->n++] = held->id;
        held_enter(&r->ledger, held, HELD_ACKING);
    }
}

void ack_pump(struct recovery *r) {
    while (ledger_first(&r->ledger, HELD_DONE) && !trouble_blocks(r, ORDER_XACK)) {
        struct batch *batch = batch_new(r);

        if (!batch)
            return;
        ack_collect(r, batch);
        if (!recovery_sent(
                r, command_xack(r->parts.link, &r->ref, batch->ids, batch->n, ack_reply, batch))) {
            for (size_t i = 0; i < batch->n; i++)
                not_acked(r, ledger_find(&r->ledger, batch->ids[i]), false);
            free(batch);
            return;
        }
    }
}
