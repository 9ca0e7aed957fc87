/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The reports of a link, recorded instead of written.
 */
#include "report_stub.h"

#include "report/report.h"

#include <stdio.h>
#include <string.h>

struct report_stub report_stub;

void report_stub_reset(void) {
    report_stub = (struct report_stub){0};
}

void report_link_state_(struct report_place place, const char *redis, const char *address,
                        const char *from, const char *to) {
    (void)place;
    (void)redis;
    size_t used = strlen(report_stub.tried);
    if (strcmp(to, "connecting") == 0)
        (void)snprintf(report_stub.tried + used, sizeof(report_stub.tried) - used, "%s%s",
                       used ? " " : "", *address ? address : "-");
    size_t n = strlen(report_stub.moves);
    report_stub.states++;
    (void)snprintf(report_stub.moves + n, sizeof(report_stub.moves) - n, "%s%s>%s", n ? " " : "",
                   from, to);
}

void report_link_up_(struct report_place place, const char *redis, const char *brand,
                     const char *version, usec_t outage) {
    (void)place;
    (void)redis;
    report_stub.ups++;
    report_stub.outage = outage;
    (void)snprintf(report_stub.brand, sizeof(report_stub.brand), "%s", brand);
    (void)snprintf(report_stub.version, sizeof(report_stub.version), "%s", version);
}

void report_link_down_(struct report_place place, const char *redis, const char *reason,
                       const char *error_word) {
    (void)place;
    (void)redis;
    report_stub.downs++;
    (void)snprintf(report_stub.reason, sizeof(report_stub.reason), "%s", reason);
    (void)snprintf(report_stub.word, sizeof(report_stub.word), "%s", error_word ? error_word : "");
}

void report_server_fault_(struct report_place place, const char *redis, const char *version,
                          const char *fault) {
    (void)place;
    (void)redis;
    (void)version;
    report_stub.faults++;
    (void)snprintf(report_stub.fault, sizeof(report_stub.fault), "%s", fault);
}
