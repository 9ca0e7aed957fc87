/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What is asked for over the control socket, and where that is.
 */
#include "inside.h"

#include <stdlib.h>
#include <string.h>

/* --- one recovery ---------------------------------------------------------------------------- */

static bool is_away(const struct recovery_facts *facts) {
    return facts->trouble[0] != '\0';
}

static bool run_one(struct member *member, FILE *out) {
    const char *name = member->settings->name;
    struct recovery_facts facts;

    recovery_facts(member->recovery, &facts);
    if (member->leaving || facts.state == RECOVERY_DRAINING) {
        (void)fprintf(out, "%s is draining\n", name);
        return false;
    }
    if (facts.state == RECOVERY_PAUSED) {
        (void)fprintf(out, "%s is paused; resume it\n", name);
        return false;
    }
    recovery_run(member->recovery);
    if (facts.state == RECOVERY_SCANNING)
        (void)fprintf(out, "%s: scans already\n", name);
    else if (is_away(&facts))
        (void)fprintf(out, "%s: tried again (%s)\n", name, facts.trouble);
    else
        (void)fprintf(out, "%s: scans now\n", name);
    return true;
}

/* Whoever is about to follow one that leaves inherits its pause. */
static bool pause_one(struct member *member, bool pause, FILE *out) {
    const char *name = member->settings->name;

    if (member->daemon->stopping) {
        (void)fprintf(out, "the daemon is stopping\n");
        return false;
    }
    if (member->leaving && !members_is_wanted(member->daemon, name)) {
        (void)fprintf(out, "%s is draining\n", name);
        return false;
    }
    if (member->leaving)
        member->paused = pause;
    else if (pause)
        recovery_pause(member->recovery);
    else
        recovery_resume(member->recovery);
    (void)fprintf(out, "%s: %s\n", name, pause ? "paused" : "resumed");
    return true;
}

static bool to_member(struct daemon *d, const struct control_request *request, FILE *out) {
    struct member *member = members_find(d, request->name);

    if (!member) {
        (void)fprintf(out,
                      members_is_wanted(d, request->name)
                          ? "%s waits until another one has left the same group\n"
                          : "there is no [recovery %s]\n",
                      request->name);
        return false;
    }
    if (request->verb == CONTROL_RUN)
        return run_one(member, out);
    return pause_one(member, request->verb == CONTROL_PAUSE, out);
}

/* --- requests -------------------------------------------------------------------------------- */

static bool carry_out(void *data, const struct control_request *request, FILE *out) {
    struct daemon *d = data;

    switch (request->verb) {
    case CONTROL_STATUS:
        return snapshot_write(d, out) == 0;
    case CONTROL_RELOAD:
        return reload(d, out);
    case CONTROL_RUN:
    case CONTROL_PAUSE:
    case CONTROL_RESUME:
        return to_member(d, request, out);
    case CONTROL_VERSION:
        (void)fprintf(out, "%s\n", PROJECT_VERSION);
        return true;
    case _CONTROL_VERB_MAX:
        break;
    }
    return false;
}

/* --- where ----------------------------------------------------------------------------------- */

/* A reload comes over the very socket that it may move. */
static void swap(void *data) {
    struct daemon *d = data;

    if (d->control != d->control_next)
        d->control = control_free(d->control);
    d->control = d->control_next;
}

static bool is_at(const struct control *control, const char *path) {
    return control ? path && strcmp(control_path(control), path) == 0 : !path;
}

bool commands_move(struct daemon *d, const char *path, char why[CONTROL_WHY_MAX]) {
    struct control *next = d->control;

    if (is_at(d->control_next, path))
        return true;
    if (!is_at(d->control, path)) {
        next = NULL;
        if (path && control_new(d->loop, path, carry_out, d, &next, why) != 0)
            return false;
    }
    if (d->control_next != d->control)
        control_free(d->control_next);
    d->control_next = next;
    deferred_call(d->control_swap);
    return true;
}

int commands_init(struct daemon *d) {
    const char *path = d->edition->config->daemon.control_socket;
    char why[CONTROL_WHY_MAX];
    int r = deferred_new(d->loop, swap, d, &d->control_swap);

    if (r < 0 || d->options->mode != DAEMON_RUN || !path)
        return r;
    r = control_new(d->loop, path, carry_out, d, &d->control, why);
    if (r > 0) { /* entries can be recovered without it */
        char line[CONTROL_WHY_MAX + 64];

        (void)snprintf(line, sizeof(line), "[daemon] control_socket: %s; going on without it", why);
        report_config_warning(line);
    }
    d->control_next = d->control;
    return r < 0 ? r : 0;
}

void commands_done(struct daemon *d) {
    if (d->control_next != d->control)
        d->control_next = control_free(d->control_next);
    d->control = control_free(d->control);
    d->control_swap = deferred_free(d->control_swap);
}
