/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The state of the whole daemon, as the control socket tells it.
 */
#include "inside.h"

#include "base/cleanup.h"
#include "control/status.h"
#include <errno.h>
#include <unistd.h>
#include <utlist.h>

static void copy_numbers(const struct report_pass *pass, uint64_t numbers[_STATUS_NUMBER_MAX]) {
    numbers[STATUS_CLAIMED] = pass->claimed;
    numbers[STATUS_OK] = pass->ok;
    numbers[STATUS_FAILED] = pass->failed;
    numbers[STATUS_REJECTED] = pass->rejected;
    numbers[STATUS_EXHAUSTED] = pass->exhausted;
    numbers[STATUS_DEFERRED] = pass->deferred;
    numbers[STATUS_MISSING] = pass->missing;
    numbers[STATUS_LOST] = pass->lost;
    numbers[STATUS_RELEASED] = pass->released;
    numbers[STATUS_MOVED] = pass->moved;
    numbers[STATUS_HANDED_OVER] = pass->handed_over;
    numbers[STATUS_DELETED] = pass->deleted;
    numbers[STATUS_DEAD_LETTERED] = pass->dead_lettered;
    numbers[STATUS_ACKED] = pass->acked;
}

/* Passes are accounted when they end; what can be counted while they go on is. */
static void copy_totals(const struct recovery_facts *facts, uint64_t numbers[_STATUS_NUMBER_MAX]) {
    const struct recovery_counters *live = facts->counters;

    copy_numbers(&facts->total, numbers);
    numbers[STATUS_CLAIMED] = live->claimed;
    numbers[STATUS_OK] = live->attempts_ok;
    numbers[STATUS_FAILED] = live->attempts_retry;
    numbers[STATUS_REJECTED] = live->attempts_reject;
    numbers[STATUS_MISSING] = live->missing;
    numbers[STATUS_LOST] = live->lost;
    numbers[STATUS_RELEASED] = live->released;
    numbers[STATUS_MOVED] = live->moved;
    numbers[STATUS_HANDED_OVER] = live->handed_over;
    numbers[STATUS_DELETED] = live->deleted;
    numbers[STATUS_DEAD_LETTERED] = live->dead_lettered;
    numbers[STATUS_ACKED] = live->acked;
}

static usec_t from_now(usec_t when, usec_t now) {
    return when == USEC_INFINITY ? USEC_INFINITY : usec_sub(when, now);
}

/* As the sentence has it: waiting and in error, too, where the recovery itself rests (its server is
 * away, or dead letters cannot be written). */
static const char *state_of(const struct recovery_facts *facts) {
    enum recovery_state state = facts->state;

    if (facts->trouble[0] != '\0' && (state == RECOVERY_RESTING || state == RECOVERY_SCANNING ||
                                      state == RECOVERY_WAITING || state == RECOVERY_FAILING))
        state = facts->trouble_is_error ? RECOVERY_FAILING : RECOVERY_WAITING;
    return recovery_state_to_string(state);
}

static void copy_recovery(const struct member *member, struct status_recovery *ret) {
    usec_t now = clock_monotonic();
    struct recovery_facts facts;

    recovery_facts(member->recovery, &facts);
    *ret = (struct status_recovery){
        .name = facts.settings->name,
        .state = state_of(&facts),
        .trouble = facts.trouble,
        .stream = facts.settings->stream,
        .group = facts.settings->group,
        .consumer = facts.settings->consumer,
        .redis = facts.settings->redis->name,
        .pending = facts.pending,
        .oldest = facts.pending > 0 ? status_age(facts.oldest.ms, clock_realtime() / USEC_PER_MSEC)
                                    : USEC_INFINITY,
        .held = facts.held,
        .running = facts.running,
        .next_scan = from_now(facts.next_scan, now),
        .last_pass = facts.last_pass_at > 0 ? usec_sub(now, facts.last_pass_at) : USEC_INFINITY,
        .passes = facts.passes,
    };
    copy_numbers(&facts.last_pass, ret->last);
    copy_totals(&facts, ret->total);
}

static void copy_server(const struct server *server, struct status_server *ret) {
    *ret = (struct status_server){
        .name = server->settings->name,
        .address = link_address(server->link),
        .state = link_state_to_string(link_state(server->link)),
        .trouble = link_is_up(server->link) ? "" : link_trouble(server->link),
        .recoveries = server->users,
    };
}

int snapshot_write(const struct daemon *d, FILE *out) {
    char sentence[NOTIFY_STATUS_MAX + 1], state[NOTIFY_STATUS_MAX + 1];
    CLEANUP_FREE struct status_recovery *recoveries = NULL;
    CLEANUP_FREE struct status_server *servers = NULL;
    struct control_status status = {.version = PROJECT_VERSION, .sentence = sentence};
    const struct member *member;
    const struct server *server;

    DL_COUNT(d->members, member, status.n_recoveries);
    DL_COUNT(d->servers, server, status.n_servers);
    recoveries = calloc(status.n_recoveries + 1, sizeof(*recoveries));
    servers = calloc(status.n_servers + 1, sizeof(*servers));
    if (!recoveries || !servers)
        return -ENOMEM;
    status_sentence(d, sentence, state);
    status.pid = (uint64_t)getpid();
    status.up = usec_sub(clock_boottime(), d->started);
    status.n_recoveries = status.n_servers = 0;
    DL_FOREACH (d->members, member)
        if (!member->gone)
            copy_recovery(member, &recoveries[status.n_recoveries++]);
    DL_FOREACH (d->servers, server)
        copy_server(server, &servers[status.n_servers++]);
    status.recoveries = recoveries;
    status.servers = servers;
    return status_write(&status, out);
}
