/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Child processes: birth by vfork, death noticed by SIGCHLD in the loop.
 *
 * A child gets: its own process group; standard input, output and error as given and no other
 * descriptor; default signal dispositions and an empty mask; SIGKILL when the daemon dies; a
 * raised oom_score_adj, so that the kernel takes it before the daemon.
 *
 * When a child has ended, what is left of its process group is killed while its zombie still
 * holds the number, then it is reaped, then `ended` is called. Processes that were orphaned to
 * us (PR_SET_CHILD_SUBREAPER) are reaped without a word.
 */
#pragma once

#include "loop/loop.h"
#include <sys/types.h>

struct children; /* the SIGCHLD watch and the table of the living; one per loop */
struct child;

MUST_CHECK int children_new(struct loop *loop, struct children **ret);
/* Asserts that none is left. */
struct children *children_free(struct children *children);

struct child_spec {
    const char *program;      /* absolute path, executed as it is: no PATH, no shell */
    char *const *argv;        /* NULL-terminated */
    char *const *environment; /* NULL-terminated "NAME=value" */
    int stdin_fd;             /* duplicated into the child; stay the caller's */
    int stdout_fd;
    int stderr_fd;
};

/* status as waitpid() gives it. The child object is freed when this returns. */
typedef void (*child_ended)(void *data, int status);

/* CHILD_E_START: it could not be started (no such program, no permission, no process to be
 * had); *ret_errno says why. The caller goes on and tries again later. */
enum { CHILD_E_START = 1 };
MUST_CHECK int child_start(struct children *children, const struct child_spec *spec,
                           child_ended ended, void *data, struct child **ret, int *ret_errno);

pid_t child_pid(const struct child *child);

/* Sends the signal to the whole process group. */
void child_kill(struct child *child, int signo);
