/* SPDX-License-Identifier: BSD-3-Clause */
/* The server in a child process, asked by the client and by clients that know no manners. */
#include "unit.h"

#include "control/client.h"
#include "control/server.h"
#include <signal.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#define LONG_ANSWER ((size_t)4 << 20)

struct peer {
    char directory[64];
    char path[96];
    pid_t pid;
};

static bool carry_out(void *data, const struct control_request *request, FILE *out) {
    (void)data;
    switch (request->verb) {
    case CONTROL_VERSION:
        (void)fputs("1\n", out);
        return true;
    case CONTROL_STATUS:
        for (size_t i = 0; i < LONG_ANSWER; i++)
            (void)fputc('x', out);
        return true;
    case CONTROL_RUN:
        (void)fprintf(out, "no %s\n", request->name);
        return false;
    case CONTROL_RELOAD:
    case CONTROL_PAUSE:
    case CONTROL_RESUME:
    case _CONTROL_VERB_MAX:
        break;
    }
    return true;
}

static void serve(const struct peer *peer, int ready) {
    struct control *control = NULL;
    struct loop *loop = NULL;
    char why[CONTROL_WHY_MAX];

    if (loop_new(&loop) < 0 || control_new(loop, peer->path, carry_out, NULL, &control, why) != 0)
        _exit(1);
    (void)!write(ready, "", 1);
    (void)!loop_run(loop);
    _exit(1);
}

static int begin(void **state) {
    struct peer *peer = calloc(1, sizeof(*peer));
    int ready[2];
    char byte;

    strcpy(peer->directory, "/tmp/xautoclaimd-control-XXXXXX");
    assert_non_null(mkdtemp(peer->directory));
    (void)snprintf(peer->path, sizeof(peer->path), "%s/socket", peer->directory);
    assert_int_equal(pipe(ready), 0);
    peer->pid = fork();
    if (peer->pid == 0)
        serve(peer, ready[1]);
    (void)close(ready[1]);
    assert_int_equal(read(ready[0], &byte, 1), 1);
    (void)close(ready[0]);
    *state = peer;
    return 0;
}

static int end(void **state) {
    struct peer *peer = *state;
    int status;

    (void)kill(peer->pid, SIGKILL);
    assert_int_equal(waitpid(peer->pid, &status, 0), peer->pid);
    assert_true(WIFSIGNALED(status)); /* it has not ended by itself */
    (void)unlink(peer->path);
    (void)rmdir(peer->directory);
    free(peer);
    return 0;
}

static int dial(const struct peer *peer) {
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    int fd = socket(AF_UNIX, SOCK_STREAM, 0);

    strcpy(address.sun_path, peer->path);
    assert_int_equal(connect(fd, (const struct sockaddr *)&address, sizeof(address)), 0);
    return fd;
}

static void wants(const struct peer *peer, const char *request, int result, const char *body) {
    char *text = NULL, why[CLIENT_WHY_MAX] = "";

    assert_int_equal(client_ask(peer->path, request, 10, &text, why), result);
    assert_string_equal(text, body);
    free(text);
}

/* Says this, perhaps closes its end, and reads to the end. */
static void says(const struct peer *peer, const char *bytes, size_t size, bool half_close,
                 const char *want) {
    char answer[512] = "";
    size_t n = 0;
    int fd = dial(peer);

    for (size_t at = 0; at < size;) {
        ssize_t sent = send(fd, bytes + at, size - at, MSG_NOSIGNAL);

        if (sent < 0)
            break; /* it does not want to hear more */
        at += (size_t)sent;
    }
    if (half_close)
        (void)shutdown(fd, SHUT_WR);
    for (ssize_t r; n < sizeof(answer) - 1 && (r = read(fd, answer + n, 64)) > 0;)
        n += (size_t)r;
    answer[n] = '\0';
    assert_string_equal(answer, want);
    (void)close(fd);
}

static void test_answers(void **state) {
    const struct peer *peer = *state;

    wants(peer, "version", 0, "1\n");
    wants(peer, "reload", 0, "");
    wants(peer, "run a", CLIENT_E_REFUSED, "no a\n");
    wants(peer, "nonsense", CLIENT_E_REFUSED,
          "unknown command; accepted: status, reload, run NAME, pause NAME, resume NAME, "
          "version\n");
}

static void test_a_long_answer_comes_whole(void **state) {
    const struct peer *peer = *state;
    char *text = NULL, why[CLIENT_WHY_MAX];

    assert_int_equal(client_ask(peer->path, "status", 10, &text, why), 0);
    assert_int_equal(strlen(text), LONG_ANSWER);
    free(text);
}

static void test_half_closed(void **state) {
    const struct peer *peer = *state;

    says(peer, "version\n", 8, true, "ok 2\n1\n");
    says(peer, "version\nmore", 12, false, "ok 2\n1\n");
    says(peer, "vers", 4, true, "error 39\nthe request is too long, or has no end\n");
    says(peer, "", 0, true, "");
}

static void test_a_request_without_end(void **state) {
    const struct peer *peer = *state;
    size_t size = 1 << 20;
    char *bytes = malloc(size);

    memset(bytes, 'a', size);
    says(peer, bytes, size, false, "error 39\nthe request is too long, or has no end\n");
    memset(bytes, 0, size);
    says(peer, bytes, size, false, "error 39\nthe request is too long, or has no end\n");
    free(bytes);
    wants(peer, "version", 0, "1\n");
}

static void test_who_does_not_read_does_not_disturb_others(void **state) {
    const struct peer *peer = *state;
    int fds[CONTROL_CLIENTS_MAX - 1];

    for (size_t i = 0; i < CONTROL_CLIENTS_MAX - 1; i++) {
        fds[i] = dial(peer);
        assert_int_equal(send(fds[i], "status\n", 7, 0), 7);
    }
    wants(peer, "version", 0, "1\n");
    for (size_t i = 0; i < CONTROL_CLIENTS_MAX - 1; i++)
        (void)close(fds[i]);
    wants(peer, "version", 0, "1\n");
}

static void test_who_is_silent_holds_up_others_no_longer_than_it_lives(void **state) {
    const struct peer *peer = *state;
    int fds[CONTROL_CLIENTS_MAX];
    char *text = NULL, why[CLIENT_WHY_MAX];

    for (size_t i = 0; i < CONTROL_CLIENTS_MAX; i++)
        fds[i] = dial(peer);
    assert_int_equal(client_ask(peer->path, "version", 1, &text, why), CLIENT_E_AWAY);
    assert_null(text);
    (void)close(fds[3]);
    wants(peer, "version", 0, "1\n");
    for (size_t i = 0; i < CONTROL_CLIENTS_MAX; i++)
        if (i != 3)
            (void)close(fds[i]);
}

static void test_nobody_there(void **state) {
    const struct peer *peer = *state;
    char path[128], *text = NULL, why[CLIENT_WHY_MAX];

    (void)snprintf(path, sizeof(path), "%s.not", peer->path);
    assert_int_equal(client_ask(path, "version", 1, &text, why), CLIENT_E_AWAY);
    assert_non_null(strstr(why, "No such file"));
    (void)kill(peer->pid, SIGSTOP);
    assert_int_equal(client_ask(peer->path, "version", 1, &text, why), CLIENT_E_AWAY);
    assert_non_null(strstr(why, "no answer in time"));
    (void)kill(peer->pid, SIGCONT);
    assert_null(text);
}

int main(void) {
#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, end)
    const struct CMUnitTest tests[] = {
        TEST(test_answers),
        TEST(test_a_long_answer_comes_whole),
        TEST(test_half_closed),
        TEST(test_a_request_without_end),
        TEST(test_who_does_not_read_does_not_disturb_others),
        TEST(test_who_is_silent_holds_up_others_no_longer_than_it_lives),
        TEST(test_nobody_there),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
