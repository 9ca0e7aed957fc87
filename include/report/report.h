/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The only voice of the program: one function for each thing that can happen. A table
 * (report/events.c) gives each its level, MESSAGE_ID, journal fields and rate limit; domain
 * code hands over facts, never sentences.
 *
 * Nothing here takes a field name or value of a stream entry, or a credential. Names of
 * recoveries, streams, groups and consumers are made printable for the sentence. Of a server's
 * error only the first word comes in.
 *
 * The functions are macros that add the caller's place, so that CODE_FILE and CODE_LINE of a
 * record are the caller's.
 */
#pragma once

#include "base/clock.h"
#include "base/entry_id.h"
#include "base/error.h"
#include "base/text.h"
#include "report/metrics.h"
#include <stdbool.h>

struct report_place {
    const char *file;
    int line;
    const char *function;
};
#define REPORT_HERE ((struct report_place){__FILE__, __LINE__, __func__})

/* --- what a record is about ------------------------------------------------------------------ */

/* One recovery, as its records name it, with its counters and rate limits. Strings are copied. */
struct report_subject;
MUST_CHECK int report_subject_new(const char *recovery, const char *stream, const char *group,
                                  const char *consumer, struct report_subject **ret);
/* Says how many records were held back, if any. */
struct report_subject *report_subject_free(struct report_subject *subject);
const struct recovery_counters *report_counters(const struct report_subject *subject);

/* --- the daemon ------------------------------------------------------------------------------ */

void report_started_(struct report_place place, const char *version, size_t recoveries,
                     size_t servers);
void report_config_error_(struct report_place place, const char *line);
void report_config_warning_(struct report_place place, const char *line);
/* A reload: how many recoveries go on as they are, begin anew with other settings, end, and are
 * new. */
struct report_reload {
    size_t unchanged;
    size_t changed;
    size_t removed;
    size_t added;
};
void report_reloaded_(struct report_place place, const struct report_reload *reload);
/* The old configuration stays in force; why is told in records of its own. where: "file:line". */
void report_reload_failed_(struct report_place place, const char *where);
/* `signal`: "SIGTERM"... ; held: entries; running: handlers. */
void report_stopping_(struct report_place place, const char *signal, size_t running, size_t held,
                      usec_t drain_timeout);
void report_drain_cut_short_(struct report_place place, size_t running, const char *why);
/* longest_turn: of the event loop, since the start. */
void report_stopped_(struct report_place place, usec_t longest_turn);
/* A failure of the program itself: `what` names the step, error is a negative errno. */
void report_broken_(struct report_place place, const char *what, int error);

/* --- a link to a server; `redis` is its address for people ----------------------------------- */

/* address: the numeric one where `redis` has a name, else "". */
void report_link_state_(struct report_place place, const char *redis, const char *address,
                        const char *from, const char *to);
/* version may be ""; `outage`: how long it had been away, 0 at the first time. */
void report_link_up_(struct report_place place, const char *redis, const char *brand,
                     const char *version, usec_t outage);
/* One record when it goes away, however often the reconnect fails. `error_word`: the first word
 * of a server's error, or NULL. */
void report_link_down_(struct report_place place, const char *redis, const char *reason,
                       const char *error_word);
/* A server version with known faults. */
void report_server_fault_(struct report_place place, const char *redis, const char *version,
                          const char *fault);

/* --- the state of a recovery ----------------------------------------------------------------- */

void report_recovery_state_(struct report_place place, struct report_subject *subject,
                            const char *from, const char *to);
/* Entered once, left once: `state` is "waiting" or "error"; reason is a sentence that says what
 * to do; error_word as above, or NULL. */
void report_recovery_down_(struct report_place place, struct report_subject *subject,
                           const char *state, const char *reason, const char *error_word);
void report_recovery_up_(struct report_place place, struct report_subject *subject, usec_t outage);
/* Somebody has paused or resumed it. */
void report_recovery_paused_(struct report_place place, struct report_subject *subject,
                             bool paused);

/* --- scanning -------------------------------------------------------------------------------- */

struct report_page {
    const char *cursor;
    const char *cursor_next;
    size_t claimed;
    size_t deleted;
};
void report_page_(struct report_place place, struct report_subject *subject,
                  const struct report_page *page);

/* A pass record balances: claimed = ok + failed + rejected + exhausted + deferred + missing +
 * lost + released + moved + handed_over. */
struct report_pass {
    uint64_t pages;
    uint64_t claimed;
    uint64_t ok;
    uint64_t failed;
    uint64_t rejected;
    uint64_t exhausted;
    uint64_t deferred;
    uint64_t missing;
    uint64_t lost;
    uint64_t released;
    uint64_t moved;       /* move */
    uint64_t handed_over; /* claim-only */
    uint64_t deleted;
    uint64_t dead_lettered;
    uint64_t acked;
    uint64_t ack_none;
    usec_t duration;
    bool in_trouble; /* a try that failed: debug, as the trouble has been reported */
};
/* info where something was claimed or deleted, else debug. Also says what was held back. */
void report_pass_(struct report_place place, struct report_subject *subject,
                  const struct report_pass *pass);

/* --- entries --------------------------------------------------------------------------------- */

/* IDs that the server found deleted while they were pending. */
void report_deleted_(struct report_place place, struct report_subject *subject,
                     const struct entry_id *ids, size_t n);
/* Held and gone from the stream. `acked`: by `missing = ack`. */
void report_missing_(struct report_place place, struct report_subject *subject, struct entry_id id,
                     bool acked);
void report_lost_(struct report_place place, struct report_subject *subject, struct entry_id id,
                  const char *reason);
void report_name_clash_(struct report_place place, struct report_subject *subject,
                        struct entry_id id);
/* The handler has been given the entry. debug. */
void report_attempt_begun_(struct report_place place, struct report_subject *subject,
                           struct entry_id id, uint64_t deliveries);
enum report_outcome {
    REPORT_OK,
    REPORT_RETRY,
    REPORT_LAST, /* retry, and there will be no other */
    REPORT_REJECT,
};
/* ok: debug; retry and reject: warning. reason: printable. */
void report_attempt_ended_(struct report_place place, struct report_subject *subject,
                           struct entry_id id, uint64_t deliveries, enum report_outcome outcome,
                           const char *reason, usec_t duration);
/* Left pending for good. */
void report_exhausted_(struct report_place place, struct report_subject *subject,
                       struct entry_id id, uint64_t deliveries, const char *reason);
/* Copied to the dead letter stream `target` and acknowledged (acked: what XACK said). outcome:
 * "reject", "exhausted". */
void report_dead_lettered_(struct report_place place, struct report_subject *subject,
                           struct entry_id id, uint64_t deliveries, const char *outcome,
                           const char *reason, const char *target, uint64_t acked);
/* One answered XACK: `sent` different IDs, `acked` the integer it returned. `repeated`: sent
 * again after a lost answer, so its zeros prove nothing. */
void report_acked_(struct report_place place, struct report_subject *subject,
                   const struct entry_id *ids, size_t sent, uint64_t acked, bool repeated);
void report_renewed_(struct report_place place, struct report_subject *subject, size_t ids);
/* Given back at a drain: released = the server confirmed it. */
void report_released_(struct report_place place, struct report_subject *subject, size_t ids);
/* One page of `move`: so many entries are in `target` now, and acknowledged (acked: what XACK said,
 * also for what `missing = ack` acknowledged). */
void report_moved_(struct report_place place, struct report_subject *subject, size_t entries,
                   uint64_t acked, const char *target);
/* One page of `claim-only`. worklist: NULL: there is none. */
void report_handed_over_(struct report_place place, struct report_subject *subject,
                         const struct entry_id *ids, size_t n, const char *worklist);
/* One line that a handler wrote; stream is "stdout" or "stderr". line: printable. */
void report_handler_output_(struct report_place place, struct report_subject *subject,
                            struct entry_id id, const char *stream, const char *line);
/* Handler output that was read and not logged. */
void report_output_dropped_(struct report_place place, struct report_subject *subject,
                            struct entry_id id, uint64_t bytes);

/* --- workers: handlers that stay ------------------------------------------------------------- */

/* worker: its name for people: "worker 4711", "unix:/run/orders.sock". debug. */
void report_worker_up_(struct report_place place, struct report_subject *subject,
                       const char *worker);
/* It ended by itself, or had to be ended; held: requests that it had not answered. */
void report_worker_ended_(struct report_place place, struct report_subject *subject,
                          const char *worker, const char *reason, size_t held);
/* As the two above, of what was written by a worker, for no entry in particular. */
void report_worker_output_(struct report_place place, struct report_subject *subject,
                           const char *worker, const char *stream, const char *line);
void report_worker_dropped_(struct report_place place, struct report_subject *subject,
                            const char *worker, uint64_t bytes);

#define report_started(...) report_started_(REPORT_HERE, __VA_ARGS__)
#define report_config_error(...) report_config_error_(REPORT_HERE, __VA_ARGS__)
#define report_config_warning(...) report_config_warning_(REPORT_HERE, __VA_ARGS__)
#define report_reloaded(...) report_reloaded_(REPORT_HERE, __VA_ARGS__)
#define report_reload_failed(...) report_reload_failed_(REPORT_HERE, __VA_ARGS__)
#define report_stopping(...) report_stopping_(REPORT_HERE, __VA_ARGS__)
#define report_drain_cut_short(...) report_drain_cut_short_(REPORT_HERE, __VA_ARGS__)
#define report_stopped(...) report_stopped_(REPORT_HERE, __VA_ARGS__)
#define report_broken(...) report_broken_(REPORT_HERE, __VA_ARGS__)
#define report_link_state(...) report_link_state_(REPORT_HERE, __VA_ARGS__)
#define report_link_up(...) report_link_up_(REPORT_HERE, __VA_ARGS__)
#define report_link_down(...) report_link_down_(REPORT_HERE, __VA_ARGS__)
#define report_server_fault(...) report_server_fault_(REPORT_HERE, __VA_ARGS__)
#define report_recovery_state(...) report_recovery_state_(REPORT_HERE, __VA_ARGS__)
#define report_recovery_down(...) report_recovery_down_(REPORT_HERE, __VA_ARGS__)
#define report_recovery_paused(...) report_recovery_paused_(REPORT_HERE, __VA_ARGS__)
#define report_recovery_up(...) report_recovery_up_(REPORT_HERE, __VA_ARGS__)
#define report_page(...) report_page_(REPORT_HERE, __VA_ARGS__)
#define report_pass(...) report_pass_(REPORT_HERE, __VA_ARGS__)
#define report_deleted(...) report_deleted_(REPORT_HERE, __VA_ARGS__)
#define report_missing(...) report_missing_(REPORT_HERE, __VA_ARGS__)
#define report_lost(...) report_lost_(REPORT_HERE, __VA_ARGS__)
#define report_name_clash(...) report_name_clash_(REPORT_HERE, __VA_ARGS__)
#define report_attempt_begun(...) report_attempt_begun_(REPORT_HERE, __VA_ARGS__)
#define report_attempt_ended(...) report_attempt_ended_(REPORT_HERE, __VA_ARGS__)
#define report_exhausted(...) report_exhausted_(REPORT_HERE, __VA_ARGS__)
#define report_dead_lettered(...) report_dead_lettered_(REPORT_HERE, __VA_ARGS__)
#define report_acked(...) report_acked_(REPORT_HERE, __VA_ARGS__)
#define report_renewed(...) report_renewed_(REPORT_HERE, __VA_ARGS__)
#define report_released(...) report_released_(REPORT_HERE, __VA_ARGS__)
#define report_moved(...) report_moved_(REPORT_HERE, __VA_ARGS__)
#define report_handed_over(...) report_handed_over_(REPORT_HERE, __VA_ARGS__)
#define report_handler_output(...) report_handler_output_(REPORT_HERE, __VA_ARGS__)
#define report_output_dropped(...) report_output_dropped_(REPORT_HERE, __VA_ARGS__)
#define report_worker_up(...) report_worker_up_(REPORT_HERE, __VA_ARGS__)
#define report_worker_ended(...) report_worker_ended_(REPORT_HERE, __VA_ARGS__)
#define report_worker_output(...) report_worker_output_(REPORT_HERE, __VA_ARGS__)
#define report_worker_dropped(...) report_worker_dropped_(REPORT_HERE, __VA_ARGS__)
