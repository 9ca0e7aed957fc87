/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Pieces of a sentence: small texts returned by value, so that they can stand in the argument
 * list that uses them and are gone after it. All are printable, on one line, bounded.
 */
#pragma once

#include "base/clock.h"
#include "base/entry_id.h"
#include <stddef.h>

#define WORDING_MAX 257

struct wording {
    char text[WORDING_MAX];
};

/* Text that should be printable already (a handler's words, a reason): what is not UTF-8 or is a
 * control byte becomes \xNN, all else stays as it is, so that doing it twice changes nothing. */
struct wording wording_plain(const char *from);
/* The same, into a buffer; what does not fit is cut and ends in "...". Returns the length. */
size_t wording_copy(const char *from, char *buf, size_t size);

/* A name that somebody else chose, cut shorter. */
struct wording wording_name(const char *from);

struct wording wording_id(struct entry_id id);

/* As people say it: "12ms", "1.2s", "2m 5s". */
struct wording wording_duration(usec_t value);

/* "entry" or "entries". */
static inline const char *wording_plural(uint64_t n, const char *one, const char *many) {
    return n == 1 ? one : many;
}
