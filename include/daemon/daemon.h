/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Composition: who is born when, who dies after whom.
 */
#pragma once

#include "base/error.h"
#include "config/config.h"
#include "daemon/options.h"

/* sysexits(3), as the manual lists them. */
enum daemon_exit {
    EXIT_STATUS_OK = 0,
    EXIT_STATUS_LEFT = 1,         /* --once: entries failed, were missing or exhausted */
    EXIT_STATUS_USAGE = 64,       /* EX_USAGE */
    EXIT_STATUS_UNAVAILABLE = 69, /* EX_UNAVAILABLE: --once, --dry-run */
    EXIT_STATUS_BROKEN = 71,      /* EX_OSERR: the system refused something essential */
    EXIT_STATUS_CONFIG = 78,      /* EX_CONFIG */
};

/* Runs until it is told to stop (DAEMON_ONCE, DAEMON_DRY_RUN: until done) and says with which
 * status to exit. Options and source, from which a reload reads again, are borrowed; the
 * configuration becomes the daemon's. Negative: could not go on. */
MUST_CHECK int daemon_run(const struct options *options, const struct config_source *source,
                          struct config *config, enum daemon_exit *ret);
