/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What systemd is told: five verbs, all no-ops where $NOTIFY_SOCKET is not set.
 */
#pragma once

#include "base/clock.h"

/* A sentence for `systemctl status` is cut to this many bytes. */
#define NOTIFY_STATUS_MAX 200

void notify_ready(const char *status);
void notify_status(const char *status);
/* RELOADING=1 with MONOTONIC_USEC; to be followed by notify_ready(), also after a failure. */
void notify_reloading(const char *status);
void notify_stopping(const char *status);
/* Asks for so much more time to stop. */
void notify_extend_timeout(usec_t from_now);

/* WATCHDOG=1. */
void notify_watchdog(void);
/* WATCHDOG_USEC meant for this process; 0 where there is no watchdog. */
usec_t notify_watchdog_interval(void);
