/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Rules across keys and sections, and the completion of the settings: names are looked up,
 * specifiers expanded, `auto` resolved.
 */
#pragma once

#include "complain.h"
#include "draft.h"

/* Complains about everything that does not go together. Where there was no error at all, the
 * settings of all drafts are complete afterwards, but for the pointers between them. */
MUST_CHECK int rules_apply(const struct config_source *source, struct config_memory *memory,
                           struct complaints *complaints);
