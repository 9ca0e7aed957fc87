/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Birth and death of a configuration: files -> drafts -> rules -> settings.
 */
#include "config/config.h"

#include "complain.h"
#include "draft.h"
#include "files.h"
#include "load.h"
#include "rules.h"
#include <errno.h>
#include <string.h>

static int read_file(const char *path, struct config_memory *memory,
                     struct complaints *complaints) {
    const char *name = files_shown(path, memory);
    FILE *file;

    if (!name)
        return -ENOMEM;
    int r = files_open(path, complaints, &file);
    if (r < 0 || !file)
        return r;
    r = load_file(file, name, memory, complaints);
    (void)fclose(file);
    if (r == -ENOMEM || r == 0)
        return r;
    complain(complaints, (struct place){.file = name}, "cannot be read: %s", strerror(-r));
    return 0;
}

static int read_files(const char *path, struct config_memory *memory,
                      struct complaints *complaints) {
    char **drop_ins;
    int r = read_file(path, memory, complaints);

    if (r == 0)
        r = files_drop_ins(path, memory, complaints, &drop_ins);
    for (size_t i = 0; r == 0 && drop_ins[i]; i++)
        r = read_file(drop_ins[i], memory, complaints);
    return r;
}

static size_t index_of(const struct config_memory *memory, const struct draft *wanted) {
    size_t i = 0;

    for (const struct draft *draft = draft_first(memory, wanted->kind); draft != wanted;
         draft = draft->next)
        i++;
    return i;
}

/* Lays the settings out in arrays, with pointers from recoveries to servers. */
static int settle(struct config *config) {
    struct config_memory *memory = config->memory;
    size_t i = 0;

    config->daemon = draft_first(memory, SECTION_DAEMON)->daemon;
    if (strcmp(config->daemon.control_socket, "off") == 0)
        config->daemon.control_socket = NULL;
    config->n_redis = draft_count(memory, SECTION_REDIS);
    config->n_recoveries = draft_count(memory, SECTION_RECOVERY);
    config->redis = memory_alloc(memory, (config->n_redis + 1) * sizeof(*config->redis));
    config->recoveries =
        memory_alloc(memory, (config->n_recoveries + 1) * sizeof(*config->recoveries));
    if (!config->redis || !config->recoveries)
        return -ENOMEM;
    for (struct draft *draft = draft_first(memory, SECTION_REDIS); draft; draft = draft->next)
        config->redis[i++] = draft->redis.settings;
    i = 0;
    for (struct draft *draft = draft_first(memory, SECTION_RECOVERY); draft; draft = draft->next) {
        draft->recovery.settings.redis = &config->redis[index_of(memory, draft->recovery.server)];
        config->recoveries[i++] = draft->recovery.settings;
    }
    return 0;
}

static int load(const struct config_source *source, struct complaints *complaints,
                struct config *config) {
    config->memory = config_memory_new();
    /* [daemon] is there whether anybody writes it or not. */
    if (!config->memory || !draft_add(config->memory, SECTION_DAEMON, "", NULL, 0))
        return -ENOMEM;
    int r = read_files(source->path, config->memory, complaints);
    if (r == 0)
        r = rules_apply(source, config->memory, complaints);
    if (r == 0)
        r = complaints->error;
    if (r < 0)
        return r;
    return complaints->errors > 0 ? CONFIG_E_INVALID : settle(config);
}

int config_load(const struct config_source *source, config_complain call, void *data,
                struct config **ret) {
    CLEANUP(config_freep) struct config *config = calloc(1, sizeof(*config));
    struct complaints complaints = {.call = call, .data = data};

    if (!config)
        return -ENOMEM;
    int r = load(source, &complaints, config);
    if (r == 0)
        *ret = TAKE(config);
    return r;
}

struct config *config_free(struct config *config) {
    if (!config)
        return NULL;
    config->memory = config_memory_free(config->memory);
    free(config);
    return NULL;
}
