/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Randomness for jitter.
 */
#pragma once

#include <stdint.h>

uint32_t random_u32(void);
