/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The only file that knows inih. Our reader feeds it line by line: it counts the lines, refuses
 * those that inih would cut, and remembers what kind of line is being parsed, since inih tells
 * its handler neither the number of a line nor that a section began.
 */
#include "ini.h"

#include "base/text.h"
#include <ctype.h>
#include <errno.h>
#include <ini.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

/* What inih's buffer holds as it is packaged, besides the newline and the NUL. */
#define LINE_MAX_BYTES 198

enum line_kind { LINE_NOTHING, LINE_SECTION, LINE_KEY, LINE_MORE, LINE_REFUSED };

struct reader {
    FILE *file;
    const struct ini_events *events;
    void *data;
    char *text; /* getline()'s buffer */
    size_t capacity;
    unsigned line;
    enum line_kind kind; /* of this line */
    enum line_kind last; /* of the last line that was not indented, blank or a comment */
    bool indented;       /* this line is */
    bool placed;         /* there has been a section header */
    bool astray;         /* the last header was refused: its keys have no place */
    bool refused;        /* any line so far */
    bool pending;        /* inih has this line and has not called back yet */
    size_t limit;        /* bytes a line may have */
    char why[160];
    int error;
};

size_t ini_line_max(void) {
    return LINE_MAX_BYTES;
}

static enum line_kind refuse(struct reader *reader, const char *why) {
    reader->refused = true;
    reader->events->bad(reader->data, reader->line, reader->indented, why);
    return LINE_REFUSED;
}

/* inih takes a blank and a semicolon for the end of the value. */
static bool has_inline_comment(const char *text) {
    for (const char *at = text; *at != '\0'; at++)
        if (*at == ';' && at > text && isspace((unsigned char)at[-1]))
            return true;
    return false;
}

static enum line_kind judge_section(struct reader *reader, char *text) {
    char *end = strchr(text, ']');

    reader->placed = true;
    reader->astray = true;
    if (!end)
        return refuse(reader, "a section header without the closing ]");
    if (end[1] != '\0')
        return refuse(reader, "text after the ] of a section header");
    reader->astray = false;
    *end = '\0';
    reader->events->section(reader->data, reader->line, text + 1);
    *end = ']';
    return LINE_SECTION;
}

static enum line_kind judge_indented(struct reader *reader) {
    if (reader->last == LINE_KEY)
        return LINE_MORE;
    if (reader->last == LINE_REFUSED)
        return LINE_NOTHING;
    return refuse(reader, "an indented line continues the key above it, and here is none; "
                          "accepted: the same line without blanks before it");
}

/* What would be cut, or is not text at all. NULL: nothing is wrong. */
static const char *find_fault(struct reader *reader, const char *text, size_t size) {
    if (memchr(text, '\0', size))
        return "a NUL byte; accepted: text in UTF-8";
    if (!text_is_utf8((struct blob){text, size}))
        return "not UTF-8; accepted: text in UTF-8";
    if (size > reader->limit) {
        (void)snprintf(reader->why, sizeof(reader->why),
                       "longer than %zu bytes; accepted: shorter lines (url and command may go on "
                       "in indented lines)",
                       reader->limit);
        return reader->why;
    }
    if (has_inline_comment(text))
        return "a blank and a semicolon begin a comment, which would cut this line; accepted: a "
               "comment on a line of its own, or the semicolon without a blank before it";
    return NULL;
}

/* text: the line without its end and the blanks there. */
static enum line_kind judge(struct reader *reader, char *text, size_t size) {
    size_t blanks = strspn(text, " \t\v\f\r");
    reader->indented = blanks > 0;
    bool comment = text[blanks] == ';' || text[blanks] == '#';

    if (comment || size == 0)
        return memchr(text, '\0', size) ? refuse(reader, find_fault(reader, text, size))
                                        : LINE_NOTHING;

    const char *fault = find_fault(reader, text, size);
    if (!fault && reader->indented)
        return judge_indented(reader);
    if (!fault && text[0] == '[')
        return judge_section(reader, text);
    if (fault && text[0] == '[')
        reader->placed = reader->astray = true;
    if (fault)
        return refuse(reader, fault);
    if (!reader->placed)
        return refuse(reader, "a key outside any section; accepted: a [section] line before it");
    return reader->astray ? LINE_REFUSED : LINE_KEY;
}

/* The line before this one was handed over; inih calls back for every key. */
static void settle(struct reader *reader) {
    if (!reader->pending)
        return;
    reader->pending = false;
    reader->last = refuse(reader, "neither a [section] nor key = value");
}

static size_t trim(const char *text, size_t size) {
    while (size > 0 && isspace((unsigned char)text[size - 1]))
        size--;
    return size;
}

static char *next_line(char *out, int out_size, void *stream) {
    struct reader *reader = stream;

    settle(reader);
    errno = 0;
    ssize_t n = getline(&reader->text, &reader->capacity, reader->file);
    if (n < 0) {
        if (!feof(reader->file))
            reader->error = errno != 0 ? -errno : -EIO;
        return NULL;
    }
    char *text = reader->text;
    size_t size = trim(text, (size_t)n);
    text[size] = '\0';
    if (++reader->line == 1 && size >= 3 && memcmp(text, "\xef\xbb\xbf", 3) == 0) {
        text += 3;
        size -= 3;
    }
    /* A library that was built with a smaller buffer. */
    if ((size_t)out_size - 2 < reader->limit)
        reader->limit = (size_t)out_size - 2;
    reader->kind = judge(reader, text, size);
    if (reader->kind != LINE_NOTHING && !reader->indented)
        reader->last = reader->kind;
    reader->pending = reader->kind == LINE_KEY || reader->kind == LINE_MORE;

    bool handed = reader->pending || reader->kind == LINE_SECTION;
    (void)snprintf(out, (size_t)out_size, "%s\n", handed ? text : "");
    return out;
}

static int on_key(void *user, const char *section, const char *key, const char *value) {
    struct reader *reader = user;

    if (!reader->pending || !key || !value)
        return 1;
    reader->pending = false;
    if (reader->kind == LINE_MORE)
        reader->events->more(reader->data, reader->line, value);
    else if (*key == '\0')
        reader->last = refuse(reader, "no key before the =; accepted: key = value");
    else
        reader->events->key(reader->data, reader->line, key, value);
    return 1;
}

int ini_read(FILE *file, const struct ini_events *events, void *data) {
    struct reader reader = {.file = file, .events = events, .data = data, .limit = LINE_MAX_BYTES};
    int r = ini_parse_stream(next_line, &reader, on_key, &reader);

    settle(&reader);
    free(reader.text);
    if (reader.error < 0)
        return reader.error;
    if (r < 0)
        return -ENOMEM;
    /* It found fault with a line that looked good to us: never pass over that. */
    if (r > 0 && !reader.refused) {
        reader.line = (unsigned)r;
        (void)refuse(&reader, "refused by the INI parser");
    }
    return 0;
}
