/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What a server says in words: its greeting and its errors. Of the words of an error only the
 * first leaves this file, and only if it looks like an error code: what follows may repeat
 * what we sent, a password with it.
 */
#include "reply.h"

#include <hiredis.h>
#include <string.h>
#include <strings.h>

/* --- HELLO ----------------------------------------------------------------------------------- */

static bool equals(const redisReply *reply, const char *text) {
    return reply && reply->type == REDIS_REPLY_STRING && reply->str &&
           (size_t)reply->len == strlen(text) && memcmp(reply->str, text, (size_t)reply->len) == 0;
}

static bool is_word_byte(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '.' ||
           c == '-' || c == '_';
}

/* Left as it is where the value is no short word. */
static void copy_word(const redisReply *reply, char buf[REPLY_HELLO_TEXT_MAX]) {
    if (!reply || reply->type != REDIS_REPLY_STRING || !reply->str)
        return;
    size_t size = (size_t)reply->len;
    if (size >= REPLY_HELLO_TEXT_MAX)
        return;
    for (size_t i = 0; i < size; i++)
        if (!is_word_byte(reply->str[i]))
            return;
    memcpy(buf, reply->str, size);
    buf[size] = '\0';
}

int reply_hello(const redisReply *reply, struct reply_hello *ret) {
    struct reply_hello hello = {0};

    if (!reply || reply->type != REDIS_REPLY_ARRAY || reply->elements % 2 != 0)
        return REPLY_E_SHAPE;
    for (size_t i = 0; i + 1 < reply->elements; i += 2) {
        const redisReply *name = reply->element[i], *value = reply->element[i + 1];
        if (equals(name, "server"))
            copy_word(value, hello.brand);
        else if (equals(name, "version"))
            copy_word(value, hello.version);
        else if (equals(name, "role"))
            hello.replica = equals(value, "replica") || equals(value, "slave");
    }
    *ret = hello;
    return 0;
}

/* --- scripts --------------------------------------------------------------------------------- */

int reply_dead_letter(const redisReply *reply, enum dead_letter_result *ret, uint64_t *ret_acked) {
    static const char *const words[_DEAD_LETTER_MAX] = {
        [DEAD_LETTER_COPIED] = "copied",       [DEAD_LETTER_GONE] = "gone",
        [DEAD_LETTER_LOST] = "lost",           [DEAD_LETTER_MISSING] = "missing",
        [DEAD_LETTER_TOO_LARGE] = "too-large",
    };

    if (!reply || reply->type != REDIS_REPLY_ARRAY || reply->elements != 2 ||
        reply_count(reply->element[1], ret_acked) != 0)
        return REPLY_E_SHAPE;
    for (size_t i = 0; i < _DEAD_LETTER_MAX; i++)
        if (equals(reply->element[0], words[i])) {
            *ret = (enum dead_letter_result)i;
            return 0;
        }
    return REPLY_E_SHAPE;
}

/* --- errors ---------------------------------------------------------------------------------- */

static const struct {
    const char *word;
    enum redis_error error;
} error_words[] = {
    {"NOGROUP", REDIS_ERROR_NOGROUP},       {"WRONGTYPE", REDIS_ERROR_WRONGTYPE},
    {"NOPERM", REDIS_ERROR_NOPERM},         {"NOAUTH", REDIS_ERROR_AUTH},
    {"WRONGPASS", REDIS_ERROR_AUTH},        {"LOADING", REDIS_ERROR_TRANSIENT},
    {"BUSY", REDIS_ERROR_TRANSIENT},        {"MASTERDOWN", REDIS_ERROR_TRANSIENT},
    {"CLUSTERDOWN", REDIS_ERROR_TRANSIENT}, {"MISCONF", REDIS_ERROR_TRANSIENT},
    {"NOREPLICAS", REDIS_ERROR_TRANSIENT},  {"TRYAGAIN", REDIS_ERROR_TRANSIENT},
    {"READONLY", REDIS_ERROR_READONLY},     {"MOVED", REDIS_ERROR_REDIRECT},
    {"ASK", REDIS_ERROR_REDIRECT},          {"OOM", REDIS_ERROR_OOM},
};

static bool is_code_byte(char c) {
    return (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '-';
}

static bool copy_code(const char *text, size_t size, char word[REDIS_ERROR_WORD_MAX]) {
    if (size == 0 || size >= REDIS_ERROR_WORD_MAX || text[0] < 'A' || text[0] > 'Z')
        return false;
    for (size_t i = 0; i < size; i++)
        if (!is_code_byte(text[i]))
            return false;
    memcpy(word, text, size);
    word[size] = '\0';
    return true;
}

static bool begins_with(const char *text, size_t size, const char *prefix) {
    size_t n = strlen(prefix);
    return size >= n && strncasecmp(text, prefix, n) == 0;
}

/* A command that a script may not call has no code of its own. */
static bool is_refused_to_script(const char *text, size_t size) {
    static const char old[] = "The user executing the script can't "; /* before Redis 7.2 */
    static const char new[] = "ACL failure in script: ";

    return memmem(text, size, old, strlen(old)) || memmem(text, size, new, strlen(new));
}

/* Redis 6.2 puts the place in the script before what it refuses to it: "@user_script: 37: -OOM
 * ...". How many bytes that are. */
static size_t place_in_script(const char *text, size_t size) {
    static const char before[] = "@user_script: ", after[] = ": -";
    size_t at = strlen(before);

    if (!begins_with(text, size, before))
        return 0;
    while (at < size && text[at] >= '0' && text[at] <= '9')
        at++;
    if (at == strlen(before) || !begins_with(text + at, size - at, after))
        return 0;
    return at + strlen(after);
}

enum redis_error reply_error_text(const char *text, size_t size, char word[REDIS_ERROR_WORD_MAX]) {
    size_t place = place_in_script(text, size);

    text += place;
    size -= place;
    const char *blank = memchr(text, ' ', size);
    size_t first = blank ? (size_t)(blank - text) : size;

    word[0] = '\0';
    if (is_refused_to_script(text, size)) {
        (void)strcpy(word, "NOPERM");
        return REDIS_ERROR_NOPERM;
    }
    if (!copy_code(text, first, word))
        return REDIS_ERROR_OTHER;
    for (size_t i = 0; i < sizeof(error_words) / sizeof(error_words[0]); i++)
        if (strcmp(word, error_words[i].word) == 0)
            return error_words[i].error;
    if (begins_with(text, size, "ERR unknown command"))
        return REDIS_ERROR_UNKNOWN_COMMAND;
    return REDIS_ERROR_OTHER;
}

enum redis_error reply_error(const redisReply *reply, char word[REDIS_ERROR_WORD_MAX]) {
    word[0] = '\0';
    if (!reply || reply->type != REDIS_REPLY_ERROR)
        return REDIS_ERROR_NONE;
    return reply->str ? reply_error_text(reply->str, (size_t)reply->len, word) : REDIS_ERROR_OTHER;
}

bool reply_is_too_many_clients(const redisReply *reply) {
    return reply && reply->type == REDIS_REPLY_ERROR && reply->str &&
           begins_with(reply->str, (size_t)reply->len, "ERR max number of clients");
}
