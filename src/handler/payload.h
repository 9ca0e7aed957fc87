/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What a handler is given of an entry, as bytes. Pure.
 *
 *   json  {"recovery":..,"stream":..,"group":..,"id":"1-0","deliveries":2,"fields":[[..,..]]}
 *         and a newline; order and duplicate names kept; a string that is not UTF-8 becomes
 *         {"base64":".."}
 *   resp  the element of an XRANGE reply: *2 of the ID and the flat array of names and values
 *   id    the ID and a newline
 */
#pragma once

#include "base/entry.h"
#include "base/error.h"
#include "config/settings.h"

struct payload {
    char *data;
    size_t size;
};

/* Builds settings->payload. *ret becomes the caller's: payload_clear(). -ENOMEM. */
MUST_CHECK int payload_build(const struct recovery_settings *settings, const struct entry *entry,
                             uint64_t deliveries, struct payload *ret);
void payload_clear(struct payload *payload);
