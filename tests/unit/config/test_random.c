/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Broken files of all kinds: nothing may crash or leak, what is refused has a complaint, and
 * what is accepted prints to something that is accepted.
 *
 *   XAUTOCLAIMD_TEST_SEED=n   the seed (it is printed)
 */
#include "case.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define ROUNDS 4000
#define TEXT_MAX 4096

static uint64_t seed;

/* xorshift64 */
static uint64_t draw(uint64_t below) {
    seed ^= seed << 13;
    seed ^= seed >> 7;
    seed ^= seed << 17;
    return seed % below;
}

static const char base[] =
    "[daemon]\ndrain_timeout = 1m\nmax_body_bytes = 64M\n\n[redis]\n"
    "url = redis://127.0.0.1:6379/0\n  unix:///run/redis.sock?db=1\nusername = joe\n"
    "command_timeout = auto\n[redis two]\nurl: redis://jim@[::1]\n; comment\n"
    "[recovery a]\nstream = s\ngroup = g\nmin_idle = 60s\nconsumer = c-%N-%i-%%\nhandler = exec\n"
    "command = /bin/sh -c 'exit 0' \"a b\" c\\ d\n  more\n\tand more\nclaim_ahead = auto\n"
    "[recovery b]\nredis = two\nstream = t\ngroup = g\nmin_idle = 1h 30m\nhandler = exec\n"
    "command = /bin/true\npayload = id\n";

static const char *const pieces[] = {
    "\n",
    " ;",
    "[",
    "]",
    "=",
    ":",
    "%",
    "'",
    "\"",
    "\\",
    "\r\n",
    "\n  ",
    "\xef\xbb\xbf",
    "\n\t",
    "redis://",
    "unix://",
    "u:p@",
    "@",
    "/",
    "?db=",
    "#",
    "[recovery ",
    "[redis ",
    "[daemon]\n",
    "\nurl = ",
    "\nstream = ",
    "\ncommand = ",
    "auto",
    "18446744073709551616",
    "1h 30m",
    "[::1]",
    "\xff",
    "\xc3\xbc",
    "%H",
    "%%",
    "\nconsumer =",
};

static size_t insert(char *text, size_t size, size_t at, const char *what, size_t n) {
    if (size + n > TEXT_MAX)
        return size;
    memmove(text + at + n, text + at, size - at);
    memcpy(text + at, what, n);
    return size + n;
}

static size_t mutate(char *text, size_t size) {
    size_t at = draw(size + 1), n = draw(40);
    char bytes[300];

    switch (draw(6)) {
    case 0: /* another byte */
        if (at < size)
            text[at] = (char)draw(256);
        return size;
    case 1: /* a piece that means something */
        n = draw(sizeof(pieces) / sizeof(pieces[0]));
        return insert(text, size, at, pieces[n], strlen(pieces[n]));
    case 2: /* less */
        n = at + n > size ? size - at : n;
        memmove(text + at, text + at + n, size - at - n);
        return size - n;
    case 3: /* a copy of some of it */
        n = at + n > size ? size - at : n;
        memcpy(bytes, text + at, n);
        return insert(text, size, draw(size + 1), bytes, n);
    case 4: /* a long line */
        n = 150 + draw(sizeof(bytes) - 150);
        memset(bytes, 'a' + (int)draw(26), n);
        return insert(text, size, at, bytes, n);
    default: /* noise */
        for (size_t i = 0; i < n; i++)
            bytes[i] = (char)draw(256);
        return insert(text, size, at, bytes, n);
    }
}

static void comes_back(struct test_case *self) {
    char *text = case_print(self->config);

    case_load_text(self, text);
    if (self->result != 0)
        print_error("printed:\n%s\nsays:\n%s", text, self->said);
    assert_int_equal(self->result, 0);
    char *again = case_print(self->config);
    assert_string_equal(again, text);
    free(again);
    free(text);
}

static void check(struct test_case *self, const char *text, size_t size, unsigned *accepted) {
    case_write(self, "main.conf", text, size);
    case_load(self);
    if (self->result == 0) {
        (*accepted)++;
        comes_back(self);
        return;
    }
    assert_int_equal(self->result, CONFIG_E_INVALID);
    assert_int_equal(
        strncmp(self->said, "main.conf:", 10) == 0 || strncmp(self->said, "warning: ", 9) == 0, 1);
}

static void test_broken_files(void **state) {
    struct test_case *self = *state;
    unsigned accepted = 0;
    char text[TEXT_MAX];

    for (int round = 0; round < ROUNDS; round++) {
        size_t size = sizeof(base) - 1;
        uint64_t before = seed;

        memcpy(text, base, size);
        for (uint64_t n = draw(8); n > 0; n--)
            size = mutate(text, size);
        if (round == 0)
            print_message("# seed %llu\n", (unsigned long long)before);
        check(self, text, size, &accepted);
    }
    print_message("# %u of %d accepted\n", accepted, ROUNDS);
    assert_true(accepted > ROUNDS / 50 && accepted < ROUNDS);
}

static void test_noise(void **state) {
    struct test_case *self = *state;
    unsigned accepted = 0;
    char text[TEXT_MAX];

    for (int round = 0; round < ROUNDS / 4; round++) {
        size_t size = draw(TEXT_MAX) + 1;

        for (size_t i = 0; i < size; i++)
            text[i] = (char)draw(round % 2 == 0 ? 256 : 128);
        check(self, text, size, &accepted);
    }
}

int main(void) {
    const char *given = getenv("XAUTOCLAIMD_TEST_SEED");
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_broken_files, case_begin, case_end),
        cmocka_unit_test_setup_teardown(test_noise, case_begin, case_end),
    };

    seed = given ? strtoull(given, NULL, 10) : (uint64_t)time(NULL) << 16 | 1;
    if (seed == 0)
        seed = 1;
    return cmocka_run_group_tests(tests, NULL, NULL);
}
