/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * One stream of a handler's output. Owns the pipe's end and one line buffer. Reads a bounded
 * piece a turn, so that a handler that writes without end slows down nobody but itself.
 */
#include "output.h"

#include "base/cleanup.h"
#include "loop/io.h"

#include <errno.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

enum {
    READ_PER_TURN = 16 * 1024,
    /* \xNN for each byte, the dots of a cut line, the NUL. */
    PRINTABLE_MAX = 4 * OUTPUT_LINE_BYTES + 4,
};

struct output {
    int fd;
    struct io_watch *watch;
    const char *name;
    bool logged;
    struct output_account *account;
    size_t line_size;
    bool line_cut;
    char line[OUTPUT_LINE_BYTES];
};

void output_account_renew(struct output_account *account) {
    if (account->dropped > 0 && account->worker)
        report_worker_dropped(account->subject, account->worker, account->dropped);
    else if (account->dropped > 0)
        report_output_dropped(account->subject, account->id, account->dropped);
    account->dropped = 0;
    account->lines = account->bytes = 0;
}

/* --- lines ----------------------------------------------------------------------------------- */

static bool account_is_full(const struct output_account *account) {
    return account->lines >= OUTPUT_RUN_LINES || account->bytes >= OUTPUT_RUN_BYTES;
}

/* A line that was cut may end within a character: up to three bytes less. */
static struct blob whole_characters(struct blob line) {
    for (size_t n = 0; n <= 3 && n <= line.size; n++) {
        struct blob shorter = {.data = line.data, .size = line.size - n};

        if (text_is_utf8(shorter))
            return shorter;
    }
    return line;
}

static void pass_on(struct output *output) {
    struct blob line = {.data = output->line, .size = output->line_size};
    char printable[PRINTABLE_MAX];

    if (output->line_cut)
        line = whole_characters(line);
    output->account->dropped += output->line_size - line.size;
    output->account->lines++;
    output->account->bytes += line.size;
    text_printable(line, printable, sizeof(printable) - 3);
    if (output->line_cut)
        strcat(printable, "...");
    if (output->account->worker)
        report_worker_output(output->account->subject, output->account->worker, output->name,
                             printable);
    else
        report_handler_output(output->account->subject, output->account->id, output->name,
                              printable);
}

static void line_ended(struct output *output) {
    if (!output->line_cut && output->line_size > 0 && output->line[output->line_size - 1] == '\r')
        output->line_size--;
    if (output->line_size > 0) {
        if (account_is_full(output->account))
            output->account->dropped += output->line_size;
        else
            pass_on(output);
    }
    output->line_size = 0;
    output->line_cut = false;
}

static void line_grows(struct output *output, const char *data, size_t size) {
    size_t room = sizeof(output->line) - output->line_size;
    size_t taken = size < room ? size : room;

    memcpy(output->line + output->line_size, data, taken);
    output->line_size += taken;
    output->account->dropped += size - taken;
    if (taken < size)
        output->line_cut = true;
}

static void consume(struct output *output, const char *data, size_t size) {
    while (size > 0) {
        if (!output->logged || account_is_full(output->account)) {
            output->account->dropped += size;
            return;
        }
        const char *newline = memchr(data, '\n', size);
        size_t length = newline ? (size_t)(newline - data) : size;

        line_grows(output, data, length);
        if (!newline)
            return;
        line_ended(output);
        data += length + 1;
        size -= length + 1;
    }
}

/* --- the pipe -------------------------------------------------------------------------------- */

static void output_close(struct output *output) {
    output->watch = io_watch_free(output->watch);
    if (output->fd >= 0)
        (void)close(output->fd);
    output->fd = -1;
}

/* What was read, 0 where there is nothing (more). */
static size_t read_piece(struct output *output, size_t most) {
    char piece[READ_PER_TURN];
    ssize_t n = read(output->fd, piece, most < sizeof(piece) ? most : sizeof(piece));

    if (n < 0 && (errno == EAGAIN || errno == EINTR))
        return 0;
    if (n <= 0) {
        output_close(output);
        return 0;
    }
    consume(output, piece, (size_t)n);
    return (size_t)n;
}

static void output_ready(void *data) {
    (void)read_piece(data, READ_PER_TURN);
}

int output_new(struct loop *loop, int fd, const char *name, bool logged,
               struct output_account *account, struct output **ret) {
    struct output *output = calloc(1, sizeof(*output));
    if (!output) {
        (void)close(fd);
        return -ENOMEM;
    }
    output->fd = fd;
    output->name = name;
    output->logged = logged;
    output->account = account;
    if (io_watch_new(loop, fd, IO_READ, output_ready, output, &output->watch) < 0) {
        output_free(output);
        return -ENOMEM;
    }
    *ret = output;
    return 0;
}

struct output *output_free(struct output *output) {
    if (!output)
        return NULL;
    output_close(output);
    free(output);
    return NULL;
}

void output_start(struct output *output) {
    io_watch_enable(output->watch, true);
}

void output_finish(struct output *output) {
    int there = 0;

    /* As much as is there at this moment, not until it is empty: a process that has left the
     * group may go on writing for ever. */
    if (output->fd >= 0 && ioctl(output->fd, FIONREAD, &there) < 0)
        there = 0;
    while (there > 0) {
        size_t n = read_piece(output, (size_t)there);

        if (n == 0)
            break;
        there -= (int)n;
    }
    line_ended(output);
    output_close(output);
}
