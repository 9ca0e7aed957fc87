/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The link and all commands against a real redis-server.
 */
#include "link_fixture.h"
#include "redis/command.h"
#include "redis_server.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define MS USEC_PER_MSEC

static const struct group_ref ref = {.stream = "s", .group = "g", .consumer = "me"};
static const struct group_ref other = {.stream = "s", .group = "g", .consumer = "other"};
static const struct group_ref nobody = {.stream = "none", .group = "g", .consumer = "me"};

struct test {
    struct link_fixture f;
    struct redis_server server;
    int answers, unknown;
    struct answer answer;
    char cursor[64];
    bool at_end, yes;
    struct entry_id ids[64];
    size_t n, n_deleted, n_gone;
    struct entry_id deleted[64];
    struct pending_summary summary;
    struct pending_entry pending[64];
    char text[512];
    uint64_t number;
};

static struct test t;

static void note(const struct answer *answer) {
    t.answer = *answer;
    t.answers++;
    if (answer->kind == ANSWER_UNKNOWN)
        t.unknown++;
    assert_true(answer->answered >= answer->sent && answer->sent > 0);
    fixture_poke(&t.f);
}

static void on_page(void *data, const struct answer *answer, const struct autoclaim_answer *page) {
    assert_ptr_equal(data, &t);
    if (page) {
        (void)snprintf(t.cursor, sizeof(t.cursor), "%s", page->cursor);
        t.at_end = page->at_end;
        t.n = page->n_claimed;
        t.n_deleted = page->n_deleted;
        memcpy(t.ids, page->claimed, t.n * sizeof(*t.ids));
        memcpy(t.deleted, page->deleted, t.n_deleted * sizeof(*t.deleted));
    }
    note(answer);
}

static void on_summary(void *data, const struct answer *answer,
                       const struct pending_summary *summary) {
    (void)data;
    if (summary)
        t.summary = *summary;
    note(answer);
}

static void on_range(void *data, const struct answer *answer, const struct pending_entry *entries,
                     size_t n) {
    (void)data;
    t.n = n;
    t.text[0] = '\0';
    for (size_t i = 0; i < n; i++) {
        t.pending[i] = entries[i];
        (void)snprintf(t.text + strlen(t.text), sizeof(t.text) - strlen(t.text), "%.*s ",
                       (int)entries[i].consumer.size, entries[i].consumer.data);
    }
    note(answer);
}

static void on_bodies(void *data, const struct answer *answer, const struct entry *entries,
                      size_t n, size_t n_gone) {
    (void)data;
    t.n = n;
    t.n_gone = n_gone;
    t.text[0] = '\0';
    for (size_t i = 0; i < n; i++) {
        t.ids[i] = entries[i].id;
        for (size_t j = 0; j < entries[i].n_strings; j++)
            (void)snprintf(t.text + strlen(t.text), sizeof(t.text) - strlen(t.text), "%.*s ",
                           (int)entries[i].strings[j].size, entries[i].strings[j].data);
    }
    note(answer);
}

static void on_ids(void *data, const struct answer *answer, const struct entry_id *ids, size_t n) {
    (void)data;
    t.n = n;
    if (n)
        memcpy(t.ids, ids, n * sizeof(*ids));
    note(answer);
}

static void on_exists(void *data, const struct answer *answer, bool exists) {
    (void)data;
    t.yes = exists;
    note(answer);
}

static void on_number(void *data, const struct answer *answer, uint64_t number) {
    (void)data;
    t.number = number;
    note(answer);
}

/* --- fixture --------------------------------------------------------------------------------- */

static int setup_with(const char *const *options) {
    t = (struct test){0};
    fixture_init(&t.f);
    if (!redis_server_start(&t.server, options))
        return 0;
    fixture_unix(&t.f, t.server.socket);
    return 0;
}

static int setup(void **state) {
    (void)state;
    return setup_with(NULL);
}

static int teardown(void **state) {
    (void)state;
    fixture_done(&t.f);
    redis_server_remove(&t.server);
    return 0;
}

static void need_server(void) {
    if (t.server.pid == 0)
        skip();
}

static void bring_up(void) {
    need_server();
    fixture_start(&t.f);
    fixture_wait(&t.f, &t.f.ups, 1);
}

static void answered(int r) {
    assert_int_equal(r, 0);
    fixture_wait(&t.f, &t.answers, t.answers + 1);
}

static void answered_ok(int r) {
    answered(r);
    assert_int_equal(t.answer.kind, ANSWER_OK);
}

static struct entry_id id(uint64_t ms) {
    return (struct entry_id){ms, 0};
}

static const char *brand(void) {
    return redis_server_says(&t.server, "server_name:valkey") ? "valkey" : "redis";
}

/* n entries 1-0, 2-0, ... pending for "other". */
static void fill(int n) {
    redis_server_do(&t.server, "XGROUP CREATE s g 0 MKSTREAM");
    for (int i = 1; i <= n; i++)
        redis_server_do(&t.server, "XADD s %d-0 name value%d", i, i);
    redis_server_do(&t.server, "XREADGROUP GROUP g other COUNT 1000 STREAMS s >");
}

/* --- commands -------------------------------------------------------------------------------- */

static void test_up(void **state) {
    (void)state;
    bring_up();
    assert_string_equal(report_stub.brand, brand());
    assert_true(strlen(report_stub.version) >= 5);
    assert_int_equal(report_stub.ups, 1);
    assert_int_equal(report_stub.downs, 0);
    assert_string_equal(report_stub.moves,
                        "down>resolving resolving>connecting connecting>greeting greeting>up");
    assert_true(link_deadline(t.f.link) == USEC_INFINITY);
}

static void test_autoclaim(void **state) {
    (void)state;
    bring_up();
    fill(5);
    redis_server_do(&t.server, "XDEL s 2-0");
    answered_ok(command_xautoclaim(t.f.link, &ref, 0, "0-0", 3, on_page, &t));
    assert_int_equal(t.n + t.n_deleted, 3);
    if (redis_server_says(&t.server, "redis_version:6.2")) {
        assert_int_equal(t.n_deleted, 0); /* it does not look whether they still exist */
    } else {
        assert_int_equal(t.n_deleted, 1);
        assert_int_equal(t.deleted[0].ms, 2);
    }
    assert_string_equal(t.cursor, "4-0");
    assert_false(t.at_end);
    answered_ok(command_xautoclaim(t.f.link, &ref, 0, t.cursor, 100, on_page, &t));
    assert_int_equal(t.n, 2);
    assert_true(t.at_end);
    assert_string_equal(t.cursor, "0-0");
    answered_ok(command_xautoclaim(t.f.link, &ref, USEC_INFINITY, "0-0", 100, on_page, &t));
    assert_int_equal(t.n, 0);
    answered(command_xautoclaim(t.f.link, &nobody, 1, "0-0", 100, on_page, &t));
    assert_int_equal(t.answer.kind, ANSWER_ERROR);
    assert_int_equal(t.answer.error, REDIS_ERROR_NOGROUP);
    assert_string_equal(t.answer.word, "NOGROUP");
}

static void test_pending(void **state) {
    (void)state;
    bring_up();
    fill(5);
    answered_ok(command_xpending_summary(t.f.link, &ref, on_summary, &t));
    assert_int_equal(t.summary.total, 5);
    assert_int_equal(t.summary.lowest.ms, 1);
    assert_int_equal(t.summary.highest.ms, 5);

    struct pending_range range = {.first = {0, 0}, .last = {UINT64_MAX, UINT64_MAX}, .count = 10};
    answered_ok(command_xpending_range(t.f.link, &ref, &range, on_range, &t));
    assert_int_equal(t.n, 5);
    assert_string_equal(t.text, "other other other other other ");
    assert_int_equal(t.pending[0].deliveries, 1);
    assert_int_equal(t.pending[0].idle % MS, 0);
    range.after_first = true;
    range.first = id(2);
    range.count = 2;
    answered_ok(command_xpending_range(t.f.link, &ref, &range, on_range, &t));
    assert_int_equal(t.n, 2);
    assert_int_equal(t.pending[0].id.ms, 3);
    range.only_ours = true;
    answered_ok(command_xpending_range(t.f.link, &ref, &range, on_range, &t));
    assert_int_equal(t.n, 0);
    answered_ok(command_xpending_range(t.f.link, &other, &range, on_range, &t));
    assert_int_equal(t.n, 2);
    range.min_idle = 3600 * USEC_PER_SEC;
    answered_ok(command_xpending_range(t.f.link, &other, &range, on_range, &t));
    assert_int_equal(t.n, 0);

    redis_server_do(&t.server, "XGROUP CREATE s empty 0");
    const struct group_ref empty = {.stream = "s", .group = "empty", .consumer = "me"};
    answered_ok(command_xpending_summary(t.f.link, &empty, on_summary, &t));
    assert_int_equal(t.summary.total, 0);
}

static void test_claims(void **state) {
    (void)state;
    bring_up();
    fill(4);
    const struct entry_id ids[] = {id(1), id(2), id(3), id(9)};
    answered_ok(command_xclaim_bodies(t.f.link, &ref, 0, ids, 4, on_bodies, &t));
    assert_int_equal(t.n, 3);
    assert_int_equal(t.n_gone, 0);
    assert_string_equal(t.text, "name value1 name value2 name value3 ");
    answered_ok(command_xclaim_bodies(t.f.link, &ref, 3600 * USEC_PER_SEC, ids, 4, on_bodies, &t));
    assert_int_equal(t.n, 0);

    struct claim_options options = {.retry_count = CLAIM_KEEP_COUNT};
    answered_ok(command_xclaim_ids(t.f.link, &ref, 0, ids, 4, &options, on_ids, &t));
    assert_int_equal(t.n, 3);
    const struct pending_range range = {.first = {1, 0}, .last = {1, 0}, .count = 1};
    answered_ok(command_xpending_range(t.f.link, &ref, &range, on_range, &t));
    assert_int_equal(t.pending[0].deliveries, 2);
    assert_string_equal(t.text, "me ");

    options = (struct claim_options){.retry_count = INT64_MAX, .release = true};
    answered_ok(command_xclaim_ids(t.f.link, &ref, 0, ids, 1, &options, on_ids, &t));
    answered_ok(command_xpending_range(t.f.link, &ref, &range, on_range, &t));
    assert_true(t.pending[0].deliveries == INT64_MAX);
    assert_true(t.pending[0].idle > 1000000000 * USEC_PER_SEC);

    redis_server_do(&t.server, "SADD wrong a");
    const struct group_ref wrong = {.stream = "wrong", .group = "g", .consumer = "me"};
    answered(command_xclaim_ids(t.f.link, &wrong, 0, ids, 1, &options, on_ids, &t));
    assert_int_equal(t.answer.error, REDIS_ERROR_WRONGTYPE);
}

static void test_small_commands(void **state) {
    (void)state;
    bring_up();
    fill(3);
    answered_ok(command_entry_exists(t.f.link, &ref, id(2), on_exists, &t));
    assert_true(t.yes);
    answered_ok(command_entry_exists(t.f.link, &ref, id(7), on_exists, &t));
    assert_false(t.yes);
    answered_ok(command_key_exists(t.f.link, &ref, on_exists, &t));
    assert_true(t.yes);
    answered_ok(command_key_exists(t.f.link, &nobody, on_exists, &t));
    assert_false(t.yes);
    const struct entry_id ids[] = {id(1), id(3), id(9)};
    answered_ok(command_xack(t.f.link, &ref, ids, 3, on_number, &t));
    assert_int_equal(t.number, 2);
    answered_ok(command_xack(t.f.link, &ref, ids, 3, on_number, &t));
    assert_int_equal(t.number, 0);
    answered_ok(command_rpush_ids(t.f.link, "list", ids, 3, on_number, &t));
    answered_ok(command_rpush_ids(t.f.link, "list", ids, 1, on_number, &t));
    assert_int_equal(t.number, 4);
    answered_ok(command_time(t.f.link, on_number, &t));
    assert_true(t.number > 1500000000 * USEC_PER_SEC);
}

static void test_many_ids(void **state) {
    (void)state;
    bring_up();
    fill(1);
    struct entry_id ids[1000];
    for (size_t i = 0; i < 1000; i++)
        ids[i] = (struct entry_id){UINT64_MAX - i, UINT64_MAX};
    ids[500] = id(1);
    answered_ok(command_xack(t.f.link, &ref, ids, 1000, on_number, &t));
    assert_int_equal(t.number, 1);
}

static void test_answers_come_in_their_order(void **state) {
    (void)state;
    bring_up();
    fill(1);
    for (int i = 0; i < 100; i++) {
        assert_int_equal(command_key_exists(t.f.link, &ref, on_exists, &t), 0);
        assert_int_equal(command_time(t.f.link, on_number, &t), 0);
        assert_int_equal(command_xautoclaim(t.f.link, &nobody, 0, "0-0", 1, on_page, &t), 0);
    }
    fixture_wait(&t.f, &t.answers, 300);
    assert_int_equal(t.answers, 300);
    assert_int_equal(t.unknown, 0);
    assert_true(t.yes);
    assert_int_equal(t.answer.error, REDIS_ERROR_NOGROUP);
}

static void test_errors_of_the_server(void **state) {
    (void)state;
    bring_up();
    fill(1);
    redis_server_do(&t.server, "ACL SETUSER default -time");
    answered(command_time(t.f.link, on_number, &t));
    assert_int_equal(t.answer.error, REDIS_ERROR_NOPERM);
    answered(command_xautoclaim(t.f.link, &ref, 0, "not-an-id", 1, on_page, &t));
    assert_int_equal(t.answer.error, REDIS_ERROR_OTHER);
    assert_string_equal(t.answer.word, "ERR");
}

/* --- the link -------------------------------------------------------------------------------- */

static void test_over_tcp(void **state) {
    (void)state;
    need_server();
    t.f.settings.n_addresses = 0;
    fixture_tcp(&t.f, t.server.port);
    fixture_start(&t.f);
    fixture_wait(&t.f, &t.f.ups, 1);
    answered_ok(command_time(t.f.link, on_number, &t));
}

static void test_killed_and_started_again(void **state) {
    (void)state;
    bring_up();
    redis_server_signal(&t.server, SIGSTOP);
    for (int i = 0; i < 10; i++)
        assert_int_equal(command_time(t.f.link, on_number, &t), 0);
    redis_server_kill(&t.server);
    fixture_wait(&t.f, &t.f.failures, 3);
    assert_int_equal(t.unknown, 10);
    assert_int_equal(t.f.downs, 1);
    assert_int_equal(report_stub.downs, 1);
    redis_server_restart(&t.server, NULL);
    fixture_wait(&t.f, &t.f.ups, 2);
    assert_int_equal(report_stub.ups, 2);
    assert_true(report_stub.outage > 0);
    answered_ok(command_time(t.f.link, on_number, &t));
    assert_int_equal(t.answers, 11);
}

static void test_a_hung_server(void **state) {
    (void)state;
    t.f.settings.command_timeout = 80 * MS;
    t.f.settings.connect_timeout = 80 * MS;
    bring_up();
    redis_server_signal(&t.server, SIGSTOP);
    assert_int_equal(command_time(t.f.link, on_number, &t), 0);
    fixture_wait(&t.f, &t.f.failures, 2);
    assert_int_equal(t.unknown, 1);
    redis_server_signal(&t.server, SIGCONT);
    fixture_wait(&t.f, &t.f.ups, 2);
    answered_ok(command_time(t.f.link, on_number, &t));
}

static void test_turned_into_a_replica(void **state) {
    (void)state;
    bring_up();
    fill(1);
    redis_server_do(&t.server, "REPLICAOF 127.0.0.1 1");
    const struct entry_id ids[] = {id(1)};
    answered(command_xack(t.f.link, &ref, ids, 1, on_number, &t));
    assert_int_equal(t.answer.error, REDIS_ERROR_READONLY);
    fixture_wait(&t.f, &t.f.downs, 1);
    assert_string_equal(report_stub.word, "READONLY");
    redis_server_do(&t.server, "REPLICAOF NO ONE");
    fixture_wait(&t.f, &t.f.ups, 2);
    answered_ok(command_xack(t.f.link, &ref, ids, 1, on_number, &t));
    assert_int_equal(t.number, 1);
}

static void test_killed_by_the_server(void **state) {
    (void)state;
    bring_up();
    redis_server_do(&t.server, "CLIENT KILL TYPE normal SKIPME yes");
    fixture_wait(&t.f, &t.f.ups, 2);
    assert_string_equal(t.f.news, "udu");
}

static int setup_password(void **state) {
    (void)state;
    static const char *const options[] = {"--requirepass", "", NULL};
    return setup_with(options);
}

static void test_credentials(void **state) {
    (void)state;
    char path[128];

    need_server();
    (void)snprintf(path, sizeof(path), "%s/password", t.server.directory);
    redis_server_do(&t.server, "ACL SETUSER default >first");
    fixture_start(&t.f);
    fixture_wait(&t.f, &t.f.failures, 1);
    assert_string_equal(link_trouble(t.f.link), "NOAUTH");
    assert_true(link_trouble_is_error(t.f.link));
    fixture_done_link(&t.f);

    FILE *file = fopen(path, "we");
    assert_non_null(file);
    assert_true(fputs("second\n", file) >= 0);
    assert_int_equal(fflush(file), 0);
    assert_int_equal(fchmod(fileno(file), 0600), 0);
    t.f.settings.password_file = path;
    fixture_start(&t.f);
    fixture_wait(&t.f, &t.f.failures, t.f.failures + 1);
    assert_string_equal(link_trouble(t.f.link), "WRONGPASS");

    rewind(file);
    assert_int_equal(ftruncate(fileno(file), 0), 0);
    assert_true(fputs("first\n", file) >= 0);
    assert_int_equal(fclose(file), 0);
    fixture_wait(&t.f, &t.f.ups, 1);
    answered_ok(command_time(t.f.link, on_number, &t));
    fixture_done_link(&t.f);

    redis_server_do(&t.server, "ACL SETUSER worker on >first ~* +@all");
    t.f.settings.username = "worker";
    fixture_start(&t.f);
    fixture_wait(&t.f, &t.f.ups, 2);
    redis_server_do(&t.server, "ACL DELUSER worker");
    fixture_wait(&t.f, &t.f.failures, t.f.failures + 1);
    assert_string_equal(link_trouble(t.f.link), "WRONGPASS");
}

/* The rights that the manual asks for are enough to come up. */
static void test_least_rights(void **state) {
    (void)state;
    need_server();
    redis_server_do(&t.server, "ACL SETUSER default >first");
    redis_server_do(&t.server, "ACL SETUSER least on nopass ~s resetchannels -@all +xautoclaim "
                               "+xclaim +xrange +xack +xpending +exists +ping");
    t.f.settings.username = "least";
    fixture_start(&t.f);
    fixture_wait(&t.f, &t.f.ups, 1);
    assert_string_equal(report_stub.brand, brand());
    answered(command_time(t.f.link, on_number, &t));
    assert_int_equal(t.answer.error, REDIS_ERROR_NOPERM);
    answered(command_key_exists(t.f.link, &ref, on_exists, &t));
    assert_int_equal(t.answer.kind, ANSWER_OK);
}

static void test_a_database_that_does_not_exist(void **state) {
    (void)state;
    need_server();
    t.f.addresses[0].database = 4711;
    fixture_start(&t.f);
    fixture_wait(&t.f, &t.f.failures, 1);
    assert_string_equal(link_trouble(t.f.link), "SELECT refused: ERR");
    assert_true(link_trouble_is_error(t.f.link));
}

static void test_a_large_body(void **state) {
    (void)state;
    bring_up();
    size_t size = (size_t)8 << 20;
    char *value = calloc(1, size + 1);
    assert_non_null(value);
    memset(value, 'x', size);
    redis_server_do(&t.server, "XGROUP CREATE s g 0 MKSTREAM");
    redis_server_do(&t.server, "XADD s 1-0 a %s", value);
    redis_server_do(&t.server, "XREADGROUP GROUP g other STREAMS s >");
    free(value);
    const struct entry_id ids[] = {id(1)};
    answered_ok(command_xclaim_bodies(t.f.link, &ref, 0, ids, 1, on_bodies, &t));
    assert_int_equal(t.n, 1);
}

#define SERVER_TEST(test) cmocka_unit_test_setup_teardown(test, setup, teardown)

int main(void) {
    const struct CMUnitTest tests[] = {
        SERVER_TEST(test_up),
        SERVER_TEST(test_autoclaim),
        SERVER_TEST(test_pending),
        SERVER_TEST(test_claims),
        SERVER_TEST(test_small_commands),
        SERVER_TEST(test_many_ids),
        SERVER_TEST(test_answers_come_in_their_order),
        SERVER_TEST(test_errors_of_the_server),
        SERVER_TEST(test_over_tcp),
        SERVER_TEST(test_killed_and_started_again),
        SERVER_TEST(test_a_hung_server),
        SERVER_TEST(test_turned_into_a_replica),
        SERVER_TEST(test_killed_by_the_server),
        cmocka_unit_test_setup_teardown(test_credentials, setup_password, teardown),
        SERVER_TEST(test_least_rights),
        SERVER_TEST(test_a_database_that_does_not_exist),
        SERVER_TEST(test_a_large_body),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
