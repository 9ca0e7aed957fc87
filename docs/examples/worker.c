/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A worker in C (handler = worker, payload = json): one line of JSON in, one line out.
 *
 *   cc -O2 -o worker worker.c
 *
 * What it does with an entry is work(); everything around it can stay as it is. A real one reads
 * the line with a JSON library; to find the ID, which the daemon writes before any field, takes
 * none.
 */
#define _GNU_SOURCE
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Do it so that doing it twice does no harm, and so that it is safe when this returns. NULL: done;
 * otherwise why not, and it is tried again later. */
static const char *work(const char *id, const char *line) {
    (void)id;
    (void)line;
    return NULL;
}

/* Cuts the ID out of a copy of the head. The names before it cannot hold a bare quote. */
static bool find_id(const char *line, char *id, size_t size) {
    static const char before[] = "\",\"id\":\"";
    const char *start = strstr(line, before), *end;

    if (!start)
        return false;
    start += sizeof(before) - 1;
    end = strchr(start, '"');
    if (!end || (size_t)(end - start) >= size)
        return false;
    memcpy(id, start, (size_t)(end - start));
    id[end - start] = '\0';
    return true;
}

int main(void) {
    char *line = NULL, id[64];
    size_t room = 0;

    /* The end of the input is how the daemon says that it is time to go. */
    while (getline(&line, &room, stdin) > 0) {
        if (!find_id(line, id, sizeof(id)))
            return EXIT_FAILURE;
        const char *why = work(id, line);

        if (why)
            printf("%s retry %s\n", id, why);
        else
            printf("%s ok\n", id);
        if (fflush(stdout) != 0)
            return EXIT_FAILURE;
    }
    free(line);
    return EXIT_SUCCESS;
}
