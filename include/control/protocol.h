/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What is said over the control socket. One request a connection:
 *
 *   request   VERB [NAME] newline              at most CONTROL_REQUEST_MAX bytes
 *   answer    "ok" or "error", a blank, the number of bytes that follow, newline, these bytes
 *
 * and the daemon closes. The bytes are JSON for `status`, else lines of text. A person with socat
 * can speak it. Pure.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#define CONTROL_REQUEST_MAX 4096
#define CONTROL_NAME_MAX 40

enum control_verb {
    CONTROL_STATUS,
    CONTROL_RELOAD,
    CONTROL_RUN,
    CONTROL_PAUSE,
    CONTROL_RESUME,
    CONTROL_VERSION,
    _CONTROL_VERB_MAX,
};

struct control_request {
    enum control_verb verb;
    char name[CONTROL_NAME_MAX + 1]; /* run, pause, resume; else "" */
};

/* NULL: there is no such verb. */
const char *control_verb_to_string(enum control_verb verb);
bool control_verb_takes_name(enum control_verb verb);

/* A request line, without its newline. False with a sentence in *ret_why, which is a constant. */
bool control_request_parse(const char *line, size_t size, struct control_request *ret,
                           const char **ret_why);

/* The head of an answer with its newline. Returns its length. */
#define CONTROL_HEAD_MAX 32
size_t control_head_format(bool ok, size_t size, char head[CONTROL_HEAD_MAX]);
/* The head is the first line of `text`, which holds `size` bytes so far. False: it is none. */
bool control_head_parse(const char *text, size_t size, bool *ret_ok, size_t *ret_head_size,
                        size_t *ret_body_size);
