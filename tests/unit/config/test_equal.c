/* SPDX-License-Identifier: BSD-3-Clause */
#include "case.h"

#include "config/schema.h"
#include <string.h>

static struct config *load(struct test_case *self, const char *text) {
    struct config *config;

    case_load_text(self, text);
    assert_int_equal(self->result, 0);
    config = self->config;
    self->config = NULL;
    return config;
}

/* What a section is changed by, and a value that is not its default. */
struct change {
    const char *key;
    const char *value;
};

static const struct change redis_changes[] = {
    {"url", "redis://127.0.0.1:6380"}, {"username", "u"},         {"password_file", "secret"},
    {"connect_timeout", "6s"},         {"command_timeout", "6s"}, {"reconnect_min", "200ms"},
    {"reconnect_max", "31s"},
};

static const struct change recovery_changes[] = {
    {"redis", "other"},         {"stream", "t"},           {"group", "h"},
    {"consumer", "c"},          {"min_idle", "61s"},       {"interval", "61s"},
    {"count", "101"},           {"command", "/bin/false"}, {"payload", "id"},
    {"concurrency", "5"},       {"claim_ahead", "9"},      {"handler_timeout", "31s"},
    {"handler_output", "none"}, {"missing", "ack"},        {"max_deliveries", "3"},
    {"retry_delay", "61s"},     {"retry_delay_max", "2h"}, {"dead_letter_stream", "d"},
};

static const struct config_source *source_with_password(struct test_case *self) {
    self->source.credentials_directory = self->directory;
    case_write(self, "secret", "pw", 2);
    return &self->source;
}

static void text_of(char *text, size_t size, bool redis, const struct change *change) {
    bool replaces = !redis && change && strstr("stream group min_idle command", change->key);

    (void)snprintf(text, size,
                   "[redis other]\n[redis]\n%s%s%s%s[recovery a]\n%s%s%s%s%s%s%s%shandler = exec\n",
                   redis && change ? change->key : "", redis && change ? " = " : "",
                   redis && change ? change->value : "", redis && change ? "\n" : "",
                   !redis && change ? change->key : "", !redis && change ? " = " : "",
                   !redis && change ? change->value : "", !redis && change ? "\n" : "",
                   replaces && strcmp(change->key, "stream") == 0 ? "" : "stream = s\n",
                   replaces && strcmp(change->key, "group") == 0 ? "" : "group = g\n",
                   replaces && strcmp(change->key, "min_idle") == 0 ? "" : "min_idle = 60s\n",
                   replaces && strcmp(change->key, "command") == 0 ? "" : "command = /bin/true\n");
}

static void test_each_key_counts(void **state) {
    struct test_case *self = *state;
    char text[1024];

    (void)source_with_password(self);
    text_of(text, sizeof(text), false, NULL);
    struct config *plain = load(self, text), *again = load(self, text);
    assert_true(config_redis_equal(plain, again, ""));
    assert_true(config_redis_equal(plain, again, "other"));
    assert_true(config_recovery_equal(plain, again, "a"));
    config_free(again);
    for (size_t i = 0; i < sizeof(redis_changes) / sizeof(redis_changes[0]); i++) {
        text_of(text, sizeof(text), true, &redis_changes[i]);
        struct config *changed = load(self, text);
        assert_false(config_redis_equal(plain, changed, ""));
        assert_true(config_redis_equal(plain, changed, "other"));
        assert_true(config_recovery_equal(plain, changed, "a"));
        config_free(changed);
    }
    for (size_t i = 0; i < sizeof(recovery_changes) / sizeof(recovery_changes[0]); i++) {
        text_of(text, sizeof(text), false, &recovery_changes[i]);
        struct config *changed = load(self, text);
        assert_false(config_recovery_equal(plain, changed, "a"));
        assert_true(config_redis_equal(plain, changed, ""));
        config_free(changed);
    }
    config_free(plain);
}

static void test_keys_of_the_kinds_that_run_nothing_count(void **state) {
    struct test_case *self = *state;
    static const char move[] = "[recovery a]\nstream = s\ngroup = g\nmin_idle = 60s\n"
                               "handler = move\ntarget_stream = t\n",
                      claim_only[] = "[recovery a]\nstream = s\ngroup = g\nmin_idle = 60s\n"
                                     "handler = claim-only\nconsumer = c\n";
    static const char *const pairs[][2] = {
        {move, "[recovery a]\nstream = s\ngroup = g\nmin_idle = 60s\nhandler = move\n"
               "target_stream = u\n"},
        {move, "[recovery a]\nstream = s\ngroup = g\nmin_idle = 60s\nhandler = move\n"
               "target_stream = t\ntarget_maxlen = 9\n"},
        {claim_only, "[recovery a]\nstream = s\ngroup = g\nmin_idle = 60s\n"
                     "handler = claim-only\nconsumer = c\nworklist = w\n"},
        {move, claim_only},
    };

    for (size_t i = 0; i < sizeof(pairs) / sizeof(pairs[0]); i++) {
        struct config *plain = load(self, pairs[i][0]), *again = load(self, pairs[i][0]);
        struct config *changed = load(self, pairs[i][1]);

        assert_true(config_recovery_equal(plain, again, "a"));
        assert_false(config_recovery_equal(plain, changed, "a"));
        config_free(changed);
        config_free(again);
        config_free(plain);
    }
}

static bool says(const char *text, const char *key) {
    char line[64];

    (void)snprintf(line, sizeof(line), "\n%s = ", key);
    return strstr(text, line) != NULL;
}

static void test_the_order_and_what_is_left_at_its_default_do_not_count(void **state) {
    struct test_case *self = *state;
    struct config *plain = load(self, RECOVERY("a"));
    char *printed = case_print(plain);
    struct config *whole = load(self, printed);

    assert_true(says(printed, "interval"));
    assert_true(config_recovery_equal(plain, whole, "a"));
    config_free(whole);
    whole = load(self, RECOVERY("b") RECOVERY("a") "interval = 60s\n[redis]\nmode = standalone\n");
    assert_true(config_recovery_equal(plain, whole, "a"));
    assert_true(config_redis_equal(plain, whole, ""));
    config_free(whole);
    config_free(plain);
    free(printed);
}

static void test_a_timeout_that_follows_the_recoveries_is_no_change(void **state) {
    struct test_case *self = *state;
    struct config *slow = load(self, RECOVERY("a"));
    struct config *fast = load(self, RECOVERY("a") "[recovery b]\nstream = t\ngroup = g\n"
                                                   "min_idle = 2s\nhandler = exec\n"
                                                   "command = /bin/true\n");

    assert_true(slow->redis[0].command_timeout != fast->redis[0].command_timeout);
    assert_true(config_redis_equal(slow, fast, ""));
    config_free(fast);
    config_free(slow);
}

static void test_what_is_not_there_is_not_equal(void **state) {
    struct test_case *self = *state;
    struct config *a = load(self, RECOVERY("a")), *b = load(self, RECOVERY("b"));

    assert_false(config_recovery_equal(a, b, "a"));
    assert_false(config_recovery_equal(a, b, "b"));
    assert_false(config_recovery_equal(a, b, "c"));
    assert_false(config_redis_equal(a, b, "c"));
    config_free(b);
    config_free(a);
}

static void test_the_control_socket(void **state) {
    struct test_case *self = *state;
    static const struct {
        const char *text, *runtime, *want;
    } rows[] = {
        {"", NULL, NULL},
        {"", "/run/x", "/run/x/control"},
        {"", "/run/x:/run/y", "/run/x/control"},
        {"", "relative", NULL},
        {"[daemon]\ncontrol_socket = off\n", "/run/x", NULL},
        {"[daemon]\ncontrol_socket = auto\n", "/run/x", "/run/x/control"},
        {"[daemon]\ncontrol_socket = /tmp/c\n", "/run/x", "/tmp/c"},
    };

    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        self->source.runtime_directory = rows[i].runtime;
        case_accepts(self, rows[i].text, "");
        if (rows[i].want)
            assert_string_equal(self->config->daemon.control_socket, rows[i].want);
        else
            assert_null(self->config->daemon.control_socket);
    }
    case_refuses(self, "[daemon]\ncontrol_socket = here\n",
                 "main.conf:2: [daemon] control_socket: \"here\" is not such a path; accepted: an "
                 "absolute path of at most 107 bytes, auto, or off\n");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_each_key_counts, case_begin, case_end),
        cmocka_unit_test_setup_teardown(test_keys_of_the_kinds_that_run_nothing_count, case_begin,
                                        case_end),
        cmocka_unit_test_setup_teardown(test_the_order_and_what_is_left_at_its_default_do_not_count,
                                        case_begin, case_end),
        cmocka_unit_test_setup_teardown(test_a_timeout_that_follows_the_recoveries_is_no_change,
                                        case_begin, case_end),
        cmocka_unit_test_setup_teardown(test_what_is_not_there_is_not_equal, case_begin, case_end),
        cmocka_unit_test_setup_teardown(test_the_control_socket, case_begin, case_end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
