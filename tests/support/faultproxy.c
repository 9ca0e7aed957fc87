/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * faultproxy --listen unix:/path|127.0.0.1:0 --upstream unix:/path|host:port [--record FILE]
 *
 * Stands between a client and a Redis server and breaks the connection where it is told. Prints
 * the address it listens on when it is ready, then takes commands on standard input, one a
 * line, and answers each with "ok" or "error ..." on standard output:
 *
 *   cut-up N, cut-down N      reset the connection when N more bytes have gone to the server, to
 *                             the client (0: instead of the next byte)
 *   drop-reply COMMAND [NTH]  swallow the reply to the NTH next such request, then reset
 *   swallow COMMAND [NTH]     swallow that reply only
 *   hold up|down, resume      give nothing away in this direction until told
 *   hold-at COMMAND [NTH]     hold up, beginning with the NTH next such request
 *   slow N                    N bytes a second in each direction; 0: as fast as it goes
 *   split N                   in pieces of N bytes; 0: as they come
 *   cut                       reset all connections
 *   refuse on|off             close new connections at once
 *   count                     "ok " and the counters as JSON
 *
 * Ends with its standard input.
 */
#include "faultproxy.h"

#include <arpa/inet.h>
#include <errno.h>
#include <event2/buffer.h>
#include <event2/listener.h>
#include <netinet/in.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/un.h>
#include <unistd.h>

/* --- addresses ------------------------------------------------------------------------------- */

static bool parse_unix(const char *path, struct endpoint *ret) {
    struct sockaddr_un *address = (struct sockaddr_un *)&ret->address;

    if (strlen(path) >= sizeof(address->sun_path))
        return false;
    address->sun_family = AF_UNIX;
    (void)strcpy(address->sun_path, path);
    ret->size = sizeof(*address);
    return true;
}

static bool parse_tcp(const char *text, struct endpoint *ret) {
    struct sockaddr_in *address = (struct sockaddr_in *)&ret->address;
    const char *colon = strrchr(text, ':');
    char host[64];

    if (!colon || (size_t)(colon - text) >= sizeof(host))
        return false;
    memcpy(host, text, (size_t)(colon - text));
    host[colon - text] = '\0';
    address->sin_family = AF_INET;
    address->sin_port = htons((uint16_t)strtoul(colon + 1, NULL, 10));
    ret->size = sizeof(*address);
    return inet_pton(AF_INET, host, &address->sin_addr) == 1;
}

static bool parse_endpoint(const char *text, struct endpoint *ret) {
    *ret = (struct endpoint){0};
    return strncmp(text, "unix:", 5) == 0 ? parse_unix(text + 5, ret) : parse_tcp(text, ret);
}

static void print_address(int fd) {
    struct endpoint here = {.size = sizeof(here.address)};

    (void)getsockname(fd, (struct sockaddr *)&here.address, &here.size);
    if (here.address.ss_family == AF_UNIX)
        (void)printf("unix:%s\n", ((struct sockaddr_un *)&here.address)->sun_path);
    else
        (void)printf("127.0.0.1:%u\n", ntohs(((struct sockaddr_in *)&here.address)->sin_port));
    (void)fflush(stdout);
}

/* --- commands -------------------------------------------------------------------------------- */

static bool parse_number(const char *text, unsigned long long *ret) {
    char *end = NULL;

    if (!text || *text < '0' || *text > '9')
        return false;
    errno = 0;
    *ret = strtoull(text, &end, 10);
    return errno == 0 && *end == '\0';
}

static const char *set_cut(struct proxy *proxy, enum side side, const char *number) {
    if (!parse_number(number, &proxy->cut_after[side]))
        return "a number of bytes is needed";
    proxy->cut_armed[side] = true;
    return NULL;
}

static const char *add_rule(struct proxy *proxy, const char *word, const char *nth,
                            enum fate fate) {
    unsigned long long n = 1;
    struct rule *rule = &proxy->rules[proxy->n_rules];

    if (!word || strlen(word) >= sizeof(rule->word))
        return "a command is needed";
    if (nth && (!parse_number(nth, &n) || n == 0))
        return "the number must be 1 or more";
    if (proxy->n_rules == RULES_MAX)
        return "too many rules";
    *rule = (struct rule){.nth = (unsigned long)n, .fate = fate};
    (void)snprintf(rule->word, sizeof(rule->word), "%s", word);
    proxy->n_rules++;
    return NULL;
}

static const char *set_hold(struct proxy *proxy, const char *side) {
    if (!side || (strcmp(side, "up") != 0 && strcmp(side, "down") != 0))
        return "up or down is needed";
    proxy->held[strcmp(side, "up") == 0 ? UP : DOWN] = true;
    return NULL;
}

static const char *set_refuse(struct proxy *proxy, const char *value) {
    if (!value || (strcmp(value, "on") != 0 && strcmp(value, "off") != 0))
        return "on or off is needed";
    proxy->refuse = strcmp(value, "on") == 0;
    return NULL;
}

static const char *set_slow(struct proxy *proxy, const char *value) {
    return parse_number(value, &proxy->bytes_per_second) ? NULL : "a number is needed";
}

static const char *set_split(struct proxy *proxy, const char *value) {
    unsigned long long n;

    if (!parse_number(value, &n))
        return "a number is needed";
    proxy->split = (size_t)n;
    return NULL;
}

static void print_counters(const struct proxy *proxy) {
    (void)printf("ok {\"accepted\": %lu, \"refused\": %lu, \"open\": %lu, \"cut\": %lu, "
                 "\"up\": %llu, \"down\": %llu, \"requests\": %lu, \"replies\": %lu, "
                 "\"swallowed\": %lu, \"commands\": {",
                 proxy->accepted, proxy->refused, proxy->open, proxy->cut, proxy->bytes[UP],
                 proxy->bytes[DOWN], proxy->requests, proxy->replies, proxy->swallowed);
    for (size_t i = 0; i < proxy->n_commands; i++) {
        /* Words that would need quoting are no commands. */
        const char *word = proxy->commands[i].word;
        (void)printf("%s\"%s\": %lu", i ? ", " : "", strpbrk(word, "\"\\") ? "?" : word,
                     proxy->commands[i].n);
    }
    (void)printf("}}\n");
}

/* NULL: done. */
static const char *run_words(struct proxy *proxy, const char *verb, const char *first,
                             const char *second) {
    if (strcmp(verb, "cut-up") == 0)
        return set_cut(proxy, UP, first);
    if (strcmp(verb, "cut-down") == 0)
        return set_cut(proxy, DOWN, first);
    if (strcmp(verb, "drop-reply") == 0)
        return add_rule(proxy, first, second, FATE_SWALLOW_AND_CUT);
    if (strcmp(verb, "swallow") == 0)
        return add_rule(proxy, first, second, FATE_SWALLOW);
    if (strcmp(verb, "hold-at") == 0)
        return add_rule(proxy, first, second, FATE_HOLD);
    if (strcmp(verb, "hold") == 0)
        return set_hold(proxy, first);
    if (strcmp(verb, "slow") == 0)
        return set_slow(proxy, first);
    if (strcmp(verb, "split") == 0)
        return set_split(proxy, first);
    if (strcmp(verb, "refuse") == 0)
        return set_refuse(proxy, first);
    if (strcmp(verb, "resume") == 0)
        proxy->held[UP] = proxy->held[DOWN] = false;
    else if (strcmp(verb, "cut") == 0)
        relay_cut_all(proxy);
    else
        return "unknown command";
    return NULL;
}

static void run_line(struct proxy *proxy, char *line) {
    char *rest = NULL;
    const char *verb = strtok_r(line, " \t\r", &rest);
    const char *first = verb ? strtok_r(NULL, " \t\r", &rest) : NULL;
    const char *second = first ? strtok_r(NULL, " \t\r", &rest) : NULL;

    if (verb && strcmp(verb, "count") == 0) {
        print_counters(proxy);
    } else {
        const char *error = verb ? run_words(proxy, verb, first, second) : "an empty line";
        (void)printf(error ? "error %s\n" : "ok\n", error);
        relay_pump_all(proxy);
    }
    (void)fflush(stdout);
}

/* --- events ---------------------------------------------------------------------------------- */

struct input {
    struct proxy *proxy;
    struct evbuffer *lines;
};

static void on_input(evutil_socket_t fd, short what, void *data) {
    (void)what;
    struct input *input = data;
    char *line;

    if (evbuffer_read(input->lines, fd, 4096) <= 0) {
        (void)event_base_loopbreak(input->proxy->base);
        return;
    }
    while ((line = evbuffer_readln(input->lines, NULL, EVBUFFER_EOL_LF))) {
        run_line(input->proxy, line);
        free(line);
    }
}

static void on_accept(struct evconnlistener *listener, evutil_socket_t fd, struct sockaddr *address,
                      int size, void *data) {
    (void)listener;
    (void)address;
    (void)size;
    struct proxy *proxy = data;

    if (proxy->refuse) {
        proxy->refused++;
        (void)close(fd);
        return;
    }
    proxy->accepted++;
    relay_begin(proxy, fd);
}

/* --- main ------------------------------------------------------------------------------------ */

static int run(struct proxy *proxy, const struct endpoint *here) {
    struct input input = {.proxy = proxy, .lines = evbuffer_new()};
    struct event *reading =
        event_new(proxy->base, STDIN_FILENO, EV_READ | EV_PERSIST, on_input, &input);
    struct evconnlistener *listener = evconnlistener_new_bind(
        proxy->base, on_accept, proxy, LEV_OPT_CLOSE_ON_FREE | LEV_OPT_CLOSE_ON_EXEC, 128,
        (const struct sockaddr *)&here->address, (int)here->size);

    if (!input.lines || !reading || !listener || event_add(reading, NULL) < 0) {
        (void)fprintf(stderr, "faultproxy: %s\n", strerror(errno));
        return EXIT_FAILURE;
    }
    print_address(evconnlistener_get_fd(listener));
    (void)event_base_dispatch(proxy->base);
    relay_cut_all(proxy);
    evconnlistener_free(listener);
    event_free(reading);
    evbuffer_free(input.lines);
    return EXIT_SUCCESS;
}

static bool parse_options(int argc, char **argv, struct proxy *proxy, struct endpoint *here) {
    bool has_here = false, has_upstream = false;

    for (int i = 1; i + 1 < argc; i += 2) {
        if (strcmp(argv[i], "--listen") == 0)
            has_here = parse_endpoint(argv[i + 1], here);
        else if (strcmp(argv[i], "--upstream") == 0)
            has_upstream = parse_endpoint(argv[i + 1], &proxy->upstream);
        else if (strcmp(argv[i], "--record") == 0)
            proxy->record = fopen(argv[i + 1], "we");
        else
            return false;
        if (strcmp(argv[i], "--record") == 0 && !proxy->record)
            return false;
    }
    return has_here && has_upstream && argc % 2 == 1;
}

int main(int argc, char **argv) {
    static struct proxy proxy;
    struct endpoint here;

    if (!parse_options(argc, argv, &proxy, &here)) {
        (void)fprintf(stderr, "usage: faultproxy --listen unix:PATH|127.0.0.1:PORT "
                              "--upstream unix:PATH|HOST:PORT [--record FILE]\n");
        return 64;
    }
    (void)signal(SIGPIPE, SIG_IGN);
    proxy.base = event_base_new();
    if (!proxy.base)
        return EXIT_FAILURE;
    int r = run(&proxy, &here);
    event_base_free(proxy.base);
    if (proxy.record)
        (void)fclose(proxy.record);
    return r;
}
