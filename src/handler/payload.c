/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Payloads are written string by string into one buffer, which is made large enough at first
 * for all that needs no escaping. A large value is copied twice (into jansson's string, then
 * here), never as part of a larger tree.
 */
#include "payload.h"

#include <errno.h>
#include <inttypes.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The growing buffer. A failed allocation sticks, so that only the end looks. */
struct sink {
    char *data;
    size_t size;
    size_t allocated;
    bool failed;
};

enum {
    SINK_SLACK = 512,
    PER_STRING = 32, /* quotes, brackets and commas, or a length line */
};

static bool sink_reserve(struct sink *sink, size_t more) {
    if (sink->failed)
        return false;
    if (sink->allocated - sink->size >= more)
        return true;

    size_t wanted = sink->size + more + sink->size / 2;
    char *data = realloc(sink->data, wanted);
    if (!data) {
        sink->failed = true;
        return false;
    }
    sink->data = data;
    sink->allocated = wanted;
    return true;
}

static void put(struct sink *sink, const void *data, size_t size) {
    if (size == 0 || !sink_reserve(sink, size))
        return;
    memcpy(sink->data + sink->size, data, size);
    sink->size += size;
}

static void put_text(struct sink *sink, const char *text) {
    put(sink, text, strlen(text));
}

static void put_number(struct sink *sink, uint64_t number) {
    char text[24];

    (void)snprintf(text, sizeof(text), "%" PRIu64, number);
    put_text(sink, text);
}

static struct blob blob_of(const char *text) {
    return (struct blob){.data = text, .size = strlen(text)};
}

/* --- json ------------------------------------------------------------------------------------ */

static void put_base64(struct sink *sink, struct blob from) {
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    const unsigned char *p = (const unsigned char *)from.data;

    if (!sink_reserve(sink, (from.size + 2) / 3 * 4))
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
            n > 1 ? digits[bits >> 6 & 63] : '=',
            n > 2 ? digits[bits & 63] : '=',
        };
        put(sink, group, sizeof(group));
        p += n;
        left -= n;
    }
}

static int put_dumped(const char *data, size_t size, void *sink) {
    put(sink, data, size);
    return ((struct sink *)sink)->failed ? -1 : 0;
}

static void put_json_string(struct sink *sink, struct blob from) {
    if (!text_is_utf8(from)) {
        put_text(sink, "{\"base64\":\"");
        put_base64(sink, from);
        put_text(sink, "\"}");
        return;
    }
    json_t *string = json_stringn_nocheck(from.size > 0 ? from.data : "", from.size);
    if (!string || json_dump_callback(string, put_dumped, sink, JSON_ENCODE_ANY) < 0)
        sink->failed = true;
    json_decref(string);
}

static void put_json_member(struct sink *sink, const char *before, const char *value) {
    put_text(sink, before);
    put_json_string(sink, blob_of(value));
}

static void put_json(struct sink *sink, const struct recovery_settings *settings,
                     const struct entry *entry, const char *id, uint64_t deliveries) {
    put_json_member(sink, "{\"recovery\":", settings->name);
    put_json_member(sink, ",\"stream\":", settings->stream);
    put_json_member(sink, ",\"group\":", settings->group);
    put_json_member(sink, ",\"id\":", id);
    put_text(sink, ",\"deliveries\":");
    put_number(sink, deliveries);
    put_text(sink, ",\"fields\":[");
    for (size_t i = 0; i + 1 < entry->n_strings; i += 2) {
        put_text(sink, i == 0 ? "[" : ",[");
        put_json_string(sink, entry->strings[i]);
        put_text(sink, ",");
        put_json_string(sink, entry->strings[i + 1]);
        put_text(sink, "]");
    }
    put_text(sink, "]}\n");
}

/* --- resp ------------------------------------------------------------------------------------ */

static void put_resp_head(struct sink *sink, const char *type, size_t number) {
    put_text(sink, type);
    put_number(sink, number);
    put_text(sink, "\r\n");
}

static void put_resp_string(struct sink *sink, struct blob from) {
    put_resp_head(sink, "$", from.size);
    put(sink, from.data, from.size);
    put_text(sink, "\r\n");
}

static void put_resp(struct sink *sink, const struct entry *entry, const char *id) {
    put_resp_head(sink, "*", 2);
    put_resp_string(sink, blob_of(id));
    put_resp_head(sink, "*", entry->n_strings);
    for (size_t i = 0; i < entry->n_strings; i++)
        put_resp_string(sink, entry->strings[i]);
}

/* --- all ------------------------------------------------------------------------------------- */

static size_t size_guess(const struct entry *entry) {
    size_t size = SINK_SLACK;

    for (size_t i = 0; i < entry->n_strings; i++)
        size += entry->strings[i].size + PER_STRING;
    return size;
}

int payload_build(const struct recovery_settings *settings, const struct entry *entry,
                  uint64_t deliveries, struct payload *ret) {
    struct sink sink = {0};
    char id[ENTRY_ID_TEXT_MAX];

    (void)entry_id_format(entry->id, id);
    (void)sink_reserve(&sink, settings->payload == PAYLOAD_ID ? sizeof(id) : size_guess(entry));
    switch (settings->payload) {
    case PAYLOAD_JSON:
        put_json(&sink, settings, entry, id, deliveries);
        break;
    case PAYLOAD_RESP:
        put_resp(&sink, entry, id);
        break;
    case PAYLOAD_ID:
        put_text(&sink, id);
        put_text(&sink, "\n");
        break;
    }
    if (sink.failed) {
        free(sink.data);
        return -ENOMEM;
    }
    *ret = (struct payload){.data = sink.data, .size = sink.size};
    return 0;
}

void payload_clear(struct payload *payload) {
    free(payload->data);
    *payload = (struct payload){0};
}
