/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Finds where one message of the Redis protocol ends in a stream of bytes that comes in pieces
 * of any size. Keeps the first word of a request. Copied by value.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#define RESP_WORD_MAX 32

struct resp_scan {
    long long missing; /* items until the message is complete; 0: between two messages */
    long long skip;    /* bytes of a string, with its line end */
    char line[RESP_WORD_MAX];
    size_t n_line;
    char word[RESP_WORD_MAX]; /* the first string, cut */
    size_t n_word;
    bool in_word;
    bool has_word;
    bool broken; /* this is no such protocol; all that follows is one message */
};

/* Takes bytes up to the end of a message, at most n; gives how many. *ret_end: the message ended
 * with the last of them. */
size_t resp_scan_take(struct resp_scan *scan, const char *bytes, size_t n, bool *ret_end);
