/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * --once: a line for each recovery, and what they add up to.
 */
#include "inside.h"

#include <inttypes.h>
#include <stdio.h>
#include <utlist.h>

static enum daemon_exit summary_line(const struct recovery_facts *facts) {
    const struct report_pass *total = &facts->total;
    uint64_t given_up = total->rejected + total->exhausted;

    if (facts->trouble[0] != '\0') {
        (void)printf("%s: could not run: %s\n", facts->settings->name, facts->trouble);
        return EXIT_STATUS_UNAVAILABLE;
    }
    (void)printf("%s: %" PRIu64 " claimed, %" PRIu64 " acked, %" PRIu64 " failed, %" PRIu64
                 " rejected, %" PRIu64 " exhausted, %" PRIu64 " dead-lettered, %" PRIu64
                 " missing, %" PRIu64 " lost, %" PRIu64 " deferred, %" PRIu64 " released, %" PRIu64
                 " deleted",
                 facts->settings->name, total->claimed, total->acked, total->failed,
                 total->rejected, total->exhausted, total->dead_lettered, total->missing,
                 total->lost, total->deferred, total->released, total->deleted);
    if (facts->settings->handler == HANDLER_MOVE)
        (void)printf(", %" PRIu64 " moved", total->moved);
    if (facts->settings->handler == HANDLER_CLAIM_ONLY)
        (void)printf(", %" PRIu64 " handed over", total->handed_over);
    (void)putchar('\n');
    /* What has a dead letter is not left. */
    if (total->failed + total->missing > 0 || given_up > total->dead_lettered)
        return EXIT_STATUS_LEFT;
    return EXIT_STATUS_OK;
}

enum daemon_exit once_summary(const struct daemon *d) {
    enum daemon_exit worst = EXIT_STATUS_OK;
    const struct member *member;

    DL_FOREACH (d->members, member) {
        struct recovery_facts facts;
        enum daemon_exit one;

        recovery_facts(member->recovery, &facts);
        one = summary_line(&facts);
        worst = one > worst ? one : worst;
    }
    return worst;
}
