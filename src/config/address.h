/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * `address`: a place on this machine, as a socket of the file system or a loopback port.
 */
#pragma once

#include "draft.h"

#define ADDRESS_ACCEPTED "unix:/path, 127.0.0.1:port or [::1]:port"

/* ret and its strings live in memory. VALUE_E_BAD. */
MUST_CHECK int address_parse(const char *text, struct config_memory *memory,
                             const struct local_address **ret, char why[WHY_MAX]);
