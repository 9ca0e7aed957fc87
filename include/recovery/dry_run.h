/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What would a scan claim? Asked with XPENDING only, in windows of a bounded number of entries,
 * so that nothing changes and no call blocks the server for long.
 */
#pragma once

#include "base/error.h"
#include "config/settings.h"
#include "redis/command.h"
#include "redis/link.h"

struct dry_run;

enum dry_run_result {
    DRY_RUN_OK,
    DRY_RUN_UNREACHABLE, /* no connection, or it ended */
    DRY_RUN_REFUSED,     /* the server answered with an error */
};

struct dry_run_owner {
    /* An entry that is idle for long enough. Borrowed until it returns. */
    void (*entry)(void *data, const struct pending_entry *entry);
    /* Once, at the end; `why` is printable, "" if it went well. */
    void (*done)(void *data, enum dry_run_result result, const char *why);
    void *data;
};

/* Begins when the link comes up. Settings and link are borrowed. */
MUST_CHECK int dry_run_new(const struct recovery_settings *settings, struct link *link,
                           const struct dry_run_owner *owner, struct dry_run **ret);
struct dry_run *dry_run_free(struct dry_run *dry_run);
