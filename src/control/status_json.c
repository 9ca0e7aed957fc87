/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The status as JSON, and back. Durations are seconds, to the millisecond; what there is none of is
 * null. Keys may be added, never change their meaning.
 */
#include "control/status.h"

#include "base/cleanup.h"
#include "base/text.h"
#include <errno.h>
#include <jansson.h>
#include <string.h>

#define TEXT_MAX 1024
/* Also numbers of a server that lies fit into a JSON integer. */
#define NUMBER_MAX ((uint64_t)INT64_MAX)

static const char *const number_names[_STATUS_NUMBER_MAX] = {
    [STATUS_CLAIMED] = "claimed",
    [STATUS_OK] = "ok",
    [STATUS_FAILED] = "failed",
    [STATUS_REJECTED] = "rejected",
    [STATUS_EXHAUSTED] = "exhausted",
    [STATUS_DEFERRED] = "deferred",
    [STATUS_MISSING] = "missing",
    [STATUS_LOST] = "lost",
    [STATUS_RELEASED] = "released",
    [STATUS_MOVED] = "moved",
    [STATUS_HANDED_OVER] = "handed_over",
    [STATUS_DELETED] = "deleted",
    [STATUS_DEAD_LETTERED] = "dead_lettered",
    [STATUS_ACKED] = "acked",
};

const char *status_number_to_string(enum status_number number) {
    return number_names[number];
}

usec_t status_age(uint64_t id_ms, uint64_t now_ms) {
    /* Before 2001, or in the future: the IDs count something else. */
    if (id_ms < UINT64_C(1000000000000) || id_ms > now_ms)
        return USEC_INFINITY;
    return (now_ms - id_ms) * USEC_PER_MSEC;
}

/* --- writing --------------------------------------------------------------------------------- */

/* Keys of streams may be any bytes; JSON is not. */
static json_t *text(const char *from) {
    char printable[TEXT_MAX];

    return json_string(
        text_printable((struct blob){from, strlen(from)}, printable, sizeof(printable)));
}

static json_t *number(uint64_t value) {
    return json_integer((json_int_t)(value < NUMBER_MAX ? value : NUMBER_MAX));
}

static json_t *seconds(usec_t value) {
    if (value == USEC_INFINITY)
        return json_null();
    return json_real((double)(value / USEC_PER_MSEC) / 1000);
}

static json_t *numbers(const uint64_t values[_STATUS_NUMBER_MAX]) {
    json_t *object = json_object();

    for (int i = 0; object && i < _STATUS_NUMBER_MAX; i++)
        if (json_object_set_new(object, number_names[i], number(values[i])) < 0) {
            json_decref(object);
            return NULL;
        }
    return object;
}

static json_t *last_pass(const struct status_recovery *r) {
    if (r->last_pass == USEC_INFINITY)
        return json_null();
    return json_pack("{s:o, s:o}", "seconds_ago", seconds(r->last_pass), "entries",
                     numbers(r->last));
}

static json_t *recovery_object(const struct status_recovery *r) {
    return json_pack("{s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o}",
                     "name", text(r->name), "state", text(r->state), "trouble", text(r->trouble),
                     "stream", text(r->stream), "group", text(r->group), "consumer",
                     text(r->consumer), "redis", text(r->redis), "pending", number(r->pending),
                     "oldest_seconds", seconds(r->oldest), "held", number(r->held), "running",
                     number(r->running), "next_scan_seconds", seconds(r->next_scan), "last_pass",
                     last_pass(r), "passes", number(r->passes), "total", numbers(r->total));
}

static json_t *server_object(const struct status_server *s) {
    return json_pack("{s:o, s:o, s:o, s:o, s:o}", "name", text(s->name), "address",
                     text(s->address), "state", text(s->state), "trouble", text(s->trouble),
                     "recoveries", number(s->recoveries));
}

static json_t *recovery_array(const struct control_status *status) {
    json_t *array = json_array();

    for (size_t i = 0; array && i < status->n_recoveries; i++)
        if (json_array_append_new(array, recovery_object(&status->recoveries[i])) < 0) {
            json_decref(array);
            return NULL;
        }
    return array;
}

static json_t *server_array(const struct control_status *status) {
    json_t *array = json_array();

    for (size_t i = 0; array && i < status->n_servers; i++)
        if (json_array_append_new(array, server_object(&status->servers[i])) < 0) {
            json_decref(array);
            return NULL;
        }
    return array;
}

int status_write(const struct control_status *status, FILE *out) {
    json_t *root = json_pack("{s:o, s:o, s:o, s:o, s:o, s:o}", "version", text(status->version),
                             "status", text(status->sentence), "pid", number(status->pid),
                             "up_seconds", seconds(status->up), "recoveries",
                             recovery_array(status), "servers", server_array(status));
    int error = root && json_dumpf(root, out, JSON_INDENT(1) | JSON_REAL_PRECISION(15)) == 0 &&
                        fputc('\n', out) != EOF
                    ? 0
                    : -ENOMEM;

    json_decref(root);
    return error;
}

/* --- reading --------------------------------------------------------------------------------- */

struct status_read {
    json_t *root; /* owns the strings */
    struct control_status status;
};

static const char *get_text(const json_t *object, const char *key) {
    const char *value = json_string_value(json_object_get(object, key));

    return value ? value : "";
}

static uint64_t get_number(const json_t *object, const char *key) {
    json_int_t value = json_integer_value(json_object_get(object, key));

    return value > 0 ? (uint64_t)value : 0;
}

static usec_t get_seconds(const json_t *object, const char *key) {
    const json_t *value = json_object_get(object, key);
    double amount = json_number_value(value);

    if (!json_is_number(value) || !(amount >= 0 && amount < 1e12))
        return USEC_INFINITY;
    return (usec_t)(amount * 1000 + 0.5) * USEC_PER_MSEC;
}

static void get_numbers(const json_t *object, uint64_t values[_STATUS_NUMBER_MAX]) {
    for (int i = 0; i < _STATUS_NUMBER_MAX; i++)
        values[i] = get_number(object, number_names[i]);
}

static void get_recovery(const json_t *object, struct status_recovery *r) {
    const json_t *pass = json_object_get(object, "last_pass");

    *r = (struct status_recovery){
        .name = get_text(object, "name"),
        .state = get_text(object, "state"),
        .trouble = get_text(object, "trouble"),
        .stream = get_text(object, "stream"),
        .group = get_text(object, "group"),
        .consumer = get_text(object, "consumer"),
        .redis = get_text(object, "redis"),
        .pending = get_number(object, "pending"),
        .oldest = get_seconds(object, "oldest_seconds"),
        .held = get_number(object, "held"),
        .running = get_number(object, "running"),
        .next_scan = get_seconds(object, "next_scan_seconds"),
        .last_pass = get_seconds(pass, "seconds_ago"),
        .passes = get_number(object, "passes"),
    };
    get_numbers(json_object_get(pass, "entries"), r->last);
    get_numbers(json_object_get(object, "total"), r->total);
}

static void get_server(const json_t *object, struct status_server *s) {
    *s = (struct status_server){
        .name = get_text(object, "name"),
        .address = get_text(object, "address"),
        .state = get_text(object, "state"),
        .trouble = get_text(object, "trouble"),
        .recoveries = get_number(object, "recoveries"),
    };
}

static int get_status(const json_t *root, struct control_status *status) {
    const json_t *recoveries = json_object_get(root, "recoveries");
    const json_t *servers = json_object_get(root, "servers");

    if (!json_is_array(recoveries) || !json_is_array(servers))
        return STATUS_E_BAD;
    *status = (struct control_status){
        .version = get_text(root, "version"),
        .sentence = get_text(root, "status"),
        .pid = get_number(root, "pid"),
        .up = get_seconds(root, "up_seconds"),
        .n_recoveries = json_array_size(recoveries),
        .n_servers = json_array_size(servers),
    };
    status->recoveries = calloc(status->n_recoveries + 1, sizeof(*status->recoveries));
    status->servers = calloc(status->n_servers + 1, sizeof(*status->servers));
    if (!status->recoveries || !status->servers)
        return -ENOMEM;
    for (size_t i = 0; i < status->n_recoveries; i++)
        get_recovery(json_array_get(recoveries, i), &status->recoveries[i]);
    for (size_t i = 0; i < status->n_servers; i++)
        get_server(json_array_get(servers, i), &status->servers[i]);
    return 0;
}

int status_read(const char *from, struct status_read **ret) {
    struct status_read *read = calloc(1, sizeof(*read));
    int r;

    if (!read)
        return -ENOMEM;
    read->root = json_loads(from, 0, NULL);
    r = read->root ? get_status(read->root, &read->status) : STATUS_E_BAD;
    if (r != 0) {
        status_read_free(read);
        return r;
    }
    *ret = read;
    return 0;
}

struct status_read *status_read_free(struct status_read *read) {
    if (!read)
        return NULL;
    free(read->status.recoveries);
    free(read->status.servers);
    json_decref(read->root);
    free(read);
    return NULL;
}

const struct control_status *status_read_get(const struct status_read *read) {
    return &read->status;
}
