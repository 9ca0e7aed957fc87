/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * One function a rule, in the order in which they build on each other. A rule looks only at
 * values that are good by themselves, so that one mistake makes one complaint.
 */
#include "rules.h"

#include "address.h"
#include "base/secret.h"
#include "base/text.h"
#include "command.h"
#include "consumer.h"
#include "schema.h"
#include "url.h"
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define COUNT_WARNED 250
#define COMMAND_TIMEOUT_MAX (10 * USEC_PER_SEC)

struct rules {
    const struct config_source *source;
    struct config_memory *memory;
    struct complaints *complaints;
    char host[256];
};

static struct draft *servers(const struct rules *rules) {
    return draft_first(rules->memory, SECTION_REDIS);
}

static struct draft *recoveries(const struct rules *rules) {
    return draft_first(rules->memory, SECTION_RECOVERY);
}

static void refuse(struct rules *rules, const struct draft *draft, const char *key,
                   const char *why) {
    complain(rules->complaints, draft_place(draft, key), "%s", why);
}

/* --- every section --------------------------------------------------------------------------- */

static void check_required(struct rules *rules, const struct draft *draft) {
    size_t n;
    const struct row *rows = schema_rows(draft->kind, &n);

    for (size_t i = 0; i < n; i++) {
        char accepted[ACCEPTED_MAX];

        if (rows[i].fallback || draft_given(draft, rows[i].key))
            continue;
        complain(rules->complaints, draft_place(draft, rows[i].key),
                 "required, and not given; accepted: %s", schema_accepted(&rows[i], accepted));
    }
}

static bool applies(const struct draft *draft, const char *key) {
    return schema_applies(schema_find(draft->kind, key), draft);
}

/* Nothing is ignored: what means nothing to the handler is a misunderstanding, unless it is what it
 * would be anyway (so can a later file take back what an earlier one says). */
static void check_applies(struct rules *rules, const struct draft *draft) {
    const struct row *handler = schema_find(SECTION_RECOVERY, "handler");
    char kind[VALUE_TEXT_MAX], value[VALUE_TEXT_MAX];
    size_t n;
    const struct row *rows = schema_rows(draft->kind, &n);

    for (size_t i = 0; i < n; i++)
        if (draft_given(draft, rows[i].key) && !schema_applies(&rows[i], draft) &&
            strcmp(schema_format(&rows[i], draft, value), rows[i].fallback) != 0)
            complain(rules->complaints, draft_place(draft, rows[i].key),
                     "means nothing with handler = %s; accepted: a configuration without it",
                     schema_format(handler, draft, kind));
}

/* --- the daemon ------------------------------------------------------------------------------ */

/* "auto" becomes what it stands for here. */
static int find_control_socket(struct rules *rules, struct draft *draft) {
    const char *directory = rules->source->runtime_directory;
    char path[SOCKET_PATH_MAX + 2];

    if (strcmp(draft->daemon.control_socket, "auto") != 0)
        return 0;
    draft->daemon.control_socket = "off";
    if (!directory || directory[0] != '/')
        return 0;
    /* systemd separates several by colons. */
    int n = snprintf(path, sizeof(path), "%.*s/control", (int)strcspn(directory, ":"), directory);
    if (n > SOCKET_PATH_MAX) {
        refuse(rules, draft, "control_socket",
               "$RUNTIME_DIRECTORY is too long for a socket's path; accepted: a shorter path, or "
               "off");
        return 0;
    }
    draft->daemon.control_socket = memory_copy(rules->memory, path);
    return draft->daemon.control_socket ? 0 : -ENOMEM;
}

/* --- servers --------------------------------------------------------------------------------- */

/* Recoveries that name no server mean the unnamed one, written down or not. */
static int imply_unnamed_server(struct rules *rules) {
    for (const struct draft *draft = recoveries(rules); draft; draft = draft->next) {
        if (*draft->recovery.redis != '\0' || draft_find(rules->memory, SECTION_REDIS, ""))
            continue;
        if (!draft_add(rules->memory, SECTION_REDIS, "", draft->file, draft->line))
            return -ENOMEM;
    }
    return 0;
}

static int resolve_urls(struct rules *rules, struct draft *draft) {
    struct redis_draft *redis = &draft->redis;
    struct server_list list;
    char why[WHY_MAX];
    int r = urls_parse(redis->urls, rules->memory, &list, why);

    if (r < 0)
        return r;
    if (r > 0) {
        refuse(rules, draft, "url", why);
        return 0;
    }
    redis->settings.addresses = list.addresses;
    redis->settings.n_addresses = list.n;
    redis->settings.username = *redis->username != '\0' ? redis->username : list.user;
    if (list.user && *redis->username != '\0')
        refuse(rules, draft, "username",
               "the url names a user already; accepted: the user in one of the two places");
    return 0;
}

static void check_password(struct rules *rules, struct draft *draft) {
    CLEANUP(secret_wipe) struct secret secret = {0};
    struct redis_draft *redis = &draft->redis;
    char why[SECRET_WHY_MAX];

    if (!draft_knows(draft, "password_file") || *redis->password_file == '\0')
        return;
    redis->settings.password_file = redis->password_file;
    int r = secret_read(redis->password_file, rules->source->credentials_directory, &secret, why);
    if (r == SECRET_E_NO_DIRECTORY && rules->source->check_only)
        complain_warning(rules->complaints, draft_place(draft, "password_file"), "%s", why);
    else if (r != 0)
        refuse(rules, draft, "password_file", why);
    for (size_t i = 0; i < redis->settings.n_addresses; i++)
        if (!server_is_local(&redis->settings.addresses[i])) {
            complain_warning(rules->complaints, draft_place(draft, "password_file"),
                             "the password is sent in clear to another machine (%s)",
                             redis->settings.addresses[i].text);
            break;
        }
}

static void check_reconnect(struct rules *rules, const struct draft *draft) {
    const struct redis_settings *settings = &draft->redis.settings;
    char min[VALUE_TEXT_MAX];

    if (!draft_knows(draft, "reconnect_min") || !draft_knows(draft, "reconnect_max") ||
        settings->reconnect_min <= settings->reconnect_max)
        return;
    text_format_duration(settings->reconnect_min, min, sizeof(min));
    complain(
        rules->complaints,
        draft_place(draft, draft_given(draft, "reconnect_max") ? "reconnect_max" : "reconnect_min"),
        "reconnect_max is shorter than reconnect_min (%s); accepted: at least as long", min);
}

static int apply_to_server(struct rules *rules, struct draft *draft) {
    draft->redis.settings.name = draft->name;
    draft->redis.settings.smallest_min_idle = USEC_INFINITY;
    int r = draft_knows(draft, "url") ? resolve_urls(rules, draft) : 0;
    if (r < 0)
        return r;
    check_password(rules, draft);
    check_reconnect(rules, draft);
    return 0;
}

/* --- recoveries ------------------------------------------------------------------------------ */

static void find_server(struct rules *rules, struct draft *draft) {
    if (!draft_knows(draft, "redis"))
        return;
    draft->recovery.server = draft_find(rules->memory, SECTION_REDIS, draft->recovery.redis);
    if (!draft->recovery.server)
        complain(rules->complaints, draft_place(draft, "redis"),
                 "there is no section [redis %s]; accepted: the NAME of one",
                 draft->recovery.redis);
}

static int expand_consumer(struct rules *rules, struct draft *draft) {
    const struct specifiers specifiers = {
        .host = rules->host,
        .name = draft->name,
        .instance = rules->source->instance ? rules->source->instance : ""};
    char why[WHY_MAX];

    if (!draft_knows(draft, "consumer"))
        return 0;
    int r = consumer_expand(draft->recovery.consumer, &specifiers, rules->memory,
                            &draft->recovery.settings.consumer, &draft->recovery.consumer, why);
    if (r > 0)
        refuse(rules, draft, "consumer", why);
    return r < 0 ? r : 0;
}

/* What is given to another kind of handler is refused by check_applies(). */
static bool is_wanted(struct rules *rules, struct draft *draft, const char *key, const char *value,
                      const char *by, const char *accepted) {
    if (!applies(draft, key))
        return false;
    if (*value == '\0')
        complain(rules->complaints, draft_place(draft, key),
                 "required by handler = %s; accepted: %s", by, accepted);
    return *value != '\0';
}

static int split_command(struct rules *rules, struct draft *draft) {
    const char *command = draft->recovery.command;
    char why[WHY_MAX];

    if (!draft_knows(draft, "handler") || !draft_knows(draft, "command") ||
        !is_wanted(rules, draft, "command", command, "exec or worker", COMMAND_ACCEPTED))
        return 0;
    int r =
        command_split(draft->recovery.command, rules->memory, &draft->recovery.settings.argv, why);
    if (r > 0)
        refuse(rules, draft, "command", why);
    return r < 0 ? r : 0;
}

static int take_address(struct rules *rules, struct draft *draft) {
    const char *address = draft->recovery.address;
    char why[WHY_MAX];

    if (!draft_knows(draft, "handler") || !draft_knows(draft, "address") ||
        !is_wanted(rules, draft, "address", address, "socket", ADDRESS_ACCEPTED))
        return 0;
    int r = address_parse(address, rules->memory, &draft->recovery.settings.address, why);
    if (r > 0)
        refuse(rules, draft, "address", why);
    return r < 0 ? r : 0;
}

static void check_workers(struct rules *rules, struct draft *draft) {
    struct recovery_settings *settings = &draft->recovery.settings;
    uint64_t *workers = &draft->recovery.workers;

    if (!draft_knows(draft, "handler") || !draft_knows(draft, "workers") ||
        !draft_knows(draft, "concurrency") || !applies(draft, "workers"))
        return;
    if (*workers == VALUE_AUTO)
        *workers = settings->concurrency;
    if (*workers > settings->concurrency)
        complain(rules->complaints, draft_place(draft, "workers"),
                 "more than concurrency (%" PRIu64 "), so that some would never be given anything; "
                 "accepted: at most that",
                 settings->concurrency);
    settings->workers = *workers;
}

static void check_amounts(struct rules *rules, struct draft *draft) {
    struct recovery_settings *settings = &draft->recovery.settings;
    const struct draft *daemon = draft_first(rules->memory, SECTION_DAEMON);

    if (settings->claim_ahead == VALUE_AUTO)
        settings->claim_ahead = settings->concurrency;
    if (applies(draft, "max_deliveries") && draft_knows(draft, "max_deliveries") &&
        settings->max_deliveries == 1)
        complain_warning(rules->complaints, draft_place(draft, "max_deliveries"),
                         "the delivery to the consumer that was lost counts, so nothing is ever "
                         "handed out; recommended: at least 2");
    if (draft_knows(draft, "count") && settings->count > COUNT_WARNED)
        complain_warning(rules->complaints, draft_place(draft, "count"),
                         "the server may walk %" PRIu64 " entries in one blocking call; "
                         "recommended: at most %d",
                         10 * settings->count, COUNT_WARNED);
    if (applies(draft, "concurrency") && draft_knows(draft, "concurrency") &&
        draft_knows(daemon, "max_handlers") && settings->concurrency > daemon->daemon.max_handlers)
        complain_warning(rules->complaints, draft_place(draft, "concurrency"),
                         "more than [daemon] max_handlers (%" PRIu64 "), which limits it",
                         daemon->daemon.max_handlers);
}

static void check_retries(struct rules *rules, struct draft *draft) {
    struct recovery_settings *settings = &draft->recovery.settings;

    if (settings->retry_delay == VALUE_AUTO && draft_knows(draft, "min_idle"))
        settings->retry_delay = settings->min_idle;
    if (!draft_given(draft, "retry_delay_max"))
        settings->retry_delay_max = usec_max(settings->retry_delay_max, settings->retry_delay);
    else if (applies(draft, "retry_delay_max") && draft_knows(draft, "retry_delay_max") &&
             draft_knows(draft, "retry_delay") && settings->retry_delay_max < settings->retry_delay)
        refuse(rules, draft, "retry_delay_max", "less than retry_delay; accepted: at least that");
}

static void check_dead_letters(struct rules *rules, struct draft *draft) {
    struct recovery_settings *settings = &draft->recovery.settings;
    const char *target = draft->recovery.dead_letter_stream;

    if (*target != '\0')
        settings->dead_letter_stream = target;
    if (*target != '\0' && draft_knows(draft, "stream") && strcmp(target, settings->stream) == 0)
        refuse(rules, draft, "dead_letter_stream",
               "the stream itself; accepted: the key of another stream");
    if (*target == '\0' && applies(draft, "dead_letter_maxlen") &&
        draft_knows(draft, "dead_letter_maxlen") && settings->dead_letter_maxlen > 0)
        refuse(rules, draft, "dead_letter_maxlen",
               "there is no dead_letter_stream; accepted: together with that");
}

static void check_move(struct rules *rules, struct draft *draft) {
    struct recovery_settings *settings = &draft->recovery.settings;
    const char *target = draft->recovery.target_stream;

    if (settings->handler != HANDLER_MOVE || !draft_knows(draft, "target_stream"))
        return;
    settings->target_stream = target;
    if (*target == '\0')
        refuse(rules, draft, "target_stream",
               "required by handler = move; accepted: the key of another stream");
    else if (draft_knows(draft, "stream") && strcmp(target, settings->stream) == 0)
        refuse(rules, draft, "target_stream",
               "the stream itself; accepted: the key of another stream");
}

static void check_claim_only(struct rules *rules, struct draft *draft) {
    struct recovery_settings *settings = &draft->recovery.settings;
    const char *worklist = draft->recovery.worklist;

    if (settings->handler != HANDLER_CLAIM_ONLY || !draft_knows(draft, "worklist"))
        return;
    if (*worklist == '\0') {
        if (!draft_given(draft, "consumer"))
            refuse(rules, draft, "consumer",
                   "required by handler = claim-only without a worklist; accepted: the consumer of "
                   "your application that reads what is pending for it");
        return;
    }
    settings->worklist = worklist;
    if (draft_knows(draft, "stream") && strcmp(worklist, settings->stream) == 0)
        refuse(rules, draft, "worklist", "the stream itself; accepted: the key of a list");
}

static void check_handler(struct rules *rules, struct draft *draft) {
    if (!draft_knows(draft, "handler"))
        return;
    check_applies(rules, draft);
    check_move(rules, draft);
    check_claim_only(rules, draft);
}

static int apply_to_recovery(struct rules *rules, struct draft *draft) {
    draft->recovery.settings.name = draft->name;
    find_server(rules, draft);
    int r = expand_consumer(rules, draft);
    if (r == 0)
        r = split_command(rules, draft);
    if (r == 0)
        r = take_address(rules, draft);
    if (r < 0)
        return r;
    check_handler(rules, draft);
    check_workers(rules, draft);
    check_amounts(rules, draft);
    check_retries(rules, draft);
    check_dead_letters(rules, draft);
    return 0;
}

/* --- recoveries and their servers ------------------------------------------------------------ */

static const struct draft *find_smallest_min_idle(struct rules *rules, const struct draft *server) {
    const struct draft *smallest = NULL;

    for (const struct draft *draft = recoveries(rules); draft; draft = draft->next)
        if (draft->recovery.server == server && draft_knows(draft, "min_idle") &&
            (!smallest || draft->recovery.settings.min_idle < smallest->recovery.settings.min_idle))
            smallest = draft;
    return smallest;
}

static void settle_command_timeout(struct rules *rules, struct draft *draft) {
    struct redis_settings *settings = &draft->redis.settings;
    const struct draft *recovery = find_smallest_min_idle(rules, draft);
    char min_idle[VALUE_TEXT_MAX], most[VALUE_TEXT_MAX];

    if (recovery)
        settings->smallest_min_idle = recovery->recovery.settings.min_idle;
    if (!draft_knows(draft, "command_timeout"))
        return;
    if (settings->command_timeout == VALUE_AUTO) {
        draft->redis.command_timeout_auto = true;
        usec_t quarter = settings->smallest_min_idle / 4;

        settings->command_timeout =
            usec_min(quarter - quarter % USEC_PER_MSEC, COMMAND_TIMEOUT_MAX);
        return;
    }
    if (!recovery || settings->command_timeout <= settings->smallest_min_idle / 2)
        return;
    text_format_duration(settings->smallest_min_idle, min_idle, sizeof(min_idle));
    text_format_duration(settings->smallest_min_idle / 2, most, sizeof(most));
    complain(rules->complaints, draft_place(draft, "command_timeout"),
             "more than half of min_idle (%s) of [%s]; accepted: at most %s, or auto", min_idle,
             recovery->title, most);
}

/* Case does not tell host names apart. */
static bool is_same_address(const struct server_address *a, const struct server_address *b) {
    if (a->database != b->database || a->is_name != b->is_name)
        return false;
    return a->is_name ? strcasecmp(a->text, b->text) == 0 : strcmp(a->text, b->text) == 0;
}

/* Sections of different names may lead to the same server. */
static bool is_same_server(const struct draft *a, const struct draft *b) {
    const struct redis_settings *x = &a->redis.settings, *y = &b->redis.settings;

    if (a == b)
        return true;
    for (size_t i = 0; i < x->n_addresses; i++)
        for (size_t j = 0; j < y->n_addresses; j++)
            if (is_same_address(&x->addresses[i], &y->addresses[j]))
                return true;
    return false;
}

static bool is_same_group(const struct draft *a, const struct draft *b) {
    const struct recovery_draft *x = &a->recovery, *y = &b->recovery;

    if (!draft_knows(a, "stream") || !draft_knows(b, "stream") || !draft_knows(a, "group") ||
        !draft_knows(b, "group"))
        return false;
    return x->server && y->server && strcmp(x->settings.stream, y->settings.stream) == 0 &&
           strcmp(x->settings.group, y->settings.group) == 0 &&
           is_same_server(x->server, y->server);
}

static void check_twins(struct rules *rules, const struct draft *draft) {
    for (const struct draft *other = recoveries(rules); other; other = other->next) {
        if (other == draft)
            return;
        if (!is_same_group(draft, other))
            continue;
        struct place first = draft_place(other, "stream");
        complain(rules->complaints, draft_place(draft, "stream"),
                 "the same server, stream and group as [%s] (%s:%u); accepted: one recovery for "
                 "each group",
                 other->title, first.file, first.line);
        return;
    }
}

int rules_apply(const struct config_source *source, struct config_memory *memory,
                struct complaints *complaints) {
    struct rules rules = {.source = source, .memory = memory, .complaints = complaints};
    int r = imply_unnamed_server(&rules);

    if (r == 0 && gethostname(rules.host, sizeof(rules.host) - 1) < 0)
        r = -errno;
    if (r == 0)
        r = find_control_socket(&rules, draft_first(memory, SECTION_DAEMON));
    for (struct draft *draft = servers(&rules); draft; draft = draft->next) {
        check_required(&rules, draft);
        if (r == 0)
            r = apply_to_server(&rules, draft);
    }
    for (struct draft *draft = recoveries(&rules); draft; draft = draft->next) {
        check_required(&rules, draft);
        if (r == 0)
            r = apply_to_recovery(&rules, draft);
    }
    if (r < 0)
        return r;
    for (struct draft *draft = servers(&rules); draft; draft = draft->next)
        settle_command_timeout(&rules, draft);
    for (struct draft *draft = recoveries(&rules); draft; draft = draft->next)
        check_twins(&rules, draft);
    return 0;
}
