/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * How often one kind of record may be written: so many in a window of time, the rest is counted.
 * Pure: the time comes in.
 */
#pragma once

#include "base/clock.h"
#include "base/error.h"
#include <stdbool.h>

struct limit_rule {
    uint64_t burst; /* 0: not limited */
    usec_t window;
};

/* All zeros at birth. */
struct limit {
    usec_t window_end;
    uint64_t passed;
    uint64_t held_back;
};

/* May a record be written now? If not, it is counted as held back. */
MUST_CHECK bool limit_pass(struct limit *limit, const struct limit_rule *rule, usec_t now);

/* How many were held back since the last time this was asked. */
uint64_t limit_take_held_back(struct limit *limit);
