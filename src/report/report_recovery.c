/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What is said about a recovery as a whole: its state, its pages, its passes.
 */
#include "subject.h"
#include "wording.h"

#include <inttypes.h>
#include <string.h>

void report_recovery_state_(struct report_place place, struct report_subject *subject,
                            const char *from, const char *to) {
    struct record record;

    if (!subject_begin(subject, &record, EVENT_RECOVERY_STATE, place))
        return;
    record_say(&record, "%s -> %s", wording_plain(from).text, wording_plain(to).text);
    record_text(&record, FIELD_STATE, to);
    record_text(&record, FIELD_STATE_FROM, from);
    record_send(&record);
}

void report_recovery_down_(struct report_place place, struct report_subject *subject,
                           const char *state, const char *reason, const char *error_word) {
    struct record record;

    if (!subject_begin(subject, &record, EVENT_RECOVERY_DOWN, place))
        return;
    record_say(&record, "%s: %s", wording_plain(state).text, wording_plain(reason).text);
    if (error_word && !strstr(reason, error_word))
        record_say(&record, " (%s)", wording_plain(error_word).text);
    record_text(&record, FIELD_STATE, state);
    record_text(&record, FIELD_REASON, reason);
    if (error_word)
        record_text(&record, FIELD_REDIS_ERROR, error_word);
    record_send(&record);
}

void report_recovery_up_(struct report_place place, struct report_subject *subject, usec_t outage) {
    struct record record;

    if (!subject_begin(subject, &record, EVENT_RECOVERY_UP, place))
        return;
    record_say(&record, "working again after %s", wording_duration(outage).text);
    record_number(&record, FIELD_DURATION_USEC, outage);
    record_send(&record);
}

void report_recovery_paused_(struct report_place place, struct report_subject *subject,
                             bool paused) {
    struct record record;

    if (!subject_begin(subject, &record, EVENT_RECOVERY_PAUSED, place))
        return;
    record_say(&record, paused ? "paused: nothing new is claimed until it is resumed" : "resumed");
    record_text(&record, FIELD_STATE, paused ? "paused" : "resumed");
    record_send(&record);
}

void report_page_(struct report_place place, struct report_subject *subject,
                  const struct report_page *page) {
    struct record record;

    subject->counters.pages++;
    subject->counters.claimed += page->claimed;
    if (!subject_begin(subject, &record, EVENT_PAGE, place))
        return;
    record_say(&record, "page %s -> %s: %zu claimed, %zu deleted", wording_plain(page->cursor).text,
               wording_plain(page->cursor_next).text, page->claimed, page->deleted);
    record_text(&record, FIELD_PAGE_CURSOR, page->cursor);
    record_text(&record, FIELD_PAGE_CURSOR_NEXT, page->cursor_next);
    record_number(&record, FIELD_PAGE_CLAIMED, page->claimed);
    record_number(&record, FIELD_PAGE_DELETED, page->deleted);
    record_send(&record);
}

/* --- the pass -------------------------------------------------------------------------------- */

/* In the order of the sentence. */
static const struct {
    enum field field;
    size_t offset;
    const char *words;
} pass_numbers[] = {
    {FIELD_PASS_CLAIMED, offsetof(struct report_pass, claimed), "claimed"},
    {FIELD_PASS_OK, offsetof(struct report_pass, ok), "ok"},
    {FIELD_PASS_FAILED, offsetof(struct report_pass, failed), "failed"},
    {FIELD_PASS_REJECTED, offsetof(struct report_pass, rejected), "rejected"},
    {FIELD_PASS_EXHAUSTED, offsetof(struct report_pass, exhausted), "exhausted"},
    {FIELD_PASS_DEFERRED, offsetof(struct report_pass, deferred), "deferred"},
    {FIELD_PASS_MISSING, offsetof(struct report_pass, missing), "missing"},
    {FIELD_PASS_LOST, offsetof(struct report_pass, lost), "lost"},
    {FIELD_PASS_RELEASED, offsetof(struct report_pass, released), "released"},
    {FIELD_PASS_MOVED, offsetof(struct report_pass, moved), "moved"},
    {FIELD_PASS_HANDED_OVER, offsetof(struct report_pass, handed_over), "handed over"},
    {FIELD_PASS_ACKED, offsetof(struct report_pass, acked), "acked"},
    {FIELD_PASS_ACK_NONE, offsetof(struct report_pass, ack_none), "acked by others"},
    {FIELD_PASS_DEAD_LETTERED, offsetof(struct report_pass, dead_lettered), "dead-lettered"},
    {FIELD_PASS_DELETED, offsetof(struct report_pass, deleted), "deleted"},
};

static void put_pass_numbers(struct record *record, const struct report_pass *pass) {
    const char *between = ": ";

    for (size_t i = 0; i < sizeof(pass_numbers) / sizeof(pass_numbers[0]); i++) {
        uint64_t n;

        memcpy(&n, (const char *)pass + pass_numbers[i].offset, sizeof(n));
        record_number(record, pass_numbers[i].field, n);
        if (n == 0)
            continue;
        record_say(record, "%s%" PRIu64 " %s", between, n, pass_numbers[i].words);
        between = ", ";
    }
}

void report_pass_(struct report_place place, struct report_subject *subject,
                  const struct report_pass *pass) {
    bool nothing = pass->claimed == 0 && pass->deleted == 0;
    struct record record;

    subject->counters.passes++;
    subject_tell_held_back(subject, place);
    if (!subject_begin(subject, &record,
                       nothing || pass->in_trouble ? EVENT_PASS_EMPTY : EVENT_PASS, place))
        return;
    record_say(&record, "pass done in %s", wording_duration(pass->duration).text);
    put_pass_numbers(&record, pass);
    if (nothing)
        record_say(&record, ", nothing to claim");
    record_number(&record, FIELD_PASS_PAGES, pass->pages);
    record_number(&record, FIELD_PASS_USEC, pass->duration);
    record_send(&record);
}
