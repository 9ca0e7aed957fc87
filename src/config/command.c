/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * popt splits. It lets pass what a shell would complain about (an open quote), drops empty
 * words, and treats some backslashes inside quotes otherwise than a shell does; all of these
 * are refused before it sees them, so that a command means here what it means in a shell.
 */
#include "command.h"

#include <ctype.h>
#include <errno.h>
#include <popt.h>
#include <string.h>

struct walk {
    char quote;    /* ' or " while inside of them */
    bool in_word;  /* a word has begun, perhaps with a quote */
    size_t length; /* of this word, without quotes */
};

static int end_word(struct walk *walk, char *why) {
    if (walk->in_word && walk->length == 0)
        return why_bad(why, "an empty word (\"\" or ''), which cannot be handed over; accepted: "
                            "words that are not empty");
    walk->in_word = false;
    walk->length = 0;
    return 0;
}

static int walk_backslash(const struct walk *walk, char next, char *why) {
    if (next == '\0')
        return why_bad(why, "a backslash at the end; accepted: a backslash before a character");
    if (walk->quote == '\'' && next == '\'')
        return why_bad(why, "a backslash before the closing '; accepted: the backslash outside of "
                            "the quotes");
    if (walk->quote == '"' && (next == '\\' || next == '$' || next == '`'))
        return why_bad(why, "a backslash before \\ $ or ` inside \"...\"; accepted: the same text "
                            "inside '...'");
    return 0;
}

/* Looks at the character at `at`; *ret_used is how many it stands for. */
static int walk_on(struct walk *walk, const char *at, size_t *ret_used, char *why) {
    *ret_used = 1;
    if (!walk->quote && isspace((unsigned char)*at))
        return end_word(walk, why);
    walk->in_word = true;
    if (*at == '\\') {
        *ret_used = 2;
        walk->length++;
        return walk_backslash(walk, at[1], why);
    }
    if (walk->quote && *at == walk->quote)
        walk->quote = '\0';
    else if (!walk->quote && (*at == '"' || *at == '\''))
        walk->quote = *at;
    else
        walk->length++;
    return 0;
}

static int check(const char *text, char *why) {
    struct walk walk = {0};
    size_t used;

    for (const char *at = text; *at != '\0'; at += used) {
        int r = walk_on(&walk, at, &used, why);

        if (r != 0)
            return r;
    }
    if (walk.quote)
        return why_bad(why, "a quote that is not closed; accepted: quotes in pairs");
    return end_word(&walk, why);
}

int command_split(const char *text, struct config_memory *memory, char *const **ret,
                  char why[WHY_MAX]) {
    const char **argv = NULL;
    int argc = 0, r = check(text, why);

    if (r != 0)
        return r;
    if (text[0] == '\0')
        return why_bad(why, "must not be empty; accepted: " COMMAND_ACCEPTED);
    r = poptParseArgvString(text, &argc, &argv);
    if (r == POPT_ERROR_MALLOC)
        return -ENOMEM;
    if (r != 0 || argc == 0)
        return why_bad(why, "cannot be split into words; accepted: " COMMAND_ACCEPTED);
    r = memory_adopt(memory, argv);
    if (r < 0)
        return r;
    if (argv[0][0] != '/')
        return why_bad(why, "the program is not an absolute path; accepted: " COMMAND_ACCEPTED);
    *ret = (char *const *)argv;
    return 0;
}
