/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What a handler of the torture run writes down, one write(2) to a file that all append to.
 * tests/support/oracle.py reads it: RECORD there has the same fields.
 */
#pragma once

#include <stdint.h>

enum ledger_kind { LEDGER_BEGIN, LEDGER_END };

/* END: what the handler is about to tell by its exit status or its death. */
enum ledger_outcome {
    LEDGER_NONE,
    LEDGER_OK,
    LEDGER_RETRY,
    LEDGER_REJECT,
    LEDGER_CRASH,
    LEDGER_STOPPED, /* SIGTERM came first */
};

struct ledger_record {
    uint64_t usec; /* CLOCK_BOOTTIME */
    uint64_t id_ms;
    uint64_t id_seq;
    uint64_t deliveries;
    uint32_t pid;
    uint32_t parent; /* one life of one daemon */
    uint8_t kind;
    uint8_t outcome;
    char daemon[22]; /* its name, ends with a zero byte */
};
_Static_assert(sizeof(struct ledger_record) == 64, "the layout that oracle.py reads");
