/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The sink on real descriptors: a child of the test has them as its standard error.
 */
#include "unit.h"

#include "base/cleanup.h"
#include "report/log.h"
#include "report/report.h"
#include "report/sink.h"
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pty.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <syslog.h>
#include <unistd.h>

/* With a field that a journal would take: what wrongly goes there is missing here. */
static void say(int priority, const char *sentence) {
    static char field[] = "MESSAGE=from a unit test";
    const struct iovec fields[] = {{field, sizeof(field) - 1}};

    log_write(priority, sentence, fields, 1);
}

static void say_three(void) {
    say(LOG_ERR, "bad");
    say(LOG_WARNING, "odd");
    say(LOG_INFO, "fine");
}

/* Runs `body` in a child whose standard error is fd; its exit status is what body returns. */
static pid_t child(int fd, const char *journal_stream, int (*body)(void)) {
    pid_t pid = fork();

    assert_true(pid >= 0);
    if (pid > 0)
        return pid;
    if (journal_stream)
        (void)setenv("JOURNAL_STREAM", journal_stream, 1);
    else
        (void)unsetenv("JOURNAL_STREAM");
    if (dup2(fd, STDERR_FILENO) < 0)
        _exit(99);
    log_open();
    _exit(body());
}

static void assert_ended_well(pid_t pid) {
    int status = 0;

    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 0);
}

/* Reads until the end (EIO is a terminal's). */
static void read_all(int fd, char *buf, size_t size) {
    size_t used = 0;
    ssize_t n;

    while (used < size - 1 && (n = read(fd, buf + used, size - 1 - used)) > 0)
        used += (size_t)n;
    buf[used] = '\0';
}

static int body_three(void) {
    say_three();
    return 0;
}

/* $JOURNAL_STREAM is `verbatim`, or else the pipe's own, off by so much. */
static void three_through_a_pipe(int device_off, int inode_off, const char *verbatim) {
    CLEANUP_CLOSE int reader = -1;
    char stream[64], buf[256];
    struct stat st;
    int fds[2];

    assert_int_equal(pipe2(fds, O_CLOEXEC), 0);
    reader = fds[0];
    assert_int_equal(fstat(fds[1], &st), 0);
    (void)snprintf(stream, sizeof(stream), "%ju:%ju", (uintmax_t)st.st_dev + (uintmax_t)device_off,
                   (uintmax_t)st.st_ino + (uintmax_t)inode_off);
    pid_t pid = child(fds[1], verbatim ? verbatim : stream, body_three);
    (void)close(fds[1]);
    read_all(reader, buf, sizeof(buf));
    assert_ended_well(pid);
    assert_string_equal(buf, "<3>bad\n<4>odd\n<6>fine\n");
}

static void test_a_pipe_gets_levels_as_prefixes(void **state) {
    three_through_a_pipe(0, 0, "");
}

static void test_another_files_journal_stream_is_not_ours(void **state) {
    three_through_a_pipe(1, 0, NULL);
    three_through_a_pipe(0, 1, NULL);
    three_through_a_pipe(0, 0, "9:");
    three_through_a_pipe(0, 0, "nonsense");
}

static void test_a_terminal_gets_words(void **state) {
    CLEANUP_CLOSE int ours = -1;
    char buf[256];
    int theirs;

    LEAVE_OUT_IF(access("/dev/pts/ptmx", F_OK) < 0, "no terminals: /dev/pts is not mounted");
    assert_int_equal(openpty(&ours, &theirs, NULL, NULL, NULL), 0);
    pid_t pid = child(theirs, NULL, body_three);
    assert_ended_well(pid);
    (void)close(theirs);
    read_all(ours, buf, sizeof(buf));
    assert_string_equal(buf, "error: bad\r\nwarning: odd\r\nfine\r\n");
}

/* The journal is asked, and standard error is the fall-back: the error that sendv answers to a
 * record without fields stands for any. */
static int body_journal_fails(void) {
    log_write(LOG_WARNING, "kept", NULL, 0);
    return 0;
}

static void test_what_the_journal_refuses_goes_to_stderr(void **state) {
    CLEANUP_CLOSE int reader = -1;
    char stream[64], buf[256];
    struct stat st;
    int fds[2];

    assert_int_equal(pipe2(fds, O_CLOEXEC), 0);
    reader = fds[0];
    assert_int_equal(fstat(fds[1], &st), 0);
    (void)snprintf(stream, sizeof(stream), "%ju:%ju", (uintmax_t)st.st_dev, (uintmax_t)st.st_ino);
    pid_t pid = child(fds[1], stream, body_journal_fails);
    (void)close(fds[1]);
    read_all(reader, buf, sizeof(buf));
    assert_ended_well(pid);
    assert_string_equal(buf, "<4>kept\n");
}

static int body_errno(void) {
    errno = 77;
    say_three();
    return errno == 77 ? 0 : 1;
}

static void test_a_reader_that_went_away_is_no_harm(void **state) {
    int fds[2];

    assert_int_equal(pipe2(fds, O_CLOEXEC), 0);
    (void)close(fds[0]);
    pid_t pid = child(fds[1], NULL, body_errno);
    (void)close(fds[1]);
    assert_ended_well(pid);
}

/* Fills the pipe that nobody reads, says more, then drains it itself and speaks again. */
static int full_pipe_reader = -1;

static int body_full_pipe(void) {
    char sentence[1001], buf[4096];
    size_t lines = 0;

    memset(sentence, 'x', 1000);
    sentence[1000] = '\0';
    for (int i = 0; i < 200; i++)
        log_write(LOG_INFO, sentence, NULL, 0);
    (void)fcntl(full_pipe_reader, F_SETFL, O_NONBLOCK);
    for (ssize_t n; (n = read(full_pipe_reader, buf, sizeof(buf))) > 0;)
        for (ssize_t i = 0; i < n; i++)
            lines += buf[i] == '\n';
    log_write(LOG_INFO, "again", NULL, 0);
    ssize_t n = read(full_pipe_reader, buf, sizeof(buf) - 1);
    if (n <= 0)
        return 1;
    buf[n] = '\0';
    (void)snprintf(sentence, sizeof(sentence),
                   "<4>%zu log lines were lost: nobody read them\n<6>again\n", 200 - lines);
    return lines > 0 && lines < 200 && strcmp(buf, sentence) == 0 ? 0 : 2;
}

static void test_a_reader_that_sleeps_does_not_block(void **state) {
    CLEANUP_CLOSE int reader = -1;
    int fds[2];

    assert_int_equal(pipe2(fds, O_CLOEXEC), 0);
    reader = full_pipe_reader = fds[0];
    pid_t pid = child(fds[1], NULL, body_full_pipe);
    (void)close(fds[1]);
    assert_ended_well(pid);
}

static int body_report(void) {
    report_config_warning("warning: f:1: odd");
    return 0;
}

static void test_a_record_on_stderr_is_its_sentence(void **state) {
    CLEANUP_CLOSE int reader = -1;
    char buf[256];
    int fds[2];

    assert_int_equal(pipe2(fds, O_CLOEXEC), 0);
    reader = fds[0];
    pid_t pid = child(fds[1], NULL, body_report);
    (void)close(fds[1]);
    read_all(reader, buf, sizeof(buf));
    assert_ended_well(pid);
    assert_string_equal(buf, "<4>f:1: odd\n");
}

static void test_lines_are_bounded(void **state) {
    char line[LOG_LINE_MAX], sentence[2 * LOG_LINE_MAX];

    memset(sentence, 'x', sizeof(sentence) - 1);
    sentence[sizeof(sentence) - 1] = '\0';
    assert_int_equal(log_line(LOG_FORM_PREFIXED, LOG_INFO, sentence, line), LOG_LINE_MAX - 1);
    assert_int_equal(line[LOG_LINE_MAX - 2], '\n');
    assert_int_equal(log_line(LOG_FORM_TERMINAL, LOG_NOTICE, "x", line), 2);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_pipe_gets_levels_as_prefixes),
        cmocka_unit_test(test_another_files_journal_stream_is_not_ours),
        cmocka_unit_test(test_a_terminal_gets_words),
        cmocka_unit_test(test_what_the_journal_refuses_goes_to_stderr),
        cmocka_unit_test(test_a_reader_that_went_away_is_no_harm),
        cmocka_unit_test(test_a_reader_that_sleeps_does_not_block),
        cmocka_unit_test(test_a_record_on_stderr_is_its_sentence),
        cmocka_unit_test(test_lines_are_bounded),
    };
    return cmocka_run_group_tests_name("report/log", tests, NULL, NULL);
}
