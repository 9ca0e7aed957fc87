/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Host names to addresses, as every other program on this machine finds them (nsswitch.conf,
 * hosts, DNS), without waiting for them: getaddrinfo_a(3). The thread that waits is glibc's; its
 * notice is a signal that the loop watches, so that no code of ours runs anywhere else.
 *
 * A look-up that runs cannot be taken back and may take as long as it likes. Therefore it owns
 * all that it works with, and outlives, where it must, whoever asked. A resolver never has more
 * than one for a name: who asks again waits for the same one.
 */
#pragma once

#include "base/error.h"
#include "loop/loop.h"

#include <net/if.h>
#include <netinet/in.h>
#include <stddef.h>

/* More than so many are not tried. */
#define RESOLVED_MAX 16
/* With room for a scope: "fe80::1%eth0". */
#define RESOLVED_ADDRESS_MAX (INET6_ADDRSTRLEN + IF_NAMESIZE)

/* Numeric, each once, in the order in which they are to be tried. */
struct resolved {
    size_t n;
    char addresses[RESOLVED_MAX][RESOLVED_ADDRESS_MAX];
};

struct resolver;

struct resolver_owner {
    /* Once for each resolver_ask(), unless resolver_leave() comes first; from the top of the
     * loop, and not before resolver_ask() has returned. resolved: NULL where there is no address;
     * `why` then says why, printable. Both are borrowed. */
    void (*answered)(void *data, const struct resolved *resolved, const char *why);
    void *data;
};

MUST_CHECK int resolver_new(struct loop *loop, const struct resolver_owner *owner,
                            struct resolver **ret);
/* Look-ups that run are left to themselves. Not from within `answered`. */
struct resolver *resolver_free(struct resolver *resolver);

/* One question at a time. -ENOMEM. */
MUST_CHECK int resolver_ask(struct resolver *resolver, const char *name);
/* Waits no longer. If the answer comes later, it is the answer to the next question for this
 * name. */
void resolver_leave(struct resolver *resolver);
/* What was answered late, or is still to come, has become too old to be used. */
void resolver_forget(struct resolver *resolver);
