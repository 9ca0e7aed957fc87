/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Commands as lists of words.
 */
#include "request.h"

#include <assert.h>
#include <errno.h>
#include <hiredis.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int request_init(struct request *request, size_t max) {
    *request = (struct request){.max = max};
    request->words = calloc(max, sizeof(*request->words));
    request->sizes = calloc(max, sizeof(*request->sizes));
    request->texts = calloc(max, sizeof(*request->texts));
    return request->words && request->sizes && request->texts ? 0 : -ENOMEM;
}

void request_done(struct request *request) {
    free(request->words);
    free(request->sizes);
    free(request->texts);
    *request = (struct request){0};
}

static void add(struct request *request, const char *word, size_t size) {
    assert(request->n < request->max);
    request->words[request->n] = word;
    request->sizes[request->n] = size;
    request->n++;
}

static char *text_here(struct request *request) {
    assert(request->n < request->max);
    return request->texts[request->n];
}

void request_word(struct request *request, const char *word) {
    add(request, word, strlen(word));
}

void request_number(struct request *request, uint64_t number) {
    char *text = text_here(request);
    int size = snprintf(text, ENTRY_ID_TEXT_MAX, "%" PRIu64, number);
    add(request, text, (size_t)size);
}

void request_duration(struct request *request, usec_t duration) {
    request_number(request, duration / USEC_PER_MSEC + (duration % USEC_PER_MSEC != 0));
}

void request_id(struct request *request, struct entry_id id) {
    char *text = text_here(request);
    add(request, text, entry_id_format(id, text));
}

void request_id_after(struct request *request, struct entry_id id) {
    char *text = text_here(request);
    text[0] = '(';
    add(request, text, 1 + entry_id_format(id, text + 1));
}

void request_ids(struct request *request, const struct entry_id *ids, size_t n) {
    for (size_t i = 0; i < n; i++)
        request_id(request, ids[i]);
}

int request_format(const struct request *request, char **ret, size_t *ret_size) {
    char *text = NULL;

    int size = (int)redisFormatCommandArgv(&text, (int)request->n, request->words, request->sizes);
    if (size < 0)
        return -ENOMEM;
    *ret = text;
    *ret_size = (size_t)size;
    return 0;
}

void request_text_free(char *text) {
    if (text)
        redisFreeCommand(text);
}
