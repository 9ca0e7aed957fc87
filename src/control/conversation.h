/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * One client of the control socket, from its connection to the last byte of its answer.
 */
#pragma once

#include "control/server.h"

struct conversation;

struct conversation_owner {
    control_carry_out carry_out;
    void *carry_out_data;
    /* It is over, whatever the reason; the owner frees it from here. */
    void (*over)(void *data, struct conversation *conversation);
    void *data;
};

/* Takes over the descriptor, also where it fails. */
MUST_CHECK int conversation_new(struct loop *loop, int fd, const struct conversation_owner *owner,
                                struct conversation **ret);
struct conversation *conversation_free(struct conversation *conversation);
