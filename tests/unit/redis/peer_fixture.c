/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The fixture of the tests with a scripted peer.
 */
#include "peer_fixture.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

struct peer_test t;

static void note_words(const redisReply *request) {
    t.words[0] = '\0';
    for (size_t i = 0; i < request->elements; i++) {
        size_t n = strlen(t.words);
        (void)snprintf(t.words + n, sizeof(t.words) - n, "%s%s", i ? " " : "",
                       request->element[i]->str);
    }
}

static void requested(void *data, struct peer *peer, const redisReply *request, const char *word) {
    (void)data;
    size_t n = strlen(t.seen);
    note_words(request);
    (void)snprintf(t.seen + n, sizeof(t.seen) - n, "%s ", word);
    if (strcmp(word, "AUTH") == 0)
        (void)snprintf(t.password, sizeof(t.password), "%s",
                       request->element[request->elements - 1]->str);
    if (strcmp(word, "HELLO") == 0 && t.hello)
        peer_say(peer, t.hello);
    else if (strcmp(word, "AUTH") == 0 && t.auth)
        peer_say(peer, t.auth);
    else if (!peer_greet(peer, word) && t.answer) {
        peer_say(peer, t.answer);
        if (t.cut_after)
            peer_hang_up(peer);
    }
}

static void requested_nothing(void *data, struct peer *peer, const redisReply *request,
                              const char *word) {
    (void)data;
    (void)peer;
    (void)request;
    (void)word;
}

void use_peer(const struct peer_script *script) {
    t.peer = peer_new(t.f.loop, script);
    fixture_tcp(&t.f, peer_port(t.peer));
}

const struct peer_script scripted = {.requested = requested};
const struct peer_script silent = {.requested = requested_nothing};

int peer_setup(void **state) {
    (void)state;
    t = (struct peer_test){0};
    fixture_init(&t.f);
    return 0;
}

int peer_teardown(void **state) {
    (void)state;
    fixture_done_link(&t.f);
    peer_free(t.peer);
    timer_free(t.drip);
    fixture_done(&t.f);
    return 0;
}

void on_time(void *data, const struct answer *answer, uint64_t unix_usec) {
    (void)data;
    (void)unix_usec;
    assert_true(answer->answered >= answer->sent);
    switch (answer->kind) {
    case ANSWER_OK:
        t.ok++;
        break;
    case ANSWER_ERROR:
        t.errors++;
        break;
    case ANSWER_UNKNOWN:
        t.unknown++;
        assert_false(link_is_up(t.f.link));
        if (command_time(t.f.link, on_time, NULL) == LINK_E_DOWN)
            t.refused_in_callback++;
        break;
    }
    t.answers++;
    fixture_poke(&t.f);
}

void ask(int times) {
    while (times-- > 0)
        assert_int_equal(command_time(t.f.link, on_time, NULL), 0);
}

uint16_t dead_port(void) {
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t size = sizeof(address);
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_int_equal(bind(fd, (struct sockaddr *)&address, sizeof(address)), 0);
    assert_int_equal(getsockname(fd, (struct sockaddr *)&address, &size), 0);
    (void)close(fd);
    return ntohs(address.sin_port);
}

static void drip(void *data) {
    (void)data;
    if (t.drip_text[t.dripped] == '\0')
        return;
    peer_send(t.peer, &t.drip_text[t.dripped++], 1);
    timer_arm(t.drip, t.drip_every);
}

void start_to_drip(const char *text, usec_t every) {
    if (!t.drip)
        assert_int_equal(timer_new(t.f.loop, drip, NULL, &t.drip), 0);
    t.drip_text = text;
    t.dripped = 0;
    t.drip_every = every;
    timer_arm(t.drip, every);
}

void bring_up(void) {
    use_peer(&scripted);
    fixture_start(&t.f);
    fixture_wait(&t.f, &t.f.ups, 1);
}
