/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The sink: the journal, or one line on standard error. Owns the only mutable state that is not
 * reached through a pointer: where records go and which are wanted.
 *
 * Nobody who reads standard error slowly, or stops reading it, stops the daemon: a line that
 * cannot be written soon is dropped, and how many were is said when there is room again.
 */
#define SD_JOURNAL_SUPPRESS_LOCATION

#include "report/log.h"
#include "sink.h"

#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <syslog.h>
#include <systemd/sd-journal.h>
#include <unistd.h>

#define STDERR_PATIENCE_MSEC 100

static struct {
    int level;
    bool journal;
    enum log_form form;
    uint64_t lost; /* lines that standard error did not take */
    log_capture_callback capture;
    void *capture_data;
} sink = {.level = LOG_INFO};

/* Is standard error the stream that the service manager connected to the journal? A variable
 * inherited through a redirection ("2>file") names another file. */
static bool stderr_is_journal(void) {
    const char *stream = getenv("JOURNAL_STREAM");
    uint64_t device, inode;
    struct stat st;
    char rest;

    return stream && sscanf(stream, "%" SCNu64 ":%" SCNu64 "%c", &device, &inode, &rest) == 2 &&
           fstat(STDERR_FILENO, &st) == 0 && st.st_dev == device && st.st_ino == inode;
}

void log_open(void) {
    (void)signal(SIGPIPE, SIG_IGN);
    sink.journal = stderr_is_journal();
    sink.form = !sink.journal && isatty(STDERR_FILENO) ? LOG_FORM_TERMINAL : LOG_FORM_PREFIXED;
}

void log_close(void) {
    sink.journal = false;
    sink.form = LOG_FORM_PREFIXED;
    sink.lost = 0;
}

void log_set_level(int priority) {
    sink.level = priority;
}

int log_level(void) {
    return sink.level;
}

bool log_wanted(int priority) {
    return priority <= sink.level;
}

static const char *level_word(int priority) {
    if (priority <= LOG_ERR)
        return "error: ";
    return priority == LOG_WARNING ? "warning: " : "";
}

size_t log_line(enum log_form form, int priority, const char *sentence, char line[LOG_LINE_MAX]) {
    int n = 0;

    switch (form) {
    case LOG_FORM_PREFIXED:
        n = snprintf(line, LOG_LINE_MAX, "<%d>%s\n", priority, sentence);
        break;
    case LOG_FORM_TERMINAL:
        n = snprintf(line, LOG_LINE_MAX, "%s%s\n", level_word(priority), sentence);
        break;
    }
    if (n < LOG_LINE_MAX)
        return (size_t)n;
    line[LOG_LINE_MAX - 2] = '\n';
    return LOG_LINE_MAX - 1;
}

/* Standard error belongs to others too, so it is not made non-blocking. Whoever has stopped
 * reading is waited for once, not at every line. */
static bool stderr_write(int priority, const char *sentence) {
    struct pollfd ready = {.fd = STDERR_FILENO, .events = POLLOUT};
    char line[LOG_LINE_MAX];
    size_t n = log_line(sink.form, priority, sentence, line);

    if (poll(&ready, 1, sink.lost > 0 ? 0 : STDERR_PATIENCE_MSEC) != 1 ||
        !(ready.revents & POLLOUT))
        return false;
    return write(STDERR_FILENO, line, n) == (ssize_t)n;
}

static void stderr_say(int priority, const char *sentence) {
    if (sink.lost > 0) {
        char lost[96];

        (void)snprintf(lost, sizeof(lost), "%" PRIu64 " log lines were lost: nobody read them",
                       sink.lost);
        if (!stderr_write(LOG_WARNING, lost)) {
            sink.lost++;
            return;
        }
        sink.lost = 0;
    }
    if (!stderr_write(priority, sentence))
        sink.lost++;
}

void log_write(int priority, const char *sentence, const struct iovec *fields, size_t n) {
    int saved = errno;

    if (sink.capture)
        sink.capture(sink.capture_data, priority, sentence, fields, n);
    else if (!sink.journal || sd_journal_sendv(fields, (int)n) < 0)
        stderr_say(priority, sentence);
    errno = saved;
}

void log_capture(log_capture_callback callback, void *data) {
    sink.capture = callback;
    sink.capture_data = data;
}
