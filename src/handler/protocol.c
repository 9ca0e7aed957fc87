/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Strict: whoever does not keep to the few forms there are is not trusted with anything else.
 */
#include "protocol.h"

#include <string.h>

static const struct {
    const char *word;
    enum protocol_verb verb;
    bool takes_reason;
} verbs[] = {
    {"ok", PROTOCOL_OK, false},
    {"retry", PROTOCOL_RETRY, true},
    {"reject", PROTOCOL_REJECT, true},
    {"working", PROTOCOL_WORKING, false},
};

/* Takes the word up to the next blank, or all; `*rest` is what follows that blank, its data NULL
 * where there is none. */
static struct blob take_word(struct blob *rest) {
    const char *blank = rest->size > 0 ? memchr(rest->data, ' ', rest->size) : NULL;
    struct blob word = *rest;

    if (!blank) {
        *rest = (struct blob){NULL, 0};
        return word;
    }
    word.size = (size_t)(blank - rest->data);
    *rest = (struct blob){blank + 1, rest->size - word.size - 1};
    return word;
}

bool protocol_parse(struct blob line, struct protocol_answer *ret) {
    struct blob rest = line, id = take_word(&rest);

    if (!entry_id_parse(id.data, id.size, &ret->id) || !rest.data)
        return false;
    struct blob word = take_word(&rest);

    for (size_t i = 0; i < sizeof(verbs) / sizeof(verbs[0]); i++) {
        if (word.size != strlen(verbs[i].word) || memcmp(word.data, verbs[i].word, word.size) != 0)
            continue;
        if (rest.data && !verbs[i].takes_reason)
            return false;
        ret->verb = verbs[i].verb;
        if (!rest.data)
            rest.data = "";
        text_printable(rest, ret->reason, sizeof(ret->reason));
        return true;
    }
    return false;
}

static enum protocol_piece whole(struct blob line, struct blob *ret) {
    if (line.size > 0 && line.data[line.size - 1] == '\r')
        line.size--;
    *ret = line;
    return line.size > PROTOCOL_LINE_MAX ? PROTOCOL_TOO_LONG : PROTOCOL_LINE;
}

enum protocol_piece protocol_cut(struct protocol_lines *lines, struct blob *input,
                                 struct blob *ret) {
    const char *newline = input->size > 0 ? memchr(input->data, '\n', input->size) : NULL;
    size_t length = newline ? (size_t)(newline - input->data) : input->size;
    struct blob piece = {.data = input->data, .size = length};

    input->data += length + (newline ? 1 : 0);
    input->size -= length + (newline ? 1 : 0);
    if (newline && lines->size == 0)
        return whole(piece, ret);
    if (length > sizeof(lines->line) - lines->size)
        return PROTOCOL_TOO_LONG;
    if (length > 0)
        memcpy(lines->line + lines->size, piece.data, length);
    lines->size += length;
    if (!newline)
        return PROTOCOL_MORE;
    piece = (struct blob){.data = lines->line, .size = lines->size};
    lines->size = 0;
    return whole(piece, ret);
}
