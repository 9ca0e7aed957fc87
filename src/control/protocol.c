/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Requests and heads of answers, to text and back.
 */
#include "control/protocol.h"

#include "base/text.h"
#include <stdio.h>
#include <string.h>

static const struct {
    const char *word;
    bool takes_name;
} verbs[_CONTROL_VERB_MAX] = {
    [CONTROL_STATUS] = {"status", false}, [CONTROL_RELOAD] = {"reload", false},
    [CONTROL_RUN] = {"run", true},        [CONTROL_PAUSE] = {"pause", true},
    [CONTROL_RESUME] = {"resume", true},  [CONTROL_VERSION] = {"version", false},
};

const char *control_verb_to_string(enum control_verb verb) {
    return verbs[verb].word;
}

bool control_verb_takes_name(enum control_verb verb) {
    return verbs[verb].takes_name;
}

static bool same(const char *word, const char *text, size_t size) {
    return strlen(word) == size && memcmp(word, text, size) == 0;
}

static bool find_verb(const char *text, size_t size, enum control_verb *ret) {
    for (int verb = 0; verb < _CONTROL_VERB_MAX; verb++)
        if (same(verbs[verb].word, text, size)) {
            *ret = (enum control_verb)verb;
            return true;
        }
    return false;
}

static bool is_name(const char *text, size_t size) {
    if (size == 0 || size > CONTROL_NAME_MAX)
        return false;
    for (size_t i = 0; i < size; i++)
        if ((unsigned char)text[i] <= ' ' || (unsigned char)text[i] >= 0x7f)
            return false;
    return true;
}

bool control_request_parse(const char *line, size_t size, struct control_request *ret,
                           const char **ret_why) {
    const char *blank = memchr(line, ' ', size);
    size_t word = blank ? (size_t)(blank - line) : size;
    struct control_request request = {.name = ""};

    if (!find_verb(line, word, &request.verb)) {
        *ret_why = "unknown command; accepted: status, reload, run NAME, pause NAME, resume NAME, "
                   "version";
        return false;
    }
    if (!verbs[request.verb].takes_name) {
        *ret_why = "this command takes no argument";
        *ret = request;
        return !blank;
    }
    if (!blank || !is_name(blank + 1, size - word - 1)) {
        *ret_why = "this command takes the NAME of a [recovery NAME]";
        return false;
    }
    memcpy(request.name, blank + 1, size - word - 1);
    *ret = request;
    return true;
}

size_t control_head_format(bool ok, size_t size, char head[CONTROL_HEAD_MAX]) {
    return (size_t)snprintf(head, CONTROL_HEAD_MAX, "%s %zu\n", ok ? "ok" : "error", size);
}

bool control_head_parse(const char *text, size_t size, bool *ret_ok, size_t *ret_head_size,
                        size_t *ret_body_size) {
    const char *end = memchr(text, '\n', size < CONTROL_HEAD_MAX ? size : CONTROL_HEAD_MAX);
    const char *blank = memchr(text, ' ', size);
    char number[CONTROL_HEAD_MAX];
    uint64_t body;

    if (!end || !blank || blank > end)
        return false;
    bool ok = same("ok", text, (size_t)(blank - text));
    if (!ok && !same("error", text, (size_t)(blank - text)))
        return false;
    (void)snprintf(number, sizeof(number), "%.*s", (int)(end - blank - 1), blank + 1);
    if (text_parse_u64(number, &body) != 0 || body > SIZE_MAX / 2)
        return false;
    *ret_ok = ok;
    *ret_head_size = (size_t)(end - text) + 1;
    *ret_body_size = (size_t)body;
    return true;
}
