/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Stands in for the reports of a link and keeps what was said last.
 */
#pragma once

struct report_stub {
    unsigned states, ups, downs, faults;
    char moves[2048]; /* "down>resolving resolving>connecting ..." */
    char tried[256];  /* numeric addresses of the connects, "-" where the url has no name */
    char brand[64];
    char version[64];
    char reason[256];
    char word[64];
    char fault[256];
    unsigned long long outage;
};

extern struct report_stub report_stub;
void report_stub_reset(void);
