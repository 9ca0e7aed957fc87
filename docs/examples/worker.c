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
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

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

/* Answers one line. */
static bool answer(const char *line) {
    char id[64];

    if (!find_id(line, id, sizeof(id)))
        return false;
    const char *why = work(id, line);

    if (why)
        printf("%s retry %s\n", id, why);
    else
        printf("%s ok\n", id);
    return true;
}

/* Answers all whole lines of the buffer, of whose n bytes `seen` hold none; what is left moves to
 * its front. -1: nonsense. */
static ssize_t answer_lines(char *buffer, size_t seen, size_t n) {
    char *line = buffer, *from = buffer + seen, *end;

    while ((end = memchr(from, '\n', n - (size_t)(from - buffer)))) {
        *end = '\0';
        if (!answer(line))
            return -1;
        from = line = end + 1;
    }
    n -= (size_t)(line - buffer);
    memmove(buffer, line, n);
    return (ssize_t)n;
}

/* Several requests may come at once: their answers go out together. */
int main(void) {
    size_t size = 65536, used = 0;
    char *buffer = malloc(size);
    ssize_t n;

    /* The end of the input is how the daemon says that it is time to go. */
    while (buffer && (n = read(STDIN_FILENO, buffer + used, size - used)) > 0) {
        n = answer_lines(buffer, used, used + (size_t)n);
        if (n < 0 || fflush(stdout) != 0)
            return EXIT_FAILURE;
        used = (size_t)n;
        if (used == size)
            buffer = realloc(buffer, size *= 2);
    }
    if (!buffer)
        return EXIT_FAILURE;
    free(buffer);
    return EXIT_SUCCESS;
}
