/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Reads what a handler writes, always, so that it never blocks; passes on lines within limits
 * and counts the bytes of the rest.
 */
#pragma once

#include "loop/loop.h"
#include "report/report.h"

enum {
    OUTPUT_LINE_BYTES = 1024, /* of one line; the rest of it is dropped */
    OUTPUT_RUN_LINES = 100,   /* of both streams of a run together */
    OUTPUT_RUN_BYTES = 16 * 1024,
};

/* The account of one run, shared by its two streams; or of a worker, from one request to the
 * next. Owned by the run, or the worker. */
struct output_account {
    struct report_subject *subject;
    struct entry_id id;
    const char *worker; /* its name, instead of the ID; NULL: it is a run's */
    size_t lines;       /* passed on so far */
    size_t bytes;
    uint64_t dropped;
};

/* The limits begin anew; what was dropped is told. */
void output_account_renew(struct output_account *account);

struct output;

/* Takes over fd (a pipe's non-blocking end), also when it fails. name ("stdout", "stderr") and
 * account are borrowed. `logged`: lines are passed on. */
MUST_CHECK int output_new(struct loop *loop, int fd, const char *name, bool logged,
                          struct output_account *account, struct output **ret);
struct output *output_free(struct output *output);

void output_start(struct output *output);

/* The writer has ended: takes what is in the pipe now, and the last line even without its
 * newline. Somebody else who still holds the pipe is not waited for. */
void output_finish(struct output *output);
