/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What runs the user's code: the contract that every kind of handler keeps.
 *
 * One start, exactly one outcome. A run that was started ends with one call of `ended`, from
 * the loop, never from inside handler_start(), whatever happens: success, failure, time-out
 * (told to stop, then killed; the outcome comes when the process is reaped), handler_stop().
 *
 * exec runs a process for each. worker and socket give them to processes or connections that
 * stay; there a run ends with its answer, or when its worker is reaped or its connection closed.
 */
#pragma once

#include "base/clock.h"
#include "base/entry.h"
#include "base/error.h"
#include "config/settings.h"
#include "loop/child.h"
#include "loop/loop.h"
#include "report/report.h"

struct handler;
struct handler_run;

enum outcome {
    OUTCOME_OK,
    OUTCOME_RETRY,
    OUTCOME_REJECT,
    OUTCOME_NOT_BEGUN, /* whoever should have done it ended without having read it: no attempt */
};

#define OUTCOME_REASON_MAX 256

/* token: as given to handler_start(). reason: printable ("exit status 1", "killed by SIGKILL",
 * "timed out after 30s", ...). The run is freed when this returns. */
typedef void (*handler_ended)(void *data, void *token, enum outcome outcome, const char *reason,
                              usec_t duration);

/* All called from the loop, never from inside a function below. */
struct handler_owner {
    handler_ended ended;
    /* handler_room() or handler_is_closed() may answer otherwise than before. */
    void (*changed)(void *data);
    void *data;
};

/* Settings and subject are borrowed and outlive the handler. */
MUST_CHECK int handler_new(struct loop *loop, struct children *children,
                           const struct recovery_settings *settings, struct report_subject *subject,
                           const struct handler_owner *owner, struct handler **ret);
/* Asserts that no run is left, and that it is closed. */
struct handler *handler_free(struct handler *handler);

/* How many runs may be started now, SIZE_MAX where that has no limit of its own; asked only when
 * there is something to start: it begins what is needed for it. 0: `changed` will come.
 * HANDLER_E_AWAY: none, and that will not change soon: handler_away_reason(); `changed` comes when
 * it is over. */
MUST_CHECK int handler_room(struct handler *handler, size_t *ret);

/* Ends what is kept between runs, for good: politely, or (kill) at once. No run is left; nothing
 * is started any more. `changed` comes when it is closed. A handler that never started anything is
 * closed. */
void handler_close(struct handler *handler, bool kill);
bool handler_is_closed(const struct handler *handler);

/* Starts a run with this entry, whose strings are borrowed during the call. HANDLER_E_AWAY: it
 * could not be started for a reason that is not the entry's (no such program, fork refused);
 * handler_away_reason() says why, printable; nothing was handed over, `ended` does not come.
 * HANDLER_E_BUSY: the same, only because there was no room. */
enum { HANDLER_E_AWAY = 1, HANDLER_E_BUSY };
MUST_CHECK int handler_start(struct handler *handler, const struct entry *entry,
                             uint64_t deliveries, void *token, struct handler_run **ret);
const char *handler_away_reason(const struct handler *handler);

/* Tells a run to stop now (SIGTERM, later SIGKILL, as after a time-out); its outcome is then
 * retry, unless it ends with success all the same. `kill`: SIGKILL at once. */
void handler_stop(struct handler_run *run, bool kill);

size_t handler_running(const struct handler *handler);

/* The earliest time (CLOCK_MONOTONIC) by which a run must have moved on (been told to stop,
 * killed, reaped); USEC_INFINITY if none runs. For the watchdog. */
usec_t handler_deadline(const struct handler *handler);
