/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * INI syntax, read with inih, line by line and with line numbers.
 *
 * inih cuts what it does not like without a word: long lines, text after " ;", what follows a
 * section header, NUL. Every line is therefore looked at before inih gets it, and what would be
 * cut is refused instead. Lines that were refused are not handed on; reading goes on behind
 * them, so that all errors of a file are found.
 *
 * Accepted: UTF-8, with or without a byte order mark; LF or CR LF; comments on lines of their
 * own, begun with ; or #; "[section]"; "key = value" or "key : value" (the first = or : counts),
 * blanks around both dropped, quotes kept; indented lines, which continue the key above.
 */
#pragma once

#include "base/error.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

struct ini_events {
    void (*section)(void *data, unsigned line, const char *name);
    void (*key)(void *data, unsigned line, const char *key, const char *value);
    /* An indented line below a key. */
    void (*more)(void *data, unsigned line, const char *value);
    /* A refused line: a sentence without any of the line's text. more: an indented one. */
    void (*bad)(void *data, unsigned line, bool more, const char *why);
};

/* 0 at the end of the file, refused lines or not; a negative errno where it could not be read. */
MUST_CHECK int ini_read(FILE *file, const struct ini_events *events, void *data);

/* The longest line that is accepted, in bytes. */
size_t ini_line_max(void);
