/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Processes that stay. Each has one end of a socket pair as its standard input and output, and a
 * pipe for its standard error, which is logged.
 *
 * It is asked to leave by the end of its input, a second later by SIGTERM, five more later by
 * SIGKILL. What it held ends when it is reaped, after all that it has answered was read.
 */
#include "base/cleanup.h"
#include "crew.h"
#include "environment.h"
#include "loop/child.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>

#define LEAVE_GRACE (1 * USEC_PER_SEC)

/* --- going ----------------------------------------------------------------------------------- */

static void worker_enter(struct member *member, enum member_state state) {
    if (!member->child) /* it is reaped; this came of the last that it wrote */
        return;
    switch (state) {
    case MEMBER_LEAVING:
        if (member->channel)
            channel_finish(member->channel);
        timer_arm(member->timer, LEAVE_GRACE);
        break;
    case MEMBER_TOLD_TO_STOP:
        child_kill(member->child, SIGTERM);
        timer_arm(member->timer, member->crew->handler->kill_grace);
        break;
    case MEMBER_KILLED:
        child_kill(member->child, SIGKILL);
        timer_disarm(member->timer);
        break;
    case MEMBER_DOWN:
    case MEMBER_COMING:
    case MEMBER_UP:
        break;
    }
}

static void worker_time_is_up(struct member *member) {
    member_enter(member, member->state == MEMBER_LEAVING ? MEMBER_TOLD_TO_STOP : MEMBER_KILLED);
}

static void worker_reaped(void *data, int status) {
    struct member *member = data;
    char how[OUTCOME_REASON_MAX];

    member->child = NULL;
    output_finish(member->err);
    if (member->channel)
        channel_read_rest(member->channel);
    output_account_renew(&member->account);
    member->err = output_free(member->err);
    (void)outcome_of_status(status, STOP_NONE, 0, how);
    member_is_gone(member, how);
}

/* --- coming ---------------------------------------------------------------------------------- */

struct ends {
    int ours;   /* of the socket pair */
    int theirs; /* their standard input and output */
    int err;    /* theirs */
};

static void ends_close(struct ends *ends) {
    cleanup_close(&ends->ours);
    cleanup_close(&ends->theirs);
    cleanup_close(&ends->err);
}

static int open_ends(struct member *member, struct ends *ends) {
    const struct handler *handler = member->crew->handler;
    int pair[2], pipe[2];

    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) < 0)
        return -errno;
    ends->ours = pair[0];
    ends->theirs = pair[1];
    if (fcntl(ends->ours, F_SETFL, O_NONBLOCK) < 0 || pipe2(pipe, O_CLOEXEC) < 0)
        return -errno;
    ends->err = pipe[1];
    if (fcntl(pipe[0], F_SETFL, O_NONBLOCK) < 0) {
        int r = -errno;

        (void)close(pipe[0]);
        return r;
    }
    return output_new(handler->loop, pipe[0], "stderr",
                      handler->settings->handler_output != OUTPUT_NONE, &member->account,
                      &member->err);
}

static int execute(struct member *member, const struct ends *ends, int *ret_errno) {
    const struct crew *crew = member->crew;
    const struct child_spec spec = {
        .program = crew->handler->settings->argv[0],
        .argv = crew->handler->settings->argv,
        .environment = environment_without_entry(crew->environment),
        .stdin_fd = ends->theirs,
        .stdout_fd = ends->theirs,
        .stderr_fd = ends->err,
    };

    return child_start(crew->handler->children, &spec, worker_reaped, member, &member->child,
                       ret_errno);
}

/* Once the process runs it can only end by being reaped. */
static void started(struct member *member, struct ends *ends) {
    (void)snprintf(member->name, sizeof(member->name), "worker %d", (int)child_pid(member->child));
    output_start(member->err);
    int fd = ends->ours;
    ends->ours = -1;
    if (member_is_up(member, fd) < 0)
        loop_fail(member->crew->handler->loop, -ENOMEM);
}

static int worker_begin(struct member *member) {
    CLEANUP(ends_close) struct ends ends = {-1, -1, -1};
    int error = 0;

    member->account =
        (struct output_account){.subject = member->crew->handler->subject, .worker = member->name};
    int r = open_ends(member, &ends);
    if (r == 0)
        r = execute(member, &ends, &error);
    if (r != 0) {
        member->err = output_free(member->err);
        return handler_cannot_start(member->crew->handler, r < 0 ? -r : error);
    }
    started(member, &ends);
    return 0;
}

/* --- the kind -------------------------------------------------------------------------------- */

static const struct member_verbs members = {
    .noun = "worker",
    .begin = worker_begin,
    .enter = worker_enter,
    .time_is_up = worker_time_is_up,
};

static int worker_birth(struct handler *handler, void **ret) {
    struct crew *crew;

    int r = crew_new(handler, &members, &crew);
    if (r < 0)
        return r;
    r = environment_new(handler->settings, environ, &crew->environment);
    if (r < 0) {
        crew_free(crew);
        return r;
    }
    *ret = crew;
    return 0;
}

static void worker_death(void *kind) {
    crew_free(kind);
}

const struct handler_verbs worker_verbs = {
    .birth = worker_birth,
    .death = worker_death,
    .start = crew_start,
    .stop = crew_stop,
    .deadline = crew_deadline,
    .free = crew_run_free,
    .room = crew_room,
    .close = crew_close,
    .is_closed = crew_is_closed,
};
