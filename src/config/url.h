/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * `url`: the addresses of one server, tried in turn, and the user some of them name.
 */
#pragma once

#include "draft.h"

#define URLS_ACCEPTED "redis://[user@]host[:port][/db] or unix:///path[?db=N]"
#define URLS_MAX 16
#define HOST_NAME_MAX_BYTES 253
#define HOST_LABEL_MAX_BYTES 63

struct server_list {
    struct server_address *addresses;
    size_t n;
    const char *user; /* NULL: none is named */
};

/* VALUE_E_BAD: the sentence never repeats any part of a url. */
MUST_CHECK int urls_parse(const char *text, struct config_memory *memory, struct server_list *ret,
                          char why[WHY_MAX]);

/* What is sent there does not leave this machine. Of all names only localhost is known to be so. */
bool server_is_local(const struct server_address *address);
