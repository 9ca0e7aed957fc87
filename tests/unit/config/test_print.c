/* SPDX-License-Identifier: BSD-3-Clause */
#include "case.h"

#include "config/ini.h"
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void same_words(char *const *a, char *const *b) {
    size_t i = 0;

    assert_int_equal(!a, !b);
    if (!a)
        return;
    for (; a[i] && b[i]; i++)
        assert_string_equal(a[i], b[i]);
    assert_true(!a[i] && !b[i]);
}

static void same_text(const char *a, const char *b) {
    assert_int_equal(!a, !b);
    if (a)
        assert_string_equal(a, b);
}

static void same_redis(const struct redis_settings *a, const struct redis_settings *b) {
    assert_string_equal(a->name, b->name);
    assert_int_equal(a->n_addresses, b->n_addresses);
    for (size_t i = 0; i < a->n_addresses; i++) {
        assert_string_equal(a->addresses[i].text, b->addresses[i].text);
        assert_int_equal(a->addresses[i].database, b->addresses[i].database);
    }
    assert_int_equal(!a->username, !b->username);
    if (a->username)
        assert_string_equal(a->username, b->username);
    assert_int_equal(!a->password_file, !b->password_file);
    if (a->password_file)
        assert_string_equal(a->password_file, b->password_file);
    assert_true(a->connect_timeout == b->connect_timeout);
    assert_true(a->command_timeout == b->command_timeout);
    assert_true(a->reconnect_min == b->reconnect_min);
    assert_true(a->reconnect_max == b->reconnect_max);
    assert_true(a->smallest_min_idle == b->smallest_min_idle);
}

static void same_recovery(const struct recovery_settings *a, const struct recovery_settings *b) {
    assert_string_equal(a->name, b->name);
    assert_string_equal(a->redis->name, b->redis->name);
    assert_string_equal(a->stream, b->stream);
    assert_string_equal(a->group, b->group);
    assert_string_equal(a->consumer, b->consumer);
    assert_true(a->min_idle == b->min_idle);
    assert_true(a->interval == b->interval);
    assert_int_equal(a->count, b->count);
    assert_int_equal(a->handler, b->handler);
    same_words(a->argv, b->argv);
    same_text(a->target_stream, b->target_stream);
    assert_int_equal(a->target_maxlen, b->target_maxlen);
    same_text(a->worklist, b->worklist);
    assert_int_equal(a->payload, b->payload);
    assert_int_equal(a->concurrency, b->concurrency);
    assert_int_equal(a->workers, b->workers);
    assert_int_equal(!a->address, !b->address);
    if (a->address)
        assert_string_equal(a->address->text, b->address->text);
    assert_int_equal(a->claim_ahead, b->claim_ahead);
    assert_true(a->handler_timeout == b->handler_timeout);
    assert_int_equal(a->handler_output, b->handler_output);
    assert_int_equal(a->missing, b->missing);
}

static void same(const struct config *a, const struct config *b) {
    assert_true(a->daemon.drain_timeout == b->daemon.drain_timeout);
    assert_int_equal(a->daemon.log_level, b->daemon.log_level);
    assert_int_equal(a->daemon.max_handlers, b->daemon.max_handlers);
    assert_true(a->daemon.max_body_bytes == b->daemon.max_body_bytes);
    assert_int_equal(a->n_redis, b->n_redis);
    for (size_t i = 0; i < a->n_redis; i++)
        same_redis(&a->redis[i], &b->redis[i]);
    assert_int_equal(a->n_recoveries, b->n_recoveries);
    for (size_t i = 0; i < a->n_recoveries; i++)
        same_recovery(&a->recoveries[i], &b->recoveries[i]);
}

/* What is printed reads back to the same settings, and prints the same again. */
static void comes_back(struct test_case *self) {
    struct config *first = self->config;
    char *text = case_print(first);

    self->config = NULL;
    case_load_text(self, text);
    if (self->result != 0)
        print_message("%s\n%s", text, self->said);
    assert_int_equal(self->result, 0);
    same(first, self->config);
    char *again = case_print(self->config);
    assert_string_equal(again, text);
    config_free(first);
    free(text);
    free(again);
}

static void test_the_print_of_defaults(void **state) {
    struct test_case *self = *state;

    case_accepts(self, RECOVERY("a") "consumer = c%%\n", "");
    char *text = case_print(self->config);
    assert_string_equal(text, "[daemon]\n"
                              "drain_timeout = 30s\n"
                              "log_level = info\n"
                              "max_handlers = 256\n"
                              "max_body_bytes = 256M\n"
                              "control_socket = off\n"
                              "\n"
                              "[redis]\n"
                              "url = redis://127.0.0.1:6379/0\n"
                              "username =\n"
                              "password_file =\n"
                              "mode = standalone\n"
                              "connect_timeout = 5s\n"
                              "command_timeout = 10s\n"
                              "reconnect_min = 100ms\n"
                              "reconnect_max = 30s\n"
                              "\n"
                              "[recovery a]\n"
                              "redis =\n"
                              "stream = s-a\n"
                              "group = g\n"
                              "consumer = c%%\n"
                              "min_idle = 1m\n"
                              "interval = 1m\n"
                              "count = 100\n"
                              "handler = exec\n"
                              "command = /bin/true\n"
                              "payload = json\n"
                              "concurrency = 4\n"
                              "claim_ahead = 4\n"
                              "handler_timeout = 30s\n"
                              "handler_output = stderr\n"
                              "missing = keep\n"
                              "max_deliveries = 0\n"
                              "retry_delay = 1m\n"
                              "retry_delay_max = 1h\n"
                              "dead_letter_stream =\n"
                              "dead_letter_maxlen = 0\n");
    free(text);
    comes_back(self);
}

/* What means nothing to a recovery is not printed; what means something comes back. */
static void test_the_print_of_a_recovery_that_runs_nothing(void **state) {
    struct test_case *self = *state;

    case_accepts(self,
                 "[daemon]\nmax_handlers = 1\n[recovery a]\nstream = s\ngroup = g\n"
                 "consumer = c\nmin_idle = 1m\nhandler = move\ntarget_stream = t\n"
                 "target_maxlen = 9\nmissing = ack\n[recovery b]\nstream = r\ngroup = g\n"
                 "min_idle = 1m\nhandler = claim-only\nworklist = l\nconsumer = d\n",
                 "");
    char *text = case_print(self->config);
    const char *recoveries = strstr(text, "[recovery a]");
    assert_non_null(recoveries);
    assert_string_equal(recoveries, "[recovery a]\n"
                                    "redis =\n"
                                    "stream = s\n"
                                    "group = g\n"
                                    "consumer = c\n"
                                    "min_idle = 1m\n"
                                    "interval = 1m\n"
                                    "count = 100\n"
                                    "handler = move\n"
                                    "missing = ack\n"
                                    "target_stream = t\n"
                                    "target_maxlen = 9\n"
                                    "\n"
                                    "[recovery b]\n"
                                    "redis =\n"
                                    "stream = r\n"
                                    "group = g\n"
                                    "consumer = d\n"
                                    "min_idle = 1m\n"
                                    "interval = 1m\n"
                                    "count = 100\n"
                                    "handler = claim-only\n"
                                    "worklist = l\n");
    free(text);
    comes_back(self);
}

static void test_everything_comes_back(void **state) {
    struct test_case *self = *state;

    case_accepts(self, "", "");
    comes_back(self);
    self->source.check_only = true;
    case_load_text(self, "[daemon]\ndrain_timeout = 0s\nlog_level = err\nmax_handlers = 65536\n"
                         "max_body_bytes = 1048577\n"
                         "[redis]\nurl = unix:///s?db=7 redis://[::1]:1/2\nusername = joe\n"
                         "password_file = name\ncommand_timeout = 250ms\n"
                         "[redis two]\nurl = redis://jim@127.0.0.1\nreconnect_min = 1h\n"
                         "reconnect_max = 1h\n"
                         "[recovery a]\nstream =;s # x\ngroup = = \"g\"\nconsumer =;%H%%%%\n"
                         "min_idle = 1s\nhandler = exec\ncommand = /bin/sh -c '#\ta  ;b' \\\n  x\n"
                         "interval = 29d 23h 59m 59s 999ms\ncount = 1000\npayload = id\n"
                         "concurrency = 4096\nclaim_ahead = auto\nhandler_timeout = 100ms\n"
                         "handler_output = none\nmissing = ack\n" RECOVERY(
                             "b") "redis = two\n"
                                  "claim_ahead = 0\npayload = resp\nhandler_output = both\n");
    assert_int_equal(self->result, CONFIG_E_INVALID); /* " ;" inside the quotes */
    case_load_text(self, "[daemon]\ndrain_timeout = 0s\nlog_level = err\nmax_handlers = 65536\n"
                         "max_body_bytes = 1048577\n"
                         "[redis]\nurl = unix:///s?db=7 redis://[::1]:1/2\nusername = joe\n"
                         "password_file = name\ncommand_timeout = 250ms\n"
                         "[redis two]\nurl = redis://jim@127.0.0.1\nreconnect_min = 1h\n"
                         "reconnect_max = 1h\n"
                         "[recovery a]\nstream =;s # x\ngroup = = \"g\"\nconsumer =;%H%%%%\n"
                         "min_idle = 1s\nhandler = exec\ncommand = /bin/sh -c '#\ta  b;' \\\n  x\n"
                         "interval = 29d 23h 59m 59s 999ms\ncount = 1000\npayload = id\n"
                         "concurrency = 4096\nclaim_ahead = auto\nhandler_timeout = 100ms\n"
                         "handler_output = none\nmissing = ack\n" RECOVERY(
                             "b") "redis = two\n"
                                  "claim_ahead = 0\npayload = resp\nhandler_output = both\n");
    assert_int_equal(self->result, 0);
    assert_string_equal(self->config->recoveries[0].stream, ";s # x");
    assert_string_equal(self->config->recoveries[0].group, "= \"g\"");
    comes_back(self);
    case_load_text(self, "[recovery a]\nstream = s\ngroup = g\nmin_idle = 1s\nhandler = worker\n"
                         "command = /bin/a  b\nconcurrency = 64\nworkers = 3\n"
                         "[recovery b]\nstream = t\ngroup = g\nmin_idle = 1s\nhandler = socket\n"
                         "address = [::1]:80\nworkers = auto\n");
    assert_int_equal(self->result, 0);
    assert_int_equal(self->config->recoveries[1].workers, 4);
    comes_back(self);
}

static void test_long_values_come_back(void **state) {
    struct test_case *self = *state;
    char line[256], text[8192];

    for (size_t n = 170; n <= 191; n++) {
        memset(line, 'x', n);
        line[n] = '\0';
        (void)snprintf(
            text, sizeof(text),
            "[recovery a]\nstream=%s\ngroup = g\nmin_idle = 1m\nhandler = exec\n"
            "command = /bin/true\n  '#a %.*s' %s\n # comment\n %sz #x  '  y'\n\t%.*s\t#\n",
            line, (int)n - 10, line + 10, "", line + 10, (int)n - 10, line);
        case_load_text(self, text);
        assert_string_equal(self->said, "");
        comes_back(self);
    }
}

/* The places where a line must not be broken slide over the end of the line. */
static void test_lines_break_where_that_changes_nothing(void **state) {
    struct test_case *self = *state;
    char word[256], text[2048];

    memset(word, 'x', sizeof(word) - 1);
    word[sizeof(word) - 1] = '\0';
    for (int n = 100; n <= 185; n++) {
        (void)snprintf(text, sizeof(text),
                       "[recovery a]\nstream=s\ngroup = g\nmin_idle = 1m\nhandler = exec\n"
                       "command = /bin/true\n '%.*s #b  c\td' z\n '%.*s  y' %.*s;\n",
                       n, word, n, word, n / 60, word);
        case_load_text(self, text);
        assert_string_equal(self->said, "");
        comes_back(self);
    }
    for (int n = 180; n <= 197; n++) {
        (void)snprintf(text, sizeof(text),
                       "[recovery a]\nstream=s\ngroup = g\nmin_idle = 1m\nhandler = exec\n"
                       "command = /bin/true\n %.*s\n %.*s\n",
                       n, word, 377 - n, word);
        case_load_text(self, text);
        assert_string_equal(self->said, "");
        comes_back(self);
    }
}

/* --- the sample file ------------------------------------------------------------------------- */

static char *print_sample(void) {
    char *text = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&text, &size);

    assert_non_null(out);
    assert_int_equal(config_print_sample(out), 0);
    assert_int_equal(fclose(out), 0);
    return text;
}

static void test_the_sample_loads_as_it_is(void **state) {
    struct test_case *self = *state;
    char *text = print_sample();

    case_accepts(self, text, "");
    assert_int_equal(self->config->n_recoveries, 0);
    for (const char *line = text; *line != '\0'; line += strcspn(line, "\n") + 1)
        assert_true(strcspn(line, "\n") <= 100);
    free(text);
}

/* "#key = value" and "#[section]" become lines that count. */
static void uncomment(char *text) {
    for (char *line = text; line; line = strchr(line, '\n')) {
        line += *line == '\n';
        if (line[0] == '#' && (islower((unsigned char)line[1]) || line[1] == '['))
            line[0] = '\n'; /* an empty line more */
    }
}

static void test_the_sample_shows_the_defaults(void **state) {
    struct test_case *self = *state;
    char *text = print_sample();
    static const char required[] = "[recovery NAME]\nstream = s\ngroup = g\nmin_idle = 1m\n"
                                   "handler = exec\ncommand = /bin/true\n";

    case_accepts(self, required, "");
    char *want = case_print(self->config);
    uncomment(text);
    case_load_text(self, text);
    assert_int_equal(self->result, CONFIG_E_INVALID);
    assert_non_null(strstr(self->said, "[recovery NAME] stream: must not be empty\n"));

    /* Only what has no default is missing. */
    for (char *at = text; (at = strstr(at, " =\n")); at++) {
        static const char *const keys[][2] = {{"stream", "stream=s"},
                                              {"group", "group=g"},
                                              {"min_idle", "min_idle=1m"},
                                              {"handler", "handler=exec"},
                                              {"command", "command=/bin/true"}};
        for (size_t i = 0; i < 5; i++) {
            size_t n = strlen(keys[i][0]);

            if (at - text > (ptrdiff_t)n && at[-(ptrdiff_t)n - 1] == '\n' &&
                strncmp(at - n, keys[i][0], n) == 0)
                memset(at - n, '#', n); /* given by the drop-in */
        }
    }
    char *both = NULL;
    assert_true(asprintf(&both, "%s\n%s", text, required + strlen("[recovery NAME]\n")) > 0);
    case_accepts(self, both, "");
    char *got = case_print(self->config);
    assert_string_equal(got, want);
    free(both);
    free(got);
    free(want);
    free(text);
}

#define CASE(test) cmocka_unit_test_setup_teardown(test, case_begin, case_end)

int main(void) {
    const struct CMUnitTest tests[] = {
        CASE(test_the_print_of_defaults),
        CASE(test_everything_comes_back),
        CASE(test_the_print_of_a_recovery_that_runs_nothing),
        CASE(test_long_values_come_back),
        CASE(test_lines_break_where_that_changes_nothing),
        CASE(test_the_sample_loads_as_it_is),
        CASE(test_the_sample_shows_the_defaults),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
