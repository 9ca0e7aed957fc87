/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What `status` answers: plain numbers and words, as JSON for machines and as a table for people.
 *
 * Whoever fills it in borrows its strings to it; what was read from JSON owns them
 * (status_read_free()). Times are ages and waits, not clocks: the reader has other ones.
 */
#pragma once

#include "base/clock.h"
#include "base/error.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

enum status_number {
    STATUS_CLAIMED,
    STATUS_OK,
    STATUS_FAILED,
    STATUS_REJECTED,
    STATUS_EXHAUSTED,
    STATUS_DEFERRED,
    STATUS_MISSING,
    STATUS_LOST,
    STATUS_RELEASED,
    STATUS_MOVED,
    STATUS_HANDED_OVER,
    STATUS_DELETED,
    STATUS_DEAD_LETTERED,
    STATUS_ACKED,
    _STATUS_NUMBER_MAX,
};
const char *status_number_to_string(enum status_number number);

struct status_recovery {
    const char *name;
    const char *state;
    const char *trouble; /* "": none */
    const char *stream;
    const char *group;
    const char *consumer;
    const char *redis; /* NAME of its [redis]; "" */
    uint64_t pending;
    usec_t oldest; /* age of the oldest pending ID; USEC_INFINITY: none, or no time stamp */
    uint64_t held;
    uint64_t running;
    usec_t next_scan; /* from now; USEC_INFINITY: it waits for something else, or scans now */
    usec_t last_pass; /* so long ago ended the last one that found something; USEC_INFINITY: none */
    uint64_t last[_STATUS_NUMBER_MAX]; /* of that pass */
    uint64_t total[_STATUS_NUMBER_MAX];
    uint64_t passes;
};

struct status_server {
    const char *name; /* "" for the unnamed section */
    const char *address;
    const char *state;
    const char *trouble;
    uint64_t recoveries;
};

struct control_status {
    const char *version;
    const char *sentence; /* as systemd is told */
    uint64_t pid;
    usec_t up; /* since the start */
    struct status_recovery *recoveries;
    size_t n_recoveries;
    struct status_server *servers;
    size_t n_servers;
};

/* Writes the JSON and a newline; indented where it is for people. -ENOMEM. */
MUST_CHECK int status_write(const struct control_status *status, FILE *out);

/* STATUS_E_BAD: it is not what status_write() writes. */
struct status_read;
enum { STATUS_E_BAD = 1 };
MUST_CHECK int status_read(const char *text, struct status_read **ret);
struct status_read *status_read_free(struct status_read *read);
const struct control_status *status_read_get(const struct status_read *read);

/* The table. */
void status_print(const struct control_status *status, FILE *out);

/* One line a recovery, for logs: "orders resting pending=3 ...". */
void status_print_line(const struct status_recovery *recovery, FILE *out);

/* The age of an ID whose first part is a time stamp; USEC_INFINITY where it cannot be one. Both in
 * unix milliseconds. */
usec_t status_age(uint64_t id_ms, uint64_t now_ms);
