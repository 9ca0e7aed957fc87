/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Values of the rows: from text and back, with the sentence for what is refused.
 */
#include "address.h"
#include "base/text.h"
#include "command.h"
#include "consumer.h"
#include "name.h"
#include "schema.h"
#include "url.h"
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

static void *member(struct draft *draft, const struct row *row) {
    return (char *)draft + row->offset;
}

static const char *duration_accepted(const struct row *row, char *buf) {
    char min[VALUE_TEXT_MAX], max[VALUE_TEXT_MAX];

    text_format_duration(row->min, min, sizeof(min));
    text_format_duration(row->max, max, sizeof(max));
    (void)snprintf(buf, ACCEPTED_MAX, "a duration from %s to %s, such as 500ms, 60s or 1h 30m%s",
                   min, max, row->flags & ROW_AUTO ? ", or auto" : "");
    return buf;
}

static const char *size_accepted(const struct row *row, char *buf) {
    char min[VALUE_TEXT_MAX], max[VALUE_TEXT_MAX];

    text_format_size(row->min, min, sizeof(min));
    text_format_size(row->max, max, sizeof(max));
    (void)snprintf(buf, ACCEPTED_MAX, "a size from %s to %s, such as 1M or 1G", min, max);
    return buf;
}

static const char *choice_accepted(const struct row *row, char *buf) {
    size_t used = 0;

    buf[0] = '\0';
    for (const struct choice *choice = row->choices; choice->name; choice++)
        if (choice->value != CHOICE_NOT_BUILT && used < ACCEPTED_MAX)
            used += (size_t)snprintf(buf + used, ACCEPTED_MAX - used, "%s%s", used > 0 ? ", " : "",
                                     choice->name);
    return buf;
}

const char *schema_accepted(const struct row *row, char buf[ACCEPTED_MAX]) {
    switch (row->type) {
    case VALUE_DURATION:
        return duration_accepted(row, buf);
    case VALUE_SIZE:
        return size_accepted(row, buf);
    case VALUE_NUMBER:
        (void)snprintf(buf, ACCEPTED_MAX, "a number from %" PRIu64 " to %" PRIu64 "%s", row->min,
                       row->max, row->flags & ROW_AUTO ? ", or auto" : "");
        return buf;
    case VALUE_CHOICE:
        return choice_accepted(row, buf);
    case VALUE_TEXT:
        return row->fallback ? "text without control characters"
                             : "text without control characters, not empty";
    case VALUE_REDIS_NAME:
        return "empty, or " NAME_ACCEPTED;
    case VALUE_URLS:
        return URLS_ACCEPTED;
    case VALUE_CONSUMER:
        return CONSUMER_ACCEPTED;
    case VALUE_COMMAND:
        return COMMAND_ACCEPTED;
    case VALUE_PASSWORD_FILE:
        return "an absolute path, or a bare name in $CREDENTIALS_DIRECTORY";
    case VALUE_SOCKET_PATH:
        return "an absolute path of at most " SOCKET_PATH_MAX_TEXT " bytes, auto, or off";
    case VALUE_ADDRESS:
        return ADDRESS_ACCEPTED;
    case _VALUE_TYPE_MAX:
        break;
    }
    return "";
}

/* The sentence for a value of which `what` is wrong. */
static int bad(const struct row *row, const char *text, const char *what, char why[WHY_MAX]) {
    char accepted[ACCEPTED_MAX], value[SHOWN_MAX];

    return why_bad(why, "\"%s\" %s; accepted: %s", shown(text, value), what,
                   schema_accepted(row, accepted));
}

static int parse_number(const struct row *row, const char *text, uint64_t *ret, char why[WHY_MAX]) {
    uint64_t value = 0;
    int r;

    if ((row->flags & ROW_AUTO) && strcmp(text, "auto") == 0) {
        *ret = VALUE_AUTO;
        return 0;
    }
    if (row->type == VALUE_DURATION)
        r = text_parse_duration(text, &value);
    else if (row->type == VALUE_SIZE)
        r = text_parse_size(text, &value);
    else
        r = text_parse_u64(text, &value);
    if (r == TEXT_E_UNIT)
        return bad(row, text, "has no unit", why);
    if (r == TEXT_E_RANGE || (r == 0 && value > row->max))
        return bad(row, text, "is too large", why);
    if (r == 0 && value < row->min)
        return bad(row, text, "is too small", why);
    if (r != 0)
        return bad(row, text,
                   row->type == VALUE_DURATION ? "is not a duration"
                   : row->type == VALUE_SIZE   ? "is not a size"
                                               : "is not a number",
                   why);
    *ret = value;
    return 0;
}

static int parse_choice(const struct row *row, const char *text, int *ret, char why[WHY_MAX]) {
    for (const struct choice *choice = row->choices; choice->name; choice++) {
        if (strcmp(choice->name, text) != 0)
            continue;
        if (choice->value == CHOICE_NOT_BUILT)
            return bad(row, text, "is not built yet", why);
        *ret = choice->value;
        return 0;
    }
    return bad(row, text, "is not known", why);
}

static int check_password_file(const struct row *row, const char *text, char why[WHY_MAX]) {
    char accepted[ACCEPTED_MAX];

    if (text[0] == '/' || (!strchr(text, '/') && strcmp(text, ".") != 0 && strcmp(text, "..") != 0))
        return 0;
    return why_bad(why, "neither an absolute path nor a bare name; accepted: %s",
                   schema_accepted(row, accepted));
}

static bool is_socket_path(const char *text) {
    return strcmp(text, "auto") == 0 || strcmp(text, "off") == 0 ||
           (text[0] == '/' && strlen(text) <= SOCKET_PATH_MAX);
}

/* Checks of the values that are kept as text. */
static int check_text(const struct row *row, const char *text, struct config_memory *memory,
                      char why[WHY_MAX]) {
    struct server_list servers;
    const struct local_address *address;
    char *const *argv;

    if (*text == '\0' && !row->fallback)
        return why_bad(why, "must not be empty");
    switch (row->type) {
    case VALUE_TEXT:
        return 0;
    case VALUE_REDIS_NAME:
        return *text == '\0' || name_is_valid(text) ? 0 : bad(row, text, "is not a NAME", why);
    case VALUE_URLS:
        return urls_parse(text, memory, &servers, why);
    case VALUE_CONSUMER:
        return consumer_check(text, why);
    case VALUE_COMMAND:
        return *text == '\0' ? 0 : command_split(text, memory, &argv, why);
    case VALUE_PASSWORD_FILE:
        return check_password_file(row, text, why);
    case VALUE_SOCKET_PATH:
        return is_socket_path(text) ? 0 : bad(row, text, "is not such a path", why);
    case VALUE_ADDRESS:
        return *text == '\0' ? 0 : address_parse(text, memory, &address, why);
    case VALUE_DURATION:
    case VALUE_SIZE:
    case VALUE_NUMBER:
    case VALUE_CHOICE:
    case _VALUE_TYPE_MAX:
        break;
    }
    return -EINVAL;
}

static int parse_text(const struct row *row, const char *text, struct config_memory *memory,
                      struct draft *draft, char why[WHY_MAX]) {
    int r = check_text(row, text, memory, why);
    const char *copy = r == 0 ? memory_copy(memory, text) : NULL;

    if (r == 0 && !copy)
        return -ENOMEM;
    if (r == 0)
        *(const char **)member(draft, row) = copy;
    return r;
}

/* Tabs may stand between the words of what is split. */
static bool has_control(const struct row *row, const char *text) {
    if (!(row->flags & ROW_CONTINUES))
        return text_has_control(text);
    for (; *text != '\0'; text++)
        if (((unsigned char)*text < 0x20 && *text != '\t') || *text == 0x7f)
            return true;
    return false;
}

int schema_parse(const struct row *row, const char *text, struct config_memory *memory,
                 struct draft *draft, char why[WHY_MAX]) {
    if (has_control(row, text))
        return why_bad(why, "holds a control character; accepted: text without them");
    switch (row->type) {
    case VALUE_DURATION:
    case VALUE_SIZE:
    case VALUE_NUMBER:
        return parse_number(row, text, member(draft, row), why);
    case VALUE_CHOICE:
        return parse_choice(row, text, member(draft, row), why);
    case VALUE_TEXT:
    case VALUE_REDIS_NAME:
    case VALUE_URLS:
    case VALUE_CONSUMER:
    case VALUE_COMMAND:
    case VALUE_PASSWORD_FILE:
    case VALUE_SOCKET_PATH:
    case VALUE_ADDRESS:
        return parse_text(row, text, memory, draft, why);
    case _VALUE_TYPE_MAX:
        break;
    }
    return -EINVAL;
}

bool schema_equal(const struct row *row, const struct draft *a, const struct draft *b) {
    const void *x = (const char *)a + row->offset, *y = (const char *)b + row->offset;

    if (row->type == VALUE_CHOICE)
        return *(const int *)x == *(const int *)y;
    if (row->type > VALUE_CHOICE)
        return strcmp(*(const char *const *)x, *(const char *const *)y) == 0;
    return *(const uint64_t *)x == *(const uint64_t *)y;
}

static const char *format_choice(const struct row *row, int value) {
    for (const struct choice *choice = row->choices; choice->name; choice++)
        if (choice->value == value)
            return choice->name;
    return "";
}

const char *schema_format(const struct row *row, const struct draft *draft,
                          char buf[VALUE_TEXT_MAX]) {
    const void *at = (const char *)draft + row->offset;

    if (row->type == VALUE_CHOICE)
        return format_choice(row, *(const int *)at);
    if (row->type > VALUE_CHOICE)
        return *(const char *const *)at;
    if ((row->flags & ROW_AUTO) && *(const uint64_t *)at == VALUE_AUTO)
        return "auto";
    if (row->type == VALUE_DURATION)
        text_format_duration(*(const usec_t *)at, buf, VALUE_TEXT_MAX);
    else if (row->type == VALUE_SIZE)
        text_format_size(*(const uint64_t *)at, buf, VALUE_TEXT_MAX);
    else
        (void)snprintf(buf, VALUE_TEXT_MAX, "%" PRIu64, *(const uint64_t *)at);
    return buf;
}
