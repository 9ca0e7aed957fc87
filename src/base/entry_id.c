/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Entry IDs: strict reading, writing, order.
 */
#include "base/entry_id.h"

#include <inttypes.h>
#include <stdio.h>

/* Reads digits from *at up to end; false where there is none or the number is too large. */
static bool digits_parse(const char **at, const char *end, uint64_t *ret) {
    const char *p = *at;
    uint64_t value = 0;

    for (; p < end && *p >= '0' && *p <= '9'; p++)
        if (__builtin_mul_overflow(value, (uint64_t)10, &value) ||
            __builtin_add_overflow(value, (uint64_t)(*p - '0'), &value))
            return false;
    if (p == *at)
        return false;
    *at = p;
    *ret = value;
    return true;
}

bool entry_id_parse(const char *text, size_t size, struct entry_id *ret) {
    const char *at = text, *end = text + size;
    struct entry_id id;

    if (!digits_parse(&at, end, &id.ms) || at == end || *at != '-')
        return false;
    at++;
    if (!digits_parse(&at, end, &id.seq) || at != end)
        return false;
    *ret = id;
    return true;
}

size_t entry_id_format(struct entry_id id, char text[ENTRY_ID_TEXT_MAX]) {
    int n = snprintf(text, ENTRY_ID_TEXT_MAX, "%" PRIu64 "-%" PRIu64, id.ms, id.seq);

    return (size_t)n;
}

int entry_id_compare(struct entry_id a, struct entry_id b) {
    if (a.ms != b.ms)
        return a.ms < b.ms ? -1 : 1;
    if (a.seq != b.seq)
        return a.seq < b.seq ? -1 : 1;
    return 0;
}
