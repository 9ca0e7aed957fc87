/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What runs the user's code: the contract that every kind of handler keeps.
 *
 * One start, exactly one outcome. A run that was started ends with one call of `ended`, from
 * the loop, never from inside handler_start(), whatever happens: success, failure, time-out
 * (told to stop, then killed; the outcome comes when the process is reaped), handler_stop().
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

enum outcome { OUTCOME_OK, OUTCOME_RETRY, OUTCOME_REJECT };

#define OUTCOME_REASON_MAX 256

/* token: as given to handler_start(). reason: printable ("exit status 1", "killed by SIGKILL",
 * "timed out after 30s", ...). The run is freed when this returns. */
typedef void (*handler_ended)(void *data, void *token, enum outcome outcome, const char *reason,
                              usec_t duration);

/* Settings and subject are borrowed and outlive the handler. */
MUST_CHECK int handler_new(struct loop *loop, struct children *children,
                           const struct recovery_settings *settings, struct report_subject *subject,
                           handler_ended ended, void *data, struct handler **ret);
/* Asserts that no run is left. */
struct handler *handler_free(struct handler *handler);

/* Starts a run with this entry, whose strings are borrowed during the call. HANDLER_E_AWAY: it
 * could not be started for a reason that is not the entry's (no such program, fork refused);
 * handler_away_reason() says why, printable; nothing was handed over, `ended` does not come. */
enum { HANDLER_E_AWAY = 1 };
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
