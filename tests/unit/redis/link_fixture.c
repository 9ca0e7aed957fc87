/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The fixture of the tests with a link.
 */
#include "link_fixture.h"

#include <string.h>

static void limit_hit(void *data) {
    struct link_fixture *f = data;
    fail_msg("waited in vain; news \"%s\", trouble \"%s\", moves \"%s\"", f->news,
             f->link ? link_trouble(f->link) : "", report_stub.moves);
}

void fixture_poke(struct link_fixture *f) {
    if (f->counter && *f->counter >= f->target)
        loop_stop(f->loop);
}

static void note(struct link_fixture *f, char c) {
    size_t n = strlen(f->news);
    if (n + 1 < sizeof(f->news))
        f->news[n] = c;
    fixture_poke(f);
}

static void on_up(void *data) {
    struct link_fixture *f = data;
    f->ups++;
    note(f, 'u');
}

static void on_down(void *data) {
    struct link_fixture *f = data;
    assert_int_equal(link_state(f->link), LINK_DOWN);
    f->downs++;
    f->ends++;
    note(f, 'd');
}

static void on_failed(void *data) {
    struct link_fixture *f = data;
    assert_int_equal(link_state(f->link), LINK_DOWN);
    f->failures++;
    f->ends++;
    note(f, 'f');
}

void fixture_init(struct link_fixture *f) {
    *f = (struct link_fixture){0};
    report_stub_reset();
    f->settings = (struct redis_settings){
        .name = "",
        .addresses = f->addresses,
        .connect_timeout = 5 * USEC_PER_SEC,
        .command_timeout = 5 * USEC_PER_SEC,
        .reconnect_min = 5 * USEC_PER_MSEC,
        .reconnect_max = 50 * USEC_PER_MSEC,
        .smallest_min_idle = USEC_INFINITY,
    };
    f->listener = (struct link_listener){.up = on_up, .down = on_down, .failed = on_failed};
    f->listener.data = f;
    assert_int_equal(loop_new(&f->loop), 0);
    assert_int_equal(timer_new(f->loop, limit_hit, f, &f->limit), 0);
}

void fixture_tcp(struct link_fixture *f, uint16_t port) {
    f->addresses[f->settings.n_addresses++] = (struct server_address){
        .kind = SERVER_TCP, .host = "127.0.0.1", .port = port, .text = "127.0.0.1:port"};
}

void fixture_name(struct link_fixture *f, const char *name, uint16_t port) {
    f->addresses[f->settings.n_addresses++] = (struct server_address){
        .kind = SERVER_TCP, .host = name, .is_name = true, .port = port, .text = "name:port"};
}

void fixture_unix(struct link_fixture *f, const char *path) {
    f->addresses[f->settings.n_addresses++] =
        (struct server_address){.kind = SERVER_UNIX, .host = path, .text = "unix:///socket"};
}

void fixture_start(struct link_fixture *f) {
    assert_int_equal(link_new(f->loop, &f->settings, &f->link), 0);
    assert_true(link_deadline(f->link) == USEC_INFINITY);
    link_listen(f->link, &f->listener);
    link_start(f->link);
}

void fixture_done_link(struct link_fixture *f) {
    if (!f->link)
        return;
    link_unlisten(f->link, &f->listener);
    struct link *link = f->link;
    f->link = NULL;
    link_free(link);
}

void fixture_done(struct link_fixture *f) {
    fixture_done_link(f);
    timer_free(f->limit);
    f->loop = loop_free(f->loop);
}

void fixture_wait(struct link_fixture *f, const int *counter, int target) {
    f->counter = counter;
    f->target = target;
    timer_arm(f->limit, 10 * USEC_PER_SEC);
    if (*counter < target)
        assert_int_equal(loop_run(f->loop), 0);
    timer_disarm(f->limit);
    f->counter = NULL;
    assert_true(*counter >= target);
}

static void stop(void *data) {
    loop_stop(data);
}

void fixture_run_for(struct link_fixture *f, usec_t duration) {
    struct timer *timer = NULL;
    assert_int_equal(timer_new(f->loop, stop, f->loop, &timer), 0);
    timer_arm(timer, duration);
    assert_int_equal(loop_run(f->loop), 0);
    timer_free(timer);
}
