/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * --dry-run: a line for each entry that a scan would claim, and one for each recovery.
 */
#include "inside.h"

#include "recovery/dry_run.h"
#include <errno.h>
#include <stdio.h>
#include <utlist.h>

struct listing {
    struct daemon *daemon;
    const struct recovery_settings *settings;
    struct dry_run *dry_run;
    size_t n;
    enum daemon_exit status;
    size_t *open; /* listings that are not done */
};

static void list_entry(void *data, const struct pending_entry *entry) {
    struct listing *listing = data;
    char id[ENTRY_ID_TEXT_MAX], idle[64], consumer[128];

    listing->n++;
    entry_id_format(entry->id, id);
    text_format_duration(entry->idle, idle, sizeof(idle));
    (void)printf("%s: %s idle %s, delivered %llu times, last to %s\n", listing->settings->name, id,
                 idle, (unsigned long long)entry->deliveries,
                 text_printable(entry->consumer, consumer, sizeof(consumer)));
}

static void list_done(void *data, enum dry_run_result result, const char *why) {
    struct listing *listing = data;

    if (result == DRY_RUN_OK) {
        (void)printf("%s: %zu would be claimed\n", listing->settings->name, listing->n);
    } else {
        (void)printf("%s: could not run: %s\n", listing->settings->name, why);
        listing->status = EXIT_STATUS_UNAVAILABLE;
    }
    if (--*listing->open == 0)
        loop_stop(listing->daemon->loop);
}

int daemon_dry_run(struct daemon *d, enum daemon_exit *ret) {
    size_t n_members = members_count(d), open = n_members, n = 0;
    CLEANUP_FREE struct listing *listings = calloc(n_members + 1, sizeof(*listings));
    int error = listings ? 0 : -ENOMEM;
    const struct member *member;
    const struct server *server;

    DL_FOREACH (d->members, member) {
        struct listing *listing = &listings[n++];
        const struct dry_run_owner owner = {list_entry, list_done, listing};

        if (error < 0)
            break;
        *listing = (struct listing){.daemon = d, .settings = member->settings, .open = &open};
        error = dry_run_new(listing->settings, member->server->link, &owner, &listing->dry_run);
    }
    if (error == 0)
        DL_FOREACH (d->servers, server)
            link_start(server->link);
    if (error == 0 && open > 0)
        error = loop_run(d->loop);
    for (size_t i = 0; error == 0 && i < n_members; i++) {
        listings[i].dry_run = dry_run_free(listings[i].dry_run);
        if (listings[i].status > *ret)
            *ret = listings[i].status;
    }
    return error;
}
