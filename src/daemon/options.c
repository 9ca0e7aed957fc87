/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The command line, with getopt_long(3).
 */
#include "daemon/options.h"

#include "config/config.h"
#include <getopt.h>
#include <stdio.h>
#include <string.h>
#include <syslog.h>

static const char help[] =
    "Usage: xautoclaimd [OPTION]...\n"
    "Recovers messages stranded in Redis Streams consumer groups.\n"
    "\n"
    "  --config FILE      read FILE and FILE.d/*.conf\n"
    "                     (default: " CONFIG_DEFAULT_PATH ")\n"
    "  --check            read everything, print every error, exit 0 or 78\n"
    "  --print-config     print the effective configuration, without secrets\n"
    "  --once             one pass of each recovery, a summary line each, exit\n"
    "  --dry-run          list what would be claimed, change nothing\n"
    "  --recovery NAME    only this [recovery NAME]; may be given more than once\n"
    "  --log-level LEVEL  err, warning, notice, info or debug\n"
    "  --version          print the version\n"
    "  --help             print this\n"
    "\n"
    "Exit status: 0 all fine; 1 --once left entries failed, missing or\n"
    "exhausted; 64 usage; 69 a server could not be reached or a recovery could\n"
    "not run (--once, --dry-run); 71 the system refused something essential;\n"
    "78 configuration.\n"
    "\n"
    "See xautoclaimd(8) and xautoclaimd.conf(5).\n";

enum {
    OPTION_CONFIG = 256,
    OPTION_CHECK,
    OPTION_PRINT_CONFIG,
    OPTION_ONCE,
    OPTION_DRY_RUN,
    OPTION_RECOVERY,
    OPTION_LOG_LEVEL,
    OPTION_VERSION,
    OPTION_HELP,
};

static const struct option long_options[] = {
    {"config", required_argument, NULL, OPTION_CONFIG},
    {"check", no_argument, NULL, OPTION_CHECK},
    {"print-config", no_argument, NULL, OPTION_PRINT_CONFIG},
    {"once", no_argument, NULL, OPTION_ONCE},
    {"dry-run", no_argument, NULL, OPTION_DRY_RUN},
    {"recovery", required_argument, NULL, OPTION_RECOVERY},
    {"log-level", required_argument, NULL, OPTION_LOG_LEVEL},
    {"version", no_argument, NULL, OPTION_VERSION},
    {"help", no_argument, NULL, OPTION_HELP},
    {NULL, 0, NULL, 0},
};

static int usage_error(const char *what, const char *which) {
    (void)fprintf(stderr, "xautoclaimd: %s%s\nTry: xautoclaimd --help\n", what, which);
    return OPTIONS_E_USAGE;
}

static int set_mode(struct options *options, enum daemon_mode mode) {
    if (options->mode != DAEMON_RUN && options->mode != mode)
        return usage_error("--check, --print-config, --once and --dry-run exclude each other", "");
    options->mode = mode;
    return 0;
}

static int set_log_level(struct options *options, const char *name) {
    static const struct {
        const char *name;
        int level;
    } levels[] = {{"err", LOG_ERR},
                  {"warning", LOG_WARNING},
                  {"notice", LOG_NOTICE},
                  {"info", LOG_INFO},
                  {"debug", LOG_DEBUG}};

    for (size_t i = 0; i < sizeof(levels) / sizeof(levels[0]); i++)
        if (strcmp(levels[i].name, name) == 0) {
            options->log_level = levels[i].level;
            return 0;
        }
    return usage_error("--log-level takes err, warning, notice, info or debug", "");
}

static int one_option(int option, const char **names, struct options *options) {
    switch (option) {
    case OPTION_CONFIG:
        options->config = optarg;
        return 0;
    case OPTION_CHECK:
        return set_mode(options, DAEMON_CHECK);
    case OPTION_PRINT_CONFIG:
        return set_mode(options, DAEMON_PRINT_CONFIG);
    case OPTION_ONCE:
        return set_mode(options, DAEMON_ONCE);
    case OPTION_DRY_RUN:
        return set_mode(options, DAEMON_DRY_RUN);
    case OPTION_RECOVERY:
        names[options->n_recoveries++] = optarg;
        return 0;
    case OPTION_LOG_LEVEL:
        return set_log_level(options, optarg);
    case OPTION_VERSION:
        (void)puts("xautoclaimd " PROJECT_VERSION);
        return OPTIONS_E_DONE;
    case OPTION_HELP:
        (void)fputs(help, stdout);
        return OPTIONS_E_DONE;
    default: /* getopt has said why */
        return usage_error("unknown option or missing argument", "");
    }
}

int options_parse(int argc, char **argv, const char **names, struct options *ret) {
    struct options options = {.config = CONFIG_DEFAULT_PATH, .recoveries = names, .log_level = -1};
    int option, error;

    optind = 0;
    while ((option = getopt_long(argc, argv, "", long_options, NULL)) != -1) {
        error = one_option(option, names, &options);
        if (error != 0)
            return error;
    }
    if (optind < argc)
        return usage_error("unexpected argument: ", argv[optind]);
    *ret = options;
    return 0;
}
