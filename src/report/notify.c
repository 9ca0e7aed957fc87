/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * All that is said to the service manager. Each message is one small datagram: what is too long
 * is dropped by the manager as a whole, READY=1 and all, so the sentence is cut here.
 */
#include "report/notify.h"

#include "wording.h"
#include <inttypes.h>
#include <stdio.h>
#include <systemd/sd-daemon.h>

struct status {
    char text[NOTIFY_STATUS_MAX + 1];
};

/* One line of valid UTF-8: a newline would begin another assignment. */
static struct status status_line(const char *sentence) {
    char line[4 * NOTIFY_STATUS_MAX];
    struct status status;

    (void)snprintf(line, sizeof(line), "%s", sentence);
    for (char *p = line; *p != '\0'; p++)
        if (*p == '\n' || *p == '\r')
            *p = ' ';
    (void)wording_copy(line, status.text, sizeof(status.text));
    return status;
}

void notify_ready(const char *status) {
    (void)sd_notifyf(0, "READY=1\nSTATUS=%s", status_line(status).text);
}

void notify_status(const char *status) {
    (void)sd_notifyf(0, "STATUS=%s", status_line(status).text);
}

void notify_reloading(const char *status) {
    (void)sd_notifyf(0, "RELOADING=1\nMONOTONIC_USEC=%" PRIu64 "\nSTATUS=%s", clock_monotonic(),
                     status_line(status).text);
}

void notify_stopping(const char *status) {
    (void)sd_notifyf(0, "STOPPING=1\nSTATUS=%s", status_line(status).text);
}

void notify_extend_timeout(usec_t from_now) {
    (void)sd_notifyf(0, "EXTEND_TIMEOUT_USEC=%" PRIu64, from_now);
}

void notify_watchdog(void) {
    (void)sd_notify(0, "WATCHDOG=1");
}

usec_t notify_watchdog_interval(void) {
    uint64_t usec;

    return sd_watchdog_enabled(0, &usec) > 0 ? usec : 0;
}
