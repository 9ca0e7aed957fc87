/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A growing buffer. A failed allocation sticks, so that only the end looks.
 */
#pragma once

#include "base/text.h"

struct sink {
    char *data;
    size_t size;
    size_t allocated;
    bool failed;
};

void sink_put(struct sink *sink, const void *data, size_t size);
void sink_text(struct sink *sink, const char *text);
void sink_number(struct sink *sink, uint64_t number);
/* The inside of a JSON string, without its quotes. from: whole UTF-8 characters. */
void sink_json(struct sink *sink, struct blob from);
/* from: a multiple of three bytes, unless nothing follows. */
void sink_base64(struct sink *sink, struct blob from);
void sink_clear(struct sink *sink);
