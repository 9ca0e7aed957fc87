/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The floors: what the daemon is measured against, without anything that makes it one. They ask
 * for the same with the same commands and keep nothing, know no lease, survive no error.
 *
 *   floor entries SOCKET          XAUTOCLAIM JUSTID COUNT 100, one XPENDING, one XCLAIM by ID with
 *                                 the bodies, one XACK, until the cursor is 0-0
 *   floor move SOCKET SHA1 COUNT  EVALSHA of the daemon's own script, until the cursor is 0-0
 *   floor spawn N AT-ONCE PROGRAM posix_spawn of N processes, so many at once
 */
#include <errno.h>
#include <hiredis/hiredis.h>
#include <spawn.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

#define PAGE 100
#define CURSOR_MAX 64

static _Noreturn void fail(const char *what) {
    (void)fprintf(stderr, "floor: %s\n", what);
    exit(EXIT_FAILURE);
}

static redisReply *checked(redisContext *c, redisReply *reply) {
    if (!reply)
        fail(c->errstr);
    if (reply->type == REDIS_REPLY_ERROR)
        fail(reply->str);
    return reply;
}

static redisContext *connect_to(const char *path) {
    redisContext *c = redisConnectUnix(path);

    if (!c || c->err)
        fail(c ? c->errstr : "no memory");
    return c;
}

/* True until the cursor is 0-0. */
static bool next_cursor(char *cursor, const redisReply *answer) {
    (void)snprintf(cursor, CURSOR_MAX, "%s", answer->str);
    return strcmp(cursor, "0-0") != 0;
}

/* The command's words, then the IDs. */
static redisReply *by_ids(redisContext *c, const char *const *words, size_t n_words,
                          const redisReply *ids) {
    const char *all[PAGE + 8];
    size_t n = 0;

    for (; n < n_words; n++)
        all[n] = words[n];
    for (size_t i = 0; i < ids->elements; i++)
        all[n++] = ids->element[i]->str;
    return checked(c, redisCommandArgv(c, (int)n, all, NULL));
}

static long long process(redisContext *c, const redisReply *ids) {
    static const char *const claim[] = {"XCLAIM", "orders", "workers", "floor", "0"};
    static const char *const ack[] = {"XACK", "orders", "workers"};
    redisReply *reply =
        checked(c, redisCommand(c, "XPENDING orders workers %s %s %d floor", ids->element[0]->str,
                                ids->element[ids->elements - 1]->str, PAGE));
    long long acked;

    freeReplyObject(reply);
    freeReplyObject(by_ids(c, claim, 5, ids));
    reply = by_ids(c, ack, 3, ids);
    acked = reply->integer;
    freeReplyObject(reply);
    return acked;
}

static long long entries(const char *path) {
    redisContext *c = connect_to(path);
    char cursor[CURSOR_MAX] = "0-0";
    long long acked = 0;
    bool more = true;

    while (more) {
        redisReply *page =
            checked(c, redisCommand(c, "XAUTOCLAIM orders workers floor 60000 %s COUNT %d JUSTID",
                                    cursor, PAGE));

        more = next_cursor(cursor, page->element[0]);
        if (page->element[1]->elements > 0)
            acked += process(c, page->element[1]);
        freeReplyObject(page);
    }
    redisFree(c);
    return acked;
}

static long long move(const char *path, const char *sha1, const char *count) {
    redisContext *c = connect_to(path);
    char cursor[CURSOR_MAX] = "0-0";
    long long moved = 0;
    bool more = true;

    while (more) {
        redisReply *page = checked(
            c, redisCommand(c,
                            "EVALSHA %s 2 orders target workers floor 60000 %s %s 0 orders keep "
                            "1500 0",
                            sha1, cursor, count));

        more = next_cursor(cursor, page->element[0]);
        moved += page->element[1]->integer;
        freeReplyObject(page);
    }
    redisFree(c);
    return moved;
}

static long long spawn(long n, long at_once, char *program) {
    char *const words[] = {program, NULL};
    long begun = 0, ended = 0;
    pid_t pid;

    while (ended < n) {
        for (; begun < n && begun - ended < at_once; begun++)
            if (posix_spawn(&pid, program, NULL, NULL, words, environ) != 0)
                fail("posix_spawn failed");
        if (waitpid(-1, NULL, 0) > 0)
            ended++;
        else if (errno != EINTR)
            fail("no children");
    }
    return ended;
}

int main(int argc, char **argv) {
    const char *what = argc > 2 ? argv[1] : "";
    long long n = 0;

    if (strcmp(what, "entries") == 0 && argc == 3)
        n = entries(argv[2]);
    else if (strcmp(what, "move") == 0 && argc == 5)
        n = move(argv[2], argv[3], argv[4]);
    else if (strcmp(what, "spawn") == 0 && argc == 5)
        n = spawn(strtol(argv[2], NULL, 10), strtol(argv[3], NULL, 10), argv[4]);
    else
        fail("usage: floor entries SOCKET | move SOCKET SHA1 COUNT | spawn N AT-ONCE PROGRAM");
    (void)printf("%lld\n", n);
    return EXIT_SUCCESS;
}
