/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Socket options.
 */
#include "socket_options.h"

#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

/* Idle for so long, then so many probes at such a distance: gone after a minute. */
#define KEEPALIVE_IDLE_S 30
#define KEEPALIVE_INTERVAL_S 10
#define KEEPALIVE_PROBES 3

static void set(int fd, int level, int name, int value) {
    (void)setsockopt(fd, level, name, &value, sizeof(value));
}

void socket_prepare(int fd, enum server_address_kind kind) {
    int flags = fcntl(fd, F_GETFD);

    if (flags >= 0)
        (void)fcntl(fd, F_SETFD, flags | FD_CLOEXEC);
    if (kind != SERVER_TCP)
        return;
    set(fd, IPPROTO_TCP, TCP_NODELAY, 1);
    set(fd, SOL_SOCKET, SO_KEEPALIVE, 1);
    set(fd, IPPROTO_TCP, TCP_KEEPIDLE, KEEPALIVE_IDLE_S);
    set(fd, IPPROTO_TCP, TCP_KEEPINTVL, KEEPALIVE_INTERVAL_S);
    set(fd, IPPROTO_TCP, TCP_KEEPCNT, KEEPALIVE_PROBES);
}
