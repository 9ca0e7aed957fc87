/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Writes the manual page of the configuration to standard output: the page that is given, its
 * part between the two marks written anew from the table of keys.
 *
 *   <build>/tests/support/print-manual <page >new && mv new page
 *
 * (page: docs/man/xautoclaimd.conf.5.scd)
 */
#include "config/schema.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#define COLUMNS 96
#define BEGIN "; From here on written by print-manual from the table of keys.\n"
#define END "; To here.\n"

/* What means something to scdoc is taken literally. */
static size_t put_word(const char *word, size_t n) {
    size_t columns = 0;

    for (size_t i = 0; i < n; i++) {
        if (strchr("\\*_<>#|[]~`", word[i]))
            columns += (size_t)printf("\\");
        columns += (size_t)printf("%c", word[i]);
    }
    return columns;
}

static void put_paragraph(const char *indent, const char *text) {
    size_t column = 0;

    while (*text != '\0') {
        size_t n = strcspn(text, " ");

        if (column > 0 && column + 1 + n > COLUMNS) {
            printf("\n");
            column = 0;
        }
        column += (size_t)printf("%s", column == 0 ? indent : " ");
        column += put_word(text, n);
        text += n;
        text += strspn(text, " ");
    }
    printf("\n");
}

static void put_row(const struct row *row) {
    char accepted[ACCEPTED_MAX], line[ACCEPTED_MAX + 128];

    printf("*");
    (void)put_word(row->key, strlen(row->key));
    printf("*\n");
    put_paragraph("\t", row->help);
    printf("\n");
    (void)snprintf(line, sizeof(line), "Accepted: %s. %s%s.", schema_accepted(row, accepted),
                   !row->fallback        ? "Required"
                   : *row->fallback == 0 ? "Default: empty"
                                         : "Default: ",
                   row->fallback ? row->fallback : "");
    put_paragraph("\t", line);
    printf("\n");
}

static void put_section(enum section_kind kind, const char *title, const char *help) {
    size_t n;
    const struct row *rows = schema_rows(kind, &n);

    printf("# %s\n\n", title);
    put_paragraph("", help);
    printf("\n");
    for (size_t i = 0; i < n; i++)
        put_row(&rows[i]);
}

static void put_table(void) {
    put_section(SECTION_DAEMON, "[daemon]", "The daemon itself.");
    put_section(SECTION_REDIS, "[redis] and [redis NAME]",
                "A server. NAME is at most 40 letters, digits and . _ : -");
    put_section(SECTION_RECOVERY, "[recovery NAME]",
                "One stream and consumer group whose stranded entries are recovered; a section for "
                "each.");
}

int main(void) {
    char line[4096];
    bool inside = false;
    int marks = 0;

    while (fgets(line, sizeof(line), stdin)) {
        if (strcmp(line, BEGIN) == 0) {
            marks++;
            inside = true;
            printf("%s\n", BEGIN);
            put_table();
        }
        if (strcmp(line, END) == 0) {
            marks++;
            inside = false;
        }
        if (!inside)
            printf("%s", line);
    }
    if (marks != 2 || inside || fflush(stdout) != 0) {
        fprintf(stderr, "print-manual: the page has not both marks, or cannot be written\n");
        return 1;
    }
    return 0;
}
