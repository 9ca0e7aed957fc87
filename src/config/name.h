/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The NAME of [redis NAME] and [recovery NAME].
 */
#pragma once

#include <stdbool.h>
#include <string.h>

#define NAME_MAX_BYTES 40
#define NAME_ACCEPTED "a NAME of at most 40 letters, digits and . _ : -"

static inline bool name_is_valid(const char *name) {
    static const char accepted[] = "abcdefghijklmnopqrstuvwxyz"
                                   "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
                                   "0123456789._:-";
    size_t n = strspn(name, accepted);

    return n > 0 && n <= NAME_MAX_BYTES && name[n] == '\0';
}
