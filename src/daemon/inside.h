/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The inside of the daemon, shared by the files of this room: daemon.c (life), stop.c (signals
 * and the drain), status.c (the sentence), watchdog.c, dry_run.c.
 */
#pragma once

#include "config/config.h"
#include "daemon/daemon.h"
#include "loop/child.h"
#include "loop/loop.h"
#include "recovery/recovery.h"
#include "recovery/slots.h"
#include "redis/link.h"
#include "report/notify.h"

struct daemon;

/* One configured recovery that takes part in this run. */
struct member {
    struct daemon *daemon;
    const struct recovery_settings *settings;
    struct link *link; /* borrowed from the daemon's list */
    struct recovery *recovery;
};

struct status {
    char sent[NOTIFY_STATUS_MAX + 1];
    char sent_state[NOTIFY_STATUS_MAX + 1]; /* the part of it that is the state */
    usec_t sent_at;
    struct timer *timer;
};

struct daemon {
    const struct options *options;
    const struct config *config;
    struct loop *loop;
    struct children *children;
    struct slots *slots;
    struct link **links; /* one a [redis] section, NULL where no member needs it */
    struct member *members;
    size_t n_members;
    size_t n_gone;
    struct signal_watch *signals[3];
    struct timer *drain_timer;
    struct timer *watchdog_timer;
    usec_t watchdog_interval;
    struct status status;
    bool stopping;
    bool cut_short;
};

/* stop.c */
int stop_init(struct daemon *d);
void stop_done(struct daemon *d);

/* status.c */
int status_init(struct daemon *d);
void status_done(struct daemon *d);
/* Something has changed: told at once where it is the state, else within a few seconds. */
void status_update(struct daemon *d);
/* The sentence as it is now; the first `*ret_state` bytes are the state. */
void status_compose(const struct recovery_facts *facts, size_t n, bool stopping,
                    char text[NOTIFY_STATUS_MAX + 1], char state[NOTIFY_STATUS_MAX + 1]);

/* watchdog.c */
int watchdog_init(struct daemon *d);
void watchdog_done(struct daemon *d);

/* once.c */
enum daemon_exit once_summary(const struct daemon *d);

/* dry_run.c */
int daemon_dry_run(struct daemon *d, enum daemon_exit *ret);
