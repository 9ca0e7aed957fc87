/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * handler LEDGER DAEMON SEED MIN_IDLE_MSEC
 *
 * The handler of a torture run. How long it takes and how it ends is drawn from the entry's ID,
 * the number of the delivery and the seed, so that a run can be repeated; it writes down when it
 * begins and when it ends. It dies with its daemon, which then shows as a begin without an end.
 */
#include "ledger.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sysexits.h>
#include <time.h>
#include <unistd.h>

static int ledger_fd = -1;
static struct ledger_record record;

/* Async-signal-safe. */
static void write_record(enum ledger_kind kind, enum ledger_outcome outcome) {
    struct timespec now;

    (void)clock_gettime(CLOCK_BOOTTIME, &now);
    record.usec = (uint64_t)now.tv_sec * 1000000 + (uint64_t)now.tv_nsec / 1000;
    record.kind = (uint8_t)kind;
    record.outcome = (uint8_t)outcome;
    if (write(ledger_fd, &record, sizeof(record)) != (ssize_t)sizeof(record))
        _exit(EX_IOERR);
}

static void on_term(int signo) {
    (void)signo;
    write_record(LEDGER_END, LEDGER_STOPPED);
    _exit(EX_TEMPFAIL);
}

/* SIGTERM is waited for, or kept out; never in between. */
static void mask_term(int how) {
    sigset_t set;

    (void)sigemptyset(&set);
    (void)sigaddset(&set, SIGTERM);
    (void)sigprocmask(how, &set, NULL);
}

static uint64_t mix(uint64_t x) {
    x += 0x9e3779b97f4a7c15;
    x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9;
    x = (x ^ x >> 27) * 0x94d049bb133111eb;
    return x ^ x >> 31;
}

/* Most are short, some take longer than min_idle and live by renewals. In microseconds. */
static uint64_t draw_time(uint64_t draw, uint64_t min_idle) {
    uint64_t kind = draw % 100, part = mix(draw) % 1000;

    if (kind < 55)
        return min_idle / 1000 + min_idle * part / 20000;
    if (kind < 80)
        return min_idle / 20 + min_idle * part / 2000;
    if (kind < 95)
        return min_idle / 2 + min_idle * part / 700;
    return min_idle * 2 + min_idle * part / 700;
}

/* How this attempt ends; `attempt` counts from 1. Most are ok at once. */
static enum ledger_outcome draw_outcome(uint64_t draw, uint64_t attempt, bool *hang) {
    uint64_t kind = draw % 100, failures = 1 + mix(draw) % 2;

    *hang = false;
    if (kind < 2)
        return LEDGER_REJECT;
    if (attempt > failures || kind >= 20)
        return LEDGER_OK;
    *hang = kind == 19;
    return kind < 12 ? LEDGER_RETRY : LEDGER_CRASH;
}

static void wait_for(uint64_t usec) {
    struct timespec left = {.tv_sec = (time_t)(usec / 1000000),
                            .tv_nsec = (long)(usec % 1000000) * 1000};

    while (nanosleep(&left, &left) < 0 && errno == EINTR)
        ;
}

static _Noreturn void end(enum ledger_outcome outcome) {
    mask_term(SIG_BLOCK);
    write_record(LEDGER_END, outcome);
    switch (outcome) {
    case LEDGER_OK:
        _exit(EX_OK);
    case LEDGER_REJECT:
        _exit(EX_DATAERR);
    case LEDGER_CRASH:
        (void)raise(SIGKILL);
        break;
    case LEDGER_NONE:
    case LEDGER_RETRY:
    case LEDGER_STOPPED:
        break;
    }
    _exit(EX_TEMPFAIL);
}

static uint64_t number(const char *text) {
    return text ? strtoull(text, NULL, 10) : 0;
}

static void open_ledger(const char *path, const char *daemon) {
    const char *id = getenv("XAUTOCLAIMD_ID");

    if (!id || sscanf(id, "%" SCNu64 "-%" SCNu64, &record.id_ms, &record.id_seq) != 2)
        exit(EX_USAGE);
    record.deliveries = number(getenv("XAUTOCLAIMD_DELIVERIES"));
    record.pid = (uint32_t)getpid();
    record.parent = (uint32_t)getppid();
    (void)snprintf(record.daemon, sizeof(record.daemon), "%s", daemon);
    ledger_fd = open(path, O_WRONLY | O_APPEND | O_CLOEXEC);
    if (ledger_fd < 0)
        exit(EX_NOINPUT);
}

int main(int argc, char **argv) {
    uint64_t draw, min_idle;
    enum ledger_outcome outcome;
    bool hang;

    (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
    mask_term(SIG_BLOCK);
    if (argc != 5)
        return EX_USAGE;
    open_ledger(argv[1], argv[2]);
    min_idle = number(argv[4]) * 1000;
    draw = mix(mix(record.id_ms ^ number(argv[3])) ^ record.id_seq);
    write_record(LEDGER_BEGIN, LEDGER_NONE);
    (void)signal(SIGTERM, on_term);
    mask_term(SIG_UNBLOCK);

    /* It was delivered once before it was stranded. */
    outcome = draw_outcome(draw, record.deliveries - 1, &hang);
    while (hang)
        (void)pause();
    wait_for(draw_time(mix(draw ^ record.deliveries), min_idle));
    end(outcome);
}
