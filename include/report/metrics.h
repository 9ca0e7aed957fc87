/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Counters of one recovery since the start of the process. Incremented where the event happens
 * (inside report/), read by whoever shows them.
 */
#pragma once

#include <stdint.h>

struct recovery_counters {
    uint64_t passes;
    uint64_t pages;
    uint64_t claimed;
    uint64_t deleted;
    uint64_t missing;
    uint64_t attempts_ok;
    uint64_t attempts_retry;
    uint64_t attempts_reject;
    uint64_t dead_lettered;
    uint64_t acked;
    uint64_t ack_none;
    uint64_t ack_unknown;
    uint64_t lost;
    uint64_t released;
    uint64_t moved;
    uint64_t handed_over;
    uint64_t renewals; /* IDs renewed */
};
