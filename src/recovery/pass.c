/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Pass accounts.
 */
#include "pass.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>

int pass_new(usec_t now, struct pass **ret) {
    struct pass *pass = calloc(1, sizeof(*pass));

    if (!pass)
        return -ENOMEM;
    pass->begun = now;
    pass->open = 1;
    *ret = pass;
    return 0;
}

static uint64_t *column(struct report_pass *account, enum settled how) {
    switch (how) {
    case SETTLED_OK:
        return &account->ok;
    case SETTLED_FAILED:
        return &account->failed;
    case SETTLED_REJECTED:
        return &account->rejected;
    case SETTLED_EXHAUSTED:
        return &account->exhausted;
    case SETTLED_DEFERRED:
        return &account->deferred;
    case SETTLED_MISSING:
        return &account->missing;
    case SETTLED_LOST:
        return &account->lost;
    case SETTLED_RELEASED:
        return &account->released;
    case SETTLED_MOVED:
        return &account->moved;
    case SETTLED_HANDED_OVER:
        return &account->handed_over;
    case _SETTLED_MAX:
        break;
    }
    assert(false);
    return NULL;
}

void pass_settle_many(struct pass *pass, enum settled how, uint64_t n) {
    uint64_t *sum = column(&pass->account, how);

    if (sum)
        *sum += n;
}

void pass_settle(struct pass *pass, enum settled how) {
    pass_settle_many(pass, how, 1);
}

bool pass_close(struct pass *pass) {
    assert(pass->open > 0);
    return --pass->open == 0;
}

void pass_sum(struct report_pass *total, const struct report_pass *account) {
    total->pages += account->pages;
    total->claimed += account->claimed;
    total->ok += account->ok;
    total->failed += account->failed;
    total->rejected += account->rejected;
    total->exhausted += account->exhausted;
    total->deferred += account->deferred;
    total->missing += account->missing;
    total->lost += account->lost;
    total->released += account->released;
    total->moved += account->moved;
    total->handed_over += account->handed_over;
    total->deleted += account->deleted;
    total->dead_lettered += account->dead_lettered;
    total->acked += account->acked;
    total->ack_none += account->ack_none;
    total->duration += account->duration;
}
