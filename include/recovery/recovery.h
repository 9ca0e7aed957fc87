/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The reason the program exists: one recovery, that is one stream and group on one server.
 *
 *   timer -> scan (XAUTOCLAIM JUSTID, page by page) -> ledger (what is held) -> attempt (XCLAIM
 *   by ID: still ours? counter, body) -> handler -> settle (XACK) -> report
 *
 * A recovery claims for its consumer what has been idle for min_idle, hands it to its handler
 * and acknowledges only what the handler finished. It keeps every claim alive while it holds the
 * entry, never takes anything back from somebody else, and asks when it does not know.
 *
 * It knows no socket, no file and no journal. It never stops the others and never ends the
 * daemon: what is wrong with it is a state, shown in its facts.
 */
#pragma once

#include "base/cleanup.h"
#include "base/error.h"
#include "config/settings.h"
#include "loop/child.h"
#include "loop/loop.h"
#include "recovery/slots.h"
#include "redis/link.h"
#include "report/report.h"

struct recovery;

enum recovery_state {
    RECOVERY_RESTING,  /* until the timer fires */
    RECOVERY_SCANNING, /* from cursor 0-0 until the server returns 0-0 */
    RECOVERY_WAITING,  /* something is wrong that may mend by itself; tried again by the timer */
    RECOVERY_FAILING,  /* something is wrong that somebody must mend; tried again by the timer */
    RECOVERY_PAUSED,   /* no new claims until it is resumed; what is held goes on */
    RECOVERY_DRAINING, /* no new claims; what runs is settled, the rest is given back */
    RECOVERY_GONE,     /* nothing held, nothing asked, may be freed */
    _RECOVERY_STATE_MAX,
};
const char *recovery_state_to_string(enum recovery_state state);

enum recovery_mode {
    RECOVERY_FOREVER,
    RECOVERY_ONCE, /* one pass, then gone */
};

/* Borrowed; all outlive the recovery. */
struct recovery_parts {
    struct loop *loop;
    struct link *link;
    struct children *children;
    struct slots *slots;
};

/* Called from the loop, never from inside a function below. */
struct recovery_owner {
    void (*changed)(void *data); /* facts have changed in a way that the status shows */
    void (*gone)(void *data);    /* RECOVERY_GONE was entered */
    void *data;
};

/* Settings are borrowed and outlive the recovery. */
MUST_CHECK int recovery_new(const struct recovery_settings *settings,
                            const struct recovery_parts *parts, const struct recovery_owner *owner,
                            struct recovery **ret);
/* Asserts that it never started, or is gone. */
struct recovery *recovery_free(struct recovery *recovery);
DEFINE_CLEANUP(struct recovery, recovery_free)

/* The first scan starts after a jitter of up to a tenth of the interval (RECOVERY_ONCE: at
 * once). */
void recovery_start(struct recovery *recovery, enum recovery_mode mode);

/* No new claims; running handlers go on and are acknowledged; entries that were not started are
 * released, uncharged. Ends in RECOVERY_GONE. */
void recovery_drain(struct recovery *recovery);

/* Scans now instead of when the timer fires. No effect while it is paused or drained; where its
 * server is away, as soon as it is back. */
void recovery_run(struct recovery *recovery);

/* No new claims until recovery_resume(), which scans at once; what is held goes on and is settled.
 * No effect where that is so already, or in a drain. */
void recovery_pause(struct recovery *recovery);
void recovery_resume(struct recovery *recovery);

/* The drain has taken long enough: handlers are told to stop (kill: are killed); what cannot be
 * settled is left pending. */
void recovery_cut_short(struct recovery *recovery, bool kill);

struct recovery_facts {
    const struct recovery_settings *settings;
    enum recovery_state state;
    const char *trouble;   /* a phrase for the status; "" if nothing is wrong. Borrowed. */
    bool trouble_is_error; /* somebody must mend it */
    bool trouble_is_link;  /* the server is away: said once for all recoveries on it */
    size_t held;
    size_t running;
    struct report_pass last_pass; /* the last one that claimed or deleted something */
    usec_t last_pass_at;          /* CLOCK_MONOTONIC at which that ended; 0: none has */
    struct report_pass total;     /* all passes since the start */
    uint64_t passes;
    uint64_t pending;       /* as the last gate saw it, less what was acknowledged since */
    struct entry_id oldest; /* the lowest pending ID that the last gate saw; pending > 0 */
    usec_t next_scan;       /* CLOCK_MONOTONIC; USEC_INFINITY: it waits for something else */
    const struct recovery_counters *counters; /* borrowed */
};
void recovery_facts(const struct recovery *recovery, struct recovery_facts *ret);

/* When it must have moved by itself (CLOCK_MONOTONIC); USEC_INFINITY where it waits for others
 * only. For the watchdog. */
usec_t recovery_deadline(const struct recovery *recovery);
