/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * XPENDING from the lowest ID on, WINDOW entries a call. The IDLE argument is not used: with it
 * the server walks on until so many entries match, however many do not, in one blocking call.
 */
#include "recovery/dry_run.h"

#include "base/cleanup.h"
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#define WINDOW 500

struct dry_run {
    const struct recovery_settings *settings;
    struct link *link;
    struct dry_run_owner owner;
    struct group_ref ref;
    struct link_listener listener;
    bool over;
};

static void finish(struct dry_run *d, enum dry_run_result result, const char *why) {
    if (d->over)
        return;
    d->over = true;
    d->owner.done(d->owner.data, result, why);
}

static void window_begin(struct dry_run *d, struct entry_id first, bool after_first);

static void window_reply(void *data, const struct answer *answer,
                         const struct pending_entry *entries, size_t n) {
    struct dry_run *d = data;

    switch (answer->kind) {
    case ANSWER_UNKNOWN:
        finish(d, DRY_RUN_UNREACHABLE, "the connection ended");
        return;
    case ANSWER_ERROR:
        finish(d, DRY_RUN_REFUSED, answer->word);
        return;
    case ANSWER_OK:
        break;
    }
    for (size_t i = 0; i < n; i++)
        if (entries[i].idle >= d->settings->min_idle)
            d->owner.entry(d->owner.data, &entries[i]);
    if (n < WINDOW)
        finish(d, DRY_RUN_OK, "");
    else
        window_begin(d, entries[n - 1].id, true);
}

static void window_begin(struct dry_run *d, struct entry_id first, bool after_first) {
    const struct pending_range range = {
        .first = first,
        .last = {UINT64_MAX, UINT64_MAX},
        .after_first = after_first,
        .count = WINDOW,
    };
    if (command_xpending_range(d->link, &d->ref, &range, window_reply, d) != 0)
        finish(d, DRY_RUN_UNREACHABLE, "the connection ended");
}

static void came_up(void *data) {
    struct dry_run *d = data;

    if (!d->over) /* others may still be asked */
        window_begin(d, (struct entry_id){0, 0}, false);
}

static void went_down(void *data) {
    finish(data, DRY_RUN_UNREACHABLE, "the connection ended");
}

static void has_failed(void *data) {
    struct dry_run *d = data;

    finish(d, DRY_RUN_UNREACHABLE, link_trouble(d->link));
}

int dry_run_new(const struct recovery_settings *settings, struct link *link,
                const struct dry_run_owner *owner, struct dry_run **ret) {
    struct dry_run *d = calloc(1, sizeof(*d));

    if (!d)
        return -ENOMEM;
    d->settings = settings;
    d->link = link;
    d->owner = *owner;
    d->ref = (struct group_ref){settings->stream, settings->group, settings->consumer};
    d->listener =
        (struct link_listener){.up = came_up, .down = went_down, .failed = has_failed, .data = d};
    link_listen(link, &d->listener);
    *ret = d;
    return 0;
}

struct dry_run *dry_run_free(struct dry_run *d) {
    if (!d)
        return NULL;
    link_unlisten(d->link, &d->listener);
    free(d);
    return NULL;
}
