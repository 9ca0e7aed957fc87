/* SPDX-License-Identifier: BSD-3-Clause */
#include "exec_fixture.h"

#include <dirent.h>
#include <errno.h>
#include <ftw.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

struct fixture fx;

static size_t wanted_lines;
static pid_t wanted_gone;
static struct timer *look_again;

static void too_late(void *data) {
    loop_fail(fx.loop, -ETIMEDOUT);
}

static void run_loop(void) {
    timer_arm(fx.deadline, 40 * USEC_PER_SEC);
    assert_int_equal(loop_run(fx.loop), 0);
    timer_disarm(fx.deadline);
}

static void ended(void *data, void *token, enum outcome outcome, const char *reason,
                  usec_t duration) {
    assert_ptr_equal(data, &fx);
    assert_ptr_equal(token, &fx.settings);
    fx.outcome = outcome;
    (void)snprintf(fx.reason, sizeof(fx.reason), "%s", reason);
    fx.duration = duration;
    if (++fx.ended == fx.wanted)
        loop_stop(fx.loop);
}

int fixture_setup(void **state) {
    memset(&fx, 0, sizeof(fx));
    report_stub_reset();
    strcpy(fx.directory, "/tmp/test-exec-XXXXXX");
    assert_non_null(mkdtemp(fx.directory));
    (void)snprintf(fx.program, sizeof(fx.program), "%s/program", fx.directory);
    fx.argv[0] = fx.program;
    fx.settings = (struct recovery_settings){
        .name = "orders",
        .stream = "orders:in",
        .group = "workers",
        .consumer = "xautoclaimd-host",
        .handler = HANDLER_EXEC,
        .argv = fx.argv,
        .payload = PAYLOAD_ID,
        .handler_timeout = 30 * USEC_PER_SEC,
        .handler_output = OUTPUT_BOTH,
    };
    assert_int_equal(loop_new(&fx.loop), 0);
    assert_int_equal(children_new(fx.loop, &fx.children), 0);
    assert_int_equal(timer_new(fx.loop, too_late, NULL, &fx.deadline), 0);
    return 0;
}

static int remove_entry(const char *path, const struct stat *status, int type, struct FTW *ftw) {
    return remove(path);
}

int fixture_teardown(void **state) {
    fx.handler = handler_free(fx.handler);
    fx.deadline = timer_free(fx.deadline);
    fx.children = children_free(fx.children);
    fx.loop = loop_free(fx.loop);
    report_stub_reset();
    return nftw(fx.directory, remove_entry, 8, FTW_DEPTH | FTW_PHYS);
}

void script(const char *text) {
    FILE *file = fopen(fx.program, "we");

    assert_non_null(file);
    fputs("#!/bin/sh\n", file);
    for (; *text; text++)
        if (*text == '@')
            fputs(fx.directory, file);
        else
            fputc(*text, file);
    fputc('\n', file);
    assert_int_equal(fclose(file), 0);
    assert_int_equal(chmod(fx.program, 0755), 0);
}

void program(const char *path, const char *argument, const char *argument2) {
    fx.argv[0] = (char *)path;
    fx.argv[1] = (char *)argument;
    fx.argv[2] = (char *)argument2;
}

void make_handler(void) {
    const struct handler_owner owner = {ended, NULL, &fx};
    int r = handler_new(fx.loop, fx.children, &fx.settings, NULL, &owner, &fx.handler);
    assert_int_equal(r, 0);
}

int try_start(uint64_t id_ms) {
    struct entry entry = {.id = {id_ms, 0}};

    return handler_start(fx.handler, &entry, 2, &fx.settings, &fx.run);
}

void start(uint64_t id_ms) {
    assert_int_equal(try_start(id_ms), 0);
}

void start_entry(const struct entry *entry, uint64_t deliveries) {
    int r = handler_start(fx.handler, entry, deliveries, &fx.settings, &fx.run);
    assert_int_equal(r, 0);
}

void run_until_ended(size_t wanted) {
    fx.wanted = wanted;
    if (fx.ended < wanted)
        run_loop();
    assert_int_equal(fx.ended, wanted);
}

static void line_came(void *data) {
    if (report_stub.n >= wanted_lines)
        loop_stop(fx.loop);
}

void run_until_lines(size_t lines) {
    wanted_lines = lines;
    report_stub.on_line = line_came;
    if (report_stub.n < lines)
        run_loop();
    report_stub.on_line = NULL;
    assert_true(report_stub.n >= lines);
}

static void look(void *data) {
    if (kill(wanted_gone, 0) < 0 && errno == ESRCH)
        loop_stop(fx.loop);
    else
        timer_arm(look_again, USEC_PER_MSEC);
}

void run_until_gone(pid_t pid) {
    wanted_gone = pid;
    assert_int_equal(timer_new(fx.loop, look, NULL, &look_again), 0);
    timer_arm(look_again, 0);
    run_loop();
    look_again = timer_free(look_again);
}

void expect_ended(enum outcome outcome, const char *reason) {
    assert_int_equal(fx.outcome, outcome);
    assert_string_equal(fx.reason, reason);
}

void expect_run(enum outcome outcome, const char *reason) {
    make_handler();
    start(1);
    assert_int_equal(handler_running(fx.handler), 1);
    assert_int_equal(fx.ended, 0);
    run_until_ended(1);
    assert_int_equal(handler_running(fx.handler), 0);
    assert_true(handler_deadline(fx.handler) == USEC_INFINITY);
    expect_ended(outcome, reason);
}

size_t open_descriptors(void) {
    DIR *directory = opendir("/proc/self/fd");
    size_t n = 0;

    assert_non_null(directory);
    while (readdir(directory))
        n++;
    (void)closedir(directory);
    return n;
}
