/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A window begins with the first record after the last window's end, not at fixed times, so that
 * a burst is never let through twice in a row.
 */
#include "limit.h"

bool limit_pass(struct limit *limit, const struct limit_rule *rule, usec_t now) {
    if (rule->burst == 0)
        return true;
    if (now >= limit->window_end) {
        limit->window_end = usec_add(now, rule->window);
        limit->passed = 0;
    }
    if (limit->passed >= rule->burst) {
        limit->held_back++;
        return false;
    }
    limit->passed++;
    return true;
}

uint64_t limit_take_held_back(struct limit *limit) {
    uint64_t n = limit->held_back;

    limit->held_back = 0;
    return n;
}
