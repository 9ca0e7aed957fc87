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
