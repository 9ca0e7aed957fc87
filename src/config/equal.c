/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What a reload wants to know of two configurations: is a section the same? Row by row from the
 * table, so that a new key is never forgotten. Pure.
 */
#include "config/config.h"

#include "draft.h"
#include "schema.h"
#include <string.h>

/* A time-out that follows the recoveries is the same wherever they lead it. */
static bool both_follow(const struct row *row, const struct draft *a, const struct draft *b) {
    return a->kind == SECTION_REDIS && strcmp(row->key, "command_timeout") == 0 &&
           a->redis.command_timeout_auto && b->redis.command_timeout_auto;
}

static bool section_equal(const struct config *a, const struct config *b, enum section_kind kind,
                          const char *name) {
    const struct draft *x = draft_find(a->memory, kind, name);
    const struct draft *y = draft_find(b->memory, kind, name);
    size_t n;
    const struct row *rows = schema_rows(kind, &n);

    if (!x || !y)
        return false;
    for (size_t i = 0; i < n; i++)
        if (!schema_equal(&rows[i], x, y) && !both_follow(&rows[i], x, y))
            return false;
    return true;
}

bool config_recovery_equal(const struct config *a, const struct config *b, const char *name) {
    return section_equal(a, b, SECTION_RECOVERY, name);
}

bool config_redis_equal(const struct config *a, const struct config *b, const char *name) {
    return section_equal(a, b, SECTION_REDIS, name);
}
