/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A real redis-server for a test: its own directory, a Unix socket and a TCP port on the
 * loopback, no persistence. It dies with the test.
 */
#pragma once

#include <hiredis.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct redis_server {
    char directory[64];
    char socket[96];
    uint16_t port;
    pid_t pid; /* 0: it does not run */
    int notify_fd;
    redisContext *client;
};

/* options: NULL-terminated words for its command line, or NULL. False where there is no
 * redis-server on this machine; fails the test where it does not start. $REDIS_SERVER is another
 * server than the machine's. */
bool redis_server_start(struct redis_server *server, const char *const *options);
/* Again, with the same directory and port. */
void redis_server_restart(struct redis_server *server, const char *const *options);
/* SIGKILL, and waits. */
void redis_server_kill(struct redis_server *server);
void redis_server_signal(struct redis_server *server, int signo);
/* Kills it and removes the directory. */
void redis_server_remove(struct redis_server *server);

/* Is this in what it answers to INFO server? "redis_version:6.2", "server_name:valkey". */
bool redis_server_says(struct redis_server *server, const char *line);

/* Runs a command and fails the test on an error reply. Gives the integer of an integer reply, else
 * 0. */
__attribute__((format(printf, 2, 3))) long long redis_server_do(struct redis_server *server,
                                                                const char *format, ...);
