/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The environment of an exec handler: what the service has, less what is meant for the daemon
 * alone, and what names the entry. Made once a handler; only the last two change.
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

/* For execve(); borrowed until the next call. */
char *const *environment_for(struct environment *environment, struct entry_id id,
                             uint64_t deliveries);
