/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The files of a configuration: which there are, and whether they may be trusted. Others must
 * not be able to write them, since they name programs to run.
 */
#pragma once

#include "complain.h"
#include "draft.h"
#include <stdio.h>

/* Complains and gives *ret = NULL where the file cannot be had. */
MUST_CHECK int files_open(const char *path, struct complaints *complaints, FILE **ret);

/* The drop-ins of the main file, in byte order; none where there is no such directory. The
 * array ends in NULL. Complains where the directory cannot be had. */
MUST_CHECK int files_drop_ins(const char *main_path, struct config_memory *memory,
                              struct complaints *complaints, char ***ret);

/* A path as complaints show it. NULL: out of memory. */
const char *files_shown(const char *path, struct config_memory *memory);
