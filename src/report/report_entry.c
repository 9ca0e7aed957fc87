/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What is said about single entries. The counters count whether or not anybody reads the record.
 */
#include "subject.h"
#include "wording.h"

#include <inttypes.h>

static bool entry_begin(struct report_subject *subject, struct record *record, enum event event,
                        struct report_place place, struct entry_id id) {
    if (!subject_begin(subject, record, event, place))
        return false;
    record_say(record, "entry %s", wording_id(id).text);
    record_ids(record, &id, 1);
    return true;
}

static void report_deleted_some(struct report_place place, struct report_subject *subject,
                                const struct entry_id *ids, size_t n) {
    struct record record;

    if (!subject_begin(subject, &record, EVENT_DELETED, place))
        return;
    if (n == 1)
        record_say(&record, "an entry was");
    else
        record_say(&record, "%zu entries were", n);
    record_say(&record, " deleted from the stream while pending and cannot be recovered: ");
    record_say_ids(&record, ids, n);
    record_number(&record, FIELD_ENTRIES, n);
    record_ids(&record, ids, n);
    record_send(&record);
}

/* Nobody will ever see these IDs again, so each is named, in as many records as that takes. */
void report_deleted_(struct report_place place, struct report_subject *subject,
                     const struct entry_id *ids, size_t n) {
    subject->counters.deleted += n;
    for (size_t i = 0; i < n; i += RECORD_IDS_MAX)
        report_deleted_some(place, subject, ids + i,
                            n - i < RECORD_IDS_MAX ? n - i : RECORD_IDS_MAX);
}

void report_missing_(struct report_place place, struct report_subject *subject, struct entry_id id,
                     bool acked) {
    struct record record;

    subject->counters.missing++;
    if (!entry_begin(subject, &record, EVENT_MISSING, place, id))
        return;
    record_say(&record, " is gone from the stream, nothing is left to handle: %s",
               acked ? "acknowledged (missing = ack)" : "not acknowledged (missing = keep)");
    record_send(&record);
}

void report_lost_(struct report_place place, struct report_subject *subject, struct entry_id id,
                  const char *reason) {
    struct record record;

    subject->counters.lost++;
    if (!entry_begin(subject, &record, EVENT_LOST, place, id))
        return;
    record_say(&record, " is no longer ours: %s", wording_plain(reason).text);
    record_text(&record, FIELD_REASON, reason);
    record_send(&record);
}

void report_name_clash_(struct report_place place, struct report_subject *subject,
                        struct entry_id id) {
    struct record record;

    if (!entry_begin(subject, &record, EVENT_NAME_CLASH, place, id))
        return;
    record_say(&record,
               " was claimed by somebody else under our consumer name %s: each daemon needs a name "
               "of its own",
               wording_name(subject_consumer(subject)).text);
    record_send(&record);
}

/* --- attempts -------------------------------------------------------------------------------- */

void report_attempt_begun_(struct report_place place, struct report_subject *subject,
                           struct entry_id id, uint64_t deliveries) {
    struct record record;

    if (!entry_begin(subject, &record, EVENT_ATTEMPT_BEGUN, place, id))
        return;
    record_say(&record, ": given to the handler, delivery %" PRIu64, deliveries);
    record_number(&record, FIELD_DELIVERIES, deliveries);
    record_send(&record);
}

/* All that depends on the outcome. */
struct outcome_words {
    enum event event;
    const char *outcome;
    const char *did;
    const char *then;
};

static struct outcome_words count_outcome(struct recovery_counters *counters,
                                          enum report_outcome outcome) {
    switch (outcome) {
    case REPORT_OK:
        counters->attempts_ok++;
        return (struct outcome_words){EVENT_ATTEMPT_OK, "ok", "handled", ""};
    case REPORT_RETRY:
        counters->attempts_retry++;
        return (struct outcome_words){EVENT_ATTEMPT_FAILED, "retry", "attempt failed",
                                      "; it stays pending and will be tried again"};
    case REPORT_LAST:
        counters->attempts_retry++;
        return (struct outcome_words){EVENT_ATTEMPT_FAILED, "retry", "attempt failed",
                                      "; that was the last attempt"};
    case REPORT_REJECT:
        counters->attempts_reject++;
        return (struct outcome_words){EVENT_ATTEMPT_REJECTED, "reject", "rejected by the handler",
                                      "; it will not be tried again"};
    }
    __builtin_unreachable();
}

void report_attempt_ended_(struct report_place place, struct report_subject *subject,
                           struct entry_id id, uint64_t deliveries, enum report_outcome outcome,
                           const char *reason, usec_t duration) {
    struct outcome_words words = count_outcome(&subject->counters, outcome);
    struct record record;

    if (!entry_begin(subject, &record, words.event, place, id))
        return;
    record_say(&record, ": %s", words.did);
    if (*reason != '\0')
        record_say(&record, ": %s", wording_plain(reason).text);
    record_say(&record, " (delivery %" PRIu64 ", %s)%s", deliveries,
               wording_duration(duration).text, words.then);
    record_number(&record, FIELD_DELIVERIES, deliveries);
    record_text(&record, FIELD_OUTCOME, words.outcome);
    record_text(&record, FIELD_REASON, reason);
    record_number(&record, FIELD_DURATION_USEC, duration);
    record_send(&record);
}

void report_exhausted_(struct report_place place, struct report_subject *subject,
                       struct entry_id id, uint64_t deliveries, const char *reason) {
    struct record record;

    if (!entry_begin(subject, &record, EVENT_EXHAUSTED, place, id))
        return;
    record_say(&record,
               " is exhausted after %" PRIu64 " %s: %s; it is not tried again and stays pending "
               "until somebody acknowledges or deletes it",
               deliveries, wording_plural(deliveries, "delivery", "deliveries"),
               wording_plain(reason).text);
    record_number(&record, FIELD_DELIVERIES, deliveries);
    record_text(&record, FIELD_OUTCOME, "exhausted");
    record_text(&record, FIELD_REASON, reason);
    record_send(&record);
}

void report_dead_lettered_(struct report_place place, struct report_subject *subject,
                           struct entry_id id, uint64_t deliveries, const char *outcome,
                           const char *reason, const char *target, uint64_t acked) {
    struct record record;

    subject->counters.dead_lettered++;
    subject->counters.acked += acked;
    if (!entry_begin(subject, &record, EVENT_DEAD_LETTERED, place, id))
        return;
    record_say(&record, " is moved to the dead letter stream %s after %" PRIu64 " %s (%s: %s)",
               wording_plain(target).text, deliveries,
               wording_plural(deliveries, "delivery", "deliveries"), wording_plain(outcome).text,
               wording_plain(reason ? reason : "").text);
    record_number(&record, FIELD_DELIVERIES, deliveries);
    record_text(&record, FIELD_OUTCOME, outcome);
    record_text(&record, FIELD_REASON, reason ? reason : "");
    record_text(&record, FIELD_DEAD_LETTER_STREAM, target);
    record_send(&record);
}

void report_handler_output_(struct report_place place, struct report_subject *subject,
                            struct entry_id id, const char *stream, const char *line) {
    struct record record;

    if (!entry_begin(subject, &record, EVENT_HANDLER_OUTPUT, place, id))
        return;
    record_say(&record, ": %s: ", wording_plain(stream).text);
    record_say_plain(&record, line);
    record_text(&record, FIELD_HANDLER_OUTPUT, stream);
    record_send(&record);
}

void report_output_dropped_(struct report_place place, struct report_subject *subject,
                            struct entry_id id, uint64_t bytes) {
    struct record record;

    if (!entry_begin(subject, &record, EVENT_OUTPUT_DROPPED, place, id))
        return;
    record_say(&record, ": %" PRIu64 " %s of handler output not logged", bytes,
               wording_plural(bytes, "byte", "bytes"));
    record_number(&record, FIELD_HANDLER_OUTPUT_DROPPED, bytes);
    record_send(&record);
}

/* --- batches --------------------------------------------------------------------------------- */

static void say_acked(struct record *record, size_t sent, uint64_t acked, uint64_t none,
                      bool repeated) {
    if (repeated && none > 0)
        record_say(record,
                   "%" PRIu64 " of %zu entries acked by an XACK that was sent again; whether the "
                   "first one acked the others is not known: ",
                   acked, sent);
    else if (none > 0)
        record_say(record,
                   "%" PRIu64 " of %zu acknowledged entries %s no longer pending: somebody else "
                   "acked or removed %s: ",
                   none, sent, wording_plural(none, "was", "were"),
                   wording_plural(none, "it", "them"));
    else
        record_say(record, "%" PRIu64 " %s acked: ", acked,
                   wording_plural(acked, "entry", "entries"));
}

void report_acked_(struct report_place place, struct report_subject *subject,
                   const struct entry_id *ids, size_t sent, uint64_t acked, bool repeated) {
    uint64_t none = usec_sub(sent, acked);
    bool warn = none > 0 && !repeated;
    struct record record;

    subject->counters.acked += acked;
    if (repeated)
        subject->counters.ack_unknown += none;
    else
        subject->counters.ack_none += none;
    if (sent == 0 || !subject_begin(subject, &record, warn ? EVENT_ACK_NONE : EVENT_ACKED, place))
        return;
    say_acked(&record, sent, acked, none, repeated);
    record_say_ids(&record, ids, sent);
    record_number(&record, FIELD_ENTRIES, sent);
    record_number(&record, FIELD_ENTRIES_ACKED, acked);
    record_ids(&record, ids, sent);
    record_send(&record);
}

void report_renewed_(struct report_place place, struct report_subject *subject, size_t ids) {
    struct record record;

    subject->counters.renewals += ids;
    if (ids == 0 || !subject_begin(subject, &record, EVENT_RENEWED, place))
        return;
    record_say(&record, "the %s of %zu %s renewed", wording_plural(ids, "claim", "claims"), ids,
               wording_plural(ids, "entry", "entries"));
    record_number(&record, FIELD_ENTRIES, ids);
    record_send(&record);
}

void report_released_(struct report_place place, struct report_subject *subject, size_t ids) {
    struct record record;

    subject->counters.released += ids;
    if (ids == 0 || !subject_begin(subject, &record, EVENT_RELEASED, place))
        return;
    record_say(&record, "%zu %s given back: others can claim %s at once", ids,
               wording_plural(ids, "entry", "entries"), wording_plural(ids, "it", "them"));
    record_number(&record, FIELD_ENTRIES, ids);
    record_send(&record);
}

void report_moved_(struct report_place place, struct report_subject *subject, size_t entries,
                   uint64_t acked, const char *target) {
    struct record record;

    subject->counters.moved += entries;
    subject->counters.acked += acked;
    if (entries == 0 || !subject_begin(subject, &record, EVENT_MOVED, place))
        return;
    record_say(&record, "%zu %s moved to %s", entries, wording_plural(entries, "entry", "entries"),
               wording_plain(target).text);
    record_number(&record, FIELD_ENTRIES, entries);
    record_number(&record, FIELD_ENTRIES_ACKED, acked);
    record_text(&record, FIELD_TARGET_STREAM, target);
    record_send(&record);
}

void report_handed_over_(struct report_place place, struct report_subject *subject,
                         const struct entry_id *ids, size_t n, const char *worklist) {
    struct record record;

    subject->counters.handed_over += n;
    if (n == 0 || !subject_begin(subject, &record, EVENT_HANDED_OVER, place))
        return;
    record_say(&record, "%zu %s claimed for %s", n, wording_plural(n, "entry", "entries"),
               wording_name(subject_consumer(subject)).text);
    if (worklist)
        record_say(&record, " and pushed to %s", wording_plain(worklist).text);
    record_say(&record, ": ");
    record_say_ids(&record, ids, n);
    record_number(&record, FIELD_ENTRIES, n);
    if (worklist)
        record_text(&record, FIELD_WORKLIST, worklist);
    record_ids(&record, ids, n);
    record_send(&record);
}
