/* SPDX-License-Identifier: BSD-3-Clause */
#include "unit.h"

#include "handler/environment.h"
#include <string.h>

static const struct recovery_settings settings = {
    .name = "orders",
    .stream = "orders:in",
    .group = "workers",
    .consumer = "xautoclaimd-host",
};

static void expect(char *const *actual, const char *const *expected) {
    for (; *expected; actual++, expected++) {
        assert_non_null(*actual);
        assert_string_equal(*actual, *expected);
    }
    assert_null(*actual);
}

static char *const inherited[] = {
    (char *)"PATH=/usr/bin",
    (char *)"NOTIFY_SOCKET=/run/systemd/notify",
    (char *)"NOTIFY_SOCKET_OTHER=kept",
    (char *)"WATCHDOG_PID=1",
    (char *)"WATCHDOG_USEC=60000000",
    (char *)"WATCHDOGS=kept",
    (char *)"LISTEN_PID=1",
    (char *)"LISTEN_FDS=1",
    (char *)"LISTEN_FDNAMES=x",
    (char *)"JOURNAL_STREAM=9:193900",
    (char *)"CREDENTIALS_DIRECTORY=/run/credentials/x",
    (char *)"XAUTOCLAIMD_ID=forged",
    (char *)"XAUTOCLAIMD_DELIVERIES=forged",
    (char *)"XAUTOCLAIMD_CUSTOM=kept",
    (char *)"EMPTY=",
    NULL,
};

static void test_exactly_what_is_promised(void **state) {
    static const char *const first[] = {
        "PATH=/usr/bin",
        "NOTIFY_SOCKET_OTHER=kept",
        "WATCHDOGS=kept",
        "XAUTOCLAIMD_CUSTOM=kept",
        "EMPTY=",
        "XAUTOCLAIMD_RECOVERY=orders",
        "XAUTOCLAIMD_STREAM=orders:in",
        "XAUTOCLAIMD_GROUP=workers",
        "XAUTOCLAIMD_CONSUMER=xautoclaimd-host",
        "XAUTOCLAIMD_ID=18446744073709551615-18446744073709551615",
        "XAUTOCLAIMD_DELIVERIES=18446744073709551615",
        NULL,
    };
    struct environment *environment = NULL;

    assert_int_equal(environment_new(&settings, inherited, &environment), 0);
    struct entry_id longest = {UINT64_MAX, UINT64_MAX};
    expect(environment_for(environment, longest, UINT64_MAX), first);
    assert_null(environment_free(environment));
    assert_null(environment_free(NULL));
}

static void test_each_start_has_its_own_entry(void **state) {
    static char *const nothing[] = {NULL};
    static const char *const second[] = {
        "XAUTOCLAIMD_RECOVERY=orders",
        "XAUTOCLAIMD_STREAM=orders:in",
        "XAUTOCLAIMD_GROUP=workers",
        "XAUTOCLAIMD_CONSUMER=xautoclaimd-host",
        "XAUTOCLAIMD_ID=1-2",
        "XAUTOCLAIMD_DELIVERIES=3",
        NULL,
    };
    struct environment *environment = NULL;

    assert_int_equal(environment_new(&settings, nothing, &environment), 0);
    (void)environment_for(environment, (struct entry_id){1700000000000, 55}, 1000);
    expect(environment_for(environment, (struct entry_id){1, 2}, 3), second);
    environment_free(environment);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_exactly_what_is_promised),
        cmocka_unit_test(test_each_start_has_its_own_entry),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
