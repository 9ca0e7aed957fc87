/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The other end of the control socket: asks one question and waits for its answer.
 */
#pragma once

#include "base/error.h"
#include <stddef.h>

/* The longest answer that is taken. */
#define CLIENT_ANSWER_MAX ((size_t)64 << 20)
#define CLIENT_WHY_MAX 200

/* 0: *ret_body is the text of the answer, to be freed. CLIENT_E_REFUSED: the same, the daemon said
 * no. CLIENT_E_AWAY: there is no daemon, or it gave no whole answer within timeout_seconds; why
 * says so. */
enum { CLIENT_E_REFUSED = 1, CLIENT_E_AWAY };
MUST_CHECK int client_ask(const char *path, const char *request, unsigned timeout_seconds,
                          char **ret_body, char why[CLIENT_WHY_MAX]);
