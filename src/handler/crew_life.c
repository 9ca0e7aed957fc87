/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The birth and the death of a crew, and its closing in between.
 */
#include "crew.h"

#include "environment.h"

#include <assert.h>
#include <errno.h>

void crew_close(struct handler *handler, bool kill) {
    struct crew *crew = handler->kind;

    crew->closing = true;
    for (size_t i = 0; i < crew->n; i++) {
        struct member *member = &crew->members[i];

        if (member->state == MEMBER_DOWN)
            timer_disarm(member->timer);
        else
            member_end(member,
                       kill || member->state == MEMBER_COMING ? MEMBER_KILLED : MEMBER_LEAVING,
                       NULL);
    }
}

bool crew_is_closed(const struct handler *handler) {
    const struct crew *crew = handler->kind;

    for (size_t i = 0; i < crew->n; i++)
        if (crew->members[i].state != MEMBER_DOWN)
            return false;
    return true;
}

static void tell_news(void *data) {
    const struct crew *crew = data;

    crew->handler->owner.changed(crew->handler->owner.data);
}

static int members_new(struct crew *crew) {
    int r = 0;

    crew->members = calloc(crew->n, sizeof(*crew->members));
    if (!crew->members)
        return -ENOMEM;
    for (size_t i = 0; i < crew->n && r == 0; i++) {
        struct member *member = &crew->members[i];

        member->crew = crew;
        member->connecting = -1;
        r = timer_new(crew->handler->loop, member_time_is_up, member, &member->timer);
    }
    return r;
}

int crew_new(struct handler *handler, const struct member_verbs *verbs, struct crew **ret) {
    const struct recovery_settings *settings = handler->settings;
    struct crew *crew = calloc(1, sizeof(*crew));

    if (!crew)
        return -ENOMEM;
    crew->handler = handler;
    crew->verbs = verbs;
    crew->n = (size_t)settings->workers;
    crew->share = (size_t)((settings->concurrency + settings->workers - 1) / settings->workers);
    int r = members_new(crew);
    if (r == 0)
        r = deferred_new(handler->loop, tell_news, crew, &crew->news);
    if (r < 0) {
        crew_free(crew);
        return r;
    }
    *ret = crew;
    return 0;
}

struct crew *crew_free(struct crew *crew) {
    if (!crew)
        return NULL;
    for (size_t i = 0; crew->members && i < crew->n; i++) {
        assert(crew->members[i].state == MEMBER_DOWN && !crew->members[i].runs);
        timer_free(crew->members[i].timer);
    }
    deferred_free(crew->news);
    environment_free(crew->environment);
    free(crew->members);
    free(crew);
    return NULL;
}
