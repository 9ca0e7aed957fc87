/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What a socket to a server is set to. Best effort: a socket that cannot be set so still works.
 */
#pragma once

#include "config/settings.h"

/* Closed on exec. TCP: small commands leave at once, and a peer that has gone without a word is
 * noticed while the connection is idle. */
void socket_prepare(int fd, enum server_address_kind kind);
