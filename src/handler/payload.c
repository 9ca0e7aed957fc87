/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A payload is its head, its strings, its tail, written one step after the other until a chunk
 * is full. A step takes at most a piece of one string.
 */
#include "payload.h"
#include "sink.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum {
    CHUNK = 64 * 1024,
    PIECE = 48 * 1024, /* a multiple of three, for base64 */
    PER_STRING = 32,   /* quotes, brackets and commas, or a length line */
};

enum stage { STAGE_HEAD, STAGE_STRINGS, STAGE_TAIL, STAGE_DONE };

struct payload {
    const struct recovery_settings *settings;
    char id[ENTRY_ID_TEXT_MAX];
    uint64_t deliveries;
    char *bytes;  /* all strings, one after the other */
    size_t *ends; /* where each ends in there */
    size_t n_strings;
    enum stage stage;
    size_t string; /* the next step takes its piece of this one ... */
    size_t offset; /* ... from here on, in bytes */
    bool base64;   /* json: that string is not UTF-8 */
    struct sink chunk;
    size_t taken; /* of the chunk */
};

static struct blob blob_of(const char *text) {
    return (struct blob){.data = text, .size = strlen(text)};
}

static struct blob string_at(const struct payload *p, size_t i) {
    size_t begin = i == 0 ? 0 : p->ends[i - 1];

    return (struct blob){.data = p->bytes + begin, .size = p->ends[i] - begin};
}

/* --- json ------------------------------------------------------------------------------------ */

/* A string that is small for sure: whole. */
static void json_whole(struct sink *sink, struct blob from) {
    if (text_is_utf8(from)) {
        sink_text(sink, "\"");
        sink_json(sink, from);
        sink_text(sink, "\"");
    } else {
        sink_text(sink, "{\"base64\":\"");
        sink_base64(sink, from);
        sink_text(sink, "\"}");
    }
}

static void json_head(struct payload *p) {
    const struct {
        const char *before;
        const char *value;
    } members[] = {
        {"{\"recovery\":", p->settings->name},
        {",\"stream\":", p->settings->stream},
        {",\"group\":", p->settings->group},
        {",\"id\":", p->id},
    };

    for (size_t i = 0; i < sizeof(members) / sizeof(members[0]); i++) {
        sink_text(&p->chunk, members[i].before);
        json_whole(&p->chunk, blob_of(members[i].value));
    }
    sink_text(&p->chunk, ",\"deliveries\":");
    sink_number(&p->chunk, p->deliveries);
    sink_text(&p->chunk, ",\"fields\":[");
}

static void json_begin_string(struct payload *p, struct blob whole) {
    bool is_name = p->string % 2 == 0;

    sink_text(&p->chunk, !is_name ? "," : p->string == 0 ? "[" : ",[");
    p->base64 = !text_is_utf8(whole);
    sink_text(&p->chunk, p->base64 ? "{\"base64\":\"" : "\"");
}

static void json_end_string(struct payload *p) {
    sink_text(&p->chunk, p->base64 ? "\"}" : "\"");
    if (p->string % 2 == 1)
        sink_text(&p->chunk, "]");
}

/* A piece ends between two characters. */
static size_t whole_characters(struct blob piece, size_t left) {
    size_t size = piece.size;

    while (size < left && size > 0 && ((unsigned char)piece.data[size] & 0xc0) == 0x80)
        size--;
    return size;
}

/* --- resp ------------------------------------------------------------------------------------ */

static void resp_line(struct sink *sink, const char *type, size_t number) {
    sink_text(sink, type);
    sink_number(sink, number);
    sink_text(sink, "\r\n");
}

static void resp_head(struct payload *p) {
    struct blob id = blob_of(p->id);

    resp_line(&p->chunk, "*", 2);
    resp_line(&p->chunk, "$", id.size);
    sink_put(&p->chunk, id.data, id.size);
    sink_text(&p->chunk, "\r\n");
    resp_line(&p->chunk, "*", p->n_strings);
}

/* --- steps ----------------------------------------------------------------------------------- */

static void step_head(struct payload *p) {
    switch (p->settings->payload) {
    case PAYLOAD_JSON:
        json_head(p);
        break;
    case PAYLOAD_RESP:
        resp_head(p);
        break;
    case PAYLOAD_ID:
        sink_text(&p->chunk, p->id);
        sink_text(&p->chunk, "\n");
        p->stage = STAGE_DONE;
        return;
    }
    p->stage = p->n_strings > 0 ? STAGE_STRINGS : STAGE_TAIL;
}

static void piece_json(struct payload *p, struct blob whole, struct blob *piece) {
    if (p->offset == 0)
        json_begin_string(p, whole);
    if (p->base64) {
        sink_base64(&p->chunk, *piece);
    } else {
        piece->size = whole_characters(*piece, whole.size - p->offset);
        sink_json(&p->chunk, *piece);
    }
    if (p->offset + piece->size == whole.size)
        json_end_string(p);
}

static void piece_resp(struct payload *p, struct blob whole, const struct blob *piece) {
    if (p->offset == 0)
        resp_line(&p->chunk, "$", whole.size);
    sink_put(&p->chunk, piece->data, piece->size);
    if (p->offset + piece->size == whole.size)
        sink_text(&p->chunk, "\r\n");
}

static void step_string(struct payload *p) {
    struct blob whole = string_at(p, p->string);
    size_t left = whole.size - p->offset;
    struct blob piece = {.data = whole.data + p->offset, .size = left < PIECE ? left : PIECE};

    if (p->settings->payload == PAYLOAD_JSON)
        piece_json(p, whole, &piece);
    else
        piece_resp(p, whole, &piece);
    p->offset += piece.size;
    if (p->offset < whole.size)
        return;
    p->offset = 0;
    if (++p->string == p->n_strings)
        p->stage = STAGE_TAIL;
}

static void step(struct payload *p) {
    switch (p->stage) {
    case STAGE_HEAD:
        step_head(p);
        break;
    case STAGE_STRINGS:
        step_string(p);
        break;
    case STAGE_TAIL:
        if (p->settings->payload == PAYLOAD_JSON)
            sink_text(&p->chunk, "]}\n");
        p->stage = STAGE_DONE;
        break;
    case STAGE_DONE:
        break;
    }
}

/* --- all ------------------------------------------------------------------------------------- */

int payload_next(struct payload *p, struct blob *ret) {
    if (p->taken == p->chunk.size) {
        p->taken = p->chunk.size = 0;
        while (p->chunk.size < CHUNK && p->stage != STAGE_DONE && !p->chunk.failed)
            step(p);
    }
    if (p->chunk.failed)
        return -ENOMEM;
    *ret = (struct blob){.data = p->chunk.data + p->taken, .size = p->chunk.size - p->taken};
    return 0;
}

bool payload_is_last(const struct payload *p) {
    return p->stage == STAGE_DONE;
}

void payload_take(struct payload *p, size_t size) {
    p->taken += size;
}

static int copy_strings(struct payload *p, const struct entry *entry) {
    size_t total = 0;

    for (size_t i = 0; i < entry->n_strings; i++)
        total += entry->strings[i].size;
    p->bytes = malloc(total + 1);
    p->ends = calloc(entry->n_strings + 1, sizeof(*p->ends));
    if (!p->bytes || !p->ends)
        return -ENOMEM;
    total = 0;
    for (size_t i = 0; i < entry->n_strings; i++) {
        if (entry->strings[i].size > 0)
            memcpy(p->bytes + total, entry->strings[i].data, entry->strings[i].size);
        total += entry->strings[i].size;
        p->ends[i] = total;
    }
    p->n_strings = entry->n_strings;
    return 0;
}

int payload_new(const struct recovery_settings *settings, const struct entry *entry,
                uint64_t deliveries, struct payload **ret) {
    struct payload *p = calloc(1, sizeof(*p));

    if (!p)
        return -ENOMEM;
    p->settings = settings;
    p->deliveries = deliveries;
    (void)entry_id_format(entry->id, p->id);
    if (settings->payload != PAYLOAD_ID && copy_strings(p, entry) < 0) {
        payload_free(p);
        return -ENOMEM;
    }
    *ret = p;
    return 0;
}

struct payload *payload_free(struct payload *p) {
    if (!p)
        return NULL;
    sink_clear(&p->chunk);
    free(p->ends);
    free(p->bytes);
    free(p);
    return NULL;
}

size_t payload_size_guess(const struct payload *p) {
    size_t bytes = p->n_strings > 0 ? p->ends[p->n_strings - 1] : 0;

    return bytes + p->n_strings * PER_STRING;
}
