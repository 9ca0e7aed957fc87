/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A directory of configuration files, and what loading them says.
 */
#pragma once

#include "config/config.h"
#include "unit.h"

/* The smallest recovery that is complete; six lines. */
#define RECOVERY(name)                                                                             \
    "[recovery " name "]\n"                                                                        \
    "stream = s-" name "\n"                                                                        \
    "group = g\n"                                                                                  \
    "min_idle = 60s\n"                                                                             \
    "handler = exec\n"                                                                             \
    "command = /bin/true\n"

struct test_case {
    char directory[64];
    struct config_source source; /* may be changed before loading */
    char path[128];              /* main.conf */
    struct config *config;       /* NULL: refused */
    int result;
    char said[65536]; /* all complaints, a line each; the directory is left out */
};

int case_begin(void **state);
int case_end(void **state);

/* name: relative, in folders that exist. */
void case_write(struct test_case *self, const char *name, const char *text, size_t size);
void case_load(struct test_case *self);
/* Loads text as main.conf. */
void case_load_text(struct test_case *self, const char *text);

/* Loads text and wants exactly these complaints. */
void case_refuses(struct test_case *self, const char *text, const char *complaints);
void case_accepts(struct test_case *self, const char *text, const char *warnings);

/* What config_print() says, to be freed. */
char *case_print(const struct config *config);
