/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A reload: the files are read into a fresh configuration, which comes into force only if all of it
 * is good. Otherwise nothing has happened, but that it is told.
 */
#include "inside.h"

#include "report/log.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Lines that one answer holds; the journal has all. */
#define LINES_MAX 100

struct hearing {
    struct daemon *daemon;
    FILE *out; /* NULL: nobody listens */
    unsigned lines;
    char where[WHERE_MAX]; /* of the first error */
};

static void write_line(struct hearing *hearing, const char *line) {
    if (!hearing->out || ++hearing->lines > LINES_MAX)
        return;
    if (hearing->lines == LINES_MAX)
        line = "more of them are in the journal";
    (void)fprintf(hearing->out, "%s\n", line);
}

/* "file:line" of "file:line: [section] key: sentence". */
static void keep_place(struct hearing *hearing, const char *line) {
    if (hearing->where[0] == '\0')
        (void)snprintf(hearing->where, sizeof(hearing->where), "%.*s", (int)strcspn(line, " ") - 1,
                       line);
}

static void hear(void *data, const char *line) {
    struct hearing *hearing = data;

    if (strncmp(line, "warning: ", 9) == 0) {
        report_config_warning(line);
    } else {
        report_config_error(line);
        keep_place(hearing, line);
    }
    write_line(hearing, line);
}

static void fail(struct hearing *hearing) {
    struct daemon *d = hearing->daemon;

    (void)snprintf(d->reload_failed, sizeof(d->reload_failed), "%s", hearing->where);
    report_reload_failed(hearing->where);
}

static void fail_because(struct hearing *hearing, const char *where, const char *why) {
    char line[WHERE_MAX + CONTROL_WHY_MAX + 2];

    (void)snprintf(hearing->where, sizeof(hearing->where), "%s", where);
    (void)snprintf(line, sizeof(line), "%s: %s", where, why);
    report_config_error(line);
    write_line(hearing, line);
    fail(hearing);
}

/* What can still be refused comes first. */
static bool adopt(struct hearing *hearing, struct edition *edition) {
    struct daemon *d = hearing->daemon;
    const struct daemon_settings *settings = &edition->config->daemon;
    struct report_reload count;
    char why[CONTROL_WHY_MAX];

    if (!commands_move(d, settings->control_socket, why)) {
        fail_because(hearing, "[daemon] control_socket", why);
        edition_leave(edition);
        return false;
    }
    log_set_level(d->options->log_level >= 0 ? d->options->log_level : settings->log_level);
    slots_resize(d->slots, settings->max_handlers, settings->max_body_bytes);
    members_adopt(d, edition, &count);
    d->reload_failed[0] = '\0';
    report_reloaded(&count);
    if (hearing->out)
        (void)fprintf(hearing->out, "reloaded: %zu unchanged, %zu changed, %zu removed, %zu new\n",
                      count.unchanged, count.changed, count.removed, count.added);
    return true;
}

static bool read_and_adopt(struct hearing *hearing) {
    struct config *config = NULL;
    struct edition *edition;
    int error = config_load(hearing->daemon->source, hear, hearing, &config);

    if (error == 0)
        error = edition_new(config, &edition);
    if (error == CONFIG_E_INVALID)
        fail(hearing);
    else if (error < 0)
        fail_because(hearing, hearing->daemon->source->path, strerror(-error));
    else
        return adopt(hearing, edition);
    return false;
}

bool reload(struct daemon *d, FILE *out) {
    struct hearing hearing = {.daemon = d, .out = out};
    bool done;

    if (d->stopping) {
        write_line(&hearing, "the daemon is stopping");
        return false;
    }
    notify_reloading("reloading the configuration");
    done = read_and_adopt(&hearing);
    status_ready(d);
    return done;
}
