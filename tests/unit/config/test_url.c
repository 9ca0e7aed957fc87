/* SPDX-License-Identifier: BSD-3-Clause */
#include "unit.h"

#include "config/url.h"
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

static int begin(void **state) {
    *state = config_memory_new();
    return *state ? 0 : -1;
}

static int end(void **state) {
    config_memory_free(*state);
    return 0;
}

static struct server_list list;

static void accepts(void **state, const char *text) {
    char why[WHY_MAX] = "";
    int r = urls_parse(text, *state, &list, why);

    assert_string_equal(why, "");
    assert_int_equal(r, 0);
}

static void one(void **state, const char *text, enum server_address_kind kind, const char *host,
                uint16_t port, uint32_t database, const char *shown_as) {
    accepts(state, text);
    assert_int_equal(list.n, 1);
    assert_int_equal(list.addresses[0].kind, kind);
    assert_string_equal(list.addresses[0].host, host);
    assert_int_equal(list.addresses[0].port, port);
    assert_int_equal(list.addresses[0].database, database);
    assert_string_equal(list.addresses[0].text, shown_as);
}

static void test_urls_are_read(void **state) {
    one(state, "redis://127.0.0.1:6379/0", SERVER_TCP, "127.0.0.1", 6379, 0, "127.0.0.1:6379");
    assert_null(list.user);
    one(state, "redis://10.0.0.1", SERVER_TCP, "10.0.0.1", 6379, 0, "10.0.0.1:6379");
    one(state, "redis://10.0.0.1/", SERVER_TCP, "10.0.0.1", 6379, 0, "10.0.0.1:6379");
    one(state, "redis://[::1]", SERVER_TCP, "::1", 6379, 0, "[::1]:6379");
    one(state, "redis://[0:0:0:0:0:0:0:1]:7000/15", SERVER_TCP, "::1", 7000, 15, "[::1]:7000");
    one(state, "redis://joe@127.0.0.1:65535/2147483647", SERVER_TCP, "127.0.0.1", 65535, INT32_MAX,
        "127.0.0.1:65535");
    assert_string_equal(list.user, "joe");
    one(state, "unix:///run/redis.sock", SERVER_UNIX, "/run/redis.sock", 0, 0,
        "unix:///run/redis.sock");
    one(state, "unix:///run/a@b:c.sock?db=3", SERVER_UNIX, "/run/a@b:c.sock", 0, 3,
        "unix:///run/a@b:c.sock");
}

static void test_several_urls(void **state) {
    accepts(state, "  redis://a-b@10.0.0.1\tredis://a-b@10.0.0.2:1 ");
    assert_int_equal(list.n, 2);
    assert_string_equal(list.addresses[0].text, "10.0.0.1:6379");
    assert_string_equal(list.addresses[1].text, "10.0.0.2:1");
    assert_string_equal(list.user, "a-b");
}

/* No part of a url may come back; every url here holds this somewhere. */
#define TABOO "hunter2"

static void refuses(void **state, const char *text, const char *want) {
    char why[WHY_MAX] = "";

    list.n = 77;
    assert_int_equal(urls_parse(text, *state, &list, why), VALUE_E_BAD);
    assert_string_equal(why, want);
    assert_null(strstr(why, TABOO));
    assert_int_equal(list.n, 77);
}

#define FORMS "; accepted: redis://[user@]host[:port][/db] or unix:///path[?db=N]"
#define PASSWORD "a password in a url is refused; accepted: password_file"

static void test_passwords_are_refused_and_never_repeated(void **state) {
    refuses(state, "redis://:hunter2@127.0.0.1", PASSWORD);
    refuses(state, "redis://user:hunter2@127.0.0.1:6379/0", PASSWORD);
    refuses(state, "redis://user:@127.0.0.1", PASSWORD);
    refuses(state, "redis://hunter2:p@ss:w/o?r#d@127.0.0.1", PASSWORD);
    refuses(state, "redis://u:hunter2@no-such-host:99999/x", PASSWORD);
    refuses(state, "unix://u:hunter2@/run/redis.sock", PASSWORD);
    refuses(state, "redis://127.0.0.1 redis://u:hunter2@127.0.0.2", PASSWORD);
    refuses(state, "redis://127.0.0.1/0?password=hunter2",
            "a query, a fragment or percent-encoding" FORMS);
    refuses(state, "rediss://u:hunter2@h", "TLS (rediss://) is not built yet" FORMS);
    refuses(state, "REDIS://u:hunter2@h", "no url of a known kind" FORMS);
    refuses(state, "hunter2", "no url of a known kind" FORMS);
}

static void test_refusals(void **state) {
    static const char characters[] =
        "a host name with other characters than letters, digits, - and ." FORMS;
    static const char labels[] = "a part of the host name is empty, too long, or begins or ends "
                                 "with -; accepted: 1 to 63 bytes between two dots";
    static const char ipv6[] = "no IPv6 address between the brackets; accepted: redis://[::1]:6379";
    static const char brackets[] = "an IPv6 address without brackets, or two ports; accepted: "
                                   "redis://[::1]:6379";
    static const char user[] = "the user holds one of / ? # % @, which are not accepted in a url; "
                               "accepted: the key username";
    static const char database[] = "not the number of a database; accepted: 0 to 2147483647";

    refuses(state, "", "no url" FORMS);
    refuses(state, "rediss://127.0.0.1", "TLS (rediss://) is not built yet" FORMS);
    refuses(state, "redis://redis_1.example.org", characters);
    refuses(state, "redis://h\xc3\xb6st", characters);
    refuses(state, "redis://a,b", characters);
    refuses(state, "redis://a;b:6379", characters);
    refuses(state, "redis://-a.example", labels);
    refuses(state, "redis://a-.example", labels);
    refuses(state, "redis://a.-b", labels);
    refuses(state, "redis://a.b-", labels);
    refuses(state, "redis://.a", labels);
    refuses(state, "redis://a..b", labels);
    refuses(state, "redis://a..", labels);
    refuses(state, "redis://.", labels);
    refuses(state, "redis://-", labels);
    refuses(state, "redis://", "no host" FORMS);
    refuses(state, "redis://:6379", "no host" FORMS);
    refuses(state, "redis:///0", "no host" FORMS);
    refuses(state, "redis://127.0.0.256", "not a numeric address" FORMS);
    refuses(state, "redis://127.1", "not a numeric address" FORMS);
    refuses(state, "redis://1", "not a numeric address" FORMS);
    refuses(state, "redis://127.0.0.1.1", "not a numeric address" FORMS);
    refuses(state, "redis://0x7f.1", "not a numeric address" FORMS);
    refuses(state, "redis://0x7f000001", "not a numeric address" FORMS);
    refuses(state, "redis://db.example.1", "not a numeric address" FORMS);
    refuses(state, "redis://[::1", "a [ without its ]; accepted: redis://[::1]:6379");
    refuses(state, "redis://[::1]x", "a [ without its ]; accepted: redis://[::1]:6379");
    refuses(state, "redis://[]:1", ipv6);
    refuses(state, "redis://[127.0.0.1]", ipv6);
    refuses(state, "redis://[fe80::1eth0]", ipv6);
    refuses(state,
            "redis://[1111:1111:1111:1111:1111:1111:1111:1111:1111:1111:1111:1111:1111:1111]",
            ipv6);
    refuses(state, "redis://[fe80::1%eth0]", "a query, a fragment or percent-encoding" FORMS);
    refuses(state, "redis://::1", brackets);
    refuses(state, "redis://1.2.3.4:1:2", brackets);
    refuses(state, "redis://1.2.3.4:", "not a port; accepted: 1 to 65535");
    refuses(state, "redis://1.2.3.4:0", "not a port; accepted: 1 to 65535");
    refuses(state, "redis://1.2.3.4:65536", "not a port; accepted: 1 to 65535");
    refuses(state, "redis://1.2.3.4:6379x", "not a port; accepted: 1 to 65535");
    refuses(state, "redis://1.2.3.4/x", database);
    refuses(state, "redis://1.2.3.4/1/2", database);
    refuses(state, "redis://1.2.3.4/2147483648", database);
    refuses(state, "unix:///s?db=", database);
    refuses(state, "redis://@1.2.3.4", "an empty user before the @" FORMS);
    refuses(state, "redis://a%20b@1.2.3.4", user);
    refuses(state, "redis://a@b@1.2.3.4", user);
    refuses(state, "unix://run/redis.sock",
            "the path of a socket must be absolute; accepted: unix:///path[?db=N]");
    refuses(state, "unix://joe@/run/redis.sock",
            "a user in a unix:// url; accepted: the key username");
    refuses(state, "unix:///s?database=1",
            "a query other than ?db=N; accepted: unix:///path[?db=N]");
    refuses(state, "unix:///a%20b", "# and % are not accepted in the path of a socket");
    refuses(state, "redis://joe@1.2.3.4 redis://1.2.3.5",
            "only some of the urls name a user; accepted: the same user in all, or the key "
            "username");
    refuses(state, "redis://1.2.3.4 redis://joe@1.2.3.5",
            "only some of the urls name a user; accepted: the same user in all, or the key "
            "username");
    refuses(state, "redis://joe@1.2.3.4 redis://jim@1.2.3.5",
            "the urls name different users; accepted: the same user in all, or the key username");
}

static void test_limits(void **state) {
    char text[1024] = "unix:///";

    memset(text + 8, 'x', 106);
    accepts(state, text);
    text[114] = 'x';
    refuses(state, text, "the path of the socket is too long; accepted: at most 107 bytes");
    text[0] = '\0';
    for (int i = 0; i < URLS_MAX; i++)
        strcat(text, "redis://1.2.3.4 ");
    accepts(state, text);
    assert_int_equal(list.n, URLS_MAX);
    strcat(text, "redis://1.2.3.4");
    refuses(state, text, "too many urls; accepted: at most 16");
}

static void test_names(void **state) {
    one(state, "redis://localhost:6379", SERVER_TCP, "localhost", 6379, 0, "localhost:6379");
    assert_true(list.addresses[0].is_name);
    one(state, "redis://joe@Redis-1.Example.ORG:7/3", SERVER_TCP, "Redis-1.Example.ORG", 7, 3,
        "Redis-1.Example.ORG:7");
    assert_true(list.addresses[0].is_name);
    assert_string_equal(list.user, "joe");
    one(state, "redis://a", SERVER_TCP, "a", 6379, 0, "a:6379");
    one(state, "redis://3com.com", SERVER_TCP, "3com.com", 6379, 0, "3com.com:6379");
    one(state, "redis://1.2.3.4.a", SERVER_TCP, "1.2.3.4.a", 6379, 0, "1.2.3.4.a:6379");
    one(state, "redis://xn--hst-sna.example.", SERVER_TCP, "xn--hst-sna.example.", 6379, 0,
        "xn--hst-sna.example.:6379");
    one(state, "redis://0xfg", SERVER_TCP, "0xfg", 6379, 0, "0xfg:6379");
    accepts(state, "redis://127.0.0.1 redis://[::1] unix:///s");
    for (size_t i = 0; i < list.n; i++)
        assert_false(list.addresses[i].is_name);
}

static void test_long_names(void **state) {
    char text[512] = "redis://", *at = text + 8, expected[512];

    /* 63 + 1 + 63 + 1 + 63 + 1 + 61 = 253 */
    for (int i = 0; i < 4; i++) {
        size_t n = i < 3 ? 63 : 61;
        memset(at, 'a', n);
        at += n;
        if (i < 3)
            *at++ = '.';
    }
    accepts(state, text);
    assert_int_equal(strlen(list.addresses[0].host), HOST_NAME_MAX_BYTES);
    (void)snprintf(expected, sizeof(expected), "%s:6379", text + 8);
    assert_string_equal(list.addresses[0].text, expected);
    *at = 'a';
    refuses(state, text, "the host name is too long; accepted: at most 253 bytes");
    (void)snprintf(text, sizeof(text), "redis://%063d.a", 0);
    accepts(state, text);
    (void)snprintf(text, sizeof(text), "redis://%064d.a", 0);
    refuses(state, text,
            "a part of the host name is empty, too long, or begins or ends with -; accepted: 1 to "
            "63 bytes between two dots");
}

static void test_which_servers_are_local(void **state) {
    static const struct {
        const char *url;
        bool local;
    } urls[] = {
        {"unix:///s", true},
        {"redis://127.0.0.1", true},
        {"redis://127.9.9.9", true},
        {"redis://[::1]", true},
        {"redis://[::ffff:127.0.0.1]", true},
        {"redis://[::ffff:10.0.0.1]", false},
        {"redis://128.0.0.1", false},
        {"redis://localhost", true},
        {"redis://LOCALHOST:7/1", true},
        {"redis://localhost.example", false},
        {"redis://db", false},
        {"redis://[2001:db8::1]", false},
    };
    for (size_t i = 0; i < sizeof(urls) / sizeof(urls[0]); i++) {
        accepts(state, urls[i].url);
        assert_int_equal(server_is_local(&list.addresses[0]), urls[i].local);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_urls_are_read, begin, end),
        cmocka_unit_test_setup_teardown(test_several_urls, begin, end),
        cmocka_unit_test_setup_teardown(test_passwords_are_refused_and_never_repeated, begin, end),
        cmocka_unit_test_setup_teardown(test_refusals, begin, end),
        cmocka_unit_test_setup_teardown(test_limits, begin, end),
        cmocka_unit_test_setup_teardown(test_names, begin, end),
        cmocka_unit_test_setup_teardown(test_long_names, begin, end),
        cmocka_unit_test_setup_teardown(test_which_servers_are_local, begin, end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
