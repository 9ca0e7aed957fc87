/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The settings as plain structs: what the configuration says, checked, with every default
 * filled in. They never change after config_load(); a reload makes a new set. Every room may
 * include this header; all strings and arrays belong to the struct config they came with.
 * Times are in microseconds (base/clock.h), sizes in bytes.
 */
#pragma once

#include "base/clock.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct daemon_settings {
    usec_t drain_timeout;
    int log_level; /* syslog(3) priority */
    uint64_t max_handlers;
    uint64_t max_body_bytes;
    const char *control_socket; /* an absolute path; NULL: off */
};

enum server_address_kind { SERVER_TCP, SERVER_UNIX };

/* One url of a [redis] section. */
struct server_address {
    enum server_address_kind kind;
    const char *host; /* SERVER_TCP: numeric (IPv6 without brackets), or a name as it was written;
                         SERVER_UNIX: the path */
    bool is_name;     /* SERVER_TCP: host is resolved at each connect, never here */
    uint16_t port;    /* SERVER_TCP */
    uint32_t database;
    /* For messages: "127.0.0.1:6379", "[::1]:6379", "db.example:6379", "unix:///run/redis.sock". */
    const char *text;
};

struct redis_settings {
    const char *name; /* "" for the unnamed [redis] section */
    const struct server_address *addresses;
    size_t n_addresses;
    const char *username;      /* NULL: none (from `username` or from the url) */
    const char *password_file; /* NULL: none; absolute, or a bare name in $CREDENTIALS_DIRECTORY */
    usec_t connect_timeout;
    usec_t command_timeout; /* auto is already resolved */
    usec_t reconnect_min;
    usec_t reconnect_max;
    usec_t smallest_min_idle; /* of the recoveries on this server; USEC_INFINITY if there is none */
};

enum local_address_kind { LOCAL_UNIX, LOCAL_IPV4, LOCAL_IPV6 };

/* A place on this machine. */
struct local_address {
    enum local_address_kind kind;
    const char *path; /* LOCAL_UNIX: absolute, fits into a sockaddr_un */
    uint16_t port;    /* the others: on 127.0.0.1, on ::1 */
    const char *text; /* as it was written */
};

enum handler_kind {
    HANDLER_EXEC,
    HANDLER_WORKER,
    HANDLER_SOCKET,
    HANDLER_MOVE,
    HANDLER_CLAIM_ONLY,
    _HANDLER_KIND_MAX,
};
enum payload_kind { PAYLOAD_JSON, PAYLOAD_RESP, PAYLOAD_ID };
enum output_policy { OUTPUT_STDERR, OUTPUT_BOTH, OUTPUT_NONE };
enum missing_policy { MISSING_KEEP, MISSING_ACK };

struct recovery_settings {
    const char *name;
    const struct redis_settings *redis;
    const char *stream;
    const char *group;
    const char *consumer; /* expanded */
    usec_t min_idle;
    usec_t interval;
    uint64_t count;
    enum handler_kind handler;
    char *const *argv;                   /* exec, worker: `command`, split; NULL-terminated */
    const struct local_address *address; /* socket: where the service listens */
    enum payload_kind payload;
    uint64_t concurrency;
    uint64_t workers; /* worker, socket: processes or connections, 1 to concurrency; else 0 */
    uint64_t claim_ahead;
    usec_t handler_timeout;
    enum output_policy handler_output;
    enum missing_policy missing;
    uint64_t max_deliveries; /* 0: no limit */
    usec_t retry_delay;
    usec_t retry_delay_max;
    const char *dead_letter_stream; /* NULL: none */
    uint64_t dead_letter_maxlen;    /* 0: no limit */
    const char *target_stream;      /* move; else NULL */
    uint64_t target_maxlen;         /* 0: no limit */
    const char *worklist;           /* claim-only: NULL: none */
};
