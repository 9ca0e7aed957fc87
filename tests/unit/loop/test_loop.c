/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The loop: timers, deferred calls, signals, readiness, and objects that are freed in their own
 * callbacks.
 */
#include "loop/io.h"
#include "loop/loop.h"
#include "unit.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct fixture {
    struct loop *loop;
    struct timer *limit;
    struct timer *timer;
    struct deferred *deferred;
    struct deferred *second;
    struct signal_watch *watch;
    struct io_watch *io;
    int pipe[2];
    char trace[64];
    usec_t seen;
};

static void note(struct fixture *f, char c) {
    size_t n = strlen(f->trace);
    assert_true(n + 1 < sizeof(f->trace));
    f->trace[n] = c;
}

static void limit_hit(void *data) {
    (void)data;
    fail_msg("nothing happened in time");
}

static int setup(void **state) {
    struct fixture *f = calloc(1, sizeof(*f));
    assert_non_null(f);
    assert_int_equal(loop_new(&f->loop), 0);
    assert_int_equal(timer_new(f->loop, limit_hit, f, &f->limit), 0);
    timer_arm(f->limit, 10 * USEC_PER_SEC);
    assert_int_equal(pipe2(f->pipe, O_CLOEXEC), 0);
    *state = f;
    return 0;
}

static int teardown(void **state) {
    struct fixture *f = *state;
    io_watch_free(f->io);
    signal_watch_free(f->watch);
    deferred_free(f->second);
    deferred_free(f->deferred);
    timer_free(f->timer);
    timer_free(f->limit);
    assert_null(loop_free(f->loop));
    (void)close(f->pipe[0]);
    (void)close(f->pipe[1]);
    free(f);
    return 0;
}

static void stop(void *data) {
    struct fixture *f = data;
    note(f, 's');
    f->seen = clock_monotonic();
    loop_stop(f->loop);
}

static void test_timer_fires_once_and_never_early(void **state) {
    struct fixture *f = *state;
    assert_int_equal(timer_new(f->loop, stop, f, &f->timer), 0);
    assert_false(timer_armed(f->timer));
    assert_true(timer_due(f->timer) == USEC_INFINITY);

    for (int i = 0; i < 20; i++) {
        timer_arm(f->timer, 1500);
        assert_true(timer_armed(f->timer));
        usec_t due = timer_due(f->timer);
        assert_int_equal(loop_run(f->loop), 0);
        assert_true(f->seen >= due);
        assert_false(timer_armed(f->timer));
    }
    assert_int_equal(strlen(f->trace), 20);
}

static void test_arming_again_moves_the_timer(void **state) {
    struct fixture *f = *state;
    assert_int_equal(timer_new(f->loop, stop, f, &f->timer), 0);
    timer_arm(f->timer, 0);
    timer_arm(f->timer, 20 * USEC_PER_MSEC);
    usec_t due = timer_due(f->timer);
    assert_int_equal(loop_run(f->loop), 0);
    assert_true(f->seen >= due);
    assert_string_equal(f->trace, "s");
}

static void test_disarmed_timer_is_silent(void **state) {
    struct fixture *f = *state;
    struct timer *other = NULL;
    assert_int_equal(timer_new(f->loop, stop, f, &f->timer), 0);
    assert_int_equal(timer_new(f->loop, limit_hit, f, &other), 0);
    timer_arm(other, 0);
    timer_arm(f->timer, 5 * USEC_PER_MSEC);
    timer_disarm(other);
    assert_false(timer_armed(other));
    assert_int_equal(loop_run(f->loop), 0);
    timer_free(other);
}

static void test_timer_for_ever(void **state) {
    struct fixture *f = *state;
    assert_int_equal(timer_new(f->loop, stop, f, &f->timer), 0);
    struct timer *other = NULL;
    assert_int_equal(timer_new(f->loop, limit_hit, f, &other), 0);
    timer_arm(other, USEC_INFINITY);
    assert_true(timer_armed(other));
    timer_arm(f->timer, USEC_PER_MSEC);
    assert_int_equal(loop_run(f->loop), 0);
    timer_free(other);
}

static void free_timer_and_stop(void *data) {
    struct fixture *f = data;
    f->timer = timer_free(f->timer);
    loop_stop(f->loop);
}

static void test_timer_freed_in_its_callback(void **state) {
    struct fixture *f = *state;
    assert_int_equal(timer_new(f->loop, free_timer_and_stop, f, &f->timer), 0);
    timer_arm(f->timer, 0);
    assert_int_equal(loop_run(f->loop), 0);
    assert_null(f->timer);
}

static void second_ran(void *data) {
    note(data, '2');
}

static void first_ran(void *data) {
    struct fixture *f = data;
    note(f, '1');
    deferred_call(f->second);
    deferred_call(f->second);
    note(f, 'e');
}

static void test_deferred_runs_once_later_in_the_same_turn(void **state) {
    struct fixture *f = *state;
    assert_int_equal(timer_new(f->loop, stop, f, &f->timer), 0);
    assert_int_equal(deferred_new(f->loop, first_ran, f, &f->deferred), 0);
    assert_int_equal(deferred_new(f->loop, second_ran, f, &f->second), 0);
    deferred_call(f->deferred);
    deferred_call(f->deferred);
    timer_arm(f->timer, 0);
    assert_string_equal(f->trace, "");
    assert_int_equal(loop_run(f->loop), 0);
    if (strcmp(f->trace, "1e2s") != 0)
        assert_string_equal(f->trace, "1es"); /* the timer had been waiting already */
}

static void kick_second(void *data) {
    struct fixture *f = data;
    note(f, 't');
    deferred_call(f->second);
}

static void test_deferred_is_not_kept_for_the_next_poll(void **state) {
    struct fixture *f = *state;
    assert_int_equal(timer_new(f->loop, kick_second, f, &f->timer), 0);
    assert_int_equal(deferred_new(f->loop, stop, f, &f->second), 0);
    timer_arm(f->timer, 0);
    usec_t began = clock_monotonic();
    assert_int_equal(loop_run(f->loop), 0);
    assert_true(clock_monotonic() - began < USEC_PER_SEC);
    assert_string_equal(f->trace, "ts");
}

static void free_deferred_and_stop(void *data) {
    struct fixture *f = data;
    f->deferred = deferred_free(f->deferred);
    loop_stop(f->loop);
}

static void test_deferred_freed_in_its_callback_and_while_waiting(void **state) {
    struct fixture *f = *state;
    struct deferred *never = NULL;
    assert_int_equal(deferred_new(f->loop, free_deferred_and_stop, f, &f->deferred), 0);
    assert_int_equal(deferred_new(f->loop, limit_hit, f, &never), 0);
    deferred_call(never);
    deferred_free(never);
    deferred_call(f->deferred);
    assert_int_equal(loop_run(f->loop), 0);
    assert_null(f->deferred);
}

static void test_signal(void **state) {
    struct fixture *f = *state;
    assert_int_equal(signal_watch_new(f->loop, SIGUSR1, stop, f, &f->watch), 0);
    assert_int_equal(raise(SIGUSR1), 0);
    assert_string_equal(f->trace, "");
    assert_int_equal(loop_run(f->loop), 0);
    assert_string_equal(f->trace, "s");
}

static void free_watch_and_stop(void *data) {
    struct fixture *f = data;
    f->watch = signal_watch_free(f->watch);
    loop_stop(f->loop);
}

static void test_signal_watch_freed_in_its_callback(void **state) {
    struct fixture *f = *state;
    assert_int_equal(signal_watch_new(f->loop, SIGUSR1, free_watch_and_stop, f, &f->watch), 0);
    assert_int_equal(raise(SIGUSR1), 0);
    assert_int_equal(loop_run(f->loop), 0);
    assert_null(f->watch);
}

static void read_one(void *data) {
    struct fixture *f = data;
    char c;
    assert_int_equal(read(f->pipe[0], &c, 1), 1);
    note(f, c);
    if (c == '.')
        loop_stop(f->loop);
}

static void test_io_calls_back_while_it_is_ready(void **state) {
    struct fixture *f = *state;
    assert_int_equal(io_watch_new(f->loop, f->pipe[0], IO_READ, read_one, f, &f->io), 0);
    assert_int_equal(write(f->pipe[1], "ab.", 3), 3);
    io_watch_enable(f->io, true);
    io_watch_enable(f->io, true);
    assert_int_equal(loop_run(f->loop), 0);
    assert_string_equal(f->trace, "ab.");
}

static void test_io_is_made_disabled(void **state) {
    struct fixture *f = *state;
    assert_int_equal(io_watch_new(f->loop, f->pipe[1], IO_WRITE, limit_hit, f, &f->io), 0);
    assert_int_equal(timer_new(f->loop, stop, f, &f->timer), 0);
    timer_arm(f->timer, 5 * USEC_PER_MSEC);
    assert_int_equal(loop_run(f->loop), 0);
    io_watch_enable(f->io, true);
    io_watch_enable(f->io, false);
    timer_arm(f->timer, 5 * USEC_PER_MSEC);
    assert_int_equal(loop_run(f->loop), 0);
}

static void free_io_and_stop(void *data) {
    struct fixture *f = data;
    f->io = io_watch_free(f->io);
    loop_stop(f->loop);
}

static void test_io_freed_in_its_callback(void **state) {
    struct fixture *f = *state;
    assert_int_equal(io_watch_new(f->loop, f->pipe[1], IO_WRITE, free_io_and_stop, f, &f->io), 0);
    io_watch_enable(f->io, true);
    assert_int_equal(loop_run(f->loop), 0);
    assert_null(f->io);
}

static void test_io_that_cannot_be_polled_fails_the_loop(void **state) {
    struct fixture *f = *state;
    FILE *file = tmpfile();
    assert_non_null(file);
    assert_int_equal(io_watch_new(f->loop, fileno(file), IO_READ, limit_hit, f, &f->io), 0);
    io_watch_enable(f->io, true);
    assert_int_equal(loop_run(f->loop), -EPERM);
    f->io = io_watch_free(f->io);
    (void)fclose(file);
}

static void fail_twice(void *data) {
    struct fixture *f = data;
    loop_fail(f->loop, -ENOMEM);
    loop_fail(f->loop, -EIO);
}

static void test_the_first_failure_wins(void **state) {
    struct fixture *f = *state;
    assert_int_equal(deferred_new(f->loop, fail_twice, f, &f->deferred), 0);
    deferred_call(f->deferred);
    assert_int_equal(loop_run(f->loop), -ENOMEM);
    assert_int_equal(loop_run(f->loop), -ENOMEM);
}

static void be_busy(void *data) {
    struct fixture *f = data;
    usec_t began = clock_monotonic();
    while (clock_monotonic() - began < 30 * USEC_PER_MSEC)
        ;
    loop_stop(f->loop);
}

static void test_longest_turn_leaves_out_the_poll(void **state) {
    struct fixture *f = *state;
    assert_int_equal(timer_new(f->loop, stop, f, &f->timer), 0);
    timer_arm(f->timer, 100 * USEC_PER_MSEC);
    assert_int_equal(loop_run(f->loop), 0);
    assert_true(loop_longest_turn(f->loop) < 80 * USEC_PER_MSEC);

    assert_int_equal(deferred_new(f->loop, be_busy, f, &f->deferred), 0);
    deferred_call(f->deferred);
    assert_int_equal(loop_run(f->loop), 0);
    assert_true(loop_longest_turn(f->loop) >= 30 * USEC_PER_MSEC);
}

static void test_broken_pipe_does_not_kill(void **state) {
    struct fixture *f = *state;
    assert_int_equal(close(f->pipe[0]), 0);
    f->pipe[0] = -1;
    assert_int_equal(write(f->pipe[1], "x", 1), -1);
    assert_int_equal(errno, EPIPE);
}

#define LOOP_TEST(test) cmocka_unit_test_setup_teardown(test, setup, teardown)

int main(void) {
    const struct CMUnitTest tests[] = {
        LOOP_TEST(test_timer_fires_once_and_never_early),
        LOOP_TEST(test_arming_again_moves_the_timer),
        LOOP_TEST(test_disarmed_timer_is_silent),
        LOOP_TEST(test_timer_for_ever),
        LOOP_TEST(test_timer_freed_in_its_callback),
        LOOP_TEST(test_deferred_runs_once_later_in_the_same_turn),
        LOOP_TEST(test_deferred_is_not_kept_for_the_next_poll),
        LOOP_TEST(test_deferred_freed_in_its_callback_and_while_waiting),
        LOOP_TEST(test_signal),
        LOOP_TEST(test_signal_watch_freed_in_its_callback),
        LOOP_TEST(test_io_calls_back_while_it_is_ready),
        LOOP_TEST(test_io_is_made_disabled),
        LOOP_TEST(test_io_freed_in_its_callback),
        LOOP_TEST(test_io_that_cannot_be_polled_fails_the_loop),
        LOOP_TEST(test_the_first_failure_wins),
        LOOP_TEST(test_longest_turn_leaves_out_the_poll),
        LOOP_TEST(test_broken_pipe_does_not_kill),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
