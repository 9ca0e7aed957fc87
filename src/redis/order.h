/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * An order: one command on its way, from being sent until its callback has returned.
 */
#pragma once

#include "connection.h"
#include "redis/command.h"
#include "request.h"

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

/* Sends the request; `like` is copied. LINK_E_DOWN, -ENOMEM. */
MUST_CHECK int order_send(struct link *link, const struct request *request,
                          const struct order *like);
/* The same for what has been formatted before. command: a literal. */
MUST_CHECK int order_send_text(struct link *link, const char *command, const char *text,
                               size_t size, const struct order *like);
