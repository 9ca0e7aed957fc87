/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The table of everything that is ever reported: one row a kind of record. Who wants to walk it
 * counts from 0 to _EVENT_MAX.
 *
 * A MESSAGE_ID never changes and is never used again for something else: people's filters and
 * the message catalog know it.
 */
#pragma once

#include "limit.h"
#include <stdint.h>

enum event {
    EVENT_STARTED,
    EVENT_CONFIG_ERROR,
    EVENT_CONFIG_WARNING,
    EVENT_RELOADED,
    EVENT_RELOAD_FAILED,
    EVENT_STOPPING,
    EVENT_DRAIN_CUT_SHORT,
    EVENT_STOPPED,
    EVENT_BROKEN,
    EVENT_LINK_STATE,
    EVENT_LINK_UP,
    EVENT_LINK_DOWN,
    EVENT_SERVER_FAULT,
    EVENT_RECOVERY_STATE,
    EVENT_RECOVERY_DOWN,
    EVENT_RECOVERY_UP,
    EVENT_RECOVERY_PAUSED,
    EVENT_PAGE,
    EVENT_PASS,
    EVENT_PASS_EMPTY,
    EVENT_DELETED,
    EVENT_MISSING,
    EVENT_LOST,
    EVENT_NAME_CLASH,
    EVENT_ATTEMPT_BEGUN,
    EVENT_ATTEMPT_OK,
    EVENT_ATTEMPT_FAILED,
    EVENT_ATTEMPT_REJECTED,
    EVENT_EXHAUSTED,
    EVENT_DEAD_LETTERED,
    EVENT_ACKED,
    EVENT_ACK_NONE,
    EVENT_RENEWED,
    EVENT_RELEASED,
    EVENT_MOVED,
    EVENT_HANDED_OVER,
    EVENT_HANDLER_OUTPUT,
    EVENT_OUTPUT_DROPPED,
    EVENT_WORKER_UP,
    EVENT_WORKER_ENDED,
    EVENT_WORKER_OUTPUT,
    EVENT_WORKER_DROPPED,
    EVENT_HELD_BACK,
    _EVENT_MAX,
};

/* The journal fields besides those that each record has (MESSAGE, PRIORITY, MESSAGE_ID, CODE_*,
 * SYSLOG_IDENTIFIER). */
enum field {
    FIELD_RECOVERY,
    FIELD_STREAM,
    FIELD_GROUP,
    FIELD_CONSUMER,
    FIELD_ENTRY_ID,
    FIELD_DELIVERIES,
    FIELD_OUTCOME,
    FIELD_REASON,
    FIELD_DURATION_USEC,
    FIELD_DEAD_LETTER_STREAM,
    FIELD_TARGET_STREAM,
    FIELD_WORKLIST,
    FIELD_STATE,
    FIELD_STATE_FROM,
    FIELD_REDIS,
    FIELD_REDIS_ERROR,
    FIELD_REDIS_VERSION,
    FIELD_PAGE_CURSOR,
    FIELD_PAGE_CURSOR_NEXT,
    FIELD_PAGE_CLAIMED,
    FIELD_PAGE_DELETED,
    FIELD_PASS_PAGES,
    FIELD_PASS_CLAIMED,
    FIELD_PASS_OK,
    FIELD_PASS_FAILED,
    FIELD_PASS_REJECTED,
    FIELD_PASS_EXHAUSTED,
    FIELD_PASS_DEFERRED,
    FIELD_PASS_MISSING,
    FIELD_PASS_LOST,
    FIELD_PASS_RELEASED,
    FIELD_PASS_MOVED,
    FIELD_PASS_HANDED_OVER,
    FIELD_PASS_DELETED,
    FIELD_PASS_DEAD_LETTERED,
    FIELD_PASS_ACKED,
    FIELD_PASS_ACK_NONE,
    FIELD_PASS_USEC,
    FIELD_ENTRIES,
    FIELD_ENTRIES_ACKED,
    FIELD_HANDLER_OUTPUT,
    FIELD_HANDLER_OUTPUT_DROPPED,
    FIELD_WORKER,
    FIELD_HANDLERS,
    FIELD_DRAIN_TIMEOUT_USEC,
    FIELD_LOOP_LONGEST_TURN_USEC,
    FIELD_RECOVERIES,
    FIELD_RECOVERIES_CHANGED,
    FIELD_RECOVERIES_REMOVED,
    FIELD_RECOVERIES_ADDED,
    FIELD_SERVERS,
    FIELD_VERSION,
    FIELD_SIGNAL,
    FIELD_ERRNO,
    FIELD_HELD_BACK,
    FIELD_HELD_BACK_EVENT,
    _FIELD_MAX,
};

#define FIELD_BIT(field) (UINT64_C(1) << (field))

struct event_row {
    const char *name; /* for people and for the catalog */
    int level;        /* syslog(3) */
    const char *message_id;
    struct limit_rule limit; /* per subject */
    const char *about;       /* limited ones: "12 more records about ..." */
    uint64_t fields;         /* FIELD_BIT of all that it may carry */
};

const struct event_row *event_row(enum event event);
const char *field_name(enum field field);
