/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The ID of a stream entry: two unsigned 64-bit numbers, written "ms-seq" by Redis.
 * 16 bytes, compared as a pair, copied by value.
 */
#pragma once

#include "base/error.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct entry_id {
    uint64_t ms;
    uint64_t seq;
};

/* Two numbers of 20 digits, the dash, the final NUL. */
#define ENTRY_ID_TEXT_MAX 42

/* Strict "ms-seq" as a server writes it: digits only, no sign, no blanks, both parts
 * there and in range. false leaves *ret untouched. */
MUST_CHECK bool entry_id_parse(const char *text, size_t size, struct entry_id *ret);

/* Writes "ms-seq" and a NUL; returns the length without the NUL. */
size_t entry_id_format(struct entry_id id, char text[ENTRY_ID_TEXT_MAX]);

/* <0, 0, >0 as a is before, the same as, after b. */
int entry_id_compare(struct entry_id a, struct entry_id b);
