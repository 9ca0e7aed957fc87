/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * How errors and warnings are worded and counted: "file:line: [section] key: sentence".
 * Every part of the line is printable. Running out of memory while wording one is kept and
 * comes out of config_load() as -ENOMEM.
 */
#pragma once

#include "base/error.h"
#include "config/config.h"

struct complaints {
    config_complain call;
    void *data;
    unsigned errors;
    int error; /* 0, or the negative errno that ends the load */
};

/* Where in the files: parts that do not apply are NULL or 0. All printable. */
struct place {
    const char *file;
    unsigned line;
    const char *section; /* without the brackets */
    const char *key;
};

void complain(struct complaints *complaints, struct place place, const char *format, ...)
    PRINTF_LIKE(3, 4);
void complain_warning(struct complaints *complaints, struct place place, const char *format, ...)
    PRINTF_LIKE(3, 4);

/* The sentence of a value that was refused, filled in by whoever refused it:
 * "what is wrong; accepted: what is accepted". */
#define WHY_MAX 400
enum { VALUE_E_BAD = 1 };

/* Fills in the sentence; returns VALUE_E_BAD. */
int why_bad(char why[WHY_MAX], const char *format, ...) PRINTF_LIKE(2, 3);

/* A piece of foreign text for a sentence: printable, cut to a reasonable length. */
#define SHOWN_MAX 64
const char *shown(const char *text, char buf[SHOWN_MAX]);
