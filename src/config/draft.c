/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Owns the drafts and all memory of one configuration.
 */
#include "draft.h"

#include "base/cleanup.h"
#include "schema.h"
#include <assert.h>
#include <errno.h>
#include <string.h>

struct block {
    void *data;
    struct block *next;
};

struct config_memory {
    struct block *blocks;
    struct draft *drafts[_SECTION_MAX];
    size_t n_drafts[_SECTION_MAX];
};

struct config_memory *config_memory_new(void) {
    return calloc(1, sizeof(struct config_memory));
}

struct config_memory *config_memory_free(struct config_memory *memory) {
    if (!memory)
        return NULL;
    while (memory->blocks) {
        struct block *block = memory->blocks;

        memory->blocks = block->next;
        free(block->data);
        free(block);
    }
    free(memory);
    return NULL;
}

int memory_adopt(struct config_memory *memory, void *data) {
    struct block *block = malloc(sizeof(*block));

    if (!block) {
        free(data);
        return -ENOMEM;
    }
    *block = (struct block){.data = data, .next = memory->blocks};
    memory->blocks = block;
    return 0;
}

void *memory_alloc(struct config_memory *memory, size_t size) {
    void *data = calloc(1, size);

    if (!data || memory_adopt(memory, data) < 0)
        return NULL;
    return data;
}

char *memory_copy(struct config_memory *memory, const char *text) {
    char *copy = memory_alloc(memory, strlen(text) + 1);

    if (copy)
        strcpy(copy, text);
    return copy;
}

struct draft *draft_first(const struct config_memory *memory, enum section_kind kind) {
    return memory->drafts[kind];
}

size_t draft_count(const struct config_memory *memory, enum section_kind kind) {
    return memory->n_drafts[kind];
}

struct draft *draft_find(const struct config_memory *memory, enum section_kind kind,
                         const char *name) {
    for (struct draft *draft = memory->drafts[kind]; draft; draft = draft->next)
        if (strcmp(draft->name, name) == 0)
            return draft;
    return NULL;
}

static int fill_in_defaults(struct config_memory *memory, struct draft *draft) {
    size_t n;
    const struct row *rows = schema_rows(draft->kind, &n);

    assert(n <= DRAFT_KEYS_MAX);
    for (size_t i = 0; i < n; i++) {
        char why[WHY_MAX];

        if (!rows[i].fallback)
            continue;
        int r = schema_parse(&rows[i], rows[i].fallback, memory, draft, why);
        if (r < 0)
            return r;
        assert(r == 0);
    }
    return 0;
}

static char *make_title(struct config_memory *memory, enum section_kind kind, const char *name) {
    const char *word = schema_section_word(kind);
    size_t n = strlen(word) + 1 + strlen(name) + 1;
    char *title = memory_alloc(memory, n);

    if (title)
        (void)snprintf(title, n, "%s%s%s", word, *name != '\0' ? " " : "", name);
    return title;
}

struct draft *draft_add(struct config_memory *memory, enum section_kind kind, const char *name,
                        const char *file, unsigned line) {
    struct draft *draft = memory_alloc(memory, sizeof(*draft)), **last = &memory->drafts[kind];

    if (!draft)
        return NULL;
    *draft = (struct draft){.kind = kind, .file = file, .line = line};
    draft->name = memory_copy(memory, name);
    draft->title = make_title(memory, kind, name);
    if (!draft->name || !draft->title || fill_in_defaults(memory, draft) < 0)
        return NULL;
    while (*last)
        last = &(*last)->next;
    *last = draft;
    memory->n_drafts[kind]++;
    return draft;
}

static const struct draft_key *find_key(const struct draft *draft, const char *key) {
    const struct row *row = schema_find(draft->kind, key);
    size_t n;

    assert(row);
    return &draft->keys[row - schema_rows(draft->kind, &n)];
}

struct place draft_place(const struct draft *draft, const char *key) {
    const struct draft_key *at = find_key(draft, key);

    return (struct place){.file = at->file ? at->file : draft->file,
                          .line = at->file ? at->line : draft->line,
                          .section = draft->title,
                          .key = key};
}

bool draft_given(const struct draft *draft, const char *key) {
    return find_key(draft, key)->file != NULL;
}

bool draft_knows(const struct draft *draft, const char *key) {
    const struct draft_key *at = find_key(draft, key);

    return at->file ? !at->bad : schema_find(draft->kind, key)->fallback != NULL;
}
