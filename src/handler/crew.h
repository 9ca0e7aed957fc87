/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What the kinds worker and socket share: members that stay, each with a channel, and the
 * requests in flight on them. How a member comes and goes is the kind's, behind its verbs.
 *
 *                    begins       up    time is up       end     kill    gone
 *   down             coming, up   -     (begins)         -       -       -
 *   coming           -            up    -                -       -       down
 *   up               -            -     -                leaving killed  down
 *   leaving          -            -     told to stop     -       killed  down
 *   told to stop     -            -     killed           -       killed  down
 *   killed           -            -     -                -       -       down
 *
 * Only who is up is given requests. Whatever a member has not answered when it is gone ends with
 * retry then, and not before: until that it may be at work on it.
 */
#pragma once

#include "channel.h"
#include "kind.h"
#include "outcome.h"
#include "output.h"
#include "protocol.h"

#define HASH_NONFATAL_OOM 1
#define HASH_FUNCTION HASH_OAT
#include <uthash.h>

enum member_state {
    MEMBER_DOWN,
    MEMBER_COMING,
    MEMBER_UP,
    MEMBER_LEAVING, /* it was given an end of file, or gave us one */
    MEMBER_TOLD_TO_STOP,
    MEMBER_KILLED,
};

#define MEMBER_NAME_MAX 140
#define MEMBER_WHY_MAX 160

struct member {
    struct crew *crew;
    enum member_state state; /* changed by member_enter() */
    struct channel *channel; /* up, and while what it still says counts */
    struct timer *timer;     /* down: the back-off; coming: its deadline; else: the next step */
    struct crew_run *runs;   /* by ID */
    struct crew_run *last;   /* the one that was given to it last, until that ends */
    size_t n_runs;
    size_t n_stopping; /* of these, told to stop */
    bool answered;     /* since it is up */
    bool unread;       /* it has closed its end without having read all */
    bool asked;        /* its end was asked for: it is no failure */
    unsigned failures; /* how often it has ended without having answered */
    char name[MEMBER_NAME_MAX];
    char why[MEMBER_WHY_MAX]; /* it has to go; "": it does not */
    /* worker */
    struct child *child;
    struct output *err;
    struct output_account account;
    /* socket */
    int connecting; /* a descriptor, or -1 */
    struct io_watch *connected;
};

struct member_verbs {
    const char *noun; /* what people call a member */
    /* Of one that is down: when it returns 0, member_is_up() was called or MEMBER_COMING entered.
     * HANDLER_E_AWAY: it cannot, handler_go_away() was called, it is still down. */
    int (*begin)(struct member *member);
    /* A state from leaving on was entered: does what belongs to it, and never ends the member from
     * in here. */
    void (*enter)(struct member *member, enum member_state state);
    /* Its timer has fired, in a state that is not down. */
    void (*time_is_up)(struct member *member);
};

struct crew_run {
    struct handler_run base;
    struct member *member;
    struct entry_id id;
    struct request request;
    struct timer *timer;
    enum stop_cause cause;
    UT_hash_handle hh;
};

struct crew {
    struct handler *handler;
    const struct member_verbs *verbs;
    struct environment *environment; /* worker */
    struct member *members;
    size_t n;
    size_t share;           /* requests at once on each */
    struct member *suspect; /* ended without an answer; until there is one no other is begun */
    bool wanted;            /* somebody waits for room */
    bool closing;
    struct deferred *news;
};

MUST_CHECK int crew_new(struct handler *handler, const struct member_verbs *verbs,
                        struct crew **ret);
struct crew *crew_free(struct crew *crew);

/* For the kinds' handler_verbs; kind: the crew. */
int crew_start(struct handler *handler, const struct entry *entry, uint64_t deliveries,
               struct handler_run **ret);
void crew_stop(struct handler_run *run, bool kill);
usec_t crew_deadline(const struct handler_run *run);
void crew_run_free(struct handler_run *run);
int crew_room(struct handler *handler, size_t *ret);
void crew_close(struct handler *handler, bool kill);
bool crew_is_closed(const struct handler *handler);

/* --- for the kinds' members ------------------------------------------------------------------ */

/* Takes over the connected descriptor, also when it fails (-ENOMEM). */
MUST_CHECK int member_is_up(struct member *member, int fd);
/* It is gone for good: what it held ends. why: how it went. */
void member_is_gone(struct member *member, const char *why);
/* It was coming, and will not. handler_go_away() was called. */
void member_cannot_come(struct member *member);
void member_enter(struct member *member, enum member_state state);

/* --- for the crew itself --------------------------------------------------------------------- */

/* It has to go, or to go faster. why: NULL: by itself. */
void member_end(struct member *member, enum member_state how, const char *why);
/* Of its timer; data: the member. */
void member_time_is_up(void *data);
