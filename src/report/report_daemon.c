/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What is said about the daemon itself and about its links: no subject, no limits.
 */
#include "record.h"
#include "wording.h"

#include <inttypes.h>
#include <string.h>

void report_started_(struct report_place place, const char *version, size_t recoveries,
                     size_t servers) {
    struct record record;

    if (!record_begin(&record, EVENT_STARTED, place))
        return;
    record_say(&record, "started, version %s: ", wording_plain(version).text);
    if (recoveries == 0)
        record_say(&record, "nothing to do, no [recovery] is configured");
    else
        record_say(&record, "%zu %s on %zu %s", recoveries,
                   wording_plural(recoveries, "recovery", "recoveries"), servers,
                   wording_plural(servers, "server", "servers"));
    record_text(&record, FIELD_VERSION, version);
    record_number(&record, FIELD_RECOVERIES, recoveries);
    record_number(&record, FIELD_SERVERS, servers);
    record_send(&record);
}

void report_config_error_(struct report_place place, const char *line) {
    struct record record;

    if (!record_begin(&record, EVENT_CONFIG_ERROR, place))
        return;
    record_say_plain(&record, line);
    record_send(&record);
}

void report_config_warning_(struct report_place place, const char *line) {
    static const char prefix[] = "warning: "; /* the level says it */
    struct record record;

    if (!record_begin(&record, EVENT_CONFIG_WARNING, place))
        return;
    record_say_plain(&record,
                     strncmp(line, prefix, strlen(prefix)) == 0 ? line + strlen(prefix) : line);
    record_send(&record);
}

void report_reloaded_(struct report_place place, const struct report_reload *reload) {
    struct record record;

    if (!record_begin(&record, EVENT_RELOADED, place))
        return;
    record_say(&record, "reloaded: %zu %s unchanged, %zu changed, %zu removed, %zu new",
               reload->unchanged, wording_plural(reload->unchanged, "recovery", "recoveries"),
               reload->changed, reload->removed, reload->added);
    record_number(&record, FIELD_RECOVERIES, reload->unchanged + reload->changed + reload->added);
    record_number(&record, FIELD_RECOVERIES_CHANGED, reload->changed);
    record_number(&record, FIELD_RECOVERIES_REMOVED, reload->removed);
    record_number(&record, FIELD_RECOVERIES_ADDED, reload->added);
    record_send(&record);
}

void report_reload_failed_(struct report_place place, const char *where) {
    struct record record;

    if (!record_begin(&record, EVENT_RELOAD_FAILED, place))
        return;
    record_say(&record, "reload failed at %s: the old configuration is in force",
               wording_plain(where).text);
    record_text(&record, FIELD_REASON, where);
    record_send(&record);
}

void report_stopping_(struct report_place place, const char *signal, size_t running, size_t held,
                      usec_t drain_timeout) {
    struct record record;

    if (!record_begin(&record, EVENT_STOPPING, place))
        return;
    record_say(&record, "stopping on %s: %zu %s running, %zu %s held; waiting at most %s",
               wording_plain(signal).text, running, wording_plural(running, "handler", "handlers"),
               held, wording_plural(held, "entry", "entries"),
               wording_duration(drain_timeout).text);
    record_text(&record, FIELD_SIGNAL, signal);
    record_number(&record, FIELD_HANDLERS, running);
    record_number(&record, FIELD_ENTRIES, held);
    record_number(&record, FIELD_DRAIN_TIMEOUT_USEC, drain_timeout);
    record_send(&record);
}

void report_drain_cut_short_(struct report_place place, size_t running, const char *why) {
    struct record record;

    if (!record_begin(&record, EVENT_DRAIN_CUT_SHORT, place))
        return;
    record_say(&record,
               "drain cut short (%s): %zu %s still running; what is not acknowledged stays pending "
               "and will be claimed again",
               wording_plain(why).text, running, wording_plural(running, "handler", "handlers"));
    record_number(&record, FIELD_HANDLERS, running);
    record_text(&record, FIELD_REASON, why);
    record_send(&record);
}

void report_stopped_(struct report_place place, usec_t longest_turn) {
    struct record record;

    if (!record_begin(&record, EVENT_STOPPED, place))
        return;
    record_say(&record, "stopped");
    record_number(&record, FIELD_LOOP_LONGEST_TURN_USEC, longest_turn);
    record_send(&record);
}

void report_broken_(struct report_place place, const char *what, int error) {
    const char *text = strerrordesc_np(-error);
    struct record record;

    if (!record_begin(&record, EVENT_BROKEN, place))
        return;
    record_say(&record, "cannot go on: %s: %s", wording_plain(what).text,
               text ? text : "unknown error");
    record_text(&record, FIELD_REASON, what);
    record_number(&record, FIELD_ERRNO, (uint64_t)-error);
    record_send(&record);
}

/* --- links ----------------------------------------------------------------------------------- */

static bool link_begin(struct record *record, enum event event, struct report_place place,
                       const char *redis) {
    if (!record_begin(record, event, place))
        return false;
    record_say(record, "redis %s: ", wording_plain(redis).text);
    record_text(record, FIELD_REDIS, redis);
    return true;
}

void report_link_state_(struct report_place place, const char *redis, const char *address,
                        const char *from, const char *to) {
    struct record record;

    if (!link_begin(&record, EVENT_LINK_STATE, place, redis))
        return;
    record_say(&record, "%s -> %s", wording_plain(from).text, wording_plain(to).text);
    if (*address != '\0')
        record_say(&record, " (%s)", wording_plain(address).text);
    record_text(&record, FIELD_STATE, to);
    record_text(&record, FIELD_STATE_FROM, from);
    record_send(&record);
}

void report_link_up_(struct report_place place, const char *redis, const char *brand,
                     const char *version, usec_t outage) {
    struct record record;

    if (!link_begin(&record, EVENT_LINK_UP, place, redis))
        return;
    record_say(&record, "connected");
    if (outage > 0)
        record_say(&record, " again after %s", wording_duration(outage).text);
    if (*version != '\0')
        record_say(&record, ", %s %s", wording_plain(brand).text, wording_plain(version).text);
    record_text(&record, FIELD_REDIS_VERSION, version);
    record_number(&record, FIELD_DURATION_USEC, outage);
    record_send(&record);
}

void report_link_down_(struct report_place place, const char *redis, const char *reason,
                       const char *error_word) {
    struct record record;

    if (!link_begin(&record, EVENT_LINK_DOWN, place, redis))
        return;
    record_say(&record, "down: %s", wording_plain(reason).text);
    if (error_word && !strstr(reason, error_word))
        record_say(&record, " (%s)", wording_plain(error_word).text);
    record_say(&record, "; tried again until it is back, nothing is claimed meanwhile");
    record_text(&record, FIELD_REASON, reason);
    if (error_word)
        record_text(&record, FIELD_REDIS_ERROR, error_word);
    record_send(&record);
}

void report_server_fault_(struct report_place place, const char *redis, const char *version,
                          const char *fault) {
    struct record record;

    if (!link_begin(&record, EVENT_SERVER_FAULT, place, redis))
        return;
    record_say(&record, "version %s has a known fault: %s", wording_plain(version).text,
               wording_plain(fault).text);
    record_text(&record, FIELD_REDIS_VERSION, version);
    record_text(&record, FIELD_REASON, fault);
    record_send(&record);
}
