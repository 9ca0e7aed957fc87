/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * How an order is sent and how its answer is delivered.
 *
 * A reply of a shape nobody knows means that this is not the server we think it is, or that
 * answers have got out of step: nothing that still comes on that connection is believed.
 */
#include "order.h"

#include "base/cleanup.h"
#include "link_internal.h"

#include <errno.h>
#include <stdio.h>

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
int order_send_text(struct link *link, const char *command, const char *text, size_t size,
                    const struct order *like) {
    struct connection *connection = link_connection(link);

    if (!connection)
        return LINK_E_DOWN;
    CLEANUP_FREE struct order *order = malloc(sizeof(*order));
    if (!order)
        return -ENOMEM;
    *order = *like;
    order->link = link;
    order->command = command;
    order->pending.answered = on_answered;
    order->sent = clock_boottime();
    if (!connection_send(connection, &order->pending, text, size))
        return LINK_E_DOWN;
    order = NULL; /* the connection's now */
    return 0;
}

int order_send(struct link *link, const struct request *request, const struct order *like) {
    size_t size = 0;
    char *text = NULL;

    if (!link_connection(link))
        return LINK_E_DOWN;
    int r = request_format(request, &text, &size);
    if (r < 0)
        return r;
    r = order_send_text(link, request->words[0], text, size, like);
    request_text_free(text);
    return r;
}
