/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Receives the lines of a file and puts them into drafts.
 *
 * A section may come again, in the same file too; it then goes on. A key may be given once a
 * file; a later file replaces it. Every value is read where it stands, so that a bad one is an
 * error even where a later file replaces it.
 */
#include "load.h"

#include "base/text.h"
#include "ini.h"
#include "name.h"
#include "schema.h"
#include <assert.h>
#include <errno.h>
#include <string.h>

/* A value with its indented lines. */
#define VALUE_BYTES_MAX 8192

struct loader {
    struct config_memory *memory;
    struct complaints *complaints;
    const char *file;
    struct draft *draft;   /* the section; NULL: refused, its keys are passed over */
    const struct row *row; /* the key whose value is being gathered; NULL: none */
    size_t size;
    char value[VALUE_BYTES_MAX + 1];
    int error;
};

static struct place here(const struct loader *loader, unsigned line) {
    return (struct place){
        .file = loader->file, .line = line, .section = loader->draft ? loader->draft->title : NULL};
}

static struct draft_key *draft_key(struct loader *loader, const struct row *row) {
    size_t n;

    return &loader->draft->keys[row - schema_rows(loader->draft->kind, &n)];
}

/* --- values ---------------------------------------------------------------------------------- */

static void refuse_value(struct loader *loader, unsigned line, const char *why) {
    struct place place = here(loader, line);

    place.key = loader->row->key;
    complain(loader->complaints, place, "%s", why);
    draft_key(loader, loader->row)->bad = true;
    loader->row = NULL;
}

/* What is taken literally, and was perhaps not meant so. */
static void warn_of_literals(struct loader *loader, struct place place) {
    const char *value = loader->value;
    size_t n = loader->size;

    if (loader->row->type != VALUE_TEXT && loader->row->type != VALUE_CONSUMER)
        return;
    if (n >= 2 && (value[0] == '"' || value[0] == '\'') && value[n - 1] == value[0])
        complain_warning(loader->complaints, place, "the quotes are part of the value");
    if (strstr(value, " #") || strstr(value, "\t#"))
        complain_warning(loader->complaints, place,
                         "the # and what follows are part of the value; a comment stands on a "
                         "line of its own");
}

/* The value is complete: no indented line can follow it any more. */
static void finish_value(struct loader *loader) {
    char why[WHY_MAX];

    if (!loader->row)
        return;
    struct place place = draft_place(loader->draft, loader->row->key);
    warn_of_literals(loader, place);
    int r = schema_parse(loader->row, loader->value, loader->memory, loader->draft, why);
    if (r < 0)
        loader->error = r;
    if (r != 0)
        refuse_value(loader, place.line, r > 0 ? why : strerror(-r));
    loader->row = NULL;
}

static void append_value(struct loader *loader, unsigned line, const char *text) {
    size_t n = strlen(text), blank = loader->size > 0 && n > 0 ? 1 : 0;

    if (loader->size + blank + n > VALUE_BYTES_MAX) {
        refuse_value(loader, line, "too long; accepted: at most 8192 bytes in all its lines");
        return;
    }
    memcpy(loader->value + loader->size, " ", blank);
    memcpy(loader->value + loader->size + blank, text, n + 1);
    loader->size += blank + n;
}

/* --- sections -------------------------------------------------------------------------------- */

/* Splits "recovery orders" in place; *ret_name is "" where there is none. */
static bool split_title(char *title, enum section_kind *ret_kind, const char **ret_name) {
    static const char blanks[] = " \t";
    char *rest = NULL, *word = strtok_r(title, blanks, &rest);
    const char *name = strtok_r(NULL, blanks, &rest);

    if (!word || strtok_r(NULL, blanks, &rest))
        return false;
    for (int kind = 0; kind < _SECTION_MAX; kind++)
        if (strcmp(schema_section_word((enum section_kind)kind), word) == 0) {
            *ret_kind = (enum section_kind)kind;
            *ret_name = name ? name : "";
            return true;
        }
    return false;
}

/* NULL: nothing is wrong with it. */
static const char *find_fault(enum section_kind kind, const char *name) {
    bool named = *name != '\0';

    if (kind == SECTION_DAEMON && named)
        return "has no NAME; accepted: [daemon]";
    if (kind == SECTION_RECOVERY && !named)
        return "needs a NAME; accepted: [recovery NAME]";
    if (named && !name_is_valid(name))
        return "not a NAME; accepted: " NAME_ACCEPTED;
    return NULL;
}

static struct draft *enter_section(struct loader *loader, unsigned line, enum section_kind kind,
                                   const char *name) {
    struct draft *draft = draft_find(loader->memory, kind, name);

    if (!draft) {
        draft = draft_add(loader->memory, kind, name, loader->file, line);
        if (!draft)
            loader->error = -ENOMEM;
    } else if (!draft->file) {
        draft->file = loader->file;
        draft->line = line;
    }
    return draft;
}

static void on_section(void *data, unsigned line, const char *title) {
    struct loader *loader = data;
    char copy[256], text[SHOWN_MAX];
    enum section_kind kind = SECTION_DAEMON;
    const char *name = "", *fault = NULL;

    finish_value(loader);
    loader->draft = NULL;
    (void)snprintf(copy, sizeof(copy), "%s", title);
    if (!split_title(copy, &kind, &name))
        fault = "unknown section; accepted: [daemon], [redis], [redis NAME], [recovery NAME]";
    else
        fault = find_fault(kind, name);
    if (!fault && draft_count(loader->memory, kind) >= DRAFTS_MAX &&
        !draft_find(loader->memory, kind, name))
        fault = "too many sections of this kind; accepted: at most 1000";
    if (fault) {
        struct place place = {loader->file, line, shown(title, text), NULL};

        complain(loader->complaints, place, "%s", fault);
        return;
    }
    loader->draft = enter_section(loader, line, kind, name);
}

/* --- keys ------------------------------------------------------------------------------------ */

/* Only what looks like a key is repeated: it could be a stray piece of something else. */
static const char *shown_key(const char *key) {
    static const char letters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_-";
    size_t n = strspn(key, letters);

    return n > 0 && n <= 32 && key[n] == '\0' ? key : NULL;
}

static void refuse_key(struct loader *loader, unsigned line, const char *key) {
    struct place place = here(loader, line);
    char accepted[1024] = "";
    size_t n, used = 0;

    assert(loader->draft);
    place.key = shown_key(key);
    if (schema_not_built(loader->draft->kind, key)) {
        complain(loader->complaints, place, "not built yet; accepted: a configuration without it");
        return;
    }
    if (loader->draft->kind == SECTION_REDIS && strcmp(key, "password") == 0) {
        complain(loader->complaints, place,
                 "a password does not belong in this file; accepted: password_file");
        return;
    }
    const struct row *rows = schema_rows(loader->draft->kind, &n);
    for (size_t i = 0; i < n && used < sizeof(accepted); i++)
        used += (size_t)snprintf(accepted + used, sizeof(accepted) - used, "%s%s",
                                 i > 0 ? ", " : "", rows[i].key);
    complain(loader->complaints, place, "unknown key; accepted: %s", accepted);
}

static void on_key(void *data, unsigned line, const char *key, const char *value) {
    struct loader *loader = data;

    finish_value(loader);
    if (!loader->draft)
        return;
    const struct row *row = schema_find(loader->draft->kind, key);
    if (!row) {
        refuse_key(loader, line, key);
        return;
    }
    struct draft_key *at = draft_key(loader, row);
    if (at->file == loader->file) {
        struct place place = here(loader, line);

        place.key = row->key;
        complain(loader->complaints, place,
                 "given twice in this file, first in line %u; accepted: once", at->line);
        return;
    }
    *at = (struct draft_key){.file = loader->file, .line = line};
    loader->row = row;
    loader->size = 0;
    loader->value[0] = '\0';
    append_value(loader, line, value);
}

static void on_more(void *data, unsigned line, const char *text) {
    struct loader *loader = data;

    if (!loader->row)
        return;
    if (!(loader->row->flags & ROW_CONTINUES))
        refuse_value(loader, line,
                     "an indented line continues the key above it, which only url and command may; "
                     "accepted: the same line without blanks before it");
    else
        append_value(loader, line, text);
}

static void on_bad(void *data, unsigned line, bool more, const char *why) {
    struct loader *loader = data;

    if (!more)
        finish_value(loader);
    complain(loader->complaints, (struct place){.file = loader->file, .line = line}, "%s", why);
    /* A value without one of its lines is not worth another complaint. */
    if (loader->row)
        draft_key(loader, loader->row)->bad = true;
    loader->row = NULL;
}

int load_file(FILE *file, const char *name, struct config_memory *memory,
              struct complaints *complaints) {
    static const struct ini_events events = {
        .section = on_section, .key = on_key, .more = on_more, .bad = on_bad};
    struct loader loader = {.memory = memory, .complaints = complaints, .file = name};
    int r = ini_read(file, &events, &loader);

    finish_value(&loader);
    return r < 0 ? r : loader.error;
}
