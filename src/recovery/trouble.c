/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Troubles: which sentence, which state, when to try again.
 */
#include "inside.h"
#include "policy.h"

#include "base/random.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *const order_names[_ORDER_MAX] = {
    [ORDER_NONE] = "",         [ORDER_XPENDING] = "XPENDING", [ORDER_XAUTOCLAIM] = "XAUTOCLAIM",
    [ORDER_XCLAIM] = "XCLAIM", [ORDER_XRANGE] = "XRANGE",     [ORDER_XACK] = "XACK",
    [ORDER_EXISTS] = "EXISTS", [ORDER_TIME] = "TIME",         [ORDER_SCRIPT] = "EVALSHA",
    [ORDER_MOVE] = "EVALSHA",  [ORDER_RPUSH] = "RPUSH",       [ORDER_HANDLER] = "",
    [ORDER_ANY_WRITE] = "",
};

static const char *order_to_string(enum order order) {
    return order_names[order];
}

bool trouble_is_error(enum trouble_kind kind) {
    switch (kind) {
    case TROUBLE_NONE:
    case TROUBLE_GROUP:
    case TROUBLE_TRANSIENT:
    case TROUBLE_HANDLER:
    case TROUBLE_SLOW:
        return false;
    case TROUBLE_TYPE:
    case TROUBLE_PERMISSION:
    case TROUBLE_TOO_OLD:
    case TROUBLE_CLUSTER:
    case TROUBLE_OTHER:
    case _TROUBLE_MAX:
        break;
    }
    return true;
}

usec_t trouble_wait(enum trouble_kind kind, unsigned tries, usec_t interval, usec_t min_idle) {
    switch (kind) {
    case TROUBLE_TRANSIENT:
        return policy_double(100 * USEC_PER_MSEC, tries, usec_max(interval, USEC_PER_SEC));
    case TROUBLE_HANDLER:
        return usec_max(interval, policy_double(USEC_PER_SEC, tries, 30 * USEC_PER_SEC));
    case TROUBLE_SLOW:
        return min_idle / 4;
    case TROUBLE_NONE:
    case TROUBLE_GROUP:
    case TROUBLE_TYPE:
    case TROUBLE_PERMISSION:
    case TROUBLE_TOO_OLD:
    case TROUBLE_CLUSTER:
    case TROUBLE_OTHER:
    case _TROUBLE_MAX:
        break;
    }
    return interval;
}

bool trouble_blocks(const struct recovery *r, enum order order) {
    return r->trouble.kind != TROUBLE_NONE && r->trouble.order == order && !r->retrying;
}

/* Several orders may be refused in turn. Where the sentence names the order each is news once. */
static bool is_news(struct trouble *t, enum trouble_kind kind, enum order order,
                    const char *phrase) {
    bool by_order = kind == TROUBLE_PERMISSION || kind == TROUBLE_TOO_OLD || kind == TROUBLE_OTHER;
    unsigned bit = by_order ? 1u << order : 1u;
    bool other_words =
        t->kind == kind && (t->order == order || !by_order) && strcmp(t->phrase, phrase) != 0;
    bool news = !(t->told[kind] & bit) || other_words;

    t->told[kind] |= bit;
    return news;
}

static void note_trouble(struct trouble *t, enum trouble_kind kind, enum order order,
                         const char *phrase) {
    if (t->kind == TROUBLE_NONE)
        t->since = clock_monotonic();
    if (t->kind != kind)
        t->tries = 0;
    t->kind = kind;
    t->order = order;
    (void)snprintf(t->phrase, sizeof(t->phrase), "%s", phrase);
}

/* The one door into a trouble. The same one again is no news. */
static void trouble_enter(struct recovery *r, enum trouble_kind kind, enum order order,
                          const char *phrase, const char *advice, const char *word) {
    struct trouble *t = &r->trouble;
    bool news = is_news(t, kind, order, phrase);
    /* Orders that do not wait for the next try, such as renewals, do not put it off either. */
    bool is_try = t->kind != kind || r->retrying || !timer_armed(r->timer);
    char sentence[2 * TROUBLE_PHRASE_MAX];

    r->retrying = false;
    note_trouble(t, kind, order, phrase);
    if (news) {
        (void)snprintf(sentence, sizeof(sentence), "%s%s%s", phrase, advice ? ": " : "",
                       advice ? advice : "");
        report_recovery_down(r->subject, trouble_is_error(kind) ? "error" : "waiting", sentence,
                             word && word[0] != '\0' ? word : NULL);
    }
    recovery_changed(r);
    if (r->mode == RECOVERY_ONCE && kind != TROUBLE_SLOW)
        scan_abort(r); /* nobody waits for it to mend */
    if (r->state != RECOVERY_GONE) {
        if (r->state != RECOVERY_DRAINING && r->state != RECOVERY_PAUSED)
            recovery_enter(r, trouble_is_error(kind) ? RECOVERY_FAILING : RECOVERY_WAITING);
        if (is_try)
            timer_arm(r->timer, policy_jitter(trouble_wait(kind, t->tries++, r->settings->interval,
                                                           r->settings->min_idle),
                                              random_u32()));
    }
    recovery_wake(r);
}

void trouble_leave(struct recovery *r, enum order order) {
    struct trouble *t = &r->trouble;

    if (t->kind == TROUBLE_NONE || t->order != order)
        return;
    report_recovery_up(r->subject, usec_sub(clock_monotonic(), t->since));
    *t = (struct trouble){.kind = TROUBLE_NONE};
    r->retrying = false;
    if (r->state == RECOVERY_WAITING || r->state == RECOVERY_FAILING) {
        recovery_enter(r, r->scan.active ? RECOVERY_SCANNING : RECOVERY_RESTING);
        if (!r->scan.active) /* nothing is known of what became idle meanwhile */
            timer_arm(r->timer, 0);
    }
    recovery_changed(r);
    recovery_wake(r);
}

/* --- no such key, or no such group? ---------------------------------------------------------- */

static void group_trouble(struct recovery *r, bool known, bool key_exists) {
    char phrase[TROUBLE_PHRASE_MAX], stream[80], group[80];
    const struct recovery_settings *s = r->settings;

    text_printable((struct blob){s->stream, strlen(s->stream)}, stream, sizeof(stream));
    text_printable((struct blob){s->group, strlen(s->group)}, group, sizeof(group));
    if (!known)
        (void)snprintf(phrase, sizeof(phrase), "no stream \"%s\" or no group \"%s\"", stream,
                       group);
    else if (key_exists)
        (void)snprintf(phrase, sizeof(phrase), "no group \"%s\"", group);
    else
        (void)snprintf(phrase, sizeof(phrase), "no stream \"%s\"", stream);
    trouble_enter(r, TROUBLE_GROUP, ORDER_XPENDING, phrase,
                  "its consumers create it (XGROUP CREATE), or the configuration names another one",
                  "NOGROUP");
}

static void key_reply(void *data, const struct answer *answer, bool exists) {
    struct recovery *r = data;
    bool known = recovery_answered(r, ORDER_EXISTS, answer);

    if (answer->kind != ANSWER_UNKNOWN)
        group_trouble(r, known, exists);
}

static void no_group(struct recovery *r) {
    scan_abort(r);
    settle_all_void(r);
    if (!recovery_sent(r, command_key_exists(r->parts.link, &r->ref, key_reply, r)))
        group_trouble(r, false, false);
}

/* --- the others ------------------------------------------------------------------------------ */

/* XCLAIM is refused: what is held can neither be kept, started nor given back. */
static void leave_all_unstarted(struct recovery *r) {
    static const enum held_state unstarted[] = {HELD_CLAIMED, HELD_COUNTING, HELD_READY,
                                                HELD_RETURNING};

    for (size_t i = 0; i < sizeof(unstarted) / sizeof(unstarted[0]); i++)
        LEDGER_FOREACH (&r->ledger, unstarted[i], held)
            settle(r, held, SETTLED_DEFERRED);
}

static bool belongs_to_scan(enum order order) {
    return order == ORDER_XPENDING || order == ORDER_XAUTOCLAIM || order == ORDER_MOVE ||
           order == ORDER_RPUSH;
}

static void refused(struct recovery *r, enum trouble_kind kind, enum order order,
                    const char *phrase, const char *advice, const char *word) {
    if (order == ORDER_XCLAIM)
        leave_all_unstarted(r);
    if (belongs_to_scan(order))
        scan_abort(r);
    trouble_enter(r, kind, order, phrase, advice, word);
}

/* --- where the entries go -------------------------------------------------------------------- */

/* True if it is about the key that the entries, or their IDs, go to. */
static bool target_refused(struct recovery *r, enum order order, const struct answer *answer) {
    bool is_list = order == ORDER_RPUSH;
    const char *key = is_list ? "worklist" : "target_stream";
    char phrase[TROUBLE_PHRASE_MAX];

    if (strcmp(answer->word, "CROSSSLOT") == 0) {
        refused(r, TROUBLE_CLUSTER, order, "stream and target_stream are in different hash slots",
                "in a cluster both keys need the same hash tag, such as {orders}", answer->word);
        return true;
    }
    if (!is_list && (!answer->command || strcmp(answer->command, "XADD") != 0))
        return false;
    switch (answer->error) {
    case REDIS_ERROR_WRONGTYPE:
        (void)snprintf(phrase, sizeof(phrase), "%s is not a %s", key, is_list ? "list" : "stream");
        refused(r, TROUBLE_TYPE, order, phrase, "name another key", answer->word);
        return true;
    case REDIS_ERROR_OOM:
        (void)snprintf(phrase, sizeof(phrase), "no memory for %s (OOM)", key);
        refused(r, TROUBLE_TRANSIENT, order, phrase, "the entries stay pending and are tried again",
                answer->word);
        return true;
    case REDIS_ERROR_OTHER:
        (void)snprintf(phrase, sizeof(phrase), "%s takes nothing (%s)", key, answer->word);
        refused(r, TROUBLE_OTHER, order, phrase, "the entries stay pending and are tried again",
                answer->word);
        return true;
    case REDIS_ERROR_NONE:
    case REDIS_ERROR_NOGROUP:
    case REDIS_ERROR_NOPERM:
    case REDIS_ERROR_AUTH:
    case REDIS_ERROR_TRANSIENT:
    case REDIS_ERROR_READONLY:
    case REDIS_ERROR_REDIRECT:
    case REDIS_ERROR_UNKNOWN_COMMAND:
    case _REDIS_ERROR_MAX:
        break;
    }
    return false;
}

/* --------------------------------------------------------------------------------------------- */

void trouble_from_error(struct recovery *r, enum order order, const struct answer *answer) {
    const char *name = answer->command ? answer->command : order_to_string(order);
    const char *word = answer->word;
    char phrase[TROUBLE_PHRASE_MAX];

    if ((order == ORDER_MOVE || order == ORDER_RPUSH) && target_refused(r, order, answer))
        return;
    switch (answer->error) {
    case REDIS_ERROR_NOGROUP:
        no_group(r);
        return;
    case REDIS_ERROR_WRONGTYPE:
        refused(r, TROUBLE_TYPE, order, "the key is not a stream",
                "name the stream's key in `stream`", word);
        return;
    case REDIS_ERROR_NOPERM:
        (void)snprintf(phrase, sizeof(phrase), "no permission for %s", name);
        refused(r, TROUBLE_PERMISSION, order, phrase,
                "grant it, and the key, to the ACL user of this connection", word);
        return;
    case REDIS_ERROR_UNKNOWN_COMMAND:
        (void)snprintf(phrase, sizeof(phrase), "needs Redis 6.2 or newer: the server has no %s",
                       name);
        refused(r, TROUBLE_TOO_OLD, order, phrase, NULL, word);
        return;
    case REDIS_ERROR_REDIRECT:
        refused(r, TROUBLE_CLUSTER, order, "this is a cluster: mode = cluster", NULL, word);
        return;
    case REDIS_ERROR_TRANSIENT:
        (void)snprintf(phrase, sizeof(phrase), "the server answers %s", word);
        if (belongs_to_scan(order))
            scan_abort(r);
        trouble_enter(r, TROUBLE_TRANSIENT, order, phrase, NULL, word);
        return;
    case REDIS_ERROR_AUTH:
    case REDIS_ERROR_READONLY:
        return; /* the link drops itself and says why */
    case REDIS_ERROR_NONE:
    case REDIS_ERROR_OOM:
    case REDIS_ERROR_OTHER:
    case _REDIS_ERROR_MAX:
        break;
    }
    (void)snprintf(phrase, sizeof(phrase), "%s is answered with an error (%s)", name, word);
    refused(r, TROUBLE_OTHER, order, phrase, "see the server's log", word);
}

void trouble_handler(struct recovery *r, const char *reason) {
    const char *advice = r->settings->handler == HANDLER_SOCKET
                             ? "start the service, or mend `address`"
                             : "mend `command`, or what it needs";

    scan_abort(r); /* what is given back lies behind its cursor */
    trouble_enter(r, TROUBLE_HANDLER, ORDER_HANDLER, reason, advice, NULL);
    release_all(r);
}

void trouble_slow(struct recovery *r) {
    trouble_enter(r, TROUBLE_SLOW, ORDER_ANY_WRITE, "the server answers slower than min_idle/4",
                  "no handler is started; raise min_idle or relieve the server", NULL);
}
