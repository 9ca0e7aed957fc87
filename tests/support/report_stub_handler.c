/* SPDX-License-Identifier: BSD-3-Clause */
#include "report_stub_handler.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

struct report_stub report_stub;

void report_stub_reset(void) {
    for (size_t i = 0; i < report_stub.n; i++) {
        free(report_stub.streams[i]);
        free(report_stub.lines[i]);
    }
    memset(&report_stub, 0, sizeof(report_stub));
}

void report_handler_output_(struct report_place place, struct report_subject *subject,
                            struct entry_id id, const char *stream, const char *line) {
    assert(report_stub.n < STUB_LINES);
    report_stub.streams[report_stub.n] = strdup(stream);
    report_stub.lines[report_stub.n++] = strdup(line);
    report_stub.id = id;
    if (report_stub.on_line)
        report_stub.on_line(report_stub.data);
}

void report_output_dropped_(struct report_place place, struct report_subject *subject,
                            struct entry_id id, uint64_t bytes) {
    report_stub.dropped += bytes;
    report_stub.dropped_records++;
    report_stub.id = id;
}

void report_worker_up_(struct report_place place, struct report_subject *subject,
                       const char *worker) {
    report_stub.workers_up++;
}

void report_worker_ended_(struct report_place place, struct report_subject *subject,
                          const char *worker, const char *reason, size_t held) {
    report_stub.workers_ended++;
}

void report_worker_output_(struct report_place place, struct report_subject *subject,
                           const char *worker, const char *stream, const char *line) {
    report_handler_output_(place, subject, (struct entry_id){0}, stream, line);
}

void report_worker_dropped_(struct report_place place, struct report_subject *subject,
                            const char *worker, uint64_t bytes) {
    report_output_dropped_(place, subject, (struct entry_id){0}, bytes);
}
