/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * vfork: the child borrows the parent's memory and stack while the parent sleeps, until it
 * executes or exits. That costs the same for a small and a large daemon, and unlike
 * posix_spawn() it leaves room for PR_SET_PDEATHSIG.
 *
 * The price are rules. In the child only async-signal-safe calls are made; it writes to nothing
 * but its own stack; it never returns into the parent's frames. All signals are blocked around
 * it, and the child drops every handler before it unblocks them: a handler of the parent's that
 * ran in the child would change the parent's memory.
 *
 * What failed is told through a pipe that the execve() closes, not through the shared memory:
 * valgrind makes a fork of the vfork and does not wait.
 */
#include "birth.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

enum {
    FIRST_OTHER_FD = STDERR_FILENO + 1,
    ERROR_FD = FIRST_OTHER_FD, /* in the child; closed by execve() */
    FALLBACK_FD_LIMIT = 65536, /* where the limit is infinite */
    EXIT_NOT_EXECUTED = 127,
};

/* A descriptor that dup2() to 0, 1 or 2 cannot overwrite before its own turn has come. */
static int out_of_the_way(int fd) {
    return fd >= FIRST_OTHER_FD ? fd : fcntl(fd, F_DUPFD_CLOEXEC, FIRST_OTHER_FD);
}

static bool take_descriptors(const struct child_spec *spec) {
    int in = out_of_the_way(spec->stdin_fd);
    int out = out_of_the_way(spec->stdout_fd);
    int err = out_of_the_way(spec->stderr_fd);

    return in >= 0 && out >= 0 && err >= 0 && dup2(in, STDIN_FILENO) >= 0 &&
           dup2(out, STDOUT_FILENO) >= 0 && dup2(err, STDERR_FILENO) >= 0;
}

/* Where errors go must survive until the execve(), and nothing else above standard error. */
static bool keep_error_fd(int *error_fd) {
    if (*error_fd != ERROR_FD && dup3(*error_fd, ERROR_FD, O_CLOEXEC) < 0)
        return false;
    *error_fd = ERROR_FD;
    return true;
}

static void close_the_rest(void) {
#ifdef SYS_close_range
    if (syscall(SYS_close_range, (unsigned int)ERROR_FD + 1, ~0U, 0U) == 0)
        return;
#endif
    struct rlimit limit;
    rlim_t end = FALLBACK_FD_LIMIT;

    if (getrlimit(RLIMIT_NOFILE, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY)
        end = limit.rlim_cur;
    for (rlim_t fd = ERROR_FD + 1; fd < end; fd++)
        (void)close((int)fd);
}

/* exec resets handlers but keeps what is ignored (SIGPIPE is, in the daemon); and a handler must
 * not run here. Numbers that cannot be set (SIGKILL, libc's own) are refused and left. */
static void default_signals(void) {
    struct sigaction action;
    sigset_t none;

    memset(&action, 0, sizeof(action));
    action.sa_handler = SIG_DFL;
    for (int signo = 1; signo < NSIG; signo++)
        (void)sigaction(signo, &action, NULL);
    (void)sigemptyset(&none);
    (void)sigprocmask(SIG_SETMASK, &none, NULL);
}

/* Without /proc, or where it is refused, the child runs all the same. */
static void raise_oom_score(const char *text) {
    int fd = open("/proc/self/oom_score_adj", O_WRONLY | O_CLOEXEC);

    if (fd < 0)
        return;
    ssize_t written = write(fd, text, strlen(text));
    (void)written;
    (void)close(fd);
}

static _Noreturn void become_child(const struct birth *birth) {
    const struct child_spec *spec = birth->spec;
    int error_fd = birth->error_fd;

    if (setpgid(0, 0) == 0 && prctl(PR_SET_PDEATHSIG, SIGKILL) == 0 && take_descriptors(spec) &&
        keep_error_fd(&error_fd)) {
        /* A parent that died before the prctl() sends no signal any more. */
        if (getppid() != birth->parent)
            _exit(EXIT_NOT_EXECUTED);
        raise_oom_score(birth->oom_score_adj);
        close_the_rest();
        default_signals();
        (void)execve(spec->program, spec->argv, spec->environment);
    }
    int error = errno;
    ssize_t written = write(error_fd, &error, sizeof(error));
    (void)written;
    _exit(EXIT_NOT_EXECUTED);
}

/* Nothing but the call: no local of this function is alive across it, so the child has nothing
 * to spoil (-Wclobbered). Not inlined, or its caller's locals would be. */
static __attribute__((noinline)) pid_t split(const struct birth *birth) {
    pid_t pid = vfork();

    if (pid == 0)
        become_child(birth);
    return pid;
}

static pid_t split_undisturbed(const struct birth *birth) {
    sigset_t all, before;

    (void)sigfillset(&all);
    (void)pthread_sigmask(SIG_SETMASK, &all, &before);
    pid_t pid = split(birth);
    int error = errno;
    (void)pthread_sigmask(SIG_SETMASK, &before, NULL);
    errno = error;
    return pid;
}

/* 0 when the child has closed its end by executing, or the errno that it sent. */
static int wait_for_error(int fd) {
    int error = 0;
    ssize_t n;

    do
        n = read(fd, &error, sizeof(error));
    while (n < 0 && errno == EINTR);
    return n == (ssize_t)sizeof(error) ? error : 0;
}

static void reap(pid_t pid) {
    while (waitpid(pid, NULL, 0) < 0 && errno == EINTR)
        continue;
}

int birth_start(const struct child_spec *spec, const char *oom_score_adj, pid_t *ret) {
    int ends[2];

    if (pipe2(ends, O_CLOEXEC) < 0)
        return -errno;
    const struct birth birth = {
        .spec = spec,
        .oom_score_adj = oom_score_adj,
        .parent = getpid(),
        .error_fd = ends[1],
    };
    pid_t pid = split_undisturbed(&birth);
    int error = pid < 0 ? errno : 0;

    (void)close(ends[1]);
    if (pid > 0)
        error = wait_for_error(ends[0]);
    (void)close(ends[0]);
    if (error != 0) {
        if (pid > 0)
            reap(pid);
        return -error;
    }
    *ret = pid;
    return 0;
}
