/* SPDX-License-Identifier: BSD-3-Clause */
#include "capture.h"

#include "base/text.h"
#include "report/record.h"
#include "report/report.h"
#include "report/subject.h"
#include <errno.h>

static const struct entry_id id1 = {1700000000000, 1};
static struct report_subject *orders;

static int begin(void **state) {
    (void)capture_begin(state);
    return report_subject_new("orders", "shop:orders", "workers", "daemon-1", &orders);
}

static int end(void **state) {
    orders = report_subject_free(orders);
    return capture_end(state);
}

/* --- what every record has ------------------------------------------------------------------- */

static void test_fields_of_every_record(void **state) {
    int line = __LINE__ + 1;
    report_lost(orders, id1, "another consumer owns it");
    const struct captured *record = captured_last();
    char code_line[32];

    (void)snprintf(code_line, sizeof(code_line), "CODE_LINE=%d", line);
    assert_field(record, "MESSAGE=orders: entry 1700000000000-1 is no longer ours: another "
                         "consumer owns it");
    assert_field(record, "PRIORITY=4");
    assert_field(record, "SYSLOG_IDENTIFIER=xautoclaimd");
    assert_field(record, code_line);
    assert_field(record, "CODE_FUNC=test_fields_of_every_record");
    assert_field(record, "CODE_FILE=" __FILE__);
    assert_field(record, "RECOVERY=orders");
    assert_field(record, "STREAM=shop:orders");
    assert_field(record, "GROUP=workers");
    assert_field(record, "CONSUMER=daemon-1");
    assert_field(record, "ENTRY_ID=1700000000000-1");
    assert_field(record, "REASON=another consumer owns it");
    assert_int_equal(record->n_fields, 13);
}

/* --- sentences ------------------------------------------------------------------------------- */

static void test_daemon_sentences(void **state) {
    report_started("1.0", 2, 1);
    assert_said("started, version 1.0: 2 recoveries on 1 server");
    report_started("1.0", 0, 1);
    assert_said("started, version 1.0: nothing to do, no [recovery] is configured");
    report_config_error("/etc/x.conf:3: [redis] url: bad");
    assert_said("/etc/x.conf:3: [redis] url: bad");
    report_config_warning("warning: count is high");
    assert_said("count is high");
    report_stopping("SIGTERM", 1, 5, 30 * USEC_PER_SEC);
    assert_said("stopping on SIGTERM: 1 handler running, 5 entries held; waiting at most 30.0s");
    report_broken("epoll_wait", -ENOMEM);
    assert_said("cannot go on: epoll_wait: Cannot allocate memory");
    assert_field(captured_last(), "ERRNO=12");
}

static void test_link_sentences(void **state) {
    report_link_up("127.0.0.1:6379", "Redis", "7.0.15", 0);
    assert_said("redis 127.0.0.1:6379: connected, Redis 7.0.15");
    report_link_up("127.0.0.1:6379", "", "", 42 * USEC_PER_SEC);
    assert_said("redis 127.0.0.1:6379: connected again after 42.0s");
    report_link_down("127.0.0.1:6379", "Connection refused", NULL);
    assert_said("redis 127.0.0.1:6379: down: Connection refused; tried again until it is back, "
                "nothing is claimed meanwhile");
    assert_null(strstr(captured_last()->fields, "REDIS_ERROR"));
    report_link_down("127.0.0.1:6379", "WRONGPASS", "WRONGPASS");
    assert_non_null(strstr(captured_last()->sentence, ": down: WRONGPASS; "));
    assert_field(captured_last(), "REDIS_ERROR=WRONGPASS");
    report_link_down("127.0.0.1:6379", "refused", "NOAUTH");
    assert_non_null(strstr(captured_last()->sentence, ": down: refused (NOAUTH); "));
}

static void test_recovery_sentences(void **state) {
    report_recovery_down(orders, "waiting", "no group \"workers\"", "NOGROUP");
    assert_said("orders: waiting: no group \"workers\" (NOGROUP)");
    assert_field(captured_last(), "STATE=waiting");
    report_recovery_up(orders, 125 * USEC_PER_SEC);
    assert_said("orders: working again after 2m 5s");
    assert_int_equal(captured_last()->priority, LOG_NOTICE);
    report_page(orders, &(struct report_page){"0-0", "17-3", 25, 2});
    assert_said("orders: page 0-0 -> 17-3: 25 claimed, 2 deleted");
    assert_field(captured_last(), "PAGE_CURSOR_NEXT=17-3");
}

static void test_pass_says_what_is_not_zero(void **state) {
    report_pass(orders, &(struct report_pass){.pages = 3,
                                              .claimed = 25,
                                              .ok = 20,
                                              .failed = 3,
                                              .missing = 1,
                                              .lost = 1,
                                              .acked = 19,
                                              .ack_none = 1,
                                              .deleted = 2,
                                              .duration = 1200 * USEC_PER_MSEC});
    assert_said("orders: pass done in 1.2s: 25 claimed, 20 ok, 3 failed, 1 missing, 1 lost, 19 "
                "acked, 1 acked by others, 2 deleted");
    assert_int_equal(captured_last()->priority, LOG_INFO);
    assert_field(captured_last(), "PASS_PAGES=3");
    assert_field(captured_last(), "PASS_REJECTED=0");
    assert_field(captured_last(), "PASS_ACK_NONE=1");
    assert_field(captured_last(), "PASS_USEC=1200000");
}

static void test_where_nothing_runs(void **state) {
    const struct entry_id ids[2] = {id1, {2, 0}};

    report_pass(orders, &(struct report_pass){.claimed = 9, .moved = 8, .missing = 1, .acked = 8});
    assert_said("orders: pass done in 0ms: 9 claimed, 1 missing, 8 moved, 8 acked");
    assert_field(captured_last(), "PASS_MOVED=8");
    assert_field(captured_last(), "PASS_HANDED_OVER=0");
    report_moved(orders, 8, 8, "target");
    assert_said("orders: 8 entries moved to target");
    assert_field(captured_last(), "TARGET_STREAM=target");
    report_handed_over(orders, ids, 2, NULL);
    assert_said("orders: 2 entries claimed for daemon-1: 1700000000000-1, 2-0");
    report_handed_over(orders, ids, 2, "list");
    assert_said("orders: 2 entries claimed for daemon-1 and pushed to list: 1700000000000-1, 2-0");
    assert_field(captured_last(), "WORKLIST=list");
    assert_int_equal(report_counters(orders)->moved, 8);
    assert_int_equal(report_counters(orders)->acked, 8);
    assert_int_equal(report_counters(orders)->handed_over, 4);
}

static void test_an_empty_pass_is_debug(void **state) {
    report_pass(orders, &(struct report_pass){.pages = 1, .duration = 3000});
    assert_said("orders: pass done in 3ms, nothing to claim");
    assert_int_equal(captured_last()->priority, LOG_DEBUG);
    report_pass(orders, &(struct report_pass){.pages = 1, .deleted = 1});
    assert_int_equal(captured_last()->priority, LOG_INFO);
}

static void test_attempt_sentences(void **state) {
    report_attempt_ended(orders, id1, 2, REPORT_RETRY, "exit status 1", 1234567);
    assert_said("orders: entry 1700000000000-1: attempt failed: exit status 1 (delivery 2, 1.2s); "
                "it stays pending and will be tried again");
    assert_field(captured_last(), "OUTCOME=retry");
    assert_field(captured_last(), "DELIVERIES=2");
    assert_field(captured_last(), "DURATION_USEC=1234567");
    report_attempt_ended(orders, id1, 2, REPORT_OK, "", 5000);
    assert_said("orders: entry 1700000000000-1: handled (delivery 2, 5ms)");
    assert_int_equal(captured_last()->priority, LOG_DEBUG);
    report_handler_output(orders, id1, "stderr", "no such order");
    assert_said("orders: entry 1700000000000-1: stderr: no such order");
    report_exhausted(orders, id1, INT64_MAX, "marked as fatal");
    assert_field(captured_last(), "DELIVERIES=9223372036854775807");
}

static void test_missing_says_what_was_done(void **state) {
    report_missing(orders, id1, false);
    assert_non_null(strstr(captured_last()->sentence, "not acknowledged (missing = keep)"));
    report_missing(orders, id1, true);
    assert_non_null(strstr(captured_last()->sentence, ": acknowledged (missing = ack)"));
}

static void test_all_ids_of_a_page_are_fields(void **state) {
    struct entry_id ids[1000];
    size_t named = 0;

    for (uint64_t i = 0; i < 1000; i++)
        ids[i] = (struct entry_id){UINT64_MAX, UINT64_MAX - i};
    report_deleted(orders, ids, 1000);
    for (size_t i = 0; i < 1000; i++) {
        char text[ENTRY_ID_TEXT_MAX], field[64];

        (void)entry_id_format(ids[i], text);
        (void)snprintf(field, sizeof(field), "ENTRY_ID=%s", text);
        for (size_t j = 0; j < journal.n; j++)
            named += captured_count(&journal.records[j], field);
    }
    assert_int_equal(named, 1000);
    assert_int_equal(journal.n, 3);
    assert_field(captured_last(), "ENTRIES=200");
    assert_non_null(strstr(captured_last()->sentence, "200 entries were deleted"));
    assert_non_null(strstr(captured_last()->sentence, " and 195 more"));
    assert_int_equal(report_counters(orders)->deleted, 1000);
}

static void test_more_ids_than_a_record_holds(void **state) {
    static struct entry_id ids[RECORD_IDS_MAX + 500];

    report_acked(orders, ids, RECORD_IDS_MAX + 500, RECORD_IDS_MAX + 500, false);
    assert_int_equal(captured_count(captured_last(), "ENTRY_ID=0-0"), RECORD_IDS_MAX);
    assert_field(captured_last(), "ENTRIES=900");
}

/* --- acks ------------------------------------------------------------------------------------ */

static void test_zeros_of_an_ack_are_a_warning(void **state) {
    const struct entry_id ids[3] = {{1, 0}, {2, 0}, {3, 0}};

    report_acked(orders, ids, 3, 3, false);
    assert_said("orders: 3 entries acked: 1-0, 2-0, 3-0");
    assert_int_equal(captured_last()->priority, LOG_DEBUG);
    report_acked(orders, ids, 3, 2, false);
    assert_said("orders: 1 of 3 acknowledged entries was no longer pending: somebody else acked or "
                "removed it: 1-0, 2-0, 3-0");
    assert_int_equal(captured_last()->priority, LOG_WARNING);
    assert_field(captured_last(), "ENTRY_ID=2-0");
    assert_int_equal(report_counters(orders)->acked, 5);
    assert_int_equal(report_counters(orders)->ack_none, 1);
}

static void test_zeros_of_a_repeated_ack_prove_nothing(void **state) {
    const struct entry_id ids[3] = {{1, 0}, {2, 0}, {3, 0}};

    report_acked(orders, ids, 3, 1, true);
    assert_int_equal(captured_last()->priority, LOG_DEBUG);
    assert_int_equal(report_counters(orders)->acked, 1);
    assert_int_equal(report_counters(orders)->ack_none, 0);
    assert_int_equal(report_counters(orders)->ack_unknown, 2);
}

/* --- counters -------------------------------------------------------------------------------- */

static void count_once(void) {
    const struct entry_id ids[3] = {{1, 0}, {2, 0}, {3, 0}};

    report_page(orders, &(struct report_page){"0-0", "5-0", 25, 3});
    report_deleted(orders, ids, 3);
    report_pass(orders, &(struct report_pass){.claimed = 25});
    report_missing(orders, id1, false);
    report_attempt_ended(orders, id1, 1, REPORT_OK, "", 1);
    report_attempt_ended(orders, id1, 1, REPORT_RETRY, "", 1);
    report_attempt_ended(orders, id1, 1, REPORT_RETRY, "", 1);
    report_attempt_ended(orders, id1, 1, REPORT_REJECT, "", 1);
    report_acked(orders, ids, 3, 2, false);
    report_acked(orders, ids, 3, 2, true);
    report_lost(orders, id1, "x");
    report_released(orders, 4);
    report_renewed(orders, 7);
}

static void test_counters_do_not_need_readers(void **state) {
    static const struct recovery_counters want = {.passes = 1,
                                                  .pages = 1,
                                                  .claimed = 25,
                                                  .deleted = 3,
                                                  .missing = 1,
                                                  .attempts_ok = 1,
                                                  .attempts_retry = 2,
                                                  .attempts_reject = 1,
                                                  .acked = 4,
                                                  .ack_none = 1,
                                                  .ack_unknown = 1,
                                                  .lost = 1,
                                                  .released = 4,
                                                  .renewals = 7};

    log_set_level(LOG_ERR);
    count_once();
    assert_int_equal(journal.n, 0);
    assert_memory_equal(report_counters(orders), &want, sizeof(want));
}

static void test_counters_do_not_stop_at_the_limit(void **state) {
    for (int i = 0; i < 100; i++)
        report_missing(orders, id1, false);
    assert_int_equal(report_counters(orders)->missing, 100);
    assert_int_equal(journal.n, 20);
}

/* --- levels ---------------------------------------------------------------------------------- */

static void test_less_important_records_are_dropped(void **state) {
    log_set_level(LOG_WARNING);
    report_recovery_up(orders, 1);
    report_started("1.0", 1, 1);
    report_link_up("127.0.0.1:6379", "Redis", "7.0.15", 0);
    assert_int_equal(journal.n, 0);
    report_recovery_down(orders, "waiting", "x", NULL);
    assert_int_equal(journal.n, 1);
    log_set_level(LOG_NOTICE);
    report_recovery_up(orders, 1);
    report_pass(orders, &(struct report_pass){.claimed = 1});
    assert_int_equal(journal.n, 2);
    assert_int_equal(log_level(), LOG_NOTICE);
}

/* --- limits ---------------------------------------------------------------------------------- */

static void fail_times(int n) {
    for (int i = 0; i < n; i++)
        report_attempt_ended(orders, id1, 1, REPORT_RETRY, "exit status 1", 1);
}

static void test_the_next_record_tells_what_was_held_back(void **state) {
    fail_times(32);
    assert_int_equal(journal.n, 20);
    clock_test_set(1030 * USEC_PER_SEC, 0);
    fail_times(1);
    assert_int_equal(journal.n, 22);
    assert_string_equal(journal.records[20].sentence,
                        "orders: 12 more records about failed attempts were held back: at most 20 "
                        "in 30.0s are logged");
    assert_field(&journal.records[20], "HELD_BACK=12");
    assert_field(&journal.records[20], "HELD_BACK_EVENT=attempt-failed");
    assert_int_equal(journal.records[20].priority, LOG_WARNING);
    assert_non_null(strstr(journal.records[21].sentence, "attempt failed"));
}

static void test_a_pass_tells_what_was_held_back(void **state) {
    fail_times(21);
    log_set_level(LOG_WARNING); /* nobody sees the pass itself */
    report_pass(orders, &(struct report_pass){.claimed = 21});
    assert_int_equal(journal.n, 21);
    assert_said("orders: 1 more record about failed attempts was held back: at most 20 in 30.0s "
                "are logged");
    report_pass(orders, &(struct report_pass){.claimed = 21});
    assert_int_equal(journal.n, 21);
}

static void test_death_tells_what_was_held_back(void **state) {
    fail_times(25);
    orders = report_subject_free(orders);
    assert_int_equal(journal.n, 21);
    assert_field(captured_last(), "HELD_BACK=5");
}

static void test_what_nobody_wants_uses_up_no_limit(void **state) {
    log_set_level(LOG_ERR);
    fail_times(100);
    log_set_level(LOG_DEBUG);
    fail_times(1);
    assert_int_equal(journal.n, 1);
    assert_non_null(strstr(captured_last()->sentence, "attempt failed"));
}

static void test_kinds_are_limited_apart(void **state) {
    fail_times(30);
    report_attempt_ended(orders, id1, 1, REPORT_REJECT, "exit status 65", 1);
    report_missing(orders, id1, false);
    assert_int_equal(journal.n, 22);
}

static void test_subjects_are_limited_apart(void **state) {
    struct report_subject *other = NULL;

    assert_int_equal(report_subject_new("other", "s", "g", "c", &other), 0);
    fail_times(30);
    report_attempt_ended(other, id1, 1, REPORT_RETRY, "exit status 1", 1);
    assert_int_equal(journal.n, 21);
    other = report_subject_free(other);
}

static void test_state_and_passes_are_not_limited(void **state) {
    for (int i = 0; i < 100; i++) {
        report_recovery_down(orders, "waiting", "x", NULL);
        report_pass(orders, &(struct report_pass){.claimed = 1});
    }
    assert_int_equal(journal.n, 200);
}

static void test_handler_output_has_its_own_limit(void **state) {
    for (int i = 0; i < 250; i++)
        report_handler_output(orders, id1, "stderr", "words");
    assert_int_equal(journal.n, 200);
    orders = report_subject_free(orders);
    assert_field(captured_last(), "HELD_BACK=50");
    assert_int_equal(captured_last()->priority, LOG_INFO);
}

/* --- canaries -------------------------------------------------------------------------------- */

static void assert_one_printable_line(const struct captured *record) {
    struct blob sentence = {record->sentence, strlen(record->sentence)};

    assert_true(sentence.size < RECORD_SENTENCE_MAX);
    assert_true(text_is_utf8(sentence));
    assert_false(text_has_control(record->sentence));
}

static void report_everything_with(const char *text) {
    struct report_subject *subject = NULL;

    assert_int_equal(report_subject_new(text, text, text, text, &subject), 0);
    report_config_error(text);
    report_config_warning(text);
    report_stopping(text, 1, 1, 1);
    report_drain_cut_short(1, text);
    report_broken(text, -1);
    report_link_state(text, text, text, text);
    report_link_up(text, text, text, 1);
    report_link_down(text, text, "x");
    report_server_fault(text, text, text);
    report_recovery_state(subject, text, text);
    report_recovery_down(subject, text, text, text);
    report_page(subject, &(struct report_page){text, text, 1, 1});
    report_pass(subject, &(struct report_pass){.claimed = 1});
    report_lost(subject, id1, text);
    report_name_clash(subject, id1);
    report_attempt_ended(subject, id1, 1, REPORT_REJECT, text, 1);
    report_exhausted(subject, id1, 1, text);
    report_handler_output(subject, id1, text, text);
    subject = report_subject_free(subject);
}

static void test_hostile_text_stays_on_one_printable_line(void **state) {
    char longest[5000];
    const char *const texts[] = {"a\nMESSAGE=forged\n", "\x1b[31mred", "\xff\xfe\xc3", "%s%n%d",
                                 "<0>emerg\r",          longest};

    memset(longest, '\x01', sizeof(longest) - 1);
    longest[sizeof(longest) - 1] = '\0';
    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++)
        report_everything_with(texts[i]);
    assert_int_equal(journal.n, 6 * 18);
    for (size_t i = 0; i < journal.n; i++) {
        assert_one_printable_line(&journal.records[i]);
        assert_null(strstr(journal.records[i].fields, "\nMESSAGE=forged"));
        /* one line a field: nothing foreign has brought a newline in */
        size_t lines = 0;
        for (const char *p = journal.records[i].fields; (p = strchr(p + 1, '\n'));)
            lines++;
        assert_int_equal(lines, journal.records[i].n_fields);
    }
}

static void test_names_are_raw_in_fields_where_they_can_be(void **state) {
    struct report_subject *subject = NULL;

    assert_int_equal(report_subject_new("r", "a\\b \xc3\xbc", "g\n", "\xff", &subject), 0);
    report_name_clash(subject, id1);
    assert_field(captured_last(), "STREAM=a\\b \xc3\xbc");
    assert_field(captured_last(), "GROUP=g\\x0a");
    assert_field(captured_last(), "CONSUMER=\\xff");
    assert_non_null(strstr(captured_last()->sentence, "our consumer name \\xff:"));
    subject = report_subject_free(subject);
}

static void test_a_long_line_of_a_handler_is_shown_whole(void **state) {
    char line[1801];

    memset(line, 'x', sizeof(line) - 1);
    line[sizeof(line) - 1] = '\0';
    report_handler_output(orders, id1, "stdout", line);
    assert_non_null(strstr(captured_last()->sentence, line));
}

static void test_nothing_is_fine(void **state) {
    assert_null(report_subject_free(NULL));
    report_deleted(orders, NULL, 0);
    report_acked(orders, NULL, 0, 0, false);
    report_renewed(orders, 0);
    report_released(orders, 0);
    assert_int_equal(journal.n, 0);
}

#define TEST(function) cmocka_unit_test_setup_teardown(function, begin, end)

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(test_fields_of_every_record),
        TEST(test_daemon_sentences),
        TEST(test_link_sentences),
        TEST(test_recovery_sentences),
        TEST(test_pass_says_what_is_not_zero),
        TEST(test_an_empty_pass_is_debug),
        TEST(test_where_nothing_runs),
        TEST(test_attempt_sentences),
        TEST(test_missing_says_what_was_done),
        TEST(test_all_ids_of_a_page_are_fields),
        TEST(test_more_ids_than_a_record_holds),
        TEST(test_zeros_of_an_ack_are_a_warning),
        TEST(test_zeros_of_a_repeated_ack_prove_nothing),
        TEST(test_counters_do_not_need_readers),
        TEST(test_counters_do_not_stop_at_the_limit),
        TEST(test_less_important_records_are_dropped),
        TEST(test_the_next_record_tells_what_was_held_back),
        TEST(test_a_pass_tells_what_was_held_back),
        TEST(test_death_tells_what_was_held_back),
        TEST(test_what_nobody_wants_uses_up_no_limit),
        TEST(test_kinds_are_limited_apart),
        TEST(test_subjects_are_limited_apart),
        TEST(test_state_and_passes_are_not_limited),
        TEST(test_handler_output_has_its_own_limit),
        TEST(test_hostile_text_stays_on_one_printable_line),
        TEST(test_names_are_raw_in_fields_where_they_can_be),
        TEST(test_a_long_line_of_a_handler_is_shown_whole),
        TEST(test_nothing_is_fine),
    };
    return cmocka_run_group_tests_name("report/report", tests, NULL, NULL);
}
