/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The typed orders. Each is a pair in this file: what is sent, and how its answer is decoded.
 */
#include "redis/command.h"

#include "base/cleanup.h"
#include "order.h"
#include "reply.h"

#include <assert.h>

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

/* --- RPUSH ----------------------------------------------------------------------------------- */

int command_rpush_ids(struct link *link, const char *list, const struct entry_id *ids, size_t n,
                      rpush_done done, void *data) {
    const struct order order = {.deliver = deliver_acked, .done.acked = done, .data = data};
    CLEANUP(request_done) struct request request;

    assert(n > 0);
    int r = request_init(&request, 2 + n);
    if (r < 0)
        return r;
    request_word(&request, "RPUSH");
    request_word(&request, list);
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
