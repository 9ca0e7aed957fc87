/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Starts, kills and talks to a redis-server. It says by itself that it is ready (sd_notify), so
 * nobody has to try until it answers.
 */
#include "redis_server.h"

#include "unit.h"

#include <arpa/inet.h>
#include <errno.h>
#include <ftw.h>
#include <netinet/in.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#define PROGRAM "/usr/bin/redis-server" /* where REDIS_SERVER names none */
#define START_DEADLINE_MS 20000
#define OPTIONS_MAX 32

static const char *program(void) {
    const char *given = getenv("REDIS_SERVER");

    return given && given[0] != '\0' ? given : PROGRAM;
}

static uint16_t free_port(void) {
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t size = sizeof(address);
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_true(fd >= 0);
    assert_int_equal(bind(fd, (struct sockaddr *)&address, sizeof(address)), 0);
    assert_int_equal(getsockname(fd, (struct sockaddr *)&address, &size), 0);
    (void)close(fd);
    return ntohs(address.sin_port);
}

static void listen_for_notify(struct redis_server *server, char *path, size_t size) {
    struct sockaddr_un address = {.sun_family = AF_UNIX};

    (void)snprintf(path, size, "%s/notify", server->directory);
    (void)snprintf(address.sun_path, sizeof(address.sun_path), "%s", path);
    (void)unlink(path);
    server->notify_fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    assert_true(server->notify_fd >= 0);
    assert_int_equal(bind(server->notify_fd, (struct sockaddr *)&address, sizeof(address)), 0);
}

static void wait_until_ready(struct redis_server *server) {
    struct pollfd watch = {.fd = server->notify_fd, .events = POLLIN};
    char text[512];

    for (;;) {
        if (poll(&watch, 1, START_DEADLINE_MS) != 1)
            fail_msg("redis-server did not get ready");
        ssize_t n = recv(server->notify_fd, text, sizeof(text) - 1, 0);
        assert_true(n >= 0);
        text[n] = '\0';
        if (strstr(text, "READY=1"))
            break;
    }
    (void)close(server->notify_fd);
    server->notify_fd = -1;
}

static void run_server(const struct redis_server *server, const char *notify,
                       const char *const *options) {
    char port[8];
    const char *argv[24 + OPTIONS_MAX] = {
        program(),      "--port",    port,
        "--bind",       "127.0.0.1", "--unixsocket",
        server->socket, "--dir",     server->directory,
        "--save",       "",          "--appendonly",
        "no",           "--logfile", "log",
        "--supervised", "systemd",   "--daemonize",
        "no",
    };
    size_t n = 19;

    (void)snprintf(port, sizeof(port), "%u", server->port);
    for (; options && *options && n < 23 + OPTIONS_MAX; options++)
        argv[n++] = *options;
    (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
    (void)setenv("NOTIFY_SOCKET", notify, 1);
    (void)execvp(argv[0], (char *const *)(void *)argv);
    _exit(127);
}

void redis_server_restart(struct redis_server *server, const char *const *options) {
    char notify[96];

    assert_int_equal(server->pid, 0);
    listen_for_notify(server, notify, sizeof(notify));
    server->pid = fork();
    assert_true(server->pid >= 0);
    if (server->pid == 0)
        run_server(server, notify, options);
    wait_until_ready(server);
    server->client = redisConnectUnix(server->socket);
    assert_non_null(server->client);
    assert_int_equal(server->client->err, 0);
}

bool redis_server_start(struct redis_server *server, const char *const *options) {
    *server = (struct redis_server){.notify_fd = -1};
    if (strcmp(program(), PROGRAM) == 0 && access(PROGRAM, X_OK) < 0)
        return false;
    (void)snprintf(server->directory, sizeof(server->directory), "/tmp/redis-test-XXXXXX");
    assert_non_null(mkdtemp(server->directory));
    (void)snprintf(server->socket, sizeof(server->socket), "%s/redis.sock", server->directory);
    server->port = free_port();
    redis_server_restart(server, options);
    return true;
}

void redis_server_signal(struct redis_server *server, int signo) {
    assert_true(server->pid > 0);
    assert_int_equal(kill(server->pid, signo), 0);
}

void redis_server_kill(struct redis_server *server) {
    if (server->client)
        redisFree(server->client);
    server->client = NULL;
    if (server->pid <= 0)
        return;
    (void)kill(server->pid, SIGKILL);
    (void)waitpid(server->pid, NULL, 0);
    server->pid = 0;
}

static int remove_one(const char *path, const struct stat *st, int type, struct FTW *ftw) {
    (void)st;
    (void)type;
    (void)ftw;
    return remove(path);
}

void redis_server_remove(struct redis_server *server) {
    redis_server_kill(server);
    if (server->directory[0])
        (void)nftw(server->directory, remove_one, 8, FTW_DEPTH | FTW_PHYS);
    server->directory[0] = '\0';
}

bool redis_server_says(struct redis_server *server, const char *line) {
    redisReply *reply = redisCommand(server->client, "INFO server");
    assert_non_null(reply);
    bool said = strstr(reply->str, line) != NULL;

    freeReplyObject(reply);
    return said;
}

long long redis_server_do(struct redis_server *server, const char *format, ...) {
    va_list args;

    va_start(args, format);
    redisReply *reply = redisvCommand(server->client, format, args);
    va_end(args);
    if (!reply || reply->type == REDIS_REPLY_ERROR)
        fail_msg("%s: %s", format, reply ? reply->str : server->client->errstr);
    long long value = reply->type == REDIS_REPLY_INTEGER ? reply->integer : 0;
    freeReplyObject(reply);
    return value;
}
