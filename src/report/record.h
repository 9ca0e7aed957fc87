/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * One record in the making: the sentence that people read and the fields that the journal keeps.
 * Lives on the stack, allocates nothing, grows to fixed limits.
 *
 *   if (!record_begin(&record, EVENT_X, place))
 *       return;                         nobody wants it: nothing is built
 *   record_say(&record, "...", ...);    printable pieces only
 *   record_text(&record, FIELD_Y, ...);
 *   record_send(&record);
 */
#pragma once

#include "events.h"
#include "report/report.h"
#include <limits.h>
#include <sys/uio.h>

#define RECORD_SENTENCE_MAX 2048
#define RECORD_IDS_MAX 400
/* libsystemd hands each field to the kernel as two pieces and fails above IOV_MAX of them. */
#define RECORD_FIELDS_MAX (48 + RECORD_IDS_MAX)
_Static_assert(2 * RECORD_FIELDS_MAX + 8 <= IOV_MAX, "the journal takes all fields of a record");

struct record {
    enum event event;
    int priority;
    size_t said;
    size_t n;
    size_t used;
    char message[sizeof("MESSAGE=") + RECORD_SENTENCE_MAX];
    char text[4096 + RECORD_IDS_MAX * (sizeof("ENTRY_ID=") + ENTRY_ID_TEXT_MAX)];
    struct iovec fields[RECORD_FIELDS_MAX];
};

/* False: its level is not wanted. */
MUST_CHECK bool record_begin(struct record *record, enum event event, struct report_place place);
/* The same at another level than the table's. */
MUST_CHECK bool record_begin_at(struct record *record, enum event event, int priority,
                                struct report_place place);

/* Adds to the sentence. Every %s is printable and bounded (wording.h). */
void record_say(struct record *record, const char *format, ...) PRINTF_LIKE(2, 3);
/* Adds foreign text of any length, made printable and cut where the sentence is full. */
void record_say_plain(struct record *record, const char *text);
/* Adds "1-0, 2-0 and 7 more". */
void record_say_ids(struct record *record, const struct entry_id *ids, size_t n);

/* Adds a field that the row of the event lists. Text is made printable and cut. */
void record_text(struct record *record, enum field field, const char *value);
void record_number(struct record *record, enum field field, uint64_t value);
/* The first RECORD_IDS_MAX of them. */
void record_ids(struct record *record, const struct entry_id *ids, size_t n);
/* A whole "NAME=value" that outlives the record. */
void record_borrow(struct record *record, enum field field, struct iovec whole);

void record_send(struct record *record);
