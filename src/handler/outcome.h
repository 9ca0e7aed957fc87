/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * From the end of a process to the outcome of its run. Pure.
 */
#pragma once

#include "handler/handler.h"

/* Why we ended it, if we did. */
enum stop_cause { STOP_NONE, STOP_TIMED_OUT, STOP_ASKED };

/* status as waitpid() gives it; reason gets a printable phrase.
 *
 *               STOP_NONE   STOP_ASKED   STOP_TIMED_OUT
 *   exit 0      ok          ok           retry
 *   exit 65     reject      retry        retry
 *   the rest    retry       retry        retry
 *
 * A program that exits with 0 after a time-out obeyed SIGTERM; that does not say it is done. */
enum outcome outcome_of_status(int status, enum stop_cause cause, usec_t timeout,
                               char reason[OUTCOME_REASON_MAX]);
