/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Text as people write it and as logs may show it: strict parsing and formatting of
 * durations, sizes and booleans, and making foreign bytes printable.
 */
#pragma once

#include "base/clock.h"
#include "base/error.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Bytes that somebody else owns; may hold NUL. */
struct blob {
    const char *data;
    size_t size;
};

/* "500ms", "60s", "5m", "1h 30m", "7d": units ms s m h d, at least one, each number with its
 * unit. A bare number is refused (TEXT_E_UNIT), as is everything else that is not wholly
 * understood (TEXT_E_BAD) or too large for usec_t (TEXT_E_RANGE). 0 on success. */
enum { TEXT_E_BAD = 1, TEXT_E_UNIT, TEXT_E_RANGE };
MUST_CHECK int text_parse_duration(const char *text, usec_t *ret);

/* The shortest form that text_parse_duration() reads back to the same value, whole
 * milliseconds: "1h 30m", "500ms", "0s". buf gets at most size bytes with the NUL. */
void text_format_duration(usec_t value, char *buf, size_t size);

/* "1024", "64K", "16M", "1G" (powers of 1024). TEXT_E_BAD, TEXT_E_RANGE. */
MUST_CHECK int text_parse_size(const char *text, uint64_t *ret);
void text_format_size(uint64_t value, char *buf, size_t size);

/* yes/no, true/false, on/off, 1/0, in lower case or capitals. TEXT_E_BAD. */
MUST_CHECK int text_parse_bool(const char *text, bool *ret);

/* A decimal number without sign, blanks or leading '+'. TEXT_E_BAD, TEXT_E_RANGE. */
MUST_CHECK int text_parse_u64(const char *text, uint64_t *ret);

/* Copies at most size - 1 bytes of `from` so that a log or a terminal may show them: control
 * bytes and what is not UTF-8 become \xNN, a backslash is doubled; what does not fit is cut
 * (never in the middle of a character or an escape) and ends in "...". Always NUL-terminated.
 * Returns buf. */
char *text_printable(struct blob from, char *buf, size_t size);

/* True if the bytes are UTF-8 (RFC 3629: no surrogates, no overlong forms, up to U+10FFFF). */
bool text_is_utf8(struct blob from);

/* True if there is a byte below 0x20, or 0x7f. */
bool text_has_control(const char *text);
