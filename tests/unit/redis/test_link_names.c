/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The link where a url has a name, with a scripted getaddrinfo_a(3).
 */
#include "peer_fixture.h"

#include "fake_gai.h"

#include <netdb.h>
#include <stdio.h>
#include <string.h>

static int names_setup(void **state) {
    fake_gai_reset();
    return peer_setup(state);
}

static int names_teardown(void **state) {
    int r = peer_teardown(state);
    assert_int_equal(fake_gai.running, 0);
    return r;
}

/* The scripted peer listens on 127.0.0.1; at 127.0.0.2 nobody does. */
static void name_for_peer(const char *name, const struct peer_script *script) {
    t.peer = peer_new(t.f.loop, script);
    fixture_name(&t.f, name, peer_port(t.peer));
}

static void test_resolving_is_a_state(void **state) {
    (void)state;
    name_for_peer("db", &scripted);
    fixture_start(&t.f);
    assert_int_equal(link_state(t.f.link), LINK_RESOLVING);
    usec_t now = clock_monotonic();
    assert_in_range(link_deadline(t.f.link), now, now + 5 * USEC_PER_SEC);
    fixture_run_for(&t.f, 30 * MS);
    assert_int_equal(link_state(t.f.link), LINK_RESOLVING);
    fake_gai_end("db", "127.0.0.1", 0);
    fixture_wait(&t.f, &t.f.ups, 1);
    assert_string_equal(report_stub.tried, "127.0.0.1");
    assert_string_equal(link_address(t.f.link), "name:port");
    assert_true(link_deadline(t.f.link) == USEC_INFINITY);
}

static void test_each_address_in_turn(void **state) {
    (void)state;
    fake_gai.found = "127.0.0.2 127.0.0.3 127.0.0.1";
    name_for_peer("db", &scripted);
    fixture_start(&t.f);
    fixture_wait(&t.f, &t.f.ups, 1);
    assert_string_equal(report_stub.tried, "127.0.0.2 127.0.0.3 127.0.0.1");
    assert_int_equal(t.f.failures, 0); /* all in one round */
    assert_int_equal(fake_gai.asked, 1);
}

static void test_all_addresses_before_the_next_url(void **state) {
    (void)state;
    fake_gai.found = "127.0.0.2 127.0.0.3";
    fixture_name(&t.f, "dead", dead_port());
    use_peer(&scripted);
    fixture_start(&t.f);
    fixture_wait(&t.f, &t.f.ups, 1);
    assert_string_equal(report_stub.tried, "127.0.0.2 127.0.0.3 -");
    assert_int_equal(t.f.failures, 0);
}

static void test_looked_up_anew_in_each_round(void **state) {
    (void)state;
    fake_gai.found = "127.0.0.2 127.0.0.3";
    name_for_peer("db", &scripted);
    fixture_start(&t.f);
    fixture_wait(&t.f, &t.f.failures, 2);
    assert_string_equal(link_trouble(t.f.link), "Connection refused");
    assert_int_equal(report_stub.downs, 1);
    fake_gai.found = "127.0.0.1";
    fixture_wait(&t.f, &t.f.ups, 1);
    int asked = fake_gai.asked;
    assert_true(asked >= 3);
    peer_hang_up(t.peer);
    fixture_wait(&t.f, &t.f.ups, 2);
    assert_int_equal(fake_gai.asked, asked + 1);
}

static void test_a_name_that_is_not_known(void **state) {
    (void)state;
    name_for_peer("db.example", &scripted);
    fixture_start(&t.f);
    fake_gai_end("db.example", NULL, EAI_NONAME);
    fixture_wait(&t.f, &t.f.failures, 1);
    assert_string_equal(link_trouble(t.f.link),
                        "cannot resolve db.example: Name or service not known");
    assert_false(link_trouble_is_error(t.f.link));
    assert_string_equal(report_stub.reason, link_trouble(t.f.link));
    assert_string_equal(report_stub.moves, "down>resolving resolving>closing closing>down");
    fake_gai.found = "127.0.0.1";
    fixture_wait(&t.f, &t.f.ups, 1);
    assert_string_equal(link_trouble(t.f.link), "");
}

static void test_a_long_name_leaves_room_for_the_reason(void **state) {
    (void)state;
    char name[254], expected[256];
    memset(name, 'a', sizeof(name));
    name[253] = '\0';
    name_for_peer(name, &scripted);
    fixture_start(&t.f);
    fake_gai_end(name, NULL, EAI_NONAME);
    fixture_wait(&t.f, &t.f.failures, 1);
    (void)snprintf(expected, sizeof(expected), "cannot resolve %.80s...: Name or service not known",
                   name);
    assert_string_equal(link_trouble(t.f.link), expected);
    fixture_done_link(&t.f);
    fake_gai_reset();
}

static void test_no_answer_and_the_next_url(void **state) {
    (void)state;
    t.f.settings.connect_timeout = 40 * MS;
    fixture_name(&t.f, "never", 1);
    use_peer(&scripted);
    fixture_start(&t.f);
    fixture_wait(&t.f, &t.f.ups, 1);
    assert_string_equal(report_stub.reason, "cannot resolve never: no answer within 40ms");
    assert_string_equal(report_stub.tried, "-");
    fake_gai_end("never", "127.0.0.2", 0); /* while it is up: of no use */
    fixture_run_for(&t.f, 10 * MS);
    peer_hang_up(t.peer);
    fixture_wait(&t.f, &t.f.ups, 2);
    assert_string_equal(fake_gai.names, "never never ");
    assert_string_equal(report_stub.tried, "- -");
    fake_gai_end("never", NULL, EAI_AGAIN);
}

static void test_never_more_than_one_look_up(void **state) {
    (void)state;
    t.f.settings.connect_timeout = 10 * MS;
    name_for_peer("never", &scripted);
    fixture_start(&t.f);
    fixture_wait(&t.f, &t.f.failures, 5);
    assert_int_equal(fake_gai.asked, 1);
    assert_int_equal(t.f.ups, 0);
    fake_gai_end("never", NULL, EAI_AGAIN);
}

/* An answer that comes after its time, between two rounds or within the next. */
static void test_a_late_answer_is_used(void **state) {
    (void)state;
    t.f.settings.connect_timeout = 500 * MS;
    name_for_peer("slow", &scripted);
    fixture_start(&t.f);
    fixture_wait(&t.f, &t.f.failures, 1);
    assert_int_equal(link_state(t.f.link), LINK_DOWN);
    fake_gai_end("slow", "127.0.0.1", 0);
    fixture_wait(&t.f, &t.f.ups, 1);
    assert_int_equal(fake_gai.asked, 1);
    assert_int_equal(t.f.failures, 1);
}

static struct timer *answer_timer;

static void answer_now(void *data) {
    fake_gai_end(data, "127.0.0.1", 0);
}

/* What the look-up takes is not there for the connection. */
static void test_one_deadline_for_all(void **state) {
    (void)state;
    static char name[] = "db";
    t.f.settings.connect_timeout = 400 * MS;
    name_for_peer(name, &silent);
    assert_int_equal(timer_new(t.f.loop, answer_now, name, &answer_timer), 0);
    usec_t began = clock_monotonic();
    fixture_start(&t.f);
    timer_arm(answer_timer, 300 * MS);
    fixture_wait(&t.f, &t.f.failures, 1);
    answer_timer = timer_free(answer_timer);
    usec_t took = clock_monotonic() - began;
    assert_in_range(took, 400 * MS, 650 * MS);
    assert_string_equal(link_trouble(t.f.link), "no connection and greeting within 400ms");
}

/* But each further address has its own. */
static void test_each_further_address_has_its_time(void **state) {
    (void)state;
    t.f.settings.connect_timeout = 100 * MS;
    fake_gai.found = "127.0.0.1 127.0.0.2 127.0.0.1";
    name_for_peer("db", &silent);
    fixture_start(&t.f);
    fixture_wait(&t.f, &t.f.failures, 1);
    assert_string_equal(report_stub.tried, "127.0.0.1 127.0.0.2");
    assert_string_equal(link_trouble(t.f.link), "Connection refused");
}

static void test_a_replica_among_the_addresses(void **state) {
    (void)state;
    t.hello = "*4\r\n$6\r\nserver\r\n$5\r\nredis\r\n$4\r\nrole\r\n$7\r\nreplica\r\n";
    fake_gai.found = "127.0.0.1 127.0.0.2";
    name_for_peer("db", &scripted);
    fixture_start(&t.f);
    fixture_wait(&t.f, &t.f.failures, 1);
    assert_string_equal(report_stub.reason, "this is a replica");
    assert_string_equal(report_stub.tried, "127.0.0.1 127.0.0.2");
    fake_gai.found = "127.0.0.1"; /* the only one there is */
    fixture_wait(&t.f, &t.f.ups, 1);
}

static void test_dropped_while_resolving(void **state) {
    (void)state;
    name_for_peer("db", &scripted);
    fixture_start(&t.f);
    link_drop(t.f.link, "for the test", NULL);
    assert_int_equal(link_state(t.f.link), LINK_CLOSING);
    fake_gai_end("db", "127.0.0.1", 0);
    fixture_wait(&t.f, &t.f.ups, 1);
    assert_int_equal(t.f.failures, 1);
    assert_int_equal(fake_gai.asked, 1);
}

static void test_freed_while_resolving(void **state) {
    (void)state;
    name_for_peer("db", &scripted);
    fixture_start(&t.f);
    fixture_done_link(&t.f);
    assert_int_equal(fake_gai.running, 1);
    fake_gai_end("db", "127.0.0.1", 0);

    t.f.settings.connect_timeout = 10 * MS; /* the next link takes away what is left */
    fixture_start(&t.f);
    fixture_wait(&t.f, &t.f.failures, 1);
    assert_int_equal(fake_gai.asked, 1 + 1);
    fixture_done_link(&t.f);
    fake_gai_end("db", "127.0.0.1", 0);
    fixture_start(&t.f);
    fixture_done_link(&t.f);
    fake_gai_reset();
}

#define NAMES_TEST(test) cmocka_unit_test_setup_teardown(test, names_setup, names_teardown)

int main(void) {
    const struct CMUnitTest tests[] = {
        NAMES_TEST(test_resolving_is_a_state),
        NAMES_TEST(test_each_address_in_turn),
        NAMES_TEST(test_all_addresses_before_the_next_url),
        NAMES_TEST(test_looked_up_anew_in_each_round),
        NAMES_TEST(test_a_name_that_is_not_known),
        NAMES_TEST(test_a_long_name_leaves_room_for_the_reason),
        NAMES_TEST(test_no_answer_and_the_next_url),
        NAMES_TEST(test_never_more_than_one_look_up),
        NAMES_TEST(test_a_late_answer_is_used),
        NAMES_TEST(test_one_deadline_for_all),
        NAMES_TEST(test_each_further_address_has_its_time),
        NAMES_TEST(test_a_replica_among_the_addresses),
        NAMES_TEST(test_dropped_while_resolving),
        NAMES_TEST(test_freed_while_resolving),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
