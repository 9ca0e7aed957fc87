/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * xautoclaimd: options -> configuration -> daemon -> exit status.
 */
#include "base/cleanup.h"
#include "config/config.h"
#include "daemon/daemon.h"
#include "daemon/options.h"
#include "report/log.h"
#include "report/report.h"
#include <stdio.h>
#include <string.h>

/* Before the daemon runs, whoever typed the command reads the complaints. */
static void complain_to_terminal(void *data, const char *line) {
    (void)fprintf(stderr, "%s\n", line);
}

static void complain_to_log(void *data, const char *line) {
    if (strncmp(line, "warning: ", 9) == 0)
        report_config_warning(line + 9);
    else
        report_config_error(line);
}

static bool names_exist(const struct options *options, const struct config *config) {
    for (size_t i = 0; i < options->n_recoveries; i++) {
        bool found = false;

        for (size_t j = 0; j < config->n_recoveries && !found; j++)
            found = strcmp(options->recoveries[i], config->recoveries[j].name) == 0;
        if (!found) {
            (void)fprintf(stderr, "xautoclaimd: --recovery %s: there is no [recovery %s]\n",
                          options->recoveries[i], options->recoveries[i]);
            return false;
        }
    }
    return true;
}

/* The configuration becomes the daemon's where one runs. */
static enum daemon_exit act(const struct options *options, const struct config_source *source,
                            struct config **config) {
    enum daemon_exit status = EXIT_STATUS_OK;

    if (!names_exist(options, *config))
        return EXIT_STATUS_USAGE;
    switch (options->mode) {
    case DAEMON_CHECK:
        return EXIT_STATUS_OK;
    case DAEMON_PRINT_CONFIG:
        return config_print(*config, stdout) < 0 ? EXIT_STATUS_BROKEN : EXIT_STATUS_OK;
    case DAEMON_RUN:
    case DAEMON_ONCE:
    case DAEMON_DRY_RUN:
        break;
    }
    log_set_level(options->log_level >= 0 ? options->log_level : (*config)->daemon.log_level);
    return daemon_run(options, source, TAKE(*config), &status) < 0 ? EXIT_STATUS_BROKEN : status;
}

static enum daemon_exit with_config(const struct options *options) {
    const struct config_source source = {
        .path = options->config,
        .instance = getenv("XAUTOCLAIMD_INSTANCE"), /* xautoclaimd@.service: %i */
        .credentials_directory = getenv("CREDENTIALS_DIRECTORY"),
        .runtime_directory = getenv("RUNTIME_DIRECTORY"),
        .check_only = options->mode == DAEMON_CHECK || options->mode == DAEMON_PRINT_CONFIG,
    };
    config_complain complain = options->mode == DAEMON_RUN ? complain_to_log : complain_to_terminal;
    CLEANUP(config_freep) struct config *config = NULL;
    int error = config_load(&source, complain, NULL, &config);

    if (error < 0)
        return EXIT_STATUS_BROKEN;
    if (error == CONFIG_E_INVALID)
        return EXIT_STATUS_CONFIG;
    return act(options, &source, &config);
}

int main(int argc, char **argv) {
    CLEANUP_FREE const char **names = calloc((size_t)argc + 1, sizeof(*names));
    struct options options;
    enum daemon_exit status;
    int error;

    if (!names)
        return EXIT_STATUS_BROKEN;
    error = options_parse(argc, argv, names, &options);
    if (error != 0)
        return error == OPTIONS_E_DONE ? EXIT_STATUS_OK : EXIT_STATUS_USAGE;
    log_open();
    status = with_config(&options);
    log_close();
    return (int)status;
}
