/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * How long a claim is certainly ours. Pure: (lease, what a server said, now) -> what may be sent.
 *
 * Redis gives an entry to whoever asks with a min-idle that its idle time has reached. Everybody
 * who recovers this group asks with at least M = min_idle, so after a claim nobody else can have
 * the entry for M, counted from before our command was sent. Until then it is *sure*.
 *
 * The fence is the second line: the min-idle argument of an XCLAIM by ID, chosen so that it is
 * refused if anybody has claimed the entry since our last answer. It is blind just after an
 * answer and grows stale while a command waits, therefore the lease is the rule.
 *
 * All times are CLOCK_BOOTTIME: a suspended machine does not stop the server's clock.
 */
#pragma once

#include "base/clock.h"
#include <stdbool.h>

struct lease {
    usec_t sent;       /* the claim was executed after this ... */
    usec_t answered;   /* ... and before this */
    usec_t sure_until; /* sent + M */
    usec_t unanswered; /* when a later claim was sent whose answer never came; 0: none */
    bool checked;      /* the last word came from asking, not from a claim */
    bool late;         /* it was a claim carried out after the one before it had run out: it may
                          have taken the entry from somebody who is at work */
};

/* A claim that returned the entry. Older news than what is known changes nothing. */
void lease_claimed(struct lease *lease, usec_t sent, usec_t answered, usec_t min_idle);

/* A claim was sent and its answer will never come: it may or may not have been executed. */
void lease_unanswered(struct lease *lease, usec_t sent);

/* True if an XCLAIM with a min-idle below M may be sent now: at least M/4 of the lease is left.
 * Otherwise the owner must be asked first. */
bool lease_may_claim(const struct lease *lease, usec_t now, usec_t min_idle);

/* True if nobody else can have it yet. `now` must be freshly read. */
bool lease_is_sure(const struct lease *lease, usec_t now);

/* The min-idle argument for such an XCLAIM; 0 means no check. */
usec_t lease_fence(const struct lease *lease, usec_t now, usec_t min_idle);

/* An answer that came later than this after its command was sent proves nothing new. */
static inline bool lease_too_slow(usec_t sent, usec_t answered, usec_t min_idle) {
    return usec_sub(answered, sent) > min_idle / 4;
}

/* XPENDING showed the entry as ours, idle for so long. False: no command of ours can have made
 * it so; somebody else claims under our name. True: the lease now counts from there. */
bool lease_asked(struct lease *lease, usec_t sent, usec_t answered, usec_t idle, usec_t min_idle);

/* The same where the server's clock was set: whoever made it idle for so long, it is ours, and the
 * lease counts from there. */
void lease_seen(struct lease *lease, usec_t sent, usec_t answered, usec_t idle, usec_t min_idle);
