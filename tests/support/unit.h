/* SPDX-License-Identifier: BSD-3-Clause */
/* cmocka with what it needs before it. */
#pragma once

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
