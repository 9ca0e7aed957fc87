/* SPDX-License-Identifier: BSD-3-Clause */
#include "unit.h"

#include "base/text.h"
#include "report/wording.h"
#include <string.h>

static void test_plain_text_stays(void **state) {
    assert_string_equal(wording_plain("exit status 1").text, "exit status 1");
    assert_string_equal(wording_plain("gr\xc3\xbc\xc3\x9f \xe2\x82\xac \xf0\x9f\x98\x80").text,
                        "gr\xc3\xbc\xc3\x9f \xe2\x82\xac \xf0\x9f\x98\x80");
    assert_string_equal(wording_plain("").text, "");
}

static void test_twice_is_once(void **state) {
    const struct wording once = wording_plain("a\nb\\c\xff\xc2\x9bz");

    assert_string_equal(once.text, "a\\x0ab\\c\\xff\\xc2\\x9bz");
    assert_string_equal(wording_plain(once.text).text, once.text);
}

static void test_a_character_cut_off_by_the_end(void **state) {
    assert_string_equal(wording_plain("ab\xe2\x82").text, "ab\\xe2\\x82");
}

static void test_cut_between_characters(void **state) {
    char buf[10];

    assert_int_equal(wording_copy("123456789", buf, sizeof(buf)), 9);
    assert_string_equal(buf, "123456789");
    assert_int_equal(wording_copy("1234567890", buf, sizeof(buf)), 9);
    assert_string_equal(buf, "123456...");
    assert_int_equal(wording_copy("12345\xc3\xbc\xc3\xbc\xc3\xbc", buf, sizeof(buf)), 8);
    assert_string_equal(buf, "12345...");
    assert_int_equal(wording_copy("12345\n789", buf, sizeof(buf)), 8);
    assert_string_equal(buf, "12345...");
    assert_int_equal(wording_copy("123456", buf, 2), 1);
    assert_int_equal(wording_copy("123456", buf, 0), 0);
}

static void test_long_text_is_bounded_and_valid(void **state) {
    char text[4000];

    for (size_t i = 0; i < sizeof(text) - 1; i++)
        text[i] = i % 2 == 0 ? '\xc3' : '\xbc';
    text[sizeof(text) - 1] = '\0';
    struct wording w = wording_plain(text);
    assert_true(strlen(w.text) < WORDING_MAX);
    assert_true(strlen(w.text) > WORDING_MAX - 5);
    assert_true(text_is_utf8((struct blob){w.text, strlen(w.text)}));
    assert_true(strlen(wording_name(text).text) < 100);
}

static void test_durations(void **state) {
    assert_string_equal(wording_duration(0).text, "0ms");
    assert_string_equal(wording_duration(12345).text, "12ms");
    assert_string_equal(wording_duration(USEC_PER_SEC).text, "1.0s");
    assert_string_equal(wording_duration(1290 * USEC_PER_MSEC).text, "1.2s");
    assert_string_equal(wording_duration(59999 * USEC_PER_MSEC).text, "59.9s");
    assert_string_equal(wording_duration(125 * USEC_PER_SEC + 999).text, "2m 5s");
    assert_true(strlen(wording_duration(USEC_INFINITY).text) > 0);
}

static void test_ids_and_plurals(void **state) {
    assert_string_equal(wording_id((struct entry_id){1700000000000, 7}).text, "1700000000000-7");
    assert_string_equal(wording_plural(1, "entry", "entries"), "entry");
    assert_string_equal(wording_plural(0, "entry", "entries"), "entries");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_plain_text_stays),
        cmocka_unit_test(test_twice_is_once),
        cmocka_unit_test(test_a_character_cut_off_by_the_end),
        cmocka_unit_test(test_cut_between_characters),
        cmocka_unit_test(test_long_text_is_bounded_and_valid),
        cmocka_unit_test(test_durations),
        cmocka_unit_test(test_ids_and_plurals),
    };
    return cmocka_run_group_tests_name("report/wording", tests, NULL, NULL);
}
