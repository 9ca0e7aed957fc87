/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Keeps what report/ would have written: the tests' journal. Each record is one text of
 * "\nNAME=value" lines, so that a field is found by strstr(3).
 */
#pragma once

#include "unit.h"

#include "base/clock.h"
#include "report/log.h"
#include "report/sink.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <syslog.h>

#define CAPTURED_MAX 600

struct captured {
    int priority;
    char *sentence;
    char *fields; /* starts and ends with a newline */
    size_t n_fields;
};

static struct {
    struct captured records[CAPTURED_MAX];
    size_t n;
} journal;

static void capture_record(void *data, int priority, const char *sentence,
                           const struct iovec *fields, size_t n) {
    struct captured *record = &journal.records[journal.n++];
    size_t size = 2;

    assert_true(journal.n <= CAPTURED_MAX);
    for (size_t i = 0; i < n; i++)
        size += fields[i].iov_len + 1;
    char *at = record->fields = malloc(size);
    assert_non_null(at);
    *at++ = '\n';
    for (size_t i = 0; i < n; i++) {
        memcpy(at, fields[i].iov_base, fields[i].iov_len);
        at += fields[i].iov_len;
        *at++ = '\n';
    }
    *at = '\0';
    record->priority = priority;
    record->sentence = strdup(sentence);
    record->n_fields = n;
}

static inline void capture_clear(void) {
    while (journal.n > 0) {
        free(journal.records[--journal.n].fields);
        free(journal.records[journal.n].sentence);
    }
}

static inline int capture_begin(void **state) {
    log_capture(capture_record, NULL);
    log_set_level(LOG_DEBUG);
    clock_test_set(1000 * USEC_PER_SEC, 1000 * USEC_PER_SEC);
    return 0;
}

static inline int capture_end(void **state) {
    capture_clear();
    log_capture(NULL, NULL);
    log_set_level(LOG_INFO);
    clock_test_release();
    return 0;
}

static inline const struct captured *captured_last(void) {
    assert_true(journal.n > 0);
    return &journal.records[journal.n - 1];
}

/* Does the record have the field with this value ("NAME=value")? How often? */
static inline size_t captured_count(const struct captured *record, const char *field) {
    char line[512];
    size_t n = 0;

    (void)snprintf(line, sizeof(line), "\n%s\n", field);
    for (const char *p = record->fields; (p = strstr(p, line)); p++)
        n++;
    return n;
}

#define assert_field(record, field) assert_int_equal(captured_count((record), (field)), 1)
#define assert_said(text) assert_string_equal(captured_last()->sentence, (text))
