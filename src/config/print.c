/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The effective configuration and the sample file, both row by row from the table.
 */
#include "config/config.h"

#include "draft.h"
#include "ini.h"
#include "schema.h"
#include <errno.h>
#include <string.h>

#define HELP_COLUMNS 92

static int finish(FILE *out) {
    return fflush(out) == 0 && !ferror(out) ? 0 : -EIO;
}

/* --- the effective configuration ------------------------------------------------------------- */

/* Keys that mean nothing to a recovery's handler are left out: they would not be read back. */

/* Between key and value: never a blank before a semicolon, and no more than fits. */
static const char *equals(const char *key, const char *value) {
    if (strlen(key) + 3 + strlen(value) > ini_line_max())
        return "=";
    return value[0] == ';' ? " =" : " = ";
}

/* How much of the value goes into a line of `room` bytes: up to a single blank behind which
 * the next line may begin. 0: not even the first word fits. */
static size_t fit(const char *value, size_t room) {
    size_t n = strlen(value), best = 0;

    if (n <= room)
        return n;
    for (size_t i = 1; i <= room && i + 1 < n; i++)
        if (value[i] == ' ' && !strchr(" \t", value[i - 1]) && !strchr(" \t;#", value[i + 1]))
            best = i;
    return best;
}

/* Over as many indented lines as it takes; they are read back joined with one blank. */
static void print_continued(FILE *out, const char *key, const char *value) {
    size_t used = fit(value, ini_line_max() - strlen(key) - 3);

    fprintf(out, "%s =%s%.*s\n", key, used > 0 ? " " : "", (int)used, value);
    value += used;
    while (*value != '\0') {
        value += strspn(value, " ");
        /* A word that was read from one line fits into one with the least indentation. */
        used = fit(value, ini_line_max() - 4);
        const char *indent = used > 0 ? "    " : " ";
        if (used == 0)
            used = fit(value, ini_line_max() - 1);
        if (used == 0)
            used = strlen(value);
        fprintf(out, "%s%.*s\n", indent, (int)used, value);
        value += used;
    }
}

static void print_draft(FILE *out, const struct draft *draft) {
    size_t n;
    const struct row *rows = schema_rows(draft->kind, &n);

    fprintf(out, "[%s]\n", draft->title);
    for (size_t i = 0; i < n; i++) {
        char buf[VALUE_TEXT_MAX];
        const char *value = schema_format(&rows[i], draft, buf);

        if (!schema_applies(&rows[i], draft))
            continue;
        if (rows[i].flags & ROW_CONTINUES)
            print_continued(out, rows[i].key, value);
        else if (*value == '\0')
            fprintf(out, "%s =\n", rows[i].key);
        else
            fprintf(out, "%s%s%s\n", rows[i].key, equals(rows[i].key, value), value);
    }
}

int config_print(const struct config *config, FILE *out) {
    for (int kind = 0; kind < _SECTION_MAX; kind++)
        for (const struct draft *draft = draft_first(config->memory, (enum section_kind)kind);
             draft; draft = draft->next) {
            if (kind != SECTION_DAEMON)
                fputc('\n', out);
            print_draft(out, draft);
        }
    return finish(out);
}

/* --- the sample file ------------------------------------------------------------------------- */

/* Wraps text into comment lines. */
static void print_comment(FILE *out, const char *text) {
    size_t column = 0;

    while (*text != '\0') {
        size_t n = strcspn(text, " ");

        if (column > 0 && column + 1 + n > HELP_COLUMNS) {
            fputc('\n', out);
            column = 0;
        }
        column += (size_t)fprintf(out, "%s%.*s", column == 0 ? "# " : " ", (int)n, text);
        text += n;
        text += strspn(text, " ");
    }
    fputc('\n', out);
}

static void print_sample_row(FILE *out, const struct row *row) {
    char accepted[ACCEPTED_MAX], line[ACCEPTED_MAX + 32];

    fputc('\n', out);
    print_comment(out, row->help);
    (void)snprintf(line, sizeof(line), "%sAccepted: %s.", row->fallback ? "" : "Required. ",
                   schema_accepted(row, accepted));
    print_comment(out, line);
    if (row->fallback && *row->fallback != '\0')
        fprintf(out, "#%s = %s\n", row->key, row->fallback);
    else
        fprintf(out, "#%s =\n", row->key);
}

static void print_sample_section(FILE *out, enum section_kind kind, const char *header,
                                 const char *help) {
    size_t n;
    const struct row *rows = schema_rows(kind, &n);

    fputc('\n', out);
    print_comment(out, help);
    fprintf(out, "%s\n", header);
    for (size_t i = 0; i < n; i++)
        print_sample_row(out, &rows[i]);
}

int config_print_sample(FILE *out) {
    print_comment(out, "Configuration of xautoclaimd, every key at its default.");
    fputs("#\n", out);
    print_comment(out, "Files in xautoclaimd.conf.d/ beside this one whose names end in .conf are "
                       "read after it, in byte order; a key given there replaces the one here. "
                       "Others must not be able to write these files or that directory.");
    fputs("#\n", out);
    print_comment(out, "A line is a [section], key = value, or a comment, which begins with # or "
                       "; and stands on a line of its own. Blanks around a value are dropped, "
                       "quotes are kept. A line has at most 198 bytes; url and command may go on "
                       "in indented lines. Durations need a unit: ms, s, m, h, d. A section may "
                       "come again and then goes on; a key may be given once a file. Check a "
                       "changed file with: xautoclaimd --check");
    print_sample_section(out, SECTION_DAEMON, "[daemon]", "The daemon itself.");
    print_sample_section(out, SECTION_REDIS, "[redis]",
                         "The server. More servers: [redis NAME], NAME being at most 40 letters, "
                         "digits and . _ : -");
    print_sample_section(out, SECTION_RECOVERY, "#[recovery NAME]",
                         "One stream and consumer group whose stranded entries are recovered; a "
                         "section for each.");
    return finish(out);
}
