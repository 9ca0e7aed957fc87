/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The end of a held entry: out of the ledger and into its pass's account.
 */
#include "inside.h"

#include <assert.h>
#include <stdlib.h>

void settle_pass_close(struct recovery *r, struct pass *pass) {
    if (!pass_close(pass))
        return;
    pass->account.duration = usec_sub(clock_monotonic(), pass->begun);
    pass->account.in_trouble = r->trouble.kind != TROUBLE_NONE;
    report_pass(r->subject, &pass->account);
    pass_sum(&r->total, &pass->account);
    r->passes++;
    if (pass->account.claimed > 0 || pass->account.deleted > 0) {
        r->last_pass = pass->account;
        r->last_pass_at = clock_monotonic();
        recovery_changed(r);
    }
    free(pass);
}

void settle(struct recovery *r, struct held *held, enum settled how) {
    struct pass *pass = TAKE(held->pass);

    if (held->state == HELD_ATTEMPTING)
        attempt_give_slot(r, held);
    held_enter(&r->ledger, held, HELD_SETTLED);
    ledger_remove(&r->ledger, held);
    if (ledger_size(&r->ledger) == 0) {
        timer_disarm(r->keeper);
        link_unhold(r->parts.link);
    }
    pass_settle(pass, how);
    settle_pass_close(r, pass);
    recovery_wake(r);
}

void settle_all_void(struct recovery *r) {
    LEDGER_FOREACH_ALL (&r->ledger, held) {
        held->void_result = true;
        if (held->state == HELD_LOST)
            continue;
        report_lost(r->subject, held->id, "its stream or group is gone");
        if (held->state == HELD_HANDLING)
            held_enter(&r->ledger, held, HELD_LOST);
        else
            settle(r, held, SETTLED_LOST);
    }
    memory_clear(&r->memory);
}
