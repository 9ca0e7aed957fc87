/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Editions of the configuration: one is in force, older ones live as long as somebody that goes on
 * unchanged, or is still draining, borrows its settings from them.
 */
#include "inside.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

int edition_new(struct config *config, struct edition **ret) {
    struct edition *edition = calloc(1, sizeof(*edition));

    if (!edition) {
        config_free(config);
        return -ENOMEM;
    }
    *edition = (struct edition){.config = config, .users = 1};
    *ret = edition;
    return 0;
}

struct edition *edition_use(struct edition *edition) {
    edition->users++;
    return edition;
}

struct edition *edition_leave(struct edition *edition) {
    if (!edition)
        return NULL;
    assert(edition->users > 0);
    if (--edition->users == 0) {
        config_free(edition->config);
        free(edition);
    }
    return NULL;
}

const struct recovery_settings *edition_recovery(const struct edition *edition, const char *name) {
    for (size_t i = 0; i < edition->config->n_recoveries; i++)
        if (strcmp(edition->config->recoveries[i].name, name) == 0)
            return &edition->config->recoveries[i];
    return NULL;
}

const struct redis_settings *edition_redis(const struct edition *edition, const char *name) {
    for (size_t i = 0; i < edition->config->n_redis; i++)
        if (strcmp(edition->config->redis[i].name, name) == 0)
            return &edition->config->redis[i];
    return NULL;
}
