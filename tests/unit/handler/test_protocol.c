/* SPDX-License-Identifier: BSD-3-Clause */
#include "unit.h"

#include "handler/protocol.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct blob blob_of(const char *text) {
    return (struct blob){text, strlen(text)};
}

static void accepts(const char *line, struct entry_id id, enum protocol_verb verb,
                    const char *reason) {
    struct protocol_answer answer;

    assert_true(protocol_parse(blob_of(line), &answer));
    assert_int_equal(entry_id_compare(answer.id, id), 0);
    assert_int_equal(answer.verb, verb);
    assert_string_equal(answer.reason, reason);
}

static void test_what_is_an_answer(void **state) {
    const struct entry_id id = {17, 3};

    accepts("17-3 ok", id, PROTOCOL_OK, "");
    accepts("17-3 working", id, PROTOCOL_WORKING, "");
    accepts("17-3 retry", id, PROTOCOL_RETRY, "");
    accepts("17-3 retry ", id, PROTOCOL_RETRY, "");
    accepts("17-3 retry the bank is closed", id, PROTOCOL_RETRY, "the bank is closed");
    accepts("17-3 reject  two blanks ", id, PROTOCOL_REJECT, " two blanks ");
    accepts("18446744073709551615-18446744073709551615 reject no",
            (struct entry_id){UINT64_MAX, UINT64_MAX}, PROTOCOL_REJECT, "no");
    accepts("0-0 ok", (struct entry_id){0, 0}, PROTOCOL_OK, "");
}

static void test_reasons_are_printable_and_cut(void **state) {
    struct protocol_answer answer;
    char line[PROTOCOL_LINE_MAX];

    accepts("1-1 retry \x1b[31mred\a \xff \xc3\xbc", (struct entry_id){1, 1}, PROTOCOL_RETRY,
            "\\x1b[31mred\\x07 \\xff \xc3\xbc");
    memset(line, 'x', sizeof(line));
    memcpy(line, "1-1 reject ", 11);
    assert_true(protocol_parse((struct blob){line, sizeof(line)}, &answer));
    assert_int_equal(strlen(answer.reason), OUTCOME_REASON_MAX - 1);
    assert_string_equal(answer.reason + OUTCOME_REASON_MAX - 4, "...");
    assert_true(protocol_parse((struct blob){"1-1 retry a\0b", 13}, &answer));
    assert_string_equal(answer.reason, "a\\x00b");
}

static void test_what_is_none(void **state) {
    static const char *const lines[] = {
        "",
        "ok",
        "1-1",
        "1-1 ",
        " 1-1 ok",
        "1-1  ok",
        "1-1 ok ",
        "1-1 okay",
        "1-1 OK",
        "1-1 o",
        "1-1 ok yes",
        "1-1 working hard",
        "1 ok",
        "1-1-1 ok",
        "-1-1 ok",
        "1-1\tok",
        "1-1 done",
        "+1-1 ok",
        "1-* ok",
        "1-1 ok\r",
        "1-1 retry\r",
        "hello",
        "{\"id\":1}",
        "18446744073709551616-0 ok",
        "1-1 rejected",
        "0x1-1 ok",
        "\xff\xfe",
    };
    struct protocol_answer answer;

    for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]); i++)
        if (protocol_parse(blob_of(lines[i]), &answer))
            fail_msg("\"%s\" is taken for an answer", lines[i]);
    assert_false(protocol_parse((struct blob){"1-1 ok\0", 7}, &answer));
    assert_false(protocol_parse((struct blob){"1-1\0ok", 6}, &answer));
    assert_false(protocol_parse((struct blob){NULL, 0}, &answer));
}

/* However a text is cut, its lines come out the same. */
static void cut(const char *text, size_t size, size_t step, char *out, size_t room) {
    struct protocol_lines lines = {0};
    size_t used = 0;

    for (size_t at = 0; at < size; at += step) {
        struct blob input = {text + at, size - at < step ? size - at : step}, line;
        enum protocol_piece piece;

        while ((piece = protocol_cut(&lines, &input, &line)) == PROTOCOL_LINE) {
            assert_true(used + line.size + 2 < room);
            out[used++] = '<';
            memcpy(out + used, line.data, line.size);
            used += line.size;
            out[used++] = '>';
        }
        assert_int_equal(piece, PROTOCOL_MORE);
        assert_int_equal(input.size, 0);
    }
    out[used] = '\0';
}

static void test_lines_come_in_any_pieces(void **state) {
    static const char text[] = "1-1 ok\n\n\r\n2-2 retry later\r\nrest\r\r\nx\ryy\nunfinished";
    char out[256];

    for (size_t step = 1; step <= sizeof(text); step++) {
        cut(text, sizeof(text) - 1, step, out, sizeof(out));
        assert_string_equal(out, "<1-1 ok><><><2-2 retry later><rest\r><x\ryy>");
    }
}

static enum protocol_piece cut_long(size_t length, const char *end, size_t step) {
    static char text[2 * PROTOCOL_LINE_MAX];
    struct protocol_lines lines = {0};
    size_t size = length + strlen(end);

    memset(text, 'x', length);
    memcpy(text + length, end, strlen(end));
    for (size_t at = 0; at < size; at += step) {
        struct blob input = {text + at, size - at < step ? size - at : step}, line;
        enum protocol_piece piece = protocol_cut(&lines, &input, &line);

        if (piece == PROTOCOL_LINE)
            assert_int_equal(line.size, length);
        if (piece != PROTOCOL_MORE)
            return piece;
    }
    return PROTOCOL_MORE;
}

static void test_lines_have_a_limit(void **state) {
    static const size_t steps[] = {1, 7, 4096, 4097, 8192};

    for (size_t i = 0; i < sizeof(steps) / sizeof(steps[0]); i++) {
        assert_int_equal(cut_long(PROTOCOL_LINE_MAX, "\n", steps[i]), PROTOCOL_LINE);
        assert_int_equal(cut_long(PROTOCOL_LINE_MAX, "\r\n", steps[i]), PROTOCOL_LINE);
        assert_int_equal(cut_long(PROTOCOL_LINE_MAX + 1, "\n", steps[i]), PROTOCOL_TOO_LONG);
        assert_int_equal(cut_long(PROTOCOL_LINE_MAX + 1, "\r\n", steps[i]), PROTOCOL_TOO_LONG);
        /* it is told before its end has come */
        assert_int_equal(cut_long(PROTOCOL_LINE_MAX + 2, "", steps[i]), PROTOCOL_TOO_LONG);
    }
}

static char random_byte(unsigned *seed) {
    static const char usual[] = "0123456789- okretyjcwing\n\r\0\xff\xc3";
    int r = rand_r(seed);

    return r % 8 == 0 ? (char)(r >> 8) : usual[(r >> 8) % (int)(sizeof(usual) - 1)];
}

/* Whatever comes: nothing crashes, and what is taken for an answer reads as one. */
static void test_random_bytes(void **state) {
    unsigned seed = 4711;

    for (int round = 0; round < 20000; round++) {
        struct protocol_lines lines = {0};
        char text[300];
        size_t size = (size_t)rand_r(&seed) % sizeof(text);

        for (size_t i = 0; i < size; i++)
            text[i] = random_byte(&seed);
        if (rand_r(&seed) % 2 && size > 8)
            memcpy(text, "1-1 ok\n", 7);
        struct blob input = {text, size}, line;

        while (protocol_cut(&lines, &input, &line) == PROTOCOL_LINE) {
            struct protocol_answer answer;

            assert_true(line.size <= size);
            if (!protocol_parse(line, &answer))
                continue;
            assert_true(answer.verb <= PROTOCOL_WORKING);
            assert_true(strlen(answer.reason) < OUTCOME_REASON_MAX);
            assert_false(text_has_control(answer.reason));
            assert_true(text_is_utf8(blob_of(answer.reason)));
        }
        assert_int_equal(input.size, 0);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_what_is_an_answer),
        cmocka_unit_test(test_reasons_are_printable_and_cut),
        cmocka_unit_test(test_what_is_none),
        cmocka_unit_test(test_lines_come_in_any_pieces),
        cmocka_unit_test(test_lines_have_a_limit),
        cmocka_unit_test(test_random_bytes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
