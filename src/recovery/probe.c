/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The end of an absence: a claim that can take nothing, to see that the server carries out
 * writes again, and in time.
 */
#include "inside.h"

/* No entry can be idle for so long. */
#define UNREACHABLE_MIN_IDLE ((usec_t)900000000000000 * USEC_PER_MSEC)

static void probe_reply(void *data, const struct answer *answer,
                        const struct autoclaim_answer *page) {
    struct recovery *r = data;

    r->probe_out = false;
    if (!recovery_answered(r, ORDER_XAUTOCLAIM, answer))
        return;
    /* It claims nothing, but like any XAUTOCLAIM it drops what was deleted. */
    if (page->n_deleted > 0)
        report_deleted(r->subject, page->deleted, page->n_deleted);
}

void probe_pump(struct recovery *r) {
    /* What is refused for now is tried when its time has come, not by two orders in turn. */
    if (r->trouble.kind == TROUBLE_TRANSIENT && !r->retrying)
        return;
    if (!away_now(&r->away) || r->probe_out || r->state == RECOVERY_DRAINING ||
        trouble_blocks(r, ORDER_XAUTOCLAIM) || trouble_blocks(r, ORDER_ANY_WRITE) ||
        trouble_blocks(r, ORDER_XPENDING))
        return;
    r->probe_out = recovery_sent(r, command_xautoclaim(r->parts.link, &r->ref, UNREACHABLE_MIN_IDLE,
                                                       "0-0", 1, probe_reply, r));
}
