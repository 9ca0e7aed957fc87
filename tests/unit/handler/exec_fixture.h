/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A loop, a children table and an exec handler whose program is a script in a private
 * directory. Every wait ends with a deadline that fails the test.
 */
#pragma once

#include "unit.h"

#include "handler/kind.h"
#include "report_stub_handler.h"

#if defined(__SANITIZE_ADDRESS__)
#define SANITIZED 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define SANITIZED 1
#endif
#endif
#ifndef SANITIZED
#define SANITIZED 0
#endif

struct fixture {
    char directory[32];
    char program[64];
    char *argv[8];
    struct recovery_settings settings;
    struct loop *loop;
    struct children *children;
    struct handler *handler;
    struct timer *deadline;
    struct handler_run *run; /* the last one started */
    size_t ended;
    size_t wanted;
    enum outcome outcome; /* of the last one that ended */
    char reason[OUTCOME_REASON_MAX];
    usec_t duration;
};

extern struct fixture fx;

int fixture_setup(void **state);
int fixture_teardown(void **state);

/* Writes the program: a shell script of these lines. "@" stands for the directory. */
void script(const char *text);
/* Instead of the script. */
void program(const char *path, const char *argument, const char *argument2);

void make_handler(void);
int try_start(uint64_t id_ms);
void start(uint64_t id_ms);
void start_entry(const struct entry *entry, uint64_t deliveries);

/* Until so many runs have ended since setup. */
void run_until_ended(size_t wanted);
/* Until the next line of output, or so many lines. */
void run_until_lines(size_t lines);
/* Until no process has this pid (it is reaped by us). */
void run_until_gone(pid_t pid);

/* make_handler(), start(), run_until_ended(1), expectations. */
void expect_run(enum outcome outcome, const char *reason);
void expect_ended(enum outcome outcome, const char *reason);
size_t open_descriptors(void);
