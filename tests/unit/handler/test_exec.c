/* SPDX-License-Identifier: BSD-3-Clause */
#include "exec_fixture.h"

#include "handler/output.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

/* --- verdicts -------------------------------------------------------------------------------- */

static void test_exit_0(void **state) {
    script("exit 0");
    expect_run(OUTCOME_OK, "exit status 0");
}

static void test_exit_1(void **state) {
    script("exit 1");
    expect_run(OUTCOME_RETRY, "exit status 1");
}

static void test_exit_65(void **state) {
    script("exit 65");
    expect_run(OUTCOME_REJECT, "exit status 65");
}

static void test_exit_75(void **state) {
    script("exit 75");
    expect_run(OUTCOME_RETRY, "exit status 75");
}

/* Not to be taken for a start that failed. */
static void test_exit_127(void **state) {
    script("exit 127");
    expect_run(OUTCOME_RETRY, "exit status 127");
}

static void test_killed(void **state) {
    script("kill -9 $$");
    expect_run(OUTCOME_RETRY, "killed by signal 9 (SIGKILL)");
}

/* --- starts that fail ------------------------------------------------------------------------ */

static void expect_away(const char *why) {
    char reason[256];
    size_t before;

    make_handler();
    before = open_descriptors();
    assert_int_equal(try_start(1), HANDLER_E_AWAY);
    (void)snprintf(reason, sizeof(reason), "cannot start %s: %s", fx.argv[0], why);
    assert_string_equal(handler_away_reason(fx.handler), reason);
    assert_int_equal(handler_running(fx.handler), 0);
    assert_int_equal(open_descriptors(), before);
    assert_int_equal(fx.ended, 0);
}

static void test_missing_program(void **state) {
    expect_away("No such file or directory");
}

static void test_missing_interpreter(void **state) {
    LEAVE_OUT_IF(under_valgrind(), "its execve() lets such a program pass, then kills the child");
    script("");
    FILE *file = fopen(fx.program, "we");
    assert_non_null(file);
    fputs("#!/no/such/shell\n", file);
    fclose(file);
    expect_away("its interpreter does not exist");
}

static void test_not_executable(void **state) {
    script("exit 0");
    assert_int_equal(chmod(fx.program, 0644), 0);
    expect_away("Permission denied");
}

static void test_not_a_program(void **state) {
    script("");
    FILE *file = fopen(fx.program, "we");
    assert_non_null(file);
    fputs("no magic\n", file);
    fclose(file);
    expect_away("Exec format error");
}

static void test_no_descriptors(void **state) {
    LEAVE_OUT_IF(under_valgrind(), "it has descriptors of its own, which the count includes");
    struct rlimit before, small;
    size_t open_now;

    script("exit 0");
    make_handler();
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &before), 0);
    open_now = open_descriptors() - 3; /* ., .. and the directory itself */
    for (size_t room = 0; room < 8; room++) {
        small = before;
        small.rlim_cur = open_now + room;
        assert_int_equal(setrlimit(RLIMIT_NOFILE, &small), 0);
        assert_int_equal(try_start(1), HANDLER_E_AWAY);
        assert_int_equal(setrlimit(RLIMIT_NOFILE, &before), 0);
        assert_non_null(strstr(handler_away_reason(fx.handler), ": Too many open files"));
        assert_int_equal(open_descriptors() - 3, open_now);
    }
    start(1);
    run_until_ended(1);
    expect_ended(OUTCOME_OK, "exit status 0");
}

/* --- what the program gets ------------------------------------------------------------------- */

static void expect_lines(const char *const *lines) {
    size_t n = 0;

    for (; lines[n]; n++) {
        assert_true(n < report_stub.n);
        assert_string_equal(report_stub.lines[n], lines[n]);
    }
    assert_int_equal(report_stub.n, n);
}

static void test_environment(void **state) {
    static const char *const expected[] = {
        "PATH=/usr/bin:/bin",
        "KEPT=yes",
        "XAUTOCLAIMD_RECOVERY=orders",
        "XAUTOCLAIMD_STREAM=orders:in",
        "XAUTOCLAIMD_GROUP=workers",
        "XAUTOCLAIMD_CONSUMER=xautoclaimd-host",
        "XAUTOCLAIMD_ID=1700000000000-0",
        "XAUTOCLAIMD_DELIVERIES=2",
        NULL,
    };
    char **before = environ;
    char *const service[] = {
        (char *)"PATH=/usr/bin:/bin",
        (char *)"NOTIFY_SOCKET=/run/x",
        (char *)"WATCHDOG_USEC=1",
        (char *)"WATCHDOG_PID=1",
        (char *)"LISTEN_FDS=1",
        (char *)"LISTEN_PID=1",
        (char *)"JOURNAL_STREAM=9:193",
        (char *)"KEPT=yes",
        NULL,
    };

    program("/usr/bin/env", NULL, NULL);
    environ = (char **)service;
    make_handler();
    environ = before;
    start(1700000000000);
    run_until_ended(1);
    expect_ended(OUTCOME_OK, "exit status 0");
    expect_lines(expected);
}

/* 3 is the directory that ls itself has open. */
static void test_no_descriptor_of_ours(void **state) {
    static const char *const expected[] = {"0", "1", "2", "3", NULL};
    int fds[40];

    for (size_t i = 0; i < 40; i++)
        fds[i] = open("/dev/null", O_RDONLY);
    program("/bin/ls", "/proc/self/fd", NULL);
    expect_run(OUTCOME_OK, "exit status 0");
    for (size_t i = 0; i < 40; i++)
        close(fds[i]);
    expect_lines(expected);
}

static void test_arguments(void **state) {
    static const char *const expected[] = {"a b", "$HOME", NULL};

    program("/usr/bin/printf", "%s\\n%s\\n", "a b");
    fx.argv[3] = (char *)"$HOME";
    expect_run(OUTCOME_OK, "exit status 0");
    expect_lines(expected);
}

static void test_payload_arrives(void **state) {
    struct blob strings[] = {{"f", 1}, {"v\n", 2}};
    struct entry entry = {.id = {1, 2}, .strings = strings, .n_strings = 2};
    static const char *const expected[] = {
        "{\"recovery\":\"orders\",\"stream\":\"orders:in\",\"group\":\"workers\",\"id\":\"1-2\","
        "\"deliveries\":3,\"fields\":[[\"f\",\"v\\\\n\"]]}", /* the log doubles the backslash */
        NULL};

    program("/bin/cat", NULL, NULL);
    fx.settings.payload = PAYLOAD_JSON;
    make_handler();
    start_entry(&entry, 3);
    run_until_ended(1);
    expect_ended(OUTCOME_OK, "exit status 0");
    expect_lines(expected);
}

enum { LARGE = 10 * 1024 * 1024 };

static void start_large(char **ret) {
    char *value = malloc(LARGE);
    struct blob strings[] = {{"f", 1}, {value, LARGE}};
    struct entry entry = {.id = {1, 2}, .strings = strings, .n_strings = 2};

    assert_non_null(value);
    for (size_t i = 0; i < LARGE; i++)
        value[i] = (char)(i * 7 + i / 251);
    fx.settings.payload = PAYLOAD_RESP;
    make_handler();
    start_entry(&entry, 1);
    *ret = value;
}

static void test_large_payload_arrives_whole(void **state) {
    static const char head[] = "*2\r\n$3\r\n1-2\r\n*2\r\n$1\r\nf\r\n$10485760\r\n";
    char *value, path[64], *copy = malloc(LARGE + 100);

    script("exec cat >@/copy");
    start_large(&value);
    run_until_ended(1);
    expect_ended(OUTCOME_OK, "exit status 0");
    (void)snprintf(path, sizeof(path), "%s/copy", fx.directory);
    FILE *file = fopen(path, "re");
    assert_non_null(file);
    assert_int_equal(fread(copy, 1, LARGE + 100, file), LARGE + sizeof(head) - 1 + 2);
    fclose(file);
    assert_memory_equal(copy, head, sizeof(head) - 1);
    assert_memory_equal(copy + sizeof(head) - 1, value, LARGE);
    free(copy);
    free(value);
}

static void test_input_closed_early(void **state) {
    char *value;

    script("read -r first; exec <&-; echo closed; exit 0");
    start_large(&value);
    free(value);
    run_until_ended(1);
    expect_ended(OUTCOME_OK, "exit status 0");
}

/* --- what the program writes ----------------------------------------------------------------- */

static void test_output_of_both_streams(void **state) {
    script("echo out; echo err >&2; printf 'no newline' >&2");
    fx.settings.handler_output = OUTPUT_STDERR;
    expect_run(OUTCOME_OK, "exit status 0");
    static const char *const expected[] = {"err", "no newline", NULL};
    expect_lines(expected);
    assert_string_equal(report_stub.streams[0], "stderr");
    assert_int_equal(report_stub.dropped, 4);
    assert_int_equal(report_stub.dropped_records, 1);
    assert_int_equal(report_stub.id.ms, 1);
}

static void test_output_none(void **state) {
    script("echo out; echo err >&2");
    fx.settings.handler_output = OUTPUT_NONE;
    expect_run(OUTCOME_OK, "exit status 0");
    assert_int_equal(report_stub.n, 0);
    assert_int_equal(report_stub.dropped, 8);
}

static void test_binary_output(void **state) {
    static const char *const expected[] = {"\\xff\\x00\\x1b", NULL};

    script("printf '\\377\\000\\033\\n'");
    expect_run(OUTCOME_OK, "exit status 0");
    expect_lines(expected);
}

static void test_outputs_closed_early(void **state) {
    script("exec >&- 2>&-; cat >/dev/null; exit 65");
    expect_run(OUTCOME_REJECT, "exit status 65");
}

/* One turn may be stretched by whatever else the machine does; three in a row are our fault. */
static void flood(const char *text, uint64_t bytes, uint64_t at_most_passed_on) {
    usec_t shortest = USEC_INFINITY;
    const usec_t limit = 10 * USEC_PER_MSEC;

    for (int attempt = 0; attempt < 3 && shortest >= limit; attempt++) {
        if (attempt > 0) {
            fixture_teardown(NULL);
            fixture_setup(NULL);
        }
        script(text);
        expect_run(OUTCOME_OK, "exit status 0");
        assert_true(report_stub.dropped <= bytes);
        assert_true(report_stub.dropped >= bytes - at_most_passed_on);
        assert_true(report_stub.n <= OUTPUT_RUN_LINES);
        shortest = usec_min(shortest, loop_longest_turn(fx.loop));
    }
    if (!SANITIZED && !under_valgrind())
        assert_true(shortest < limit);
}

static void test_flood_without_newline(void **state) {
    flood("exec head -c 100000000 /dev/zero", 100000000, 1024);
}

static void test_flood_of_lines(void **state) {
    flood("yes line | head -c 100000000 >&2", 100000000, 16 * 1024);
}

/* --- many ------------------------------------------------------------------------------------ */

enum { MANY = 256 };

/* All are there at once: none passes the gate before the last has written its line. */
static void test_many_at_once(void **state) {
    char gate[64], newlines[MANY];
    size_t before;

    (void)snprintf(gate, sizeof(gate), "%s/gate", fx.directory);
    assert_int_equal(mkfifo(gate, 0600), 0);
    script("echo up; read -r x <@/gate; exit 0");
    make_handler();
    before = open_descriptors();
    for (uint64_t i = 0; i < MANY; i++)
        start(i + 1);
    assert_int_equal(handler_running(fx.handler), MANY);
    run_until_lines(MANY);
    assert_int_equal(fx.ended, 0);

    int fd = open(gate, O_RDWR | O_CLOEXEC);
    assert_true(fd >= 0);
    memset(newlines, '\n', MANY);
    assert_int_equal(write(fd, newlines, MANY), MANY);
    run_until_ended(MANY);
    close(fd);
    expect_ended(OUTCOME_OK, "exit status 0");
    assert_int_equal(open_descriptors(), before);
}

static void test_one_after_the_other(void **state) {
    size_t before;

    script("exit 0");
    make_handler();
    before = open_descriptors();
    for (size_t i = 1; i <= 50; i++) {
        start(i);
        run_until_ended(i);
    }
    assert_int_equal(open_descriptors(), before);
}

int main(void) {
#define CASE(test) cmocka_unit_test_setup_teardown(test, fixture_setup, fixture_teardown)
    const struct CMUnitTest tests[] = {
        CASE(test_exit_0),
        CASE(test_exit_1),
        CASE(test_exit_65),
        CASE(test_exit_75),
        CASE(test_exit_127),
        CASE(test_killed),
        CASE(test_missing_program),
        CASE(test_missing_interpreter),
        CASE(test_not_executable),
        CASE(test_not_a_program),
        CASE(test_no_descriptors),
        CASE(test_environment),
        CASE(test_no_descriptor_of_ours),
        CASE(test_arguments),
        CASE(test_payload_arrives),
        CASE(test_large_payload_arrives_whole),
        CASE(test_input_closed_early),
        CASE(test_output_of_both_streams),
        CASE(test_output_none),
        CASE(test_binary_output),
        CASE(test_outputs_closed_early),
        CASE(test_flood_without_newline),
        CASE(test_flood_of_lines),
        CASE(test_many_at_once),
        CASE(test_one_after_the_other),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
