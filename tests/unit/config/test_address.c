/* SPDX-License-Identifier: BSD-3-Clause */
#include "unit.h"

#include "config/address.h"
#include <stdio.h>
#include <string.h>

static void accepts(void **state, const char *text, enum local_address_kind kind, const char *path,
                    uint16_t port) {
    struct config_memory *memory = *state;
    const struct local_address *address = NULL;
    char why[WHY_MAX];

    assert_int_equal(address_parse(text, memory, &address, why), 0);
    assert_int_equal(address->kind, kind);
    assert_string_equal(address->path ? address->path : "", path);
    assert_int_equal(address->port, port);
    assert_string_equal(address->text, text);
}

static void refuses(void **state, const char *text, const char *want) {
    struct config_memory *memory = *state;
    const struct local_address *address = NULL;
    char why[WHY_MAX];

    assert_int_equal(address_parse(text, memory, &address, why), VALUE_E_BAD);
    assert_string_equal(why, want);
    assert_null(address);
}

static void test_accepted(void **state) {
    accepts(state, "unix:/run/s", LOCAL_UNIX, "/run/s", 0);
    accepts(state, "unix:/a b:1", LOCAL_UNIX, "/a b:1", 0);
    accepts(state, "127.0.0.1:1", LOCAL_IPV4, "", 1);
    accepts(state, "127.0.0.1:65535", LOCAL_IPV4, "", 65535);
    accepts(state, "[::1]:8080", LOCAL_IPV6, "", 8080);
}

static void test_what_is_not_of_this_machine(void **state) {
    static const char *const others[] = {
        "-",
        "10.0.0.1:80",
        "0.0.0.0:80",
        "127.0.0.2:80",
        "localhost:80",
        "[::]:80",
        "::1:80",
        "127.0.0.1",
        "[::1]",
        "example.com:80",
        "unix:",
        "[::1",
        "unix//run/s",
        "/run/s",
        "tcp://127.0.0.1:80",
        "127.0.0.1.",
        " unix:/s",
        "[0:0::1]:8080",
        "[::ffff:7f00:1]:1",
    };

    for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++) {
        char want[WHY_MAX];

        if (strcmp(others[i], "unix:") == 0)
            continue;
        (void)snprintf(want, sizeof(want),
                       "\"%s\" is not an address of this machine; accepted: unix:/path, "
                       "127.0.0.1:port or [::1]:port",
                       others[i]);
        refuses(state, others[i], want);
    }
}

static void test_ports(void **state) {
    static const char *const ports[] = {"",    "0",  "00", "080",  "65536",
                                        "80 ", "-1", "+1", "http", "99999999999999999999"};

    for (size_t i = 0; i < sizeof(ports) / sizeof(ports[0]); i++) {
        char text[64];

        (void)snprintf(text, sizeof(text), "127.0.0.1:%s", ports[i]);
        refuses(state, text, "not a port; accepted: 1 to 65535");
        (void)snprintf(text, sizeof(text), "[::1]:%s", ports[i]);
        refuses(state, text, "not a port; accepted: 1 to 65535");
    }
}

static void test_paths(void **state) {
    char text[128] = "unix:/";

    refuses(state, "unix:", "the path of a socket must be absolute; accepted: unix:/path");
    refuses(state, "unix:run/s", "the path of a socket must be absolute; accepted: unix:/path");
    memset(text + 6, 'x', 106);
    accepts(state, text, LOCAL_UNIX, text + 5, 0);
    text[112] = 'x';
    refuses(state, text, "the path of the socket is too long; accepted: at most 107 bytes");
}

static int begin(void **state) {
    *state = config_memory_new();
    return *state ? 0 : -1;
}

static int end(void **state) {
    config_memory_free(*state);
    return 0;
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_accepted, begin, end),
        cmocka_unit_test_setup_teardown(test_what_is_not_of_this_machine, begin, end),
        cmocka_unit_test_setup_teardown(test_ports, begin, end),
        cmocka_unit_test_setup_teardown(test_paths, begin, end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
