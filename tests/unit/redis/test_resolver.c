/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The resolver, with a scripted getaddrinfo_a(3). That nothing leaks and nothing is used after
 * its end is seen by the sanitizers and by valgrind.
 */
#include "redis/resolver.h"

#include "fake_gai.h"
#include "unit.h"

#include <netdb.h>
#include <stdio.h>
#include <string.h>

#define MS USEC_PER_MSEC

static struct loop *loop;
static struct timer *limit;
static struct resolver *resolver;
static int answers;
static char addresses[1024]; /* of the last answer */
static char why[256];

static void on_answered(void *data, const struct resolved *resolved, const char *text) {
    (void)data;
    answers++;
    addresses[0] = '\0';
    for (size_t i = 0; resolved && i < resolved->n; i++) {
        size_t n = strlen(addresses);
        (void)snprintf(addresses + n, sizeof(addresses) - n, "%s%s", i ? " " : "",
                       resolved->addresses[i]);
    }
    assert_true((resolved == NULL) == (text != NULL));
    (void)snprintf(why, sizeof(why), "%s", text ? text : "");
    loop_stop(loop);
}

static struct resolver *make(void) {
    const struct resolver_owner owner = {on_answered, NULL};
    struct resolver *made = NULL;
    assert_int_equal(resolver_new(loop, &owner, &made), 0);
    return made;
}

static void stop(void *data) {
    loop_stop(data);
}

static int begin(void **state) {
    (void)state;
    answers = 0;
    addresses[0] = why[0] = '\0';
    fake_gai_reset();
    assert_int_equal(loop_new(&loop), 0);
    assert_int_equal(timer_new(loop, stop, loop, &limit), 0);
    resolver = make();
    return 0;
}

/* Ends with no look-up running, so that each test begins without any. */
static int end(void **state) {
    (void)state;
    resolver = resolver_free(resolver);
    limit = timer_free(limit);
    loop = loop_free(loop);
    assert_int_equal(fake_gai.running, 0);
    return 0;
}

/* What is known already is told in the first turn. */
static void turn(void) {
    timer_arm(limit, 20 * MS);
    assert_int_equal(loop_run(loop), 0);
    timer_disarm(limit);
}

static void ask(const char *name) {
    int before = answers;
    assert_int_equal(resolver_ask(resolver, name), 0);
    assert_int_equal(answers, before); /* never from within */
}

static void expect(int n, const char *found, const char *reason) {
    turn();
    assert_int_equal(answers, n);
    assert_string_equal(addresses, found);
    assert_string_equal(why, reason);
}

static void test_addresses_in_their_order(void **state) {
    (void)state;
    ask("db");
    turn();
    assert_int_equal(answers, 0);
    fake_gai_end("db", "10.0.0.2 ::1 10.0.0.1 10.0.0.2", 0);
    expect(1, "10.0.0.2 ::1 10.0.0.1", "");
    ask("db");
    fake_gai_end("db", "10.0.0.3", 0);
    expect(2, "10.0.0.3", ""); /* looked up anew */
    assert_int_equal(fake_gai.asked, 2);
}

static void test_not_too_many_addresses(void **state) {
    (void)state;
    char many[1024] = "";
    for (int i = 1; i <= RESOLVED_MAX + 5; i++)
        (void)snprintf(many + strlen(many), sizeof(many) - strlen(many), "10.0.0.%d ", i);
    ask("db");
    fake_gai_end("db", many, 0);
    turn();
    many[strlen("10.0.0.1 ") * 9 + strlen("10.0.0.10 ") * (RESOLVED_MAX - 9) - 1] = '\0';
    assert_string_equal(addresses, many);
}

static void test_a_name_that_is_not_known(void **state) {
    (void)state;
    ask("db");
    fake_gai_end("db", NULL, EAI_NONAME);
    expect(1, "", "Name or service not known");
    ask("db");
    fake_gai_end("db", NULL, EAI_AGAIN);
    expect(2, "", "Temporary failure in name resolution");
    ask("db");
    fake_gai_end("db", "", 0);
    expect(3, "", "no address");
}

static void test_a_request_that_is_refused(void **state) {
    (void)state;
    fake_gai.refusal = EAI_MEMORY;
    ask("db");
    expect(1, "", "Memory allocation failure");
    fake_gai.refusal = 0;
    ask("db");
    fake_gai_end("db", "10.0.0.1", 0);
    expect(2, "10.0.0.1", "");
}

static void test_a_request_that_is_refused_and_taken(void **state) {
    (void)state;
    fake_gai.refusal = EAI_AGAIN;
    fake_gai.take_refused = true;
    ask("db");
    turn();
    assert_int_equal(answers, 0);
    resolver_leave(resolver);
    fake_gai_end_quietly("db", "10.0.0.1", 0);
    ask("db");
    expect(1, "10.0.0.1", "");
    assert_int_equal(fake_gai.asked, 1);
}

static void test_a_late_answer_is_used(void **state) {
    (void)state;
    ask("db");
    resolver_leave(resolver);
    fake_gai_end("db", "10.0.0.1", 0);
    turn();
    assert_int_equal(answers, 0);
    ask("db");
    expect(1, "10.0.0.1", "");
    assert_int_equal(fake_gai.asked, 1);
    ask("db"); /* once */
    assert_int_equal(fake_gai.asked, 2);
    fake_gai_end("db", "10.0.0.2", 0);
    expect(2, "10.0.0.2", "");
}

static void test_who_asks_again_waits_for_the_same(void **state) {
    (void)state;
    for (int i = 0; i < 10; i++) {
        ask("db");
        turn();
        resolver_leave(resolver);
    }
    ask("db");
    fake_gai_end("db", "10.0.0.1", 0);
    expect(1, "10.0.0.1", "");
    assert_int_equal(fake_gai.asked, 1);
}

static void test_one_name_does_not_wait_for_another(void **state) {
    (void)state;
    ask("never");
    turn();
    resolver_leave(resolver);
    ask("db");
    fake_gai_end("db", "10.0.0.1", 0);
    expect(1, "10.0.0.1", "");
    ask("never");
    fake_gai_end("never", "10.0.0.2", 0);
    expect(2, "10.0.0.2", "");
    assert_string_equal(fake_gai.names, "never db ");
}

static void test_what_is_too_old_is_forgotten(void **state) {
    (void)state;
    ask("db"); /* answered, then forgotten */
    resolver_leave(resolver);
    fake_gai_end("db", "10.0.0.1", 0);
    turn();
    resolver_forget(resolver);
    ask("db");
    assert_int_equal(fake_gai.asked, 2);

    resolver_leave(resolver); /* forgotten, then answered */
    resolver_forget(resolver);
    fake_gai_end("db", "10.0.0.2", 0);
    turn();
    ask("db");
    assert_int_equal(fake_gai.asked, 3);

    resolver_leave(resolver); /* forgotten, asked for again, then answered */
    resolver_forget(resolver);
    ask("db");
    assert_int_equal(fake_gai.asked, 3);
    fake_gai_end("db", "10.0.0.3", 0);
    expect(1, "10.0.0.3", "");
}

static void test_a_lost_notice(void **state) {
    (void)state;
    ask("db");
    fake_gai_end_quietly("db", "10.0.0.1", 0);
    turn();
    assert_int_equal(answers, 0);
    resolver_leave(resolver);
    ask("db");
    expect(1, "10.0.0.1", "");
}

static void test_over_but_still_in_use(void **state) {
    (void)state;
    fake_gai.busy = true;
    ask("db");
    fake_gai_end("db", "10.0.0.1", 0);
    turn();
    assert_int_equal(answers, 0);
    fake_gai.busy = false;
    resolver_leave(resolver);
    ask("db");
    expect(1, "10.0.0.1", "");
}

static void test_what_runs_outlives_its_resolver(void **state) {
    (void)state;
    ask("db");
    resolver = resolver_free(resolver);
    assert_int_equal(fake_gai.running, 1);
    resolver = make();
    ask("other"); /* not mistaken for it */
    fake_gai_end("other", "10.0.0.9", 0);
    expect(1, "10.0.0.9", "");
    ask("db"); /* taken over */
    fake_gai_end("db", "10.0.0.1", 0);
    expect(2, "10.0.0.1", "");
    assert_int_equal(fake_gai.asked, 2);

    ask("db");
    resolver = resolver_free(resolver);
    resolver = make();
    fake_gai_end("db", "10.0.0.2", 0); /* nobody asks: it ends itself */
    turn();
    ask("db");
    assert_int_equal(fake_gai.asked, 4);
    fake_gai_end("db", "10.0.0.3", 0);
    expect(3, "10.0.0.3", "");
}

static void test_a_notice_after_the_end_does_no_harm(void **state) {
    (void)state;
    ask("db");
    resolver = resolver_free(resolver);
    fake_gai_end("db", "10.0.0.1", 0);
    resolver = make();
    turn();
    assert_int_equal(answers, 0);
}

static void test_what_does_not_run_yet_is_given_back(void **state) {
    (void)state;
    fake_gai.queued = true;
    ask("db");
    resolver = resolver_free(resolver);
    assert_int_equal(fake_gai.running, 0);
}

static void test_two_resolvers_ask_each_for_themselves(void **state) {
    (void)state;
    struct resolver *second = make();
    ask("db");
    assert_int_equal(resolver_ask(second, "db"), 0);
    assert_int_equal(fake_gai.asked, 2);
    fake_gai_end("db", "10.0.0.1", 0);
    expect(1, "10.0.0.1", "");
    fake_gai_end("db", "10.0.0.2", 0);
    expect(2, "10.0.0.2", "");
    second = resolver_free(second);
}

#define TEST(test) cmocka_unit_test_setup_teardown(test, begin, end)

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(test_addresses_in_their_order),
        TEST(test_not_too_many_addresses),
        TEST(test_a_name_that_is_not_known),
        TEST(test_a_request_that_is_refused),
        TEST(test_a_request_that_is_refused_and_taken),
        TEST(test_a_late_answer_is_used),
        TEST(test_who_asks_again_waits_for_the_same),
        TEST(test_one_name_does_not_wait_for_another),
        TEST(test_what_is_too_old_is_forgotten),
        TEST(test_a_lost_notice),
        TEST(test_over_but_still_in_use),
        TEST(test_what_runs_outlives_its_resolver),
        TEST(test_a_notice_after_the_end_does_no_harm),
        TEST(test_what_does_not_run_yet_is_given_back),
        TEST(test_two_resolvers_ask_each_for_themselves),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
