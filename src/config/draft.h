/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Drafts: the sections as they are being read, and the memory that they and the settings made
 * of them live in. A draft holds what the files say, with the place of each key; rules.c
 * completes its settings. They are kept as long as the config, which is printed from them.
 */
#pragma once

#include "complain.h"
#include "config/config.h"

/* Everything here is given back by config_memory_free() only. */
struct config_memory *config_memory_new(void);
struct config_memory *config_memory_free(struct config_memory *memory);
/* Zeroed. NULL: out of memory. */
void *memory_alloc(struct config_memory *memory, size_t size);
char *memory_copy(struct config_memory *memory, const char *text);
/* Takes over what malloc() made, also where it fails. */
MUST_CHECK int memory_adopt(struct config_memory *memory, void *block);

enum section_kind { SECTION_DAEMON, SECTION_REDIS, SECTION_RECOVERY, _SECTION_MAX };

/* Values that the settings know resolved only. */
#define VALUE_AUTO UINT64_MAX

struct redis_draft {
    struct redis_settings settings;
    const char *urls;
    const char *username;
    const char *password_file;
    int mode;
    bool command_timeout_auto; /* it follows the recoveries on this server */
};

struct recovery_draft {
    struct recovery_settings settings;
    const char *redis;
    const char *consumer; /* with its % specifiers; once expanded, written to expand to itself */
    const char *command;
    const char *address; /* "": none */
    uint64_t workers;
    const char *dead_letter_stream; /* "": none */
    const char *target_stream;      /* "": none */
    const char *worklist;           /* "": none */
    struct draft *server;           /* NULL: there is none of that name */
};

#define DRAFT_KEYS_MAX 32

struct draft_key {
    const char *file; /* NULL: not given */
    unsigned line;
    bool bad; /* given, and refused */
};

struct draft {
    enum section_kind kind;
    const char *name;  /* "" for [daemon] and the unnamed [redis] */
    const char *title; /* "redis cache" */
    const char *file;  /* of its first header; NULL: there is none */
    unsigned line;
    struct draft_key keys[DRAFT_KEYS_MAX]; /* in the order of the section's rows */
    union {
        struct daemon_settings daemon;
        struct redis_draft redis;
        struct recovery_draft recovery;
    };
    struct draft *next; /* of the same kind, in the order of the files */
};

/* More of one kind are refused. */
#define DRAFTS_MAX 1000

struct draft *draft_first(const struct config_memory *memory, enum section_kind kind);
size_t draft_count(const struct config_memory *memory, enum section_kind kind);
struct draft *draft_find(const struct config_memory *memory, enum section_kind kind,
                         const char *name);
/* A new one, every key at its default; name is copied. NULL: out of memory. */
struct draft *draft_add(struct config_memory *memory, enum section_kind kind, const char *name,
                        const char *file, unsigned line);

/* Where its key is given; where the section begins, if it is not. */
struct place draft_place(const struct draft *draft, const char *key);
/* The key's value is what the user wants: given and accepted, or at a default that it has. */
bool draft_knows(const struct draft *draft, const char *key);
bool draft_given(const struct draft *draft, const char *key);
