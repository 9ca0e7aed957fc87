/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Wait status to outcome and reason: a function of its arguments.
 */
#include "outcome.h"

#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <sysexits.h>

static void describe(int status, const char *prefix, char reason[OUTCOME_REASON_MAX]) {
    if (WIFEXITED(status)) {
        (void)snprintf(reason, OUTCOME_REASON_MAX, "%sexit status %d", prefix, WEXITSTATUS(status));
        return;
    }
    int signo = WTERMSIG(status);
    const char *name = sigabbrev_np(signo);
    /* Real-time signals have no name. */
    if (name)
        (void)snprintf(reason, OUTCOME_REASON_MAX, "%skilled by signal %d (SIG%s)", prefix, signo,
                       name);
    else
        (void)snprintf(reason, OUTCOME_REASON_MAX, "%skilled by signal %d", prefix, signo);
}

enum outcome outcome_of_status(int status, enum stop_cause cause, usec_t timeout,
                               char reason[OUTCOME_REASON_MAX]) {
    bool done = WIFEXITED(status) && WEXITSTATUS(status) == EX_OK;
    bool refused = WIFEXITED(status) && WEXITSTATUS(status) == EX_DATAERR;
    char duration[64];

    switch (cause) {
    case STOP_NONE:
        describe(status, "", reason);
        return done ? OUTCOME_OK : refused ? OUTCOME_REJECT : OUTCOME_RETRY;
    case STOP_ASKED:
        describe(status, done ? "" : "stopped: ", reason);
        return done ? OUTCOME_OK : OUTCOME_RETRY;
    case STOP_TIMED_OUT:
        break;
    }
    text_format_duration(timeout, duration, sizeof(duration));
    (void)snprintf(reason, OUTCOME_REASON_MAX, "timed out after %s", duration);
    return OUTCOME_RETRY;
}
