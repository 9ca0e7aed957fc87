/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The fault proxy between a plain client and a real server: each of its commands once. The
 * program is the first argument.
 */
#include "base/clock.h"
#include "redis_server.h"
#include "unit.h"

#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static const char *program;

static struct {
    struct redis_server server;
    pid_t pid;
    FILE *in, *out;
    char line[4096];
    char record[128];
    unsigned port;
    redisContext *client;
} t;

static const char *read_line(void) {
    struct pollfd watch = {.fd = fileno(t.out), .events = POLLIN};
    if (poll(&watch, 1, 10000) != 1 || !fgets(t.line, sizeof(t.line), t.out))
        fail_msg("no answer");
    return t.line;
}

static const char *tell(const char *line) {
    assert_true(fprintf(t.in, "%s\n", line) > 0);
    assert_int_equal(fflush(t.in), 0);
    return read_line();
}

static void order(const char *line) {
    assert_string_equal(tell(line), "ok\n");
}

static void start_proxy(void) {
    int in[2], out[2];
    char upstream[128];

    (void)snprintf(upstream, sizeof(upstream), "unix:%s", t.server.socket);
    (void)snprintf(t.record, sizeof(t.record), "%s/record", t.server.directory);
    assert_int_equal(pipe(in), 0);
    assert_int_equal(pipe(out), 0);
    t.pid = fork();
    assert_true(t.pid >= 0);
    if (t.pid == 0) {
        (void)dup2(in[0], 0);
        (void)dup2(out[1], 1);
        (void)close(in[1]);
        (void)execl(program, program, "--listen", "127.0.0.1:0", "--upstream", upstream, "--record",
                    t.record, (char *)NULL);
        _exit(127);
    }
    (void)close(in[0]);
    (void)close(out[1]);
    t.in = fdopen(in[1], "w");
    t.out = fdopen(out[0], "r");
    assert_int_equal(sscanf(read_line(), "127.0.0.1:%u", &t.port), 1);
}

static void reconnect(void) {
    if (t.client)
        redisFree(t.client);
    t.client = redisConnect("127.0.0.1", (int)t.port);
    assert_non_null(t.client);
    assert_int_equal(t.client->err, 0);
    assert_int_equal(redisSetTimeout(t.client, (struct timeval){.tv_sec = 10}), REDIS_OK);
}

static int setup(void **state) {
    (void)state;
    memset(&t, 0, sizeof(t));
    if (!redis_server_start(&t.server, NULL))
        return 0;
    start_proxy();
    reconnect();
    return 0;
}

static int teardown(void **state) {
    (void)state;
    if (t.client)
        redisFree(t.client);
    if (t.in) {
        (void)fclose(t.in);
        int status = 0;
        assert_int_equal(waitpid(t.pid, &status, 0), t.pid);
        assert_int_equal(status, 0);
        (void)fclose(t.out);
    }
    redis_server_remove(&t.server);
    return 0;
}

static void need_server(void) {
    if (!t.client)
        skip();
}

static void ping(bool works) {
    redisReply *reply = redisCommand(t.client, "PING");
    if (works) {
        assert_non_null(reply);
        assert_string_equal(reply->str, "PONG");
    } else {
        assert_null(reply);
    }
    freeReplyObject(reply);
}

static void test_passes_everything(void **state) {
    (void)state;
    need_server();
    char *value = calloc(1, 3000001);
    memset(value, 'x', 3000000);
    redisReply *reply = redisCommand(t.client, "SET key %s", value);
    assert_non_null(reply);
    freeReplyObject(reply);
    reply = redisCommand(t.client, "GET key");
    assert_non_null(reply);
    assert_int_equal(reply->len, 3000000);
    assert_string_equal(reply->str, value);
    freeReplyObject(reply);
    free(value);
    ping(true);
    assert_non_null(strstr(tell("count"), "\"requests\": 3, \"replies\": 3, \"swallowed\": 0"));
    assert_non_null(strstr(t.line, "\"commands\": {\"SET\": 1, \"GET\": 1, \"PING\": 1}"));
}

static void test_cuts(void **state) {
    (void)state;
    need_server();
    order("cut-down 3");
    ping(false);
    reconnect();
    ping(true);
    order("cut-up 0");
    ping(false);
    assert_int_equal(redis_server_do(&t.server, "EXISTS x"), 0);
    reconnect();
    order("cut-down 7"); /* the whole answer */
    ping(true);
    ping(false);
    reconnect();
    ping(true);
    order("cut");
    ping(false);
    assert_non_null(strstr(tell("count"), "\"open\": 0, \"cut\": 4"));
}

static void test_replies_are_swallowed(void **state) {
    (void)state;
    need_server();
    order("swallow INCR 2");
    assert_int_equal(redisAppendCommand(t.client, "INCR a"), REDIS_OK);
    assert_int_equal(redisAppendCommand(t.client, "PING"), REDIS_OK);
    assert_int_equal(redisAppendCommand(t.client, "INCR a"), REDIS_OK);
    assert_int_equal(redisAppendCommand(t.client, "LRANGE none 0 -1"), REDIS_OK);
    const int types[] = {REDIS_REPLY_INTEGER, REDIS_REPLY_STATUS, REDIS_REPLY_ARRAY};
    for (size_t i = 0; i < 3; i++) {
        void *reply = NULL;
        assert_int_equal(redisGetReply(t.client, &reply), REDIS_OK);
        assert_int_equal(((redisReply *)reply)->type, types[i]);
        freeReplyObject(reply);
    }
    order("drop-reply incr");
    assert_null(redisCommand(t.client, "INCR a"));
    assert_int_equal(redis_server_do(&t.server, "INCRBY a 0"), 3);
}

static void test_pieces_and_pace(void **state) {
    (void)state;
    need_server();
    order("split 1");
    ping(true);
    order("split 0");
    order("slow 100"); /* 14 bytes there */
    usec_t began = clock_monotonic();
    ping(true);
    assert_true(clock_monotonic() - began >= 100 * USEC_PER_MSEC);
    order("slow 0");
    ping(true);
}

static void test_held_and_refused(void **state) {
    (void)state;
    need_server();
    order("hold down");
    assert_int_equal(redisSetTimeout(t.client, (struct timeval){.tv_usec = 20000}), REDIS_OK);
    assert_null(redisCommand(t.client, "PING"));
    order("resume");
    order("refuse on");
    redisContext *refused = redisConnect("127.0.0.1", (int)t.port);
    assert_non_null(refused);
    assert_null(redisCommand(refused, "PING"));
    redisFree(refused);
    order("refuse off");
    reconnect();
    ping(true);
}

static void test_bad_commands(void **state) {
    (void)state;
    need_server();
    static const char *const bad[] = {"",       "nonsense", "cut-up",    "cut-down x",
                                      "hold",   "hold all", "swallow",   "swallow X 0",
                                      "refuse", "slow -1",  "split many"};
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
        assert_memory_equal(tell(bad[i]), "error ", 6);
    ping(true);
}

static void test_record(void **state) {
    (void)state;
    need_server();
    ping(true);
    (void)tell("count"); /* what came before has been written */
    FILE *file = fopen(t.record, "re");
    char line[512];
    assert_non_null(file);
    assert_non_null(fgets(line, sizeof(line), file));
    assert_non_null(
        strstr(line, "\"conn\": 1, \"dir\": \"up\", \"data\": \"KjENCiQ0DQpQSU5HDQo=\"}"));
    assert_non_null(fgets(line, sizeof(line), file));
    assert_non_null(strstr(line, "\"dir\": \"down\", \"data\": \"K1BPTkcNCg==\"}"));
    (void)fclose(file);
}

#define PROXY_TEST(test) cmocka_unit_test_setup_teardown(test, setup, teardown)

int main(int argc, char **argv) {
    const struct CMUnitTest tests[] = {
        PROXY_TEST(test_passes_everything),
        PROXY_TEST(test_cuts),
        PROXY_TEST(test_replies_are_swallowed),
        PROXY_TEST(test_pieces_and_pace),
        PROXY_TEST(test_held_and_refused),
        PROXY_TEST(test_bad_commands),
        PROXY_TEST(test_record),
    };
    if (argc != 2)
        return 64;
    program = argv[1];
    return cmocka_run_group_tests(tests, NULL, NULL);
}
