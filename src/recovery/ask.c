/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Where something is not known, the server is asked: who owns this ID now (XPENDING id id 1),
 * and if nobody does, does the entry still exist (XRANGE id id)?
 *
 * An ID that is missing in an answer, an answer that never came, a lease that runs short only
 * raise the question. An error is no answer either: the question stays.
 */
#include "inside.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* TIME 0 makes an entry idle since 1970: nothing else looks like that. */
#define IDLE_RELEASED ((usec_t)20 * 365 * 86400 * USEC_PER_SEC)

struct question {
    struct recovery *recovery;
    struct entry_id id;
};

void ask_about(struct recovery *r, struct held *held) {
    switch (held->state) {
    case HELD_DONE:
        held->result_ok = true;
        held_enter(&r->ledger, held, HELD_DOUBTED);
        break;
    case HELD_CLAIMED:
    case HELD_COUNTING:
    case HELD_READY:
        held_enter(&r->ledger, held, HELD_DOUBTED);
        break;
    case HELD_HANDLING:
        held->ask_soon = true;
        break;
    case HELD_ATTEMPTING:
    case HELD_LOST:
    case HELD_ACKING:
    case HELD_DEAD: /* its script looks itself */
    case HELD_BURYING:
    case HELD_RETURNING:
    case HELD_RELEASING:
    case HELD_DOUBTED:
    case HELD_ASKING:
    case HELD_SETTLED:
    case _HELD_STATE_MAX:
        return; /* already in question, or an answer is on its way */
    }
    held->asked_ok = false;
    recovery_wake(r);
}

void ask_about_all(struct recovery *r) {
    LEDGER_FOREACH_ALL (&r->ledger, held)
        ask_about(r, held);
}

/* Somebody else has it, or nobody: whoever runs it here goes on, but it is not ours any more. */
static void lost(struct recovery *r, struct held *held, const char *reason) {
    report_lost(r->subject, held->id, reason);
    if (held->state == HELD_HANDLING)
        held_enter(&r->ledger, held, HELD_LOST);
    else
        settle(r, held, SETTLED_LOST);
}

void missing(struct recovery *r, struct held *held, bool still_pending) {
    bool ack = r->settings->missing == MISSING_ACK && still_pending;

    report_missing(r->subject, held->id, r->settings->missing == MISSING_ACK);
    if (ack) {
        held->ack_missing = true;
        held_enter(&r->ledger, held, HELD_DONE);
        return;
    }
    if (still_pending)
        (void)memory_put(&r->memory, held->id, MEMORY_MISSING, NULL);
    settle(r, held, SETTLED_MISSING);
}

/* The question comes back: the link went, or the order was refused. */
static void unanswered(struct recovery *r, struct held *held) {
    if (held->state == HELD_ASKING)
        held_enter(&r->ledger, held, HELD_DOUBTED);
    else if (held->state == HELD_HANDLING)
        held->ask_soon = true;
}

static struct held *asked(struct recovery *r, struct entry_id id) {
    struct held *held = ledger_find(&r->ledger, id);

    if (!held)
        return NULL;
    held->ask_out = false;
    return held->state == HELD_ASKING || held->state == HELD_HANDLING ? held : NULL;
}

static void exists_reply(void *data, const struct answer *answer, bool exists) {
    struct question *question = data;
    struct recovery *r = question->recovery;
    bool ok = recovery_answered(r, ORDER_XRANGE, answer);
    struct held *held = asked(r, question->id);

    free(question);
    if (!held || held->state != HELD_ASKING)
        return;
    if (!ok)
        unanswered(r, held);
    else if (!exists)
        missing(r, held, held->asked_ok);
    else if (held->asked_ok) { /* ours, and it exists: another body of that batch was gone */
        held->gone_hint = false;
        held_enter(&r->ledger, held, HELD_READY);
    } else
        lost(r, held, "acknowledged by somebody else");
}

static void ask_exists(struct recovery *r, struct held *held) {
    struct question *question = malloc(sizeof(*question));

    if (question) {
        *question = (struct question){.recovery = r, .id = held->id};
        if (!trouble_blocks(r, ORDER_XRANGE) &&
            recovery_sent(r, command_entry_exists(r->parts.link, &r->ref, held->id, exists_reply,
                                                  question))) {
            held->ask_out = true;
            return;
        }
        free(question);
    }
    unanswered(r, held);
}

/* Nobody has it pending. */
static void answer_not_pending(struct recovery *r, struct held *held) {
    held->asked_ok = false;
    if (held->state == HELD_HANDLING)
        lost(r, held, "no longer pending");
    else if (held->result_ok && held->ack_repeated) /* most likely by our own XACK */
        held_enter(&r->ledger, held, HELD_DONE);
    else if (held->result_ok)
        lost(r, held, "no longer pending");
    else
        ask_exists(r, held);
}

static void answer_foreign(struct recovery *r, struct held *held,
                           const struct pending_entry *entry) {
    char name[64], reason[96];

    /* What we have processed may be acknowledged whoever owns it, as long as it is that entry. */
    if (held->state == HELD_ASKING && held->result_ok && entry->deliveries >= held->deliveries) {
        held_enter(&r->ledger, held, HELD_DONE);
        return;
    }
    (void)snprintf(reason, sizeof(reason), "now with consumer \"%s\"",
                   text_printable(entry->consumer, name, sizeof(name)));
    lost(r, held, reason);
}

/* Ours, and the idle time agrees: back to where it was. */
static void answer_ours_waiting(struct recovery *r, struct held *held,
                                const struct pending_entry *entry, usec_t now) {
    usec_t min_idle = r->settings->min_idle;

    /* An attempt whose answer was lost has raised the counter and begun nothing. */
    if (held->attempt_lost && held->counted && entry->deliveries == held->deliveries + 1)
        held->charged = true;
    held->attempt_lost = false;
    held->deliveries = entry->deliveries;
    held->counted = true;
    held->release = false;
    if (held->lease.late || held->by_step || !lease_may_claim(&held->lease, now, min_idle))
        settle(r, held, SETTLED_DEFERRED); /* somebody may be at work on it: left to a scan */
    else if (held->charged)
        held_enter(&r->ledger, held, HELD_RETURNING);
    else if (bury_is_over(r, held->deliveries))
        bury(r, held, false, NULL);
    else if (held->gone_hint)
        ask_exists(r, held);
    else
        held_enter(&r->ledger, held, HELD_READY);
}

/* Was it a command of ours that made the entry idle for so long? After a step of the server's
 * clock its owner alone decides. */
static bool idle_fits(struct recovery *r, struct held *held, const struct answer *answer,
                      const struct pending_entry *entry) {
    usec_t min_idle = r->settings->min_idle;

    if (lease_asked(&held->lease, answer->sent, answer->answered, entry->idle, min_idle))
        return true;
    if (!time_guard_stepped(r, answer->answered))
        return false;
    lease_seen(&held->lease, answer->sent, answer->answered, entry->idle, min_idle);
    return true;
}

/* It may be the clock: that is looked at before anybody is blamed. True if the question waits for
 * that. */
static bool is_suspected(struct recovery *r, struct held *held, const struct answer *answer) {
    if (held->suspected == 0)
        held->suspected = answer->answered;
    if (time_guard_looked_since(r, held->suspected))
        return false;
    unanswered(r, held);
    return true;
}

static void answer_ours(struct recovery *r, struct held *held, const struct answer *answer,
                        const struct pending_entry *entry) {
    usec_t now = clock_boottime();
    bool ours;

    /* What runs goes on, and what was processed is acknowledged, however old it looks: the clock
     * of a server that started without one was set. */
    if (entry->idle >= IDLE_RELEASED && held->state == HELD_ASKING && !held->result_ok) {
        settle(r, held, SETTLED_RELEASED);
        return;
    }
    if (held->counted && entry->deliveries < held->deliveries) {
        held->void_result = true;
        lost(r, held, "its ID names another message now");
        return;
    }
    if (held->state == HELD_ASKING && !held->result_ok &&
        !time_guard_looked_since(r, held->claimed)) { /* once more, behind that look */
        unanswered(r, held);
        return;
    }
    ours = idle_fits(r, held, answer, entry);
    if (!ours && is_suspected(r, held, answer))
        return;
    held->suspected = 0;
    if (!ours)
        report_name_clash(r->subject, held->id);
    held->asked_ok = ours;
    if (held->result_ok) /* processed, whoever has it now */
        held_enter(&r->ledger, held, HELD_DONE);
    else if (!ours)
        lost(r, held, "claimed by another process under our own consumer name");
    else if (held->state != HELD_HANDLING)
        answer_ours_waiting(r, held, entry, now);
    else
        keep_soon(r);
}

static void owner_reply(void *data, const struct answer *answer,
                        const struct pending_entry *entries, size_t n) {
    struct question *question = data;
    struct recovery *r = question->recovery;
    bool ok = recovery_answered(r, ORDER_XPENDING, answer);
    struct held *held = asked(r, question->id);

    free(question);
    if (!held)
        return;
    if (!ok)
        unanswered(r, held);
    else if (n == 0 || entry_id_compare(entries[0].id, held->id) != 0)
        answer_not_pending(r, held);
    else if (entries[0].consumer.size != strlen(r->ref.consumer) ||
             memcmp(entries[0].consumer.data, r->ref.consumer, entries[0].consumer.size) != 0)
        answer_foreign(r, held, &entries[0]);
    else
        answer_ours(r, held, answer, &entries[0]);
}

static bool ask_owner(struct recovery *r, struct held *held) {
    const struct pending_range range = {.first = held->id, .last = held->id, .count = 1};
    struct question *question = malloc(sizeof(*question));

    if (!question)
        return false;
    *question = (struct question){.recovery = r, .id = held->id};
    if (!recovery_sent(
            r, command_xpending_range(r->parts.link, &r->ref, &range, owner_reply, question))) {
        free(question);
        return false;
    }
    held->ask_out = true;
    held->ask_soon = false;
    if (held->state == HELD_DOUBTED)
        held_enter(&r->ledger, held, HELD_ASKING);
    return true;
}

/* A question or a claim that is still out is answered first. */
static bool may_ask(const struct held *held) {
    return !held->ask_out && !held->claim_out;
}

void ask_pump(struct recovery *r) {
    if (trouble_blocks(r, ORDER_XPENDING))
        return;
    /* What runs is asked for first: its claim must be kept, whatever else is refused. */
    LEDGER_FOREACH (&r->ledger, HELD_HANDLING, held)
        if (held->ask_soon && may_ask(held) && !ask_owner(r, held))
            return;
    LEDGER_FOREACH (&r->ledger, HELD_DOUBTED, held) {
        if (r->ledger.counts[HELD_ASKING] >= BATCH_MAX)
            return;
        /* Without a result the question may end in XRANGE. */
        if (!held->result_ok && trouble_blocks(r, ORDER_XRANGE))
            continue;
        if (may_ask(held) && !ask_owner(r, held))
            return;
    }
}
