/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * `claim-only`: what a scan claims is the user's consumer's from then on. Nothing is held, renewed,
 * counted or acknowledged.
 *
 * With a worklist the IDs of a page are pushed there before the next page is asked for, until that
 * is answered: each at least once, and not before the look at the server's clock behind the page.
 * What is not pushed when the daemon ends is claimed again when it
 * has been idle for min_idle, and pushed then.
 */
#include "inside.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static void handed_over(struct recovery *r, struct pass *pass, const struct entry_id *ids,
                        size_t n) {
    report_handed_over(r->subject, ids, n, r->settings->worklist);
    pass_settle_many(pass, SETTLED_HANDED_OVER, n);
}

void claim_only_take(struct recovery *r, const struct entry_id *ids, size_t n, usec_t sent) {
    struct handover *handover = &r->handover;

    if (n == 0)
        return;
    if (!r->settings->worklist) {
        handed_over(r, r->scan.pass, ids, n);
        return;
    }
    handover->ids = malloc(n * sizeof(*ids));
    if (!handover->ids) {
        loop_fail(r->parts.loop, -ENOMEM);
        pass_settle_many(r->scan.pass, SETTLED_DEFERRED, n);
        return;
    }
    memcpy(handover->ids, ids, n * sizeof(*ids));
    handover->n = n;
    handover->claimed = sent;
    handover->pass = r->scan.pass;
    handover->pass->open++;
}

static void handover_end(struct recovery *r) {
    struct pass *pass = r->handover.pass;

    free(r->handover.ids);
    r->handover = (struct handover){0};
    settle_pass_close(r, pass);
}

void claim_only_drop(struct recovery *r) {
    if (!r->handover.ids)
        return;
    pass_settle_many(r->handover.pass, SETTLED_DEFERRED, r->handover.n);
    handover_end(r);
}

static void pushed(void *data, const struct answer *answer, uint64_t length) {
    struct recovery *r = data;
    struct handover *handover = &r->handover;

    handover->out = false;
    if (!recovery_answered(r, ORDER_RPUSH, answer))
        return; /* it is kept and pushed again */
    handed_over(r, handover->pass, handover->ids, handover->n);
    handover_end(r);
}

void claim_only_pump(struct recovery *r) {
    struct handover *handover = &r->handover;

    if (!handover->ids || handover->out || trouble_blocks(r, ORDER_RPUSH) ||
        !time_guard_looked_since(r, handover->claimed))
        return;
    handover->out = recovery_sent(r, command_rpush_ids(r->parts.link, r->settings->worklist,
                                                       handover->ids, handover->n, pushed, r));
}
