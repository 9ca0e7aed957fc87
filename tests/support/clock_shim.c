/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Preloaded into the daemon under test: CLOCK_BOOTTIME is ahead of itself, all other clocks are
 * as they are. So a test suspends the machine, or lets an hour pass, without waiting for it:
 *
 *   FAKE_BOOTTIME=FILE      by as many seconds as the file says at the moment
 *   FAKE_BOOTTIME_START=N   an hour passes while the Nth program is started
 */
#include <dlfcn.h>
#include <fcntl.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

static int offset_fd = -1;
static long starts_left = -1;
static time_t passed; /* also written by a child before its exec: vfork() shares the memory */
static int (*next_execve)(const char *, char *const[], char *const[]);

static __attribute__((constructor)) void begin(void) {
    const char *path = getenv("FAKE_BOOTTIME");

    const char *start = getenv("FAKE_BOOTTIME_START");

    if (path)
        offset_fd = open(path, O_RDONLY | O_CLOEXEC);
    if (start)
        starts_left = strtol(start, NULL, 10);
    *(void **)&next_execve = dlsym(RTLD_NEXT, "execve");
    (void)unsetenv("FAKE_BOOTTIME");
    (void)unsetenv("FAKE_BOOTTIME_START");
    (void)unsetenv("LD_PRELOAD");
}

static time_t offset(void) {
    char text[32];
    ssize_t n = offset_fd >= 0 ? pread(offset_fd, text, sizeof(text) - 1, 0) : 0;

    if (n <= 0)
        return passed;
    text[n] = '\0';
    return passed + (time_t)strtoll(text, NULL, 10);
}

int execve(const char *path, char *const argv[], char *const environment[]) {
    if (--starts_left == 0)
        passed += 3600;
    return next_execve(path, argv, environment);
}

int clock_gettime(clockid_t id, struct timespec *ret) {
    static int (*next)(clockid_t, struct timespec *);
    int r;

    if (!next)
        *(void **)&next = dlsym(RTLD_NEXT, "clock_gettime");
    r = next(id, ret);
    if (r == 0 && id == CLOCK_BOOTTIME)
        ret->tv_sec += offset();
    return r;
}
