/* SPDX-License-Identifier: BSD-3-Clause */
#include "unit.h"

#include "control/protocol.h"
#include <string.h>

static bool parse(const char *line, struct control_request *ret, const char **ret_why) {
    return control_request_parse(line, strlen(line), ret, ret_why);
}

static void test_every_verb_is_understood(void **state) {
    for (int verb = 0; verb < _CONTROL_VERB_MAX; verb++) {
        const char *why = NULL;
        struct control_request request;
        char line[64];
        bool named = control_verb_takes_name((enum control_verb)verb);

        (void)snprintf(line, sizeof(line), "%s%s", control_verb_to_string((enum control_verb)verb),
                       named ? " a.b:c-d" : "");
        assert_true(parse(line, &request, &why));
        assert_int_equal(request.verb, verb);
        assert_string_equal(request.name, named ? "a.b:c-d" : "");
    }
}

static void test_everything_else_is_refused(void **state) {
    static const char *const lines[] = {
        "",          " ",        " status",
        "statu",     "statuss",  "STATUS",
        "status ",   "status x", "reload all",
        "run",       "run ",     "run  a",
        "run a b",   "run a ",   "pause",
        "run \001",  "run a\tb", "run \303\244",
        "version 1", "status\r", "run 12345678901234567890123456789012345678901",
    };

    for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]); i++) {
        struct control_request request;
        const char *why = NULL;

        assert_false(parse(lines[i], &request, &why));
        assert_non_null(why);
    }
    const char *why = NULL;
    struct control_request request;
    assert_false(control_request_parse("status\0", 7, &request, &why));
    assert_false(control_request_parse("run a\0b", 7, &request, &why));
    assert_true(parse("run 1234567890123456789012345678901234567890", &request, &why));
}

static void test_heads(void **state) {
    char head[CONTROL_HEAD_MAX];
    size_t head_size, body;
    bool ok;

    assert_int_equal(control_head_format(true, 0, head), 5);
    assert_string_equal(head, "ok 0\n");
    (void)control_head_format(false, SIZE_MAX / 2, head);
    assert_true(control_head_parse(head, strlen(head), &ok, &head_size, &body));
    assert_false(ok);
    assert_int_equal(head_size, strlen(head));
    assert_true(body == SIZE_MAX / 2);
    assert_true(control_head_parse("ok 3\nabc", 8, &ok, &head_size, &body));
    assert_true(ok);
    assert_int_equal(head_size, 5);
    assert_int_equal(body, 3);
}

static void test_what_is_no_head(void **state) {
    static const char *const heads[] = {
        "",        "ok",       "ok 3",
        "ok\n3",   "\n",       "ok \n",
        "ok -1\n", "ok 1x\n",  "OK 1\n",
        "no 1\n",  "okay 1\n", "ok 99999999999999999999\n",
        " ok 1\n", "ok  1\n",  "HTTP/1.1 200 OK\n",
    };

    for (size_t i = 0; i < sizeof(heads) / sizeof(heads[0]); i++) {
        size_t head = 0, body = 0;
        bool ok;

        assert_false(control_head_parse(heads[i], strlen(heads[i]), &ok, &head, &body));
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_verb_is_understood),
        cmocka_unit_test(test_everything_else_is_refused),
        cmocka_unit_test(test_heads),
        cmocka_unit_test(test_what_is_no_head),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
