/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The error rule of the whole program, written once.
 *
 *   0          done.
 *   negative   an errno value, negated: this cannot go on. Passed up unchanged,
 *              never matched on, ends up in main().
 *   positive   ROOM_E_...: an outcome that the called function documents and
 *              that its caller handles. It is never passed up.
 *
 * Results are must-check; ignoring one is written (void). Output parameters
 * are named ret_... and are untouched on failure. Asserts are for our own
 * bugs, never for what comes from Redis, from files or from handlers.
 */
#pragma once

#define MUST_CHECK __attribute__((warn_unused_result))

/* What only asserts look at: a build with NDEBUG has no use for it. */
#define ONLY_ASSERTED __attribute__((unused))
#define PRINTF_LIKE(fmt, args) __attribute__((format(printf, fmt, args)))
