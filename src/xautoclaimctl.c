/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * xautoclaimctl: asks the running daemon over its control socket.
 */
#include "base/cleanup.h"
#include "base/text.h"
#include "control/client.h"
#include "control/protocol.h"
#include "control/status.h"
#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum ctl_exit {
    CTL_OK = 0,
    CTL_REFUSED = 1,      /* the daemon said no */
    CTL_USAGE = 64,       /* EX_USAGE */
    CTL_UNAVAILABLE = 69, /* EX_UNAVAILABLE */
    CTL_BROKEN = 71,      /* EX_OSERR */
};

#define ANSWER_SECONDS 15
#define WATCH_SECONDS 1
#define PATH_MAX_BYTES 256

static const char help[] =
    "Usage: xautoclaimctl [OPTION]... COMMAND\n"
    "Asks the running xautoclaimd.\n"
    "\n"
    "  status           what each recovery and each server is doing\n"
    "  reload           read the configuration again; fails with its errors\n"
    "  run NAME         let [recovery NAME] scan now\n"
    "  pause NAME       claim nothing new until it is resumed, or the daemon ends\n"
    "  resume NAME      go on, with a scan at once\n"
    "\n"
    "  -i INSTANCE      ask xautoclaimd@INSTANCE\n"
    "  --socket PATH    the control socket\n"
    "                   (default: /run/xautoclaimd/control)\n"
    "  --json           status as JSON\n"
    "  --watch          status again each second, until interrupted\n"
    "  --version        print the version\n"
    "  --help           print this\n"
    "\n"
    "Exit status: 0 all fine; 1 the daemon says no; 64 usage; 69 the daemon\n"
    "cannot be reached; 71 the system refused something essential.\n"
    "\n"
    "See xautoclaimctl(1).\n";

struct ctl {
    char path[PATH_MAX_BYTES];
    const char *instance;
    const char *socket;
    bool json;
    bool watch;
    enum control_verb verb;
    const char *name;
};

/* --- asking ---------------------------------------------------------------------------------- */

static enum ctl_exit ask(const struct ctl *ctl, const char *request, char **ret_body) {
    char why[CLIENT_WHY_MAX];
    int r = client_ask(ctl->path, request, ANSWER_SECONDS, ret_body, why);

    if (r == 0)
        return CTL_OK;
    if (r == CLIENT_E_REFUSED)
        return CTL_REFUSED;
    (void)fprintf(stderr, "xautoclaimctl: %s\n", r < 0 ? "out of memory" : why);
    return r < 0 ? CTL_BROKEN : CTL_UNAVAILABLE;
}

/* A command that is answered with lines of text. */
static enum ctl_exit command(const struct ctl *ctl) {
    CLEANUP_FREE char *body = NULL;
    char request[CONTROL_REQUEST_MAX];

    (void)snprintf(request, sizeof(request), "%s%s%s", control_verb_to_string(ctl->verb),
                   ctl->name ? " " : "", ctl->name ? ctl->name : "");
    enum ctl_exit status = ask(ctl, request, &body);
    if (body)
        (void)fputs(body, status == CTL_OK ? stdout : stderr);
    return status;
}

/* --- status ---------------------------------------------------------------------------------- */

/* What was shown last, so that a log of changes holds changes only. */
static bool is_news(char **shown, char *lines) {
    bool news = !*shown || strcmp(*shown, lines) != 0;

    free(*shown);
    *shown = lines;
    return news;
}

static void show_lines(const struct control_status *status, char **shown) {
    char *lines = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&lines, &size);

    if (!out)
        return;
    for (size_t i = 0; i < status->n_recoveries; i++)
        status_print_line(&status->recoveries[i], out);
    if (fclose(out) == 0 && is_news(shown, lines))
        (void)fputs(*shown, stdout);
}

static enum ctl_exit show(const struct ctl *ctl, const char *body, char **shown) {
    struct status_read *read = NULL;
    int r;

    if (ctl->json) {
        (void)fputs(body, stdout);
        return CTL_OK;
    }
    r = status_read(body, &read);
    if (r != 0) {
        (void)fprintf(stderr, "xautoclaimctl: %s\n",
                      r < 0 ? "out of memory" : "the answer is not understood; another version?");
        return r < 0 ? CTL_BROKEN : CTL_UNAVAILABLE;
    }
    if (ctl->watch && !isatty(STDOUT_FILENO))
        show_lines(status_read_get(read), shown);
    else
        status_print(status_read_get(read), stdout);
    status_read_free(read);
    return CTL_OK;
}

static enum ctl_exit show_status(const struct ctl *ctl, char **shown) {
    CLEANUP_FREE char *body = NULL;
    enum ctl_exit status = ask(ctl, "status", &body);

    if (ctl->watch && !ctl->json && isatty(STDOUT_FILENO))
        (void)fputs("\033[H\033[2J", stdout); /* to the corner, and clear */
    if (status == CTL_OK)
        status = show(ctl, body, shown);
    else if (body)
        (void)fputs(body, stderr);
    return fflush(stdout) == 0 ? status : CTL_BROKEN;
}

/* Once it was there, a daemon that is away may come back. */
static enum ctl_exit watch(const struct ctl *ctl) {
    CLEANUP_FREE char *shown = NULL;
    enum ctl_exit status = show_status(ctl, &shown);

    while (status == CTL_OK || status == CTL_UNAVAILABLE) {
        (void)sleep(WATCH_SECONDS);
        status = show_status(ctl, &shown);
    }
    return status;
}

static enum ctl_exit status_command(const struct ctl *ctl) {
    CLEANUP_FREE char *shown = NULL;
    CLEANUP_FREE char *body = NULL;

    if (!ctl->watch)
        return show_status(ctl, &shown);
    enum ctl_exit first = ask(ctl, "version", &body);
    return first == CTL_OK ? watch(ctl) : first;
}

/* --- the command line ------------------------------------------------------------------------ */

enum { OPTION_SOCKET = 256, OPTION_JSON, OPTION_WATCH, OPTION_VERSION, OPTION_HELP };

static const struct option long_options[] = {
    {"socket", required_argument, NULL, OPTION_SOCKET},
    {"json", no_argument, NULL, OPTION_JSON},
    {"watch", no_argument, NULL, OPTION_WATCH},
    {"version", no_argument, NULL, OPTION_VERSION},
    {"help", no_argument, NULL, OPTION_HELP},
    {NULL, 0, NULL, 0},
};

enum { PARSED = 0, PARSED_DONE, PARSED_USAGE };

static int usage(const char *what, const char *which) {
    char printable[128];

    text_printable((struct blob){which, strlen(which)}, printable, sizeof(printable));
    (void)fprintf(stderr, "xautoclaimctl: %s%s\nTry: xautoclaimctl --help\n", what, printable);
    return PARSED_USAGE;
}

static int one_option(int option, struct ctl *ctl) {
    switch (option) {
    case 'i':
        ctl->instance = optarg;
        return PARSED;
    case OPTION_SOCKET:
        ctl->socket = optarg;
        return PARSED;
    case OPTION_JSON:
        ctl->json = true;
        return PARSED;
    case OPTION_WATCH:
        ctl->watch = true;
        return PARSED;
    case OPTION_VERSION:
        (void)puts("xautoclaimctl " PROJECT_VERSION);
        return PARSED_DONE;
    case OPTION_HELP:
        (void)fputs(help, stdout);
        return PARSED_DONE;
    default: /* getopt has said why */
        return usage("unknown option or missing argument", "");
    }
}

static int parse_command(int argc, char **argv, struct ctl *ctl) {
    CLEANUP_FREE char *line = NULL;
    struct control_request request;
    const char *why;

    if (argc == 0)
        return usage("which command?", "");
    if (argc > 2)
        return usage("unexpected argument: ", argv[2]);
    if (asprintf(&line, "%s%s%s", argv[0], argc > 1 ? " " : "", argc > 1 ? argv[1] : "") < 0) {
        line = NULL;
        return usage("out of memory", "");
    }
    if (!control_request_parse(line, strlen(line), &request, &why))
        return usage(why, "");
    if (request.verb == CONTROL_VERSION)
        return usage("for the version: --version", "");
    if ((ctl->json || ctl->watch) && request.verb != CONTROL_STATUS)
        return usage("--json and --watch belong to status", "");
    ctl->verb = request.verb;
    ctl->name = argc > 1 ? argv[1] : NULL;
    return PARSED;
}

static int find_socket(struct ctl *ctl) {
    int n;

    if (ctl->instance && ctl->socket)
        return usage("-i and --socket exclude each other", "");
    if (ctl->instance && (ctl->instance[0] == '\0' || strchr(ctl->instance, '/')))
        return usage("not the name of an instance: ", ctl->instance);
    if (ctl->socket)
        n = snprintf(ctl->path, sizeof(ctl->path), "%s", ctl->socket);
    else
        n = snprintf(ctl->path, sizeof(ctl->path), "/run/xautoclaimd%s%s/control",
                     ctl->instance ? "-" : "", ctl->instance ? ctl->instance : "");
    return n < 0 || (size_t)n >= sizeof(ctl->path) ? usage("the path is too long", "") : PARSED;
}

static int parse(int argc, char **argv, struct ctl *ctl) {
    int option, r;

    while ((option = getopt_long(argc, argv, "i:", long_options, NULL)) != -1) {
        r = one_option(option, ctl);
        if (r != PARSED)
            return r;
    }
    r = parse_command(argc - optind, argv + optind, ctl);
    return r == PARSED ? find_socket(ctl) : r;
}

int main(int argc, char **argv) {
    struct ctl ctl = {.path = ""};
    int r = parse(argc, argv, &ctl);

    if (r != PARSED)
        return r == PARSED_DONE ? CTL_OK : CTL_USAGE;
    return (int)(ctl.verb == CONTROL_STATUS ? status_command(&ctl) : command(&ctl));
}
