/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * getaddrinfo_a(3) on our loop. What has to be known about it:
 *
 * - A request that runs is not to be cancelled. glibc holds a pointer to it until it is over, so
 *   all requests stand in one list of the process, where also those are found whose resolver has
 *   died. The next resolver that asks for that name takes it over.
 * - It has set the result before it is done with the request. gai_cancel(3), which takes glibc's
 *   lock, tells when that is so.
 * - Notices of the kind SIGEV_SIGNAL are sent for the whole process. One is as good as many:
 *   each time all requests are looked at. SIGURG is ignored by default, so one that comes when
 *   nobody watches any more does no harm, and the kernel never drops it for want of memory, as
 *   it does with real-time signals.
 * - A notice that got lost all the same costs no more than the wait for it: who asks looks first.
 * - glibc runs 20 requests at once; others wait until one of these is over.
 */
#include "resolver.h"

#include "base/text.h"

#include <assert.h>
#include <errno.h>
#include <netdb.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

struct lookup {
    struct gaicb request;
    struct gaicb *requests[1];
    struct addrinfo hints;
    char *name;
    struct resolver *resolver; /* NULL: nobody waits any more */
    bool over;
    bool too_old;
    int error; /* EAI_..., of one that is over */
    struct lookup *next;
};

struct resolver {
    struct loop *loop;
    struct resolver_owner owner;
    struct lookup *awaited;
    struct signal_watch *notice;
    struct deferred *tell; /* what is known already */
};

static struct lookup *lookups;

/* --- one look-up ----------------------------------------------------------------------------- */

static struct lookup *lookup_free(struct lookup *lookup) {
    if (!lookup)
        return NULL;
    if (lookup->request.ar_result)
        freeaddrinfo(lookup->request.ar_result);
    free(lookup->name);
    free(lookup);
    return NULL;
}

/* Is it over, and is glibc done with it? */
static bool lookup_look(struct lookup *lookup) {
    if (lookup->over)
        return true;
    int error = gai_error(&lookup->request);
    if (error == EAI_INPROGRESS || gai_cancel(&lookup->request) == EAI_NOTCANCELED)
        return false;
    lookup->error = error;
    lookup->over = true;
    return true;
}

/* One that glibc did not take is over at once. It may refuse and take it all the same, where
 * there was no memory for the notice. */
static void lookup_begin(struct lookup *lookup) {
    struct sigevent notice = {.sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGURG};
    int error = getaddrinfo_a(GAI_NOWAIT, lookup->requests, 1, &notice);

    if (error == 0 || gai_cancel(&lookup->request) == EAI_NOTCANCELED)
        return;
    lookup->error = error;
    lookup->over = true;
}

static int lookup_new(struct resolver *resolver, const char *name, struct lookup **ret) {
    struct lookup *lookup = calloc(1, sizeof(*lookup));

    if (lookup)
        lookup->name = strdup(name);
    if (!lookup || !lookup->name) {
        lookup_free(lookup);
        return -ENOMEM;
    }
    /* Not AI_ADDRCONFIG: it knows no addresses on a machine that is cut off. */
    lookup->hints = (struct addrinfo){.ai_family = AF_UNSPEC, .ai_socktype = SOCK_STREAM};
    lookup->request = (struct gaicb){.ar_name = lookup->name, .ar_request = &lookup->hints};
    lookup->requests[0] = &lookup->request;
    lookup->resolver = resolver;
    lookup->next = lookups;
    lookups = lookup;
    lookup_begin(lookup);
    *ret = lookup;
    return 0;
}

static struct lookup *lookup_find(const struct resolver *resolver, const char *name) {
    for (struct lookup *lookup = lookups; lookup; lookup = lookup->next)
        if (lookup->resolver == resolver && strcmp(lookup->name, name) == 0)
            return lookup;
    return NULL;
}

static void lookup_unlink(const struct lookup *lookup) {
    struct lookup **at = &lookups;

    while (*at != lookup)
        at = &(*at)->next;
    *at = lookup->next;
}

/* Those that are over and that nobody will ask for. */
static void sweep(void) {
    struct lookup **at = &lookups;

    while (*at) {
        struct lookup *lookup = *at;
        bool awaited = lookup->resolver && lookup->resolver->awaited == lookup;

        if (lookup_look(lookup) && !awaited && (!lookup->resolver || lookup->too_old)) {
            *at = lookup->next;
            lookup_free(lookup);
        } else {
            at = &lookup->next;
        }
    }
}

/* --- the answer ------------------------------------------------------------------------------ */

static bool is_there(const struct resolved *resolved, const char *address) {
    for (size_t i = 0; i < resolved->n; i++)
        if (strcmp(resolved->addresses[i], address) == 0)
            return true;
    return false;
}

static void collect(const struct addrinfo *from, struct resolved *ret) {
    *ret = (struct resolved){0};
    for (; from && ret->n < RESOLVED_MAX; from = from->ai_next) {
        char *address = ret->addresses[ret->n];

        if (getnameinfo(from->ai_addr, from->ai_addrlen, address, RESOLVED_ADDRESS_MAX, NULL, 0,
                        NI_NUMERICHOST) == 0 &&
            !is_there(ret, address))
            ret->n++;
    }
}

static void resolver_tell(struct resolver *resolver) {
    struct lookup *lookup = resolver->awaited;
    struct resolved resolved;
    char why[128];

    if (!lookup || !lookup_look(lookup))
        return;
    resolver->awaited = NULL;
    lookup_unlink(lookup);
    collect(lookup->error == 0 ? lookup->request.ar_result : NULL, &resolved);
    const char *text = lookup->error == 0 ? "no address" : gai_strerror(lookup->error);
    (void)text_printable((struct blob){.data = text, .size = strlen(text)}, why, sizeof(why));
    lookup_free(lookup);
    resolver->owner.answered(resolver->owner.data, resolved.n > 0 ? &resolved : NULL,
                             resolved.n > 0 ? NULL : why);
}

static void on_tell(void *data) {
    resolver_tell(data);
}

static void on_notice(void *data) {
    sweep();
    resolver_tell(data);
}

/* --- questions ------------------------------------------------------------------------------- */

int resolver_ask(struct resolver *resolver, const char *name) {
    assert(!resolver->awaited);
    sweep();
    struct lookup *lookup = lookup_find(resolver, name);
    if (!lookup)
        lookup = lookup_find(NULL, name);
    if (!lookup) {
        int r = lookup_new(resolver, name, &lookup);
        if (r < 0)
            return r;
    }
    lookup->resolver = resolver;
    lookup->too_old = false;
    resolver->awaited = lookup;
    if (lookup->over)
        deferred_call(resolver->tell);
    return 0;
}

void resolver_leave(struct resolver *resolver) {
    resolver->awaited = NULL;
}

void resolver_forget(struct resolver *resolver) {
    for (struct lookup *lookup = lookups; lookup; lookup = lookup->next)
        if (lookup->resolver == resolver)
            lookup->too_old = true;
    sweep();
}

/* --- birth and death ------------------------------------------------------------------------- */

int resolver_new(struct loop *loop, const struct resolver_owner *owner, struct resolver **ret) {
    struct resolver *resolver = calloc(1, sizeof(*resolver));

    if (!resolver)
        return -ENOMEM;
    *resolver = (struct resolver){.loop = loop, .owner = *owner};
    int r = signal_watch_new(loop, SIGURG, on_notice, resolver, &resolver->notice);
    if (r == 0)
        r = deferred_new(loop, on_tell, resolver, &resolver->tell);
    if (r < 0) {
        resolver_free(resolver);
        return r;
    }
    *ret = resolver;
    return 0;
}

/* A request that glibc has not begun with, it gives back. */
static void let_go(struct lookup *lookup) {
    lookup->resolver = NULL;
    if (!lookup->over && gai_cancel(&lookup->request) == EAI_CANCELED) {
        lookup->error = EAI_CANCELED;
        lookup->over = true;
    }
}

struct resolver *resolver_free(struct resolver *resolver) {
    if (!resolver)
        return NULL;
    for (struct lookup *lookup = lookups; lookup; lookup = lookup->next)
        if (lookup->resolver == resolver)
            let_go(lookup);
    sweep();
    deferred_free(resolver->tell);
    signal_watch_free(resolver->notice);
    free(resolver);
    return NULL;
}
