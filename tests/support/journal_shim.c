/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Preloaded into the daemon under test: what libsystemd sends to the journal's socket goes to
 * $FAKE_JOURNAL instead, so that a test has a journal of its own wherever it runs, without a
 * mount namespace and without being root.
 *
 * Both variables are gone before main() runs: handlers do not inherit them. Whatever runs before
 * the daemon and becomes it (a script that calls valgrind) passes them on.
 */
#include <dlfcn.h>
#include <errno.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>

#define JOURNAL "/run/systemd/journal/socket"

static struct sockaddr_un journal;

static __attribute__((constructor)) void begin(void) {
    const char *path = getenv("FAKE_JOURNAL");

    if (strcmp(program_invocation_short_name, "xautoclaimd") != 0)
        return;
    if (path && strlen(path) < sizeof(journal.sun_path)) {
        journal.sun_family = AF_UNIX;
        strcpy(journal.sun_path, path);
    }
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
