/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * One array: the constant strings, then ID and DELIVERIES, which live in buffers of their own
 * and are rewritten for each start.
 */
#include "environment.h"

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define OUR_PREFIX "XAUTOCLAIMD_"

struct environment {
    char **strings; /* n owned ones, then id, deliveries, NULL */
    size_t n;
    char id[sizeof(OUR_PREFIX "ID=") + ENTRY_ID_TEXT_MAX];
    char deliveries[sizeof(OUR_PREFIX "DELIVERIES=") + 20];
};

enum {
    OUR_CONSTANTS = 4,
    OUR_OTHERS = 3, /* id, deliveries, the final NULL */
};

/* The daemon's link to its manager, its sockets, its place in the journal, its secrets; and our
 * own names, which must not be there twice. One that ends in '_' stands for all that begin so. */
static const char *const withheld[] = {
    "NOTIFY_SOCKET",
    "WATCHDOG_",
    "LISTEN_",
    "JOURNAL_STREAM",
    "CREDENTIALS_DIRECTORY",
    OUR_PREFIX "RECOVERY",
    OUR_PREFIX "STREAM",
    OUR_PREFIX "GROUP",
    OUR_PREFIX "CONSUMER",
    OUR_PREFIX "ID",
    OUR_PREFIX "DELIVERIES",
};

static bool is_withheld(const char *string) {
    size_t length = strcspn(string, "=");

    for (size_t i = 0; i < sizeof(withheld) / sizeof(withheld[0]); i++) {
        size_t n = strlen(withheld[i]);
        bool prefix = withheld[i][n - 1] == '_';

        if ((prefix ? length >= n : length == n) && memcmp(string, withheld[i], n) == 0)
            return true;
    }
    return false;
}

static int add(struct environment *environment, const char *name, const char *value) {
    char *string = NULL;

    if (asprintf(&string, "%s%s%s", name, value ? "=" : "", value ? value : "") < 0)
        return -ENOMEM;
    environment->strings[environment->n++] = string;
    return 0;
}

static int fill(struct environment *environment, const struct recovery_settings *settings,
                char *const *inherited) {
    int r = 0;

    for (; *inherited && r == 0; inherited++)
        if (!is_withheld(*inherited))
            r = add(environment, *inherited, NULL);
    if (r == 0)
        r = add(environment, OUR_PREFIX "RECOVERY", settings->name);
    if (r == 0)
        r = add(environment, OUR_PREFIX "STREAM", settings->stream);
    if (r == 0)
        r = add(environment, OUR_PREFIX "GROUP", settings->group);
    if (r == 0)
        r = add(environment, OUR_PREFIX "CONSUMER", settings->consumer);
    return r;
}

int environment_new(const struct recovery_settings *settings, char *const *inherited,
                    struct environment **ret) {
    struct environment *environment = calloc(1, sizeof(*environment));
    if (!environment)
        return -ENOMEM;

    size_t n = 0;
    while (inherited[n])
        n++;
    environment->strings = calloc(n + OUR_CONSTANTS + OUR_OTHERS, sizeof(char *));
    if (!environment->strings || fill(environment, settings, inherited) < 0) {
        environment_free(environment);
        return -ENOMEM;
    }
    *ret = environment;
    return 0;
}

struct environment *environment_free(struct environment *environment) {
    if (!environment)
        return NULL;
    for (size_t i = 0; i < environment->n; i++)
        free(environment->strings[i]);
    free(environment->strings);
    free(environment);
    return NULL;
}

char *const *environment_without_entry(struct environment *environment) {
    environment->strings[environment->n] = NULL;
    return environment->strings;
}

char *const *environment_for(struct environment *environment, struct entry_id id,
                             uint64_t deliveries) {
    char text[ENTRY_ID_TEXT_MAX];

    (void)entry_id_format(id, text);
    (void)snprintf(environment->id, sizeof(environment->id), OUR_PREFIX "ID=%s", text);
    (void)snprintf(environment->deliveries, sizeof(environment->deliveries),
                   OUR_PREFIX "DELIVERIES=%" PRIu64, deliveries);
    environment->strings[environment->n] = environment->id;
    environment->strings[environment->n + 1] = environment->deliveries;
    return environment->strings;
}
