/* SPDX-License-Identifier: BSD-3-Clause */
#include "unit.h"

#include "config/ini.h"
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* What was reported, a line each: "3 key=value". */
struct record {
    char text[8192];
};

static void note(struct record *record, unsigned line, const char *a, const char *b,
                 const char *c) {
    size_t used = strlen(record->text);

    (void)snprintf(record->text + used, sizeof(record->text) - used, "%u %s%s%s\n", line, a, b, c);
}

static void on_section(void *data, unsigned line, const char *name) {
    note(data, line, "[", name, "]");
}

static void on_key(void *data, unsigned line, const char *key, const char *value) {
    note(data, line, key, "=", value);
}

static void on_more(void *data, unsigned line, const char *value) {
    note(data, line, "+", value, "");
}

static void on_bad(void *data, unsigned line, bool more, const char *why) {
    note(data, line, more ? "!+ " : "! ", why, "");
}

static void reads_bytes(const char *text, size_t size, const char *want) {
    static const struct ini_events events = {on_section, on_key, on_more, on_bad};
    struct record record = {{0}};
    FILE *file = fmemopen((void *)text, size, "r");

    assert_non_null(file);
    assert_int_equal(ini_read(file, &events, &record), 0);
    (void)fclose(file);
    assert_string_equal(record.text, want);
}

static void reads(const char *text, const char *want) {
    reads_bytes(text, strlen(text), want);
}

#define NO_PAIR "! neither a [section] nor key = value\n"
#define INLINE                                                                                     \
    "! a blank and a semicolon begin a comment, which would cut this line; accepted: a comment "   \
    "on a line of its own, or the semicolon without a blank before it\n"
#define STRAY                                                                                      \
    "!+ an indented line continues the key above it, and here is none; accepted: the same line "   \
    "without blanks before it\n"
#define LONG                                                                                       \
    "! longer than 198 bytes; accepted: shorter lines (url and command may go on in indented "     \
    "lines)\n"

static void test_sections_and_keys_come_with_their_lines(void **state) {
    reads("; comment\n\n# another ; one\n[a]\nk = v\n\nl=w\n[b c]\nk:v\nm : x = y\nempty =\n",
          "4 [a]\n5 k=v\n7 l=w\n8 [b c]\n9 k=v\n10 m=x = y\n11 empty=\n");
    reads("[a]\r\nk = v \t\r\nlast = 1", "1 [a]\n2 k=v\n3 last=1\n");
    reads("[empty]\n[also]\n", "1 [empty]\n2 [also]\n");
    reads("\xef\xbb\xbf[a]\nk = v\n", "1 [a]\n2 k=v\n");
    reads("\xef\xbb\xbf; comment\n[a]\n", "2 [a]\n");
    reads("[a]\nk = \"v\" 'w'\nurl = redis://h;x#y\n", "1 [a]\n2 k=\"v\" 'w'\n"
                                                       "3 url=redis://h;x#y\n");
    reads("\n", "");
}

static void test_indented_lines_continue(void **state) {
    reads("[a]\nk = v\n  more\n\tof = it\n\n  ; comment\n  still\nl = w\n",
          "1 [a]\n2 k=v\n3 +more\n4 +of = it\n7 +still\n8 l=w\n");
    reads("[a]\nk =\n  v\n", "1 [a]\n2 k=\n3 +v\n");
    reads("[a]\n  k = v\n", "1 [a]\n2 " STRAY);
    reads("  [a]\nk = v\n", "1 " STRAY "2 ! a key outside any section; accepted: a [section] "
                            "line before it\n");
    reads("[a]\nk = v\n[b]\n  more\n", "1 [a]\n2 k=v\n3 [b]\n4 " STRAY);
}

static void test_lines_that_would_be_cut_are_refused(void **state) {
    reads("[a]\nk = v ; comment\nl = x;y\n", "1 [a]\n2 " INLINE "3 l=x;y\n");
    reads("[a]\nk =\t;v\n", "1 [a]\n2 " INLINE);
    reads("[a] ; comment\nk = v\n[b]\nl = w\n", "1 " INLINE "3 [b]\n4 l=w\n");
    reads("[a]b\nk = v\n", "1 ! text after the ] of a section header\n");
    reads("[a\nk = v\n", "1 ! a section header without the closing ]\n");
    reads_bytes("[a]\nk = v\0w\nl = w\n", 17,
                "1 [a]\n2 ! a NUL byte; accepted: text in UTF-8\n"
                "3 l=w\n");
    reads_bytes("[a]\n# c\0\nl = w\n", 15,
                "1 [a]\n2 ! a NUL byte; accepted: text in UTF-8\n"
                "3 l=w\n");
    reads("[a]\nk = \xff\n", "1 [a]\n2 ! not UTF-8; accepted: text in UTF-8\n");
}

static void test_what_is_no_pair_is_refused_and_reading_goes_on(void **state) {
    reads("[a]\nnonsense\nk = v\nagain\nlast",
          "1 [a]\n2 " NO_PAIR "3 k=v\n4 " NO_PAIR "5 " NO_PAIR);
    reads("[a]\n = v\nk = v\n", "1 [a]\n2 " STRAY "3 k=v\n");
    reads("[a]\n= v\nk = v\n", "1 [a]\n2 ! no key before the =; accepted: key = value\n3 k=v\n");
    reads("k = v\n[a]\n", "1 ! a key outside any section; accepted: a [section] line before it\n"
                          "2 [a]\n");
}

static void test_lines_below_a_refused_one_go_with_it(void **state) {
    reads("[a]\nk = v\nbad\n  more\nl = w\n", "1 [a]\n2 k=v\n3 " NO_PAIR "5 l=w\n");
    reads("[a]\nk = v\nl = x ; y\n  more\n", "1 [a]\n2 k=v\n3 " INLINE);
    reads("[a]\nk = v\n  \xff\n  more\n",
          "1 [a]\n2 k=v\n3 !+ not UTF-8; accepted: text in UTF-8\n4 +more\n");
    reads("[a\nk = v\n  more\n[b]\nl = w\n", "1 ! a section header without the closing ]\n"
                                             "4 [b]\n5 l=w\n");
}

/* 4 bytes of "k = " and what is missing to `size`. */
static void with_line_of(size_t size, bool newline, const char *want_second) {
    char text[1024], want[1024], value[512];

    memset(value, 'x', size - 4);
    value[size - 4] = '\0';
    (void)snprintf(text, sizeof(text), "[a]\nk = %s%s", value, newline ? "\nl = w\n" : "");
    (void)snprintf(want, sizeof(want), "1 [a]\n2 %s%s%s%s", want_second,
                   *want_second == 'k' ? value : "", *want_second == 'k' ? "\n" : "",
                   newline ? "3 l=w\n" : "");
    reads(text, want);
}

static void test_the_longest_line_is_read_whole(void **state) {
    assert_int_equal(ini_line_max(), 198);
    with_line_of(198, true, "k=");
    with_line_of(198, false, "k=");
    for (size_t size = 199; size < 420; size++) {
        with_line_of(size, true, LONG);
        with_line_of(size, false, LONG);
    }
}

static void test_long_comments_do_no_harm(void **state) {
    char text[600];

    memset(text, 'x', sizeof(text));
    memcpy(text, "[a]\n# ", 6);
    memcpy(text + 300, "k = v", 5);
    memcpy(text + 590, "\nk = w\n", 8);
    reads(text, "1 [a]\n3 k=w\n");
}

static void test_a_file_that_cannot_be_read_is_an_error(void **state) {
    static const struct ini_events events = {on_section, on_key, on_more, on_bad};
    struct record record = {{0}};
    FILE *file = fopen("/", "r");

    assert_non_null(file);
    assert_true(ini_read(file, &events, &record) < 0);
    (void)fclose(file);
    assert_string_equal(record.text, "");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_sections_and_keys_come_with_their_lines),
        cmocka_unit_test(test_indented_lines_continue),
        cmocka_unit_test(test_lines_that_would_be_cut_are_refused),
        cmocka_unit_test(test_what_is_no_pair_is_refused_and_reading_goes_on),
        cmocka_unit_test(test_lines_below_a_refused_one_go_with_it),
        cmocka_unit_test(test_the_longest_line_is_read_whole),
        cmocka_unit_test(test_long_comments_do_no_harm),
        cmocka_unit_test(test_a_file_that_cannot_be_read_is_an_error),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
