/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Pages of `move`: how many entries the next one asks for, so that the server is kept from others
 * for about TRANSFER_BUDGET at a time. Pure.
 */
#pragma once

#include "base/clock.h"
#include <stdbool.h>

/* The script ends its page behind the entry with which this is over; what it does besides makes
 * that about 2 ms. */
#define TRANSFER_BUDGET (1500 * (usec_t)1)
/* Before anything was measured. */
#define TRANSFER_COUNT_FIRST 8

struct transfer {
    uint64_t count;   /* of the next page; 0: nothing was measured */
    uint64_t asked;   /* of the page that is out */
    bool needs_entry; /* it was refused when it had one: only with one can that be over */
};

/* spent 0: not known.
 * A page of `asked` entries dealt with `done` in `spent`; cut: and stopped there. */
uint64_t transfer_next_count(uint64_t asked, uint64_t done, bool cut, usec_t spent);
