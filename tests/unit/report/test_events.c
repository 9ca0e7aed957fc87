/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The table against the code: every row has what it needs, and every kind of record is really
 * made, with a sentence, and carries exactly the fields that its row lists.
 */
#include "capture.h"

#include "report/events.h"
#include "report/record.h"
#include "report/report.h"
#include "report/subject.h"
#include <ctype.h>

static void test_rows_are_whole(void **state) {
    for (int i = 0; i < _EVENT_MAX; i++) {
        const struct event_row *row = event_row((enum event)i);

        assert_non_null(row->name);
        assert_in_range(row->level, LOG_ERR, LOG_DEBUG);
        assert_non_null(row->message_id);
        assert_int_equal(strlen(row->message_id), 32);
        assert_int_equal(strspn(row->message_id, "0123456789abcdef"), 32);
        assert_int_equal(row->limit.burst > 0, row->about != NULL);
        assert_int_equal(row->limit.burst > 0, row->limit.window > 0);
        assert_int_equal(row->fields >> _FIELD_MAX, 0);
    }
}

static void test_rows_are_different(void **state) {
    for (int i = 0; i < _EVENT_MAX; i++)
        for (int j = 0; j < i; j++) {
            const struct event_row *a = event_row((enum event)i), *b = event_row((enum event)j);

            assert_string_not_equal(a->message_id, b->message_id);
            assert_string_not_equal(a->name, b->name);
        }
}

/* The journal drops a field whose name it does not like, without a word. */
static void test_field_names_are_the_journals(void **state) {
    for (int i = 0; i < _FIELD_MAX; i++) {
        const char *name = field_name((enum field)i);

        assert_non_null(name);
        assert_true(isupper((unsigned char)name[0]));
        assert_int_equal(strspn(name, "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_"), strlen(name));
        assert_true(strlen(name) <= 64);
        for (int j = 0; j < i; j++)
            assert_string_not_equal(name, field_name((enum field)j));
    }
}

static void say_all_of_the_daemon(void) {
    report_started("1.0", 2, 1);
    report_config_error("f:1: [redis] url: bad");
    report_config_warning("warning: f:2: [redis] url: odd");
    report_reloaded(
        &(struct report_reload){.unchanged = 1, .changed = 2, .removed = 3, .added = 4});
    report_reload_failed("f:1");
    report_stopping("SIGTERM", 1, 2, 30 * USEC_PER_SEC);
    report_drain_cut_short(1, "drain_timeout is over");
    report_stopped(5000);
    report_broken("epoll_wait", -12);
    report_link_state("127.0.0.1:6379", "", "down", "resolving");
    report_link_up("127.0.0.1:6379", "Redis", "7.0.15", 5 * USEC_PER_SEC);
    report_link_down("127.0.0.1:6379", "refused by the server", "WRONGPASS");
    report_server_fault("127.0.0.1:6379", "7.0.0", "loses entries");
}

static void say_all_of_a_recovery(struct report_subject *subject) {
    const struct entry_id ids[2] = {{1, 0}, {2, 0}};

    report_recovery_state(subject, "resting", "scanning");
    report_recovery_down(subject, "waiting", "no such group", "NOGROUP");
    report_recovery_up(subject, USEC_PER_SEC);
    report_recovery_paused(subject, true);
    report_page(subject, &(struct report_page){"0-0", "5-0", 2, 1});
    report_pass(subject, &(struct report_pass){.claimed = 1, .ok = 1});
    report_pass(subject, &(struct report_pass){.pages = 1});
    report_deleted(subject, ids, 2);
    report_missing(subject, ids[0], false);
    report_lost(subject, ids[0], "another consumer has it");
    report_name_clash(subject, ids[0]);
    report_attempt_begun(subject, ids[0], 2);
    report_attempt_ended(subject, ids[0], 2, REPORT_OK, "exit status 0", 1000);
    report_attempt_ended(subject, ids[0], 2, REPORT_RETRY, "exit status 1", 1000);
    report_attempt_ended(subject, ids[0], 2, REPORT_REJECT, "exit status 65", 1000);
    report_exhausted(subject, ids[0], 5, "max_deliveries is 5");
    report_dead_lettered(subject, ids[0], 5, "reject", "exit status 65", "dead", 1);
    report_acked(subject, ids, 2, 2, false);
    report_acked(subject, ids, 2, 1, false);
    report_renewed(subject, 3);
    report_released(subject, 3);
    report_moved(subject, 2, 2, "target");
    report_handed_over(subject, ids, 2, "list");
    for (int i = 0; i < 201; i++)
        report_handler_output(subject, ids[0], "stderr", "hello");
    report_output_dropped(subject, ids[0], 4096);
    report_worker_up(subject, "worker 4711");
    report_worker_ended(subject, "worker 4711", "exit status 1", 2);
    report_worker_output(subject, "worker 4711", "stderr", "hello");
    report_worker_dropped(subject, "worker 4711", 4096);
    report_pass(subject, &(struct report_pass){.pages = 1});
}

static void fields_of_row(enum event event, const struct captured *record, bool seen[_FIELD_MAX]) {
    for (int i = 0; i < _FIELD_MAX; i++) {
        char start[80];

        (void)snprintf(start, sizeof(start), "\n%s=", field_name((enum field)i));
        if (!strstr(record->fields, start))
            continue;
        seen[i] = true;
        assert_true(event_row(event)->fields & FIELD_BIT(i));
    }
}

static const struct captured *find(enum event event) {
    char id[64];

    (void)snprintf(id, sizeof(id), "MESSAGE_ID=%s", event_row(event)->message_id);
    for (size_t i = 0; i < journal.n; i++)
        if (captured_count(&journal.records[i], id) == 1)
            return &journal.records[i];
    fail_msg("nothing reported %s", event_row(event)->name);
    abort(); /* it has not returned, which the compiler does not know */
}

static void test_every_event_is_said_with_its_fields(void **state) {
    struct report_subject *subject = NULL;

    assert_int_equal(report_subject_new("orders", "s", "g", "c", &subject), 0);
    say_all_of_the_daemon();
    say_all_of_a_recovery(subject);
    for (int i = 0; i < _EVENT_MAX; i++) {
        const struct captured *record = find((enum event)i);
        bool seen[_FIELD_MAX] = {false};

        if (!record) /* find() has failed, which a compiler cannot see */
            return;
        assert_true(strlen(record->sentence) > 5);
        fields_of_row((enum event)i, record, seen);
        for (int f = 0; f < _FIELD_MAX; f++)
            if (event_row((enum event)i)->fields & FIELD_BIT(f) && !seen[f])
                fail_msg("%s does not carry %s", event_row((enum event)i)->name,
                         field_name((enum field)f));
        if (i != EVENT_HELD_BACK)
            assert_int_equal(record->priority, event_row((enum event)i)->level);
    }
    subject = report_subject_free(subject);
}

static void test_a_sentence_names_the_recovery_first(void **state) {
    struct report_subject *subject = NULL;

    assert_int_equal(report_subject_new("orders", "s", "g", "c", &subject), 0);
    say_all_of_a_recovery(subject);
    for (size_t i = 0; i < journal.n; i++)
        assert_memory_equal(journal.records[i].sentence, "orders: ", 8);
    subject = report_subject_free(subject);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_rows_are_whole),
        cmocka_unit_test(test_rows_are_different),
        cmocka_unit_test(test_field_names_are_the_journals),
        cmocka_unit_test_setup_teardown(test_every_event_is_said_with_its_fields, capture_begin,
                                        capture_end),
        cmocka_unit_test_setup_teardown(test_a_sentence_names_the_recovery_first, capture_begin,
                                        capture_end),
    };
    return cmocka_run_group_tests_name("report/events", tests, NULL, NULL);
}
