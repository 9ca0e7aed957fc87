/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The words of one command while it is put together. Words are borrowed unless they are
 * numbers or IDs, which are written into the request's own memory.
 *
 *   CLEANUP(request_done) struct request request;
 *   int r = request_init(&request, words);
 *
 * There is room for as many words as were asked for at init; more is a bug of ours.
 */
#pragma once

#include "base/clock.h"
#include "base/entry_id.h"
#include "base/error.h"
#include <stddef.h>

struct request {
    const char **words;
    size_t *sizes;
    char (*texts)[ENTRY_ID_TEXT_MAX + 1]; /* one for each word, used or not */
    size_t n;
    size_t max;
};

/* 0 or -ENOMEM. */
MUST_CHECK int request_init(struct request *request, size_t max);
void request_done(struct request *request);

void request_word(struct request *request, const char *word);
void request_number(struct request *request, uint64_t number);
/* In whole milliseconds, rounded up: a claim must not come earlier than was asked for. */
void request_duration(struct request *request, usec_t duration);
void request_id(struct request *request, struct entry_id id);
/* "(ID": behind it. */
void request_id_after(struct request *request, struct entry_id id);
void request_ids(struct request *request, const struct entry_id *ids, size_t n);

/* Formatted for the wire; to be freed with request_text_free(). 0 or -ENOMEM. */
MUST_CHECK int request_format(const struct request *request, char **ret, size_t *ret_size);
void request_text_free(char *text);
