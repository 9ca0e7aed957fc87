/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The client: blocking, with a time-out for each step.
 */
#include "control/client.h"

#include "base/cleanup.h"
#include "control/protocol.h"
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>

static int away(const char *path, const char *what, char why[CLIENT_WHY_MAX]) {
    (void)snprintf(why, CLIENT_WHY_MAX, "cannot reach the daemon: %s: %s", path, what);
    return CLIENT_E_AWAY;
}

static const char *describe(int error) {
    return error == EAGAIN || error == EINPROGRESS ? "no answer in time" : strerror(error);
}

static int connect_to(const char *path, unsigned timeout_seconds, int *ret_fd) {
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    struct timeval timeout = {.tv_sec = timeout_seconds};
    CLEANUP_CLOSE int fd = -1;

    if (strlen(path) >= sizeof(address.sun_path))
        return ENAMETOOLONG;
    (void)strcpy(address.sun_path, path);
    fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd < 0 || setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &timeout, sizeof(timeout)) < 0 ||
        setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &timeout, sizeof(timeout)) < 0 ||
        connect(fd, (const struct sockaddr *)&address, sizeof(address)) < 0)
        return errno;
    *ret_fd = fd;
    fd = -1;
    return 0;
}

static int send_line(int fd, const char *request) {
    char line[CONTROL_REQUEST_MAX];
    int n = snprintf(line, sizeof(line), "%s\n", request);

    if (n < 0 || (size_t)n >= sizeof(line))
        return EMSGSIZE;
    return send(fd, line, (size_t)n, MSG_NOSIGNAL) == n ? 0 : errno;
}

/* Everything up to the end of the connection. */
static int receive_all(int fd, char **ret, size_t *ret_size) {
    CLEANUP_FREE char *text = NULL;
    size_t size = 0, room = 0;

    for (;;) {
        if (room - size < 4096) {
            char *larger = realloc(text, room = 2 * room + 8192);

            if (!larger)
                return ENOMEM;
            text = larger;
        }
        ssize_t n = recv(fd, text + size, room - size - 1, 0);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return errno;
        if (n == 0)
            break;
        size += (size_t)n;
        if (size > CLIENT_ANSWER_MAX)
            return EMSGSIZE;
    }
    text[size] = '\0';
    *ret = TAKE(text);
    *ret_size = size;
    return 0;
}

int client_ask(const char *path, const char *request, unsigned timeout_seconds, char **ret_body,
               char why[CLIENT_WHY_MAX]) {
    CLEANUP_FREE char *text = NULL;
    CLEANUP_CLOSE int fd = -1;
    size_t size = 0, head, body;
    bool ok;
    int error = connect_to(path, timeout_seconds, &fd);

    if (error == 0)
        error = send_line(fd, request);
    if (error == 0)
        error = receive_all(fd, &text, &size);
    if (error == ENOMEM)
        return -ENOMEM;
    if (error != 0)
        return away(path, describe(error), why);
    if (!control_head_parse(text, size, &ok, &head, &body) || size != head + body)
        return away(path, "its answer is cut off", why);
    memmove(text, text + head, body + 1);
    *ret_body = TAKE(text);
    return ok ? 0 : CLIENT_E_REFUSED;
}
