/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The contract between whoever has entries and whatever runs the user's code: one start, one
 * outcome. Owns the list of runs; how a run is done is the kind's, behind its verbs.
 */
#include "handler/handler.h"

#include "kind.h"

#include <assert.h>
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <utlist.h>

static const struct handler_verbs *verbs_of(enum handler_kind kind) {
    switch (kind) {
    case HANDLER_EXEC:
        return &exec_verbs;
    case HANDLER_WORKER:
        return &worker_verbs;
    case HANDLER_SOCKET:
        return &socket_verbs;
    case HANDLER_MOVE: /* nothing runs */
    case HANDLER_CLAIM_ONLY:
    case _HANDLER_KIND_MAX:
        break;
    }
    return NULL;
}

int handler_new(struct loop *loop, struct children *children,
                const struct recovery_settings *settings, struct report_subject *subject,
                const struct handler_owner *owner, struct handler **ret) {
    const struct handler_verbs *verbs = verbs_of(settings->handler);
    assert(verbs);

    struct handler *handler = calloc(1, sizeof(*handler));
    if (!handler)
        return -ENOMEM;
    *handler = (struct handler){
        .loop = loop,
        .children = children,
        .settings = settings,
        .subject = subject,
        .owner = *owner,
        .verbs = verbs,
        .kill_grace = HANDLER_KILL_GRACE,
    };
    int r = verbs->birth(handler, &handler->kind);
    if (r < 0) {
        handler_free(handler);
        return r;
    }
    *ret = handler;
    return 0;
}

struct handler *handler_free(struct handler *handler) {
    if (!handler)
        return NULL;
    assert(!handler->runs && handler->n_runs == 0);
    handler->verbs->death(handler->kind);
    free(handler);
    return NULL;
}

int handler_start(struct handler *handler, const struct entry *entry, uint64_t deliveries,
                  void *token, struct handler_run **ret) {
    usec_t now = clock_monotonic();
    struct handler_run *run = NULL;

    int r = handler->verbs->start(handler, entry, deliveries, &run);
    if (r != 0)
        return r;
    assert(run->handler == handler);
    run->token = token;
    run->started = now;
    DL_APPEND(handler->runs, run);
    handler->n_runs++;
    *ret = run;
    return 0;
}

const char *handler_away_reason(const struct handler *handler) {
    return handler->away;
}

void handler_stop(struct handler_run *run, bool kill) {
    run->handler->verbs->stop(run, kill);
}

int handler_room(struct handler *handler, size_t *ret) {
    if (handler->verbs->room)
        return handler->verbs->room(handler, ret);
    *ret = SIZE_MAX;
    return 0;
}

void handler_close(struct handler *handler, bool kill) {
    assert(handler->n_runs == 0);
    if (handler->verbs->close)
        handler->verbs->close(handler, kill);
}

bool handler_is_closed(const struct handler *handler) {
    return !handler->verbs->is_closed || handler->verbs->is_closed(handler);
}

size_t handler_running(const struct handler *handler) {
    return handler->n_runs;
}

usec_t handler_deadline(const struct handler *handler) {
    usec_t earliest = USEC_INFINITY;

    for (const struct handler_run *run = handler->runs; run; run = run->next)
        earliest = usec_min(earliest, handler->verbs->deadline(run));
    return earliest;
}

/* --- for the kinds --------------------------------------------------------------------------- */

void handler_run_ended(struct handler_run *run, enum outcome outcome, const char *reason) {
    struct handler *handler = run->handler;
    usec_t duration = usec_sub(clock_monotonic(), run->started);

    /* First, so that the owner may start the next one from its callback. */
    assert(handler->n_runs > 0);
    DL_DELETE(handler->runs, run);
    handler->n_runs--;
    handler->owner.ended(handler->owner.data, run->token, outcome, reason, duration);
    handler->verbs->free(run);
}

int handler_go_away(struct handler *handler, const char *format, ...) {
    va_list args;

    va_start(args, format);
    (void)vsnprintf(handler->away, sizeof(handler->away), format, args);
    va_end(args);
    return HANDLER_E_AWAY;
}

int handler_cannot_start(struct handler *handler, int error) {
    const char *path = handler->settings->argv[0];
    char program[HANDLER_AWAY_MAX / 2];
    const char *what = strerror(error);

    /* execve() says the same of a script whose interpreter is missing. */
    if (error == ENOENT && access(path, F_OK) == 0)
        what = "its interpreter does not exist";
    text_printable((struct blob){.data = path, .size = strlen(path)}, program, sizeof(program));
    return handler_go_away(handler, "cannot start %s: %s", program, what);
}
