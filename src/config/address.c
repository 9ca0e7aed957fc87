/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Parses strictly: one way to write each address, nothing looked up, nothing that leaves the
 * machine.
 */
#include "address.h"

#include "base/text.h"
#include <errno.h>
#include <string.h>
#include <sys/un.h>

#define UNIX_PATH_MAX (sizeof(((struct sockaddr_un *)NULL)->sun_path) - 1)
#define UNIX_PREFIX "unix:"

static const struct {
    const char *prefix;
    enum local_address_kind kind;
} loopback[] = {{"127.0.0.1:", LOCAL_IPV4}, {"[::1]:", LOCAL_IPV6}};

static int parse_path(const char *path, struct local_address *address, char *why) {
    if (path[0] != '/')
        return why_bad(why, "the path of a socket must be absolute; accepted: unix:/path");
    if (strlen(path) > UNIX_PATH_MAX)
        return why_bad(why, "the path of the socket is too long; accepted: at most %zu bytes",
                       UNIX_PATH_MAX);
    address->kind = LOCAL_UNIX;
    address->path = path;
    return 0;
}

static int parse_port(const char *text, struct local_address *address, char *why) {
    uint64_t port;

    /* One way to write each number. */
    if (text_parse_u64(text, &port) != 0 || text[0] == '0' || port > UINT16_MAX)
        return why_bad(why, "not a port; accepted: 1 to 65535");
    address->port = (uint16_t)port;
    return 0;
}

static int parse(const char *text, struct local_address *address, char *why) {
    char value[SHOWN_MAX];

    if (strncmp(text, UNIX_PREFIX, strlen(UNIX_PREFIX)) == 0)
        return parse_path(text + strlen(UNIX_PREFIX), address, why);
    for (size_t i = 0; i < sizeof(loopback) / sizeof(loopback[0]); i++) {
        size_t n = strlen(loopback[i].prefix);

        if (strncmp(text, loopback[i].prefix, n) != 0)
            continue;
        address->kind = loopback[i].kind;
        return parse_port(text + n, address, why);
    }
    return why_bad(why, "\"%s\" is not an address of this machine; accepted: " ADDRESS_ACCEPTED,
                   shown(text, value));
}

int address_parse(const char *text, struct config_memory *memory, const struct local_address **ret,
                  char why[WHY_MAX]) {
    struct local_address *address = memory_alloc(memory, sizeof(*address));
    char *copy = memory_copy(memory, text);

    if (!address || !copy)
        return -ENOMEM;
    int r = parse(copy, address, why);
    if (r != 0)
        return r;
    address->text = copy;
    *ret = address;
    return 0;
}
