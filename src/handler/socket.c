/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Connections to a service that the user runs, on this machine. Nothing blocks: a connect is
 * waited for in the loop.
 *
 * A connection ends by being closed, in the next turn of the loop; what it held ends then.
 * Whatever the service says of it later has nowhere to go.
 */
#include "crew.h"
#include "loop/io.h"

#include <arpa/inet.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#define CONNECT_TIMEOUT (5 * USEC_PER_SEC)

/* --- going ----------------------------------------------------------------------------------- */

static void forget_connect(struct member *member) {
    member->connected = io_watch_free(member->connected);
    if (member->connecting >= 0)
        (void)close(member->connecting);
    member->connecting = -1;
}

static void socket_enter(struct member *member, enum member_state state) {
    (void)state;
    forget_connect(member);
    member->channel = channel_free(member->channel);
    timer_arm(member->timer, 0);
}

static void cannot_connect(struct member *member, int error) {
    const struct handler *handler = member->crew->handler;

    forget_connect(member);
    handler_go_away(member->crew->handler, "cannot connect to %s: %s",
                    handler->settings->address->text,
                    error == EAGAIN ? "it has too many connections waiting" : strerror(error));
}

static void socket_time_is_up(struct member *member) {
    if (member->state == MEMBER_COMING) {
        cannot_connect(member, ETIMEDOUT);
        member_cannot_come(member);
        return;
    }
    member_is_gone(member, "closed by the service");
}

/* --- coming ---------------------------------------------------------------------------------- */

/* How long it is, 0 at the address's end. */
static socklen_t fill_address(const struct local_address *address, struct sockaddr_storage *ret) {
    memset(ret, 0, sizeof(*ret));
    switch (address->kind) {
    case LOCAL_UNIX: {
        struct sockaddr_un *at = (struct sockaddr_un *)ret;

        at->sun_family = AF_UNIX;
        (void)snprintf(at->sun_path, sizeof(at->sun_path), "%s", address->path);
        return sizeof(*at);
    }
    case LOCAL_IPV4: {
        struct sockaddr_in *at = (struct sockaddr_in *)ret;

        at->sin_family = AF_INET;
        at->sin_addr.s_addr = htonl(INADDR_LOOPBACK);
        at->sin_port = htons(address->port);
        return sizeof(*at);
    }
    case LOCAL_IPV6: {
        struct sockaddr_in6 *at = (struct sockaddr_in6 *)ret;

        at->sin6_family = AF_INET6;
        at->sin6_addr = in6addr_loopback;
        at->sin6_port = htons(address->port);
        return sizeof(*at);
    }
    }
    return 0;
}

/* A connect to a port of one's own range that nobody listens on can meet itself. */
static bool is_ourselves(int fd) {
    struct sockaddr_storage here, there;
    socklen_t a = sizeof(here), b = sizeof(there);

    memset(&here, 0, sizeof(here));
    memset(&there, 0, sizeof(there));
    return getsockname(fd, (struct sockaddr *)&here, &a) == 0 &&
           getpeername(fd, (struct sockaddr *)&there, &b) == 0 && here.ss_family != AF_UNIX &&
           a == b && memcmp(&here, &there, a) == 0;
}

/* 0, or an errno. */
static int take_connection(struct member *member) {
    int fd = member->connecting;

    if (is_ourselves(fd))
        return ECONNREFUSED;
    member->connected = io_watch_free(member->connected);
    member->connecting = -1;
    timer_disarm(member->timer);
    return -member_is_up(member, fd);
}

static void connect_is_over(void *data) {
    struct member *member = data;
    int error = 0;
    socklen_t size = sizeof(error);

    if (getsockopt(member->connecting, SOL_SOCKET, SO_ERROR, &error, &size) < 0)
        error = errno;
    if (error == 0)
        error = take_connection(member);
    if (error == 0)
        return;
    cannot_connect(member, error);
    member_cannot_come(member);
}

static int wait_for_connect(struct member *member) {
    int r = io_watch_new(member->crew->handler->loop, member->connecting, IO_WRITE, connect_is_over,
                         member, &member->connected);
    if (r < 0)
        return -r;
    io_watch_enable(member->connected, true);
    timer_arm(member->timer, CONNECT_TIMEOUT);
    member_enter(member, MEMBER_COMING);
    return 0;
}

static int connect_now(struct member *member) {
    const struct local_address *address = member->crew->handler->settings->address;
    struct sockaddr_storage at;
    socklen_t size = fill_address(address, &at);

    member->connecting = socket(at.ss_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (member->connecting < 0)
        return errno;
    if (connect(member->connecting, (struct sockaddr *)&at, size) == 0)
        return take_connection(member);
    return errno == EINPROGRESS ? wait_for_connect(member) : errno;
}

static int socket_begin(struct member *member) {
    (void)snprintf(member->name, sizeof(member->name), "%s",
                   member->crew->handler->settings->address->text);
    int error = connect_now(member);
    if (error == 0)
        return 0;
    cannot_connect(member, error);
    return HANDLER_E_AWAY;
}

/* --- the kind -------------------------------------------------------------------------------- */

static const struct member_verbs members = {
    .noun = "connection",
    .begin = socket_begin,
    .enter = socket_enter,
    .time_is_up = socket_time_is_up,
};

static int socket_birth(struct handler *handler, void **ret) {
    struct crew *crew;

    int r = crew_new(handler, &members, &crew);
    if (r < 0)
        return r;
    *ret = crew;
    return 0;
}

static void socket_death(void *kind) {
    crew_free(kind);
}

const struct handler_verbs socket_verbs = {
    .birth = socket_birth,
    .death = socket_death,
    .start = crew_start,
    .stop = crew_stop,
    .deadline = crew_deadline,
    .free = crew_run_free,
    .room = crew_room,
    .close = crew_close,
    .is_closed = crew_is_closed,
};
