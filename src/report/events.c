/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The table: name, level, MESSAGE_ID, rate limit and journal fields of each kind of record.
 *
 * What is about single entries can come in floods and is limited; changes of state and the
 * summaries of passes are made once by whoever reports them, and are not.
 */
#include "events.h"

#include <assert.h>
#include <syslog.h>

#define B(field) FIELD_BIT(FIELD_##field)

#define FIELDS_SUBJECT (B(RECOVERY) | B(STREAM) | B(GROUP) | B(CONSUMER))
#define FIELDS_ATTEMPT (B(ENTRY_ID) | B(DELIVERIES) | B(OUTCOME) | B(REASON) | B(DURATION_USEC))
#define FIELDS_PASS                                                                                \
    (B(PASS_PAGES) | B(PASS_CLAIMED) | B(PASS_OK) | B(PASS_FAILED) | B(PASS_REJECTED) |            \
     B(PASS_EXHAUSTED) | B(PASS_DEFERRED) | B(PASS_MISSING) | B(PASS_LOST) | B(PASS_RELEASED) |    \
     B(PASS_MOVED) | B(PASS_HANDED_OVER) | B(PASS_DELETED) | B(PASS_DEAD_LETTERED) |               \
     B(PASS_ACKED) | B(PASS_ACK_NONE) | B(PASS_USEC))

/* clang-format off */
#define LIMIT_ENTRIES {20, 30 * USEC_PER_SEC}
#define LIMIT_OUTPUT {200, 30 * USEC_PER_SEC}

#define ROW(event, text, priority, id, carries)                                                    \
    [EVENT_##event] = {.name = text, .level = LOG_##priority, .message_id = id, .fields = carries}
#define LIMITED(event, text, priority, id, most, noun, carries)                                    \
    [EVENT_##event] = {.name = text, .level = LOG_##priority, .message_id = id,                    \
                       .limit = most, .about = noun, .fields = carries}

static const struct event_row rows[_EVENT_MAX] = {
    ROW(STARTED, "started", NOTICE, "1f142c6382674f829966c4a550ffebf6",
        B(VERSION) | B(RECOVERIES) | B(SERVERS)),
    ROW(CONFIG_ERROR, "config-error", ERR, "610c7f82f17e40ba94f51a9cde7c5258", 0),
    ROW(CONFIG_WARNING, "config-warning", WARNING, "6ac7cd12611b46649c95838ffac772c4", 0),
    ROW(RELOADED, "reloaded", NOTICE, "7216adca8bbb4ee9a569250140802c7e",
        B(RECOVERIES) | B(RECOVERIES_CHANGED) | B(RECOVERIES_REMOVED) | B(RECOVERIES_ADDED)),
    ROW(RELOAD_FAILED, "reload-failed", ERR, "cb5d0cdd3c07424592ea47afc5f52a52", B(REASON)),
    ROW(STOPPING, "stopping", NOTICE, "552a922589374dda84194823b99d3ac5",
        B(SIGNAL) | B(HANDLERS) | B(ENTRIES) | B(DRAIN_TIMEOUT_USEC)),
    ROW(DRAIN_CUT_SHORT, "drain-cut-short", WARNING, "9ef1216904dc434f8b7b3071206eae88",
        B(HANDLERS) | B(REASON)),
    ROW(STOPPED, "stopped", NOTICE, "4bc8d5098d194e8984bddc3c5075eb31",
        B(LOOP_LONGEST_TURN_USEC)),
    ROW(BROKEN, "broken", ERR, "6ccca3ec845a43fc8b0cefbfe155632f",
        B(REASON) | B(ERRNO)),
    ROW(LINK_STATE, "link-state", DEBUG, "f64cf00ad0c6481dbdb312e5e3bf459d",
        B(REDIS) | B(STATE) | B(STATE_FROM)),
    ROW(LINK_UP, "link-up", NOTICE, "e2392060d75245a08151362bf1cc1b2d",
        B(REDIS) | B(REDIS_VERSION) | B(DURATION_USEC)),
    ROW(LINK_DOWN, "link-down", WARNING, "406805d2d58741deb18f1cc3ad3a5353",
        B(REDIS) | B(REDIS_ERROR) | B(REASON)),
    ROW(SERVER_FAULT, "server-fault", WARNING, "d4ea639c83bf41d69ededef7dd220e1d",
        B(REDIS) | B(REDIS_VERSION) | B(REASON)),
    ROW(RECOVERY_STATE, "recovery-state", DEBUG, "1b859a022778409c92b66649da20e3cb",
        FIELDS_SUBJECT | B(STATE) | B(STATE_FROM)),
    ROW(RECOVERY_DOWN, "recovery-down", WARNING, "034dcb0f37e94b728fab43c19afa3d12",
        FIELDS_SUBJECT | B(STATE) | B(REASON) | B(REDIS_ERROR)),
    ROW(RECOVERY_UP, "recovery-up", NOTICE, "60999f5f82234f1b8851bfb49d8bd8a0",
        FIELDS_SUBJECT | B(DURATION_USEC)),
    ROW(RECOVERY_PAUSED, "recovery-paused", NOTICE, "75a85398fa4d4d9f98bb56a819b87c78",
        FIELDS_SUBJECT | B(STATE)),
    ROW(PAGE, "page", DEBUG, "d16b579f7025455b8f278fb4c694f525",
        FIELDS_SUBJECT | B(PAGE_CURSOR) | B(PAGE_CURSOR_NEXT) | B(PAGE_CLAIMED) | B(PAGE_DELETED)),
    ROW(PASS, "pass", INFO, "1e1a9bcd5486406a8c5549e3b1283c91",
        FIELDS_SUBJECT | FIELDS_PASS),
    ROW(PASS_EMPTY, "pass-empty", DEBUG, "67ce6a6f3a64408291f561986248c8ae",
        FIELDS_SUBJECT | FIELDS_PASS),
    LIMITED(DELETED, "deleted", WARNING, "0a9ce7451b6d4e5f90c389cead26645a",
            LIMIT_ENTRIES, "deleted entries", FIELDS_SUBJECT | B(ENTRY_ID) | B(ENTRIES)),
    LIMITED(MISSING, "missing", WARNING, "31506e047239434ab7a1da257fc1b3de",
            LIMIT_ENTRIES, "missing entries", FIELDS_SUBJECT | B(ENTRY_ID)),
    LIMITED(LOST, "lost", WARNING, "0d2003863c474264807c34b5dca7a228",
            LIMIT_ENTRIES, "lost entries", FIELDS_SUBJECT | B(ENTRY_ID) | B(REASON)),
    LIMITED(NAME_CLASH, "name-clash", WARNING, "df3fc5b7372847dcb7dec03be2e324a9",
            LIMIT_ENTRIES, "a consumer name used twice", FIELDS_SUBJECT | B(ENTRY_ID)),
    ROW(ATTEMPT_BEGUN, "attempt-begun", DEBUG, "2983393386034ea98d455389cd8ec0b0",
        FIELDS_SUBJECT | B(ENTRY_ID) | B(DELIVERIES)),
    ROW(ATTEMPT_OK, "attempt-ok", DEBUG, "b49e6b05050241d18e2572d7b463b7fb",
        FIELDS_SUBJECT | FIELDS_ATTEMPT),
    LIMITED(ATTEMPT_FAILED, "attempt-failed", WARNING, "cbf9bc9dde984efeae521b4246564f4d",
            LIMIT_ENTRIES, "failed attempts", FIELDS_SUBJECT | FIELDS_ATTEMPT),
    LIMITED(ATTEMPT_REJECTED, "attempt-rejected", WARNING, "aa480b5fe929414482b7a1dd11efffe4",
            LIMIT_ENTRIES, "rejected entries", FIELDS_SUBJECT | FIELDS_ATTEMPT),
    LIMITED(EXHAUSTED, "exhausted", WARNING, "c4f3b3ce2c254dfea03d14682b673e56",
            LIMIT_ENTRIES, "exhausted entries",
            FIELDS_SUBJECT | B(ENTRY_ID) | B(DELIVERIES) | B(OUTCOME) | B(REASON)),
    LIMITED(DEAD_LETTERED, "dead-lettered", WARNING, "aba09b9291cc4ec88574a845a0c9bc92",
            LIMIT_ENTRIES, "dead-lettered entries",
            FIELDS_SUBJECT | B(ENTRY_ID) | B(DELIVERIES) | B(OUTCOME) | B(REASON) |
                B(DEAD_LETTER_STREAM)),
    ROW(ACKED, "acked", DEBUG, "eb9c16f821d147fea57c625935161cf7",
        FIELDS_SUBJECT | B(ENTRY_ID) | B(ENTRIES) | B(ENTRIES_ACKED)),
    LIMITED(ACK_NONE, "ack-none", WARNING, "fc1b703a1c334c03a22ac4e964073992",
            LIMIT_ENTRIES, "entries acked by others",
            FIELDS_SUBJECT | B(ENTRY_ID) | B(ENTRIES) | B(ENTRIES_ACKED)),
    ROW(RENEWED, "renewed", DEBUG, "fe3c927c4b2d49739279db27436c41a8",
        FIELDS_SUBJECT | B(ENTRIES)),
    ROW(RELEASED, "released", DEBUG, "8baee2319c6249c2b106eef3dfcd6d0e",
        FIELDS_SUBJECT | B(ENTRIES)),
    ROW(MOVED, "moved", DEBUG, "a15278325b204bad9c6eae807eda0bf1",
        FIELDS_SUBJECT | B(ENTRIES) | B(ENTRIES_ACKED) | B(TARGET_STREAM)),
    ROW(HANDED_OVER, "handed-over", DEBUG, "d101ab57a6234b3a8e1335ddf2cebf2d",
        FIELDS_SUBJECT | B(ENTRY_ID) | B(ENTRIES) | B(WORKLIST)),
    LIMITED(HANDLER_OUTPUT, "handler-output", INFO, "7c34e4eda71c46feb22269409274a75e",
            LIMIT_OUTPUT, "what handlers wrote", FIELDS_SUBJECT | B(ENTRY_ID) | B(HANDLER_OUTPUT)),
    LIMITED(OUTPUT_DROPPED, "output-dropped", INFO, "a6df8c1e98444a78987ab92e1d475e95",
            LIMIT_ENTRIES, "dropped handler output",
            FIELDS_SUBJECT | B(ENTRY_ID) | B(HANDLER_OUTPUT_DROPPED)),
    ROW(WORKER_UP, "worker-up", DEBUG, "cd756b523fc842c9a78375a676edb78e",
        FIELDS_SUBJECT | B(WORKER)),
    LIMITED(WORKER_ENDED, "worker-ended", NOTICE, "8c8ef7ea8f6647f2afa1461bf70a6e34",
            LIMIT_ENTRIES, "workers that ended",
            FIELDS_SUBJECT | B(WORKER) | B(REASON) | B(ENTRIES)),
    LIMITED(WORKER_OUTPUT, "worker-output", INFO, "d75e7cb75d85429ba11b86c633ea3084",
            LIMIT_OUTPUT, "what workers wrote", FIELDS_SUBJECT | B(WORKER) | B(HANDLER_OUTPUT)),
    LIMITED(WORKER_DROPPED, "worker-dropped", INFO, "f0939c647be34deda72d2d568867b729",
            LIMIT_ENTRIES, "dropped worker output",
            FIELDS_SUBJECT | B(WORKER) | B(HANDLER_OUTPUT_DROPPED)),
    /* Written at the level of what was held back. */
    ROW(HELD_BACK, "held-back", WARNING, "356e929348ba4132bec453705113eb7e",
        FIELDS_SUBJECT | B(HELD_BACK) | B(HELD_BACK_EVENT)),
};
/* clang-format on */

static const char *const field_names[_FIELD_MAX] = {
    [FIELD_RECOVERY] = "RECOVERY",
    [FIELD_STREAM] = "STREAM",
    [FIELD_GROUP] = "GROUP",
    [FIELD_CONSUMER] = "CONSUMER",
    [FIELD_ENTRY_ID] = "ENTRY_ID",
    [FIELD_DELIVERIES] = "DELIVERIES",
    [FIELD_OUTCOME] = "OUTCOME",
    [FIELD_REASON] = "REASON",
    [FIELD_DURATION_USEC] = "DURATION_USEC",
    [FIELD_DEAD_LETTER_STREAM] = "DEAD_LETTER_STREAM",
    [FIELD_TARGET_STREAM] = "TARGET_STREAM",
    [FIELD_WORKLIST] = "WORKLIST",
    [FIELD_STATE] = "STATE",
    [FIELD_STATE_FROM] = "STATE_FROM",
    [FIELD_REDIS] = "REDIS",
    [FIELD_REDIS_ERROR] = "REDIS_ERROR",
    [FIELD_REDIS_VERSION] = "REDIS_VERSION",
    [FIELD_PAGE_CURSOR] = "PAGE_CURSOR",
    [FIELD_PAGE_CURSOR_NEXT] = "PAGE_CURSOR_NEXT",
    [FIELD_PAGE_CLAIMED] = "PAGE_CLAIMED",
    [FIELD_PAGE_DELETED] = "PAGE_DELETED",
    [FIELD_PASS_PAGES] = "PASS_PAGES",
    [FIELD_PASS_CLAIMED] = "PASS_CLAIMED",
    [FIELD_PASS_OK] = "PASS_OK",
    [FIELD_PASS_FAILED] = "PASS_FAILED",
    [FIELD_PASS_REJECTED] = "PASS_REJECTED",
    [FIELD_PASS_EXHAUSTED] = "PASS_EXHAUSTED",
    [FIELD_PASS_DEFERRED] = "PASS_DEFERRED",
    [FIELD_PASS_MISSING] = "PASS_MISSING",
    [FIELD_PASS_LOST] = "PASS_LOST",
    [FIELD_PASS_RELEASED] = "PASS_RELEASED",
    [FIELD_PASS_MOVED] = "PASS_MOVED",
    [FIELD_PASS_HANDED_OVER] = "PASS_HANDED_OVER",
    [FIELD_PASS_DELETED] = "PASS_DELETED",
    [FIELD_PASS_DEAD_LETTERED] = "PASS_DEAD_LETTERED",
    [FIELD_PASS_ACKED] = "PASS_ACKED",
    [FIELD_PASS_ACK_NONE] = "PASS_ACK_NONE",
    [FIELD_PASS_USEC] = "PASS_USEC",
    [FIELD_ENTRIES] = "ENTRIES",
    [FIELD_ENTRIES_ACKED] = "ENTRIES_ACKED",
    [FIELD_HANDLER_OUTPUT] = "HANDLER_OUTPUT",
    [FIELD_HANDLER_OUTPUT_DROPPED] = "HANDLER_OUTPUT_DROPPED",
    [FIELD_WORKER] = "WORKER",
    [FIELD_HANDLERS] = "HANDLERS",
    [FIELD_DRAIN_TIMEOUT_USEC] = "DRAIN_TIMEOUT_USEC",
    [FIELD_LOOP_LONGEST_TURN_USEC] = "LOOP_LONGEST_TURN_USEC",
    [FIELD_RECOVERIES] = "RECOVERIES",
    [FIELD_RECOVERIES_CHANGED] = "RECOVERIES_CHANGED",
    [FIELD_RECOVERIES_REMOVED] = "RECOVERIES_REMOVED",
    [FIELD_RECOVERIES_ADDED] = "RECOVERIES_ADDED",
    [FIELD_SERVERS] = "SERVERS",
    [FIELD_VERSION] = "VERSION",
    [FIELD_SIGNAL] = "SIGNAL",
    [FIELD_ERRNO] = "ERRNO",
    [FIELD_HELD_BACK] = "HELD_BACK",
    [FIELD_HELD_BACK_EVENT] = "HELD_BACK_EVENT",
};

_Static_assert(_FIELD_MAX <= 64, "event_row.fields has a bit for each");

const struct event_row *event_row(enum event event) {
    assert(event < _EVENT_MAX);
    return &rows[event];
}

const char *field_name(enum field field) {
    assert(field < _FIELD_MAX);
    return field_names[field];
}
