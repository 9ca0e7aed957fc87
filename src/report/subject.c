/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Birth and death of a subject, and the beginning of each record about one.
 */
#include "subject.h"

#include "sink.h"
#include "wording.h"
#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A key may be of any length; a journal field that names it need not. */
#define NAME_KEPT_MAX 1024

_Static_assert(FIELD_RECOVERY == 0 && FIELD_CONSUMER == SUBJECT_NAMES - 1, "indexes of fields");

/* The raw name where the journal can show it, else its printable form. */
static char *name_field(enum field field, const char *name) {
    struct blob raw = {name, strlen(name)};
    char shown[NAME_KEPT_MAX];
    char *whole = NULL;
    bool clean = raw.size < sizeof(shown) && text_is_utf8(raw) && !text_has_control(name);

    if (asprintf(&whole, "%s=%s", field_name(field),
                 clean ? name : text_printable(raw, shown, sizeof(shown))) < 0)
        return NULL;
    return whole;
}

int report_subject_new(const char *recovery, const char *stream, const char *group,
                       const char *consumer, struct report_subject **ret) {
    const char *const names[SUBJECT_NAMES] = {recovery, stream, group, consumer};
    struct report_subject *subject = calloc(1, sizeof(*subject));

    if (!subject)
        return -ENOMEM;
    for (int i = 0; i < SUBJECT_NAMES; i++) {
        subject->fields[i] = name_field((enum field)i, names[i]);
        if (!subject->fields[i]) {
            (void)report_subject_free(subject);
            return -ENOMEM;
        }
    }
    *ret = subject;
    return 0;
}

struct report_subject *report_subject_free(struct report_subject *subject) {
    if (!subject)
        return NULL;
    subject_tell_held_back(subject, REPORT_HERE);
    for (int i = 0; i < SUBJECT_NAMES; i++)
        free(subject->fields[i]);
    free(subject);
    return NULL;
}

const struct recovery_counters *report_counters(const struct report_subject *subject) {
    return &subject->counters;
}

static const char *subject_name(const struct report_subject *subject, enum field field) {
    return subject->fields[field] + strlen(field_name(field)) + 1;
}

static const char *subject_recovery(const struct report_subject *subject) {
    return subject_name(subject, FIELD_RECOVERY);
}

const char *subject_consumer(const struct report_subject *subject) {
    return subject_name(subject, FIELD_CONSUMER);
}

static void put_names(const struct report_subject *subject, struct record *record) {
    for (int i = 0; i < SUBJECT_NAMES; i++)
        record_borrow(record, (enum field)i,
                      (struct iovec){subject->fields[i], strlen(subject->fields[i])});
    record_say(record, "%s: ", wording_name(subject_recovery(subject)).text);
}

/* At the level of what was held back: whoever would have read that reads this. */
static void tell_held_back(struct report_subject *subject, enum event event,
                           struct report_place place) {
    const struct event_row *row = event_row(event);
    uint64_t n = limit_take_held_back(&subject->limits[event]);
    struct record record;

    if (n == 0 || !record_begin_at(&record, EVENT_HELD_BACK, row->level, place))
        return;
    put_names(subject, &record);
    record_say(&record,
               "%" PRIu64 " more %s about %s %s held back: at most %" PRIu64 " in %s are logged", n,
               wording_plural(n, "record", "records"), row->about, wording_plural(n, "was", "were"),
               row->limit.burst, wording_duration(row->limit.window).text);
    record_number(&record, FIELD_HELD_BACK, n);
    record_text(&record, FIELD_HELD_BACK_EVENT, row->name);
    record_send(&record);
}

void subject_tell_held_back(struct report_subject *subject, struct report_place place) {
    for (int event = 0; event < _EVENT_MAX; event++)
        tell_held_back(subject, (enum event)event, place);
}

bool subject_begin(struct report_subject *subject, struct record *record, enum event event,
                   struct report_place place) {
    const struct event_row *row = event_row(event);

    if (!log_wanted(row->level))
        return false;
    if (!limit_pass(&subject->limits[event], &row->limit, clock_monotonic()))
        return false;
    tell_held_back(subject, event, place);
    if (!record_begin(record, event, place))
        return false;
    put_names(subject, record);
    return true;
}
