/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The scanner. Nesting needs no stack: an array of n items only means n more items to come.
 */
#include "resp_scan.h"

#include <stdlib.h>
#include <string.h>

static void begin_message(struct resp_scan *scan) {
    bool broken = scan->broken;

    *scan = (struct resp_scan){.missing = 1, .broken = broken};
}

static void begin_string(struct resp_scan *scan, long long size) {
    if (size < 0)
        return;
    scan->skip = size + 2;
    scan->in_word = !scan->has_word;
    scan->has_word = true;
}

static void line_done(struct resp_scan *scan) {
    scan->line[scan->n_line] = '\0';
    long long number = scan->n_line > 1 ? strtoll(scan->line + 1, NULL, 10) : 0;

    scan->missing--;
    switch (scan->line[0]) {
    case '$':
        begin_string(scan, number);
        break;
    case '*':
        scan->missing += number > 0 ? number : 0;
        break;
    case '+':
    case '-':
    case ':':
        break;
    default:
        scan->broken = true;
    }
    scan->n_line = 0;
}

static void take_string_byte(struct resp_scan *scan, char c) {
    scan->skip--;
    if (scan->in_word && scan->skip >= 2 && scan->n_word + 1 < sizeof(scan->word)) {
        scan->word[scan->n_word++] = c;
        scan->word[scan->n_word] = '\0';
    }
    if (scan->skip == 0)
        scan->in_word = false;
}

static void take_line_byte(struct resp_scan *scan, char c) {
    if (c == '\n')
        line_done(scan);
    else if (scan->n_line + 1 < sizeof(scan->line))
        scan->line[scan->n_line++] = c;
}

size_t resp_scan_take(struct resp_scan *scan, const char *bytes, size_t n, bool *ret_end) {
    *ret_end = false;
    for (size_t i = 0; i < n; i++) {
        if (scan->broken)
            return n;
        if (scan->missing == 0 && scan->skip == 0)
            begin_message(scan);
        if (scan->skip > 2 && !scan->in_word) {
            size_t jump = (size_t)scan->skip - 2 < n - i ? (size_t)scan->skip - 2 : n - i;
            scan->skip -= (long long)jump;
            i += jump - 1;
            continue;
        }
        if (scan->skip > 0)
            take_string_byte(scan, bytes[i]);
        else
            take_line_byte(scan, bytes[i]);
        if (scan->missing == 0 && scan->skip == 0 && scan->n_line == 0 && !scan->broken) {
            *ret_end = true;
            return i + 1;
        }
    }
    return n;
}
