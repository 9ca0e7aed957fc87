/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The one sentence of `systemctl status`: how many recoveries, what is wrong with which, what
 * the last pass did, what is held. A change of the state is told at once, numbers every few
 * seconds.
 */
#include "inside.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define STATUS_INTERVAL (5 * USEC_PER_SEC)

struct sentence {
    char *text;
    size_t used;
};

static PRINTF_LIKE(2, 3) void say(struct sentence *s, const char *format, ...) {
    size_t left = NOTIFY_STATUS_MAX + 1 - s->used;
    va_list args;
    int n;

    va_start(args, format);
    n = vsnprintf(s->text + s->used, left, format, args);
    va_end(args);
    if (n > 0)
        s->used += (size_t)n < left ? (size_t)n : left - 1;
}

static void say_count(struct sentence *s, size_t n, const char *what) {
    say(s, "%zu %s%s", n, what, n == 1 ? "y" : "ies");
}

/* "2 waiting (orders: no group "workers")": the first stands for all. */
static void say_troubled(struct sentence *s, const struct recovery_facts *facts, size_t n,
                         bool errors) {
    const struct recovery_facts *first = NULL;
    size_t count = 0;

    for (size_t i = 0; i < n; i++) {
        if (facts[i].trouble[0] == '\0' || facts[i].trouble_is_error != errors)
            continue;
        count++;
        first = first ? first : &facts[i];
    }
    if (!first)
        return;
    say(s, ", %zu %s (", count, errors ? "in error" : "waiting");
    if (first->trouble_is_link)
        say(s, "redis %s: %s", first->settings->redis->addresses[0].text, first->trouble);
    else
        say(s, "%s: %s", first->settings->name, first->trouble);
    say(s, ")");
}

static void say_last_pass(struct sentence *s, const struct recovery_facts *facts, size_t n) {
    const struct recovery_facts *last = NULL;

    for (size_t i = 0; i < n; i++)
        if (facts[i].last_pass_at > (last ? last->last_pass_at : 0))
            last = &facts[i];
    if (!last)
        return;
    say(s, "; last pass %s: %" PRIu64 " claimed, %" PRIu64 " acked", last->settings->name,
        last->last_pass.claimed, last->last_pass.acked);
    if (last->last_pass.moved > 0)
        say(s, ", %" PRIu64 " moved", last->last_pass.moved);
    if (last->last_pass.handed_over > 0)
        say(s, ", %" PRIu64 " handed over", last->last_pass.handed_over);
    if (last->last_pass.failed > 0)
        say(s, ", %" PRIu64 " failed", last->last_pass.failed);
    if (last->last_pass.missing > 0)
        say(s, ", %" PRIu64 " missing", last->last_pass.missing);
    if (last->last_pass.lost > 0)
        say(s, ", %" PRIu64 " lost", last->last_pass.lost);
    if (last->last_pass.deleted > 0)
        say(s, ", %" PRIu64 " deleted", last->last_pass.deleted);
}

/* What a reload has ended and what it will be followed by. */
static void say_draining(struct sentence *s, const struct status_view *view) {
    size_t draining = 0, running = 0;

    for (size_t i = 0; i < view->n; i++)
        if (view->facts[i].state == RECOVERY_DRAINING) {
            draining++;
            running += view->facts[i].running;
        }
    if (draining > 0)
        say(s, ", %zu draining (%zu running handler%s)", draining, running,
            running == 1 ? "" : "s");
}

static void say_paused(struct sentence *s, const struct status_view *view) {
    size_t paused = 0;

    for (size_t i = 0; i < view->n; i++)
        paused += view->facts[i].state == RECOVERY_PAUSED ? 1 : 0;
    if (paused > 0)
        say(s, ", %zu paused", paused);
}

void status_compose(const struct status_view *view, char text[NOTIFY_STATUS_MAX + 1],
                    char state[NOTIFY_STATUS_MAX + 1]) {
    struct sentence s = {.text = text};
    size_t held = 0, running = 0;

    for (size_t i = 0; i < view->n; i++) {
        held += view->facts[i].held;
        running += view->facts[i].running;
    }
    text[0] = '\0';
    if (view->reload_failed && view->reload_failed[0] != '\0')
        say(&s, "reload failed at %s; the old configuration is in force; ", view->reload_failed);
    if (view->configured == 0)
        say(&s, "nothing to do: no [recovery] is configured");
    else
        say_count(&s, view->configured, "recover");
    if (view->stopping)
        say(&s, ", stopping: waiting for %zu running handler%s", running, running == 1 ? "" : "s");
    else
        say_draining(&s, view);
    say_paused(&s, view);
    say_troubled(&s, view->facts, view->n, true);
    say_troubled(&s, view->facts, view->n, false);
    memcpy(state, text, s.used + 1);
    say_last_pass(&s, view->facts, view->n);
    if (held > 0)
        say(&s, "; holding %zu", held);
}

void status_sentence(const struct daemon *d, char text[NOTIFY_STATUS_MAX + 1],
                     char state[NOTIFY_STATUS_MAX + 1]) {
    struct status_view view = {
        .configured = members_count(d), .reload_failed = d->reload_failed, .stopping = d->stopping};
    struct recovery_facts *facts = members_facts(d, &view.n);

    view.facts = facts;
    if (facts) {
        status_compose(&view, text, state);
        free(facts);
    } else {
        (void)snprintf(text, NOTIFY_STATUS_MAX + 1, "out of memory");
        state[0] = '\0';
    }
}

static void remember(struct status *status, const char *text, const char *state) {
    (void)strcpy(status->sent, text);
    (void)strcpy(status->sent_state, state);
    status->sent_at = clock_monotonic();
}

static void tell(void *data) {
    struct daemon *d = data;
    struct status *status = &d->status;
    char text[NOTIFY_STATUS_MAX + 1], state[NOTIFY_STATUS_MAX + 1];
    usec_t now = clock_monotonic();

    status_sentence(d, text, state);
    if (strcmp(text, status->sent) == 0)
        return;
    if (strcmp(state, status->sent_state) == 0 &&
        usec_sub(now, status->sent_at) < STATUS_INTERVAL) {
        if (!timer_armed(status->timer))
            timer_arm(status->timer, STATUS_INTERVAL - usec_sub(now, status->sent_at));
        return;
    }
    remember(status, text, state);
    notify_status(text);
}

void status_ready(struct daemon *d) {
    char text[NOTIFY_STATUS_MAX + 1], state[NOTIFY_STATUS_MAX + 1];

    status_sentence(d, text, state);
    remember(&d->status, text, state);
    notify_ready(text);
}

/* Once a turn, however much has changed in it. */
void status_update(struct daemon *d) {
    if (d->options->mode != DAEMON_ONCE)
        deferred_call(d->status.soon);
}

int status_init(struct daemon *d) {
    int error = timer_new(d->loop, tell, d, &d->status.timer);

    if (error == 0)
        error = deferred_new(d->loop, tell, d, &d->status.soon);
    if (error < 0)
        return error;
    if (d->options->mode == DAEMON_RUN)
        status_ready(d);
    return 0;
}

void status_done(struct daemon *d) {
    d->status.soon = deferred_free(d->status.soon);
    d->status.timer = timer_free(d->status.timer);
}
