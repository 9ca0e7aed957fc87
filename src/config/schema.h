/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * THE table: one row a key. The same rows parse and range-check a value, fill in defaults,
 * print the effective configuration and write the sample file.
 */
#pragma once

#include "base/error.h"
#include "complain.h"
#include "draft.h"

/* What sun_path takes. */
#define SOCKET_PATH_MAX 107
#define SOCKET_PATH_MAX_TEXT "107"

enum value_type {
    VALUE_DURATION,      /* usec_t */
    VALUE_SIZE,          /* uint64_t */
    VALUE_NUMBER,        /* uint64_t */
    VALUE_CHOICE,        /* int (an enum of settings.h) */
    VALUE_TEXT,          /* const char *, as are all below */
    VALUE_REDIS_NAME,    /* NAME of a [redis NAME], or empty */
    VALUE_URLS,          /* syntax checked */
    VALUE_CONSUMER,      /* specifiers checked */
    VALUE_COMMAND,       /* splits into words, program absolute */
    VALUE_PASSWORD_FILE, /* absolute path, bare name, or empty */
    VALUE_SOCKET_PATH,   /* absolute path, "auto", "off" */
    VALUE_ADDRESS,       /* of this machine, or empty */
    _VALUE_TYPE_MAX,
};

/* What `choice` values are called. */
struct choice {
    const char *name; /* NULL ends the list */
    int value;        /* CHOICE_NOT_BUILT */
};
#define CHOICE_NOT_BUILT (-1)

#define ROW_CONTINUES (1U << 0) /* may go on in indented lines, joined with one blank */
#define ROW_SECRET (1U << 1)    /* the value is never repeated in a message */
#define ROW_AUTO (1U << 2)      /* "auto" is a value too: VALUE_AUTO */
/* A key that means something to this kind of handler; with none of these: to each kind. */
#define ROW_FOR(kind) (1U << (8 + (kind)))

struct row {
    const char *key;
    enum value_type type;
    size_t offset;        /* into struct draft */
    const char *fallback; /* the default as text; NULL: the key is required */
    uint64_t min, max;
    unsigned flags;
    const struct choice *choices;
    const char *help;
};

const struct row *schema_rows(enum section_kind kind, size_t *ret_n);
const struct row *schema_find(enum section_kind kind, const char *key);
/* False where the key means nothing to the handler of the recovery. */
bool schema_applies(const struct row *row, const struct draft *draft);
/* A key that a later release will have. */
bool schema_not_built(enum section_kind kind, const char *key);
/* "daemon", "redis", "recovery" */
const char *schema_section_word(enum section_kind kind);

/* Reads text into the draft. VALUE_E_BAD with the sentence in why, the draft untouched;
 * -ENOMEM. */
MUST_CHECK int schema_parse(const struct row *row, const char *text, struct config_memory *memory,
                            struct draft *draft, char why[WHY_MAX]);

/* The draft's value as schema_parse() reads it back; buf is used where it is not kept as
 * text. */
#define VALUE_TEXT_MAX 64
const char *schema_format(const struct row *row, const struct draft *draft,
                          char buf[VALUE_TEXT_MAX]);

/* Do two drafts of one kind have the same value? */
bool schema_equal(const struct row *row, const struct draft *a, const struct draft *b);

/* What is accepted, for people: "1s to 30d, such as 500ms, 60s or 1h 30m". */
#define ACCEPTED_MAX 200
const char *schema_accepted(const struct row *row, char buf[ACCEPTED_MAX]);
