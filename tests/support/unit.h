/* SPDX-License-Identifier: BSD-3-Clause */
/* cmocka with what it needs before it, and what a test must know about where it runs. */
#pragma once

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

/* Set by `meson test --setup=valgrind`. */
static inline bool under_valgrind(void) {
    return getenv("TEST_UNDER_VALGRIND") != NULL;
}

/* Ends a test that cannot be done here; the reason is shown with the skip. */
#define LEAVE_OUT_IF(condition, reason)                                                            \
    do {                                                                                           \
        if (condition) {                                                                           \
            print_message("# left out: %s\n", reason);                                             \
            skip();                                                                                \
        }                                                                                          \
    } while (0)
