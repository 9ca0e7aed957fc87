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

void status_compose(const struct recovery_facts *facts, size_t n, bool stopping,
                    char text[NOTIFY_STATUS_MAX + 1], char state[NOTIFY_STATUS_MAX + 1]) {
    struct sentence s = {.text = text};
    size_t held = 0, running = 0;

    for (size_t i = 0; i < n; i++) {
        held += facts[i].held;
        running += facts[i].running;
    }
    text[0] = '\0';
    if (n == 0)
        say(&s, "nothing to do: no [recovery] is configured");
    else
        say_count(&s, n, "recover");
    if (stopping)
        say(&s, ", stopping: waiting for %zu running handler%s", running, running == 1 ? "" : "s");
    say_troubled(&s, facts, n, true);
    say_troubled(&s, facts, n, false);
    memcpy(state, text, s.used + 1);
    say_last_pass(&s, facts, n);
    if (held > 0)
        say(&s, "; holding %zu", held);
}

void status_update(struct daemon *d) {
    struct status *status = &d->status;
    char text[NOTIFY_STATUS_MAX + 1], state[NOTIFY_STATUS_MAX + 1];
    struct recovery_facts *facts;
    usec_t now = clock_monotonic();

    if (d->options->mode == DAEMON_ONCE)
        return;
    facts = calloc(d->n_members + 1, sizeof(*facts));
    if (!facts)
        return;
    for (size_t i = 0; i < d->n_members; i++)
        recovery_facts(d->members[i].recovery, &facts[i]);
    status_compose(facts, d->n_members, d->stopping, text, state);
    free(facts);
    if (strcmp(text, status->sent) == 0)
        return;
    if (strcmp(state, status->sent_state) == 0 &&
        usec_sub(now, status->sent_at) < STATUS_INTERVAL) {
        if (!timer_armed(status->timer))
            timer_arm(status->timer, STATUS_INTERVAL - usec_sub(now, status->sent_at));
        return;
    }
    memcpy(status->sent, text, sizeof(text));
    memcpy(status->sent_state, state, sizeof(state));
    status->sent_at = now;
    notify_status(text);
}

static void status_timer_fired(void *data) {
    status_update(data);
}

int status_init(struct daemon *d) {
    struct status *status = &d->status;
    int error = timer_new(d->loop, status_timer_fired, d, &status->timer);

    if (error < 0)
        return error;
    status_update(d);
    if (d->options->mode == DAEMON_RUN)
        notify_ready(status->sent);
    return 0;
}

void status_done(struct daemon *d) {
    d->status.timer = timer_free(d->status.timer);
}
