/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The link while it is up, and what it does when it is not any more.
 */
#include "peer_fixture.h"

#include <string.h>

/* --- while it is up -------------------------------------------------------------------------- */

static void test_all_outstanding_are_unknown_exactly_once(void **state) {
    (void)state;
    bring_up();
    ask(50);
    fixture_run_for(&t.f, 5 * MS);
    assert_int_equal(t.answers, 0);
    peer_hang_up(t.peer);
    fixture_wait(&t.f, &t.f.downs, 1);
    assert_int_equal(t.unknown, 50);
    assert_int_equal(t.refused_in_callback, 50);
    assert_string_equal(t.f.news, "ud");
    fixture_wait(&t.f, &t.f.ups, 2);
    assert_int_equal(t.answers, 50);
}

static void test_nothing_is_sent_from_an_unknown_answer_when_freed(void **state) {
    (void)state;
    bring_up();
    ask(3);
    link_unlisten(t.f.link, &t.f.listener);
    t.f.link = link_free(t.f.link);
    assert_int_equal(t.unknown, 3);
    assert_int_equal(t.refused_in_callback, 3);
}

static void test_freed_in_every_state(void **state) {
    (void)state;
    use_peer(&silent);
    assert_int_equal(link_new(t.f.loop, &t.f.settings, &t.f.link), 0);
    t.f.link = link_free(t.f.link); /* down, not started */

    fixture_start(&t.f);
    assert_int_equal(link_state(t.f.link), LINK_CONNECTING);
    link_unlisten(t.f.link, &t.f.listener);
    t.f.link = link_free(t.f.link);

    fixture_start(&t.f);
    fixture_run_for(&t.f, 10 * MS);
    assert_int_equal(link_state(t.f.link), LINK_GREETING);
    link_drop(t.f.link, "for the test", NULL);
    assert_int_equal(link_state(t.f.link), LINK_CLOSING);
    link_unlisten(t.f.link, &t.f.listener);
    t.f.link = link_free(t.f.link);

    fixture_start(&t.f);
    fixture_run_for(&t.f, 10 * MS);
    link_unlisten(t.f.link, &t.f.listener);
    t.f.link = link_free(t.f.link); /* greeting */

    t.f.addresses[0].port = dead_port();
    fixture_start(&t.f);
    fixture_wait(&t.f, &t.f.failures, 1);
    assert_int_equal(link_state(t.f.link), LINK_DOWN);
    link_unlisten(t.f.link, &t.f.listener);
    t.f.link = link_free(t.f.link); /* waiting to reconnect */
}

static void test_command_timeout(void **state) {
    (void)state;
    t.f.settings.command_timeout = 60 * MS;
    bring_up();
    assert_true(link_deadline(t.f.link) == USEC_INFINITY);
    fixture_run_for(&t.f, 150 * MS);
    assert_int_equal(t.f.downs, 0); /* nothing outstanding, nothing to wait for */
    usec_t began = clock_monotonic();
    ask(2);
    assert_in_range(link_deadline(t.f.link), began, began + 10 * USEC_PER_SEC);
    fixture_wait(&t.f, &t.f.downs, 1);
    assert_true(clock_monotonic() - began >= 60 * MS);
    assert_int_equal(t.unknown, 2);
    assert_string_equal(report_stub.reason, "no answer for 60ms");
}

/* What goes out later says nothing about the answer that is missing. */
static void keep_asking(void *data) {
    (void)data;
    if (link_is_up(t.f.link))
        ask(1);
    timer_arm(t.drip, 10 * MS);
}

static void test_command_timeout_in_spite_of_more_commands(void **state) {
    (void)state;
    t.f.settings.command_timeout = 60 * MS;
    bring_up();
    assert_int_equal(timer_new(t.f.loop, keep_asking, NULL, &t.drip), 0);
    usec_t began = clock_monotonic();
    timer_arm(t.drip, 0);
    fixture_wait(&t.f, &t.f.downs, 1);
    assert_true(clock_monotonic() - began < 2 * USEC_PER_SEC);
}

static void test_a_slow_answer_is_progress(void **state) {
    (void)state;
    t.f.settings.command_timeout = 40 * MS;
    bring_up();
    ask(1);
    start_to_drip("*2\r\n$10\r\n1700000000\r\n$6\r\n000005\r\n", 3 * MS);
    fixture_wait(&t.f, &t.answers, 1);
    assert_string_equal(link_trouble(t.f.link), "");
    assert_int_equal(t.ok, 1);
    assert_int_equal(t.f.downs, 0);
}

static void test_stopped_in_mid_reply(void **state) {
    (void)state;
    bring_up();
    t.answer = "*2\r\n$10\r\n17000";
    t.cut_after = true;
    ask(2);
    fixture_wait(&t.f, &t.answers, 2);
    assert_int_equal(t.unknown, 2);
}

static void test_garbage_as_an_answer(void **state) {
    (void)state;
    bring_up();
    t.answer = "\x16\x03\x01garbage\r\n";
    ask(2);
    fixture_wait(&t.f, &t.answers, 2);
    assert_int_equal(t.unknown, 2);
    fixture_wait(&t.f, &t.f.downs, 1);
    assert_string_equal(report_stub.reason, "protocol error");
}

static void test_malformed_reply_drops_the_link(void **state) {
    (void)state;
    bring_up();
    /* The second answer is fine, but may belong to who knows what. */
    t.answer = ":1\r\n*2\r\n$1\r\n1\r\n$1\r\n1\r\n*2\r\n$1\r\n1\r\n$1\r\n1\r\n";
    ask(3);
    fixture_wait(&t.f, &t.f.downs, 1);
    assert_int_equal(t.unknown, 3);
    assert_int_equal(t.ok, 0);
    assert_int_equal(t.refused_in_callback, 3);
    assert_string_equal(report_stub.reason, "unexpected reply to TIME");
}

static void test_answers_that_nobody_asked_for(void **state) {
    (void)state;
    static const char *const texts[] = {"+OK\r\n", "+OK\r\n+OK\r\n:1\r\n*0\r\n$-1\r\n",
                                        "*3\r\n$7\r\nmessage\r\n$1\r\na\r\n$1\r\nb\r\n",
                                        "-ERR whatever\r\n"};
    bring_up();
    for (int i = 0; i < 4; i++) {
        peer_say(t.peer, texts[i]);
        fixture_wait(&t.f, &t.f.ups, i + 2);
        assert_int_equal(t.f.downs, i + 1);
    }
}

static void test_more_answers_than_questions(void **state) {
    (void)state;
    bring_up();
    t.answer = "*2\r\n$1\r\n1\r\n$1\r\n1\r\n+OK\r\n+OK\r\n";
    ask(1);
    fixture_wait(&t.f, &t.f.downs, 1);
    assert_int_equal(t.ok, 1);
    assert_string_equal(report_stub.reason, "an answer to nothing that was asked");
}

static void test_errors_that_drop_the_link(void **state) {
    (void)state;
    bring_up();
    t.answer = "-READONLY You can't write against a read only replica.\r\n";
    ask(1);
    fixture_wait(&t.f, &t.f.downs, 1);
    assert_int_equal(t.errors, 1);
    assert_string_equal(report_stub.word, "READONLY");
    fixture_wait(&t.f, &t.f.ups, 2);
    t.answer = "-NOAUTH Authentication required.\r\n";
    ask(1);
    fixture_wait(&t.f, &t.f.downs, 2);
    assert_int_equal(t.errors, 2);
    assert_int_equal(report_stub.downs, 2);
    assert_true(link_trouble_is_error(t.f.link));
    fixture_wait(&t.f, &t.f.ups, 3);
    t.answer = "-NOPERM this user has no permissions\r\n";
    ask(1);
    fixture_wait(&t.f, &t.errors, 3);
    fixture_run_for(&t.f, 5 * MS);
    assert_true(link_is_up(t.f.link));
}

static void test_drop_by_hand(void **state) {
    (void)state;
    bring_up();
    ask(2);
    link_drop(t.f.link, "for the test", NULL);
    assert_int_equal(link_state(t.f.link), LINK_CLOSING);
    assert_int_equal(command_time(t.f.link, on_time, NULL), LINK_E_DOWN);
    link_drop(t.f.link, "again", NULL);
    fixture_wait(&t.f, &t.f.downs, 1);
    assert_int_equal(t.unknown, 2);
    assert_string_equal(link_trouble(t.f.link), "for the test");
    link_drop(t.f.link, "while down", NULL);
    fixture_wait(&t.f, &t.f.ups, 2);
    assert_int_equal(t.f.downs, 1);
}

/* --- what is sent ---------------------------------------------------------------------------- */

static void on_page(void *data, const struct answer *answer, const struct autoclaim_answer *page) {
    (void)data;
    assert_int_equal(answer->error, REDIS_ERROR_OTHER);
    assert_null(page);
    t.answers++;
    fixture_poke(&t.f);
}

static void on_range(void *data, const struct answer *answer, const struct pending_entry *entries,
                     size_t n) {
    assert_null(entries);
    assert_int_equal(n, 0);
    on_page(data, answer, NULL);
}

static void on_bodies(void *data, const struct answer *answer, const struct entry *entries,
                      size_t n, size_t n_gone) {
    assert_null(entries);
    assert_int_equal(n + n_gone, 0);
    on_page(data, answer, NULL);
}

static void on_ids(void *data, const struct answer *answer, const struct entry_id *ids, size_t n) {
    assert_null(ids);
    assert_int_equal(n, 0);
    on_page(data, answer, NULL);
}

static void expect_words(int r, const char *words) {
    assert_int_equal(r, 0);
    fixture_wait(&t.f, &t.answers, t.answers + 1);
    assert_string_equal(t.words, words);
}

static void test_the_words_of_the_commands(void **state) {
    (void)state;
    const struct group_ref ref = {.stream = "s", .group = "g g", .consumer = "c"};
    const struct entry_id ids[] = {{1, 0}, {UINT64_MAX, UINT64_MAX}};
    struct pending_range range = {.first = {1, 2}, .last = {3, 4}, .count = 5};
    struct claim_options options = {.retry_count = CLAIM_KEEP_COUNT};
    struct link *link;

    bring_up();
    link = t.f.link;
    t.answer = "-ERR no\r\n";
    /* Never less than was asked for: a part of a millisecond is a whole one. */
    expect_words(command_xautoclaim(link, &ref, 60 * MS, "7-1", 9, on_page, NULL),
                 "XAUTOCLAIM s g g c 60 7-1 COUNT 9 JUSTID");
    expect_words(command_xautoclaim(link, &ref, 60 * MS + 1, "0-0", 9, on_page, NULL),
                 "XAUTOCLAIM s g g c 61 0-0 COUNT 9 JUSTID");
    expect_words(command_xautoclaim(link, &ref, 1, "0-0", 9, on_page, NULL),
                 "XAUTOCLAIM s g g c 1 0-0 COUNT 9 JUSTID");
    expect_words(command_xautoclaim(link, &ref, USEC_INFINITY, "0-0", UINT64_MAX, on_page, NULL),
                 "XAUTOCLAIM s g g c 18446744073709552 0-0 COUNT 18446744073709551615 JUSTID");
    expect_words(command_xpending_range(link, &ref, &range, on_range, NULL),
                 "XPENDING s g g 1-2 3-4 5");
    range = (struct pending_range){
        .last = ids[1], .after_first = true, .count = 5, .only_ours = true, .min_idle = 1};
    expect_words(command_xpending_range(link, &ref, &range, on_range, NULL),
                 "XPENDING s g g IDLE 1 (0-0 18446744073709551615-18446744073709551615 5 c");
    expect_words(command_xclaim_bodies(link, &ref, 0, ids, 2, on_bodies, NULL),
                 "XCLAIM s g g c 0 1-0 18446744073709551615-18446744073709551615");
    expect_words(command_xclaim_ids(link, &ref, 1001, ids, 1, &options, on_ids, NULL),
                 "XCLAIM s g g c 2 1-0 JUSTID");
    options.retry_count = 0;
    options.release = true;
    expect_words(command_xclaim_ids(link, &ref, 0, ids, 1, &options, on_ids, NULL),
                 "XCLAIM s g g c 0 1-0 RETRYCOUNT 0 TIME 0 JUSTID");
}

/* --- several addresses, waiting -------------------------------------------------------------- */

static void test_the_first_address_is_dead(void **state) {
    (void)state;
    fixture_tcp(&t.f, dead_port());
    use_peer(&scripted);
    t.f.addresses[1].text = "second";
    fixture_start(&t.f);
    fixture_wait(&t.f, &t.f.ups, 1);
    assert_int_equal(t.f.failures, 0);
    assert_string_equal(link_address(t.f.link), "second");
    assert_int_equal(report_stub.downs, 1);

    t.peer = peer_free(t.peer);
    fixture_wait(&t.f, &t.f.failures, 2);
    assert_int_equal(report_stub.downs, 2);
    assert_string_equal(t.f.news, "udff");
}

static void test_a_replica_among_several_is_passed_over(void **state) {
    (void)state;
    use_peer(&scripted);
    fixture_tcp(&t.f, dead_port());
    t.hello = "*2\r\n$4\r\nrole\r\n$7\r\nreplica\r\n";
    fixture_start(&t.f);
    fixture_wait(&t.f, &t.f.failures, 1);
    assert_int_equal(t.f.ups, 0);
}

static void test_a_lone_replica_is_taken(void **state) {
    (void)state;
    t.hello = "*2\r\n$4\r\nrole\r\n$7\r\nreplica\r\n";
    bring_up();
}

static void test_holding_shortens_the_wait(void **state) {
    (void)state;
    fixture_tcp(&t.f, dead_port());
    t.f.settings.reconnect_min = t.f.settings.reconnect_max = 600 * USEC_PER_SEC;
    t.f.settings.smallest_min_idle = 40 * MS;
    fixture_start(&t.f);
    fixture_wait(&t.f, &t.f.failures, 1);
    assert_true(link_deadline(t.f.link) > clock_monotonic() + 100 * USEC_PER_SEC);
    link_hold(t.f.link);
    assert_true(link_deadline(t.f.link) <= clock_monotonic() + 10 * MS);
    fixture_wait(&t.f, &t.f.failures, 4);
    link_unhold(t.f.link);
    fixture_wait(&t.f, &t.f.failures, 5);
    assert_true(link_deadline(t.f.link) > clock_monotonic() + 100 * USEC_PER_SEC);
}

static void drop_again(void *data) {
    (void)data;
    link_drop(t.f.link, "over and over", NULL);
}

static void test_a_link_that_does_not_last_is_called_less_often(void **state) {
    (void)state;
    struct link_listener dropper = {.up = drop_again, .down = drop_again};
    use_peer(&scripted);
    t.f.settings.reconnect_min = 4 * MS;
    t.f.settings.reconnect_max = 10 * USEC_PER_SEC;
    fixture_start(&t.f);
    link_listen(t.f.link, &dropper);
    fixture_wait(&t.f, &t.f.downs, 5);
    assert_true(link_deadline(t.f.link) >= clock_monotonic() + 30 * MS);
    link_unlisten(t.f.link, &dropper);
}

static struct link_listener leaving[3];

static void leave(void *data) {
    (void)data;
    t.answers++;
    for (int i = 0; i < 3; i++)
        if (leaving[i].up) {
            link_unlisten(t.f.link, &leaving[i]);
            leaving[i].up = NULL;
        }
}

static void nothing(void *data) {
    (void)data;
}

static void test_listeners_may_leave_while_they_are_told(void **state) {
    (void)state;
    use_peer(&scripted);
    fixture_start(&t.f);
    for (int i = 0; i < 3; i++) {
        leaving[i] = (struct link_listener){.up = leave, .down = nothing};
        link_listen(t.f.link, &leaving[i]);
    }
    fixture_wait(&t.f, &t.f.ups, 1);
    assert_int_equal(t.answers, 1);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        LINK_TEST(test_all_outstanding_are_unknown_exactly_once),
        LINK_TEST(test_nothing_is_sent_from_an_unknown_answer_when_freed),
        LINK_TEST(test_freed_in_every_state),
        LINK_TEST(test_command_timeout),
        LINK_TEST(test_command_timeout_in_spite_of_more_commands),
        LINK_TEST(test_a_slow_answer_is_progress),
        LINK_TEST(test_stopped_in_mid_reply),
        LINK_TEST(test_garbage_as_an_answer),
        LINK_TEST(test_malformed_reply_drops_the_link),
        LINK_TEST(test_answers_that_nobody_asked_for),
        LINK_TEST(test_more_answers_than_questions),
        LINK_TEST(test_errors_that_drop_the_link),
        LINK_TEST(test_drop_by_hand),
        LINK_TEST(test_the_words_of_the_commands),
        LINK_TEST(test_the_first_address_is_dead),
        LINK_TEST(test_a_replica_among_several_is_passed_over),
        LINK_TEST(test_a_lone_replica_is_taken),
        LINK_TEST(test_holding_shortens_the_wait),
        LINK_TEST(test_a_link_that_does_not_last_is_called_less_often),
        LINK_TEST(test_listeners_may_leave_while_they_are_told),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
