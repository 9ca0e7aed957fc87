/* SPDX-License-Identifier: BSD-3-Clause */
#include "unit.h"

#include "base/text.h"
#include "report/notify.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

/* The service manager's end. */
static struct {
    char dir[32];
    struct sockaddr_un address;
    int fd;
} manager;

static int begin(void **state) {
    (void)snprintf(manager.dir, sizeof(manager.dir), "/tmp/notify.XXXXXX");
    if (!mkdtemp(manager.dir))
        return -1;
    manager.address.sun_family = AF_UNIX;
    (void)snprintf(manager.address.sun_path, sizeof(manager.address.sun_path), "%s/s", manager.dir);
    manager.fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (bind(manager.fd, (struct sockaddr *)&manager.address, sizeof(manager.address)) < 0)
        return -1;
    return setenv("NOTIFY_SOCKET", manager.address.sun_path, 1);
}

static int end(void **state) {
    (void)unsetenv("NOTIFY_SOCKET");
    (void)close(manager.fd);
    (void)unlink(manager.address.sun_path);
    return rmdir(manager.dir);
}

/* The one datagram that is there. */
static const char *received(void) {
    static char buf[8192];
    ssize_t n = recv(manager.fd, buf, sizeof(buf) - 1, 0);

    assert_true(n >= 0);
    buf[n] = '\0';
    char more;
    assert_int_equal(recv(manager.fd, &more, 1, 0), -1);
    return buf;
}

static void test_verbs(void **state) {
    notify_ready("1 recovery");
    assert_string_equal(received(), "READY=1\nSTATUS=1 recovery");
    notify_status("fine");
    assert_string_equal(received(), "STATUS=fine");
    notify_stopping("draining");
    assert_string_equal(received(), "STOPPING=1\nSTATUS=draining");
    notify_extend_timeout(2 * USEC_PER_SEC);
    assert_string_equal(received(), "EXTEND_TIMEOUT_USEC=2000000");
    notify_watchdog();
    assert_string_equal(received(), "WATCHDOG=1");
}

static void test_reloading_says_when(void **state) {
    clock_test_set(123456789, 1);
    notify_reloading("reloading");
    clock_test_release();
    assert_string_equal(received(), "RELOADING=1\nMONOTONIC_USEC=123456789\nSTATUS=reloading");
}

static const char *status_of(const char *sentence) {
    notify_status(sentence);
    const char *datagram = received();
    assert_memory_equal(datagram, "STATUS=", 7);
    return datagram + 7;
}

static void test_a_status_is_cut_between_characters(void **state) {
    char sentence[9001];

    memset(sentence, 'a', 200);
    sentence[200] = '\0';
    assert_string_equal(status_of(sentence), sentence);

    for (size_t i = 0; i < 9000; i += 2)
        memcpy(sentence + i, "\xc3\xbc", 2);
    sentence[9000] = '\0';
    const char *status = status_of(sentence);
    assert_in_range(strlen(status), NOTIFY_STATUS_MAX - 2, NOTIFY_STATUS_MAX);
    assert_true(text_is_utf8((struct blob){status, strlen(status)}));
    assert_string_equal(status + strlen(status) - 3, "...");
}

static void test_a_status_is_one_line(void **state) {
    assert_string_equal(status_of("a\nREADY=1\r\nb\x1b\xff"), "a READY=1  b\\x1b\\xff");
}

static void test_ready_is_never_behind_a_long_status(void **state) {
    char sentence[9001];

    memset(sentence, '\n', 9000);
    sentence[9000] = '\0';
    notify_ready(sentence);
    const char *datagram = received();
    assert_memory_equal(datagram, "READY=1\nSTATUS=", 15);
    assert_in_range(strlen(datagram), 15, 15 + NOTIFY_STATUS_MAX);
}

static void test_without_a_manager_nothing_happens(void **state) {
    (void)unsetenv("NOTIFY_SOCKET");
    notify_ready("x");
    notify_watchdog();
    assert_int_equal(recv(manager.fd, &(char){0}, 1, 0), -1);
}

static void test_watchdog_is_ours_or_not(void **state) {
    char pid[32];

    (void)unsetenv("WATCHDOG_USEC");
    assert_int_equal(notify_watchdog_interval(), 0);
    (void)setenv("WATCHDOG_USEC", "60000000", 1);
    (void)snprintf(pid, sizeof(pid), "%d", getpid());
    (void)setenv("WATCHDOG_PID", pid, 1);
    assert_int_equal(notify_watchdog_interval(), 60 * USEC_PER_SEC);
    (void)setenv("WATCHDOG_PID", "1", 1);
    assert_int_equal(notify_watchdog_interval(), 0);
    (void)unsetenv("WATCHDOG_PID");
    (void)setenv("WATCHDOG_USEC", "nonsense", 1);
    assert_int_equal(notify_watchdog_interval(), 0);
    (void)unsetenv("WATCHDOG_USEC");
}

#define TEST(function) cmocka_unit_test_setup_teardown(function, begin, end)

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(test_verbs),
        TEST(test_reloading_says_when),
        TEST(test_a_status_is_cut_between_characters),
        TEST(test_a_status_is_one_line),
        TEST(test_ready_is_never_behind_a_long_status),
        TEST(test_without_a_manager_nothing_happens),
        TEST(test_watchdog_is_ours_or_not),
    };
    return cmocka_run_group_tests_name("report/notify", tests, NULL, NULL);
}
