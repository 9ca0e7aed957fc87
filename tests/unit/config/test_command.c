/* SPDX-License-Identifier: BSD-3-Clause */
#include "unit.h"

#include "config/command.h"
#include <stdarg.h>
#include <string.h>

static int begin(void **state) {
    *state = config_memory_new();
    return *state ? 0 : -1;
}

static int end(void **state) {
    config_memory_free(*state);
    return 0;
}

static void splits(void **state, const char *text, ...) {
    char why[WHY_MAX] = "";
    char *const *argv = NULL;
    va_list args;

    int r = command_split(text, *state, &argv, why);
    assert_string_equal(why, "");
    assert_int_equal(r, 0);
    va_start(args, text);
    for (size_t i = 0;; i++) {
        const char *want = va_arg(args, const char *);

        if (!want) {
            assert_null(argv[i]);
            break;
        }
        assert_non_null(argv[i]);
        assert_string_equal(argv[i], want);
    }
    va_end(args);
}

static void test_words(void **state) {
    splits(state, "/bin/true", "/bin/true", NULL);
    splits(state, "/bin/sh -c 'a; b  c' \"d e\"", "/bin/sh", "-c", "a; b  c", "d e", NULL);
    splits(state, "/a \t b\\ c", "/a", "b c", NULL);
    splits(state, "/a x\"y z\"w 'it'\\''s'", "/a", "xy zw", "it's", NULL);
    splits(state, "/a \"say \\\"hi\\\"\" \"\\n\"", "/a", "say \"hi\"", "\\n", NULL);
    splits(state, "/a '\\d+' \"it's\" '\"'", "/a", "\\d+", "it's", "\"", NULL);
    splits(state, "\"/opt/my prog\" ''x", "/opt/my prog", "x", NULL);
}

static void test_nothing_is_expanded(void **state) {
    splits(state, "/a $HOME ~ * `x` $(y) | > & # %H", "/a", "$HOME", "~", "*", "`x`", "$(y)", "|",
           ">", "&", "#", "%H", NULL);
}

static void refuses(void **state, const char *text, const char *want) {
    char why[WHY_MAX] = "";
    char *const *argv = NULL;

    assert_int_equal(command_split(text, *state, &argv, why), VALUE_E_BAD);
    assert_string_equal(why, want);
    assert_null(argv);
}

static void test_refusals(void **state) {
    static const char open_quote[] = "a quote that is not closed; accepted: quotes in pairs";
    static const char empty_word[] = "an empty word (\"\" or ''), which cannot be handed over; "
                                     "accepted: words that are not empty";
    static const char in_double[] = "a backslash before \\ $ or ` inside \"...\"; accepted: the "
                                    "same text inside '...'";
    static const char relative[] = "the program is not an absolute path; accepted: an absolute "
                                   "program and its arguments";

    refuses(state, "", "must not be empty; accepted: an absolute program and its arguments");
    refuses(state, " ",
            "cannot be split into words; accepted: an absolute program and its "
            "arguments");
    refuses(state, "true", relative);
    refuses(state, "./true", relative);
    refuses(state, "'' /bin/true", empty_word);
    refuses(state, "/bin/true \"\"", empty_word);
    refuses(state, "/bin/true '' x", empty_word);
    refuses(state, "/bin/true 'x", open_quote);
    refuses(state, "/bin/true x\"y z", open_quote);
    refuses(state, "/bin/true 'x\" y", open_quote);
    refuses(state, "/bin/true x\\",
            "a backslash at the end; accepted: a backslash before a character");
    refuses(state, "/bin/true 'a\\' b'",
            "a backslash before the closing '; accepted: the backslash "
            "outside of the quotes");
    refuses(state, "/bin/true \"a\\\\\"", in_double);
    refuses(state, "/bin/true \"\\$HOME\"", in_double);
    refuses(state, "/bin/true \"\\`x\"", in_double);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_words, begin, end),
        cmocka_unit_test_setup_teardown(test_nothing_is_expanded, begin, end),
        cmocka_unit_test_setup_teardown(test_refusals, begin, end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
