/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Stands in for what handlers report: keeps the lines and counts the dropped bytes.
 */
#pragma once

#include "report/report.h"

enum { STUB_LINES = 1024 };

struct report_stub {
    char *streams[STUB_LINES]; /* "stdout" or "stderr" */
    char *lines[STUB_LINES];
    size_t n;
    struct entry_id id; /* of the last record */
    uint64_t dropped;
    size_t dropped_records;
    size_t workers_up;
    size_t workers_ended;
    void (*on_line)(void *data);
    void *data;
};

extern struct report_stub report_stub;
void report_stub_reset(void);
