/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The members: who comes when, who goes why, and what their end means for what they held.
 *
 * Members are begun when they are needed, a few at a time. One that ends without having
 * answered anything is begun again after a back-off, and until somebody has answered it is the
 * only one: a program that cannot work is tried with one entry now and then, not with all. One
 * that has answered may end as it likes and is begun again at once.
 */
#include "crew.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#define BACKOFF_MIN (1 * USEC_PER_SEC)
#define BACKOFF_MAX (30 * USEC_PER_SEC)

/* Written in one piece, and read so. */
#define SMALL_REQUEST 4096

/* How many are on their way at once; a worker is begun in about half a millisecond. */
#define COMING_MAX 4

/* --- states ---------------------------------------------------------------------------------- */

#define BIT(state) (1u << (state))

static const unsigned ONLY_ASSERTED legal[] = {
    [MEMBER_DOWN] = BIT(MEMBER_COMING) | BIT(MEMBER_UP),
    [MEMBER_COMING] = BIT(MEMBER_UP) | BIT(MEMBER_KILLED) | BIT(MEMBER_DOWN),
    [MEMBER_UP] =
        BIT(MEMBER_LEAVING) | BIT(MEMBER_TOLD_TO_STOP) | BIT(MEMBER_KILLED) | BIT(MEMBER_DOWN),
    [MEMBER_LEAVING] = BIT(MEMBER_TOLD_TO_STOP) | BIT(MEMBER_KILLED) | BIT(MEMBER_DOWN),
    [MEMBER_TOLD_TO_STOP] = BIT(MEMBER_KILLED) | BIT(MEMBER_DOWN),
    [MEMBER_KILLED] = BIT(MEMBER_DOWN),
};

void member_enter(struct member *member, enum member_state state) {
    assert(legal[member->state] & BIT(state));
    member->state = state;
    if (state >= MEMBER_LEAVING)
        member->crew->verbs->enter(member, state);
}

void member_end(struct member *member, enum member_state how, const char *why) {
    if (member->state == MEMBER_DOWN || member->state >= how)
        return;
    if (why && member->why[0] == '\0')
        (void)snprintf(member->why, sizeof(member->why), "%s", why);
    member_enter(member, how);
}

/* --- coming ---------------------------------------------------------------------------------- */

static bool may_begin(const struct member *member) {
    const struct crew *crew = member->crew;

    return member->state == MEMBER_DOWN && !timer_armed(member->timer) && !crew->closing &&
           (!crew->suspect || crew->suspect == member);
}

/* It has ended, or could not begin, and has not answered. */
static void member_failed(struct member *member) {
    unsigned doublings = member->failures < 5 ? member->failures : 5;

    member->failures++;
    member->crew->suspect = member;
    timer_arm(member->timer, usec_min(BACKOFF_MIN << doublings, BACKOFF_MAX));
}

static void begin_some(struct crew *crew, size_t most) {
    for (size_t i = 0; i < crew->n && most > 0; i++) {
        if (!may_begin(&crew->members[i]))
            continue;
        most--;
        if (crew->verbs->begin(&crew->members[i]) != 0)
            member_failed(&crew->members[i]);
    }
}

static void back_off_is_over(struct member *member) {
    if (!member->crew->wanted)
        return;
    begin_some(member->crew, 1);
    deferred_call(member->crew->news);
}

void member_time_is_up(void *data) {
    struct member *member = data;

    if (member->state == MEMBER_DOWN)
        back_off_is_over(member);
    else
        member->crew->verbs->time_is_up(member);
}

/* --- answers --------------------------------------------------------------------------------- */

static bool all_are_stopping(const struct member *member) {
    return member->n_runs > 0 && member->n_stopping == member->n_runs;
}

/* `why` is the reason, unless we had given it up ourselves. */
static void run_ends(struct crew_run *run, enum outcome outcome, const char *why) {
    struct member *member = run->member;
    char reason[OUTCOME_REASON_MAX];

    HASH_DEL(member->runs, run);
    if (member->last == run)
        member->last = NULL;
    member->n_runs--;
    member->n_stopping -= run->cause != STOP_NONE;
    if (run->cause == STOP_TIMED_OUT)
        outcome = outcome_of_status(0, STOP_TIMED_OUT, run->base.handler->settings->handler_timeout,
                                    reason);
    else
        (void)snprintf(reason, sizeof(reason), "%s", why);
    handler_run_ended(&run->base, outcome, reason);
}

static void answered(struct crew_run *run, const struct protocol_answer *answer) {
    const struct recovery_settings *settings = run->base.handler->settings;
    /* Reasons are a handler's own words. */
    bool say = answer->reason[0] != '\0' && settings->handler_output != OUTPUT_NONE;

    switch (answer->verb) {
    case PROTOCOL_WORKING:
        if (run->cause == STOP_NONE)
            timer_arm(run->timer, settings->handler_timeout);
        break;
    case PROTOCOL_OK:
        run_ends(run, OUTCOME_OK, "answered ok");
        break;
    case PROTOCOL_RETRY:
        run_ends(run, OUTCOME_RETRY, say ? answer->reason : "answered retry");
        break;
    case PROTOCOL_REJECT:
        run_ends(run, OUTCOME_REJECT, say ? answer->reason : "answered reject");
        break;
    }
}

static bool not_understood(struct member *member, const char *why) {
    member->channel = channel_free(member->channel);
    member_end(member, MEMBER_TOLD_TO_STOP, why);
    return false;
}

static bool line_came(void *data, struct blob line) {
    struct member *member = data;
    struct protocol_answer answer;
    struct crew_run *run = NULL;

    if (!protocol_parse(line, &answer))
        return not_understood(member, "it wrote something that is no answer");
    HASH_FIND(hh, member->runs, &answer.id, sizeof(answer.id), run);
    if (!run || !run->request.sent)
        return not_understood(member, "it answered for an entry that it has not been given");
    member->answered = true;
    member->failures = 0;
    member->crew->suspect = NULL;
    answered(run, &answer);
    if (all_are_stopping(member))
        member_end(member, MEMBER_TOLD_TO_STOP, NULL);
    return member->channel != NULL;
}

static void channel_over(void *data, enum channel_end how) {
    struct member *member = data;

    member->channel = channel_free(member->channel);
    switch (how) {
    case CHANNEL_UNREAD:
    case CHANNEL_CLOSED:
        member->unread = how == CHANNEL_UNREAD;
        member_end(member, MEMBER_LEAVING, NULL);
        break;
    case CHANNEL_FAILED:
        member_end(member, MEMBER_TOLD_TO_STOP, "reading or writing failed");
        break;
    case CHANNEL_TOO_LONG:
        member_end(member, MEMBER_TOLD_TO_STOP, "it wrote a line of more than 4096 bytes");
        break;
    }
}

/* --- up and gone ----------------------------------------------------------------------------- */

int member_is_up(struct member *member, int fd) {
    const struct channel_owner owner = {line_came, channel_over, member};

    int r = channel_new(member->crew->handler->loop, fd, &owner, &member->channel);
    if (r < 0)
        return r;
    member->answered = member->asked = member->unread = false;
    member->why[0] = '\0';
    member_enter(member, MEMBER_UP);
    report_worker_up(member->crew->handler->subject, member->name);
    deferred_call(member->crew->news);
    return 0;
}

/* What ends with it, in words. */
static void describe_end(const struct member *member, const char *how, char *buf, size_t size) {
    const char *noun = member->crew->verbs->noun;

    if (member->asked)
        (void)snprintf(buf, size, "stopped: the %s ended: %s", noun, how);
    else if (member->why[0] != '\0')
        (void)snprintf(buf, size, "the %s was ended: %s", noun, member->why);
    else
        (void)snprintf(buf, size, "the %s ended: %s", noun, how);
}

/* It was not read, or not to its end: what was written last, of a member that has not read all.
 * Of a large one some may have been read, and been too much. */
static bool was_not_begun(const struct member *member, const struct crew_run *run) {
    if (run->request.written > SMALL_REQUEST || run->cause != STOP_NONE)
        return false;
    return !run->request.sent || (member->unread && run == member->last);
}

static void runs_end(struct member *member, const char *why) {
    while (member->runs) {
        struct crew_run *run = member->runs;

        run_ends(run, was_not_begun(member, run) ? OUTCOME_NOT_BEGUN : OUTCOME_RETRY, why);
    }
}

void member_is_gone(struct member *member, const char *how) {
    struct crew *crew = member->crew;
    char why[OUTCOME_REASON_MAX];

    describe_end(member, how, why, sizeof(why));
    member->channel = channel_free(member->channel);
    timer_disarm(member->timer);
    member_enter(member, MEMBER_DOWN);
    if (!member->asked && !crew->closing) {
        report_worker_ended(crew->handler->subject, member->name, why, member->n_runs);
        handler_go_away(crew->handler, "%s", why);
        if (!member->answered)
            member_failed(member);
    }
    runs_end(member, why);
    deferred_call(crew->news);
}

void member_cannot_come(struct member *member) {
    timer_disarm(member->timer);
    member_enter(member, MEMBER_DOWN);
    if (!member->crew->closing)
        member_failed(member);
    deferred_call(member->crew->news);
}

/* --- runs ------------------------------------------------------------------------------------ */

static struct crew_run *crew_run_of(struct handler_run *run) {
    return (struct crew_run *)(void *)run;
}

void crew_run_free(struct handler_run *base) {
    struct crew_run *run = crew_run_of(base);

    timer_free(run->timer);
    payload_free(run->request.payload);
    free(run);
}

static void run_time_is_up(void *data) {
    struct crew_run *run = data;
    char reason[OUTCOME_REASON_MAX], why[MEMBER_WHY_MAX];

    run->cause = STOP_TIMED_OUT;
    run->member->n_stopping++;
    (void)outcome_of_status(0, STOP_TIMED_OUT, run->base.handler->settings->handler_timeout,
                            reason);
    (void)snprintf(why, sizeof(why), "an entry %.100s", reason);
    member_end(run->member, MEMBER_TOLD_TO_STOP, why);
}

void crew_stop(struct handler_run *base, bool kill) {
    struct crew_run *run = crew_run_of(base);
    struct member *member = run->member;

    if (run->cause == STOP_NONE) {
        run->cause = STOP_ASKED;
        member->n_stopping++;
        timer_disarm(run->timer);
    }
    if (!kill && !all_are_stopping(member))
        return;
    member->asked = true;
    member_end(member, kill ? MEMBER_KILLED : MEMBER_TOLD_TO_STOP, NULL);
}

usec_t crew_deadline(const struct handler_run *base) {
    const struct crew_run *run = (const struct crew_run *)(const void *)base;

    return timer_due(run->member->state == MEMBER_UP ? run->timer : run->member->timer);
}

/* How many requests it may have at once. */
static size_t share_of(const struct member *member) {
    bool on_trial = !member->answered && (member->failures > 0 || member->crew->suspect);

    return on_trial ? 1 : member->crew->share;
}

/* Who has the least to do. */
static struct member *choose(struct crew *crew) {
    struct member *best = NULL;

    for (size_t i = 0; i < crew->n; i++) {
        struct member *member = &crew->members[i];

        if (member->state != MEMBER_UP || member->n_runs >= share_of(member))
            continue;
        if (!best || member->n_runs < best->n_runs)
            best = member;
        if (best->n_runs == 0)
            break;
    }
    return best;
}

static int run_new(struct member *member, const struct entry *entry, uint64_t deliveries,
                   struct crew_run **ret) {
    struct handler *handler = member->crew->handler;
    struct crew_run *run = calloc(1, sizeof(*run));

    if (!run)
        return -ENOMEM;
    run->base.handler = handler;
    run->member = member;
    run->id = entry->id;
    int r = timer_new(handler->loop, run_time_is_up, run, &run->timer);
    if (r == 0)
        r = payload_new(handler->settings, entry, deliveries, &run->request.payload);
    if (r == 0) {
        HASH_ADD(hh, member->runs, id, sizeof(run->id), run);
        if (!run->hh.tbl)
            r = -ENOMEM;
    }
    if (r < 0) {
        crew_run_free(&run->base);
        return r;
    }
    *ret = run;
    return 0;
}

int crew_start(struct handler *handler, const struct entry *entry, uint64_t deliveries,
               struct handler_run **ret) {
    struct crew *crew = handler->kind;
    struct crew_run *run;
    struct member *member = choose(crew);
    size_t room;

    if (!member) {
        int r = crew_room(handler, &room);
        if (r != 0)
            return r;
        member = choose(crew);
    }
    if (!member)
        return HANDLER_E_BUSY;
    if (run_new(member, entry, deliveries, &run) < 0)
        return handler_go_away(handler, "cannot give an entry to a handler: %s", strerror(ENOMEM));
    member->n_runs++;
    if (member->err)
        output_account_renew(&member->account);
    timer_arm(run->timer, handler->settings->handler_timeout);
    member->last = run;
    channel_send(member->channel, &run->request);
    *ret = &run->base;
    return 0;
}

/* --- room ------------------------------------------------------------------------------------ */

struct places {
    size_t free;   /* requests that could be given now */
    size_t idle;   /* members without any */
    size_t up;     /* members, idle or not */
    size_t coming; /* members that will be up, or down and begun again, soon */
    size_t begin;  /* members that could be begun */
};

static struct places count_places(const struct crew *crew) {
    struct places places = {0};

    for (size_t i = 0; i < crew->n; i++) {
        const struct member *member = &crew->members[i];
        size_t share = share_of(member);

        switch (member->state) {
        case MEMBER_DOWN:
            places.begin += may_begin(member);
            break;
        case MEMBER_UP:
            places.up++;
            places.idle += member->n_runs == 0;
            places.free += share > member->n_runs ? share - member->n_runs : 0;
            break;
        case MEMBER_COMING:
        case MEMBER_LEAVING:
        case MEMBER_TOLD_TO_STOP:
        case MEMBER_KILLED:
            places.coming++;
            break;
        }
    }
    return places;
}

int crew_room(struct handler *handler, size_t *ret) {
    struct crew *crew = handler->kind;
    struct places places = count_places(crew);

    if (places.idle == 0 && places.begin > 0 && places.coming < COMING_MAX) {
        begin_some(crew, COMING_MAX - places.coming);
        places = count_places(crew);
    }
    crew->wanted = places.free == 0;
    if (places.up + places.coming + places.begin == 0 && !crew->closing)
        return HANDLER_E_AWAY;
    *ret = places.free;
    return 0;
}
