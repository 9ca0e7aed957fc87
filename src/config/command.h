/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * `command`: program and arguments, split with the quoting rules of a shell, no shell run.
 */
#pragma once

#include "draft.h"

#define COMMAND_ACCEPTED "an absolute program and its arguments"

/* VALUE_E_BAD: the sentence never repeats any part of the command. */
MUST_CHECK int command_split(const char *text, struct config_memory *memory, char *const **ret,
                             char why[WHY_MAX]);
