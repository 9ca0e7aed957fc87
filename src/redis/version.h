/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Servers whose streams have known faults, by brand and version as HELLO shows them. Pure.
 */
#pragma once

#include <stddef.h>

/* What is wrong with this version, or NULL. Index 0, 1, ... for the first, second, ... fault. */
const char *version_fault(const char *brand, const char *version, size_t index);
