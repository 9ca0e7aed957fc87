/* SPDX-License-Identifier: BSD-3-Clause */
/* Runs that do not end by themselves, and what they leave behind. */
#include "exec_fixture.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define SHORT (100 * USEC_PER_MSEC)

static void make_impatient_handler(void) {
    fx.settings.handler_timeout = SHORT;
    make_handler();
    assert_true(fx.handler->kill_grace == 5 * USEC_PER_SEC);
    fx.handler->kill_grace = SHORT;
}

static pid_t pid_in_line(size_t n) {
    assert_true(n < report_stub.n);
    pid_t pid = (pid_t)strtol(report_stub.lines[n], NULL, 10);
    assert_true(pid > 1);
    return pid;
}

/* --- time-out -------------------------------------------------------------------------------- */

static void test_hangs_and_obeys(void **state) {
    program("/bin/sleep", "1000", NULL);
    make_impatient_handler();
    fx.handler->kill_grace = 1000 * USEC_PER_SEC; /* SIGTERM alone must do it */
    start(1);
    run_until_ended(1);
    expect_ended(OUTCOME_RETRY, "timed out after 100ms");
    assert_true(fx.duration >= SHORT);
}

static void test_obeys_with_exit_0(void **state) {
    script("trap 'echo term; exit 0' TERM; while :; do sleep 1000; done");
    make_impatient_handler();
    start(1);
    run_until_ended(1);
    expect_ended(OUTCOME_RETRY, "timed out after 100ms");
}

/* On a busy machine the program may be told to stop before it has come to its first line; it
 * is given more time then. */
static void time_out_after_a_line(const char *text) {
    script(text);
    make_impatient_handler();
    do {
        start(1);
        run_until_ended(fx.ended + 1);
        fx.settings.handler_timeout *= 2;
    } while (report_stub.n == 0);
    assert_int_equal(fx.outcome, OUTCOME_RETRY);
    assert_memory_equal(fx.reason, "timed out after ", 16);
}

static void test_ignores_sigterm(void **state) {
    time_out_after_a_line("trap '' TERM; echo up; while :; do sleep 1000; done");
    assert_true(fx.duration >= 2 * SHORT);
}

static void test_stopped_process_is_killed(void **state) {
    script("kill -STOP $$");
    make_impatient_handler();
    start(1);
    run_until_ended(1);
    expect_ended(OUTCOME_RETRY, "timed out after 100ms");
}

/* Both the shell and what it waits for get the signal. */
static void test_time_out_ends_the_whole_group(void **state) {
    time_out_after_a_line("sleep 1000 & echo $!; wait");
    run_until_gone(pid_in_line(0));
}

/* The pipe has room for less than a piece and nobody reads on: the loop goes on, or nothing
 * would time out. */
static void test_does_not_read_all_its_input(void **state) {
    static char value[1 << 20];
    struct blob strings[] = {{"f", 1}, {value, sizeof(value)}};
    struct entry entry = {.id = {1, 2}, .strings = strings, .n_strings = 2};

    script("head -c 5000 >/dev/null; exec sleep 1000");
    fx.settings.payload = PAYLOAD_RESP;
    make_impatient_handler();
    start_entry(&entry, 1);
    run_until_ended(1);
    expect_ended(OUTCOME_RETRY, "timed out after 100ms");
}

/* --- handler_stop ---------------------------------------------------------------------------- */

static void start_and_wait_for_line(const char *text) {
    script(text);
    make_handler();
    start(1);
    run_until_lines(1);
}

static void test_told_to_stop(void **state) {
    start_and_wait_for_line("echo up; exec sleep 1000");
    handler_stop(fx.run, false);
    handler_stop(fx.run, false);
    assert_int_equal(fx.ended, 0);
    run_until_ended(1);
    expect_ended(OUTCOME_RETRY, "stopped: killed by signal 15 (SIGTERM)");
}

static void test_told_to_stop_and_succeeds(void **state) {
    start_and_wait_for_line("trap 'exit 0' TERM; echo up; while :; do read -r x <@/program; done");
    handler_stop(fx.run, false);
    run_until_ended(1);
    expect_ended(OUTCOME_OK, "exit status 0");
}

static void test_told_to_stop_and_ignores_it(void **state) {
    start_and_wait_for_line("trap '' TERM; echo up; while :; do sleep 1000; done");
    fx.handler->kill_grace = SHORT;
    handler_stop(fx.run, false);
    run_until_ended(1);
    expect_ended(OUTCOME_RETRY, "stopped: killed by signal 9 (SIGKILL)");
}

static void test_killed_at_once(void **state) {
    start_and_wait_for_line("trap '' TERM; echo up; while :; do sleep 1000; done");
    handler_stop(fx.run, true);
    handler_stop(fx.run, true);
    handler_stop(fx.run, false);
    run_until_ended(1);
    expect_ended(OUTCOME_RETRY, "stopped: killed by signal 9 (SIGKILL)");
}

static void test_told_then_killed(void **state) {
    start_and_wait_for_line("trap '' TERM; echo up; while :; do sleep 1000; done");
    handler_stop(fx.run, false);
    handler_stop(fx.run, true);
    run_until_ended(1);
    expect_ended(OUTCOME_RETRY, "stopped: killed by signal 9 (SIGKILL)");
}

static void test_stopped_before_it_has_begun(void **state) {
    program("/bin/sleep", "1000", NULL);
    make_handler();
    start(1);
    handler_stop(fx.run, false);
    run_until_ended(1);
    expect_ended(OUTCOME_RETRY, "stopped: killed by signal 15 (SIGTERM)");
}

/* --- for the watchdog ------------------------------------------------------------------------ */

static void test_deadline(void **state) {
    program("/bin/sleep", "1000", NULL);
    make_handler();
    assert_true(handler_deadline(fx.handler) == USEC_INFINITY);
    usec_t before = clock_monotonic();
    start(1);
    struct handler_run *first = fx.run;
    start(2);
    usec_t after = clock_monotonic();
    usec_t deadline = handler_deadline(fx.handler);
    assert_true(deadline >= before + 30 * USEC_PER_SEC && deadline <= after + 30 * USEC_PER_SEC);

    handler_stop(fx.run, false);
    deadline = handler_deadline(fx.handler);
    assert_true(deadline <= clock_monotonic() + 5 * USEC_PER_SEC);
    handler_stop(fx.run, true);
    handler_stop(first, true);
    /* nothing more that we could do */
    assert_true(handler_deadline(fx.handler) == USEC_INFINITY);
    assert_int_equal(handler_running(fx.handler), 2);
    run_until_ended(2);
}

/* --- what is left behind --------------------------------------------------------------------- */

static void make_fifo(const char *name) {
    char path[64];

    (void)snprintf(path, sizeof(path), "%s/%s", fx.directory, name);
    assert_int_equal(mkfifo(path, 0600), 0);
}

static void test_background_processes_are_ended(void **state) {
    make_fifo("gate");
    start_and_wait_for_line("sleep 1000 & echo $!; "
                            "sh -c 'trap \"\" TERM HUP; echo $$; while :; do sleep 1000; done' & "
                            "read -r go <@/gate; exit 0");
    run_until_lines(2);
    handler_stop(fx.run, false);
    run_until_ended(1);
    run_until_gone(pid_in_line(0));
    run_until_gone(pid_in_line(1));
}

static void test_background_processes_do_not_outlive_a_success(void **state) {
    make_fifo("gate");
    script("sh -c 'trap \"\" TERM HUP; echo up >@/gate; while :; do sleep 1000; done' & "
           "read -r up <@/gate; echo $!; exit 0");
    expect_run(OUTCOME_OK, "exit status 0");
    run_until_gone(pid_in_line(0));
}

/* It has left the group and holds the pipes: the outcome comes without it. Then it dies as a
 * child of ours that nobody knows. */
static void test_leaves_the_group(void **state) {
    make_fifo("gate");
    script("setsid sh -c 'echo up >@/gate; exec sleep 1000' & "
           "read -r up <@/gate; echo $!; exit 0");
    expect_run(OUTCOME_OK, "exit status 0");
    assert_true(fx.duration < 20 * USEC_PER_SEC);

    pid_t pid = pid_in_line(0);
    assert_int_equal(kill(pid, 0), 0);
    assert_int_equal(kill(pid, SIGKILL), 0);
    run_until_gone(pid);
    assert_int_equal(fx.ended, 1);
}

/* It writes for ever into the pipes of a run that has ended. */
static void test_leaves_the_group_and_writes(void **state) {
    make_fifo("gate");
    script("setsid sh -c 'echo up >@/gate; exec yes' & "
           "echo $!; read -r up <@/gate; exit 1");
    make_handler();
    start(1);
    run_until_ended(1);
    expect_ended(OUTCOME_RETRY, "exit status 1");
    /* SIGPIPE ends it as soon as the run's pipes are closed */
    run_until_gone(pid_in_line(0));
}

int main(void) {
#define CASE(test) cmocka_unit_test_setup_teardown(test, fixture_setup, fixture_teardown)
    const struct CMUnitTest tests[] = {
        CASE(test_hangs_and_obeys),
        CASE(test_obeys_with_exit_0),
        CASE(test_ignores_sigterm),
        CASE(test_stopped_process_is_killed),
        CASE(test_time_out_ends_the_whole_group),
        CASE(test_does_not_read_all_its_input),
        CASE(test_told_to_stop),
        CASE(test_told_to_stop_and_succeeds),
        CASE(test_told_to_stop_and_ignores_it),
        CASE(test_killed_at_once),
        CASE(test_told_then_killed),
        CASE(test_stopped_before_it_has_begun),
        CASE(test_deadline),
        CASE(test_background_processes_are_ended),
        CASE(test_background_processes_do_not_outlive_a_success),
        CASE(test_leaves_the_group),
        CASE(test_leaves_the_group_and_writes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
