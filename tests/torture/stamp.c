/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Copies lines from standard input to standard output, each behind the time at which it came
 * (CLOCK_BOOTTIME in seconds), so that records of several daemons can be laid beside each other.
 */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

int main(void) {
    char *line = NULL;
    size_t size = 0;

    while (getline(&line, &size, stdin) > 0) {
        struct timespec now;

        (void)clock_gettime(CLOCK_BOOTTIME, &now);
        (void)printf("%lld.%06ld %s", (long long)now.tv_sec, now.tv_nsec / 1000, line);
    }
    free(line);
    return ferror(stdin) || fflush(stdout) != 0;
}
