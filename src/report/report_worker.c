/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What is said about handlers that stay: worker processes, connections to a service.
 */
#include "subject.h"
#include "wording.h"

#include <inttypes.h>

static bool worker_begin(struct report_subject *subject, struct record *record, enum event event,
                         struct report_place place, const char *worker) {
    if (!subject_begin(subject, record, event, place))
        return false;
    record_say(record, "%s", wording_plain(worker).text);
    record_text(record, FIELD_WORKER, worker);
    return true;
}

void report_worker_up_(struct report_place place, struct report_subject *subject,
                       const char *worker) {
    struct record record;

    if (!worker_begin(subject, &record, EVENT_WORKER_UP, place, worker))
        return;
    record_say(&record, " is up");
    record_send(&record);
}

void report_worker_ended_(struct report_place place, struct report_subject *subject,
                          const char *worker, const char *reason, size_t held) {
    struct record record;

    if (!worker_begin(subject, &record, EVENT_WORKER_ENDED, place, worker))
        return;
    record_say(&record, ": %s", wording_plain(reason).text);
    if (held > 0)
        record_say(&record, "; it had not answered for %zu %s", held,
                   wording_plural(held, "entry", "entries"));
    record_text(&record, FIELD_REASON, reason);
    record_number(&record, FIELD_ENTRIES, held);
    record_send(&record);
}

void report_worker_output_(struct report_place place, struct report_subject *subject,
                           const char *worker, const char *stream, const char *line) {
    struct record record;

    if (!worker_begin(subject, &record, EVENT_WORKER_OUTPUT, place, worker))
        return;
    record_say(&record, ": %s: ", wording_plain(stream).text);
    record_say_plain(&record, line);
    record_text(&record, FIELD_HANDLER_OUTPUT, stream);
    record_send(&record);
}

void report_worker_dropped_(struct report_place place, struct report_subject *subject,
                            const char *worker, uint64_t bytes) {
    struct record record;

    if (!worker_begin(subject, &record, EVENT_WORKER_DROPPED, place, worker))
        return;
    record_say(&record, ": %" PRIu64 " %s of its output not logged", bytes,
               wording_plural(bytes, "byte", "bytes"));
    record_number(&record, FIELD_HANDLER_OUTPUT_DROPPED, bytes);
    record_send(&record);
}
