/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The scripts of scripts/, embedded when the program is built: what EVALSHA and EVAL take.
 */
#pragma once

extern const char dead_letter_sha1[];
extern const char dead_letter_text[];
extern const char move_sha1[];
extern const char move_text[];
