/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Typed orders: one function a command, a decoded answer to a callback.
 *
 * Each function queues its command on the link and returns 0; the callback then runs exactly
 * once, from the loop, never from inside the function. LINK_E_DOWN: the link is not up, nothing
 * was sent, the callback will not run. Arguments are copied. What an answer points to is
 * borrowed until the callback returns; unless it is ANSWER_OK, pointers are NULL and numbers 0.
 * From such a callback, or from a listener's `up`, the link may not be freed.
 *
 * In a callback with ANSWER_UNKNOWN no command may be issued: the link is ending (the functions
 * answer LINK_E_DOWN then).
 */
#pragma once

#include "base/entry.h"
#include "base/error.h"
#include "redis/link.h"

enum { LINK_E_DOWN = 1 };

enum answer_kind {
    ANSWER_OK,      /* decoded */
    ANSWER_ERROR,   /* the server answered with an error */
    ANSWER_UNKNOWN, /* the connection ended first: executed or not, nobody knows */
};

/* Errors of a server, by the first word of the reply. */
enum redis_error {
    REDIS_ERROR_NONE,
    REDIS_ERROR_NOGROUP, /* no such key or no such group */
    REDIS_ERROR_WRONGTYPE,
    REDIS_ERROR_NOPERM,
    REDIS_ERROR_AUTH,      /* NOAUTH, WRONGPASS; the link drops itself */
    REDIS_ERROR_TRANSIENT, /* LOADING BUSY MASTERDOWN CLUSTERDOWN MISCONF NOREPLICAS TRYAGAIN */
    REDIS_ERROR_READONLY,  /* the link drops itself and looks for the primary again */
    REDIS_ERROR_REDIRECT,  /* MOVED, ASK: this is a cluster */
    REDIS_ERROR_OOM,
    REDIS_ERROR_UNKNOWN_COMMAND, /* ERR unknown command */
    REDIS_ERROR_OTHER,
    _REDIS_ERROR_MAX,
};

#define REDIS_ERROR_WORD_MAX 32

struct answer {
    enum answer_kind kind;
    enum redis_error error;          /* ANSWER_ERROR */
    char word[REDIS_ERROR_WORD_MAX]; /* ANSWER_ERROR: its first word, printable; else "" */
    const char *command;             /* ANSWER_ERROR inside a script: of which command; else NULL */
    usec_t sent;                     /* CLOCK_BOOTTIME, read before the command was queued */
    usec_t answered;                 /* CLOCK_BOOTTIME, read when the reply was decoded */
};

/* The stream, group and consumer that most commands name. Borrowed during the call. */
struct group_ref {
    const char *stream;
    const char *group;
    const char *consumer;
};

/* XAUTOCLAIM stream group consumer min-idle cursor COUNT n JUSTID */
struct autoclaim_answer {
    const char *cursor; /* verbatim, "0-0" ends the scan */
    bool at_end;        /* cursor is 0-0 */
    const struct entry_id *claimed;
    size_t n_claimed;
    const struct entry_id *deleted; /* Redis 7.0+; none on 6.2 */
    size_t n_deleted;
};
typedef void (*autoclaim_done)(void *data, const struct answer *answer,
                               const struct autoclaim_answer *page);
MUST_CHECK int command_xautoclaim(struct link *link, const struct group_ref *ref, usec_t min_idle,
                                  const char *cursor, uint64_t count, autoclaim_done done,
                                  void *data);

/* XPENDING stream group */
struct pending_summary {
    uint64_t total;
    struct entry_id lowest; /* meaningless where total is 0 */
    struct entry_id highest;
};
typedef void (*pending_summary_done)(void *data, const struct answer *answer,
                                     const struct pending_summary *summary);
MUST_CHECK int command_xpending_summary(struct link *link, const struct group_ref *ref,
                                        pending_summary_done done, void *data);

/* XPENDING stream group [IDLE min-idle] first last count [consumer] */
struct pending_entry {
    struct entry_id id;
    struct blob consumer;
    usec_t idle; /* whole milliseconds */
    uint64_t deliveries;
};
struct pending_range {
    struct entry_id first;
    struct entry_id last;
    bool after_first; /* exclusive: "(first" */
    uint64_t count;
    bool only_ours;  /* filter by ref->consumer */
    usec_t min_idle; /* 0: no IDLE argument */
};
typedef void (*pending_range_done)(void *data, const struct answer *answer,
                                   const struct pending_entry *entries, size_t n);
MUST_CHECK int command_xpending_range(struct link *link, const struct group_ref *ref,
                                      const struct pending_range *range, pending_range_done done,
                                      void *data);

/* XCLAIM stream group consumer min-idle id ... : raises the counters, returns the bodies.
 * n_gone: elements that were nil (6.2: pending, but no longer in the stream). */
typedef void (*claim_bodies_done)(void *data, const struct answer *answer,
                                  const struct entry *entries, size_t n, size_t n_gone);
MUST_CHECK int command_xclaim_bodies(struct link *link, const struct group_ref *ref,
                                     usec_t min_idle, const struct entry_id *ids, size_t n,
                                     claim_bodies_done done, void *data);

/* XCLAIM stream group consumer min-idle id ... [RETRYCOUNT r] [TIME 0] JUSTID */
#define CLAIM_KEEP_COUNT UINT64_MAX
struct claim_options {
    uint64_t retry_count; /* CLAIM_KEEP_COUNT: leave the counter as it is */
    bool release;         /* TIME 0: eligible for anybody at once */
};
typedef void (*claim_ids_done)(void *data, const struct answer *answer, const struct entry_id *ids,
                               size_t n);
MUST_CHECK int command_xclaim_ids(struct link *link, const struct group_ref *ref, usec_t min_idle,
                                  const struct entry_id *ids, size_t n,
                                  const struct claim_options *options, claim_ids_done done,
                                  void *data);

/* XRANGE stream id id COUNT 1: is it still in the stream? */
typedef void (*exists_done)(void *data, const struct answer *answer, bool exists);
MUST_CHECK int command_entry_exists(struct link *link, const struct group_ref *ref,
                                    struct entry_id id, exists_done done, void *data);

/* EXISTS stream */
MUST_CHECK int command_key_exists(struct link *link, const struct group_ref *ref, exists_done done,
                                  void *data);

/* XACK stream group id ... */
typedef void (*xack_done)(void *data, const struct answer *answer, uint64_t acked);
MUST_CHECK int command_xack(struct link *link, const struct group_ref *ref,
                            const struct entry_id *ids, size_t n, xack_done done, void *data);

/* RPUSH list id ... */
typedef void (*rpush_done)(void *data, const struct answer *answer, uint64_t length);
MUST_CHECK int command_rpush_ids(struct link *link, const char *list, const struct entry_id *ids,
                                 size_t n, rpush_done done, void *data);

/* TIME, as microseconds since 1970. */
typedef void (*time_done)(void *data, const struct answer *answer, uint64_t unix_usec);
MUST_CHECK int command_time(struct link *link, time_done done, void *data);
