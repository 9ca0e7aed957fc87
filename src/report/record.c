/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Assembles the sentence and the fields; log_write() is the only way out.
 */
#include "record.h"

#include "sink.h"
#include "wording.h"
#include <assert.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#define IDENTIFIER "xautoclaimd"
#define IDS_SAID_MAX 5

/* MESSAGE comes first; its length is known at the end. */
#define MESSAGE_AT 0
#define PREFIX "MESSAGE="

static char *sentence(struct record *record) {
    return record->message + strlen(PREFIX);
}

/* The limits are such that everything fits; should that be wrong once, a field is left out
 * rather than cut. */
static void put(struct record *record, const char *name, const char *value) {
    size_t room = sizeof(record->text) - record->used;
    char *at = record->text + record->used;
    int n = snprintf(at, room, "%s=%s", name, value);

    if ((size_t)n >= room || record->n >= RECORD_FIELDS_MAX)
        return;
    record->fields[record->n++] = (struct iovec){at, (size_t)n};
    record->used += (size_t)n;
}

static void put_place(struct record *record, struct report_place place) {
    char line[16];

    (void)snprintf(line, sizeof(line), "%d", place.line);
    put(record, "CODE_FILE", wording_plain(place.file).text);
    put(record, "CODE_LINE", line);
    put(record, "CODE_FUNC", wording_plain(place.function).text);
}

bool record_begin_at(struct record *record, enum event event, int priority,
                     struct report_place place) {
    char level[8];

    if (!log_wanted(priority))
        return false;
    record->event = event;
    record->priority = priority;
    record->said = 0;
    record->used = 0;
    record->n = MESSAGE_AT + 1;
    memcpy(record->message, PREFIX, sizeof(PREFIX));
    (void)snprintf(level, sizeof(level), "%d", priority);
    put(record, "PRIORITY", level);
    put(record, "MESSAGE_ID", event_row(event)->message_id);
    put(record, "SYSLOG_IDENTIFIER", IDENTIFIER);
    put_place(record, place);
    return true;
}

bool record_begin(struct record *record, enum event event, struct report_place place) {
    return record_begin_at(record, event, event_row(event)->level, place);
}

void record_say(struct record *record, const char *format, ...) {
    size_t room = RECORD_SENTENCE_MAX - record->said;
    va_list arguments;
    int n;

    va_start(arguments, format);
    n = vsnprintf(sentence(record) + record->said, room, format, arguments);
    va_end(arguments);
    assert(n >= 0 && (size_t)n < room);
    record->said += (size_t)n < room ? (size_t)n : room - 1;
}

void record_say_plain(struct record *record, const char *text) {
    record->said +=
        wording_copy(text, sentence(record) + record->said, RECORD_SENTENCE_MAX - record->said);
}

void record_say_ids(struct record *record, const struct entry_id *ids, size_t n) {
    for (size_t i = 0; i < n && i < IDS_SAID_MAX; i++)
        record_say(record, "%s%s", i > 0 ? ", " : "", wording_id(ids[i]).text);
    if (n > IDS_SAID_MAX)
        record_say(record, " and %zu more", n - IDS_SAID_MAX);
}

static const char *listed(const struct record *record, enum field field) {
    assert(event_row(record->event)->fields & FIELD_BIT(field));
    return field_name(field);
}

void record_text(struct record *record, enum field field, const char *value) {
    put(record, listed(record, field), wording_plain(value).text);
}

void record_number(struct record *record, enum field field, uint64_t value) {
    char text[24];

    (void)snprintf(text, sizeof(text), "%" PRIu64, value);
    put(record, listed(record, field), text);
}

void record_ids(struct record *record, const struct entry_id *ids, size_t n) {
    const char *name = listed(record, FIELD_ENTRY_ID);

    for (size_t i = 0; i < n && i < RECORD_IDS_MAX; i++)
        put(record, name, wording_id(ids[i]).text);
}

void record_borrow(struct record *record, enum field field, struct iovec whole) {
    (void)listed(record, field);
    assert(record->n < RECORD_FIELDS_MAX);
    record->fields[record->n++] = whole;
}

void record_send(struct record *record) {
    record->fields[MESSAGE_AT] = (struct iovec){record->message, strlen(PREFIX) + record->said};
    log_write(record->priority, sentence(record), record->fields, record->n);
}
