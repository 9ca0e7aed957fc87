/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What is said first on a new connection, in one go: AUTH (where there is a password), HELLO 2
 * (who are you; optional), SELECT (where the database is not 0), CLIENT SETNAME (optional). The
 * answer to the last one makes the link up.
 *
 * The password is read anew each time and wiped from all memory that is ours as soon as hiredis
 * has it. An answer to AUTH may repeat it, so of that only words we know are kept.
 */
#include "link_internal.h"

#include "base/cleanup.h"
#include "base/secret.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CLIENT_NAME "xautoclaimd"

static struct link *link_of(struct pending *pending, size_t offset) {
    return (struct link *)(void *)((char *)pending - offset);
}
#define LINK_OF(pending, member) link_of(pending, offsetof(struct link, greeting.member))

/* --- refusals -------------------------------------------------------------------------------- */

/* What waiting does not mend: credentials, or protected mode. */
static bool is_denial(enum redis_error error, const char *word) {
    return error == REDIS_ERROR_AUTH || error == REDIS_ERROR_NOPERM || strcmp(word, "DENIED") == 0;
}

void greeting_refused(struct link *link, const char *command, const redisReply *reply) {
    char word[REDIS_ERROR_WORD_MAX], text[LINK_TROUBLE_MAX];
    enum redis_error error = reply_error(reply, word);
    bool denied = is_denial(error, word);

    if (reply_is_too_many_clients(reply)) {
        link_close(link, "too many clients on the server", NULL, false);
        return;
    }
    if (error == REDIS_ERROR_OTHER && !denied)
        (void)snprintf(word, sizeof(word), "%s", "ERR");
    if (denied || !command)
        (void)snprintf(text, sizeof(text), "%s", word);
    else
        (void)snprintf(text, sizeof(text), "%s refused: %s", command, word);
    link_close(link, text, word, denied || (command && error != REDIS_ERROR_TRANSIENT));
}

static void greeting_unexpected(struct link *link, const char *command) {
    char text[LINK_TROUBLE_MAX];

    connection_distrust(link->connection);
    (void)snprintf(text, sizeof(text), "unexpected reply to %s", command);
    link_close(link, text, NULL, false);
}

/* True if the reply is to be looked at; the link has gone on or ended elsewise. */
static bool still_greeting(const struct link *link, const redisReply *reply) {
    return reply && link->state == LINK_GREETING;
}

/* --- sending --------------------------------------------------------------------------------- */

static void send_words(struct link *link, struct pending *pending, int n, const char **words,
                       const size_t *sizes) {
    char *command = NULL;
    int size = (int)redisFormatCommandArgv(&command, n, words, sizes);

    bool sent = size > 0 && connection_send(link->connection, pending, command, (size_t)size);
    if (command) {
        explicit_bzero(command, (size_t)(size > 0 ? size : 0));
        redisFreeCommand(command);
    }
    if (!sent)
        link_close(link, "the greeting could not be sent", NULL, false);
}

/* --- AUTH ------------------------------------------------------------------------------------ */

static void on_auth(struct pending *pending, const redisReply *reply) {
    struct link *link = LINK_OF(pending, auth);

    if (!still_greeting(link, reply))
        return;
    if (reply->type == REDIS_REPLY_ERROR)
        greeting_refused(link, "AUTH", reply);
    else if (reply->type != REDIS_REPLY_STATUS)
        greeting_unexpected(link, "AUTH");
}

/* Without a password for a user, any will do for one that needs none. */
static bool send_auth(struct link *link) {
    const struct redis_settings *settings = link->settings;
    CLEANUP(secret_wipe) struct secret secret = {0};
    char why[SECRET_WHY_MAX], text[LINK_TROUBLE_MAX];

    if (!settings->password_file && !settings->username)
        return true;
    if (settings->password_file &&
        secret_read(settings->password_file, getenv("CREDENTIALS_DIRECTORY"), &secret, why) != 0) {
        (void)snprintf(text, sizeof(text), "password_file: %.*s", LINK_TROUBLE_MAX - 20, why);
        link_close(link, text, NULL, true);
        return false;
    }
    link->greeting.auth.answered = on_auth;
    if (settings->username) {
        const char *words[] = {"AUTH", settings->username, secret.data};
        const size_t sizes[] = {4, strlen(settings->username), secret.size};
        send_words(link, &link->greeting.auth, 3, words, sizes);
    } else {
        const char *words[] = {"AUTH", secret.data};
        const size_t sizes[] = {4, secret.size};
        send_words(link, &link->greeting.auth, 2, words, sizes);
    }
    return link->state == LINK_GREETING;
}

/* --- HELLO ----------------------------------------------------------------------------------- */

/* HELLO is optional; a connection is not. */
static bool is_refusal(const redisReply *reply) {
    char word[REDIS_ERROR_WORD_MAX];
    enum redis_error error = reply_error(reply, word);

    return error == REDIS_ERROR_AUTH || strcmp(word, "DENIED") == 0 ||
           reply_is_too_many_clients(reply);
}

static void on_hello(struct pending *pending, const redisReply *reply) {
    struct link *link = LINK_OF(pending, hello);

    if (!still_greeting(link, reply))
        return;
    if (reply->type == REDIS_REPLY_ERROR) {
        if (is_refusal(reply))
            greeting_refused(link, "HELLO", reply);
        return;
    }
    if (reply_hello(reply, &link->greeting.server) != 0) {
        greeting_unexpected(link, "HELLO");
        return;
    }
    /* Somewhere among several addresses there is a primary. */
    if (link->greeting.server.replica && !topology_is_alone(&link->topology))
        link_close(link, "this is a replica", NULL, false);
}

static void send_hello(struct link *link) {
    const char *words[] = {"HELLO", "2"};
    const size_t sizes[] = {5, 1};

    link->greeting.hello.answered = on_hello;
    send_words(link, &link->greeting.hello, 2, words, sizes);
}

/* --- SELECT ---------------------------------------------------------------------------------- */

static void on_select(struct pending *pending, const redisReply *reply) {
    struct link *link = LINK_OF(pending, select);

    if (!still_greeting(link, reply))
        return;
    if (reply->type == REDIS_REPLY_ERROR)
        greeting_refused(link, "SELECT", reply);
    else if (reply->type != REDIS_REPLY_STATUS)
        greeting_unexpected(link, "SELECT");
}

static void send_select(struct link *link) {
    uint32_t database = topology_current(&link->topology)->database;
    char number[16];

    if (database == 0)
        return;
    int n = snprintf(number, sizeof(number), "%u", database);
    const char *words[] = {"SELECT", number};
    const size_t sizes[] = {6, (size_t)n};
    link->greeting.select.answered = on_select;
    send_words(link, &link->greeting.select, 2, words, sizes);
}

/* --- CLIENT SETNAME -------------------------------------------------------------------------- */

static void on_setname(struct pending *pending, const redisReply *reply) {
    struct link *link = LINK_OF(pending, setname);

    if (still_greeting(link, reply))
        link_greeted(link);
}

static void send_setname(struct link *link) {
    const char *words[] = {"CLIENT", "SETNAME", CLIENT_NAME};
    const size_t sizes[] = {6, 7, strlen(CLIENT_NAME)};

    link->greeting.setname.answered = on_setname;
    send_words(link, &link->greeting.setname, 3, words, sizes);
}

void greeting_begin(struct link *link) {
    link->greeting = (struct greeting){0};
    if (!send_auth(link))
        return;
    send_hello(link);
    send_select(link);
    send_setname(link);
}
