/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What is remembered of entries that are not held: those that were rejected, and those whose
 * body is gone while they stay pending. Bounded: when it is full the oldest is forgotten, which
 * costs one more attempt and nothing else. Lost at a restart.
 */
#pragma once

#include "base/entry_id.h"
#include "base/error.h"
#include <stddef.h>

#define MEMORY_MAX 10000

enum memory_what { MEMORY_NOTHING, MEMORY_REJECTED, MEMORY_MISSING };

struct memory {
    struct memory_item *by_id;
};

/* Does nothing where memory is short. */
void memory_put(struct memory *memory, struct entry_id id, enum memory_what what);
enum memory_what memory_get(const struct memory *memory, struct entry_id id);
void memory_clear(struct memory *memory);
