/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The children of the process: a table by pid, and the one place that reaps.
 *
 * Owns the SIGCHLD watch and the child objects. A child that has ended is first looked at, not
 * reaped: as long as the zombie holds its number, that number cannot name a foreign process
 * group, so killing the group is safe. Only then is it reaped and its owner told.
 *
 * Nobody else in the process may wait for children of his own.
 */
#include "loop/child.h"

#include "base/cleanup.h"
#include "birth.h"

#include <assert.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <sys/wait.h>

#define HASH_NONFATAL_OOM 1
/* The default falls through cases in a way that clang warns about. */
#define HASH_FUNCTION HASH_OAT
#include <uthash.h>

enum {
    /* Endings seen in one turn; a heap of them (or of strays) must not hold up the loop. */
    REAP_PER_TURN = 16,
    OOM_SCORE_RAISE = 500,
    OOM_SCORE_MAX = 1000,
};

struct children {
    struct signal_watch *watch;
    struct timer *reaper; /* what has ended, a few a turn */
    struct child *living;
    char oom_score_adj[16];
};

struct child {
    pid_t pid;
    child_ended ended;
    void *data;
    UT_hash_handle hh;
};

/* --- death ----------------------------------------------------------------------------------- */

static int wait_for(pid_t pid) {
    int status = 0;

    while (waitpid(pid, &status, 0) < 0) {
        assert(errno == EINTR);
        if (errno != EINTR)
            break;
    }
    return status;
}

static pid_t next_zombie(void) {
    siginfo_t info = {.si_pid = 0};

    if (waitid(P_ALL, 0, &info, WEXITED | WNOHANG | WNOWAIT) < 0)
        return 0;
    return info.si_pid;
}

static void bury(struct children *children, pid_t pid) {
    struct child *child = NULL;

    HASH_FIND(hh, children->living, &pid, sizeof(pid), child);
    if (!child) {
        (void)wait_for(pid);
        return;
    }
    (void)kill(-pid, SIGKILL);
    int status = wait_for(pid);

    HASH_DEL(children->living, child);
    child->ended(child->data, status);
    free(child);
}

static void reap_some(void *data) {
    struct children *children = data;

    for (int n = 0; n < REAP_PER_TURN; n++) {
        pid_t pid = next_zombie();

        if (pid == 0)
            return;
        bury(children, pid);
    }
    /* Signals are merged: none comes again for those that are waiting already. */
    timer_arm(children->reaper, 0);
}

/* libevent calls once for each signal it has counted, all in one turn; so the work is the
 * timer's. */
static void sigchld_came(void *data) {
    struct children *children = data;

    if (!timer_armed(children->reaper))
        timer_arm(children->reaper, 0);
}

/* --- the table ------------------------------------------------------------------------------- */

static int own_oom_score(void) {
    FILE *file = fopen("/proc/self/oom_score_adj", "re");
    int score = 0;

    if (!file)
        return 0;
    if (fscanf(file, "%d", &score) != 1)
        score = 0;
    (void)fclose(file);
    return score;
}

static void set_oom_score(struct children *children) {
    int score = own_oom_score() + OOM_SCORE_RAISE;

    if (score > OOM_SCORE_MAX)
        score = OOM_SCORE_MAX;
    (void)snprintf(children->oom_score_adj, sizeof(children->oom_score_adj), "%d", score);
}

int children_new(struct loop *loop, struct children **ret) {
    struct children *children = calloc(1, sizeof(*children));
    if (!children)
        return -ENOMEM;
    set_oom_score(children);

    int r = signal_watch_new(loop, SIGCHLD, sigchld_came, children, &children->watch);
    if (r == 0)
        r = timer_new(loop, reap_some, children, &children->reaper);
    if (r == 0 && prctl(PR_SET_CHILD_SUBREAPER, 1) < 0)
        r = -errno;
    if (r < 0) {
        children_free(children);
        return r;
    }
    *ret = children;
    return 0;
}

struct children *children_free(struct children *children) {
    if (!children)
        return NULL;
    assert(!children->living);
    (void)prctl(PR_SET_CHILD_SUBREAPER, 0);
    timer_free(children->reaper);
    signal_watch_free(children->watch);
    free(children);
    return NULL;
}

/* --- birth ----------------------------------------------------------------------------------- */

/* Only the running out of memory fails here, and it fails with the child already there. */
static bool enter_table(struct children *children, struct child *child) {
    HASH_ADD(hh, children->living, pid, sizeof(child->pid), child);
    return child->hh.tbl != NULL;
}

int child_start(struct children *children, const struct child_spec *spec, child_ended ended,
                void *data, struct child **ret, int *ret_errno) {
    CLEANUP_FREE struct child *child = calloc(1, sizeof(*child));
    if (!child)
        return -ENOMEM;
    *child = (struct child){.ended = ended, .data = data};

    int r = birth_start(spec, children->oom_score_adj, &child->pid);
    if (r < 0) {
        *ret_errno = -r;
        return CHILD_E_START;
    }
    if (!enter_table(children, child)) {
        (void)kill(-child->pid, SIGKILL);
        (void)wait_for(child->pid);
        return -ENOMEM;
    }
    *ret = TAKE(child);
    return 0;
}

pid_t child_pid(const struct child *child) {
    return child->pid;
}

void child_kill(struct child *child, int signo) {
    /* It can fail only where all of the group have ended, which SIGCHLD will tell. */
    (void)kill(-child->pid, signo);
}
