/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Parses urls strictly: what is not wholly understood is refused. Percent-encoding is not
 * understood, so that there is one way to write each address.
 */
#include "url.h"

#include "base/text.h"
#include <arpa/inet.h>
#include <assert.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/un.h>

#define DEFAULT_PORT 6379
#define UNIX_PATH_MAX (sizeof(((struct sockaddr_un *)NULL)->sun_path) - 1)

/* One url in pieces; they point into the word, which is cut up in place. */
struct pieces {
    char *user; /* NULL: none */
    char *host;
    char *port;     /* NULL: none */
    char *database; /* NULL: none */
};

static char *cut_at(char *text, char separator) {
    char *at = strchr(text, separator);

    if (!at)
        return NULL;
    *at = '\0';
    return at + 1;
}

static int password_is_refused(char *why) {
    return why_bad(why, "a password in a url is refused; accepted: password_file");
}

/* Up to the last @: whatever stands there is kept out of all other messages. */
static int take_user(char **rest, struct pieces *pieces, char *why) {
    char *at = strrchr(*rest, '@');

    if (!at)
        return 0;
    *at = '\0';
    if (strchr(*rest, ':'))
        return password_is_refused(why);
    if (**rest == '\0')
        return why_bad(why, "an empty user before the @; accepted: " URLS_ACCEPTED);
    if (strpbrk(*rest, "/?#%@"))
        return why_bad(why, "the user holds one of / ? # %% @, which are not accepted in a url; "
                            "accepted: the key username");
    pieces->user = *rest;
    *rest = at + 1;
    return 0;
}

static int split_tcp(char *rest, struct pieces *ret, char *why) {
    int r = take_user(&rest, ret, why);

    if (r != 0)
        return r;
    if (strpbrk(rest, "?#%"))
        return why_bad(why, "a query, a fragment or percent-encoding; accepted: " URLS_ACCEPTED);
    ret->database = cut_at(rest, '/');
    ret->host = rest;
    if (rest[0] == '[') {
        char *end = strchr(rest, ']');

        if (!end || (end[1] != '\0' && end[1] != ':'))
            return why_bad(why, "a [ without its ]; accepted: redis://[::1]:6379");
        ret->port = end[1] == ':' ? end + 2 : NULL;
        end[1] = '\0'; /* the brackets stay: they tell what kind of address it is */
        return 0;
    }
    if (strchr(rest, ':') != strrchr(rest, ':'))
        return why_bad(why, "an IPv6 address without brackets, or two ports; accepted: "
                            "redis://[::1]:6379");
    ret->port = cut_at(rest, ':');
    return 0;
}

/* A host, numeric ones as inet_ntop(3) writes them, IPv6 without its brackets. */
struct host {
    char text[HOST_NAME_MAX_BYTES + 1];
    bool ipv6;
    bool is_name;
};

static bool labels_are_good(const char *name) {
    for (const char *label = name;; label++) {
        size_t n = strcspn(label, ".");

        if (n == 0 || n > HOST_LABEL_MAX_BYTES || label[0] == '-' || label[n - 1] == '-')
            return false;
        label += n;
        /* One dot at the end says that the name is complete. */
        if (label[0] == '\0' || label[1] == '\0')
            return true;
    }
}

/* What the resolver would take for a number, or nobody for a name. */
static bool looks_numeric(const char *name) {
    const char *last = strrchr(name, '.');
    struct in_addr ipv4;

    last = last ? last + 1 : name;
    return inet_aton(name, &ipv4) != 0 || (*last && last[strspn(last, "0123456789")] == '\0');
}

static int parse_name(const char *name, struct host *ret, char *why) {
    static const char letters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
                                  "0123456789.-";

    if (looks_numeric(name))
        return why_bad(why, "not a numeric address; accepted: " URLS_ACCEPTED);
    if (name[strspn(name, letters)] != '\0')
        return why_bad(why, "a host name with other characters than letters, digits, - and .; "
                            "accepted: " URLS_ACCEPTED);
    if (strlen(name) > HOST_NAME_MAX_BYTES)
        return why_bad(why, "the host name is too long; accepted: at most %d bytes",
                       HOST_NAME_MAX_BYTES);
    if (!labels_are_good(name))
        return why_bad(why,
                       "a part of the host name is empty, too long, or begins or ends with "
                       "-; accepted: 1 to %d bytes between two dots",
                       HOST_LABEL_MAX_BYTES);
    ret->is_name = true;
    (void)snprintf(ret->text, sizeof(ret->text), "%s", name);
    return 0;
}

static int parse_ipv6(const char *host, struct host *ret, char *why) {
    size_t n = strlen(host) - 2;
    struct in6_addr binary;
    char inside[INET6_ADDRSTRLEN];

    (void)snprintf(inside, sizeof(inside), "%.*s", (int)n, host + 1);
    if (n >= sizeof(inside) || inet_pton(AF_INET6, inside, &binary) != 1)
        return why_bad(why, "no IPv6 address between the brackets; accepted: "
                            "redis://[::1]:6379");
    ret->ipv6 = true;
    (void)inet_ntop(AF_INET6, &binary, ret->text, sizeof(ret->text));
    return 0;
}

static int parse_host(const char *host, struct host *ret, char *why) {
    struct in_addr binary;

    *ret = (struct host){0};
    if (host[0] == '\0')
        return why_bad(why, "no host; accepted: " URLS_ACCEPTED);
    if (host[0] == '[')
        return parse_ipv6(host, ret, why);
    if (inet_pton(AF_INET, host, &binary) != 1)
        return parse_name(host, ret, why);
    (void)inet_ntop(AF_INET, &binary, ret->text, sizeof(ret->text));
    return 0;
}

static int parse_port(const char *text, uint16_t *ret, char *why) {
    uint64_t port = DEFAULT_PORT;

    if (text && (text_parse_u64(text, &port) != 0 || port == 0 || port > UINT16_MAX))
        return why_bad(why, "not a port; accepted: 1 to 65535");
    *ret = (uint16_t)port;
    return 0;
}

static int parse_database(const char *text, uint32_t *ret, char *why) {
    uint64_t database = 0;

    if (text && (text_parse_u64(text, &database) != 0 || database > INT32_MAX))
        return why_bad(why, "not the number of a database; accepted: 0 to 2147483647");
    *ret = (uint32_t)database;
    return 0;
}

static int parse_tcp(char *rest, struct config_memory *memory, struct server_address *ret,
                     const char **ret_user, char *why) {
    struct pieces pieces = {.host = rest};
    struct host host = {0};
    char text[sizeof(host.text) + sizeof("[]:65535")];
    int r = split_tcp(rest, &pieces, why);

    if (pieces.database && *pieces.database == '\0')
        pieces.database = NULL;
    if (r == 0)
        r = parse_host(pieces.host, &host, why);
    if (r == 0)
        r = parse_port(pieces.port, &ret->port, why);
    if (r == 0)
        r = parse_database(pieces.database, &ret->database, why);
    if (r != 0)
        return r;
    (void)snprintf(text, sizeof(text), host.ipv6 ? "[%s]:%u" : "%s:%u", host.text, ret->port);
    ret->kind = SERVER_TCP;
    ret->is_name = host.is_name;
    ret->host = memory_copy(memory, host.text);
    ret->text = memory_copy(memory, text);
    *ret_user = pieces.user;
    return ret->host && ret->text ? 0 : -ENOMEM;
}

static int split_unix(char *rest, struct pieces *ret, char *why) {
    if (rest[0] != '/') {
        char *at = strrchr(rest, '@');

        if (at && memchr(rest, ':', (size_t)(at - rest)))
            return password_is_refused(why);
        if (at)
            return why_bad(why, "a user in a unix:// url; accepted: the key username");
        return why_bad(why, "the path of a socket must be absolute; accepted: unix:///path[?db=N]");
    }
    char *query = cut_at(rest, '?');
    if (query && strncmp(query, "db=", 3) != 0)
        return why_bad(why, "a query other than ?db=N; accepted: unix:///path[?db=N]");
    if (strpbrk(rest, "#%"))
        return why_bad(why, "# and %% are not accepted in the path of a socket");
    if (strlen(rest) > UNIX_PATH_MAX)
        return why_bad(why, "the path of the socket is too long; accepted: at most %zu bytes",
                       UNIX_PATH_MAX);
    ret->database = query ? query + 3 : NULL;
    ret->host = rest;
    return 0;
}

static int parse_unix(char *rest, struct config_memory *memory, struct server_address *ret,
                      char *why) {
    struct pieces pieces = {0};
    int r = split_unix(rest, &pieces, why);

    if (r == 0)
        r = parse_database(pieces.database, &ret->database, why);
    if (r != 0)
        return r;

    char text[sizeof("unix://") + UNIX_PATH_MAX];
    (void)snprintf(text, sizeof(text), "unix://%s", pieces.host);
    ret->kind = SERVER_UNIX;
    ret->host = memory_copy(memory, pieces.host);
    ret->text = memory_copy(memory, text);
    return ret->host && ret->text ? 0 : -ENOMEM;
}

static int parse_url(char *word, struct config_memory *memory, struct server_address *ret,
                     const char **ret_user, char *why) {
    if (strncmp(word, "redis://", 8) == 0)
        return parse_tcp(word + 8, memory, ret, ret_user, why);
    if (strncmp(word, "unix://", 7) == 0)
        return parse_unix(word + 7, memory, ret, why);
    if (strncmp(word, "rediss://", 9) == 0)
        return why_bad(why, "TLS (rediss://) is not built yet; accepted: " URLS_ACCEPTED);
    return why_bad(why, "no url of a known kind; accepted: " URLS_ACCEPTED);
}

/* There is one user for the server, whichever address is in use. */
static int agree_on_user(struct server_list *list, const char *user, char *why) {
    bool first = list->n == 0;

    if (!first && (user == NULL) != (list->user == NULL))
        return why_bad(why, "only some of the urls name a user; accepted: the same user in all, or "
                            "the key username");
    if (!first && user && strcmp(user, list->user) != 0)
        return why_bad(why, "the urls name different users; accepted: the same user in all, or "
                            "the key username");
    list->user = user;
    return 0;
}

int urls_parse(const char *text, struct config_memory *memory, struct server_list *ret,
               char why[WHY_MAX]) {
    struct server_list list = {.addresses =
                                   memory_alloc(memory, URLS_MAX * sizeof(struct server_address))};
    char *words = memory_copy(memory, text), *rest = NULL;

    if (!list.addresses || !words)
        return -ENOMEM;
    for (char *word = strtok_r(words, " \t", &rest); word; word = strtok_r(NULL, " \t", &rest)) {
        const char *user = NULL;

        if (list.n == URLS_MAX)
            return why_bad(why, "too many urls; accepted: at most %d", URLS_MAX);
        int r = parse_url(word, memory, &list.addresses[list.n], &user, why);
        if (r == 0)
            r = agree_on_user(&list, user, why);
        if (r != 0)
            return r;
        list.n++;
    }
    if (list.n == 0)
        return why_bad(why, "no url; accepted: " URLS_ACCEPTED);
    *ret = list;
    return 0;
}

bool server_is_local(const struct server_address *address) {
    struct in_addr ipv4;
    struct in6_addr ipv6;

    if (address->kind == SERVER_UNIX)
        return true;
    if (address->is_name)
        return strcasecmp(address->host, "localhost") == 0;
    if (inet_pton(AF_INET, address->host, &ipv4) == 1)
        return (ntohl(ipv4.s_addr) >> 24) == 127;
    if (inet_pton(AF_INET6, address->host, &ipv6) != 1)
        return false;
    return IN6_IS_ADDR_LOOPBACK(&ipv6) || (IN6_IS_ADDR_V4MAPPED(&ipv6) && ipv6.s6_addr[12] == 127);
}
