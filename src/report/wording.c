/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Pieces of a sentence, made printable and bounded.
 */
#include "wording.h"

#include "base/text.h"
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define NAME_SHOWN_MAX 96

/* Writes the character at `from` into out, escaped where it must not be shown; returns how many
 * bytes of the source it stands for. */
static size_t piece(const char *from, char out[16]) {
    size_t n = 1;

    if (*from == '\\') {
        memcpy(out, "\\", 2);
        return 1;
    }
    while (n <= 4 && from[n - 1] != '\0' && !text_is_utf8((struct blob){from, n}))
        n++;
    if (n > 4 || from[n - 1] == '\0')
        n = 1;
    (void)text_printable((struct blob){from, n}, out, 16);
    return n;
}

size_t wording_copy(const char *from, char *buf, size_t size) {
    size_t used = 0, cut = 0; /* cut: the last place where "..." and the NUL still fit */

    if (size == 0)
        return 0;
    while (*from != '\0') {
        char out[16];
        size_t n = piece(from, out), length = strlen(out);

        if (used + length + 1 > size) {
            used = cut;
            for (int dots = 0; dots < 3 && used + 1 < size; dots++)
                buf[used++] = '.';
            break;
        }
        memcpy(buf + used, out, length);
        used += length;
        if (used + 4 <= size)
            cut = used;
        from += n;
    }
    buf[used] = '\0';
    return used;
}

struct wording wording_plain(const char *from) {
    struct wording w;

    (void)wording_copy(from, w.text, sizeof(w.text));
    return w;
}

struct wording wording_name(const char *from) {
    struct wording w;

    (void)wording_copy(from, w.text, NAME_SHOWN_MAX);
    return w;
}

struct wording wording_id(struct entry_id id) {
    struct wording w;

    (void)entry_id_format(id, w.text);
    return w;
}

struct wording wording_duration(usec_t value) {
    struct wording w;

    if (value < USEC_PER_SEC)
        (void)snprintf(w.text, sizeof(w.text), "%" PRIu64 "ms", value / USEC_PER_MSEC);
    else if (value < 60 * USEC_PER_SEC)
        (void)snprintf(w.text, sizeof(w.text), "%" PRIu64 ".%" PRIu64 "s", value / USEC_PER_SEC,
                       value % USEC_PER_SEC / (USEC_PER_SEC / 10));
    else
        text_format_duration(value - value % USEC_PER_SEC, w.text, sizeof(w.text));
    return w;
}
