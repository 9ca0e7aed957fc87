/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * From the files to drafts: sections, keys, single values. What concerns several keys at once
 * is in rules.h.
 */
#pragma once

#include "complain.h"
#include "draft.h"
#include <stdio.h>

/* Reads one file on top of what is there; `name` is how complaints call it and lives as long
 * as memory. A negative errno where the file cannot be read on. */
MUST_CHECK int load_file(FILE *file, const char *name, struct config_memory *memory,
                         struct complaints *complaints);
