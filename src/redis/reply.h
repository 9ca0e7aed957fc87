/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Checked views of what a server answered: every access looks at type and length first, so
 * that no reply, however malformed, does more than give REPLY_E_SHAPE. Pure.
 *
 * Decoded arrays lie in one block of memory, which the caller frees; strings stay borrowed
 * from the reply. The functions give 0, REPLY_E_SHAPE or -ENOMEM, and leave their results
 * untouched unless they give 0.
 */
#pragma once

#include "redis/command.h"
#include "redis/script.h"

struct redisReply;

enum { REPLY_E_SHAPE = 1 };

/* [cursor, [id ...], [id ...]?]. A nil among the claimed IDs (6.2) is left out. */
MUST_CHECK int reply_autoclaim(const struct redisReply *reply, struct autoclaim_answer *ret,
                               void **ret_memory);

/* [total, lowest, highest, [[consumer, n] ...]], nils where total is 0. */
MUST_CHECK int reply_pending_summary(const struct redisReply *reply, struct pending_summary *ret);

/* [[id, consumer, idle, deliveries] ...]. An idle of -1 (8.8, given back by XNACK) is
 * USEC_INFINITY: anybody may have the entry. */
MUST_CHECK int reply_pending_range(const struct redisReply *reply, struct pending_entry **ret,
                                   size_t *ret_n);

/* [[id, [name, value ...]] | nil ...] */
MUST_CHECK int reply_bodies(const struct redisReply *reply, struct entry **ret, size_t *ret_n,
                            size_t *ret_n_gone);

/* [id ...], nils left out. */
MUST_CHECK int reply_ids(const struct redisReply *reply, struct entry_id **ret, size_t *ret_n);

/* A range that was asked for one ID: nothing, or that entry. */
MUST_CHECK int reply_has_entry(const struct redisReply *reply, struct entry_id id, bool *ret);

/* An integer that is not negative. */
MUST_CHECK int reply_count(const struct redisReply *reply, uint64_t *ret);

/* 0 or 1 */
MUST_CHECK int reply_bool(const struct redisReply *reply, bool *ret);

/* [seconds, microseconds] */
MUST_CHECK int reply_time(const struct redisReply *reply, uint64_t *ret_unix_usec);

/* [word, n] as scripts/dead_letter.lua answers. */
MUST_CHECK int reply_dead_letter(const struct redisReply *reply, enum dead_letter_result *ret,
                                 uint64_t *ret_acked);

/* What a command inside a script was refused with. */
struct reply_refusal {
    enum redis_error error; /* REDIS_ERROR_NONE: nothing was */
    const char *command;    /* a literal */
    char word[REDIS_ERROR_WORD_MAX];
};
/* As scripts/move.lua answers; *ret_memory as with reply_autoclaim(). */
MUST_CHECK int reply_move(const struct redisReply *reply, struct move_answer *ret,
                          struct reply_refusal *ret_refusal, void **ret_memory);

#define REPLY_HELLO_TEXT_MAX 32
struct reply_hello {
    char brand[REPLY_HELLO_TEXT_MAX];   /* "redis", "valkey"; "" if it was not there */
    char version[REPLY_HELLO_TEXT_MAX]; /* "7.0.15"; "" if it was not there */
    bool replica;
};
/* [name, value ...]; names that are not known and values of another type are passed over. */
MUST_CHECK int reply_hello(const struct redisReply *reply, struct reply_hello *ret);

/* REDIS_ERROR_NONE if it is no error. word gets the first word where that looks like an error
 * code (capitals, digits, '_', '-'), else "". */
enum redis_error reply_error(const struct redisReply *reply, char word[REDIS_ERROR_WORD_MAX]);
/* The same for the text of one. */
enum redis_error reply_error_text(const char *text, size_t size, char word[REDIS_ERROR_WORD_MAX]);
/* The refusal of a connection above maxclients, whose code is only ERR. */
bool reply_is_too_many_clients(const struct redisReply *reply);
