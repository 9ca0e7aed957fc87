/* SPDX-License-Identifier: BSD-3-Clause */
#include "unit.h"

#include "base/text.h"
#include "config/schema.h"
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

struct fixture {
    struct config_memory *memory;
    struct draft *drafts[_SECTION_MAX];
};

static int begin(void **state) {
    struct fixture *self = calloc(1, sizeof(*self));

    assert_non_null(self);
    self->memory = config_memory_new();
    assert_non_null(self->memory);
    for (int kind = 0; kind < _SECTION_MAX; kind++) {
        self->drafts[kind] = draft_add(self->memory, (enum section_kind)kind, "", "f", 1);
        assert_non_null(self->drafts[kind]);
    }
    *state = self;
    return 0;
}

static int end(void **state) {
    struct fixture *self = *state;

    config_memory_free(self->memory);
    free(self);
    return 0;
}

static int parse(struct fixture *self, enum section_kind kind, const struct row *row,
                 const char *text, char why[WHY_MAX]) {
    why[0] = '\0';
    return schema_parse(row, text, self->memory, self->drafts[kind], why);
}

static void test_every_row_is_complete(void **state) {
    for (int kind = 0; kind < _SECTION_MAX; kind++) {
        size_t n;
        const struct row *rows = schema_rows((enum section_kind)kind, &n);

        for (size_t i = 0; i < n; i++) {
            char accepted[ACCEPTED_MAX];

            assert_true(strlen(rows[i].help) > 10);
            assert_true(rows[i].help[strlen(rows[i].help) - 1] == '.');
            assert_true(*schema_accepted(&rows[i], accepted) != '\0');
            assert_ptr_equal(schema_find((enum section_kind)kind, rows[i].key), &rows[i]);
            assert_false(schema_not_built((enum section_kind)kind, rows[i].key));
        }
    }
    assert_null(schema_find(SECTION_DAEMON, "stream"));
}

/* Each default is what the manual says, and is written as it is read. */
static void test_defaults_come_back_as_text(void **state) {
    struct fixture *self = *state;

    for (int kind = 0; kind < _SECTION_MAX; kind++) {
        size_t n;
        const struct row *rows = schema_rows((enum section_kind)kind, &n);

        for (size_t i = 0; i < n; i++) {
            char buf[VALUE_TEXT_MAX];

            if (!rows[i].fallback || (rows[i].flags & ROW_AUTO))
                continue;
            const char *text = schema_format(&rows[i], self->drafts[kind], buf);
            if (rows[i].type != VALUE_DURATION) {
                assert_string_equal(text, rows[i].fallback);
                continue;
            }
            usec_t value = 1, again = 2;
            assert_int_equal(text_parse_duration(text, &value), 0);
            assert_int_equal(text_parse_duration(rows[i].fallback, &again), 0);
            assert_true(value == again);
        }
    }
    const struct recovery_settings *recovery = &self->drafts[SECTION_RECOVERY]->recovery.settings;
    assert_true(recovery->interval == 60 * USEC_PER_SEC);
    assert_int_equal(recovery->count, 100);
    assert_int_equal(recovery->concurrency, 4);
    assert_true(recovery->claim_ahead == VALUE_AUTO);
    assert_true(recovery->handler_timeout == 30 * USEC_PER_SEC);
    assert_int_equal(recovery->payload, PAYLOAD_JSON);
    assert_int_equal(recovery->handler_output, OUTPUT_STDERR);
    assert_int_equal(recovery->missing, MISSING_KEEP);
}

static void format_number(const struct row *row, uint64_t value, char *buf) {
    if (row->type == VALUE_DURATION)
        (void)snprintf(buf, 64, "%" PRIu64 "ms", value / USEC_PER_MSEC);
    else
        (void)snprintf(buf, 64, "%" PRIu64, value);
}

static void check_limits(struct fixture *self, enum section_kind kind, const struct row *row) {
    uint64_t step = row->type == VALUE_DURATION ? USEC_PER_MSEC : 1;
    char text[64], why[WHY_MAX];

    format_number(row, row->min, text);
    assert_int_equal(parse(self, kind, row, text, why), 0);
    format_number(row, row->max, text);
    assert_int_equal(parse(self, kind, row, text, why), 0);
    format_number(row, row->max + step, text);
    assert_int_equal(parse(self, kind, row, text, why), VALUE_E_BAD);
    assert_non_null(strstr(why, "is too large; accepted: "));
    if (row->min == 0)
        return;
    format_number(row, row->min - step, text);
    assert_int_equal(parse(self, kind, row, text, why), VALUE_E_BAD);
    assert_non_null(strstr(why, "is too small; accepted: "));
    /* refused values change nothing */
    format_number(row, row->max, text);
    char buf[VALUE_TEXT_MAX], again[VALUE_TEXT_MAX];
    schema_format(row, self->drafts[kind], buf);
    assert_int_equal(parse(self, kind, row, text, why), 0);
    assert_string_equal(schema_format(row, self->drafts[kind], again), buf);
}

static void test_limits_are_kept_exactly(void **state) {
    for (int kind = 0; kind < _SECTION_MAX; kind++) {
        size_t n;
        const struct row *rows = schema_rows((enum section_kind)kind, &n);

        for (size_t i = 0; i < n; i++)
            if (rows[i].type == VALUE_DURATION || rows[i].type == VALUE_SIZE ||
                rows[i].type == VALUE_NUMBER)
                check_limits(*state, (enum section_kind)kind, &rows[i]);
    }
}

static void refuses(struct fixture *self, enum section_kind kind, const char *key, const char *text,
                    const char *want) {
    char why[WHY_MAX];

    assert_int_equal(parse(self, kind, schema_find(kind, key), text, why), VALUE_E_BAD);
    assert_string_equal(why, want);
}

static void test_sentences(void **state) {
    struct fixture *self = *state;
    static const char duration[] =
        "; accepted: a duration from 1s to 30d, such as 500ms, 60s or 1h 30m";
    char want[WHY_MAX];

    static const char *const durations[][2] = {
        {"60", "\"60\" has no unit"},
        {"999ms", "\"999ms\" is too small"},
        {"31d", "\"31d\" is too large"},
        {"99999999999999999999d", "\"99999999999999999999d\" is too large"},
        {"soon", "\"soon\" is not a duration"},
        {"", "\"\" is not a duration"},
        {"auto", "\"auto\" is not a duration"},
        {"1m # x", "\"1m # x\" is not a duration"},
        {"a\\b", "\"a\\\\b\" is not a duration"},
    };
    for (size_t i = 0; i < sizeof(durations) / sizeof(durations[0]); i++) {
        (void)snprintf(want, sizeof(want), "%s%s", durations[i][1], duration);
        refuses(self, SECTION_RECOVERY, "min_idle", durations[i][0], want);
    }
    refuses(self, SECTION_RECOVERY, "count", "many",
            "\"many\" is not a number; accepted: a number from 1 to 1000");
    refuses(self, SECTION_RECOVERY, "count", "-1",
            "\"-1\" is not a number; accepted: a number from 1 to 1000");
    refuses(self, SECTION_RECOVERY, "claim_ahead", "4097",
            "\"4097\" is too large; accepted: a number from 0 to 4096, or auto");
    refuses(self, SECTION_DAEMON, "max_body_bytes", "64MB",
            "\"64MB\" is not a size; accepted: a size from 1M to 1024G, such as 1M or 1G");
    refuses(self, SECTION_DAEMON, "log_level", "warn",
            "\"warn\" is not known; accepted: err, warning, notice, info, debug");
    refuses(self, SECTION_REDIS, "mode", "cluster",
            "\"cluster\" is not built yet; accepted: standalone");
    refuses(self, SECTION_REDIS, "mode", "sentinel",
            "\"sentinel\" is not built yet; accepted: standalone");
    refuses(self, SECTION_RECOVERY, "handler", "fork",
            "\"fork\" is not known; accepted: exec, worker, socket, move, claim-only");
    refuses(self, SECTION_RECOVERY, "stream", "", "must not be empty");
    refuses(self, SECTION_RECOVERY, "group", "a\x01z",
            "holds a control character; accepted: text without them");
    refuses(self, SECTION_RECOVERY, "stream", "a\tb",
            "holds a control character; accepted: text without them");
    refuses(self, SECTION_RECOVERY, "redis", "a b",
            "\"a b\" is not a NAME; accepted: empty, or a NAME of at most 40 letters, digits and "
            ". _ : -");
    refuses(self, SECTION_REDIS, "password_file", "secrets/redis",
            "neither an absolute path nor a bare name; accepted: an absolute path, or a bare name "
            "in $CREDENTIALS_DIRECTORY");
    refuses(self, SECTION_REDIS, "password_file", "..",
            "neither an absolute path nor a bare name; accepted: an absolute path, or a bare name "
            "in $CREDENTIALS_DIRECTORY");
}

static void test_long_values_are_cut_in_sentences_only(void **state) {
    struct fixture *self = *state;
    char text[300], why[WHY_MAX];

    memset(text, 'x', sizeof(text) - 1);
    text[sizeof(text) - 1] = '\0';
    assert_int_equal(
        parse(self, SECTION_RECOVERY, schema_find(SECTION_RECOVERY, "min_idle"), text, why),
        VALUE_E_BAD);
    assert_non_null(strstr(why, "xxx...\" is not a duration; accepted: "));
    const struct row *stream = schema_find(SECTION_RECOVERY, "stream");
    assert_int_equal(parse(self, SECTION_RECOVERY, stream, text, why), 0);
    assert_string_equal(self->drafts[SECTION_RECOVERY]->recovery.settings.stream, text);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_every_row_is_complete, begin, end),
        cmocka_unit_test_setup_teardown(test_defaults_come_back_as_text, begin, end),
        cmocka_unit_test_setup_teardown(test_limits_are_kept_exactly, begin, end),
        cmocka_unit_test_setup_teardown(test_sentences, begin, end),
        cmocka_unit_test_setup_teardown(test_long_values_are_cut_in_sentences_only, begin, end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
