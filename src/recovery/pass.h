/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The account of one pass: a scan and the settling of all that it claimed. Open while its scan
 * goes on or an entry of it is held; then it balances, is reported and freed. Several may be
 * open at once, never more than there are held entries, and one.
 */
#pragma once

#include "base/error.h"
#include "report/report.h"

enum settled {
    SETTLED_OK,
    SETTLED_FAILED,
    SETTLED_REJECTED,
    SETTLED_EXHAUSTED,
    SETTLED_DEFERRED, /* left for a later scan: already in hand, or not trusted to be ours */
    SETTLED_MISSING,
    SETTLED_LOST,
    SETTLED_RELEASED,
    SETTLED_MOVED,       /* copied and acknowledged */
    SETTLED_HANDED_OVER, /* the user's application has it now */
    _SETTLED_MAX,
};

struct pass {
    struct report_pass account;
    usec_t begun; /* CLOCK_MONOTONIC */
    size_t open;  /* the scan, and each held entry of it */
};

MUST_CHECK int pass_new(usec_t now, struct pass **ret);
void pass_settle(struct pass *pass, enum settled how);
void pass_settle_many(struct pass *pass, enum settled how, uint64_t n);
/* What became of one of its entries is told to the account; true when that was the last. */
bool pass_close(struct pass *pass);
/* Adds one account to another. */
void pass_sum(struct report_pass *total, const struct report_pass *account);
