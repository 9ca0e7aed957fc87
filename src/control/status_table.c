/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The status for people: a line that says how it is, a table of the recoveries, one of the servers.
 * Columns are as wide as what stands in them; a column in which nothing ever happened is left out.
 */
#include "control/status.h"

#include "base/text.h"
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define CELL_MAX 96
#define COLUMNS_MAX 18

struct table {
    const char *heads[COLUMNS_MAX];
    bool right[COLUMNS_MAX]; /* numbers */
    size_t widths[COLUMNS_MAX];
    size_t n_columns;
    size_t n_rows;
    char (*cells)[COLUMNS_MAX][CELL_MAX];
};

/* --- words ----------------------------------------------------------------------------------- */

/* Short, two units at most: "850ms", "12s", "3m 20s", "5h 12m", "12d 4h". */
static const char *format_age(usec_t age, char buf[CELL_MAX]) {
    usec_t s = age / USEC_PER_SEC;

    if (age == USEC_INFINITY)
        return "-";
    if (s < 60)
        (void)snprintf(buf, CELL_MAX, "%" PRIu64 "s", s);
    else if (s < 3600)
        (void)snprintf(buf, CELL_MAX, "%" PRIu64 "m %" PRIu64 "s", s / 60, s % 60);
    else if (s < 86400)
        (void)snprintf(buf, CELL_MAX, "%" PRIu64 "h %" PRIu64 "m", s / 3600, s / 60 % 60);
    else
        (void)snprintf(buf, CELL_MAX, "%" PRIu64 "d %" PRIu64 "h", s / 86400, s / 3600 % 24);
    return buf;
}

static const char *format_number(uint64_t value, char buf[CELL_MAX]) {
    char digits[24];
    int n = snprintf(digits, sizeof(digits), "%" PRIu64, value);
    char *to = buf;

    for (int i = 0; i < n; i++) {
        *to++ = digits[i];
        if (i + 1 < n && (n - i) % 3 == 1)
            *to++ = ',';
    }
    *to = '\0';
    return buf;
}

static const char *format_last_pass(const struct status_recovery *r, char buf[CELL_MAX]) {
    char ago[CELL_MAX];

    if (r->last_pass == USEC_INFINITY)
        return "-";
    (void)snprintf(buf, CELL_MAX, "%" PRIu64 " claimed, %" PRIu64 " acked, %s ago",
                   r->last[STATUS_CLAIMED], r->last[STATUS_ACKED], format_age(r->last_pass, ago));
    return buf;
}

static const char *format_held(const struct status_recovery *r, char buf[CELL_MAX]) {
    if (r->running == 0)
        return format_number(r->held, buf);
    (void)snprintf(buf, CELL_MAX, "%" PRIu64 " (%" PRIu64 " run)", r->held, r->running);
    return buf;
}

static const char *format_next(const struct status_recovery *r, char buf[CELL_MAX]) {
    return strcmp(r->state, "scanning") == 0 ? "now" : format_age(r->next_scan, buf);
}

/* --- tables ---------------------------------------------------------------------------------- */

/* In columns of a terminal, near enough: characters, not bytes. */
static size_t width(const char *text) {
    size_t n = 0;

    for (; *text != '\0'; text++)
        n += ((unsigned char)*text & 0xc0) != 0x80;
    return n;
}

static void put_head(struct table *table, const char *head, bool right) {
    table->heads[table->n_columns] = head;
    table->widths[table->n_columns] = width(head);
    table->right[table->n_columns++] = right;
}

static void put(struct table *table, size_t row, size_t column, const char *text) {
    char *cell = table->cells[row][column];
    size_t n;

    (void)snprintf(cell, CELL_MAX, "%s", text);
    n = width(cell);
    if (n > table->widths[column])
        table->widths[column] = n;
}

static void print_cell(const struct table *table, size_t column, const char *text, FILE *out) {
    int pad = (int)(table->widths[column] - width(text));
    bool last = column + 1 == table->n_columns;

    if (table->right[column])
        (void)fprintf(out, "%*s%s", pad, "", text);
    else
        (void)fprintf(out, "%s%*s", text, last ? 0 : pad, "");
    (void)fputs(last ? "\n" : "  ", out);
}

static void print_table(const struct table *table, FILE *out) {
    for (size_t i = 0; i < table->n_columns; i++)
        print_cell(table, i, table->heads[i], out);
    for (size_t row = 0; row < table->n_rows; row++)
        for (size_t i = 0; i < table->n_columns; i++)
            print_cell(table, i, table->cells[row][i], out);
}

/* --- recoveries ------------------------------------------------------------------------------ */

/* Totals that are shown only where there is something to show. */
static const struct {
    enum status_number number;
    const char *head;
    bool always;
} totals[] = {
    {STATUS_CLAIMED, "CLAIMED", true},
    {STATUS_ACKED, "ACKED", true},
    {STATUS_FAILED, "FAILED", true},
    {STATUS_REJECTED, "REJECTED", false},
    {STATUS_EXHAUSTED, "EXHAUSTED", false},
    {STATUS_DEAD_LETTERED, "DEAD", false},
    {STATUS_MISSING, "MISSING", false},
    {STATUS_LOST, "LOST", false},
    {STATUS_DELETED, "DELETED", false},
    {STATUS_MOVED, "MOVED", false},
    {STATUS_HANDED_OVER, "HANDED OVER", false},
};
#define N_TOTALS (sizeof(totals) / sizeof(totals[0]))

static bool is_shown(const struct control_status *status, size_t total) {
    for (size_t i = 0; i < status->n_recoveries; i++)
        if (status->recoveries[i].total[totals[total].number] > 0)
            return true;
    return totals[total].always;
}

static void put_recovery(struct table *table, size_t row, const struct control_status *status) {
    const struct status_recovery *r = &status->recoveries[row];
    char buf[CELL_MAX];
    size_t column = 0;

    put(table, row, column++, r->name);
    put(table, row, column++, r->state);
    put(table, row, column++, format_number(r->pending, buf));
    put(table, row, column++, format_age(r->oldest, buf));
    put(table, row, column++, format_held(r, buf));
    put(table, row, column++, format_last_pass(r, buf));
    put(table, row, column++, format_next(r, buf));
    for (size_t i = 0; i < N_TOTALS; i++)
        if (is_shown(status, i))
            put(table, row, column++, format_number(r->total[totals[i].number], buf));
}

static void print_recoveries(const struct control_status *status, FILE *out) {
    struct table table = {.n_rows = status->n_recoveries};

    table.cells = calloc(status->n_recoveries, sizeof(*table.cells));
    if (!table.cells)
        return;
    put_head(&table, "RECOVERY", false);
    put_head(&table, "STATE", false);
    put_head(&table, "PENDING", true);
    put_head(&table, "OLDEST", true);
    put_head(&table, "HELD", true);
    put_head(&table, "LAST PASS", false);
    put_head(&table, "NEXT", true);
    for (size_t i = 0; i < N_TOTALS; i++)
        if (is_shown(status, i))
            put_head(&table, totals[i].head, true);
    for (size_t row = 0; row < status->n_recoveries; row++)
        put_recovery(&table, row, status);
    print_table(&table, out);
    free(table.cells);
    for (size_t i = 0; i < status->n_recoveries; i++)
        if (status->recoveries[i].trouble[0] != '\0')
            (void)fprintf(out, "%s: %s\n", status->recoveries[i].name,
                          status->recoveries[i].trouble);
}

/* --- servers --------------------------------------------------------------------------------- */

static void print_servers(const struct control_status *status, FILE *out) {
    struct table table = {.n_rows = status->n_servers};
    char buf[CELL_MAX];

    table.cells = calloc(status->n_servers, sizeof(*table.cells));
    if (!table.cells)
        return;
    put_head(&table, "REDIS", false);
    put_head(&table, "ADDRESS", false);
    put_head(&table, "RECOVERIES", true);
    put_head(&table, "STATE", false);
    for (size_t row = 0; row < status->n_servers; row++) {
        const struct status_server *s = &status->servers[row];
        char state[CELL_MAX];

        put(&table, row, 0, s->name[0] != '\0' ? s->name : "-");
        put(&table, row, 1, s->address);
        put(&table, row, 2, format_number(s->recoveries, buf));
        (void)snprintf(state, sizeof(state), "%s%s%s", s->state, s->trouble[0] != '\0' ? ": " : "",
                       s->trouble);
        put(&table, row, 3, state);
    }
    print_table(&table, out);
    free(table.cells);
}

void status_print(const struct control_status *status, FILE *out) {
    char up[CELL_MAX];

    (void)fprintf(out, "xautoclaimd %s, process %" PRIu64 ", up %s\n%s\n", status->version,
                  status->pid, format_age(status->up, up), status->sentence);
    if (status->n_recoveries > 0) {
        (void)fputc('\n', out);
        print_recoveries(status, out);
    }
    if (status->n_servers > 0) {
        (void)fputc('\n', out);
        print_servers(status, out);
    }
}

void status_print_line(const struct status_recovery *r, FILE *out) {
    (void)fprintf(out, "%s %s pending=%" PRIu64 " held=%" PRIu64 " running=%" PRIu64, r->name,
                  r->state, r->pending, r->held, r->running);
    for (size_t i = 0; i < N_TOTALS; i++)
        (void)fprintf(out, " %s=%" PRIu64, status_number_to_string(totals[i].number),
                      r->total[totals[i].number]);
    (void)fprintf(out, "%s%s\n", r->trouble[0] != '\0' ? " trouble: " : "", r->trouble);
}
