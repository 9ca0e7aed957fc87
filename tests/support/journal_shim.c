/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Preloaded into the daemon under test: what libsystemd sends to the journal's socket goes to
 * $FAKE_JOURNAL instead, so that a test has a journal of its own wherever it runs, without a
 * mount namespace and without being root.
 *
 * The variables are gone before main() runs: handlers do not inherit them. Whatever runs before
 * the daemon and becomes it (a script that calls valgrind) passes them on.
 *
 * With TEST_UNDER_VALGRIND set, the daemon's wish to have no executable memory made
 * (PR_SET_MDWE) is answered and not passed on: valgrind runs what it translates, in memory it
 * makes executable, in the same process.
 */
#include <dlfcn.h>
#include <errno.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <unistd.h>

#define JOURNAL "/run/systemd/journal/socket"

#ifndef PR_SET_MDWE
#define PR_SET_MDWE 65
#endif

static struct sockaddr_un journal;
static int under_valgrind;

static __attribute__((constructor)) void begin(void) {
    const char *path = getenv("FAKE_JOURNAL");

    if (strcmp(program_invocation_short_name, "xautoclaimd") != 0)
        return;
    if (path && strlen(path) < sizeof(journal.sun_path)) {
        journal.sun_family = AF_UNIX;
        strcpy(journal.sun_path, path);
    }
    under_valgrind = getenv("TEST_UNDER_VALGRIND") != NULL;
    (void)unsetenv("TEST_UNDER_VALGRIND");
    (void)unsetenv("FAKE_JOURNAL");
    (void)unsetenv("LD_PRELOAD");
}

static int is_journal(const struct msghdr *message) {
    const struct sockaddr_un *to = message->msg_name;

    return to && message->msg_namelen > offsetof(struct sockaddr_un, sun_path) &&
           to->sun_family == AF_UNIX && strcmp(to->sun_path, JOURNAL) == 0;
}

ssize_t sendmsg(int fd, const struct msghdr *message, int flags) {
    static ssize_t (*next)(int, const struct msghdr *, int);
    struct msghdr changed = *message;

    if (!next)
        *(void **)&next = dlsym(RTLD_NEXT, "sendmsg");
    if (journal.sun_path[0] != '\0' && is_journal(message)) {
        changed.msg_name = &journal;
        changed.msg_namelen = sizeof(journal);
    }
    return next(fd, &changed, flags);
}

int prctl(int option, ...) {
    unsigned long values[4];
    va_list list;

    va_start(list, option);
    for (int i = 0; i < 4; i++)
        values[i] = va_arg(list, unsigned long);
    va_end(list);
    if (option == PR_SET_MDWE && under_valgrind)
        return 0;
    return (int)syscall(SYS_prctl, option, values[0], values[1], values[2], values[3]);
}
