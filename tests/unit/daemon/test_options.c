/* SPDX-License-Identifier: BSD-3-Clause */
#include "unit.h"

#include "config/config.h"
#include "daemon/options.h"
#include <stdio.h>
#include <syslog.h>

static const char *names[16];

static int parse(struct options *ret, int argc, const char *const *argv) {
    return options_parse(argc, (char **)(uintptr_t)argv, names, ret);
}

#define PARSE(ret, ...)                                                                            \
    ({                                                                                             \
        const char *const _argv[] = {"xautoclaimd", __VA_ARGS__, NULL};                            \
        parse(ret, (int)(sizeof(_argv) / sizeof(_argv[0])) - 1, _argv);                            \
    })

static void test_defaults(void **state) {
    const char *const argv[] = {"xautoclaimd", NULL};
    struct options options;

    assert_int_equal(parse(&options, 1, argv), 0);
    assert_int_equal(options.mode, DAEMON_RUN);
    assert_string_equal(options.config, CONFIG_DEFAULT_PATH);
    assert_int_equal(options.n_recoveries, 0);
    assert_int_equal(options.log_level, -1);
}

static void test_all_of_them(void **state) {
    struct options options;

    assert_int_equal(PARSE(&options, "--config", "/x", "--once", "--recovery", "a", "--recovery=b",
                           "--log-level", "debug"),
                     0);
    assert_string_equal(options.config, "/x");
    assert_int_equal(options.mode, DAEMON_ONCE);
    assert_int_equal(options.n_recoveries, 2);
    assert_string_equal(options.recoveries[1], "b");
    assert_int_equal(options.log_level, LOG_DEBUG);
    assert_int_equal(PARSE(&options, "--dry-run"), 0);
    assert_int_equal(options.mode, DAEMON_DRY_RUN);
    assert_int_equal(PARSE(&options, "--check"), 0);
    assert_int_equal(options.mode, DAEMON_CHECK);
    assert_int_equal(PARSE(&options, "--print-config"), 0);
    assert_int_equal(options.mode, DAEMON_PRINT_CONFIG);
}

static void test_nonsense(void **state) {
    struct options options;

    assert_int_equal(PARSE(&options, "--check", "--once"), OPTIONS_E_USAGE);
    assert_int_equal(PARSE(&options, "--log-level", "loud"), OPTIONS_E_USAGE);
    assert_int_equal(PARSE(&options, "--config"), OPTIONS_E_USAGE);
    assert_int_equal(PARSE(&options, "--nonsense"), OPTIONS_E_USAGE);
    assert_int_equal(PARSE(&options, "argument"), OPTIONS_E_USAGE);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_defaults),
        cmocka_unit_test(test_all_of_them),
        cmocka_unit_test(test_nonsense),
    };
    if (!freopen("/dev/null", "w", stderr))
        return 2;
    return cmocka_run_group_tests(tests, NULL, NULL);
}
