/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Cleanup attributes for locals, and the visible hand-over of what they own.
 *
 *   CLEANUP_FREE char *text = NULL;          free(3) when the scope ends
 *   CLEANUP(config_freep) struct config *c   the type's own death
 *   *ret = TAKE(text);                       the caller owns it from here on
 */
#pragma once

#include <stdlib.h>
#include <unistd.h>

#define CLEANUP(fn) __attribute__((cleanup(fn)))
#define CLEANUP_FREE CLEANUP(cleanup_free)
#define CLEANUP_CLOSE CLEANUP(cleanup_close)

#define TAKE(pointer)                                                                              \
    ({                                                                                             \
        __typeof__(pointer) _taken = (pointer);                                                    \
        (pointer) = NULL;                                                                          \
        _taken;                                                                                    \
    })

/* Defines type_freep() for CLEANUP() out of a death function that accepts NULL. */
#define DEFINE_CLEANUP(type, death)                                                                \
    static inline void death##p(type **pointer) {                                                  \
        *pointer = death(*pointer);                                                                \
    }

static inline void cleanup_free(void *pointer) {
    free(*(void **)pointer);
}

static inline void cleanup_close(int *fd) {
    if (*fd >= 0)
        (void)close(*fd);
}
