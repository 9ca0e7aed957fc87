/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What a handler that stays answers: one line for each request, in any order.
 *
 *   ID ok
 *   ID retry [reason]
 *   ID reject [reason]
 *   ID working           it is still at it: handler_timeout begins anew
 *
 * One blank between two words, a newline (or CR LF) at the end, nothing else. Pure: no descriptor,
 * no clock; any bytes may come in.
 */
#pragma once

#include "base/entry_id.h"
#include "base/text.h"
#include "handler/handler.h"

/* Of a line, without what ends it. */
#define PROTOCOL_LINE_MAX 4096

enum protocol_verb { PROTOCOL_OK, PROTOCOL_RETRY, PROTOCOL_REJECT, PROTOCOL_WORKING };

struct protocol_answer {
    struct entry_id id;
    enum protocol_verb verb;
    char reason[OUTCOME_REASON_MAX]; /* printable, cut; "" if none was given */
};

/* line: without its newline. False: it is none of the above; *ret is then undefined. */
MUST_CHECK bool protocol_parse(struct blob line, struct protocol_answer *ret);

/* Cuts a stream of bytes into lines, however it comes in pieces. */
struct protocol_lines {
    size_t size;
    char line[PROTOCOL_LINE_MAX + 1]; /* one that came in pieces; room for a CR */
};

enum protocol_piece {
    PROTOCOL_LINE,     /* *ret is one, borrowed until the next call; there may be more */
    PROTOCOL_MORE,     /* all of the input is taken, more is needed */
    PROTOCOL_TOO_LONG, /* a line over the limit */
};
enum protocol_piece protocol_cut(struct protocol_lines *lines, struct blob *input,
                                 struct blob *ret);
