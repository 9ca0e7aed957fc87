/* SPDX-License-Identifier: BSD-3-Clause */
#include "case.h"

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <syslog.h>
#include <unistd.h>

#define SECTIONS "accepted: [daemon], [redis], [redis NAME], [recovery NAME]\n"
#define NAMES "accepted: a NAME of at most 40 letters, digits and . _ : -\n"

static void write_text(struct test_case *self, const char *name, const char *text) {
    case_write(self, name, text, strlen(text));
}

static void make_drop_ins(struct test_case *self, char path[128]) {
    (void)snprintf(path, 128, "%s/main.conf.d", self->directory);
    assert_int_equal(mkdir(path, 0755), 0);
}

static void test_nothing_is_a_configuration(void **state) {
    struct test_case *self = *state;

    case_accepts(self, "", "");
    assert_int_equal(self->config->n_recoveries, 0);
    assert_int_equal(self->config->n_redis, 0);
    assert_true(self->config->daemon.drain_timeout == 30 * USEC_PER_SEC);
    assert_int_equal(self->config->daemon.log_level, LOG_INFO);
    assert_int_equal(self->config->daemon.max_handlers, 256);
    assert_int_equal(self->config->daemon.max_body_bytes, 256 << 20);
}

static void test_settings_are_filled_in(void **state) {
    struct test_case *self = *state;

    case_accepts(self,
                 "[daemon]\ndrain_timeout = 1m\nlog_level = debug\nmax_handlers = 9\n"
                 "max_body_bytes = 1G\n"
                 "[redis]\nurl = redis://joe@127.0.0.1:7000/2\n redis://joe@[::1]\n"
                 "connect_timeout = 1s\nreconnect_min = 10ms\nreconnect_max = 10ms\n"
                 "[recovery b]\nstream = s\ngroup = g h\nconsumer = c-%N\nmin_idle = 1h 30m\n"
                 "interval = 10ms\ncount = 250\nhandler = exec\ncommand = /bin/sh -c\n\t'a b'\n"
                 "payload = resp\nconcurrency = 2\nclaim_ahead = 0\nhandler_timeout = 1d\n"
                 "handler_output = both\nmissing = ack\nredis = two\n"
                 "[redis two]\nusername = jim\ncommand_timeout = 3s\n" RECOVERY("a"),
                 "");
    const struct config *config = self->config;
    assert_true(config->daemon.drain_timeout == 60 * USEC_PER_SEC);
    assert_int_equal(config->daemon.log_level, LOG_DEBUG);
    assert_int_equal(config->daemon.max_handlers, 9);
    assert_true(config->daemon.max_body_bytes == UINT64_C(1) << 30);

    assert_int_equal(config->n_redis, 2);
    const struct redis_settings *one = &config->redis[0], *two = &config->redis[1];
    assert_string_equal(one->name, "");
    assert_string_equal(one->username, "joe");
    assert_null(one->password_file);
    assert_int_equal(one->n_addresses, 2);
    assert_string_equal(one->addresses[1].text, "[::1]:6379");
    assert_true(one->connect_timeout == USEC_PER_SEC);
    assert_true(one->reconnect_min == 10000 && one->reconnect_max == 10000);
    assert_true(one->smallest_min_idle == 60 * USEC_PER_SEC);
    assert_true(one->command_timeout == 10 * USEC_PER_SEC);
    assert_string_equal(two->name, "two");
    assert_string_equal(two->username, "jim");
    assert_string_equal(two->addresses[0].text, "127.0.0.1:6379");
    assert_true(two->command_timeout == 3 * USEC_PER_SEC);

    assert_int_equal(config->n_recoveries, 2);
    const struct recovery_settings *b = &config->recoveries[0], *a = &config->recoveries[1];
    assert_string_equal(b->name, "b");
    assert_ptr_equal(b->redis, two);
    assert_string_equal(b->stream, "s");
    assert_string_equal(b->group, "g h");
    assert_string_equal(b->consumer, "c-b");
    assert_true(b->min_idle == 5400 * USEC_PER_SEC);
    assert_true(b->interval == 10000);
    assert_int_equal(b->count, 250);
    assert_int_equal(b->handler, HANDLER_EXEC);
    assert_string_equal(b->argv[0], "/bin/sh");
    assert_string_equal(b->argv[1], "-c");
    assert_string_equal(b->argv[2], "a b");
    assert_null(b->argv[3]);
    assert_int_equal(b->payload, PAYLOAD_RESP);
    assert_int_equal(b->concurrency, 2);
    assert_int_equal(b->claim_ahead, 0);
    assert_true(b->handler_timeout == 86400 * USEC_PER_SEC);
    assert_int_equal(b->handler_output, OUTPUT_BOTH);
    assert_int_equal(b->missing, MISSING_ACK);
    assert_string_equal(a->name, "a");
    assert_ptr_equal(a->redis, one);
    assert_int_equal(a->claim_ahead, 4);
}

static void test_sections(void **state) {
    struct test_case *self = *state;

    case_refuses(self, "[cluster]\nurl = x\n[redis a b]\n[]\n[Daemon]\n",
                 "main.conf:1: [cluster]: unknown section; " SECTIONS
                 "main.conf:3: [redis a b]: unknown section; " SECTIONS
                 "main.conf:4: []: unknown section; " SECTIONS
                 "main.conf:5: [Daemon]: unknown section; " SECTIONS);
    case_refuses(self, "[daemon x]\n[recovery]\n[recovery a/b]\n[redis \xc3\xbc]\n",
                 "main.conf:1: [daemon x]: has no NAME; accepted: [daemon]\n"
                 "main.conf:2: [recovery]: needs a NAME; accepted: [recovery NAME]\n"
                 "main.conf:3: [recovery a/b]: not a NAME; " NAMES
                 "main.conf:4: [redis \xc3\xbc]: not a NAME; " NAMES);
    case_refuses(self, "[redis abcdefghij0123456789abcdefghij0123456789x]\n",
                 "main.conf:1: [redis abcdefghij0123456789abcdefghij0123456789x]: not a "
                 "NAME; " NAMES);
    case_accepts(self, RECOVERY("abcdefghij0123456789abcdefghij012345._:-"), "");
    assert_string_equal(self->config->recoveries[0].name,
                        "abcdefghij0123456789abcdefghij012345._:-");
    case_accepts(self, "[ daemon\t]\nmax_handlers : 3\n[daemon]\nlog_level=err\n", "");
    assert_int_equal(self->config->daemon.max_handlers, 3);
    assert_int_equal(self->config->daemon.log_level, LOG_ERR);
}

static void test_keys(void **state) {
    struct test_case *self = *state;
    static const char daemon_keys[] = "drain_timeout, log_level, max_handlers, max_body_bytes, "
                                      "control_socket";
    static const char redis_keys[] = "url, username, password_file, mode, connect_timeout, "
                                     "command_timeout, reconnect_min, reconnect_max";
    char want[2048];

    (void)snprintf(want, sizeof(want),
                   "main.conf:2: [daemon] max-handlers: unknown key; accepted: %s\n"
                   "main.conf:3: [daemon]: unknown key; accepted: %s\n"
                   "main.conf:5: [redis] Url: unknown key; accepted: %s\n"
                   "main.conf:6: [redis] password: a password does not belong in this file; "
                   "accepted: password_file\n",
                   daemon_keys, daemon_keys, redis_keys);
    case_refuses(self,
                 "[daemon]\nmax-handlers = 1\nhunter2 x = 1\n[redis]\nUrl = u\n"
                 "password = hunter2\n",
                 want);
    case_refuses(
        self, RECOVERY("a") "max_idle = 1s\n",
        "main.conf:7: [recovery a] max_idle: unknown key; accepted: redis, stream, group, "
        "consumer, min_idle, interval, count, handler, command, address, payload, "
        "concurrency, workers, claim_ahead, handler_timeout, handler_output, missing, "
        "max_deliveries, retry_delay, retry_delay_max, dead_letter_stream, dead_letter_maxlen, "
        "target_stream, target_maxlen, worklist\n");
}

static void test_keys_that_are_not_built(void **state) {
    struct test_case *self = *state;
    static const char *const keys[][2] = {
        {"daemon", "metrics_listen"},
        {"daemon", "metrics_public"},
        {"redis", "sentinel_master"},
        {"redis", "sentinel_username"},
        {"redis", "sentinel_password_file"},
        {"redis", "tls_ca_cert_file"},
        {"redis", "tls_ca_cert_dir"},
        {"redis", "tls_cert_file"},
        {"redis", "tls_key_file"},
        {"redis", "tls_server_name"},
        {"recovery a", "delete_after_ack"},
        {"recovery a", "keep_consumers"},
        {"recovery a", "delete_idle_consumers"},
        {"recovery a", "group_pattern"},
        {"recovery a", "stream_pattern"},
        {"recovery a", "discover_interval"},
        {"recovery a", "discover_limit"},
    };
    for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++) {
        char text[512], want[256];

        (void)snprintf(text, sizeof(text), "%s[%s]\n%s = x\n", RECOVERY("a"), keys[i][0],
                       keys[i][1]);
        (void)snprintf(want, sizeof(want),
                       "main.conf:8: [%s] %s: not built yet; accepted: a configuration without "
                       "it\n",
                       keys[i][0], keys[i][1]);
        case_refuses(self, text, want);
    }
}

static void test_a_key_comes_once_a_file(void **state) {
    struct test_case *self = *state;
    char path[128];

    case_refuses(self, "[daemon]\nmax_handlers = 1\n\nmax_handlers = 2\nmax_handlers = x\n",
                 "main.conf:4: [daemon] max_handlers: given twice in this file, first in line 2; "
                 "accepted: once\n"
                 "main.conf:5: [daemon] max_handlers: given twice in this file, first in line 2; "
                 "accepted: once\n");
    /* a copied section whose name was forgotten */
    case_refuses(self, "[redis a]\nusername = x\n[redis b]\n[redis a]\nusername = y\n",
                 "main.conf:5: [redis a] username: given twice in this file, first in line 2; "
                 "accepted: once\n");
    make_drop_ins(self, path);
    write_text(self, "main.conf.d/a.conf", "[daemon]\nmax_handlers = 1\nmax_handlers = 1\n");
    case_refuses(self, "[daemon]\nmax_handlers = 1\n",
                 "main.conf.d/a.conf:3: [daemon] max_handlers: given twice in this file, first in "
                 "line 2; accepted: once\n");
}

static void test_all_errors_come_out(void **state) {
    struct test_case *self = *state;

    case_refuses(self,
                 "x = 1\n[daemon]\nmax_handlers = 0\nlog_level = loud ; x\ndrain_timeout = 5\n"
                 "[recovery a]\nhandler = exec\nmin_idle = 1ms\n",
                 "main.conf:1: a key outside any section; accepted: a [section] line before it\n"
                 "main.conf:3: [daemon] max_handlers: \"0\" is too small; accepted: a number from "
                 "1 to 65536\n"
                 "main.conf:4: a blank and a semicolon begin a comment, which would cut this line; "
                 "accepted: a comment on a line of its own, or the semicolon without a blank "
                 "before it\n"
                 "main.conf:5: [daemon] drain_timeout: \"5\" has no unit; accepted: a duration "
                 "from 0s to 1d, such as 500ms, 60s or 1h 30m\n"
                 "main.conf:8: [recovery a] min_idle: \"1ms\" is too small; accepted: a duration "
                 "from 1s to 30d, such as 500ms, 60s or 1h 30m\n"
                 "main.conf:6: [recovery a] stream: required, and not given; accepted: text "
                 "without control characters, not empty\n"
                 "main.conf:6: [recovery a] group: required, and not given; accepted: text without "
                 "control characters, not empty\n"
                 "main.conf:6: [recovery a] command: required by handler = exec or worker; "
                 "accepted: an absolute program and its arguments\n");
}

static void test_indented_lines(void **state) {
    struct test_case *self = *state;

    case_refuses(self, RECOVERY("a") "payload = json\n  resp\n  id\n",
                 "main.conf:8: [recovery a] payload: an indented line continues the key above it, "
                 "which only url and command may; accepted: the same line without blanks before "
                 "it\n");
    /* of the rest nothing is said */
    case_refuses(self,
                 "[recovery a]\nstream = s\ngroup = g\nmin_idle = 1m\nhandler = exec\n"
                 "command = /bin/sh -c 'a\n  b ; c\n  d'\n",
                 "main.conf:7: a blank and a semicolon begin a comment, which would cut this line; "
                 "accepted: a comment on a line of its own, or the semicolon without a blank "
                 "before it\n");
    case_refuses(
        self, RECOVERY("a") "nonsense = 1\n  more\n",
        "main.conf:7: [recovery a] nonsense: unknown key; accepted: redis, stream, group, "
        "consumer, min_idle, interval, count, handler, command, address, payload, "
        "concurrency, workers, claim_ahead, handler_timeout, handler_output, missing, "
        "max_deliveries, retry_delay, retry_delay_max, dead_letter_stream, dead_letter_maxlen, "
        "target_stream, target_maxlen, worklist\n");
}

/* An argument that no single line could hold with the others. */
static void test_long_commands(void **state) {
    struct test_case *self = *state;
    char text[16384], word[190];

    memset(word, 'x', sizeof(word) - 1);
    word[sizeof(word) - 1] = '\0';
    size_t used = (size_t)snprintf(text, sizeof(text), "%s", RECOVERY("a"));
    for (int i = 0; i < 5; i++)
        used += (size_t)snprintf(text + used, sizeof(text) - used, "  %s\n", word);
    case_accepts(self, text, "");
    for (int i = 1; i <= 5; i++)
        assert_string_equal(self->config->recoveries[0].argv[i], word);
    assert_null(self->config->recoveries[0].argv[6]);
    for (int i = 5; i < 44; i++)
        used += (size_t)snprintf(text + used, sizeof(text) - used, "  %s\n", word);
    case_refuses(self, text,
                 "main.conf:50: [recovery a] command: too long; accepted: at most 8192 bytes in "
                 "all its lines\n");
}

static void test_warnings_of_literal_text(void **state) {
    struct test_case *self = *state;

    case_accepts(self,
                 "[recovery a]\nstream = \"s\"\ngroup = g # main\nmin_idle = 60s\n"
                 "handler = exec\ncommand = /bin/true # x\n",
                 "warning: main.conf:2: [recovery a] stream: the quotes are part of the value\n"
                 "warning: main.conf:3: [recovery a] group: the # and what follows are part of the "
                 "value; a comment stands on a line of its own\n");
    assert_string_equal(self->config->recoveries[0].stream, "\"s\"");
    assert_string_equal(self->config->recoveries[0].group, "g # main");
}

static void test_drop_ins_replace_single_keys(void **state) {
    struct test_case *self = *state;
    char path[128];

    make_drop_ins(self, path);
    write_text(self, "main.conf.d/10-b.conf", "[recovery a]\ncount = 2\nconcurrency = 2\n");
    write_text(self, "main.conf.d/9-c.conf", "[recovery a]\nconcurrency = 3\n" RECOVERY("new"));
    write_text(self, "main.conf.d/B.conf", "[daemon]\nmax_handlers = 66\n");
    write_text(self, "main.conf.d/a.conf", "[daemon]\nmax_handlers = 97\n");
    write_text(self, "main.conf.d/.hidden.conf", "nonsense\n");
    write_text(self, "main.conf.d/z.conf~", "nonsense\n");
    write_text(self, "main.conf.d/z.conf.dpkg-old", "nonsense\n");
    write_text(self, "main.conf.d/z.dpkg-dist.conf", "nonsense\n");
    write_text(self, "main.conf.d/README", "nonsense\n");
    write_text(self, "main.conf.d/.conf", "nonsense\n");
    case_accepts(self, RECOVERY("a") "count = 1\nconcurrency = 1\ninterval = 1s\n", "");
    assert_int_equal(self->config->recoveries[0].count, 2);
    assert_int_equal(self->config->recoveries[0].concurrency, 3);
    assert_true(self->config->recoveries[0].interval == USEC_PER_SEC);
    assert_string_equal(self->config->recoveries[1].name, "new");
    assert_int_equal(self->config->daemon.max_handlers, 97);
}

static void test_a_bad_value_is_an_error_even_if_replaced(void **state) {
    struct test_case *self = *state;
    char path[128];

    make_drop_ins(self, path);
    write_text(self, "main.conf.d/a.conf", "[daemon]\nmax_handlers = 5\n");
    write_text(self, "main.conf.d/b.conf", "[daemon]\nmax_handlers = six\n");
    case_refuses(self, "[daemon]\nmax_handlers = four\n",
                 "main.conf:2: [daemon] max_handlers: \"four\" is not a number; accepted: a number "
                 "from 1 to 65536\n"
                 "main.conf.d/b.conf:2: [daemon] max_handlers: \"six\" is not a number; accepted: "
                 "a number from 1 to 65536\n");
}

static void test_files_that_cannot_be_had(void **state) {
    struct test_case *self = *state;
    char path[128];

    case_load(self);
    assert_string_equal(self->said, "main.conf: cannot be read: No such file or directory\n");
    assert_int_equal(self->result, CONFIG_E_INVALID);
    make_drop_ins(self, path);
    (void)snprintf(path, sizeof(path), "%s/main.conf.d/a.conf", self->directory);
    assert_int_equal(mkdir(path, 0755), 0);
    case_refuses(self, "", "main.conf.d/a.conf: not a regular file\n");
    (void)rmdir(path);
    assert_int_equal(mkfifo(path, 0644), 0);
    case_refuses(self, "", "main.conf.d/a.conf: not a regular file\n");
    (void)unlink(path);
    assert_int_equal(symlink("nowhere", path), 0);
    case_refuses(self, "", "main.conf.d/a.conf: cannot be read: No such file or directory\n");
}

static void test_files_that_others_may_write(void **state) {
    struct test_case *self = *state;
    char path[128];

    case_accepts(self, "", "");
    assert_int_equal(chmod(self->path, 0666), 0);
    case_load(self);
    assert_string_equal(self->said, "main.conf: others may write it; accepted: no write permission "
                                    "for others (chmod o-w)\n");
    assert_int_equal(self->result, CONFIG_E_INVALID);
    assert_int_equal(chmod(self->path, 0664), 0);
    case_load(self);
    assert_string_equal(self->said, "");
    make_drop_ins(self, path);
    assert_int_equal(chmod(path, 0777), 0);
    case_refuses(self, "",
                 "main.conf.d: others may write it; accepted: no write permission for "
                 "others (chmod o-w)\n");
}

static void test_files_of_somebody_else(void **state) {
    struct test_case *self = *state;

    if (geteuid() != 0)
        skip();
    case_accepts(self, "", "");
    assert_int_equal(chown(self->path, 12345, 0), 0);
    case_load(self);
    assert_string_equal(self->said,
                        "main.conf: belongs to another user; accepted: owned by root or "
                        "by the user that reads it\n");
}

static void test_files_that_are_too_large(void **state) {
    struct test_case *self = *state;

    case_accepts(self, "", "");
    assert_int_equal(truncate(self->path, 1024 * 1024 + 1), 0);
    case_load(self);
    assert_string_equal(self->said, "main.conf: too large; accepted: at most 1M\n");
}

static void test_too_many_sections(void **state) {
    struct test_case *self = *state;
    static char text[32768];
    size_t used = 0;

    for (int i = 0; i < 1001; i++)
        used += (size_t)snprintf(text + used, sizeof(text) - used, "[redis r%d]\n", i);
    case_refuses(self, text,
                 "main.conf:1001: [redis r1000]: too many sections of this kind; accepted: at most "
                 "1000\n");
}

#define CASE(test) cmocka_unit_test_setup_teardown(test, case_begin, case_end)

int main(void) {
    const struct CMUnitTest tests[] = {
        CASE(test_nothing_is_a_configuration),
        CASE(test_settings_are_filled_in),
        CASE(test_sections),
        CASE(test_keys),
        CASE(test_keys_that_are_not_built),
        CASE(test_a_key_comes_once_a_file),
        CASE(test_all_errors_come_out),
        CASE(test_indented_lines),
        CASE(test_long_commands),
        CASE(test_warnings_of_literal_text),
        CASE(test_drop_ins_replace_single_keys),
        CASE(test_a_bad_value_is_an_error_even_if_replaced),
        CASE(test_files_that_cannot_be_had),
        CASE(test_files_that_others_may_write),
        CASE(test_files_of_somebody_else),
        CASE(test_files_that_are_too_large),
        CASE(test_too_many_sections),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
