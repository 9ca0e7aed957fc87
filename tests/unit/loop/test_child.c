/* SPDX-License-Identifier: BSD-3-Clause */
#include "unit.h"

#include "loop/child.h"
#include "loop/io.h"
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { OUTPUT_MAX = 8192 };

static struct {
    struct loop *loop;
    struct children *children;
    struct timer *deadline;
    int out[2]; /* what the children write */
    int null;
    size_t ended;
    size_t wanted;
    int status;
    char output[OUTPUT_MAX];
} t;

static void too_late(void *data) {
    loop_fail(t.loop, -ETIMEDOUT);
}

static int setup(void **state) {
    memset(&t, 0, sizeof(t));
    assert_int_equal(loop_new(&t.loop), 0);
    assert_int_equal(children_new(t.loop, &t.children), 0);
    assert_int_equal(timer_new(t.loop, too_late, NULL, &t.deadline), 0);
    assert_int_equal(pipe2(t.out, O_CLOEXEC), 0);
    assert_int_equal(fcntl(t.out[0], F_SETFL, O_NONBLOCK), 0);
    t.null = open("/dev/null", O_RDWR | O_CLOEXEC);
    assert_true(t.null >= 0);
    return 0;
}

static int teardown(void **state) {
    close(t.null);
    close(t.out[0]);
    close(t.out[1]);
    timer_free(t.deadline);
    assert_null(children_free(t.children));
    assert_null(children_free(NULL));
    loop_free(t.loop);
    return 0;
}

static void ended(void *data, int status) {
    assert_ptr_equal(data, &t);
    t.status = status;
    if (++t.ended == t.wanted)
        loop_stop(t.loop);
}

static int try_child(char *const *argv, struct child **ret, int *ret_errno) {
    static char *const environment[] = {(char *)"PATH=/usr/bin:/bin", NULL};
    const struct child_spec spec = {
        .program = argv[0],
        .argv = argv,
        .environment = environment,
        .stdin_fd = t.null,
        .stdout_fd = t.out[1],
        .stderr_fd = t.out[1],
    };

    return child_start(t.children, &spec, ended, &t, ret, ret_errno);
}

static struct child *start(const char *path, const char *a, const char *b) {
    char *const argv[] = {(char *)path, (char *)a, (char *)b, NULL};
    struct child *child = NULL;
    int error = 0;

    assert_int_equal(try_child(argv, &child, &error), 0);
    assert_true(child_pid(child) > 1);
    return child;
}

static void run_until_ended(size_t wanted) {
    t.wanted = wanted;
    timer_arm(t.deadline, 30 * USEC_PER_SEC);
    if (t.ended < wanted)
        assert_int_equal(loop_run(t.loop), 0);
    timer_disarm(t.deadline);
    assert_int_equal(t.ended, wanted);
}

/* What has been written; all of it is in the pipe once the writer is reaped. */
static const char *output(void) {
    ssize_t n = read(t.out[0], t.output, sizeof(t.output) - 1);

    t.output[n > 0 ? n : 0] = '\0';
    return t.output;
}

static const char *output_of(const char *path, const char *a, const char *b) {
    (void)start(path, a, b);
    run_until_ended(t.ended + 1);
    assert_true(WIFEXITED(t.status) && WEXITSTATUS(t.status) == 0);
    return output();
}

static void test_status(void **state) {
    (void)start("/bin/sh", "-c", "exit 42");
    run_until_ended(1);
    assert_true(WIFEXITED(t.status) && WEXITSTATUS(t.status) == 42);
    (void)start("/bin/sh", "-c", "kill -USR1 $$");
    run_until_ended(2);
    assert_true(WIFSIGNALED(t.status) && WTERMSIG(t.status) == SIGUSR1);
}

static void expect_failure(const char *path, int expected) {
    char *const argv[] = {(char *)path, NULL};
    struct child *child = NULL;
    int error = 0;

    assert_int_equal(try_child(argv, &child, &error), CHILD_E_START);
    assert_int_equal(error, expected);
    assert_null(child);
    /* no zombie is left */
    assert_int_equal(waitpid(-1, NULL, WNOHANG), -1);
    assert_int_equal(errno, ECHILD);
}

static void test_start_failures(void **state) {
    expect_failure("/no/such/program", ENOENT);
    expect_failure("/etc/passwd", EACCES);
    expect_failure("/", EACCES);
    expect_failure("/etc/passwd/x", ENOTDIR);
}

static void test_bad_descriptor_is_a_start_failure(void **state) {
    int saved = t.null;

    t.null = 1 << 20;
    expect_failure("/bin/true", EBADF);
    t.null = saved;
}

/* SigBlk, SigIgn and SigCgt of the child, while here one is blocked, one ignored, one caught. */
static void test_signals_are_default(void **state) {
    sigset_t blocked, before, after;

    sigemptyset(&blocked);
    sigaddset(&blocked, SIGUSR2);
    assert_int_equal(sigprocmask(SIG_BLOCK, &blocked, &before), 0);
    assert_true(signal(SIGHUP, SIG_IGN) != SIG_ERR);
    assert_true(signal(SIGPIPE, SIG_IGN) != SIG_ERR);
    const char *status = output_of("/bin/cat", "/proc/self/status", NULL);
    assert_non_null(strstr(status, "\nSigBlk:\t0000000000000000\n"
                                   "SigIgn:\t0000000000000000\n"
                                   "SigCgt:\t0000000000000000\n"));
    assert_true(signal(SIGPIPE, SIG_IGN) == SIG_IGN);
    assert_true(signal(SIGHUP, SIG_DFL) == SIG_IGN);
    assert_int_equal(sigprocmask(SIG_SETMASK, &before, &after), 0);
    assert_int_equal(sigismember(&after, SIGUSR2), 1);
    assert_int_equal(sigismember(&after, SIGTERM), 0);
}

static void test_no_other_descriptor(void **state) {
    int extra = open("/dev/null", O_RDONLY);
    int high = fcntl(extra, F_DUPFD, 500);

    assert_true(extra >= 0 && high >= 500);
    /* 3 is the directory that ls has open */
    assert_string_equal(output_of("/bin/ls", "/proc/self/fd", NULL), "0\n1\n2\n3\n");
    close(extra);
    close(high);
}

/* Descriptors that are given crosswise among 0, 1 and 2 must not overwrite each other. */
static void test_descriptors_in_any_order(void **state) {
    static char *const argv[] = {(char *)"/bin/sh", (char *)"-c",
                                 (char *)"echo out; echo err >&2; cat", NULL};
    static char *const environment[] = {(char *)"PATH=/usr/bin:/bin", NULL};
    int in[2], err[2], saved[3], error = 0;
    struct child *child = NULL;
    char text[16] = "";

    assert_int_equal(pipe2(in, O_CLOEXEC), 0);
    assert_int_equal(pipe2(err, O_CLOEXEC), 0);
    for (int fd = 0; fd < 3; fd++)
        saved[fd] = fcntl(fd, F_DUPFD_CLOEXEC, 100);
    dup2(t.out[1], 0);
    dup2(err[1], 1);
    dup2(in[0], 2);
    const struct child_spec spec = {argv[0], argv, environment, 2, 0, 1};
    int r = child_start(t.children, &spec, ended, &t, &child, &error);
    for (int fd = 0; fd < 3; fd++) {
        dup2(saved[fd], fd);
        close(saved[fd]);
    }
    assert_int_equal(r, 0);
    assert_int_equal(write(in[1], "in\n", 3), 3);
    close(in[1]);
    run_until_ended(1);
    assert_string_equal(output(), "out\nin\n");
    assert_int_equal(read(err[0], text, sizeof(text) - 1), 4);
    assert_string_equal(text, "err\n");
    close(in[0]);
    close(err[0]);
    close(err[1]);
}

static int own_oom_score(void) {
    FILE *file = fopen("/proc/self/oom_score_adj", "re");
    int score = -2000;

    assert_non_null(file);
    assert_int_equal(fscanf(file, "%d", &score), 1);
    fclose(file);
    return score;
}

static void test_the_kernel_takes_the_child_first(void **state) {
    int before = own_oom_score();
    int child = atoi(output_of("/bin/cat", "/proc/self/oom_score_adj", NULL));

    assert_int_equal(child, before + 500 > 1000 ? 1000 : before + 500);
    assert_int_equal(own_oom_score(), before);
}

static void test_a_group_of_its_own(void **state) {
    int pid = 0, group = 0, parent = 0;
    const char *text = output_of("/bin/cat", "/proc/self/stat", NULL);

    assert_int_equal(sscanf(text, "%d (cat) %*c %d %d", &pid, &parent, &group), 3);
    assert_int_equal(group, pid);
    assert_int_equal(parent, getpid());
    assert_int_not_equal(group, getpgrp());
}

static void test_kill_reaches_the_group(void **state) {
    struct child *child = start("/bin/sh", "-c", "sleep 1000; exit 3");

    child_kill(child, SIGKILL);
    run_until_ended(1);
    assert_true(WIFSIGNALED(t.status) && WTERMSIG(t.status) == SIGKILL);
}

/* End of file on the pipe: every process that held it has gone. */
static void wait_for_end_of_file(int fd) {
    struct pollfd ready = {.fd = fd, .events = POLLIN};
    char byte;
    ssize_t n;

    do {
        int r;

        /* SIGCHLD interrupts */
        while ((r = poll(&ready, 1, 20000)) < 0)
            assert_int_equal(errno, EINTR);
        assert_int_equal(r, 1);
        n = read(fd, &byte, 1);
    } while (n > 0);
    assert_int_equal(n, 0);
}

static void test_what_is_left_of_the_group_is_killed(void **state) {
    (void)start("/bin/sh", "-c", "trap '' TERM HUP; sleep 1000 & sleep 1000 & exit 0");
    run_until_ended(1);
    assert_true(WIFEXITED(t.status) && WEXITSTATUS(t.status) == 0);
    close(t.out[1]);
    t.out[1] = -1;
    wait_for_end_of_file(t.out[0]);
}

static void hold_a_child_and_wait(int ready) {
    struct child *child = NULL;
    int error = 0;
    char *const argv[] = {(char *)"/bin/sleep", (char *)"1000", NULL};

    if (loop_new(&t.loop) < 0 || children_new(t.loop, &t.children) < 0 ||
        try_child(argv, &child, &error) != 0)
        _exit(1);
    if (write(ready, "x", 1) != 1)
        _exit(1);
    for (;;)
        (void)pause();
}

static void test_children_die_with_the_daemon(void **state) {
    int ready[2];
    char byte = 0;

    assert_int_equal(pipe2(ready, O_CLOEXEC), 0);
    pid_t daemon = fork();
    if (daemon == 0)
        hold_a_child_and_wait(ready[1]);
    assert_true(daemon > 0);
    close(ready[1]);
    assert_int_equal(read(ready[0], &byte, 1), 1);
    close(ready[0]);
    close(t.out[1]);
    t.out[1] = -1;

    struct pollfd held = {.fd = t.out[0], .events = POLLIN};
    assert_int_equal(poll(&held, 1, 0), 0);
    assert_int_equal(kill(daemon, SIGKILL), 0);
    wait_for_end_of_file(t.out[0]);
    assert_int_equal(waitpid(daemon, NULL, 0), daemon);
}

static void stop_when_all_reaped(void *data) {
    struct timer **look = data;
    siginfo_t info;

    if (waitid(P_ALL, 0, &info, WEXITED | WNOHANG | WNOWAIT) < 0 && errno == ECHILD)
        loop_stop(t.loop);
    else
        timer_arm(*look, USEC_PER_MSEC);
}

/* Its parent ends, it is handed to us, it ends in its own session: reaped, nobody is told. */
static void test_strays_are_reaped(void **state) {
    struct timer *look = NULL;

    (void)start("/bin/sh", "-c", "for i in 1 2 3 4 5; do setsid sh -c 'exit 7' & done; wait $!");
    run_until_ended(1);
    assert_int_equal(timer_new(t.loop, stop_when_all_reaped, &look, &look), 0);
    timer_arm(t.deadline, 20 * USEC_PER_SEC);
    timer_arm(look, 0);
    assert_int_equal(loop_run(t.loop), 0);
    assert_int_equal(t.ended, 1);
    timer_free(look);
}

static struct deferred *end_of_turn;
static size_t ended_before_turn, most_in_a_turn;

static void turn_ends(void *data) {
    size_t in_this_turn = t.ended - ended_before_turn;

    if (in_this_turn > most_in_a_turn)
        most_in_a_turn = in_this_turn;
    ended_before_turn = t.ended;
}

static void ended_in_a_turn(void *data, int status) {
    deferred_call(end_of_turn);
    ended(data, status);
}

/* More than one turn's worth, all ended before the loop looks for the first time. */
static void test_many_are_reaped_a_few_a_turn(void **state) {
    enum { MANY = 100 };
    static char *const argv[] = {(char *)"/bin/true", NULL};
    const struct child_spec spec = {argv[0], argv, argv, t.null, t.out[1], t.null};
    struct child *child = NULL;
    int error = 0;

    ended_before_turn = most_in_a_turn = 0;
    assert_int_equal(deferred_new(t.loop, turn_ends, NULL, &end_of_turn), 0);
    for (size_t i = 0; i < MANY; i++)
        assert_int_equal(child_start(t.children, &spec, ended_in_a_turn, &t, &child, &error), 0);
    close(t.out[1]);
    t.out[1] = -1;
    wait_for_end_of_file(t.out[0]);
    run_until_ended(MANY);
    assert_in_range(most_in_a_turn, 1, 16);
    end_of_turn = deferred_free(end_of_turn);
}

static void start_another(void *data, int status) {
    if (++t.ended < 5) {
        static char *const argv[] = {(char *)"/bin/true", NULL};
        const struct child_spec spec = {argv[0], argv, argv, t.null, t.null, t.null};
        struct child *child = NULL;
        int error = 0;

        assert_int_equal(child_start(t.children, &spec, start_another, &t, &child, &error), 0);
    } else {
        loop_stop(t.loop);
    }
}

static void test_an_ending_may_start_the_next(void **state) {
    start_another(NULL, 0);
    timer_arm(t.deadline, 20 * USEC_PER_SEC);
    assert_int_equal(loop_run(t.loop), 0);
    assert_int_equal(t.ended, 5);
}

int main(void) {
#define CASE(test) cmocka_unit_test_setup_teardown(test, setup, teardown)
    const struct CMUnitTest tests[] = {
        CASE(test_status),
        CASE(test_start_failures),
        CASE(test_bad_descriptor_is_a_start_failure),
        CASE(test_signals_are_default),
        CASE(test_no_other_descriptor),
        CASE(test_descriptors_in_any_order),
        CASE(test_the_kernel_takes_the_child_first),
        CASE(test_a_group_of_its_own),
        CASE(test_kill_reaches_the_group),
        CASE(test_what_is_left_of_the_group_is_killed),
        CASE(test_children_die_with_the_daemon),
        CASE(test_strays_are_reaped),
        CASE(test_many_are_reaped_a_few_a_turn),
        CASE(test_an_ending_may_start_the_next),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
