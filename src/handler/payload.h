/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What a handler is given of an entry, as bytes, piece by piece: however large an entry is, no
 * turn of the loop encodes more than a piece of it. The entry's strings are copied once, when
 * the payload is made; what is written is made from that copy when the handler takes it.
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

struct payload;

/* Settings are borrowed and outlive it. -ENOMEM. */
MUST_CHECK int payload_new(const struct recovery_settings *settings, const struct entry *entry,
                           uint64_t deliveries, struct payload **ret);
struct payload *payload_free(struct payload *payload);

/* The next bytes, the same until they are taken; size 0: that was all. Borrowed until the next
 * call. -ENOMEM. */
MUST_CHECK int payload_next(struct payload *payload, struct blob *ret);
/* What payload_next() gave is all that is left. */
bool payload_is_last(const struct payload *payload);
/* So many of them are done with. */
void payload_take(struct payload *payload, size_t size);

/* Roughly how many bytes it has. */
size_t payload_size_guess(const struct payload *payload);
