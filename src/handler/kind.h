/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What handler.c and the kinds of handlers share: the handler, the part of a run that is the
 * same for all, and the verbs in which kinds differ.
 */
#pragma once

#include "handler/handler.h"

/* Between SIGTERM and SIGKILL. */
#define HANDLER_KILL_GRACE (5 * USEC_PER_SEC)
#define HANDLER_AWAY_MAX 256

struct handler {
    struct loop *loop;
    struct children *children;
    const struct recovery_settings *settings;
    struct report_subject *subject;
    struct handler_owner owner;
    const struct handler_verbs *verbs;
    void *kind; /* what verbs->birth made */
    struct handler_run *runs;
    size_t n_runs;
    usec_t kill_grace; /* HANDLER_KILL_GRACE; tests shorten it */
    char away[HANDLER_AWAY_MAX];
};

/* The first member of what each kind calls a run. */
struct handler_run {
    struct handler *handler;
    void *token;
    usec_t started;
    struct handler_run *prev, *next;
};

struct handler_verbs {
    int (*birth)(struct handler *handler, void **ret);
    void (*death)(void *kind);
    /* As handler_start(); sets run->handler, the rest of the common part is handler.c's. */
    int (*start)(struct handler *handler, const struct entry *entry, uint64_t deliveries,
                 struct handler_run **ret);
    void (*stop)(struct handler_run *run, bool kill);
    usec_t (*deadline)(const struct handler_run *run);
    void (*free)(struct handler_run *run);
    /* NULL for the three: there is always room, nothing is left between runs. */
    int (*room)(struct handler *handler, size_t *ret);
    void (*close)(struct handler *handler, bool kill);
    bool (*is_closed)(const struct handler *handler);
};

extern const struct handler_verbs exec_verbs;
extern const struct handler_verbs worker_verbs;
extern const struct handler_verbs socket_verbs;

/* For the kinds: tells the owner of the run, then frees it. Once a run, from the loop. */
void handler_run_ended(struct handler_run *run, enum outcome outcome, const char *reason);

/* For the kinds: sets the reason; returns HANDLER_E_AWAY. */
int handler_go_away(struct handler *handler, const char *format, ...) PRINTF_LIKE(2, 3);
/* The same for the program of `command`, of which execve() or what comes before it said `error`. */
MUST_CHECK int handler_cannot_start(struct handler *handler, int error);
