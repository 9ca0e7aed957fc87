/* SPDX-License-Identifier: BSD-3-Clause */
#include "unit.h"

#include "base/text.h"
#include <string.h>

static void test_durations_are_read(void **state) {
    static const struct {
        const char *text;
        usec_t value;
    } good[] = {
        {"500ms", 500 * USEC_PER_MSEC},
        {"60s", 60 * USEC_PER_SEC},
        {"5m", 300 * USEC_PER_SEC},
        {"1h 30m", 5400 * USEC_PER_SEC},
        {"1h30m", 5400 * USEC_PER_SEC},
        {"30d", 2592000 * USEC_PER_SEC},
        {"0s", 0},
    };
    for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++) {
        usec_t value = 1;
        assert_int_equal(text_parse_duration(good[i].text, &value), 0);
        assert_true(value == good[i].value);
    }
}

static void test_durations_are_refused(void **state) {
    static const struct {
        const char *text;
        int error;
    } bad[] = {
        {"60", TEXT_E_UNIT},
        {"1h 30", TEXT_E_UNIT},
        {"", TEXT_E_BAD},
        {"s", TEXT_E_BAD},
        {"-1s", TEXT_E_BAD},
        {"1.5s", TEXT_E_BAD},
        {"1 s", TEXT_E_UNIT},
        {"1s ", TEXT_E_BAD},
        {" 1s", TEXT_E_BAD},
        {"1us", TEXT_E_BAD},
        {"1sec", TEXT_E_BAD},
        {"1S", TEXT_E_BAD},
        {"99999999999999999999s", TEXT_E_RANGE},
        {"999999999999999999d", TEXT_E_RANGE},
    };
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        usec_t value = 77;
        assert_int_equal(text_parse_duration(bad[i].text, &value), bad[i].error);
        assert_int_equal(value, 77);
    }
}

static void test_durations_come_back_the_same(void **state) {
    static const usec_t values[] = {0,          1000,          500000,     60000000,
                                    5400000000, 2592000000000, 90061001000};
    for (size_t i = 0; i < sizeof(values) / sizeof(values[0]); i++) {
        char text[64];
        usec_t value = 1;
        text_format_duration(values[i], text, sizeof(text));
        assert_int_equal(text_parse_duration(text, &value), 0);
        assert_true(value == values[i]);
    }
}

static void test_sizes(void **state) {
    uint64_t value = 0;
    char text[32];

    assert_int_equal(text_parse_size("64K", &value), 0);
    assert_int_equal(value, 65536);
    assert_int_equal(text_parse_size("1G", &value), 0);
    text_format_size(value, text, sizeof(text));
    assert_string_equal(text, "1G");
    text_format_size(1500, text, sizeof(text));
    assert_string_equal(text, "1500");
    assert_int_equal(text_parse_size("", &value), TEXT_E_BAD);
    assert_int_equal(text_parse_size("1k", &value), TEXT_E_BAD);
    assert_int_equal(text_parse_size("1KB", &value), TEXT_E_BAD);
    assert_int_equal(text_parse_size("K", &value), TEXT_E_BAD);
    assert_int_equal(text_parse_size("18446744073709551615G", &value), TEXT_E_RANGE);
}

static void test_booleans_and_numbers(void **state) {
    bool flag = false;
    uint64_t value = 0;

    assert_int_equal(text_parse_bool("Yes", &flag), 0);
    assert_true(flag);
    assert_int_equal(text_parse_bool("off", &flag), 0);
    assert_false(flag);
    assert_int_equal(text_parse_bool("maybe", &flag), TEXT_E_BAD);
    assert_int_equal(text_parse_u64("18446744073709551615", &value), 0);
    assert_true(value == UINT64_MAX);
    assert_int_equal(text_parse_u64("18446744073709551616", &value), TEXT_E_RANGE);
    assert_int_equal(text_parse_u64("1x", &value), TEXT_E_BAD);
    assert_int_equal(text_parse_u64("-1", &value), TEXT_E_BAD);
}

static void printable(const char *from, size_t n, size_t size, const char *want) {
    char buf[64];

    assert_true(size <= sizeof(buf));
    assert_string_equal(text_printable((struct blob){from, n}, buf, size), want);
}

static void test_printable(void **state) {
    printable("plain", 5, 64, "plain");
    printable("a\nb\tc\x7f", 6, 64, "a\\x0ab\\x09c\\x7f");
    printable("a\0b", 3, 64, "a\\x00b");
    printable("\\", 1, 64, "\\\\");
    printable("gr\xc3\xbc\xc3\x9f", 6, 64, "gr\xc3\xbc\xc3\x9f");
    printable("\xff\xc3", 2, 64, "\\xff\\xc3");
    printable("\xc2\x9b"
              "31m",
              5, 64, "\\xc2\\x9b31m");
    printable("", 0, 64, "");
    printable("abcdefgh", 8, 9, "abcdefgh");
    printable("abcdefgh", 8, 8, "abcd...");
    printable("abc\nefgh", 8, 10, "abc...");
    printable("gr\xc3\xbc\xc3\x9fxx", 8, 8, "gr\xc3\xbc...");
    printable("abcdefgh", 8, 3, "..");
    printable("abcdefgh", 8, 1, "");
}

static void test_utf8(void **state) {
    static const struct blob bad[] = {
        {"\xc0\x80", 2}, {"\xed\xa0\x80", 3},     {"\xf4\x90\x80\x80", 4}, {"\xe2\x82", 2},
        {"\x80", 1},     {"\xf5\x80\x80\x80", 4}, {"\xe0\x80\x80", 3},     {"\xf0\x80\x80\x80", 4},
    };
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
        assert_false(text_is_utf8(bad[i]));
    assert_true(text_is_utf8((struct blob){"\xf0\x9f\x98\x80 \xe2\x82\xac \x00", 9}));
    assert_true(text_has_control("a\tb"));
    assert_false(text_has_control("a b\xc3\xbc"));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_durations_are_read),
        cmocka_unit_test(test_durations_are_refused),
        cmocka_unit_test(test_durations_come_back_the_same),
        cmocka_unit_test(test_sizes),
        cmocka_unit_test(test_booleans_and_numbers),
        cmocka_unit_test(test_printable),
        cmocka_unit_test(test_utf8),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
