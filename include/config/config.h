/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * From text to one struct that never changes afterwards.
 */
#pragma once

#include "base/cleanup.h"
#include "base/error.h"
#include "config/settings.h"
#include <stdio.h>

struct config {
    struct daemon_settings daemon;
    struct redis_settings *redis;
    size_t n_redis;
    struct recovery_settings *recoveries; /* in the order of the files */
    size_t n_recoveries;
    struct config_memory *memory; /* owns every string and array above */
};

/* Called once a complaint with one printable line without newline:
 * "file:line: [section] key: what is wrong, what is accepted" (rules across keys name the line
 * of the key at fault; warnings start with "warning: "). Never holds a secret. */
typedef void (*config_complain)(void *data, const char *line);

struct config_source {
    const char *path;                  /* the main file; its drop-ins are in <path>.d/ */
    const char *instance;              /* %i; NULL: "" */
    const char *credentials_directory; /* NULL: not set */
    const char *runtime_directory;     /* for control_socket = auto; NULL: not set */
    bool check_only; /* a password_file that is a bare name and cannot be looked up is a warning */
};

#define CONFIG_DEFAULT_PATH "/etc/xautoclaimd/xautoclaimd.conf"

/* Reads the file and its drop-ins and checks everything; complains about every error, not only
 * the first. 0 with *ret the caller's; CONFIG_E_INVALID when there was an error; -ENOMEM. */
enum { CONFIG_E_INVALID = 1 };
MUST_CHECK int config_load(const struct config_source *source, config_complain complain, void *data,
                           struct config **ret);
struct config *config_free(struct config *config);
DEFINE_CLEANUP(struct config, config_free)

/* Does [recovery NAME], or [redis NAME], say the same in both? False where one has none. What is
 * compared is what the section says, with every default filled in and every key of the table. */
bool config_recovery_equal(const struct config *a, const struct config *b, const char *name);
bool config_redis_equal(const struct config *a, const struct config *b, const char *name);

/* The effective configuration, every key of every section, as an INI file that config_load()
 * reads back to the same settings. */
MUST_CHECK int config_print(const struct config *config, FILE *out);

/* The sample file: every key at its default with its help, commented out. Generated from the
 * same table that parses; the one in config/ is compared with this by a test. */
MUST_CHECK int config_print_sample(FILE *out);
