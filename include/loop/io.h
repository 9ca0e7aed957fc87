/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Readiness of one descriptor. The descriptor stays its owner's: it is neither closed nor set
 * non-blocking here. Free the watch before closing the descriptor.
 */
#pragma once

#include "loop/loop.h"

struct io_watch;

enum io_direction { IO_READ, IO_WRITE };

/* Made disabled; calls back in each turn of the loop in which fd is ready, while enabled. */
MUST_CHECK int io_watch_new(struct loop *loop, int fd, enum io_direction direction,
                            loop_callback callback, void *data, struct io_watch **ret);
struct io_watch *io_watch_free(struct io_watch *watch);
void io_watch_enable(struct io_watch *watch, bool enable);
