/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The link until it is up, against servers that do what no server should.
 */
#include "peer_fixture.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

/* --- before it is up ------------------------------------------------------------------------- */

static void test_refused(void **state) {
    (void)state;
    fixture_tcp(&t.f, dead_port());
    fixture_start(&t.f);
    assert_int_equal(command_time(t.f.link, on_time, NULL), LINK_E_DOWN);
    fixture_wait(&t.f, &t.f.failures, 3);
    assert_string_equal(link_trouble(t.f.link), "Connection refused");
    assert_false(link_trouble_is_error(t.f.link));
    assert_int_equal(report_stub.downs, 1);
    assert_int_equal(t.f.downs, 0);
    assert_true(link_deadline(t.f.link) < USEC_INFINITY);
    assert_memory_equal(report_stub.moves,
                        "down>resolving resolving>connecting connecting>closing closing>down", 67);
}

static void test_no_such_socket(void **state) {
    (void)state;
    fixture_unix(&t.f, "/nonexistent/redis.sock");
    fixture_start(&t.f);
    fixture_wait(&t.f, &t.f.failures, 2);
    assert_string_equal(link_trouble(t.f.link), "No such file or directory");
    assert_int_equal(report_stub.downs, 1);
}

/* A listener whose queue is full takes no further connection and refuses none. */
static void test_timeout_in_connect(void **state) {
    (void)state;
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t size = sizeof(address);
    int listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), fillers[4];
    assert_int_equal(bind(listener, (struct sockaddr *)&address, sizeof(address)), 0);
    assert_int_equal(listen(listener, 0), 0);
    assert_int_equal(getsockname(listener, (struct sockaddr *)&address, &size), 0);
    for (size_t i = 0; i < 4; i++) {
        fillers[i] = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
        (void)!connect(fillers[i], (struct sockaddr *)&address, sizeof(address));
    }

    fixture_tcp(&t.f, ntohs(address.sin_port));
    t.f.settings.connect_timeout = 60 * MS;
    fixture_start(&t.f);
    assert_int_equal(link_state(t.f.link), LINK_CONNECTING);
    fixture_wait(&t.f, &t.f.failures, 2);
    assert_string_equal(link_trouble(t.f.link), "no connection and greeting within 60ms");
    assert_null(strstr(report_stub.moves, "greeting"));
    assert_int_equal(report_stub.downs, 1);
    for (size_t i = 0; i < 4; i++)
        (void)close(fillers[i]);
    (void)close(listener);
}

static void test_timeout_in_greeting(void **state) {
    (void)state;
    use_peer(&silent);
    t.f.settings.connect_timeout = 60 * MS;
    fixture_start(&t.f);
    fixture_wait(&t.f, &t.f.failures, 2);
    assert_string_equal(link_trouble(t.f.link), "no connection and greeting within 60ms");
    assert_non_null(strstr(report_stub.moves, "connecting>greeting greeting>closing closing>down"));
    assert_int_equal(t.f.ups, 0);
}

static void hang_up_at_once(void *data, struct peer *peer) {
    (void)data;
    peer_hang_up(peer);
}

static void test_closed_at_once(void **state) {
    (void)state;
    const struct peer_script closing = {.accepted = hang_up_at_once,
                                        .requested = scripted.requested};
    use_peer(&closing);
    fixture_start(&t.f);
    fixture_wait(&t.f, &t.f.failures, 3);
    assert_true(strlen(link_trouble(t.f.link)) > 0);
    assert_int_equal(t.f.ups, 0);
    assert_int_equal(report_stub.downs, 1);
}

static void dripping_accepted(void *data, struct peer *peer) {
    (void)data;
    (void)peer;
    start_to_drip("*2\r\n$6\r\nserver\r\n$5\r\nredis\r\n+OK\r\n", 1 * MS);
}

static void test_a_greeting_byte_by_byte(void **state) {
    (void)state;
    const struct peer_script dripping = {.accepted = dripping_accepted,
                                         .requested = silent.requested};
    use_peer(&dripping);
    fixture_start(&t.f);
    fixture_wait(&t.f, &t.f.ups, 1);
    assert_string_equal(report_stub.brand, "redis");
}

static void test_a_greeting_too_slow(void **state) {
    (void)state;
    const struct peer_script dripping = {.accepted = dripping_accepted,
                                         .requested = silent.requested};
    use_peer(&dripping);
    t.f.settings.connect_timeout = 20 * MS;
    fixture_start(&t.f);
    fixture_wait(&t.f, &t.f.failures, 1);
    assert_int_equal(t.f.ups, 0);
}

static void too_many_clients(void *data, struct peer *peer) {
    (void)data;
    peer_say(peer, "-ERR max number of clients reached\r\n");
    peer_hang_up(peer);
}

static void test_too_many_clients(void **state) {
    (void)state;
    const struct peer_script full = {.accepted = too_many_clients, .requested = scripted.requested};
    use_peer(&full);
    fixture_start(&t.f);
    fixture_wait(&t.f, &t.f.failures, 2);
    assert_string_equal(report_stub.reason, "too many clients on the server");
    assert_false(link_trouble_is_error(t.f.link));
}

static void test_garbage_as_greeting(void **state) {
    (void)state;
    use_peer(&scripted);
    t.hello = "HTTP/1.1 400 Bad Request\r\n\r\n";
    fixture_start(&t.f);
    fixture_wait(&t.f, &t.f.failures, 1);
    assert_string_equal(link_trouble(t.f.link), "protocol error");
}

static void test_hello_of_an_unknown_shape(void **state) {
    (void)state;
    use_peer(&scripted);
    t.hello = ":5\r\n";
    fixture_start(&t.f);
    fixture_wait(&t.f, &t.f.failures, 1);
    assert_string_equal(link_trouble(t.f.link), "unexpected reply to HELLO");
}

static void test_hello_is_optional(void **state) {
    (void)state;
    use_peer(&scripted);
    t.hello = "-ERR unknown command `HELLO`\r\n";
    fixture_start(&t.f);
    fixture_wait(&t.f, &t.f.ups, 1);
    assert_string_equal(report_stub.version, "");
    assert_string_equal(t.seen, "HELLO CLIENT ");
}

static void test_database_is_selected(void **state) {
    (void)state;
    use_peer(&scripted);
    t.f.addresses[0].database = 7;
    fixture_start(&t.f);
    fixture_wait(&t.f, &t.f.ups, 1);
    assert_string_equal(t.seen, "HELLO SELECT CLIENT ");
}

static void test_versions_with_faults_are_reported_once(void **state) {
    (void)state;
    use_peer(&scripted);
    t.hello = "*4\r\n$6\r\nserver\r\n$5\r\nredis\r\n$7\r\nversion\r\n$5\r\n7.0.3\r\n";
    fixture_start(&t.f);
    fixture_wait(&t.f, &t.f.ups, 1);
    assert_int_equal(report_stub.faults, 2);
    assert_string_equal(report_stub.version, "7.0.3");
    peer_hang_up(t.peer);
    fixture_wait(&t.f, &t.f.ups, 2);
    assert_int_equal(report_stub.faults, 2);
}

/* --- passwords ------------------------------------------------------------------------------- */

static char password_path[64];

static void write_password(const char *text) {
    if (!password_path[0]) {
        (void)snprintf(password_path, sizeof(password_path), "/tmp/link-test-XXXXXX");
        int fd = mkstemp(password_path);
        assert_true(fd >= 0);
        (void)close(fd);
    }
    FILE *file = fopen(password_path, "we");
    assert_non_null(file);
    assert_true(fputs(text, file) >= 0);
    assert_int_equal(fclose(file), 0);
}

static int teardown_password(void **state) {
    (void)unlink(password_path);
    password_path[0] = '\0';
    return peer_teardown(state);
}

static void assert_no_secret(const char *secret) {
    assert_null(strstr(link_trouble(t.f.link), secret));
    assert_null(strstr(report_stub.reason, secret));
    assert_null(strstr(report_stub.word, secret));
    assert_null(strstr(report_stub.moves, secret));
}

static void test_an_echoed_password_is_shown_nowhere(void **state) {
    (void)state;
    static const char *const answers[] = {
        "-ERR invalid password 'HUNTER2'\r\n",
        "-HUNTER2 is no good\r\n",
        "-HUNTER2\r\n",
        "-WRONGPASS HUNTER2\r\n",
        "$7\r\nHUNTER2\r\n",
        "+OK HUNTER2\r\n-ERR HUNTER2\r\n-ERR HUNTER2\r\n-HUNTER2 again\r\n",
        "HUNTER2\r\n",
    };
    write_password("HUNTER2\n");
    use_peer(&scripted);
    t.f.settings.password_file = password_path;
    t.auth = answers[0];
    fixture_start(&t.f);
    for (size_t i = 0; i < sizeof(answers) / sizeof(answers[0]); i++) {
        t.auth = answers[i];
        fixture_wait(&t.f, &t.f.ends, t.f.ends + 1);
        fixture_wait(&t.f, &t.f.ends, t.f.ends + 1);
        assert_string_equal(t.password, "HUNTER2");
        assert_no_secret("HUNTER2");
    }
}

static void test_refused_password(void **state) {
    (void)state;
    write_password("one");
    use_peer(&scripted);
    t.f.settings.password_file = password_path;
    t.f.settings.username = "worker";
    t.auth = "-WRONGPASS invalid username-password pair or user is disabled.\r\n";
    fixture_start(&t.f);
    fixture_wait(&t.f, &t.f.failures, 2);
    assert_string_equal(link_trouble(t.f.link), "WRONGPASS");
    assert_true(link_trouble_is_error(t.f.link));
    assert_string_equal(report_stub.word, "WRONGPASS");
    assert_int_equal(report_stub.downs, 1);

    write_password("two\n");
    t.auth = NULL;
    fixture_wait(&t.f, &t.f.ups, 1);
    assert_string_equal(t.password, "two");
    assert_string_equal(link_trouble(t.f.link), "");
    assert_false(link_trouble_is_error(t.f.link));
}

static void test_unreadable_password_file(void **state) {
    (void)state;
    write_password("one");
    assert_int_equal(unlink(password_path), 0);
    use_peer(&scripted);
    t.f.settings.password_file = password_path;
    fixture_start(&t.f);
    fixture_wait(&t.f, &t.f.failures, 1);
    assert_true(link_trouble_is_error(t.f.link));
    assert_memory_equal(link_trouble(t.f.link), "password_file: ", 15);
    assert_string_equal(t.seen, "");
}

#define PASSWORD_TEST(test) cmocka_unit_test_setup_teardown(test, peer_setup, teardown_password)

int main(void) {
    const struct CMUnitTest tests[] = {
        LINK_TEST(test_refused),
        LINK_TEST(test_no_such_socket),
        LINK_TEST(test_timeout_in_connect),
        LINK_TEST(test_timeout_in_greeting),
        LINK_TEST(test_closed_at_once),
        LINK_TEST(test_a_greeting_byte_by_byte),
        LINK_TEST(test_a_greeting_too_slow),
        LINK_TEST(test_too_many_clients),
        LINK_TEST(test_garbage_as_greeting),
        LINK_TEST(test_hello_of_an_unknown_shape),
        LINK_TEST(test_hello_is_optional),
        LINK_TEST(test_database_is_selected),
        LINK_TEST(test_versions_with_faults_are_reported_once),
        PASSWORD_TEST(test_an_echoed_password_is_shown_nowhere),
        PASSWORD_TEST(test_refused_password),
        PASSWORD_TEST(test_unreadable_password_file),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
