/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Writes a payload to a handler's standard input, as fast as it is read, and closes it. A
 * handler that does not want to read it is no failure.
 */
#pragma once

#include "loop/loop.h"
#include "payload.h"

struct feed;

/* Takes over fd (a pipe's non-blocking end) and the payload, also when it fails. */
MUST_CHECK int feed_new(struct loop *loop, int fd, struct payload *payload, struct feed **ret);
struct feed *feed_free(struct feed *feed);

/* Writes what the pipe takes at once; the loop does the rest. */
void feed_start(struct feed *feed);
