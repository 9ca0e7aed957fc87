/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The scripted resolver.
 */
#include "fake_gai.h"

#include "unit.h"

#include <netdb.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

#define REQUESTS_MAX 64

struct fake_gai fake_gai;
static struct gaicb *requests[REQUESTS_MAX]; /* NULL: over, or none */

void fake_gai_reset(void) {
    fake_gai = (struct fake_gai){0};
    memset(requests, 0, sizeof(requests));
}

static struct addrinfo *numeric(const char *addresses) {
    struct addrinfo *first = NULL, **last = &first;
    char copy[1024], *rest = NULL;

    (void)snprintf(copy, sizeof(copy), "%s", addresses);
    for (char *word = strtok_r(copy, " ", &rest); word; word = strtok_r(NULL, " ", &rest)) {
        const struct addrinfo hints = {.ai_flags = AI_NUMERICHOST, .ai_socktype = SOCK_STREAM};
        assert_int_equal(getaddrinfo(word, NULL, &hints, last), 0);
        last = &(*last)->ai_next;
    }
    return first;
}

static void end(struct gaicb *request, const char *addresses, int error) {
    request->ar_result = addresses ? numeric(addresses) : NULL;
    request->__return = addresses ? 0 : error;
    fake_gai.running--;
}

void fake_gai_end_quietly(const char *name, const char *addresses, int error) {
    for (size_t i = 0; i < REQUESTS_MAX; i++)
        if (requests[i] && strcmp(requests[i]->ar_name, name) == 0) {
            end(requests[i], addresses, error);
            requests[i] = NULL;
            return;
        }
    fail_msg("%s is not being looked up", name);
}

void fake_gai_end(const char *name, const char *addresses, int error) {
    fake_gai_end_quietly(name, addresses, error);
    assert_int_equal(raise(SIGURG), 0);
}

int getaddrinfo_a(int mode, struct gaicb *list[restrict], int n, struct sigevent *restrict notice) {
    size_t used = strlen(fake_gai.names), i = 0;

    assert_int_equal(mode, GAI_NOWAIT);
    assert_int_equal(n, 1);
    assert_int_equal(notice->sigev_notify, SIGEV_SIGNAL);
    assert_int_equal(notice->sigev_signo, SIGURG);
    assert_null(list[0]->ar_service);
    assert_null(list[0]->ar_result);
    fake_gai.asked++;
    (void)snprintf(fake_gai.names + used, sizeof(fake_gai.names) - used, "%s ", list[0]->ar_name);
    if (fake_gai.refusal && !fake_gai.take_refused)
        return fake_gai.refusal;
    fake_gai.running++;
    list[0]->__return = EAI_INPROGRESS;
    if (fake_gai.found) {
        end(list[0], fake_gai.found, 0);
        assert_int_equal(raise(SIGURG), 0);
        return 0;
    }
    while (requests[i])
        assert_true(++i < REQUESTS_MAX);
    requests[i] = list[0];
    return fake_gai.refusal;
}

int gai_error(struct gaicb *request) {
    return request->__return;
}

int gai_cancel(struct gaicb *request) {
    for (size_t i = 0; i < REQUESTS_MAX; i++)
        if (requests[i] == request) {
            if (!fake_gai.queued)
                return EAI_NOTCANCELED;
            end(request, NULL, EAI_CANCELED);
            requests[i] = NULL;
            return EAI_CANCELED;
        }
    return fake_gai.busy ? EAI_NOTCANCELED : EAI_ALLDONE;
}
