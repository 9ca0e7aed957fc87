/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Listening on a Unix socket. Owns the descriptor and the name in the file system.
 */
#include "loop/listener.h"

#include "base/cleanup.h"
#include "loop/io.h"

#include <assert.h>
#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>

#define BACKLOG 16
#define NO_DESCRIPTOR_WAIT USEC_PER_SEC

struct listener {
    int fd;
    struct sockaddr_un address;
    dev_t device; /* of what is at that address */
    ino_t inode;
    struct io_watch *watch;
    struct timer *again;
    bool enabled;
    listener_accepted accepted;
    void *data;
};

/* --- accepting ------------------------------------------------------------------------------- */

static bool has_run_out(int error) {
    return error == EMFILE || error == ENFILE || error == ENOBUFS || error == ENOMEM;
}

static void can_accept(void *data) {
    struct listener *listener = data;
    int fd = accept4(listener->fd, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);

    if (fd >= 0) {
        listener->accepted(listener->data, fd);
    } else if (has_run_out(errno)) {
        /* It stays ready, and would be tried in each turn. */
        io_watch_enable(listener->watch, false);
        timer_arm(listener->again, NO_DESCRIPTOR_WAIT);
    }
}

static void try_again(void *data) {
    struct listener *listener = data;

    io_watch_enable(listener->watch, listener->enabled);
}

void listener_enable(struct listener *listener, bool enable) {
    listener->enabled = enable;
    if (!timer_armed(listener->again))
        io_watch_enable(listener->watch, enable);
}

/* --- the name -------------------------------------------------------------------------------- */

static bool is_answered(const struct sockaddr_un *address) {
    CLEANUP_CLOSE int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);

    /* Whatever else goes wrong is no proof that nobody is there. */
    return fd < 0 || connect(fd, (const struct sockaddr *)address, sizeof(*address)) == 0 ||
           errno != ECONNREFUSED;
}

/* True if what was there is gone. */
static bool remove_stale(const struct sockaddr_un *address) {
    struct stat there;

    return lstat(address->sun_path, &there) == 0 && S_ISSOCK(there.st_mode) &&
           !is_answered(address) && unlink(address->sun_path) == 0;
}

/* Nobody can connect before it is listened on, and by then it has its mode. */
static int bind_with_mode(int fd, const struct sockaddr_un *address, mode_t mode) {
    mode_t before = umask(0777 & ~mode);
    int error = bind(fd, (const struct sockaddr *)address, sizeof(*address)) < 0 ? errno : 0;

    (void)umask(before);
    return error;
}

static int open_socket(struct listener *listener, mode_t mode) {
    struct stat made;
    int error;

    listener->fd = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (listener->fd < 0)
        return errno;
    error = bind_with_mode(listener->fd, &listener->address, mode);
    if (error == EADDRINUSE && remove_stale(&listener->address))
        error = bind_with_mode(listener->fd, &listener->address, mode);
    if (error != 0)
        return error;
    if (lstat(listener->address.sun_path, &made) < 0)
        return errno;
    listener->device = made.st_dev;
    listener->inode = made.st_ino;
    return listen(listener->fd, BACKLOG) < 0 ? errno : 0;
}

static void remove_name(const struct listener *listener) {
    struct stat there;

    if (listener->inode != 0 && lstat(listener->address.sun_path, &there) == 0 &&
        there.st_dev == listener->device && there.st_ino == listener->inode)
        (void)unlink(listener->address.sun_path);
}

/* --- birth and death ------------------------------------------------------------------------- */

int listener_new_unix(struct loop *loop, const char *path, mode_t mode, listener_accepted accepted,
                      void *data, struct listener **ret, int *ret_errno) {
    struct listener *listener = calloc(1, sizeof(*listener));
    int error, r = 0;

    if (!listener)
        return -ENOMEM;
    *listener = (struct listener){
        .fd = -1, .address = {.sun_family = AF_UNIX}, .accepted = accepted, .data = data};
    if (strlen(path) < sizeof(listener->address.sun_path)) {
        (void)strcpy(listener->address.sun_path, path);
        error = open_socket(listener, mode);
    } else {
        error = ENAMETOOLONG;
    }
    if (error == 0)
        r = io_watch_new(loop, listener->fd, IO_READ, can_accept, listener, &listener->watch);
    if (error == 0 && r == 0)
        r = timer_new(loop, try_again, listener, &listener->again);
    if (error != 0 || r < 0) {
        listener_free(listener);
        *ret_errno = error;
        return r < 0 ? r : LISTENER_E_REFUSED;
    }
    listener_enable(listener, true);
    *ret = listener;
    return 0;
}

struct listener *listener_free(struct listener *listener) {
    if (!listener)
        return NULL;
    timer_free(listener->again);
    io_watch_free(listener->watch);
    remove_name(listener);
    cleanup_close(&listener->fd);
    free(listener);
    return NULL;
}
