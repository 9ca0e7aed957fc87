/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The command line.
 */
#pragma once

#include "base/error.h"
#include <stdbool.h>
#include <stddef.h>

enum daemon_mode {
    DAEMON_RUN,
    DAEMON_ONCE,
    DAEMON_DRY_RUN,
    DAEMON_CHECK,
    DAEMON_PRINT_CONFIG,
};

struct options {
    enum daemon_mode mode;
    const char *config;            /* path */
    const char *const *recoveries; /* --recovery, in order; points into argv */
    size_t n_recoveries;
    int log_level; /* -1: as configured */
};

/* 0: go on. OPTIONS_E_DONE: --help or --version was answered on standard output. OPTIONS_E_USAGE:
 * told on standard error what is wrong. `names` has room for argc pointers and lives as long as
 * the options. */
enum { OPTIONS_E_DONE = 1, OPTIONS_E_USAGE };
MUST_CHECK int options_parse(int argc, char **argv, const char **names, struct options *ret);
