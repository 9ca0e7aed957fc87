/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Entries that are not handed out any more: rejected, or delivered too often. With a dead letter
 * stream each is copied there and acknowledged by one script, which looks itself whether the
 * entry is still pending and ours; without, it stays pending, told once.
 *
 * Where the copy cannot be written nothing has changed: the entry stays pending and is tried
 * again. That holds up no other entry; it is a trouble beside the troubles.
 */
#include "inside.h"
#include "policy.h"

#include "base/random.h"
#include "redis/script.h"
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Scripts that are out at once. */
#define BURIALS_MAX 64

bool bury_is_over(const struct recovery *r, uint64_t deliveries) {
    uint64_t max = r->settings->max_deliveries;

    return deliveries >= DELIVERIES_FATAL || (max > 0 && deliveries >= max);
}

/* Stays pending for good. */
static void leave(struct recovery *r, struct held *held, const char *reason) {
    if (told_first(&r->told, held->id))
        report_exhausted(r->subject, held->id, held->deliveries, reason);
    settle(r, held, held->rejected ? SETTLED_REJECTED : SETTLED_EXHAUSTED);
}

void bury(struct recovery *r, struct held *held, bool rejected, const char *reason) {
    char text[64];

    held->rejected = rejected;
    if (!reason) {
        (void)snprintf(text, sizeof(text), "delivered %" PRIu64 " times", held->deliveries);
        reason = held->deliveries >= DELIVERIES_FATAL ? "marked as fatal" : text;
    }
    if (!r->settings->dead_letter_stream) {
        struct entry_id id = held->id;

        leave(r, held, reason);
        if (rejected) /* last: the reason may be the memory's */
            (void)memory_put(&r->memory, id, MEMORY_REJECTED, NULL);
        return;
    }
    if (!held->reason)
        held->reason = strdup(reason);
    held_enter(&r->ledger, held, HELD_DEAD);
    recovery_wake(r);
}

/* --- when the copy cannot be written --------------------------------------------------------- */

static void burial_trouble(struct recovery *r, const struct answer *answer) {
    char phrase[TROUBLE_PHRASE_MAX], sentence[TROUBLE_PHRASE_MAX + 128];

    r->burial_next = usec_add(clock_monotonic(), r->settings->interval);
    if (r->burial_since != 0)
        return;
    r->burial_since = clock_monotonic();
    (void)snprintf(phrase, sizeof(phrase), "dead letters cannot be written (%s)", answer->word);
    (void)snprintf(sentence, sizeof(sentence), "%s: %s", phrase,
                   strcmp(answer->word, "CROSSSLOT") == 0
                       ? "both streams must be in one hash slot: give their keys the same hash "
                         "tag, such as {orders}"
                       : "the entries stay pending and are tried again");
    (void)snprintf(r->burial_phrase, sizeof(r->burial_phrase), "%s", phrase);
    report_recovery_down(r->subject, "waiting", sentence, answer->word);
    recovery_changed(r);
}

void bury_mended(struct recovery *r) {
    if (r->burial_since == 0)
        return;
    report_recovery_up(r->subject, usec_sub(clock_monotonic(), r->burial_since));
    r->burial_since = 0;
    r->burial_phrase[0] = '\0';
    recovery_changed(r);
}

/* Left pending, to be met again by a scan; a verdict is remembered. */
static void put_off(struct recovery *r, struct held *held) {
    if (held->rejected)
        (void)memory_put(&r->memory, held->id, MEMORY_REJECTED, held->reason);
    settle(r, held, SETTLED_DEFERRED);
}

/* --- the script ------------------------------------------------------------------------------ */

struct burial {
    struct recovery *recovery;
    struct entry_id id;
};

static void copied(struct recovery *r, struct held *held, uint64_t acked) {
    held->pass->account.dead_lettered++;
    held->pass->account.acked += acked;
    recovery_unpend(r, acked);
    report_dead_lettered(r->subject, held->id, held->deliveries,
                         held->rejected ? "reject" : "exhausted", held->reason,
                         r->settings->dead_letter_stream, acked);
    settle(r, held, held->rejected ? SETTLED_REJECTED : SETTLED_EXHAUSTED);
}

static void buried(struct recovery *r, struct held *held, enum dead_letter_result result,
                   uint64_t acked) {
    bury_mended(r);
    switch (result) {
    case DEAD_LETTER_COPIED:
        copied(r, held, acked);
        break;
    case DEAD_LETTER_GONE:
        /* Most likely by our own script, the answer of which was lost. */
        if (!held->ack_repeated)
            report_lost(r->subject, held->id, "no longer pending");
        settle(r, held,
               !held->ack_repeated ? SETTLED_LOST
               : held->rejected    ? SETTLED_REJECTED
                                   : SETTLED_EXHAUSTED);
        break;
    case DEAD_LETTER_LOST:
        report_lost(r->subject, held->id, "now with another consumer");
        settle(r, held, SETTLED_LOST);
        break;
    case DEAD_LETTER_MISSING:
        missing(r, held, true);
        break;
    case DEAD_LETTER_TOO_LARGE:
        (void)memory_put(&r->memory, held->id, MEMORY_STUCK, NULL);
        leave(r, held, "more fields than a script can copy to the dead letter stream");
        break;
    case _DEAD_LETTER_MAX:
        break;
    }
}

static void bury_reply(void *data, const struct answer *answer, enum dead_letter_result result,
                       uint64_t acked) {
    struct burial *burial = data;
    struct recovery *r = burial->recovery;
    bool ok = recovery_answered(r, ORDER_SCRIPT, answer);
    struct held *held = ledger_find(&r->ledger, burial->id);

    free(burial);
    if (answer->kind == ANSWER_ERROR && answer->error != REDIS_ERROR_NOGROUP)
        burial_trouble(r, answer);
    if (!held || held->state != HELD_BURYING)
        return;
    if (ok) {
        buried(r, held, result, acked);
    } else if (answer->kind == ANSWER_UNKNOWN) {
        held->ack_repeated = true;
        held_enter(&r->ledger, held, HELD_DEAD);
    } else {
        put_off(r, held);
    }
}

static bool bury_send(struct recovery *r, struct held *held) {
    const struct dead_letter letter = {
        .target = r->settings->dead_letter_stream,
        .maxlen = r->settings->dead_letter_maxlen,
        .id = held->id,
        .recovery = r->settings->name,
        .outcome = held->rejected ? "reject" : "exhausted",
        .reason = held->reason ? held->reason : "",
    };
    struct burial *burial = malloc(sizeof(*burial));

    if (!burial)
        return false;
    *burial = (struct burial){.recovery = r, .id = held->id};
    if (!recovery_sent(r,
                       script_dead_letter(r->parts.link, &r->ref, &letter, bury_reply, burial))) {
        free(burial);
        return false;
    }
    held_enter(&r->ledger, held, HELD_BURYING);
    return true;
}

void bury_pump(struct recovery *r) {
    bool wait = r->burial_since != 0 && clock_monotonic() < r->burial_next;

    LEDGER_FOREACH (&r->ledger, HELD_DEAD, held) {
        if (wait) {
            put_off(r, held);
            continue;
        }
        if (r->ledger.counts[HELD_BURYING] >= BURIALS_MAX || !bury_send(r, held))
            return;
        /* In trouble one is tried. */
        wait = r->burial_since != 0;
    }
}
