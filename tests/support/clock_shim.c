/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Preloaded into a program under test: one of its clocks is set or ahead, the others are as they
 * are. So a test suspends the machine, or lets an hour pass, without waiting for it.
 *
 *   FAKE_BOOTTIME=FILE      CLOCK_BOOTTIME is off by as many seconds as the file says at the moment
 *   FAKE_REALTIME=FILE      the same for the time of day (for a server)
 *   FAKE_BOOTTIME_START=N   an hour of CLOCK_BOOTTIME passes while the Nth program is started
 */
#include <dlfcn.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

static int boottime_fd = -1, realtime_fd = -1;
static long starts_left = -1;
static time_t passed; /* also written by a child before its exec: vfork() shares the memory */
static int (*next_execve)(const char *, char *const[], char *const[]);

static int open_named(const char *variable) {
    const char *path = getenv(variable);

    return path ? open(path, O_RDONLY | O_CLOEXEC) : -1;
}

static __attribute__((constructor)) void begin(void) {
    const char *start = getenv("FAKE_BOOTTIME_START");

    boottime_fd = open_named("FAKE_BOOTTIME");
    realtime_fd = open_named("FAKE_REALTIME");
    if (start)
        starts_left = strtol(start, NULL, 10);
    *(void **)&next_execve = dlsym(RTLD_NEXT, "execve");
    if (realtime_fd >= 0)
        return; /* the server may be started by a script */
    (void)unsetenv("FAKE_BOOTTIME");
    (void)unsetenv("FAKE_BOOTTIME_START");
    (void)unsetenv("LD_PRELOAD");
}

static time_t offset(int fd) {
    char text[32];
    ssize_t n = fd >= 0 ? pread(fd, text, sizeof(text) - 1, 0) : 0;

    if (n <= 0)
        return 0;
    text[n] = '\0';
    return (time_t)strtoll(text, NULL, 10);
}

int execve(const char *path, char *const argv[], char *const environment[]) {
    if (--starts_left == 0)
        passed += 3600;
    return next_execve(path, argv, environment);
}

/* By the system call: an allocator asks before anything can be looked up. */
static int read_clock(clockid_t id, struct timespec *ret) {
#ifdef SYS_clock_gettime64
    if (sizeof(time_t) > sizeof(long))
        return (int)syscall(SYS_clock_gettime64, id, ret);
#endif
    return (int)syscall(SYS_clock_gettime, id, ret);
}

int clock_gettime(clockid_t id, struct timespec *ret) {
    int r = read_clock(id, ret);

    if (r == 0 && id == CLOCK_BOOTTIME)
        ret->tv_sec += passed + offset(boottime_fd);
    if (r == 0 && (id == CLOCK_REALTIME || id == CLOCK_REALTIME_COARSE))
        ret->tv_sec += offset(realtime_fd);
    return r;
}

int gettimeofday(struct timeval *restrict ret, void *restrict zone) {
    struct timespec now;
    int r = clock_gettime(CLOCK_REALTIME, &now);

    (void)zone;
    if (r == 0)
        *ret = (struct timeval){.tv_sec = now.tv_sec, .tv_usec = now.tv_nsec / 1000};
    return r;
}

time_t time(time_t *ret) {
    struct timespec now = {0};

    (void)clock_gettime(CLOCK_REALTIME, &now);
    if (ret)
        *ret = now.tv_sec;
    return now.tv_sec;
}
