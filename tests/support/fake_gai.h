/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * getaddrinfo_a(3) and its kin as a test scripts them. Linked into a test they take the place of
 * glibc's; requests are over when the test says so, and the notice comes as glibc sends it.
 */
#pragma once

#include <stdbool.h>

struct fake_gai {
    int asked;         /* requests so far */
    char names[256];   /* theirs, each with a blank behind it */
    int running;       /* not over */
    const char *found; /* addresses for all requests to come, at once; NULL: they run on */
    int refusal;       /* EAI_..., what the next requests get */
    bool take_refused; /* and take the request all the same, without a notice */
    bool queued;       /* gai_cancel(3) gives back what runs */
    bool busy;         /* gai_cancel(3) says that what is over is still in use */
};

extern struct fake_gai fake_gai;
/* What is left of an earlier test is forgotten. */
void fake_gai_reset(void);

/* Ends the oldest running request for this name: with addresses, separated by blanks, or with
 * this error where they are NULL. */
void fake_gai_end(const char *name, const char *addresses, int error);
/* The same, but the notice is lost. */
void fake_gai_end_quietly(const char *name, const char *addresses, int error);
