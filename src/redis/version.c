/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The table of known faults.
 */
#include "version.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

struct version {
    unsigned long part[3];
};

static const struct fault {
    struct version first;
    struct version last;
    const char *text;
} faults[] = {
    {{{0, 0, 0}}, {{6, 1, 999}}, "no XAUTOCLAIM: Redis 6.2 or newer is needed"},
    {{{6, 2, 0}}, {{6, 2, 1}}, "XAUTOCLAIM with JUSTID raises the delivery counter: use 6.2.2"},
    {{{7, 0, 0}}, {{7, 0, 3}}, "XAUTOCLAIM can overflow the heap (CVE-2022-31144): use 7.0.5"},
    {{{7, 0, 0}}, {{7, 0, 4}}, "XAUTOCLAIM COUNT can overflow (CVE-2022-35951): use 7.0.5"},
    {{{8, 2, 0}}, {{8, 2, 2}}, "XACKDEL can overflow the stack (CVE-2025-62507): use 8.2.3"},
};

static bool parse(const char *text, struct version *ret) {
    struct version version = {{0, 0, 0}};

    for (size_t i = 0; i < 3; i++) {
        char *end = NULL;
        if (*text < '0' || *text > '9')
            return false;
        version.part[i] = strtoul(text, &end, 10);
        text = end;
        if (*text != '.')
            break;
        text++;
    }
    *ret = version;
    return true;
}

static int compare(const struct version *a, const struct version *b) {
    for (size_t i = 0; i < 3; i++)
        if (a->part[i] != b->part[i])
            return a->part[i] < b->part[i] ? -1 : 1;
    return 0;
}

const char *version_fault(const char *brand, const char *version, size_t index) {
    struct version parsed;

    /* Other brands count their versions differently. */
    if (strcmp(brand, "redis") != 0 || !parse(version, &parsed))
        return NULL;
    for (size_t i = 0; i < sizeof(faults) / sizeof(faults[0]); i++) {
        if (compare(&parsed, &faults[i].first) < 0 || compare(&parsed, &faults[i].last) > 0)
            continue;
        if (index-- == 0)
            return faults[i].text;
    }
    return NULL;
}
