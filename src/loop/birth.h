/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The birth of a child process by vfork, apart from everything else because of what may not be
 * done between vfork() and execve().
 */
#pragma once

#include "base/error.h"
#include "loop/child.h"

/* What the child is told. It sees the parent's memory, so this may lie anywhere. */
struct birth {
    const struct child_spec *spec;
    const char *oom_score_adj; /* text to write */
    pid_t parent;
    int error_fd; /* takes the errno of the step that failed; closed once it executes */
};

/* Starts spec->program; returns when it executes. 0 with its pid, or a negative errno, in which
 * case no process is left. */
MUST_CHECK int birth_start(const struct child_spec *spec, const char *oom_score_adj, pid_t *ret);
