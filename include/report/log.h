/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Where records go: the journal when standard error is the journal ($JOURNAL_STREAM), plain
 * lines on a terminal, lines with a "<N>" prefix otherwise. Chosen once at start.
 *
 * This is the sink. What happened is said through report/report.h; nothing else in the program
 * writes to standard error once the daemon runs.
 */
#pragma once

#include "base/error.h"

/* Also sets SIGPIPE to be ignored: a reader that went away must not end the daemon. */
void log_open(void);
void log_close(void);
/* Records of a less important priority than this (syslog(3)) are dropped. */
void log_set_level(int priority);
int log_level(void);
