/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * One process per entry: payload on standard input, verdict in the exit status.
 *
 * A run owns its child, the pipes to it and the timer that bounds it:
 *
 *                 started    time is up     stop          stop, kill    reaped
 *   starting      running    -              -             -             -
 *   running       -          told to stop   told to stop  killed        reaped
 *   told to stop  -          killed         (nothing)     killed        reaped
 *   killed        -          -              (nothing)     (nothing)     reaped
 *
 * Whatever may fail comes before the process is started; from then on a run can only end by
 * being reaped.
 */
#include "base/cleanup.h"
#include "environment.h"
#include "feed.h"
#include "kind.h"
#include "outcome.h"
#include "output.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>

enum run_state { RUN_STARTING, RUN_RUNNING, RUN_TOLD_TO_STOP, RUN_KILLED, RUN_REAPED };

struct exec_run {
    struct handler_run base;
    enum run_state state;
    enum stop_cause cause;
    struct child *child; /* the children table's; gone when reaped */
    struct timer *timer;
    struct feed *feed;
    struct output *out;
    struct output *err;
    struct output_account account;
};

/* The child's ends of its three pipes. */
struct child_ends {
    int in;
    int out;
    int err;
};

static struct exec_run *exec_run_of(struct handler_run *run) {
    return (struct exec_run *)(void *)run;
}

static struct exec_run *exec_run_free(struct exec_run *run) {
    if (!run)
        return NULL;
    assert(!run->child);
    output_free(run->err);
    output_free(run->out);
    feed_free(run->feed);
    timer_free(run->timer);
    free(run);
    return NULL;
}
DEFINE_CLEANUP(struct exec_run, exec_run_free)

static void child_ends_close(struct child_ends *ends) {
    cleanup_close(&ends->in);
    cleanup_close(&ends->out);
    cleanup_close(&ends->err);
}

/* --- states ---------------------------------------------------------------------------------- */

static ONLY_ASSERTED bool run_may_enter(enum run_state from, enum run_state to) {
    switch (from) {
    case RUN_STARTING:
        return to == RUN_RUNNING;
    case RUN_RUNNING:
        return to == RUN_TOLD_TO_STOP || to == RUN_KILLED || to == RUN_REAPED;
    case RUN_TOLD_TO_STOP:
        return to == RUN_KILLED || to == RUN_REAPED;
    case RUN_KILLED:
        return to == RUN_REAPED;
    case RUN_REAPED:
        return false;
    }
    return false;
}

/* The only place that changes the state, with what belongs to being in it. */
static void run_enter(struct exec_run *run, enum run_state to) {
    const struct handler *handler = run->base.handler;

    assert(run_may_enter(run->state, to));
    run->state = to;
    switch (to) {
    case RUN_STARTING:
        break;
    case RUN_RUNNING:
        timer_arm(run->timer, handler->settings->handler_timeout);
        break;
    case RUN_TOLD_TO_STOP:
        child_kill(run->child, SIGTERM);
        timer_arm(run->timer, handler->kill_grace);
        break;
    case RUN_KILLED:
        child_kill(run->child, SIGKILL);
        timer_disarm(run->timer);
        break;
    case RUN_REAPED:
        run->child = NULL;
        timer_disarm(run->timer);
        break;
    }
}

static void run_time_is_up(void *data) {
    struct exec_run *run = data;

    if (run->state == RUN_RUNNING) {
        run->cause = STOP_TIMED_OUT;
        run_enter(run, RUN_TOLD_TO_STOP);
    } else {
        run_enter(run, RUN_KILLED);
    }
}

static void exec_stop(struct handler_run *base, bool kill) {
    struct exec_run *run = exec_run_of(base);

    if (run->state == RUN_RUNNING) {
        run->cause = STOP_ASKED;
        run_enter(run, kill ? RUN_KILLED : RUN_TOLD_TO_STOP);
    } else if (run->state == RUN_TOLD_TO_STOP && kill) {
        run_enter(run, RUN_KILLED);
    }
}

/* After SIGKILL the next move is the kernel's. A process that sleeps in a dead file system is
 * no reason to restart the daemon, which would not wake it either. */
static usec_t exec_deadline(const struct handler_run *base) {
    return timer_due(((const struct exec_run *)(const void *)base)->timer);
}

static void run_reaped(void *data, int status) {
    struct exec_run *run = data;
    const struct handler *handler = run->base.handler;
    char reason[OUTCOME_REASON_MAX];

    run_enter(run, RUN_REAPED);
    output_finish(run->out);
    output_finish(run->err);
    output_account_renew(&run->account);

    usec_t timeout = handler->settings->handler_timeout;
    enum outcome outcome = outcome_of_status(status, run->cause, timeout, reason);
    handler_run_ended(&run->base, outcome, reason);
}

/* --- start ----------------------------------------------------------------------------------- */

/* A pipe whose end `ours` (0: we read, 1: we write) does not block. */
static int open_pipe(int ours, int *ret_ours, int *ret_theirs) {
    int fds[2];

    if (pipe2(fds, O_CLOEXEC) < 0)
        return -errno;
    if (fcntl(fds[ours], F_SETFL, O_NONBLOCK) < 0) {
        int r = -errno;

        (void)close(fds[0]);
        (void)close(fds[1]);
        return r;
    }
    *ret_ours = fds[ours];
    *ret_theirs = fds[!ours];
    return 0;
}

static int open_output(struct exec_run *run, const char *name, bool logged, struct output **output,
                       int *ret_theirs) {
    int ours = -1;

    int r = open_pipe(0, &ours, ret_theirs);
    if (r < 0)
        return r;
    return output_new(run->base.handler->loop, ours, name, logged, &run->account, output);
}

static int open_feed(struct exec_run *run, const struct entry *entry, uint64_t deliveries,
                     int *ret_theirs) {
    const struct handler *handler = run->base.handler;
    struct payload *payload;
    int ours = -1;

    int r = payload_new(handler->settings, entry, deliveries, &payload);
    if (r < 0)
        return r;
    r = open_pipe(1, &ours, ret_theirs);
    if (r < 0) {
        payload_free(payload);
        return r;
    }
    return feed_new(handler->loop, ours, payload, &run->feed);
}

static int open_all(struct exec_run *run, const struct entry *entry, uint64_t deliveries,
                    struct child_ends *ends) {
    enum output_policy policy = run->base.handler->settings->handler_output;

    int r = open_feed(run, entry, deliveries, &ends->in);
    if (r == 0)
        r = open_output(run, "stdout", policy == OUTPUT_BOTH, &run->out, &ends->out);
    if (r == 0)
        r = open_output(run, "stderr", policy != OUTPUT_NONE, &run->err, &ends->err);
    return r;
}

static int exec_run_new(struct handler *handler, struct entry_id id, struct exec_run **ret) {
    struct exec_run *run = calloc(1, sizeof(*run));
    if (!run)
        return -ENOMEM;
    *run = (struct exec_run){
        .base.handler = handler,
        .state = RUN_STARTING,
        .account = {.subject = handler->subject, .id = id},
    };
    int r = timer_new(handler->loop, run_time_is_up, run, &run->timer);
    if (r < 0) {
        exec_run_free(run);
        return r;
    }
    *ret = run;
    return 0;
}

static int run_execute(struct exec_run *run, const struct child_ends *ends, char *const *variables,
                       int *ret_errno) {
    const struct handler *handler = run->base.handler;
    const struct child_spec spec = {
        .program = handler->settings->argv[0],
        .argv = handler->settings->argv,
        .environment = variables,
        .stdin_fd = ends->in,
        .stdout_fd = ends->out,
        .stderr_fd = ends->err,
    };

    return child_start(handler->children, &spec, run_reaped, run, &run->child, ret_errno);
}

/* No memory or no descriptor now is a matter of this moment: the recovery waits, the daemon
 * goes on. */
static int exec_start(struct handler *handler, const struct entry *entry, uint64_t deliveries,
                      struct handler_run **ret) {
    CLEANUP(exec_run_freep) struct exec_run *run = NULL;
    CLEANUP(child_ends_close) struct child_ends ends = {-1, -1, -1};
    int error = 0;

    int r = exec_run_new(handler, entry->id, &run);
    if (r == 0)
        r = open_all(run, entry, deliveries, &ends);
    if (r == 0)
        r = run_execute(run, &ends, environment_for(handler->kind, entry->id, deliveries), &error);
    if (r != 0)
        return handler_cannot_start(handler, r < 0 ? -r : error);

    run_enter(run, RUN_RUNNING);
    output_start(run->out);
    output_start(run->err);
    feed_start(run->feed);
    *ret = &TAKE(run)->base;
    return 0;
}

/* --- the kind -------------------------------------------------------------------------------- */

static int exec_birth(struct handler *handler, void **ret) {
    struct environment *environment;

    int r = environment_new(handler->settings, environ, &environment);
    if (r < 0)
        return r;
    *ret = environment;
    return 0;
}

static void exec_death(void *kind) {
    environment_free(kind);
}

static void exec_free(struct handler_run *run) {
    exec_run_free(exec_run_of(run));
}

const struct handler_verbs exec_verbs = {
    .birth = exec_birth,
    .death = exec_death,
    .start = exec_start,
    .stop = exec_stop,
    .deadline = exec_deadline,
    .free = exec_free,
};
