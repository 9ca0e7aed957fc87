/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A Unix stream socket that is listened on. One connection is accepted a turn of the loop, so that
 * a crowd of them delays nothing else; where the process has no descriptor left, it is tried again
 * after a while.
 */
#pragma once

#include "loop/loop.h"
#include <sys/types.h>

struct listener;

/* A new connection: non-blocking, close-on-exec, the callee's from here on. */
typedef void (*listener_accepted)(void *data, int fd);

/* Makes the socket at `path` with this mode and listens. What a process that died has left there is
 * replaced; anything else is not. LISTENER_E_REFUSED: *ret_errno says why; EADDRINUSE: somebody
 * answers there, or it is no socket. */
enum { LISTENER_E_REFUSED = 1 };
MUST_CHECK int listener_new_unix(struct loop *loop, const char *path, mode_t mode,
                                 listener_accepted accepted, void *data, struct listener **ret,
                                 int *ret_errno);
/* Removes the socket from the file system, if it is still this one. */
struct listener *listener_free(struct listener *listener);

/* While it is not enabled, whoever connects waits. Enabled when made. */
void listener_enable(struct listener *listener, bool enable);
