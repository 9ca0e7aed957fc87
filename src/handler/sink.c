/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The buffer that pieces of a payload are written to.
 */
#include "sink.h"

#include <inttypes.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Enough for most entries. */
#define SMALLEST 512

static bool reserve(struct sink *sink, size_t more) {
    if (sink->failed)
        return false;
    if (sink->allocated - sink->size >= more)
        return true;

    size_t wanted = sink->size + more + sink->size / 2;
    if (wanted < SMALLEST)
        wanted = SMALLEST;
    char *data = realloc(sink->data, wanted);
    if (!data) {
        sink->failed = true;
        return false;
    }
    sink->data = data;
    sink->allocated = wanted;
    return true;
}

void sink_put(struct sink *sink, const void *data, size_t size) {
    if (size == 0 || !reserve(sink, size))
        return;
    memcpy(sink->data + sink->size, data, size);
    sink->size += size;
}

void sink_text(struct sink *sink, const char *text) {
    sink_put(sink, text, strlen(text));
}

void sink_number(struct sink *sink, uint64_t number) {
    char text[24];

    (void)snprintf(text, sizeof(text), "%" PRIu64, number);
    sink_text(sink, text);
}

static int put_dumped(const char *data, size_t size, void *sink) {
    sink_put(sink, data, size);
    return ((struct sink *)sink)->failed ? -1 : 0;
}

/* What JSON has as it is: most strings. */
static bool json_is_plain(struct blob from) {
    for (size_t i = 0; i < from.size; i++) {
        unsigned char c = (unsigned char)from.data[i];

        if (c < 0x20 || c == '"' || c == '\\')
            return false;
    }
    return true;
}

/* jansson writes the string with its quotes, which are taken away again. */
void sink_json(struct sink *sink, struct blob from) {
    size_t before = sink->size;

    if (json_is_plain(from)) {
        sink_put(sink, from.data, from.size);
        return;
    }
    json_t *string = json_stringn_nocheck(from.data, from.size);
    if (!string || json_dump_callback(string, put_dumped, sink, JSON_ENCODE_ANY) < 0)
        sink->failed = true;
    json_decref(string);
    if (sink->failed)
        return;
    sink->size -= 2;
    memmove(sink->data + before, sink->data + before + 1, sink->size - before);
}

void sink_base64(struct sink *sink, struct blob from) {
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    const unsigned char *p = (const unsigned char *)from.data;

    if (!reserve(sink, (from.size + 2) / 3 * 4))
        return;
    for (size_t left = from.size; left > 0;) {
        size_t n = left < 3 ? left : 3;
        uint32_t bits = (uint32_t)p[0] << 16;

        if (n > 1)
            bits |= (uint32_t)p[1] << 8;
        if (n > 2)
            bits |= p[2];
        const char group[4] = {
            digits[bits >> 18],
            digits[bits >> 12 & 63],
            (char)(n > 1 ? digits[bits >> 6 & 63] : '='),
            (char)(n > 2 ? digits[bits & 63] : '='),
        };
        sink_put(sink, group, sizeof(group));
        p += n;
        left -= n;
    }
}

void sink_clear(struct sink *sink) {
    free(sink->data);
    *sink = (struct sink){0};
}
