/* SPDX-License-Identifier: BSD-3-Clause */
#include "unit.h"

#include "config/consumer.h"
#include <string.h>

static int begin(void **state) {
    *state = config_memory_new();
    return *state ? 0 : -1;
}

static int end(void **state) {
    config_memory_free(*state);
    return 0;
}

static const struct specifiers usual = {.host = "web1", .name = "orders", .instance = "eu"};

static void expands(void **state, const char *text, const char *want, const char *want_literal) {
    char why[WHY_MAX] = "";
    const char *name = NULL, *literal = NULL, *again = NULL;

    assert_int_equal(consumer_check(text, why), 0);
    assert_int_equal(consumer_expand(text, &usual, *state, &name, &literal, why), 0);
    assert_string_equal(name, want);
    assert_string_equal(literal, want_literal);
    assert_int_equal(consumer_expand(literal, &usual, *state, &again, &literal, why), 0);
    assert_string_equal(again, want);
}

static void test_specifiers(void **state) {
    expands(state, "xautoclaimd-%H", "xautoclaimd-web1", "xautoclaimd-web1");
    expands(state, "%H%N%i", "web1orderseu", "web1orderseu");
    expands(state, "100%%-%N", "100%-orders", "100%%-orders");
    expands(state, "%%H", "%H", "%%H");
    expands(state, "plain", "plain", "plain");
}

static void bad_syntax(const char *text, const char *want) {
    char why[WHY_MAX] = "";

    assert_int_equal(consumer_check(text, why), VALUE_E_BAD);
    assert_string_equal(why, want);
}

#define ACCEPTED "; accepted: a name, with %H (host name), %N (NAME), %i (instance) and %%"

static void test_unknown_specifiers_are_refused(void **state) {
    bad_syntax("a%x", "\"a%x\" has a % that none of H N i % follows" ACCEPTED);
    bad_syntax("%", "\"%\" has a % that none of H N i % follows" ACCEPTED);
    bad_syntax("%%%", "\"%%%\" has a % that none of H N i % follows" ACCEPTED);
    bad_syntax("%h", "\"%h\" has a % that none of H N i % follows" ACCEPTED);
    bad_syntax("", "must not be empty" ACCEPTED);
}

static void bad_name(void **state, const char *text, const char *instance, const char *want) {
    struct specifiers specifiers = {.host = "web1", .name = "orders", .instance = instance};
    char why[WHY_MAX] = "";
    const char *name = NULL, *literal = NULL;

    assert_int_equal(consumer_expand(text, &specifiers, *state, &name, &literal, why), VALUE_E_BAD);
    assert_string_equal(why, want);
    assert_null(name);
}

static void test_bad_results_are_refused(void **state) {
    char text[CONSUMER_MAX + 2];

    bad_name(state, "%i", "", "expands to an empty name" ACCEPTED);
    bad_name(state, "%i", "a\nb",
             "expands to a name with control characters; accepted: names without");
    bad_name(state, "%i", "a\xff",
             "expands to a name with control characters; accepted: names without");
    bad_name(state, "%i", "a ;b",
             "expands to a name with blanks at its ends or before a semicolon; accepted: names "
             "without");
    bad_name(state, "x%i", " ",
             "expands to a name with blanks at its ends or before a semicolon; accepted: names "
             "without");
    memset(text, 'x', CONSUMER_MAX + 1);
    text[CONSUMER_MAX + 1] = '\0';
    bad_name(state, text, "",
             "too long once expanded; accepted: at most 180 bytes, a % counts twice");
    bad_name(state, "%%%i", text + 2,
             "too long once expanded; accepted: at most 180 bytes, a % counts twice");
    expands(state, text + 1, text + 1, text + 1);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_specifiers, begin, end),
        cmocka_unit_test_setup_teardown(test_unknown_specifiers_are_refused, begin, end),
        cmocka_unit_test_setup_teardown(test_bad_results_are_refused, begin, end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
