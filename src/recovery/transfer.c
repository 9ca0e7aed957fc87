/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * `move`: one script a page claims, copies and acknowledges inside the server. Nothing is held, so
 * there is nothing to keep, to count or to ask about; whatever happens to an answer, each entry is
 * pending here or copied there, once.
 *
 * A script that the server carries out late (it was stopped, or its clock jumped) would take what
 * others are still handling and could not acknowledge: it is given the latest time of the server's
 * clock at which it may begin.
 */
#include "inside.h"

#include "redis/script.h"
#include <string.h>

uint64_t transfer_next_count(uint64_t asked, uint64_t done, bool cut, usec_t spent) {
    uint64_t next = asked;

    if (cut)
        next = done;
    else if (spent > 0)
        next = asked * TRANSFER_BUDGET / spent < 2 * asked ? asked * TRANSFER_BUDGET / spent
                                                           : 2 * asked;
    return next > 0 ? next : 1;
}

static uint64_t next_count(const struct recovery *r) {
    uint64_t count = r->transfer.count > 0 ? r->transfer.count : TRANSFER_COUNT_FIRST;

    /* In trouble one entry at a time is tried. */
    if (r->trouble.kind != TROUBLE_NONE)
        return 1;
    return count < r->settings->count ? count : r->settings->count;
}

/* What the server's clock shows when the order has been under way for as long as any may be. */
static uint64_t latest(const struct recovery *r, usec_t now) {
    const struct time_guard *guard = &r->time_guard;

    if (!guard->known)
        return 0;
    return guard->server + usec_sub(now, guard->sent) + r->settings->min_idle / 4;
}

/* Since Redis 7.2 the clock stands still in a script: then what the answer took longer than that to
 * the look at the clock just before. */
static usec_t time_spent(const struct recovery *r, const struct answer *answer,
                         const struct move_answer *page) {
    const struct time_guard *guard = &r->time_guard;

    if (page->spent > 0)
        return page->spent;
    return 1 + usec_sub(usec_sub(answer->answered, answer->sent),
                        usec_sub(guard->answered, guard->sent));
}

static void take_large(struct recovery *r, const struct move_answer *page) {
    for (size_t i = 0; i < page->n_large; i++)
        if (told_first(&r->told, page->large[i]))
            report_exhausted(r->subject, page->large[i], page->large_deliveries[i],
                             "more fields than a script can copy to target_stream");
}

static void take_account(struct pass *pass, const struct move_answer *page, uint64_t claimed) {
    pass->account.pages++;
    pass->account.claimed += claimed;
    pass->account.deleted += page->n_deleted;
    pass->account.acked += page->acked;
    pass_settle_many(pass, SETTLED_MOVED, page->moved);
    pass_settle_many(pass, SETTLED_MISSING, page->n_missing);
    pass_settle_many(pass, SETTLED_EXHAUSTED, page->n_large);
    pass_settle_many(pass, SETTLED_DEFERRED, page->left);
}

static void page_take(struct recovery *r, const struct answer *answer,
                      const struct move_answer *page) {
    uint64_t done = page->moved + page->n_missing + page->n_large;

    report_page(r->subject, &(struct report_page){
                                .cursor = r->scan.cursor,
                                .cursor_next = page->cursor,
                                .claimed = done + page->left,
                                .deleted = page->n_deleted,
                            });
    if (page->n_deleted > 0)
        report_deleted(r->subject, page->deleted, page->n_deleted);
    for (size_t i = 0; i < page->n_missing; i++)
        report_missing(r->subject, page->missing[i], r->settings->missing == MISSING_ACK);
    take_large(r, page);
    report_moved(r->subject, page->moved, page->acked, r->settings->target_stream);
    recovery_unpend(r, page->acked);
    if (r->scan.active)
        take_account(r->scan.pass, page, done + page->left);
    if (!page->late && page->left == 0)
        r->transfer.count =
            transfer_next_count(r->transfer.asked, done, page->cut, time_spent(r, answer, page));
}

/* What an answer proves. */
static enum order proved(struct recovery *r, const struct answer *answer,
                         const struct move_answer *page) {
    struct transfer *t = &r->transfer;

    if (answer->kind != ANSWER_OK) {
        t->needs_entry = t->needs_entry || (page && page->left > 0);
        return ORDER_MOVE;
    }
    if (page->late)
        return ORDER_NONE;
    if (page->moved > 0)
        t->needs_entry = false;
    return t->needs_entry ? ORDER_XAUTOCLAIM : ORDER_MOVE;
}

static void move_reply(void *data, const struct answer *answer, const struct move_answer *page) {
    struct recovery *r = data;

    r->scan.out = false;
    if (page)
        page_take(r, answer, page);
    if (!recovery_answered(r, proved(r, answer, page), answer) || !r->scan.active) {
        scan_stop_if_over(r);
        return;
    }
    r->time_guard.refused = false; /* the script could call TIME */
    if (page->late)
        time_guard_look(r);
    scan_page_done(r, page->cursor, page->at_end && !page->late);
}

void transfer_page_begin(struct recovery *r, usec_t min_idle) {
    const struct recovery_settings *s = r->settings;
    const struct move_order order = {
        .target = s->target_stream,
        .maxlen = s->target_maxlen,
        .recovery = s->name,
        .min_idle = min_idle,
        .cursor = r->scan.cursor,
        .count = next_count(r),
        .ack_missing = s->missing == MISSING_ACK,
        .budget = TRANSFER_BUDGET,
        .latest = latest(r, clock_boottime()),
    };

    r->transfer.asked = order.count;
    r->scan.out = recovery_sent(r, script_move(r->parts.link, &r->ref, &order, move_reply, r));
}
