/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * `consumer`: a name with specifiers: %H host name, %N NAME of the recovery, %i instance, %%.
 */
#pragma once

#include "draft.h"

#define CONSUMER_ACCEPTED "a name, with %H (host name), %N (NAME), %i (instance) and %%"

/* The longest name, counting each percent sign twice; it can then be written in one line. */
#define CONSUMER_MAX 180

MUST_CHECK int consumer_check(const char *text, char why[WHY_MAX]);

struct specifiers {
    const char *host;
    const char *name;
    const char *instance;
};

/* *ret: expanded. *ret_literal: the same with each percent sign doubled, which expands to
 * itself. VALUE_E_BAD: the result is no good name. */
MUST_CHECK int consumer_expand(const char *text, const struct specifiers *specifiers,
                               struct config_memory *memory, const char **ret,
                               const char **ret_literal, char why[WHY_MAX]);
