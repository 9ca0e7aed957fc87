/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Words complaints. The one place that knows their form.
 */
#include "complain.h"

#include "base/cleanup.h"
#include "base/text.h"
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

PRINTF_LIKE(4, 0)
static int write_line(FILE *out, bool warning, const struct place *place, const char *format,
                      va_list args) {
    if (warning)
        fputs("warning: ", out);
    if (place->file)
        fputs(place->file, out);
    if (place->file && place->line > 0)
        fprintf(out, ":%u", place->line);
    if (place->file)
        fputs(": ", out);
    if (place->section)
        fprintf(out, "[%s]%s", place->section, place->key ? " " : ": ");
    if (place->key)
        fprintf(out, "%s: ", place->key);
    vfprintf(out, format, args);
    return fclose(out) == 0 ? 0 : -ENOMEM;
}

PRINTF_LIKE(4, 0)
static void say(struct complaints *complaints, bool warning, const struct place *place,
                const char *format, va_list args) {
    CLEANUP_FREE char *line = NULL;
    size_t size;
    FILE *out = open_memstream(&line, &size);

    if (!out || write_line(out, warning, place, format, args) < 0) {
        complaints->error = -ENOMEM;
        return;
    }
    complaints->call(complaints->data, line);
}

void complain(struct complaints *complaints, struct place place, const char *format, ...) {
    va_list args;

    complaints->errors++;
    va_start(args, format);
    say(complaints, false, &place, format, args);
    va_end(args);
}

void complain_warning(struct complaints *complaints, struct place place, const char *format, ...) {
    va_list args;

    va_start(args, format);
    say(complaints, true, &place, format, args);
    va_end(args);
}

int why_bad(char why[WHY_MAX], const char *format, ...) {
    va_list args;

    va_start(args, format);
    (void)vsnprintf(why, WHY_MAX, format, args);
    va_end(args);
    return VALUE_E_BAD;
}

const char *shown(const char *text, char buf[SHOWN_MAX]) {
    return text_printable((struct blob){text, strlen(text)}, buf, SHOWN_MAX);
}
