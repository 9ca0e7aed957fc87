/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The rows. How their values are read and written is in value.c.
 */
#include "schema.h"

#include <assert.h>
#include <string.h>
#include <syslog.h>

#define MSEC USEC_PER_MSEC
#define SEC USEC_PER_SEC
#define MINUTE (60 * SEC)
#define HOUR (60 * MINUTE)
#define DAY (24 * HOUR)
#define MIB (UINT64_C(1) << 20)
#define GIB (UINT64_C(1) << 30)

#define AT(member) offsetof(struct draft, member)

/* Keys of single kinds of handlers, and of all that run something. */
#define EXEC ROW_FOR(HANDLER_EXEC)
#define WORKER ROW_FOR(HANDLER_WORKER)
#define SOCKET ROW_FOR(HANDLER_SOCKET)
#define RUNS (EXEC | WORKER | SOCKET)
#define MOVE ROW_FOR(HANDLER_MOVE)
#define CLAIM_ONLY ROW_FOR(HANDLER_CLAIM_ONLY)

static const struct choice log_levels[] = {{"err", LOG_ERR},       {"warning", LOG_WARNING},
                                           {"notice", LOG_NOTICE}, {"info", LOG_INFO},
                                           {"debug", LOG_DEBUG},   {NULL, 0}};
static const struct choice modes[] = {
    {"standalone", 0}, {"cluster", CHOICE_NOT_BUILT}, {"sentinel", CHOICE_NOT_BUILT}, {NULL, 0}};
static const struct choice handlers[] = {
    {"exec", HANDLER_EXEC}, {"worker", HANDLER_WORKER},         {"socket", HANDLER_SOCKET},
    {"move", HANDLER_MOVE}, {"claim-only", HANDLER_CLAIM_ONLY}, {NULL, 0}};
static const struct choice payloads[] = {
    {"json", PAYLOAD_JSON}, {"resp", PAYLOAD_RESP}, {"id", PAYLOAD_ID}, {NULL, 0}};
static const struct choice outputs[] = {
    {"stderr", OUTPUT_STDERR}, {"both", OUTPUT_BOTH}, {"none", OUTPUT_NONE}, {NULL, 0}};
static const struct choice missings[] = {{"keep", MISSING_KEEP}, {"ack", MISSING_ACK}, {NULL, 0}};

/* clang-format off */
static const struct row daemon_rows[] = {
    {"drain_timeout", VALUE_DURATION, AT(daemon.drain_timeout), "30s", 0, DAY, 0, NULL,
     "How long running handlers may go on after SIGTERM. Entries that were not started are "
     "released at once, so that another instance can take them."},
    {"log_level", VALUE_CHOICE, AT(daemon.log_level), "info", 0, 0, 0, log_levels,
     "Less important records than this are dropped."},
    {"max_handlers", VALUE_NUMBER, AT(daemon.max_handlers), "256", 1, 65536, 0, NULL,
     "Handlers at once in the whole daemon, shared fairly between the recoveries."},
    {"max_body_bytes", VALUE_SIZE, AT(daemon.max_body_bytes), "256M", MIB, 1024 * GIB, 0, NULL,
     "Bodies of entries held in memory at once in the whole daemon. Above it no attempt begins."},
    {"control_socket", VALUE_SOCKET_PATH, AT(daemon.control_socket), "auto", 0, 0, 0, NULL,
     "Where xautoclaimctl finds the daemon; its owner and its group may. auto: "
     "$RUNTIME_DIRECTORY/control, which is /run/xautoclaimd/control in a service; off where that "
     "is not set."},
};

static const struct row redis_rows[] = {
    {"url", VALUE_URLS, AT(redis.urls), "redis://127.0.0.1:6379/0", 0, 0,
     ROW_CONTINUES | ROW_SECRET, NULL,
     "redis://[user@]host[:port][/db] or unix:///path[?db=N]; several, separated by blanks, are "
     "tried in turn. The host is a numeric address, IPv6 in brackets, or a name. A name is looked "
     "up at each connect, and all its addresses are tried. A password does not belong here: use "
     "password_file. No percent-encoding. May go on in indented lines."},
    {"username", VALUE_TEXT, AT(redis.username), "", 0, 0, 0, NULL,
     "The ACL user to log in as, if it is not named in url. Empty: the default user."},
    {"password_file", VALUE_PASSWORD_FILE, AT(redis.password_file), "", 0, 0, ROW_SECRET, NULL,
     "A file that holds the password: an absolute path, or a bare name that is looked up in "
     "$CREDENTIALS_DIRECTORY. One trailing newline is stripped. Others must have no right on it. "
     "Read again at each connect. Empty: no password."},
    {"mode", VALUE_CHOICE, AT(redis.mode), "standalone", 0, 0, 0, modes,
     "What the urls lead to."},
    {"connect_timeout", VALUE_DURATION, AT(redis.settings.connect_timeout), "5s",
     100 * MSEC, 10 * MINUTE, 0, NULL,
     "For one address: to connect, and until the server has accepted us. The time that it took to "
     "look up its name counts for the first one."},
    {"command_timeout", VALUE_DURATION, AT(redis.settings.command_timeout), "auto",
     100 * MSEC, HOUR, ROW_AUTO, NULL,
     "An outstanding reply that made no progress for so long drops the connection. At most half "
     "of the smallest min_idle on this server; auto: a quarter of it, at most 10s."},
    {"reconnect_min", VALUE_DURATION, AT(redis.settings.reconnect_min), "100ms",
     10 * MSEC, HOUR, 0, NULL,
     "The wait before the second attempt to connect; it doubles with each further one, with "
     "some jitter."},
    {"reconnect_max", VALUE_DURATION, AT(redis.settings.reconnect_max), "30s",
     10 * MSEC, HOUR, 0, NULL,
     "The longest wait between two attempts to connect. While entries are held the wait also "
     "stays under a quarter of min_idle."},
};

static const struct row recovery_rows[] = {
    {"redis", VALUE_REDIS_NAME, AT(recovery.redis), "", 0, 0, 0, NULL,
     "The NAME of a [redis NAME] section. Empty: the section without a name."},
    {"stream", VALUE_TEXT, AT(recovery.settings.stream), NULL, 0, 0, 0, NULL,
     "The key of the stream, always literal."},
    {"group", VALUE_TEXT, AT(recovery.settings.group), NULL, 0, 0, 0, NULL,
     "The consumer group, always literal."},
    {"consumer", VALUE_CONSUMER, AT(recovery.consumer), "xautoclaimd-%H", 0, 0, 0, NULL,
     "The consumer that claims. %H is the host name, %N the NAME of the recovery, %i the "
     "instance, %% a percent sign. Two daemons must not share one."},
    {"min_idle", VALUE_DURATION, AT(recovery.settings.min_idle), NULL, SEC, 30 * DAY, 0, NULL,
     "An entry is taken from its consumer after so long without news of it. No default: only you "
     "know how long a live consumer may take."},
    {"interval", VALUE_DURATION, AT(recovery.settings.interval), "60s",
     10 * MSEC, 30 * DAY, 0, NULL,
     "From the end of one scan to the start of the next, jittered by up to 10%."},
    {"count", VALUE_NUMBER, AT(recovery.settings.count), "100", 1, 1000, 0, NULL,
     "The upper limit of COUNT in XAUTOCLAIM. The server may walk ten times as many entries in "
     "one blocking call."},
    {"handler", VALUE_CHOICE, AT(recovery.settings.handler), NULL, 0, 0, 0, handlers,
     "What is done with an entry. exec: a process for each. worker: processes that stay, and are "
     "given one after the other. socket: the same by connections to a service that you run. move: "
     "it is copied to target_stream and acknowledged, by a script inside the server. claim-only: it "
     "is claimed for consumer, a consumer of your application, and nothing else. With the last two "
     "nothing runs. Keys that mean nothing to the kind chosen are refused."},
    {"command", VALUE_COMMAND, AT(recovery.command), "", 0, 0,
     ROW_CONTINUES | ROW_SECRET | EXEC | WORKER, NULL,
     "Required by handler = exec and worker: absolute program and arguments, split as a shell "
     "would split them; nothing is expanded and no shell runs. May go on in indented lines, which "
     "are joined with one blank."},
    {"address", VALUE_ADDRESS, AT(recovery.address), "", 0, 0, SOCKET, NULL,
     "Required by handler = socket: where the service listens, on this machine."},
    {"payload", VALUE_CHOICE, AT(recovery.settings.payload), "json", 0, 0, RUNS, payloads,
     "What the handler is given: a line of JSON, the entry as Redis sends it, or the bare ID "
     "(then no body is read)."},
    {"concurrency", VALUE_NUMBER, AT(recovery.settings.concurrency), "4", 1, 4096, RUNS, NULL,
     "Entries with a handler at once."},
    {"workers", VALUE_NUMBER, AT(recovery.workers), "auto", 1, 4096, ROW_AUTO | WORKER | SOCKET,
     NULL,
     "handler = worker and socket: how many processes, or connections, share them. Fewer than "
     "concurrency: each is given several entries at once and answers in any order. auto: as many "
     "as concurrency."},
    {"claim_ahead", VALUE_NUMBER, AT(recovery.settings.claim_ahead), "auto", 0, 4096, ROW_AUTO | RUNS,
     NULL,
     "Entries claimed before a handler is free for them. auto: as many as concurrency."},
    {"handler_timeout", VALUE_DURATION, AT(recovery.settings.handler_timeout), "30s",
     100 * MSEC, 30 * DAY, RUNS, NULL,
     "After so long a handler is sent SIGTERM, and SIGKILL 5s later; of a socket the connection is "
     "closed. The entry is tried again."},
    {"handler_output", VALUE_CHOICE, AT(recovery.settings.handler_output), "stderr", 0, 0, RUNS,
     outputs,
     "What of a handler's own output is logged. The rest is read and dropped. The standard output of "
     "a worker holds its answers: both is stderr there; none also hides the reasons it gives."},
    {"missing", VALUE_CHOICE, AT(recovery.settings.missing), "keep", 0, 0, RUNS | MOVE, missings,
     "What is done with a pending entry that is no longer in the stream: keep leaves it pending, "
     "ack acknowledges it."},
    {"max_deliveries", VALUE_NUMBER, AT(recovery.settings.max_deliveries), "0", 0,
     UINT64_C(1) << 53, RUNS, NULL,
     "An entry whose delivery counter has reached this is not handed out again, but dead-lettered "
     "or, without dead_letter_stream, left pending. The first delivery, to the consumer that was "
     "lost, counts. 0: no limit."},
    {"retry_delay", VALUE_DURATION, AT(recovery.settings.retry_delay), "auto",
     100 * MSEC, 30 * DAY, ROW_AUTO | RUNS, NULL,
     "The wait before the next attempt after a failure, doubled with each further one. Kept in "
     "memory: after a restart, or on another instance, it may be as short as min_idle. auto: "
     "min_idle."},
    {"retry_delay_max", VALUE_DURATION, AT(recovery.settings.retry_delay_max), "1h",
     100 * MSEC, 30 * DAY, RUNS, NULL,
     "The longest such wait."},
    {"dead_letter_stream", VALUE_TEXT, AT(recovery.dead_letter_stream), "", 0, 0, RUNS, NULL,
     "The key of a stream that gets a copy of what was rejected or has reached max_deliveries, "
     "with its provenance; the entry is acknowledged in the same step. Empty: such entries stay "
     "pending."},
    {"dead_letter_maxlen", VALUE_NUMBER, AT(recovery.settings.dead_letter_maxlen), "0", 0,
     UINT64_C(1) << 53, RUNS, NULL,
     "That stream is trimmed to about so many entries (MAXLEN ~). 0: no limit."},
    {"target_stream", VALUE_TEXT, AT(recovery.target_stream), "", 0, 0, MOVE, NULL,
     "Required by handler = move: the key of the stream that gets the entries, with their "
     "provenance."},
    {"target_maxlen", VALUE_NUMBER, AT(recovery.settings.target_maxlen), "0", 0,
     UINT64_C(1) << 53, MOVE, NULL,
     "That stream is trimmed to about so many entries (MAXLEN ~). 0: no limit."},
    {"worklist", VALUE_TEXT, AT(recovery.worklist), "", 0, 0, CLAIM_ONLY, NULL,
     "With handler = claim-only: the key of a list that gets the claimed IDs (RPUSH), each at "
     "least once. Empty: none; your consumer reads what is pending for it."},
};
/* clang-format on */

static const struct {
    const char *word;
    const struct row *rows;
    size_t n_rows;
    const char *not_built[32];
} sections[_SECTION_MAX] = {
    [SECTION_DAEMON] = {"daemon",
                        daemon_rows,
                        sizeof(daemon_rows) / sizeof(daemon_rows[0]),
                        {"metrics_listen", "metrics_public"}},
    [SECTION_REDIS] = {"redis",
                       redis_rows,
                       sizeof(redis_rows) / sizeof(redis_rows[0]),
                       {"sentinel_master", "sentinel_username", "sentinel_password_file",
                        "tls_ca_cert_file", "tls_ca_cert_dir", "tls_cert_file", "tls_key_file",
                        "tls_server_name"}},
    [SECTION_RECOVERY] = {"recovery",
                          recovery_rows,
                          sizeof(recovery_rows) / sizeof(recovery_rows[0]),
                          {"delete_after_ack", "delete_idle_consumers", "keep_consumers",
                           "stream_pattern", "group_pattern", "discover_interval",
                           "discover_limit"}},
};

static_assert(sizeof(recovery_rows) / sizeof(recovery_rows[0]) <= DRAFT_KEYS_MAX, "DRAFT_KEYS_MAX");

const struct row *schema_rows(enum section_kind kind, size_t *ret_n) {
    *ret_n = sections[kind].n_rows;
    return sections[kind].rows;
}

const struct row *schema_find(enum section_kind kind, const char *key) {
    for (size_t i = 0; i < sections[kind].n_rows; i++)
        if (strcmp(sections[kind].rows[i].key, key) == 0)
            return &sections[kind].rows[i];
    return NULL;
}

bool schema_applies(const struct row *row, const struct draft *draft) {
    unsigned kinds = row->flags & (ROW_FOR(_HANDLER_KIND_MAX) - ROW_FOR(0));

    return draft->kind != SECTION_RECOVERY || kinds == 0 ||
           kinds & ROW_FOR(draft->recovery.settings.handler);
}

bool schema_not_built(enum section_kind kind, const char *key) {
    for (const char *const *name = sections[kind].not_built; *name; name++)
        if (strcmp(*name, key) == 0)
            return true;
    return false;
}

const char *schema_section_word(enum section_kind kind) {
    return sections[kind].word;
}
