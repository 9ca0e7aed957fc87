/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What must happen in one step inside the server. The rules of redis/command.h hold.
 *
 * A script is called by its SHA1 (EVALSHA) and sent whole (EVAL) only where the server does not
 * know it. It runs with the rights of our user: besides the base set it needs evalsha, eval and
 * what it calls.
 */
#pragma once

#include "redis/command.h"

/* Copies an entry with its provenance to another stream and acknowledges it, only if it is still
 * pending and ours. Needs xpending, xrange, time, xadd (on the target), xack. */
struct dead_letter {
    const char *target;
    uint64_t maxlen; /* MAXLEN ~; 0: no limit */
    struct entry_id id;
    const char *recovery;
    const char *outcome; /* "reject", "exhausted" */
    const char *reason;
};

enum dead_letter_result {
    DEAD_LETTER_COPIED,    /* and acknowledged */
    DEAD_LETTER_GONE,      /* not pending any more */
    DEAD_LETTER_LOST,      /* somebody else's */
    DEAD_LETTER_MISSING,   /* pending, but no longer in the stream */
    DEAD_LETTER_TOO_LARGE, /* more fields than a script can pass on */
    _DEAD_LETTER_MAX,
};

/* acked: what XACK returned. */
typedef void (*dead_letter_done)(void *data, const struct answer *answer,
                                 enum dead_letter_result result, uint64_t acked);
MUST_CHECK int script_dead_letter(struct link *link, const struct group_ref *ref,
                                  const struct dead_letter *letter, dead_letter_done done,
                                  void *data);

/* One page of a move: claims what is idle for min_idle, copies each entry with its provenance to
 * the target, acknowledges it. Needs time, xadd (on the target), xack, xautoclaim, xpending,
 * xrange; with xclaim what was claimed and not reached is given back. */
struct move_order {
    const char *target;
    uint64_t maxlen; /* MAXLEN ~; 0: no limit */
    const char *recovery;
    usec_t min_idle;
    const char *cursor;
    uint64_t count;
    bool ack_missing; /* what is no longer in the stream is acknowledged (6.2) */
    usec_t budget;    /* the page ends when it has kept the server for so long */
    uint64_t latest;  /* unix microseconds of the server's clock after which nothing is done; 0:
                         whenever it comes */
};

struct move_answer {
    const char *cursor; /* verbatim, "0-0" ends the scan */
    bool at_end;
    uint64_t moved;
    uint64_t acked; /* what XACK returned */
    uint64_t left;  /* claimed and not copied, given back as far as that is allowed */
    bool cut;       /* it took long enough: the cursor names the first that was not reached */
    bool late;      /* nothing was done: it was later than `latest` */
    usec_t spent;
    const struct entry_id *deleted; /* Redis 7.0+ */
    size_t n_deleted;
    const struct entry_id *missing; /* no longer in the stream (6.2) */
    size_t n_missing;
    const struct entry_id *large; /* more fields than a script can pass on: left pending */
    const uint64_t *large_deliveries;
    size_t n_large;
};

/* Where a command of the script was refused the answer is ANSWER_ERROR and names it, and page says
 * what was done before. Else page is NULL unless it is ANSWER_OK. */
typedef void (*move_done)(void *data, const struct answer *answer, const struct move_answer *page);
MUST_CHECK int script_move(struct link *link, const struct group_ref *ref,
                           const struct move_order *order, move_done done, void *data);
