/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What report/ itself uses of the sink (report/log.h is what the others see).
 */
#pragma once

#include "base/error.h"
#include <stdbool.h>
#include <stddef.h>
#include <sys/uio.h>

/* One line on standard error is at most this long, prefix and newline included; below PIPE_BUF,
 * so that a line is written whole or not at all. */
#define LOG_LINE_MAX 2080

/* Would a record of this priority be written? Asked before anything is built. */
bool log_wanted(int priority);

/* Writes one record. fields: "NAME=value" each, the journal's; sentence: one printable line, for
 * everybody else. */
void log_write(int priority, const char *sentence, const struct iovec *fields, size_t n);

enum log_form {
    LOG_FORM_PREFIXED, /* "<4>sentence": journald and others read the level */
    LOG_FORM_TERMINAL, /* "warning: sentence" */
};

/* The line for standard error, with its newline; cut if it must be. Returns its length. */
size_t log_line(enum log_form form, int priority, const char *sentence, char line[LOG_LINE_MAX]);

/* Tests only: records go here instead; NULL ends that. */
typedef void (*log_capture_callback)(void *data, int priority, const char *sentence,
                                     const struct iovec *fields, size_t n);
void log_capture(log_capture_callback callback, void *data);
