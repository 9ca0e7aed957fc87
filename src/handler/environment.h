/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The environment of a handler's process: what the service has, less what is meant for the daemon
 * alone, and what names the recovery and, for one of its own, the entry. Made once a handler;
 * only the last two change.
 */
#pragma once

#include "base/entry_id.h"
#include "base/error.h"
#include "config/settings.h"

struct environment;

/* inherited: NULL-terminated, copied. */
MUST_CHECK int environment_new(const struct recovery_settings *settings, char *const *inherited,
                               struct environment **ret);
struct environment *environment_free(struct environment *environment);

/* For a process that is not for one entry: without what names it. Borrowed. */
char *const *environment_without_entry(struct environment *environment);

/* For execve(); borrowed until the next call. */
char *const *environment_for(struct environment *environment, struct entry_id id,
                             uint64_t deliveries);
