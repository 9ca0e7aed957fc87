/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The daemon's end of the control socket.
 *
 * Whoever may connect may be slow, silent or hostile: at most CONTROL_CLIENTS_MAX at once (others
 * wait in the kernel), each gone when its request has not come after CONTROL_PATIENCE, or when it
 * has taken nothing of its answer for so long. Nothing here waits for a client.
 */
#pragma once

#include "base/error.h"
#include "control/protocol.h"
#include "loop/loop.h"
#include <stdio.h>

#define CONTROL_CLIENTS_MAX 16
#define CONTROL_PATIENCE (10 * USEC_PER_SEC)

struct control;

/* Carries out a request and writes its answer into `out`. False: the daemon says no, and `out` has
 * the lines that say why. May not free the control from within. */
typedef bool (*control_carry_out)(void *data, const struct control_request *request, FILE *out);

/* path is copied. CONTROL_E_REFUSED: the socket cannot be made; a printable reason in why. */
#define CONTROL_WHY_MAX 200
enum { CONTROL_E_REFUSED = 1 };
MUST_CHECK int control_new(struct loop *loop, const char *path, control_carry_out carry_out,
                           void *data, struct control **ret, char why[CONTROL_WHY_MAX]);
/* Whoever is being answered is cut off, after what its socket takes at once. */
struct control *control_free(struct control *control);

const char *control_path(const struct control *control);
