/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Replies as bytes: the good shapes of 6.2 and 7.0, every malformed one, the ends of the
 * number ranges, and thousands of mutilated ones.
 */
#include "redis/reply.h"
#include "unit.h"

#include <hiredis.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* --- bytes to replies ------------------------------------------------------------------------ */

/* NULL where hiredis itself refuses the bytes or waits for more. */
static redisReply *parse_n(const char *bytes, size_t n) {
    redisReader *reader = redisReaderCreate();
    void *reply = NULL;

    assert_non_null(reader);
#if HIREDIS_MAJOR >= 1
    reader->maxelements = 1 << 20; /* as on a connection */
#endif
    assert_int_equal(redisReaderFeed(reader, bytes, n), REDIS_OK);
    if (redisReaderGetReply(reader, &reply) != REDIS_OK)
        reply = NULL;
    redisReaderFree(reader);
    return reply;
}

static redisReply *parse(const char *bytes) {
    redisReply *reply = parse_n(bytes, strlen(bytes));
    if (!reply)
        fail_msg("no reply: %s", bytes);
    return reply;
}

#define ID_MAX "41\r\n18446744073709551615-18446744073709551615\r\n"
#define ID_OVER "41\r\n18446744073709551616-18446744073709551615\r\n"

/* --- XAUTOCLAIM ------------------------------------------------------------------------------ */

static void expect_page(const char *bytes, const char *cursor, size_t claimed, size_t deleted) {
    redisReply *reply = parse(bytes);
    struct autoclaim_answer page;
    void *memory = NULL;

    assert_int_equal(reply_autoclaim(reply, &page, &memory), 0);
    assert_string_equal(page.cursor, cursor);
    assert_int_equal(page.at_end, strcmp(cursor, "0-0") == 0);
    assert_int_equal(page.n_claimed, claimed);
    assert_int_equal(page.n_deleted, deleted);
    for (size_t i = 0; i < claimed; i++)
        assert_int_equal(page.claimed[i].ms, i + 1);
    for (size_t i = 0; i < deleted; i++)
        assert_int_equal(page.deleted[i].ms, i + 8);
    free(memory);
    freeReplyObject(reply);
}

static void test_autoclaim_shapes(void **state) {
    (void)state;
    /* 6.2 */
    expect_page("*2\r\n$3\r\n0-0\r\n*0\r\n", "0-0", 0, 0);
    expect_page("*2\r\n$3\r\n5-1\r\n*2\r\n$3\r\n1-0\r\n$3\r\n2-9\r\n", "5-1", 2, 0);
    expect_page("*2\r\n$3\r\n0-0\r\n*3\r\n$-1\r\n$3\r\n1-0\r\n*-1\r\n", "0-0", 1, 0);
    /* 7.0 */
    expect_page("*3\r\n$3\r\n0-0\r\n*0\r\n*0\r\n", "0-0", 0, 0);
    expect_page("*3\r\n$3\r\n9-0\r\n*1\r\n$3\r\n1-0\r\n*2\r\n$3\r\n8-0\r\n$3\r\n9-0\r\n", "9-0", 1,
                2);
    expect_page("*3\r\n$3\r\n0-0\r\n*0\r\n*1\r\n$3\r\n8-0\r\n", "0-0", 0, 1);
    expect_page("*3\r\n$" ID_MAX "*0\r\n*0\r\n", "18446744073709551615-18446744073709551615", 0, 0);
}

static const char *const bad_pages[] = {
    "+OK\r\n",
    ":1\r\n",
    "$-1\r\n",
    "*-1\r\n",
    "$3\r\n0-0\r\n",
    "*0\r\n",
    "*1\r\n$3\r\n0-0\r\n",
    "*4\r\n$3\r\n0-0\r\n*0\r\n*0\r\n*0\r\n",
    "*2\r\n$-1\r\n*0\r\n",
    "*2\r\n:0\r\n*0\r\n",
    "*2\r\n+0-0\r\n*0\r\n",
    "*2\r\n*0\r\n*0\r\n",
    "*2\r\n$1\r\n0\r\n*0\r\n",
    "*2\r\n$0\r\n\r\n*0\r\n",
    "*2\r\n$4\r\n0-0 \r\n*0\r\n",
    "*2\r\n$4\r\n-1-0\r\n*0\r\n",
    ("*2\r\n$" ID_OVER "*0\r\n"),
    "*2\r\n$3\r\n0-0\r\n$-1\r\n",
    "*2\r\n$3\r\n0-0\r\n$3\r\n1-0\r\n",
    "*2\r\n$3\r\n0-0\r\n*1\r\n:1\r\n",
    "*2\r\n$3\r\n0-0\r\n*1\r\n*2\r\n$3\r\n1-0\r\n*2\r\n$1\r\na\r\n$1\r\nb\r\n",
    "*2\r\n$3\r\n0-0\r\n*1\r\n$3\r\nx-y\r\n",
    "*3\r\n$3\r\n0-0\r\n*0\r\n$-1\r\n",
    "*3\r\n$3\r\n0-0\r\n*0\r\n:0\r\n",
    "*3\r\n$3\r\n0-0\r\n*0\r\n*1\r\n$-1\r\n",
    "*3\r\n$3\r\n0-0\r\n*0\r\n*1\r\n:7\r\n",
};

static void test_malformed_autoclaim(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof(bad_pages) / sizeof(bad_pages[0]); i++) {
        redisReply *reply = parse(bad_pages[i]);
        struct autoclaim_answer page = {.n_claimed = 77};
        void *memory = NULL;
        if (reply_autoclaim(reply, &page, &memory) != REPLY_E_SHAPE)
            fail_msg("taken: %s", bad_pages[i]);
        assert_int_equal(page.n_claimed, 77);
        assert_null(memory);
        freeReplyObject(reply);
    }
}

static void test_cursor_with_a_nul(void **state) {
    (void)state;
    struct autoclaim_answer page;
    void *memory = NULL;
    static const char bytes[] = "*2\r\n$5\r\n0-0\0x\r\n*0\r\n";
    redisReply *reply = parse_n(bytes, sizeof(bytes) - 1);
    assert_non_null(reply);
    assert_int_equal(reply_autoclaim(reply, &page, &memory), REPLY_E_SHAPE);
    freeReplyObject(reply);
}

/* --- XPENDING -------------------------------------------------------------------------------- */

static void test_pending_summary(void **state) {
    (void)state;
    struct pending_summary s;
    redisReply *reply = parse("*4\r\n:0\r\n$-1\r\n$-1\r\n*-1\r\n");
    assert_int_equal(reply_pending_summary(reply, &s), 0);
    assert_int_equal(s.total, 0);
    freeReplyObject(reply);

    reply = parse("*4\r\n:9223372036854775807\r\n$3\r\n1-2\r\n$" ID_MAX
                  "*1\r\n*2\r\n$1\r\nc\r\n$1\r\n2\r\n");
    assert_int_equal(reply_pending_summary(reply, &s), 0);
    assert_true(s.total == INT64_MAX);
    assert_int_equal(s.lowest.ms, 1);
    assert_int_equal(s.lowest.seq, 2);
    assert_true(s.highest.ms == UINT64_MAX && s.highest.seq == UINT64_MAX);
    freeReplyObject(reply);

    static const char *const bad[] = {
        "*0\r\n",
        "*3\r\n:0\r\n$-1\r\n$-1\r\n",
        "*5\r\n:0\r\n$-1\r\n$-1\r\n*-1\r\n*-1\r\n",
        "*4\r\n:-1\r\n$-1\r\n$-1\r\n*-1\r\n",
        "*4\r\n$1\r\n0\r\n$-1\r\n$-1\r\n*-1\r\n",
        "*4\r\n:1\r\n$-1\r\n$3\r\n1-0\r\n*0\r\n",
        "*4\r\n:1\r\n$3\r\n1-0\r\n$-1\r\n*0\r\n",
        "*4\r\n:1\r\n$3\r\n1-0\r\n$3\r\n1-0\r\n:3\r\n",
        "*4\r\n:1\r\n:1\r\n$3\r\n1-0\r\n*0\r\n",
        ":1\r\n",
    };
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        reply = parse(bad[i]);
        if (reply_pending_summary(reply, &s) != REPLY_E_SHAPE)
            fail_msg("taken: %s", bad[i]);
        freeReplyObject(reply);
    }
}

static void test_pending_range(void **state) {
    (void)state;
    struct pending_entry *e = NULL;
    size_t n = 9;
    redisReply *reply = parse("*0\r\n");
    assert_int_equal(reply_pending_range(reply, &e, &n), 0);
    assert_int_equal(n, 0);
    free(e);
    freeReplyObject(reply);

    reply = parse("*3\r\n*4\r\n$3\r\n1-0\r\n$2\r\nc1\r\n:1500\r\n:3\r\n"
                  "*4\r\n$" ID_MAX "$0\r\n\r\n:-1\r\n:9223372036854775807\r\n"
                  "*4\r\n$3\r\n2-0\r\n$1\r\nc\r\n:9223372036854775807\r\n:0\r\n");
    assert_int_equal(reply_pending_range(reply, &e, &n), 0);
    assert_int_equal(n, 3);
    assert_int_equal(e[0].idle, 1500 * USEC_PER_MSEC);
    assert_int_equal(e[0].deliveries, 3);
    assert_int_equal(e[0].consumer.size, 2);
    assert_memory_equal(e[0].consumer.data, "c1", 2);
    assert_true(e[1].idle == USEC_INFINITY);
    assert_true(e[1].deliveries == INT64_MAX);
    assert_int_equal(e[1].consumer.size, 0);
    assert_true(e[2].idle == USEC_INFINITY);
    free(e);
    freeReplyObject(reply);

    static const char *const bad[] = {
        "*-1\r\n",
        ":0\r\n",
        "*1\r\n$-1\r\n",
        "*1\r\n*0\r\n",
        "*1\r\n*3\r\n$3\r\n1-0\r\n$1\r\nc\r\n:1\r\n",
        "*1\r\n*5\r\n$3\r\n1-0\r\n$1\r\nc\r\n:1\r\n:1\r\n:1\r\n",
        "*1\r\n*4\r\n:1\r\n$1\r\nc\r\n:1\r\n:1\r\n",
        "*1\r\n*4\r\n$3\r\n1-0\r\n$-1\r\n:1\r\n:1\r\n",
        "*1\r\n*4\r\n$3\r\n1-0\r\n$1\r\nc\r\n:-2\r\n:1\r\n",
        "*1\r\n*4\r\n$3\r\n1-0\r\n$1\r\nc\r\n:1\r\n:-1\r\n",
        "*1\r\n*4\r\n$3\r\n1-0\r\n$1\r\nc\r\n$1\r\n1\r\n:1\r\n",
        "*2\r\n*4\r\n$3\r\n1-0\r\n$1\r\nc\r\n:1\r\n:1\r\n*-1\r\n",
    };
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        reply = parse(bad[i]);
        if (reply_pending_range(reply, &e, &n) != REPLY_E_SHAPE)
            fail_msg("taken: %s", bad[i]);
        freeReplyObject(reply);
    }
}

/* --- XCLAIM ---------------------------------------------------------------------------------- */

static void test_bodies(void **state) {
    (void)state;
    struct entry *e = NULL;
    size_t n = 0, gone = 0;
    redisReply *reply = parse("*4\r\n*2\r\n$3\r\n1-0\r\n*4\r\n$1\r\na\r\n$0\r\n\r\n$1\r\na\r\n"
                              "$3\r\nx\ty\r\n$-1\r\n*2\r\n$" ID_MAX "*0\r\n*-1\r\n");
    assert_int_equal(reply_bodies(reply, &e, &n, &gone), 0);
    assert_int_equal(n, 2);
    assert_int_equal(gone, 2);
    assert_int_equal(e[0].n_strings, 4);
    assert_int_equal(e[0].strings[1].size, 0);
    assert_int_equal(e[0].strings[3].size, 3);
    assert_memory_equal(e[0].strings[3].data, "x\ty", 3);
    assert_true(e[1].id.seq == UINT64_MAX);
    assert_int_equal(e[1].n_strings, 0);
    free(e);
    freeReplyObject(reply);

    reply = parse("*0\r\n");
    assert_int_equal(reply_bodies(reply, &e, &n, &gone), 0);
    assert_int_equal(n + gone, 0);
    free(e);
    freeReplyObject(reply);

    static const char *const bad[] = {
        "*-1\r\n",
        "+OK\r\n",
        "*1\r\n$3\r\n1-0\r\n",
        "*1\r\n*1\r\n$3\r\n1-0\r\n",
        "*1\r\n*3\r\n$3\r\n1-0\r\n*0\r\n*0\r\n",
        "*1\r\n*2\r\n$3\r\n1-0\r\n*-1\r\n",
        "*1\r\n*2\r\n$3\r\n1-0\r\n$1\r\na\r\n",
        "*1\r\n*2\r\n$3\r\n1-0\r\n*1\r\n$1\r\na\r\n",
        "*1\r\n*2\r\n$3\r\n1-0\r\n*2\r\n$1\r\na\r\n$-1\r\n",
        "*1\r\n*2\r\n$3\r\n1-0\r\n*2\r\n$1\r\na\r\n:5\r\n",
        "*1\r\n*2\r\n:1\r\n*0\r\n",
        "*1\r\n*2\r\n$-1\r\n*0\r\n",
    };
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        reply = parse(bad[i]);
        if (reply_bodies(reply, &e, &n, &gone) != REPLY_E_SHAPE)
            fail_msg("taken: %s", bad[i]);
        freeReplyObject(reply);
    }
}

static void test_ids(void **state) {
    (void)state;
    struct entry_id *ids = NULL;
    size_t n = 0;
    redisReply *reply = parse("*3\r\n$3\r\n1-0\r\n$-1\r\n$3\r\n2-0\r\n");
    assert_int_equal(reply_ids(reply, &ids, &n), 0);
    assert_int_equal(n, 2);
    assert_int_equal(ids[1].ms, 2);
    free(ids);
    freeReplyObject(reply);

    static const char *const bad[] = {"*-1\r\n", ":1\r\n", "*1\r\n:1\r\n", "*1\r\n*0\r\n",
                                      ("*1\r\n$" ID_OVER)};
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        reply = parse(bad[i]);
        n = 5;
        assert_int_equal(reply_ids(reply, &ids, &n), REPLY_E_SHAPE);
        assert_int_equal(n, 5);
        freeReplyObject(reply);
    }
}

/* --- small answers --------------------------------------------------------------------------- */

static int small(int which, const char *bytes, uint64_t *ret) {
    redisReply *reply = parse(bytes);
    bool yes = false;
    int r = 0;

    switch (which) {
    case 'c':
        r = reply_count(reply, ret);
        break;
    case 'b':
        r = reply_bool(reply, &yes);
        *ret = yes;
        break;
    case 't':
        r = reply_time(reply, ret);
        break;
    case 'e':
        r = reply_has_entry(reply, (struct entry_id){1, 0}, &yes);
        *ret = yes;
        break;
    default:
        fail();
    }
    freeReplyObject(reply);
    return r;
}

static void test_small_answers(void **state) {
    (void)state;
    static const struct {
        int which;
        const char *bytes;
        int result;
        uint64_t value;
    } cases[] = {
        {'c', ":0\r\n", 0, 0},
        {'c', ":9223372036854775807\r\n", 0, INT64_MAX},
        {'c', ":-1\r\n", REPLY_E_SHAPE, 0},
        {'c', "$1\r\n1\r\n", REPLY_E_SHAPE, 0},
        {'c', "+OK\r\n", REPLY_E_SHAPE, 0},
        {'c', "*0\r\n", REPLY_E_SHAPE, 0},
        {'c', "$-1\r\n", REPLY_E_SHAPE, 0},
        {'b', ":0\r\n", 0, 0},
        {'b', ":1\r\n", 0, 1},
        {'b', ":2\r\n", REPLY_E_SHAPE, 0},
        {'b', ":-1\r\n", REPLY_E_SHAPE, 0},
        {'t', "*2\r\n$10\r\n1700000000\r\n$6\r\n999999\r\n", 0, 1700000000999999},
        {'t', "*2\r\n$1\r\n0\r\n$1\r\n0\r\n", 0, 0},
        {'t', "*2\r\n$10\r\n1700000000\r\n$7\r\n1000000\r\n", REPLY_E_SHAPE, 0},
        {'t', "*2\r\n$20\r\n18446744073709551615\r\n$1\r\n0\r\n", REPLY_E_SHAPE, 0},
        {'t', "*2\r\n$2\r\n-1\r\n$1\r\n0\r\n", REPLY_E_SHAPE, 0},
        {'t', "*2\r\n:1\r\n:0\r\n", REPLY_E_SHAPE, 0},
        {'t', "*1\r\n$1\r\n0\r\n", REPLY_E_SHAPE, 0},
        {'t', "*3\r\n$1\r\n0\r\n$1\r\n0\r\n$1\r\n0\r\n", REPLY_E_SHAPE, 0},
        {'t', "*2\r\n$-1\r\n$1\r\n0\r\n", REPLY_E_SHAPE, 0},
        {'e', "*0\r\n", 0, 0},
        {'e', "*1\r\n*2\r\n$3\r\n1-0\r\n*2\r\n$1\r\na\r\n$1\r\nb\r\n", 0, 1},
        {'e', "*1\r\n*2\r\n$3\r\n2-0\r\n*0\r\n", REPLY_E_SHAPE, 0},
        {'e', "*1\r\n$-1\r\n", REPLY_E_SHAPE, 0},
        {'e', "*2\r\n*2\r\n$3\r\n1-0\r\n*0\r\n*2\r\n$3\r\n1-0\r\n*0\r\n", REPLY_E_SHAPE, 0},
        {'e', "*-1\r\n", REPLY_E_SHAPE, 0},
        {'e', ":1\r\n", REPLY_E_SHAPE, 0},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        uint64_t value = 0;
        if (small(cases[i].which, cases[i].bytes, &value) != cases[i].result)
            fail_msg("%c: %s", cases[i].which, cases[i].bytes);
        assert_true(value == cases[i].value);
    }
}

/* --- pages of a move ------------------------------------------------------------------------- */

#define MOVE_NUMBERS "$3\r\n5-0\r\n:7\r\n:8\r\n:2\r\n:1\r\n:0\r\n:1499\r\n"
#define MOVE_ID(n) "$3\r\n" n "-0\r\n"
#define MOVE_IDS                                                                                   \
    "*2\r\n" MOVE_ID("1") MOVE_ID("2") "*1\r\n" MOVE_ID("3") "*2\r\n" MOVE_ID("4")                 \
        MOVE_ID("5") "*2\r\n:9\r\n:9223372036854775807\r\n"
#define MOVE_NONE "*0\r\n*0\r\n*0\r\n*0\r\n"
#define MOVE_FINE "$0\r\n\r\n$0\r\n\r\n"

static void test_a_page_of_a_move(void **state) {
    (void)state;
    struct reply_refusal refusal;
    struct move_answer page;
    void *memory = NULL;
    redisReply *reply = parse("*13\r\n" MOVE_NUMBERS MOVE_IDS MOVE_FINE);

    assert_int_equal(reply_move(reply, &page, &refusal, &memory), 0);
    assert_string_equal(page.cursor, "5-0");
    assert_false(page.at_end);
    assert_int_equal(page.moved, 7);
    assert_int_equal(page.acked, 8);
    assert_int_equal(page.left, 2);
    assert_true(page.cut);
    assert_false(page.late);
    assert_int_equal(page.spent, 1499);
    assert_int_equal(page.n_deleted, 2);
    assert_int_equal(page.deleted[1].ms, 2);
    assert_int_equal(page.n_missing, 1);
    assert_int_equal(page.missing[0].ms, 3);
    assert_int_equal(page.n_large, 2);
    assert_int_equal(page.large[1].ms, 5);
    assert_int_equal(page.large_deliveries[0], 9);
    assert_true(page.large_deliveries[1] == INT64_MAX);
    assert_int_equal(refusal.error, REDIS_ERROR_NONE);
    free(memory);
    freeReplyObject(reply);

    reply = parse("*13\r\n" MOVE_NUMBERS MOVE_NONE "$4\r\nXADD\r\n$13\r\nOOM hunter2 is\r\n");
    assert_int_equal(reply_move(reply, &page, &refusal, &memory), 0);
    assert_int_equal(refusal.error, REDIS_ERROR_OOM);
    assert_string_equal(refusal.command, "XADD");
    assert_string_equal(refusal.word, "OOM");
    free(memory);
    freeReplyObject(reply);
}

static void test_malformed_pages_of_a_move(void **state) {
    (void)state;
    static const char *const bad[] = {
        "*12\r\n" MOVE_NUMBERS MOVE_NONE "$0\r\n\r\n",
        "*13\r\n" MOVE_NUMBERS MOVE_NONE "$6\r\nCONFIG\r\n$3\r\nERR\r\n",
        "*13\r\n" MOVE_NUMBERS MOVE_NONE "$4\r\nXADD\r\n:1\r\n",
        "*13\r\n" MOVE_NUMBERS "*0\r\n*0\r\n*1\r\n" MOVE_ID("1") "*0\r\n" MOVE_FINE,
        "*13\r\n" MOVE_NUMBERS "*0\r\n*0\r\n*1\r\n" MOVE_ID("1") "*1\r\n:-1\r\n" MOVE_FINE,
        "*13\r\n" MOVE_NUMBERS "*0\r\n$-1\r\n*0\r\n*0\r\n" MOVE_FINE,
        "*13\r\n" MOVE_NUMBERS "*1\r\n$-1\r\n*0\r\n*0\r\n*0\r\n" MOVE_FINE,
        "*13\r\n$1\r\n-\r\n:7\r\n:7\r\n:0\r\n:0\r\n:0\r\n:0\r\n" MOVE_NONE MOVE_FINE,
        "*13\r\n$3\r\n5-0\r\n:-7\r\n:7\r\n:0\r\n:0\r\n:0\r\n:0\r\n" MOVE_NONE MOVE_FINE,
    };
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        struct reply_refusal refusal = {.command = "as it was"};
        struct move_answer page = {.moved = 55};
        void *memory = NULL;
        redisReply *reply = parse(bad[i]);

        if (reply_move(reply, &page, &refusal, &memory) != REPLY_E_SHAPE)
            fail_msg("%s", bad[i]);
        assert_int_equal(page.moved, 55);
        assert_string_equal(refusal.command, "as it was");
        assert_null(memory);
        freeReplyObject(reply);
    }
}

/* --- words ----------------------------------------------------------------------------------- */

static void test_error_words(void **state) {
    (void)state;
    static const struct {
        const char *bytes;
        enum redis_error error;
        const char *word;
    } cases[] = {
        {"-NOGROUP No such key\r\n", REDIS_ERROR_NOGROUP, "NOGROUP"},
        {"-WRONGTYPE Operation\r\n", REDIS_ERROR_WRONGTYPE, "WRONGTYPE"},
        {"-NOPERM this user\r\n", REDIS_ERROR_NOPERM, "NOPERM"},
        {"-NOAUTH Authentication required.\r\n", REDIS_ERROR_AUTH, "NOAUTH"},
        {"-WRONGPASS invalid\r\n", REDIS_ERROR_AUTH, "WRONGPASS"},
        {"-LOADING Valkey is\r\n", REDIS_ERROR_TRANSIENT, "LOADING"},
        {"-BUSY Redis is busy\r\n", REDIS_ERROR_TRANSIENT, "BUSY"},
        {"-BUSYGROUP exists\r\n", REDIS_ERROR_OTHER, "BUSYGROUP"},
        {"-MASTERDOWN Link\r\n", REDIS_ERROR_TRANSIENT, "MASTERDOWN"},
        {"-CLUSTERDOWN Hash\r\n", REDIS_ERROR_TRANSIENT, "CLUSTERDOWN"},
        {"-MISCONF Errors\r\n", REDIS_ERROR_TRANSIENT, "MISCONF"},
        {"-NOREPLICAS Not enough\r\n", REDIS_ERROR_TRANSIENT, "NOREPLICAS"},
        {"-TRYAGAIN x\r\n", REDIS_ERROR_TRANSIENT, "TRYAGAIN"},
        {"-READONLY You can't\r\n", REDIS_ERROR_READONLY, "READONLY"},
        {"-MOVED 3828 127.0.0.1:1\r\n", REDIS_ERROR_REDIRECT, "MOVED"},
        {"-ASK 3828 127.0.0.1:1\r\n", REDIS_ERROR_REDIRECT, "ASK"},
        {"-OOM command not\r\n", REDIS_ERROR_OOM, "OOM"},
        {"-ERR unknown command 'XAUTOCLAIM'\r\n", REDIS_ERROR_UNKNOWN_COMMAND, "ERR"},
        {"-ERR unknown command `XAUTOCLAIM`\r\n", REDIS_ERROR_UNKNOWN_COMMAND, "ERR"},
        {"-ERR syntax error\r\n", REDIS_ERROR_OTHER, "ERR"},
        {"-ERR\r\n", REDIS_ERROR_OTHER, "ERR"},
        {"-ERR The user executing the script can't run this command\r\n", REDIS_ERROR_NOPERM,
         "NOPERM"},
        {"-@user_script: 3: The user executing the script can't access a key\r\n",
         REDIS_ERROR_NOPERM, "NOPERM"},
        {"-@user_script: 37: -OOM command not allowed when used memory\r\n", REDIS_ERROR_OOM,
         "OOM"},
        {"-@user_script: 4: -READONLY You can't write\r\n", REDIS_ERROR_READONLY, "READONLY"},
        {"-@user_script: 120: -MISCONF Errors\r\n", REDIS_ERROR_TRANSIENT, "MISCONF"},
        {"-@user_script: 1: Unknown Redis command\r\n", REDIS_ERROR_OTHER, ""},
        {"-@user_script: 1:\r\n", REDIS_ERROR_OTHER, ""},
        {"-@user_script: \r\n", REDIS_ERROR_OTHER, ""},
        {"-@user_script: 37: -\r\n", REDIS_ERROR_OTHER, ""},
        {"-@user_script: -OOM x\r\n", REDIS_ERROR_OTHER, ""},
        {"-@user_script: 3x: -OOM x\r\n", REDIS_ERROR_OTHER, ""},
        {"-ERR ACL failure in script: User u has no permissions to run the 'time' command\r\n",
         REDIS_ERROR_NOPERM, "NOPERM"},
        {"-ERR The user executing the script\r\n", REDIS_ERROR_OTHER, "ERR"},
        {"-\r\n", REDIS_ERROR_OTHER, ""},
        {"- NOGROUP\r\n", REDIS_ERROR_OTHER, ""},
        {"-hunter2 is wrong\r\n", REDIS_ERROR_OTHER, ""},
        {"-ERR\x1b[31m x\r\n", REDIS_ERROR_OTHER, ""},
        {"-ABCDEFGHIJKLMNOPQRSTUVWXYZABCDEFGHIJ x\r\n", REDIS_ERROR_OTHER, ""},
        {"-1ERR x\r\n", REDIS_ERROR_OTHER, ""},
        {"+OK\r\n", REDIS_ERROR_NONE, ""},
        {":1\r\n", REDIS_ERROR_NONE, ""},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        char word[REDIS_ERROR_WORD_MAX] = "untouched";
        redisReply *reply = parse(cases[i].bytes);
        assert_int_equal(reply_error(reply, word), cases[i].error);
        assert_string_equal(word, cases[i].word);
        freeReplyObject(reply);
    }
}

static void test_hello(void **state) {
    (void)state;
    struct reply_hello hello;
    redisReply *reply = parse("*14\r\n$6\r\nserver\r\n$5\r\nredis\r\n$7\r\nversion\r\n$6\r\n7.0.15"
                              "\r\n$5\r\nproto\r\n:2\r\n$2\r\nid\r\n:3\r\n$4\r\nmode\r\n$10\r\n"
                              "standalone\r\n$4\r\nrole\r\n$7\r\nreplica\r\n$7\r\nmodules\r\n*0"
                              "\r\n");
    assert_int_equal(reply_hello(reply, &hello), 0);
    assert_string_equal(hello.brand, "redis");
    assert_string_equal(hello.version, "7.0.15");
    assert_true(hello.replica);
    freeReplyObject(reply);

    reply = parse("*4\r\n$6\r\nserver\r\n$3\r\na\tb\r\n$7\r\nversion\r\n:7\r\n");
    assert_int_equal(reply_hello(reply, &hello), 0);
    assert_string_equal(hello.brand, "");
    assert_string_equal(hello.version, "");
    assert_false(hello.replica);
    freeReplyObject(reply);

    reply = parse("*1\r\n$6\r\nserver\r\n");
    assert_int_equal(reply_hello(reply, &hello), REPLY_E_SHAPE);
    freeReplyObject(reply);
    reply = parse("+OK\r\n");
    assert_int_equal(reply_hello(reply, &hello), REPLY_E_SHAPE);
    freeReplyObject(reply);
}

/* --- huge counts and mutilated replies ------------------------------------------------------- */

/* Every decoder on every reply; whatever they think of it, they must stay within it. */
static void decode_all(const redisReply *reply) {
    char word[REDIS_ERROR_WORD_MAX];
    struct autoclaim_answer page;
    struct pending_summary summary;
    struct pending_entry *pending = NULL;
    struct entry *entries = NULL;
    struct entry_id *ids = NULL;
    struct reply_hello hello;
    struct reply_refusal refusal;
    struct move_answer move;
    void *memory = NULL, *move_memory = NULL;
    size_t n, gone;
    uint64_t number;
    bool yes;

    if (reply_autoclaim(reply, &page, &memory) == 0)
        assert_true(strlen(page.cursor) < ENTRY_ID_TEXT_MAX);
    (void)!reply_pending_summary(reply, &summary);
    (void)!reply_pending_range(reply, &pending, &n);
    if (reply_bodies(reply, &entries, &n, &gone) == 0)
        for (size_t i = 0; i < n; i++)
            for (size_t j = 0; j < entries[i].n_strings; j++)
                assert_true(entries[i].strings[j].data[entries[i].strings[j].size] == '\0');
    (void)!reply_ids(reply, &ids, &n);
    (void)!reply_has_entry(reply, (struct entry_id){1, 0}, &yes);
    (void)!reply_count(reply, &number);
    (void)!reply_bool(reply, &yes);
    (void)!reply_time(reply, &number);
    (void)!reply_hello(reply, &hello);
    if (reply_move(reply, &move, &refusal, &move_memory) == 0)
        assert_true(strlen(move.cursor) < ENTRY_ID_TEXT_MAX);
    (void)reply_error(reply, word);
    assert_true(strlen(word) < sizeof(word));
    (void)reply_is_too_many_clients(reply);
    free(memory);
    free(move_memory);
    free(pending);
    free(entries);
    free(ids);
}

static void test_counts_that_nothing_follows(void **state) {
    (void)state;
    static const char *const bytes[] = {
        "*2147483648\r\n",
        "*4294967296\r\n",
        "*9223372036854775807\r\n",
        "*9223372036854775808\r\n",
        "*-2\r\n",
        "$9223372036854775807\r\n",
        "$-2\r\n",
        "*2\r\n$3\r\n0-0\r\n*9223372036854775807\r\n",
        ":9223372036854775808\r\n",
        "*1\r\n*1\r\n*1\r\n*1\r\n*1\r\n*1\r\n*1\r\n*1\r\n*1\r\n*1\r\n:1\r\n",
    };
    for (size_t i = 0; i < sizeof(bytes) / sizeof(bytes[0]); i++) {
        redisReply *reply = parse_n(bytes[i], strlen(bytes[i]));
        if (reply) {
            decode_all(reply);
            freeReplyObject(reply);
        }
    }
}

static const char *const seeds[] = {
    "*13\r\n" MOVE_NUMBERS MOVE_IDS MOVE_FINE,
    "*3\r\n$3\r\n9-0\r\n*2\r\n$3\r\n1-0\r\n$-1\r\n*2\r\n$3\r\n8-0\r\n$3\r\n9-0\r\n",
    "*2\r\n$3\r\n0-0\r\n*1\r\n$3\r\n1-0\r\n",
    "*4\r\n:2\r\n$3\r\n1-2\r\n$3\r\n3-4\r\n*1\r\n*2\r\n$1\r\nc\r\n$1\r\n2\r\n",
    "*2\r\n*4\r\n$3\r\n1-0\r\n$2\r\nc1\r\n:1500\r\n:3\r\n*4\r\n$3\r\n2-0\r\n$0\r\n\r\n:-1\r\n:"
    "0\r\n",
    "*3\r\n*2\r\n$3\r\n1-0\r\n*4\r\n$1\r\na\r\n$0\r\n\r\n$1\r\na\r\n$3\r\nx\ty\r\n$-1\r\n*2\r\n$"
    "3\r\n"
    "2-0\r\n*0\r\n",
    "*2\r\n$10\r\n1700000000\r\n$6\r\n999999\r\n",
    "-WRONGPASS invalid username-password pair\r\n",
    "-ERR unknown command 'XAUTOCLAIM'\r\n",
    "*6\r\n$6\r\nserver\r\n$5\r\nredis\r\n$7\r\nversion\r\n$6\r\n7.0.15\r\n$4\r\nrole\r\n$"
    "6\r\nmaster"
    "\r\n",
    ":1\r\n",
};

static size_t mutate(char *bytes, size_t n, size_t max) {
    static const char interesting[] = "*$:+-0123456789\r\n_a\0\xff";
    size_t at = (size_t)rand() % n;

    switch (rand() % 5) {
    case 0:
        bytes[at] = interesting[(size_t)rand() % (sizeof(interesting) - 1)];
        return n;
    case 1:
        bytes[at] ^= (char)(1 << (rand() % 8));
        return n;
    case 2:
        if (n < 2)
            return n;
        memmove(bytes + at, bytes + at + 1, n - at - 1);
        return n - 1;
    case 3:
        if (n == max)
            return n;
        memmove(bytes + at + 1, bytes + at, n - at);
        bytes[at] = interesting[(size_t)rand() % (sizeof(interesting) - 1)];
        return n + 1;
    default: {
        size_t from = (size_t)rand() % n, size = (size_t)rand() % 12;
        for (size_t i = 0; i < size && at + i < n && from + i < n; i++)
            bytes[at + i] = bytes[from + i];
        return n;
    }
    }
}

/* Old versions of hiredis take room for as many elements as are announced: not for the test. */
static bool announces_too_much(const char *bytes, size_t n) {
    for (size_t i = 0; i < n; i++) {
        size_t digits = 0;
        if (bytes[i] != '*')
            continue;
        while (i + 1 + digits < n && bytes[i + 1 + digits] >= '0' && bytes[i + 1 + digits] <= '9')
            digits++;
        if (digits > 6)
            return true;
    }
    return false;
}

static void test_mutilated_replies(void **state) {
    (void)state;
    unsigned seed = (unsigned)time(NULL);
    const char *given = getenv("TEST_SEED");
    unsigned parsed = 0;

    if (given)
        seed = (unsigned)strtoul(given, NULL, 10);
    print_message("# TEST_SEED=%u\n", seed);
    srand(seed);
    for (int round = 0; round < 40000; round++) {
        const char *from = seeds[(size_t)rand() % (sizeof(seeds) / sizeof(seeds[0]))];
        char bytes[512];
        size_t n = strlen(from);
        memcpy(bytes, from, n);
        for (int i = 1 + rand() % 4; i > 0; i--)
            n = mutate(bytes, n, sizeof(bytes));
        if (announces_too_much(bytes, n))
            continue;
        redisReply *reply = parse_n(bytes, n);
        if (!reply)
            continue;
        parsed++;
        decode_all(reply);
        freeReplyObject(reply);
    }
    assert_true(parsed > 5000);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_autoclaim_shapes),
        cmocka_unit_test(test_malformed_autoclaim),
        cmocka_unit_test(test_cursor_with_a_nul),
        cmocka_unit_test(test_pending_summary),
        cmocka_unit_test(test_pending_range),
        cmocka_unit_test(test_bodies),
        cmocka_unit_test(test_ids),
        cmocka_unit_test(test_small_answers),
        cmocka_unit_test(test_a_page_of_a_move),
        cmocka_unit_test(test_malformed_pages_of_a_move),
        cmocka_unit_test(test_error_words),
        cmocka_unit_test(test_hello),
        cmocka_unit_test(test_counts_that_nothing_follows),
        cmocka_unit_test(test_mutilated_replies),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
