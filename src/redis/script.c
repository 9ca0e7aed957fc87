/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * EVALSHA, and EVAL where the server does not know the script.
 */
#include "redis/script.h"

#include "base/cleanup.h"
#include "order.h"
#include "reply.h"
#include "scripts.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* One call; the order's data. Lives until its answer has been delivered. */
struct call {
    struct link *link;
    char *whole; /* the EVAL, formatted; NULL once it was sent */
    size_t whole_size;
    dead_letter_done done;
    void *data;
};

static void call_free(struct call *call) {
    if (call->whole)
        request_text_free(call->whole);
    free(call);
}

static int deliver_dead_letter(const struct order *order, const struct answer *answer,
                               const redisReply *reply);

/* The server does not know the script. True if it was sent whole. */
static bool call_again(struct call *call) {
    const struct order order = {.deliver = deliver_dead_letter, .data = call};
    char *whole = TAKE(call->whole);
    int r = order_send_text(call->link, "EVAL", whole, call->whole_size, &order);

    request_text_free(whole);
    return r == 0;
}

static int deliver_dead_letter(const struct order *order, const struct answer *answer,
                               const redisReply *reply) {
    struct call *call = order->data;
    enum dead_letter_result result = DEAD_LETTER_GONE;
    uint64_t acked = 0;
    int r = reply ? reply_dead_letter(reply, &result, &acked) : 0;

    if (r != 0)
        return r;
    if (answer->kind == ANSWER_ERROR && strcmp(answer->word, "NOSCRIPT") == 0 && call->whole &&
        call_again(call))
        return 0;
    call->done(call->data, answer, result, acked);
    call_free(call);
    return 0;
}

/* how: "EVALSHA" with the SHA1, or "EVAL" with the text. */
static int format(const char *how, const char *script, const struct group_ref *ref,
                  const struct dead_letter *letter, struct request *request) {
    int r = request_init(request, 12);

    if (r < 0)
        return r;
    request_word(request, how);
    request_word(request, script);
    request_number(request, 2);
    request_word(request, ref->stream);
    request_word(request, letter->target);
    request_word(request, ref->group);
    request_word(request, ref->consumer);
    request_id(request, letter->id);
    request_number(request, letter->maxlen);
    request_word(request, letter->recovery);
    request_word(request, letter->outcome);
    request_word(request, letter->reason);
    return 0;
}

static int make_call(struct link *link, const struct group_ref *ref,
                     const struct dead_letter *letter, struct call **ret) {
    CLEANUP(request_done) struct request request = {0};
    CLEANUP_FREE struct call *call = calloc(1, sizeof(*call));
    int r;

    if (!call)
        return -ENOMEM;
    call->link = link;
    r = format("EVAL", dead_letter_text, ref, letter, &request);
    if (r == 0)
        r = request_format(&request, &call->whole, &call->whole_size);
    if (r < 0)
        return r;
    *ret = TAKE(call);
    return 0;
}

int script_dead_letter(struct link *link, const struct group_ref *ref,
                       const struct dead_letter *letter, dead_letter_done done, void *data) {
    CLEANUP(request_done) struct request request = {0};
    struct call *call = NULL;
    int r = make_call(link, ref, letter, &call);

    if (r < 0)
        return r;
    call->done = done;
    call->data = data;
    const struct order order = {.deliver = deliver_dead_letter, .data = call};
    r = format("EVALSHA", dead_letter_sha1, ref, letter, &request);
    if (r == 0)
        r = order_send(link, &request, &order);
    if (r != 0)
        call_free(call);
    return r;
}
