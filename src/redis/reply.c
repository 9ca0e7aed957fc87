/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Decoding of replies, one function a shape.
 */
#include "reply.h"

#include "base/cleanup.h"
#include <assert.h>
#include <errno.h>
#include <hiredis.h>
#include <stdlib.h>
#include <string.h>

/* --- one element ----------------------------------------------------------------------------- */

static bool is_nil(const redisReply *reply) {
    return reply && reply->type == REDIS_REPLY_NIL;
}

static bool is_array(const redisReply *reply) {
    return reply && reply->type == REDIS_REPLY_ARRAY && (reply->elements == 0 || reply->element);
}

static bool is_string(const redisReply *reply) {
    return reply && reply->type == REDIS_REPLY_STRING && reply->str;
}

/* NULL if it is no array or not that long. */
static const redisReply *element(const redisReply *reply, size_t i) {
    return is_array(reply) && i < reply->elements ? reply->element[i] : NULL;
}

static bool get_id(const redisReply *reply, struct entry_id *ret) {
    return is_string(reply) && entry_id_parse(reply->str, (size_t)reply->len, ret);
}

static bool get_blob(const redisReply *reply, struct blob *ret) {
    if (!is_string(reply))
        return false;
    *ret = (struct blob){.data = reply->str, .size = (size_t)reply->len};
    return true;
}

static bool get_count(const redisReply *reply, uint64_t *ret) {
    if (!reply || reply->type != REDIS_REPLY_INTEGER || reply->integer < 0)
        return false;
    *ret = (uint64_t)reply->integer;
    return true;
}

/* A number as a string without anything else. */
static bool get_number_text(const redisReply *reply, uint64_t *ret) {
    return is_string(reply) && strlen(reply->str) == (size_t)reply->len &&
           text_parse_u64(reply->str, ret) == 0;
}

/* n may be 0, where calloc() might give NULL. */
static void *array_new(size_t n, size_t size) {
    return calloc(n ? n : 1, size);
}

/* --- arrays of IDs --------------------------------------------------------------------------- */

/* ids has room for all elements. */
static bool fill_ids(const redisReply *reply, bool nil_allowed, struct entry_id *ids,
                     size_t *ret_n) {
    size_t n = 0;

    for (size_t i = 0; i < reply->elements; i++) {
        if (nil_allowed && is_nil(reply->element[i]))
            continue;
        if (!get_id(reply->element[i], &ids[n]))
            return false;
        n++;
    }
    *ret_n = n;
    return true;
}

int reply_ids(const redisReply *reply, struct entry_id **ret, size_t *ret_n) {
    if (!is_array(reply))
        return REPLY_E_SHAPE;

    CLEANUP_FREE struct entry_id *ids = array_new(reply->elements, sizeof(*ids));
    if (!ids)
        return -ENOMEM;
    if (!fill_ids(reply, true, ids, ret_n))
        return REPLY_E_SHAPE;
    *ret = TAKE(ids);
    return 0;
}

int reply_autoclaim(const redisReply *reply, struct autoclaim_answer *ret, void **ret_memory) {
    const redisReply *cursor = element(reply, 0);
    const redisReply *claimed = element(reply, 1);
    const redisReply *deleted = element(reply, 2);
    struct entry_id next;

    if (!is_array(reply) || reply->elements < 2 || reply->elements > 3)
        return REPLY_E_SHAPE;
    if (!get_id(cursor, &next) || !is_array(claimed))
        return REPLY_E_SHAPE;
    if (reply->elements == 3 && !is_array(deleted))
        return REPLY_E_SHAPE;

    size_t n = claimed->elements + (deleted ? deleted->elements : 0);
    CLEANUP_FREE struct entry_id *ids = array_new(n, sizeof(*ids));
    if (!ids)
        return -ENOMEM;
    struct autoclaim_answer page = {
        .cursor = cursor->str,
        .at_end = next.ms == 0 && next.seq == 0,
        .claimed = ids,
        .deleted = ids + claimed->elements,
    };
    if (!fill_ids(claimed, true, ids, &page.n_claimed))
        return REPLY_E_SHAPE;
    if (deleted && !fill_ids(deleted, false, ids + claimed->elements, &page.n_deleted))
        return REPLY_E_SHAPE;
    *ret = page;
    *ret_memory = TAKE(ids);
    return 0;
}

/* --- pending entries ------------------------------------------------------------------------- */

int reply_pending_summary(const redisReply *reply, struct pending_summary *ret) {
    struct pending_summary summary = {0};

    if (!is_array(reply) || reply->elements != 4 || !get_count(element(reply, 0), &summary.total))
        return REPLY_E_SHAPE;
    if (!is_nil(element(reply, 3)) && !is_array(element(reply, 3)))
        return REPLY_E_SHAPE;
    if (summary.total > 0 && (!get_id(element(reply, 1), &summary.lowest) ||
                              !get_id(element(reply, 2), &summary.highest)))
        return REPLY_E_SHAPE;
    *ret = summary;
    return 0;
}

static bool get_idle(const redisReply *reply, usec_t *ret) {
    if (!reply || reply->type != REDIS_REPLY_INTEGER || reply->integer < -1)
        return false;
    if (reply->integer == -1 || (usec_t)reply->integer > USEC_INFINITY / USEC_PER_MSEC)
        *ret = USEC_INFINITY;
    else
        *ret = (usec_t)reply->integer * USEC_PER_MSEC;
    return true;
}

static bool get_pending(const redisReply *reply, struct pending_entry *ret) {
    return is_array(reply) && reply->elements == 4 && get_id(element(reply, 0), &ret->id) &&
           get_blob(element(reply, 1), &ret->consumer) && get_idle(element(reply, 2), &ret->idle) &&
           get_count(element(reply, 3), &ret->deliveries);
}

int reply_pending_range(const redisReply *reply, struct pending_entry **ret, size_t *ret_n) {
    if (!is_array(reply))
        return REPLY_E_SHAPE;

    CLEANUP_FREE struct pending_entry *entries = array_new(reply->elements, sizeof(*entries));
    if (!entries)
        return -ENOMEM;
    for (size_t i = 0; i < reply->elements; i++)
        if (!get_pending(reply->element[i], &entries[i]))
            return REPLY_E_SHAPE;
    *ret_n = reply->elements;
    *ret = TAKE(entries);
    return 0;
}

/* --- bodies ---------------------------------------------------------------------------------- */

/* [id, [name, value ...]] */
static bool is_entry(const redisReply *reply) {
    const redisReply *fields = element(reply, 1);
    return is_array(reply) && reply->elements == 2 && is_array(fields) && fields->elements % 2 == 0;
}

/* Where the strings of all entries lie: behind the entries, in the same block. */
static bool count_strings(const redisReply *reply, size_t *ret_entries, size_t *ret_strings) {
    size_t entries = 0, strings = 0;

    for (size_t i = 0; i < reply->elements; i++) {
        if (is_nil(reply->element[i]))
            continue;
        if (!is_entry(reply->element[i]))
            return false;
        entries++;
        strings += reply->element[i]->element[1]->elements;
    }
    *ret_entries = entries;
    *ret_strings = strings;
    return true;
}

static bool get_entry(const redisReply *reply, struct blob *strings, struct entry *ret) {
    const redisReply *fields = element(reply, 1);
    struct entry_id id;

    assert(fields); /* as is_entry() found */
    if (!get_id(element(reply, 0), &id))
        return false;
    for (size_t i = 0; i < fields->elements; i++)
        if (!get_blob(fields->element[i], &strings[i]))
            return false;
    *ret = (struct entry){.id = id, .strings = strings, .n_strings = fields->elements};
    return true;
}

int reply_bodies(const redisReply *reply, struct entry **ret, size_t *ret_n, size_t *ret_n_gone) {
    size_t n = 0, n_strings = 0;

    if (!is_array(reply) || !count_strings(reply, &n, &n_strings))
        return REPLY_E_SHAPE;

    _Static_assert(_Alignof(struct entry) >= _Alignof(struct blob), "the strings come second");
    CLEANUP_FREE struct entry *entries =
        array_new(1, n * sizeof(struct entry) + n_strings * sizeof(struct blob) + 1);
    if (!entries)
        return -ENOMEM;
    struct blob *strings = (struct blob *)(void *)(entries + n);
    for (size_t i = 0, at = 0; i < reply->elements; i++) {
        if (is_nil(reply->element[i]))
            continue;
        if (!get_entry(reply->element[i], strings, &entries[at]))
            return REPLY_E_SHAPE;
        strings += entries[at++].n_strings;
    }
    *ret_n = n;
    *ret_n_gone = reply->elements - n;
    *ret = TAKE(entries);
    return 0;
}

/* --- small answers --------------------------------------------------------------------------- */

int reply_has_entry(const redisReply *reply, struct entry_id id, bool *ret) {
    struct entry_id found;

    if (!is_array(reply) || reply->elements > 1)
        return REPLY_E_SHAPE;
    if (reply->elements == 1) {
        const redisReply *entry = reply->element[0];
        if (!is_entry(entry) || !get_id(element(entry, 0), &found) ||
            entry_id_compare(found, id) != 0)
            return REPLY_E_SHAPE;
    }
    *ret = reply->elements == 1;
    return 0;
}

int reply_count(const redisReply *reply, uint64_t *ret) {
    return get_count(reply, ret) ? 0 : REPLY_E_SHAPE;
}

int reply_bool(const redisReply *reply, bool *ret) {
    uint64_t value;

    if (!get_count(reply, &value) || value > 1)
        return REPLY_E_SHAPE;
    *ret = value == 1;
    return 0;
}

int reply_time(const redisReply *reply, uint64_t *ret_unix_usec) {
    uint64_t seconds, usec;

    if (!is_array(reply) || reply->elements != 2 || !get_number_text(element(reply, 0), &seconds) ||
        !get_number_text(element(reply, 1), &usec))
        return REPLY_E_SHAPE;
    if (usec >= USEC_PER_SEC || seconds > (UINT64_MAX - USEC_PER_SEC) / USEC_PER_SEC)
        return REPLY_E_SHAPE;
    *ret_unix_usec = seconds * USEC_PER_SEC + usec;
    return 0;
}

/* --- a page of a move ------------------------------------------------------------------------ */

enum {
    MOVE_CURSOR,
    MOVE_MOVED,
    MOVE_ACKED,
    MOVE_LEFT,
    MOVE_CUT,
    MOVE_LATE,
    MOVE_SPENT,
    MOVE_DELETED,
    MOVE_MISSING,
    MOVE_LARGE,
    MOVE_LARGE_DELIVERIES,
    MOVE_COMMAND,
    MOVE_ERROR,
    _MOVE_MAX,
};

static bool get_counts(const redisReply *reply, uint64_t *counts) {
    for (size_t i = 0; i < reply->elements; i++)
        if (!get_count(reply->element[i], &counts[i]))
            return false;
    return true;
}

static bool get_move_numbers(const redisReply *reply, struct move_answer *page) {
    const redisReply *cursor = element(reply, MOVE_CURSOR);
    struct entry_id next;
    uint64_t cut, late;

    if (!cursor || !get_id(cursor, &next) || !get_count(element(reply, MOVE_MOVED), &page->moved) ||
        !get_count(element(reply, MOVE_ACKED), &page->acked) ||
        !get_count(element(reply, MOVE_LEFT), &page->left) ||
        !get_count(element(reply, MOVE_CUT), &cut) ||
        !get_count(element(reply, MOVE_LATE), &late) ||
        !get_count(element(reply, MOVE_SPENT), &page->spent))
        return false;
    page->cursor = cursor->str;
    page->at_end = next.ms == 0 && next.seq == 0;
    page->cut = cut != 0;
    page->late = late != 0;
    return true;
}

static bool get_refusal(const redisReply *reply, struct reply_refusal *ret) {
    static const char *const commands[] = {"TIME",       "XADD",     "XACK",
                                           "XAUTOCLAIM", "XPENDING", "XRANGE"};
    struct blob command, error;

    if (!get_blob(element(reply, MOVE_COMMAND), &command) ||
        !get_blob(element(reply, MOVE_ERROR), &error))
        return false;
    if (command.size == 0)
        return true;
    for (size_t i = 0; i < sizeof(commands) / sizeof(commands[0]); i++)
        if (strlen(commands[i]) == command.size &&
            memcmp(commands[i], command.data, command.size) == 0)
            ret->command = commands[i];
    ret->error = reply_error_text(error.data, error.size, ret->word);
    return ret->command != NULL;
}

int reply_move(const redisReply *reply, struct move_answer *ret, struct reply_refusal *ret_refusal,
               void **ret_memory) {
    struct move_answer page = {0};
    struct reply_refusal refusal = {0};

    if (!is_array(reply) || reply->elements != _MOVE_MAX || !get_move_numbers(reply, &page) ||
        !get_refusal(reply, &refusal))
        return REPLY_E_SHAPE;
    const redisReply *deleted = element(reply, MOVE_DELETED);
    const redisReply *missing = element(reply, MOVE_MISSING);
    const redisReply *large = element(reply, MOVE_LARGE);
    const redisReply *deliveries = element(reply, MOVE_LARGE_DELIVERIES);
    if (!is_array(deleted) || !is_array(missing) || !is_array(large) || !is_array(deliveries) ||
        deliveries->elements != large->elements)
        return REPLY_E_SHAPE;

    size_t n = deleted->elements + missing->elements + large->elements;
    _Static_assert(_Alignof(struct entry_id) >= _Alignof(uint64_t), "the counters come second");
    CLEANUP_FREE struct entry_id *ids =
        array_new(1, n * sizeof(struct entry_id) + large->elements * sizeof(uint64_t) + 1);
    if (!ids)
        return -ENOMEM;
    struct entry_id *missing_ids = ids + deleted->elements;
    struct entry_id *large_ids = missing_ids + missing->elements;
    uint64_t *counts = (uint64_t *)(void *)(ids + n);
    if (!fill_ids(deleted, false, ids, &page.n_deleted) ||
        !fill_ids(missing, false, missing_ids, &page.n_missing) ||
        !fill_ids(large, false, large_ids, &page.n_large) || !get_counts(deliveries, counts))
        return REPLY_E_SHAPE;
    page.deleted = ids;
    page.missing = missing_ids;
    page.large = large_ids;
    page.large_deliveries = counts;
    *ret = page;
    *ret_refusal = refusal;
    *ret_memory = TAKE(ids);
    return 0;
}
