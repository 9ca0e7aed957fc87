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
    order_deliver deliver;
    union {
        dead_letter_done dead_letter;
        move_done move;
    } done;
    void *data;
};

struct script {
    const char *sha1;
    const char *text;
    size_t n_arguments;
    void (*arguments)(struct request *request, const struct group_ref *ref, const void *what);
};

static void call_free(struct call *call) {
    if (call->whole)
        request_text_free(call->whole);
    free(call);
}

/* The server does not know the script. True if it was sent whole. */
static bool call_again(struct call *call) {
    const struct order order = {.deliver = call->deliver, .data = call};
    char *whole = TAKE(call->whole);
    int r = order_send_text(call->link, "EVAL", whole, call->whole_size, &order);

    request_text_free(whole);
    return r == 0;
}

static bool was_called_again(struct call *call, const struct answer *answer) {
    return answer->kind == ANSWER_ERROR && strcmp(answer->word, "NOSCRIPT") == 0 && call->whole &&
           call_again(call);
}

/* how: "EVALSHA" with the SHA1, or "EVAL" with the text. */
static int format(const char *how, const char *which, const struct script *script,
                  const struct group_ref *ref, const void *what, struct request *request) {
    int r = request_init(request, 2 + script->n_arguments);

    if (r < 0)
        return r;
    request_word(request, how);
    request_word(request, which);
    script->arguments(request, ref, what);
    return 0;
}

static int make_call(struct link *link, const struct script *script, const struct group_ref *ref,
                     const void *what, struct call **ret) {
    CLEANUP(request_done) struct request request = {0};
    CLEANUP_FREE struct call *call = calloc(1, sizeof(*call));
    int r;

    if (!call)
        return -ENOMEM;
    call->link = link;
    r = format("EVAL", script->text, script, ref, what, &request);
    if (r == 0)
        r = request_format(&request, &call->whole, &call->whole_size);
    if (r < 0)
        return r;
    *ret = TAKE(call);
    return 0;
}

/* like: deliver, done and data of the call. */
static int call_script(struct link *link, const struct script *script, const struct group_ref *ref,
                       const void *what, const struct call *like) {
    CLEANUP(request_done) struct request request = {0};
    struct call *call = NULL;
    int r = make_call(link, script, ref, what, &call);

    if (r < 0)
        return r;
    call->deliver = like->deliver;
    call->done = like->done;
    call->data = like->data;
    const struct order order = {.deliver = call->deliver, .data = call};
    r = format("EVALSHA", script->sha1, script, ref, what, &request);
    if (r == 0)
        r = order_send(link, &request, &order);
    if (r != 0)
        call_free(call);
    return r;
}

/* --- dead letters ---------------------------------------------------------------------------- */

static int deliver_dead_letter(const struct order *order, const struct answer *answer,
                               const redisReply *reply) {
    struct call *call = order->data;
    enum dead_letter_result result = DEAD_LETTER_GONE;
    uint64_t acked = 0;
    int r = reply ? reply_dead_letter(reply, &result, &acked) : 0;

    if (r != 0)
        return r;
    if (was_called_again(call, answer))
        return 0;
    call->done.dead_letter(call->data, answer, result, acked);
    call_free(call);
    return 0;
}

static void dead_letter_arguments(struct request *request, const struct group_ref *ref,
                                  const void *what) {
    const struct dead_letter *letter = what;

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
}

int script_dead_letter(struct link *link, const struct group_ref *ref,
                       const struct dead_letter *letter, dead_letter_done done, void *data) {
    static const struct script script = {dead_letter_sha1, dead_letter_text, 10,
                                         dead_letter_arguments};
    const struct call like = {
        .deliver = deliver_dead_letter, .done.dead_letter = done, .data = data};

    return call_script(link, &script, ref, letter, &like);
}

/* --- move ------------------------------------------------------------------------------------ */

/* A command inside was refused: as if the whole had been, with what was done before. */
static void deliver_refusal(struct call *call, const struct answer *answer,
                            const struct reply_refusal *refusal, const struct move_answer *page) {
    struct answer refused = *answer;

    refused.kind = ANSWER_ERROR;
    refused.error = refusal->error;
    refused.command = refusal->command;
    memcpy(refused.word, refusal->word, sizeof(refused.word));
    call->done.move(call->data, &refused, page);
    if (refusal->error == REDIS_ERROR_AUTH || refusal->error == REDIS_ERROR_READONLY)
        link_drop(call->link, refusal->word, refusal->word);
}

static int deliver_move(const struct order *order, const struct answer *answer,
                        const redisReply *reply) {
    struct call *call = order->data;
    struct move_answer page = {0};
    struct reply_refusal refusal = {0};
    CLEANUP_FREE void *memory = NULL;
    int r = reply ? reply_move(reply, &page, &refusal, &memory) : 0;

    if (r != 0)
        return r;
    if (was_called_again(call, answer))
        return 0;
    if (refusal.error != REDIS_ERROR_NONE)
        deliver_refusal(call, answer, &refusal, &page);
    else
        call->done.move(call->data, answer, reply ? &page : NULL);
    call_free(call);
    return 0;
}

static void move_arguments(struct request *request, const struct group_ref *ref, const void *what) {
    const struct move_order *move = what;

    request_number(request, 2);
    request_word(request, ref->stream);
    request_word(request, move->target);
    request_word(request, ref->group);
    request_word(request, ref->consumer);
    request_duration(request, move->min_idle);
    request_word(request, move->cursor);
    request_number(request, move->count);
    request_number(request, move->maxlen);
    request_word(request, move->recovery);
    request_word(request, move->ack_missing ? "ack" : "keep");
    request_number(request, move->budget);
    request_number(request, move->latest);
}

int script_move(struct link *link, const struct group_ref *ref, const struct move_order *order,
                move_done done, void *data) {
    static const struct script script = {move_sha1, move_text, 13, move_arguments};
    const struct call like = {.deliver = deliver_move, .done.move = done, .data = data};

    return call_script(link, &script, ref, order, &like);
}
