/* SPDX-License-Identifier: BSD-3-Clause */
#include "unit.h"

#include "handler/output.h"
#include "report_stub_handler.h"
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

static struct {
    struct loop *loop;
    struct output *output;
    struct output_account account;
    int writer;
} t;

static void open_output(bool logged) {
    int fds[2];

    assert_int_equal(pipe2(fds, O_CLOEXEC | O_NONBLOCK), 0);
    t.writer = fds[1];
    assert_int_equal(output_new(t.loop, fds[0], "stderr", logged, &t.account, &t.output), 0);
}

static int setup(void **state) {
    report_stub_reset();
    memset(&t, 0, sizeof(t));
    t.account.id = (struct entry_id){7, 8};
    assert_int_equal(loop_new(&t.loop), 0);
    open_output(true);
    return 0;
}

static int teardown(void **state) {
    assert_null(output_free(t.output));
    close(t.writer);
    t.loop = loop_free(t.loop);
    return 0;
}

static void say(const char *data, size_t size) {
    assert_int_equal(write(t.writer, data, size), size);
}
#define SAY(text) say(text, sizeof(text) - 1)

static void expect_lines(size_t n, ...) {
    va_list lines;

    assert_int_equal(report_stub.n, n);
    va_start(lines, n);
    for (size_t i = 0; i < n; i++)
        assert_string_equal(report_stub.lines[i], va_arg(lines, const char *));
    va_end(lines);
}

static void test_lines(void **state) {
    SAY("one\ntwo\r\n\n\r\nno newline");
    output_finish(t.output);
    expect_lines(3, "one", "two", "no newline");
    assert_string_equal(report_stub.streams[0], "stderr");
    assert_int_equal(report_stub.id.ms, 7);
    assert_int_equal(t.account.dropped, 0);
}

static void test_binary_is_made_printable(void **state) {
    SAY("a\0b\x1b[31m\xff\xc3\xa4\\\n");
    output_finish(t.output);
    expect_lines(1, "a\\x00b\\x1b[31m\\xff\xc3\xa4\\\\");
}

static void test_all_bytes_escaped_fit(void **state) {
    char line[OUTPUT_LINE_BYTES];

    memset(line, 0xff, sizeof(line));
    say(line, sizeof(line));
    say(line, 10);
    output_finish(t.output);
    assert_int_equal(report_stub.n, 1);
    assert_int_equal(strlen(report_stub.lines[0]), 4 * OUTPUT_LINE_BYTES + 3);
    assert_int_equal(t.account.dropped, 10);
}

static void test_a_long_line_is_cut_at_a_character(void **state) {
    char line[OUTPUT_LINE_BYTES];

    memset(line, 'x', sizeof(line));
    memcpy(line + sizeof(line) - 2, "\xe2\x82", 2); /* the euro's last byte is one too many */
    say(line, sizeof(line));
    SAY("\xac and more\nnext\n");
    output_finish(t.output);
    assert_int_equal(report_stub.n, 2);
    assert_int_equal(strlen(report_stub.lines[0]), OUTPUT_LINE_BYTES - 2 + 3);
    assert_string_equal(report_stub.lines[0] + OUTPUT_LINE_BYTES - 4, "xx...");
    assert_string_equal(report_stub.lines[1], "next");
    assert_int_equal(t.account.dropped, sizeof("\xac and more") - 1 + 2);
}

static void test_a_line_of_exactly_the_limit_is_whole(void **state) {
    char line[OUTPUT_LINE_BYTES];

    memset(line, 'x', sizeof(line));
    say(line, sizeof(line));
    SAY("\n");
    output_finish(t.output);
    assert_int_equal(strlen(report_stub.lines[0]), OUTPUT_LINE_BYTES);
    assert_int_equal(t.account.dropped, 0);
}

static void test_lines_are_limited(void **state) {
    for (size_t i = 0; i < OUTPUT_RUN_LINES + 50; i++)
        SAY("line\n");
    output_finish(t.output);
    assert_int_equal(report_stub.n, OUTPUT_RUN_LINES);
    assert_int_equal(t.account.dropped, 50 * sizeof("line"));
}

static void test_bytes_are_limited(void **state) {
    char line[1000];

    memset(line, 'x', sizeof(line));
    line[sizeof(line) - 1] = '\n';
    for (size_t i = 0; i < 40; i++)
        say(line, sizeof(line));
    output_finish(t.output);
    assert_int_equal(report_stub.n, OUTPUT_RUN_BYTES / 999 + 1);
    assert_int_equal(t.account.dropped, (40 - report_stub.n) * sizeof(line));
}

static void test_both_streams_share_the_limits(void **state) {
    t.account.lines = OUTPUT_RUN_LINES - 1;
    SAY("one\ntwo\nthree");
    output_finish(t.output);
    expect_lines(1, "one");
    assert_int_equal(t.account.dropped, sizeof("two\nthree") - 1);
}

static void test_unlogged_output_is_counted(void **state) {
    output_free(t.output);
    close(t.writer);
    open_output(false);
    SAY("secret\nsecret");
    output_finish(t.output);
    assert_int_equal(report_stub.n, 0);
    assert_int_equal(t.account.dropped, sizeof("secret\nsecret") - 1);
}

static void stop_loop(void *loop) {
    loop_stop(loop);
}

static void test_lines_come_as_they_are_written(void **state) {
    report_stub.on_line = stop_loop;
    report_stub.data = t.loop;
    output_start(t.output);
    SAY("fir");
    SAY("st\nsec");
    assert_int_equal(loop_run(t.loop), 0);
    expect_lines(1, "first");
    SAY("ond\n");
    assert_int_equal(loop_run(t.loop), 0);
    expect_lines(2, "first", "second");
}

/* The pipe is still held and still written to: finish takes what is there and goes. */
static void test_finish_does_not_wait_for_the_last_writer(void **state) {
    SAY("there");
    output_finish(t.output);
    expect_lines(1, "there");
    errno = 0;
    assert_int_equal(write(t.writer, "x", 1), -1);
    assert_int_equal(errno, EPIPE);
}

static void write_another(void *data) {
    SAY("another\n");
}

/* What comes while finish reads is not waited for either, or a writer could keep it busy. */
static void test_finish_takes_only_what_was_there(void **state) {
    report_stub.on_line = write_another;
    SAY("one\ntwo\n");
    output_finish(t.output);
    expect_lines(2, "one", "two");
}

static void write_another_and_stop(void *data) {
    SAY("another\n");
    loop_stop(t.loop);
}

static void test_a_turn_reads_one_piece(void **state) {
    report_stub.on_line = write_another_and_stop;
    output_start(t.output);
    SAY("one\n");
    assert_int_equal(loop_run(t.loop), 0);
    expect_lines(1, "one");
}

int main(void) {
#define CASE(test) cmocka_unit_test_setup_teardown(test, setup, teardown)
    const struct CMUnitTest tests[] = {
        CASE(test_lines),
        CASE(test_binary_is_made_printable),
        CASE(test_all_bytes_escaped_fit),
        CASE(test_a_long_line_is_cut_at_a_character),
        CASE(test_a_line_of_exactly_the_limit_is_whole),
        CASE(test_lines_are_limited),
        CASE(test_bytes_are_limited),
        CASE(test_both_streams_share_the_limits),
        CASE(test_unlogged_output_is_counted),
        CASE(test_lines_come_as_they_are_written),
        CASE(test_finish_does_not_wait_for_the_last_writer),
        CASE(test_finish_takes_only_what_was_there),
        CASE(test_a_turn_reads_one_piece),
    };
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    report_stub_reset();
    return failed;
}
