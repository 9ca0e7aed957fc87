/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * One stream entry as it was read: its ID and its field names and values in turn, exactly in
 * the order of the server. The strings are borrowed from the reply they came in.
 */
#pragma once

#include "base/entry_id.h"
#include "base/text.h"

struct entry {
    struct entry_id id;
    const struct blob *strings; /* name, value, name, value, ... */
    size_t n_strings;           /* even; 0 where no body was read */
};
