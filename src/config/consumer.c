/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Expands consumer names.
 */
#include "consumer.h"

#include "base/text.h"
#include <errno.h>
#include <string.h>

int consumer_check(const char *text, char why[WHY_MAX]) {
    char value[SHOWN_MAX];

    if (*text == '\0')
        return why_bad(why, "must not be empty; accepted: %s", CONSUMER_ACCEPTED);
    for (const char *at = strchr(text, '%'); at; at = strchr(at + 2, '%')) {
        if (at[1] != '\0' && strchr("HNi%", at[1]))
            continue;
        return why_bad(why, "\"%s\" has a %% that none of H N i %% follows; accepted: %s",
                       shown(text, value), CONSUMER_ACCEPTED);
    }
    return 0;
}

/* A bounded buffer; what does not fit is remembered. */
struct expansion {
    char text[CONSUMER_MAX + 1];
    size_t size;
    bool overflow;
};

static void append(struct expansion *to, const char *text, size_t size) {
    if (to->overflow || size > CONSUMER_MAX - to->size) {
        to->overflow = true;
        return;
    }
    memcpy(to->text + to->size, text, size);
    to->size += size;
    to->text[to->size] = '\0';
}

static void expand(struct expansion *to, const char *text, const struct specifiers *specifiers) {
    while (*text != '\0') {
        size_t literal = strcspn(text, "%");

        append(to, text, literal);
        text += literal;
        if (*text == '\0')
            return;
        const char *value = text[1] == 'H'   ? specifiers->host
                            : text[1] == 'N' ? specifiers->name
                            : text[1] == 'i' ? specifiers->instance
                                             : "%";
        append(to, value, strlen(value));
        text += 2;
    }
}

/* An INI file cannot hold these, so that the name could not be written down anywhere. */
static bool is_unwritable(const struct expansion *name) {
    return name->text[0] == ' ' || name->text[name->size - 1] == ' ' || strstr(name->text, " ;");
}

static void escape(struct expansion *to, const char *text) {
    for (; *text != '\0'; text++)
        append(to, *text == '%' ? "%%" : text, *text == '%' ? 2 : 1);
}

int consumer_expand(const char *text, const struct specifiers *specifiers,
                    struct config_memory *memory, const char **ret, const char **ret_literal,
                    char why[WHY_MAX]) {
    struct expansion name = {0}, literal = {0};

    expand(&name, text, specifiers);
    escape(&literal, name.text);
    if (name.overflow || literal.overflow)
        return why_bad(why, "too long once expanded; accepted: at most %d bytes, a %% counts twice",
                       CONSUMER_MAX);
    if (name.size == 0)
        return why_bad(why, "expands to an empty name; accepted: %s", CONSUMER_ACCEPTED);
    if (text_has_control(name.text) || !text_is_utf8((struct blob){name.text, name.size}))
        return why_bad(why, "expands to a name with control characters; accepted: names without");
    if (is_unwritable(&name))
        return why_bad(why, "expands to a name with blanks at its ends or before a semicolon; "
                            "accepted: names without");
    const char *copy = memory_copy(memory, name.text);
    const char *literal_copy = memory_copy(memory, literal.text);
    if (!copy || !literal_copy)
        return -ENOMEM;
    *ret = copy;
    *ret_literal = literal_copy;
    return 0;
}
