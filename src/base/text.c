/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Durations, sizes, booleans, numbers, and printable copies of foreign bytes.
 */
#include "base/text.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

static const struct {
    const char *name;
    usec_t usec;
} units[] = {
    {"ms", USEC_PER_MSEC},      {"s", USEC_PER_SEC},         {"m", 60 * USEC_PER_SEC},
    {"h", 3600 * USEC_PER_SEC}, {"d", 86400 * USEC_PER_SEC},
};
#define N_UNITS (sizeof(units) / sizeof(units[0]))

static bool is_blank(char c) {
    return c == ' ' || c == '\t';
}

/* Reads digits from *at; TEXT_E_BAD where there is none. */
static int digits(const char **at, uint64_t *ret) {
    const char *p = *at;
    uint64_t value = 0;

    for (; *p >= '0' && *p <= '9'; p++)
        if (__builtin_mul_overflow(value, (uint64_t)10, &value) ||
            __builtin_add_overflow(value, (uint64_t)(*p - '0'), &value))
            return TEXT_E_RANGE;
    if (p == *at)
        return TEXT_E_BAD;
    *at = p;
    *ret = value;
    return 0;
}

/* Reads the letters of a unit from *at. */
static int unit(const char **at, usec_t *ret) {
    const char *p = *at;
    size_t n = strspn(p, "abcdefghijklmnopqrstuvwxyz");

    if (n == 0)
        return *p == '\0' || is_blank(*p) ? TEXT_E_UNIT : TEXT_E_BAD;
    for (size_t i = 0; i < N_UNITS; i++)
        if (strlen(units[i].name) == n && memcmp(units[i].name, p, n) == 0) {
            *at = p + n;
            *ret = units[i].usec;
            return 0;
        }
    return TEXT_E_BAD;
}

int text_parse_duration(const char *text, usec_t *ret) {
    usec_t total = 0;

    if (*text == '\0')
        return TEXT_E_BAD;
    for (const char *at = text; *at != '\0';) {
        uint64_t number;
        usec_t scale;
        int r = digits(&at, &number);

        if (r == 0)
            r = unit(&at, &scale);
        if (r != 0)
            return r;
        if (__builtin_mul_overflow(number, scale, &number) ||
            __builtin_add_overflow(total, number, &total))
            return TEXT_E_RANGE;
        if (is_blank(*at)) {
            at += strspn(at, " \t");
            if (*at == '\0')
                return TEXT_E_BAD;
        }
    }
    *ret = total;
    return 0;
}

void text_format_duration(usec_t value, char *buf, size_t size) {
    size_t used = 0;

    if (size == 0)
        return;
    buf[0] = '\0';
    if (value < USEC_PER_MSEC) {
        (void)snprintf(buf, size, "0s");
        return;
    }
    for (size_t i = N_UNITS; i-- > 0 && used < size;) {
        uint64_t n = value / units[i].usec;

        value %= units[i].usec;
        if (n > 0)
            used += (size_t)snprintf(buf + used, size - used, "%s%" PRIu64 "%s",
                                     used > 0 ? " " : "", n, units[i].name);
    }
}

int text_parse_size(const char *text, uint64_t *ret) {
    static const char suffixes[] = "KMG";
    const char *at = text;
    uint64_t value;
    int r = digits(&at, &value);

    if (r != 0)
        return r;
    if (*at != '\0') {
        const char *suffix = strchr(suffixes, *at);

        if (!suffix || at[1] != '\0')
            return TEXT_E_BAD;
        if (__builtin_mul_overflow(value, UINT64_C(1) << (10 * (suffix - suffixes + 1)), &value))
            return TEXT_E_RANGE;
    }
    *ret = value;
    return 0;
}

void text_format_size(uint64_t value, char *buf, size_t size) {
    static const char *const suffixes[] = {"", "K", "M", "G"};
    size_t i = 0;

    while (i < 3 && value > 0 && value % 1024 == 0) {
        value /= 1024;
        i++;
    }
    (void)snprintf(buf, size, "%" PRIu64 "%s", value, suffixes[i]);
}

int text_parse_bool(const char *text, bool *ret) {
    static const char *const words[] = {"no", "yes", "false", "true", "off", "on", "0", "1"};

    for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
        if (strcasecmp(text, words[i]) == 0) {
            *ret = i % 2 == 1;
            return 0;
        }
    return TEXT_E_BAD;
}

int text_parse_u64(const char *text, uint64_t *ret) {
    const char *at = text;
    uint64_t value;
    int r = digits(&at, &value);

    if (r != 0)
        return r;
    if (*at != '\0')
        return TEXT_E_BAD;
    *ret = value;
    return 0;
}

/* The length of the UTF-8 character at p (1 to 4), or 0 where there is none within `left`. */
static size_t utf8_length(const unsigned char *p, size_t left) {
    if (p[0] < 0x80)
        return 1;

    size_t n = p[0] >= 0xf0 ? 4 : p[0] >= 0xe0 ? 3 : 2;
    if (p[0] < 0xc2 || p[0] > 0xf4 || n > left)
        return 0;
    for (size_t i = 1; i < n; i++)
        if ((p[i] & 0xc0) != 0x80)
            return 0;
    /* overlong forms, surrogates, above U+10FFFF */
    if ((p[0] == 0xe0 && p[1] < 0xa0) || (p[0] == 0xed && p[1] > 0x9f) ||
        (p[0] == 0xf0 && p[1] < 0x90) || (p[0] == 0xf4 && p[1] > 0x8f))
        return 0;
    return n;
}

bool text_is_utf8(struct blob from) {
    const unsigned char *p = (const unsigned char *)from.data;

    for (size_t i = 0; i < from.size;) {
        uint64_t eight;

        /* Most of what is checked is large and plain. */
        if (from.size - i >= sizeof(eight)) {
            memcpy(&eight, p + i, sizeof(eight));
            if ((eight & UINT64_C(0x8080808080808080)) == 0) {
                i += sizeof(eight);
                continue;
            }
        }
        size_t n = utf8_length(p + i, from.size - i);
        if (n == 0)
            return false;
        i += n;
    }
    return true;
}

/* Writes the printable form of the character at p into out (at most 8 bytes); returns how many
 * bytes of the source it stands for. C1 controls (U+0080 to U+009F) are controls too. */
static size_t printable_piece(const unsigned char *p, size_t left, char out[9]) {
    size_t n = utf8_length(p, left);

    if (n == 1 && p[0] == '\\') {
        memcpy(out, "\\\\", 3);
    } else if (n == 1 && (p[0] < 0x20 || p[0] == 0x7f)) {
        (void)snprintf(out, 9, "\\x%02x", p[0]);
    } else if (n == 2 && p[0] == 0xc2 && p[1] < 0xa0) {
        (void)snprintf(out, 9, "\\x%02x\\x%02x", p[0], p[1]);
    } else if (n == 0) {
        (void)snprintf(out, 9, "\\x%02x", p[0]);
        n = 1;
    } else {
        memcpy(out, p, n);
        out[n] = '\0';
    }
    return n;
}

char *text_printable(struct blob from, char *buf, size_t size) {
    const unsigned char *p = (const unsigned char *)from.data;
    size_t used = 0, cut = 0; /* cut: the last place where "..." and the NUL still fit */

    if (size == 0)
        return buf;
    for (size_t i = 0; i < from.size;) {
        char piece[9];
        size_t n = printable_piece(p + i, from.size - i, piece), length = strlen(piece);

        if (used + length + 1 > size) {
            used = cut;
            for (int dots = 0; dots < 3 && used + 1 < size; dots++)
                buf[used++] = '.';
            break;
        }
        memcpy(buf + used, piece, length);
        used += length;
        if (used + 4 <= size)
            cut = used;
        i += n;
    }
    buf[used] = '\0';
    return buf;
}

bool text_has_control(const char *text) {
    for (; *text != '\0'; text++)
        if ((unsigned char)*text < 0x20 || *text == 0x7f)
            return true;
    return false;
}
