/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The inside of the daemon, shared by the files of this room: daemon.c (life), edition.c and
 * members.c (who takes part), reload.c, stop.c (signals and the drain), commands.c (what the
 * control socket asks for), status.c (the sentence), snapshot.c (the whole state), watchdog.c,
 * once.c, dry_run.c, own_memory.c.
 */
#pragma once

#include "config/config.h"
#include "control/server.h"
#include "daemon/daemon.h"
#include "loop/child.h"
#include "loop/loop.h"
#include "recovery/recovery.h"
#include "recovery/slots.h"
#include "redis/link.h"
#include "report/notify.h"
#include "report/report.h"

struct daemon;

/* A configuration, and how many borrow from it: the daemon itself, and each server and member
 * whose settings are in it. */
struct edition {
    struct config *config;
    size_t users;
};

/* A link, and the section it was made from. */
struct server {
    struct edition *edition;
    const struct redis_settings *settings;
    struct link *link;
    size_t users; /* members */
    bool current; /* its section is that of the configuration in force */
    struct server *prev, *next;
};

/* A recovery that takes part in this run. */
struct member {
    struct daemon *daemon;
    struct edition *edition;
    const struct recovery_settings *settings;
    struct server *server;
    struct recovery *recovery;
    struct timer *patience; /* while it leaves */
    bool leaving;           /* a reload has changed or removed it: it drains */
    bool paused;            /* leaving: whoever follows under its name is paused too */
    bool gone;
    struct member *prev, *next;
};

struct status {
    char sent[NOTIFY_STATUS_MAX + 1];
    char sent_state[NOTIFY_STATUS_MAX + 1]; /* the part of it that is the state */
    usec_t sent_at;
    struct timer *timer;
    struct deferred *soon;
};

#define WHERE_MAX 128

struct daemon {
    const struct options *options;
    const struct config_source *source;
    struct edition *edition; /* in force */
    struct loop *loop;
    struct children *children;
    struct slots *slots;
    struct server *servers;
    struct member *members;
    struct control *control;      /* NULL: off */
    struct control *control_next; /* takes its place when nothing of it is at work any more */
    struct deferred *control_swap;
    struct signal_watch *signals[3];
    struct timer *drain_timer;
    struct timer *watchdog_timer;
    usec_t watchdog_interval;
    struct status status;
    usec_t started;                /* CLOCK_BOOTTIME */
    char reload_failed[WHERE_MAX]; /* where the last one went wrong; "": it did not */
    bool stopping;
    bool cut_short;
};

/* edition.c */
/* The configuration becomes its own, also where it fails. One user: the caller. */
MUST_CHECK int edition_new(struct config *config, struct edition **ret);
struct edition *edition_use(struct edition *edition);
/* The last user's leave is its death. */
struct edition *edition_leave(struct edition *edition);
const struct recovery_settings *edition_recovery(const struct edition *edition, const char *name);
const struct redis_settings *edition_redis(const struct edition *edition, const char *name);

/* members.c */
/* Those of the configuration that the options want, without their recoveries. */
MUST_CHECK int members_init(struct daemon *d);
void members_done(struct daemon *d);
MUST_CHECK int members_make_recoveries(struct daemon *d);
void members_start(struct daemon *d);
/* The new configuration comes into force, as its own user: what is the same goes on, the rest
 * drains, and is followed by what is new. */
void members_adopt(struct daemon *d, struct edition *edition, struct report_reload *ret);
/* The one that is at work under this name, or leaving; NULL. */
struct member *members_find(const struct daemon *d, const char *name);
/* It takes part under the configuration in force. */
bool members_is_wanted(const struct daemon *d, const char *name);
size_t members_count(const struct daemon *d);
/* Facts of all that are not gone, to be freed; NULL: out of memory. */
struct recovery_facts *members_facts(const struct daemon *d, size_t *ret_n);

/* reload.c */
/* Writes what came of it into `out` (NULL: nobody reads it). False: the old configuration is in
 * force, and the lines say why. */
bool reload(struct daemon *d, FILE *out);

/* commands.c */
MUST_CHECK int commands_init(struct daemon *d);
void commands_done(struct daemon *d);
/* The control socket goes where the settings say. False with the reason in why: it stays where it
 * is. */
bool commands_move(struct daemon *d, const char *path, char why[CONTROL_WHY_MAX]);

/* snapshot.c */
MUST_CHECK int snapshot_write(const struct daemon *d, FILE *out);

/* stop.c */
int stop_init(struct daemon *d);
void stop_done(struct daemon *d);

/* status.c */
int status_init(struct daemon *d);
void status_done(struct daemon *d);
/* Something has changed: told in this turn where it is the state, else within a few seconds. */
void status_update(struct daemon *d);
/* READY=1 with the sentence. */
void status_ready(struct daemon *d);

struct status_view {
    const struct recovery_facts *facts;
    size_t n;
    size_t configured; /* those that leave are not counted */
    const char *reload_failed;
    bool stopping;
};
/* The sentence as it is now; it begins with what is the state. */
void status_compose(const struct status_view *view, char text[NOTIFY_STATUS_MAX + 1],
                    char state[NOTIFY_STATUS_MAX + 1]);
void status_sentence(const struct daemon *d, char text[NOTIFY_STATUS_MAX + 1],
                     char state[NOTIFY_STATUS_MAX + 1]);

/* watchdog.c */
int watchdog_init(struct daemon *d);
void watchdog_done(struct daemon *d);

/* own_memory.c: from now on this process, but none that it starts, makes no memory executable. */
void own_memory_deny_exec(void);

/* once.c */
enum daemon_exit once_summary(const struct daemon *d);

/* dry_run.c */
int daemon_dry_run(struct daemon *d, enum daemon_exit *ret);
