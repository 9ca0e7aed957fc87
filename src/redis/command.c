/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The typed orders. Each is a pair in this file: what is sent, and how its answer is delivered.
 *
 * An order lives from the moment it is sent until its callback has returned. A reply of a shape
 * nobody knows means that this is not the server we think it is, or that answers have got out
 * of step: nothing that still comes on that connection is believed.
 */
#include "redis/command.h"

#include "base/cleanup.h"
#include "link_internal.h"
#include "request.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct order;

/* Decodes and calls back, or gives what the decoder gave (not 0) and does not call back. reply
 * is NULL where there is nothing to decode. */
typedef int (*order_deliver)(const struct order *order, const struct answer *answer,
                             const redisReply *reply);

struct order {
    struct pending pending; /* first: one is the other */
    struct link *link;
    const char *command;
    order_deliver deliver;
    union {
        autoclaim_done autoclaim;
        pending_summary_done summary;
        pending_range_done range;
        claim_bodies_done bodies;
        claim_ids_done ids;
        exists_done exists;
        xack_done acked;
        time_done time;
    } done;
    void *data;
    struct entry_id id; /* that was asked for */
    usec_t sent;
};

/* --- answers --------------------------------------------------------------------------------- */

/* The link goes down first, so that a callback which sends something at once gets LINK_E_DOWN. */
static void order_not_understood(const struct order *order, int error) {
    char reason[LINK_TROUBLE_MAX];

    if (error < 0) {
        loop_fail(order->link->loop, error);
        (void)snprintf(reason, sizeof(reason), "out of memory");
    } else {
        (void)snprintf(reason, sizeof(reason), "unexpected reply to %s", order->command);
    }
    connection_distrust(order->link->connection);
    link_drop(order->link, reason, NULL);
}

static void order_answer_unknown(const struct order *order, struct answer *answer) {
    answer->kind = ANSWER_UNKNOWN;
    (void)order->deliver(order, answer, NULL);
}

static void order_answer_error(const struct order *order, struct answer *answer,
                               const redisReply *reply) {
    answer->kind = ANSWER_ERROR;
    answer->error = reply_error(reply, answer->word);
    (void)order->deliver(order, answer, NULL);
    if (answer->error == REDIS_ERROR_AUTH || answer->error == REDIS_ERROR_READONLY)
        link_drop(order->link, answer->word, answer->word);
}

static void on_answered(struct pending *pending, const redisReply *reply) {
    CLEANUP_FREE struct order *order = (struct order *)(void *)pending;
    struct answer answer = {
        .kind = ANSWER_OK,
        .error = REDIS_ERROR_NONE,
        .sent = order->sent,
        .answered = clock_boottime(),
    };

    if (!reply) {
        order_answer_unknown(order, &answer);
    } else if (reply->type == REDIS_REPLY_ERROR) {
        order_answer_error(order, &answer, reply);
    } else {
        int r = order->deliver(order, &answer, reply);
        if (r == 0)
            return;
        order_not_understood(order, r);
        order_answer_unknown(order, &answer);
    }
}

/* --- sending --------------------------------------------------------------------------------- */

/* The time comes before the bytes: a claim is sure from before it was sent. */
static int order_send(struct link *link, const struct request *request, const struct order *like) {
    struct connection *connection = link_connection(link);
    size_t size = 0;
    char *text = NULL;

    if (!connection)
        return LINK_E_DOWN;
    CLEANUP_FREE struct order *order = malloc(sizeof(*order));
    if (!order)
        return -ENOMEM;
    *order = *like;
    order->link = link;
    order->command = request->words[0];
    order->pending.answered = on_answered;
    order->sent = clock_boottime();
    int r = request_format(request, &text, &size);
    if (r < 0)
        return r;
    bool sent = connection_send(connection, &order->pending, text, size);
    request_text_free(text);
    if (!sent)
        return LINK_E_DOWN;
    order = NULL; /* the connection's now */
    return 0;
}

static void request_group(struct request *request, const char *command,
                          const struct group_ref *ref) {
    request_word(request, command);
    request_word(request, ref->stream);
    request_word(request, ref->group);
}

/* --- XAUTOCLAIM ------------------------------------------------------------------------------ */

static int deliver_autoclaim(const struct order *order, const struct answer *answer,
                             const redisReply *reply) {
    struct autoclaim_answer page = {0};
    CLEANUP_FREE void *memory = NULL;

    int r = reply ? reply_autoclaim(reply, &page, &memory) : 0;
    if (r == 0)
        order->done.autoclaim(order->data, answer, reply ? &page : NULL);
    return r;
}

int command_xautoclaim(struct link *link, const struct group_ref *ref, usec_t min_idle,
                       const char *cursor, uint64_t count, autoclaim_done done, void *data) {
    const struct order order = {.deliver = deliver_autoclaim, .done.autoclaim = done, .data = data};
    CLEANUP(request_done) struct request request;

    int r = request_init(&request, 9);
    if (r < 0)
        return r;
    request_group(&request, "XAUTOCLAIM", ref);
    request_word(&request, ref->consumer);
    request_duration(&request, min_idle);
    request_word(&request, cursor);
    request_word(&request, "COUNT");
    request_number(&request, count);
    request_word(&request, "JUSTID");
    return order_send(link, &request, &order);
}

/* --- XPENDING -------------------------------------------------------------------------------- */

static int deliver_summary(const struct order *order, const struct answer *answer,
                           const redisReply *reply) {
    struct pending_summary summary = {0};

    int r = reply ? reply_pending_summary(reply, &summary) : 0;
    if (r == 0)
        order->done.summary(order->data, answer, reply ? &summary : NULL);
    return r;
}

int command_xpending_summary(struct link *link, const struct group_ref *ref,
                             pending_summary_done done, void *data) {
    const struct order order = {.deliver = deliver_summary, .done.summary = done, .data = data};
    CLEANUP(request_done) struct request request;

    int r = request_init(&request, 3);
    if (r < 0)
        return r;
    request_group(&request, "XPENDING", ref);
    return order_send(link, &request, &order);
}

static int deliver_range(const struct order *order, const struct answer *answer,
                         const redisReply *reply) {
    CLEANUP_FREE struct pending_entry *entries = NULL;
    size_t n = 0;

    int r = reply ? reply_pending_range(reply, &entries, &n) : 0;
    if (r == 0)
        order->done.range(order->data, answer, entries, n);
    return r;
}

int command_xpending_range(struct link *link, const struct group_ref *ref,
                           const struct pending_range *range, pending_range_done done, void *data) {
    const struct order order = {.deliver = deliver_range, .done.range = done, .data = data};
    CLEANUP(request_done) struct request request;

    int r = request_init(&request, 9);
    if (r < 0)
        return r;
    request_group(&request, "XPENDING", ref);
    if (range->min_idle > 0) {
        request_word(&request, "IDLE");
        request_duration(&request, range->min_idle);
    }
    if (range->after_first)
        request_id_after(&request, range->first);
    else
        request_id(&request, range->first);
    request_id(&request, range->last);
    request_number(&request, range->count);
    if (range->only_ours)
        request_word(&request, ref->consumer);
    return order_send(link, &request, &order);
}

/* --- XCLAIM ---------------------------------------------------------------------------------- */

static int deliver_bodies(const struct order *order, const struct answer *answer,
                          const redisReply *reply) {
    CLEANUP_FREE struct entry *entries = NULL;
    size_t n = 0, n_gone = 0;

    int r = reply ? reply_bodies(reply, &entries, &n, &n_gone) : 0;
    if (r == 0)
        order->done.bodies(order->data, answer, entries, n, n_gone);
    return r;
}

int command_xclaim_bodies(struct link *link, const struct group_ref *ref, usec_t min_idle,
                          const struct entry_id *ids, size_t n, claim_bodies_done done,
                          void *data) {
    const struct order order = {.deliver = deliver_bodies, .done.bodies = done, .data = data};
    CLEANUP(request_done) struct request request;

    assert(n > 0);
    int r = request_init(&request, 5 + n);
    if (r < 0)
        return r;
    request_group(&request, "XCLAIM", ref);
    request_word(&request, ref->consumer);
    request_duration(&request, min_idle);
    request_ids(&request, ids, n);
    return order_send(link, &request, &order);
}

static int deliver_ids(const struct order *order, const struct answer *answer,
                       const redisReply *reply) {
    CLEANUP_FREE struct entry_id *ids = NULL;
    size_t n = 0;

    int r = reply ? reply_ids(reply, &ids, &n) : 0;
    if (r == 0)
        order->done.ids(order->data, answer, ids, n);
    return r;
}

static void request_claim_options(struct request *request, const struct claim_options *options) {
    if (options->retry_count != CLAIM_KEEP_COUNT) {
        request_word(request, "RETRYCOUNT");
        request_number(request, options->retry_count);
    }
    if (options->release) {
        request_word(request, "TIME");
        request_number(request, 0);
    }
    request_word(request, "JUSTID");
}

int command_xclaim_ids(struct link *link, const struct group_ref *ref, usec_t min_idle,
                       const struct entry_id *ids, size_t n, const struct claim_options *options,
                       claim_ids_done done, void *data) {
    const struct order order = {.deliver = deliver_ids, .done.ids = done, .data = data};
    CLEANUP(request_done) struct request request;

    assert(n > 0);
    int r = request_init(&request, 10 + n);
    if (r < 0)
        return r;
    request_group(&request, "XCLAIM", ref);
    request_word(&request, ref->consumer);
    request_duration(&request, min_idle);
    request_ids(&request, ids, n);
    request_claim_options(&request, options);
    return order_send(link, &request, &order);
}

/* --- XRANGE, EXISTS -------------------------------------------------------------------------- */

static int deliver_entry_exists(const struct order *order, const struct answer *answer,
                                const redisReply *reply) {
    bool exists = false;

    int r = reply ? reply_has_entry(reply, order->id, &exists) : 0;
    if (r == 0)
        order->done.exists(order->data, answer, exists);
    return r;
}

int command_entry_exists(struct link *link, const struct group_ref *ref, struct entry_id id,
                         exists_done done, void *data) {
    const struct order order = {
        .deliver = deliver_entry_exists, .done.exists = done, .data = data, .id = id};
    CLEANUP(request_done) struct request request;

    int r = request_init(&request, 6);
    if (r < 0)
        return r;
    request_word(&request, "XRANGE");
    request_word(&request, ref->stream);
    request_id(&request, id);
    request_id(&request, id);
    request_word(&request, "COUNT");
    request_number(&request, 1);
    return order_send(link, &request, &order);
}

static int deliver_key_exists(const struct order *order, const struct answer *answer,
                              const redisReply *reply) {
    bool exists = false;

    int r = reply ? reply_bool(reply, &exists) : 0;
    if (r == 0)
        order->done.exists(order->data, answer, exists);
    return r;
}

int command_key_exists(struct link *link, const struct group_ref *ref, exists_done done,
                       void *data) {
    const struct order order = {.deliver = deliver_key_exists, .done.exists = done, .data = data};
    CLEANUP(request_done) struct request request;

    int r = request_init(&request, 2);
    if (r < 0)
        return r;
    request_word(&request, "EXISTS");
    request_word(&request, ref->stream);
    return order_send(link, &request, &order);
}

/* --- XACK ------------------------------------------------------------------------------------ */

static int deliver_acked(const struct order *order, const struct answer *answer,
                         const redisReply *reply) {
    uint64_t acked = 0;

    int r = reply ? reply_count(reply, &acked) : 0;
    if (r == 0)
        order->done.acked(order->data, answer, acked);
    return r;
}

int command_xack(struct link *link, const struct group_ref *ref, const struct entry_id *ids,
                 size_t n, xack_done done, void *data) {
    const struct order order = {.deliver = deliver_acked, .done.acked = done, .data = data};
    CLEANUP(request_done) struct request request;

    assert(n > 0);
    int r = request_init(&request, 3 + n);
    if (r < 0)
        return r;
    request_group(&request, "XACK", ref);
    request_ids(&request, ids, n);
    return order_send(link, &request, &order);
}

/* --- TIME ------------------------------------------------------------------------------------ */

static int deliver_time(const struct order *order, const struct answer *answer,
                        const redisReply *reply) {
    uint64_t unix_usec = 0;

    int r = reply ? reply_time(reply, &unix_usec) : 0;
    if (r == 0)
        order->done.time(order->data, answer, unix_usec);
    return r;
}

int command_time(struct link *link, time_done done, void *data) {
    const struct order order = {.deliver = deliver_time, .done.time = done, .data = data};
    CLEANUP(request_done) struct request request;

    int r = request_init(&request, 1);
    if (r < 0)
        return r;
    request_word(&request, "TIME");
    return order_send(link, &request, &order);
}
