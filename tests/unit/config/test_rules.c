/* SPDX-License-Identifier: BSD-3-Clause */
#include "case.h"

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static void test_servers_are_looked_up(void **state) {
    struct test_case *self = *state;

    case_refuses(self, RECOVERY("a") "redis = cache\n[redis]\n",
                 "main.conf:7: [recovery a] redis: there is no section [redis cache]; accepted: "
                 "the NAME of one\n");
    /* the unnamed server need not be written down, and is not there for nothing */
    case_accepts(self, "[redis other]\n" RECOVERY("a") RECOVERY("b"), "");
    assert_int_equal(self->config->n_redis, 2);
    assert_string_equal(self->config->recoveries[0].redis->name, "");
    assert_ptr_equal(self->config->recoveries[0].redis, self->config->recoveries[1].redis);
    case_accepts(self, "[redis other]\n" RECOVERY("a") "redis = other\n", "");
    assert_int_equal(self->config->n_redis, 1);
    case_accepts(self, "[redis]\n", "");
    assert_int_equal(self->config->n_redis, 1);
    assert_true(self->config->redis[0].smallest_min_idle == USEC_INFINITY);
    assert_true(self->config->redis[0].command_timeout == 10 * USEC_PER_SEC);
}

static void test_a_user_in_two_places(void **state) {
    struct test_case *self = *state;

    case_refuses(self, "[redis]\nusername = joe\nurl = redis://joe@127.0.0.1\n",
                 "main.conf:2: [redis] username: the url names a user already; accepted: the user "
                 "in one of the two places\n");
    case_accepts(self, "[redis]\nusername =\nurl = redis://joe@127.0.0.1\n", "");
    assert_string_equal(self->config->redis[0].username, "joe");
    case_accepts(self, "[redis]\n", "");
    assert_null(self->config->redis[0].username);
}

static void test_urls_are_refused_without_repeating_them(void **state) {
    struct test_case *self = *state;

    case_refuses(self, "[redis]\nurl = redis://joe:hunter2@127.0.0.1\n",
                 "main.conf:2: [redis] url: a password in a url is refused; accepted: "
                 "password_file\n");
    case_refuses(
        self, "[redis]\nurl = redis://hunter2_\n",
        "main.conf:2: [redis] url: a host name with other characters than letters, digits, "
        "- and .; accepted: redis://[user@]host[:port][/db] or unix:///path[?db=N]\n");
    case_refuses(self, "[redis]\nurl = rediss://127.0.0.1\n",
                 "main.conf:2: [redis] url: TLS (rediss://) is not built yet; accepted: "
                 "redis://[user@]host[:port][/db] or unix:///path[?db=N]\n");
    /* a second url that was not indented */
    case_load_text(self, "[redis]\nurl = unix:///s\nredis://joe:hunter2@127.0.0.1\n");
    assert_non_null(strstr(self->said, "main.conf:3: [redis] redis: unknown key; accepted: url, "));
    assert_null(strstr(self->said, "hunter2"));
    assert_int_equal(self->result, CONFIG_E_INVALID);
}

static void test_reconnect_times(void **state) {
    struct test_case *self = *state;

    case_refuses(self, "[redis]\nreconnect_max = 99ms\n",
                 "main.conf:2: [redis] reconnect_max: reconnect_max is shorter than reconnect_min "
                 "(100ms); accepted: at least as long\n");
    case_refuses(self, "[redis]\nreconnect_min = 31s\n",
                 "main.conf:2: [redis] reconnect_min: reconnect_max is shorter than reconnect_min "
                 "(31s); accepted: at least as long\n");
}

static void test_command_timeout_and_min_idle(void **state) {
    struct test_case *self = *state;

    case_refuses(self, "[redis]\ncommand_timeout = 30001ms\n" RECOVERY("a"),
                 "main.conf:2: [redis] command_timeout: more than half of min_idle (1m) of "
                 "[recovery a]; accepted: at most 30s, or auto\n");
    case_accepts(self, "[redis]\ncommand_timeout = 30s\n" RECOVERY("a"), "");
    case_accepts(self, "[redis]\ncommand_timeout = 1h\n", "");
    /* of several the smallest counts, on its own server */
    case_refuses(self,
                 "[redis]\ncommand_timeout = 2s\n" RECOVERY(
                     "a") "[recovery b]\nstream = s\n"
                          "group = g\nhandler = exec\ncommand = /bin/true\nmin_idle = 3s\n",
                 "main.conf:2: [redis] command_timeout: more than half of min_idle (3s) of "
                 "[recovery b]; accepted: at most 1s 500ms, or auto\n");
    case_accepts(
        self,
        "[redis]\ncommand_timeout = 2s\n[redis two]\n" RECOVERY(
            "a") "[recovery b]\n"
                 "stream = s\ngroup = g\nhandler = exec\ncommand = /bin/true\nmin_idle = 1001ms\n"
                 "redis = two\n",
        "");
    assert_true(self->config->redis[0].smallest_min_idle == 60 * USEC_PER_SEC);
    assert_true(self->config->redis[1].smallest_min_idle == 1001 * USEC_PER_MSEC);
    assert_true(self->config->redis[1].command_timeout == 250 * USEC_PER_MSEC);
}

#define TWIN "[recovery b]\nmin_idle = 60s\nhandler = exec\ncommand = /bin/true\n"

static void test_the_same_group_twice(void **state) {
    struct test_case *self = *state;
    static const char want[] = ": the same server, stream and group as [recovery a] (main.conf:2); "
                               "accepted: one recovery for each group\n";
    char line[256];

    (void)snprintf(line, sizeof(line), "main.conf:11: [recovery b] stream%s", want);
    case_refuses(self, RECOVERY("a") TWIN "stream = s-a\ngroup = g\n", line);
    case_accepts(self, RECOVERY("a") TWIN "stream = s-a\ngroup = h\n", "");
    case_accepts(self, RECOVERY("a") TWIN "stream = s-b\ngroup = g\n", "");
    case_accepts(self,
                 RECOVERY("a") TWIN "stream = s-a\ngroup = g\nredis = two\n[redis two]\n"
                                    "url = redis://127.0.0.1:6380\n",
                 "");
    case_accepts(self,
                 RECOVERY("a") TWIN "stream = s-a\ngroup = g\nredis = two\n[redis two]\n"
                                    "url = redis://127.0.0.1/1\n",
                 "");
    case_refuses(self,
                 RECOVERY("a") TWIN "stream = s-a\ngroup = g\nredis = two\n[redis two]\n"
                                    "url = unix:///s redis://127.0.0.1\n",
                 line);
    case_refuses(self,
                 RECOVERY("a") TWIN "stream = s-a\ngroup = g\nredis = two\n[redis]\n"
                                    "url = redis://db.example\n[redis two]\n"
                                    "url = redis://DB.Example:6379\n",
                 line);
}

static void test_the_same_group_twice_on_a_bad_url(void **state) {
    case_refuses(*state, "[redis]\nurl = unix://s\n" RECOVERY("a") TWIN "stream = s-a\ngroup = g\n",
                 "main.conf:2: [redis] url: the path of a socket must be absolute; accepted: "
                 "unix:///path[?db=N]\n"
                 "main.conf:13: [recovery b] stream: the same server, stream and group as "
                 "[recovery a] (main.conf:4); accepted: one recovery for each group\n");
}

static void test_consumers(void **state) {
    struct test_case *self = *state;
    char host[256] = "", want[512];

    assert_int_equal(gethostname(host, sizeof(host) - 1), 0);
    case_accepts(self, RECOVERY("a"), "");
    (void)snprintf(want, sizeof(want), "xautoclaimd-%s", host);
    assert_string_equal(self->config->recoveries[0].consumer, want);
    self->source.instance = "eu";
    case_accepts(self, RECOVERY("a") "consumer = %N.%i.%%\n", "");
    assert_string_equal(self->config->recoveries[0].consumer, "a.eu.%");
    self->source.instance = NULL;
    case_refuses(self, RECOVERY("a") "consumer = %i\n",
                 "main.conf:7: [recovery a] consumer: expands to an empty name; accepted: a name, "
                 "with %H (host name), %N (NAME), %i (instance) and %%\n");
    case_refuses(self, RECOVERY("a") "consumer =\n",
                 "main.conf:7: [recovery a] consumer: must not be empty; accepted: a name, with %H "
                 "(host name), %N (NAME), %i (instance) and %%\n");
    case_refuses(self, RECOVERY("a") "consumer = a%Z\n",
                 "main.conf:7: [recovery a] consumer: \"a%Z\" has a % that none of H N i % "
                 "follows; accepted: a name, with %H (host name), %N (NAME), %i (instance) and "
                 "%%\n");
    self->source.instance = "a\nb";
    case_refuses(self, RECOVERY("a") "consumer = %i\n",
                 "main.conf:7: [recovery a] consumer: expands to a name with control characters; "
                 "accepted: names without\n");
}

static void test_names_with_control_characters(void **state) {
    struct test_case *self = *state;

    case_refuses(self,
                 "[recovery a]\nstream = a\x1b[31m\ngroup = a\tb\nconsumer = a\x7f\nmin_idle = 1s\n"
                 "handler = exec\ncommand = /bin/true\ta\x01\n[redis]\nusername = a\x02z\n",
                 "main.conf:2: [recovery a] stream: holds a control character; accepted: text "
                 "without them\n"
                 "main.conf:3: [recovery a] group: holds a control character; accepted: text "
                 "without them\n"
                 "main.conf:4: [recovery a] consumer: holds a control character; accepted: text "
                 "without them\n"
                 "main.conf:7: [recovery a] command: holds a control character; accepted: text "
                 "without them\n"
                 "main.conf:9: [redis] username: holds a control character; accepted: text without "
                 "them\n");
}

static void test_commands(void **state) {
    struct test_case *self = *state;

    case_refuses(
        self, "[recovery a]\nstream = s\ngroup = g\nmin_idle = 1s\nhandler = exec\n",
        "main.conf:1: [recovery a] command: required by handler = exec or worker; accepted: an "
        "absolute program and its arguments\n");
    case_refuses(self,
                 "[recovery a]\nstream = s\ngroup = g\nmin_idle = 1s\nhandler = exec\n"
                 "command = handle --token 'hunter2'\n",
                 "main.conf:6: [recovery a] command: the program is not an absolute path; "
                 "accepted: an absolute program and its arguments\n");
    case_refuses(self,
                 "[recovery a]\nstream = s\ngroup = g\nmin_idle = 1s\nhandler = exec\n"
                 "command = /bin/handle\n --token \"hunter2\n",
                 "main.conf:6: [recovery a] command: a quote that is not closed; accepted: quotes "
                 "in pairs\n");
}

#define BARE "[recovery a]\nstream = s\ngroup = g\nmin_idle = 1s\n"

static void test_kinds_of_handlers(void **state) {
    struct test_case *self = *state;

    case_refuses(self, BARE "handler = worker\n",
                 "main.conf:1: [recovery a] command: required by handler = exec or worker; "
                 "accepted: an absolute program and its arguments\n");
    case_refuses(self, BARE "handler = socket\n",
                 "main.conf:1: [recovery a] address: required by handler = socket; accepted: "
                 "unix:/path, 127.0.0.1:port or [::1]:port\n");
    case_refuses(self, BARE "handler = socket\naddress = unix:/s\ncommand = /bin/true\n",
                 "main.conf:7: [recovery a] command: means nothing with handler = socket; "
                 "accepted: a configuration without it\n");
    static const char *const others[] = {"exec", "worker"};
    for (size_t i = 0; i < 2; i++) {
        char text[256], want[256];

        (void)snprintf(text, sizeof(text),
                       BARE "handler = %s\ncommand = /bin/true\naddress = unix:/s\n", others[i]);
        (void)snprintf(want, sizeof(want),
                       "main.conf:7: [recovery a] address: means nothing with handler = %s; "
                       "accepted: a configuration without it\n",
                       others[i]);
        case_refuses(self, text, want);
    }
    /* what is bad by itself is told once */
    case_refuses(self, BARE "handler = socket\naddress = 10.0.0.1:80\n",
                 "main.conf:6: [recovery a] address: \"10.0.0.1:80\" is not an address of this "
                 "machine; accepted: unix:/path, 127.0.0.1:port or [::1]:port\n");
    case_accepts(self, BARE "handler = socket\naddress = unix:/s\ncommand =\n", "");
    assert_int_equal(self->config->recoveries[0].handler, HANDLER_SOCKET);
    assert_null(self->config->recoveries[0].argv);
    assert_string_equal(self->config->recoveries[0].address->path, "/s");
    case_accepts(self, BARE "handler = worker\ncommand = /bin/a b\naddress =\n", "");
    assert_int_equal(self->config->recoveries[0].handler, HANDLER_WORKER);
    assert_string_equal(self->config->recoveries[0].argv[1], "b");
    assert_null(self->config->recoveries[0].address);
}

static void test_workers_and_concurrency(void **state) {
    struct test_case *self = *state;
    static const char want[] = "more than concurrency (4), so that some would never be given "
                               "anything; accepted: at most that\n";
    char line[256];

    (void)snprintf(line, sizeof(line), "main.conf:7: [recovery a] workers: %s", want);
    case_refuses(self, BARE "handler = worker\ncommand = /bin/a\nworkers = 5\n", line);
    case_refuses(self, BARE "handler = socket\naddress = unix:/s\nworkers = 5\n", line);
    case_refuses(self, RECOVERY("a") "workers = 1\n",
                 "main.conf:7: [recovery a] workers: means nothing with handler = exec; accepted: "
                 "a configuration without it\n");
    case_accepts(self, RECOVERY("a") "workers = auto\n", "");
    assert_int_equal(self->config->recoveries[0].workers, 0);
    case_accepts(self, BARE "handler = worker\ncommand = /bin/a\n", "");
    assert_int_equal(self->config->recoveries[0].workers, 4);
    case_accepts(self, BARE "handler = worker\ncommand = /bin/a\nconcurrency = 64\nworkers = 1\n",
                 "");
    assert_int_equal(self->config->recoveries[0].workers, 1);
    case_accepts(
        self, BARE "handler = socket\naddress = unix:/s\nconcurrency = 64\nworkers = auto\n", "");
    assert_int_equal(self->config->recoveries[0].workers, 64);
}

static void test_warnings(void **state) {
    struct test_case *self = *state;

    case_accepts(self, RECOVERY("a") "count = 250\n", "");
    case_accepts(self, RECOVERY("a") "count = 251\n",
                 "warning: main.conf:7: [recovery a] count: the server may walk 2510 entries in "
                 "one blocking call; recommended: at most 250\n");
    case_accepts(self, "[daemon]\nmax_handlers = 3\n" RECOVERY("a"),
                 "warning: main.conf:3: [recovery a] concurrency: more than [daemon] max_handlers "
                 "(3), which limits it\n");
    case_accepts(self, "[daemon]\nmax_handlers = 4\n" RECOVERY("a"), "");
}

/* --- passwords ------------------------------------------------------------------------------- */

static void load_with_password(struct test_case *self, const char *url, const char *name) {
    char text[512];

    (void)snprintf(text, sizeof(text), "[redis]\nurl = %s\npassword_file = %s%s\n", url,
                   *name == '/' ? self->directory : "", name);
    case_load_text(self, text);
}

static void write_password(struct test_case *self, mode_t mode, const char *text, size_t size) {
    char path[256];

    case_write(self, "password", text, size);
    (void)snprintf(path, sizeof(path), "%s/password", self->directory);
    assert_int_equal(chmod(path, mode), 0);
}

/* The reason, with the name of the file. */
static void assert_refused_password(const struct test_case *self, const char *reason) {
    char want[512];

    (void)snprintf(want, sizeof(want), "main.conf:3: [redis] password_file: %s (password)\n",
                   reason);
    assert_string_equal(self->said, want);
}

static void test_a_password_file_is_tried(void **state) {
    struct test_case *self = *state;

    load_with_password(self, "redis://127.0.0.1", "/password");
    assert_string_equal(self->said, "main.conf:3: [redis] password_file: cannot be read: No such "
                                    "file or directory\n");
    assert_int_equal(self->result, CONFIG_E_INVALID);
    write_password(self, 0600, "hunter2\n", 8);
    load_with_password(self, "redis://127.0.0.1", "/password");
    assert_string_equal(self->said, "");
    assert_int_equal(self->result, 0);
    assert_non_null(strstr(self->config->redis[0].password_file, "/password"));
    write_password(self, 0644, "hunter2\n", 8);
    load_with_password(self, "redis://127.0.0.1", "/password");
    assert_refused_password(self, "others have rights on the file; accepted: mode 0600 or 0640");
    assert_int_equal(self->result, CONFIG_E_INVALID);
    write_password(self, 0600, "\n", 1);
    load_with_password(self, "redis://127.0.0.1", "/password");
    assert_refused_password(self, "the file is empty");
    write_password(self, 0600, "a\0b", 3);
    load_with_password(self, "redis://127.0.0.1", "/password");
    assert_refused_password(self, "the file holds a NUL byte");
}

static void test_a_bare_name_is_a_credential(void **state) {
    struct test_case *self = *state;
    static const char unset[] = "main.conf:3: [redis] password_file: a bare name is looked up in "
                                "$CREDENTIALS_DIRECTORY, which is not set\n";
    char warning[256];

    load_with_password(self, "redis://127.0.0.1", "password");
    assert_string_equal(self->said, unset);
    assert_int_equal(self->result, CONFIG_E_INVALID);
    self->source.check_only = true;
    load_with_password(self, "redis://127.0.0.1", "password");
    (void)snprintf(warning, sizeof(warning), "warning: %s", unset);
    assert_string_equal(self->said, warning);
    assert_int_equal(self->result, 0);
    /* inside the unit it is read, whatever its mode */
    self->source.credentials_directory = self->directory;
    load_with_password(self, "redis://127.0.0.1", "password");
    assert_int_equal(self->result, CONFIG_E_INVALID);
    write_password(self, 0444, "hunter2", 7);
    load_with_password(self, "redis://127.0.0.1", "password");
    assert_string_equal(self->said, "");
    assert_int_equal(self->result, 0);
    assert_string_equal(self->config->redis[0].password_file, "password");
}

static void test_a_password_in_clear(void **state) {
    struct test_case *self = *state;

    write_password(self, 0600, "hunter2\n", 8);
    load_with_password(self, "redis://127.0.0.1 redis://10.0.0.1 redis://10.0.0.2", "/password");
    assert_string_equal(self->said, "warning: main.conf:3: [redis] password_file: the password is "
                                    "sent in clear to another machine (10.0.0.1:6379)\n");
    assert_int_equal(self->result, 0);
    load_with_password(self, "unix:///s redis://[::1]", "/password");
    assert_string_equal(self->said, "");
    case_accepts(self, "[redis]\nurl = redis://10.0.0.1\n", "");
    /* a name is another machine's, whatever it leads to; it is not looked up */
    load_with_password(self, "redis://localhost redis://cache.invalid:7000", "/password");
    assert_string_equal(self->said, "warning: main.conf:3: [redis] password_file: the password is "
                                    "sent in clear to another machine (cache.invalid:7000)\n");
    load_with_password(self, "redis://LocalHost", "/password");
    assert_string_equal(self->said, "");
}

#define CASE(test) cmocka_unit_test_setup_teardown(test, case_begin, case_end)

#define OF_KIND(kind)                                                                              \
    "[recovery a]\nstream = s\ngroup = g\nconsumer = c\nmin_idle = 60s\nhandler = " kind "\n"

static void test_keys_that_mean_nothing_to_a_handler(void **state) {
    struct test_case *self = *state;
    static const struct {
        const char *key, *value;
        const char *kinds; /* x: exec, w: worker, s: socket, m: move, c: claim-only */
    } keys[] = {
        {"command", "/bin/true", "xw"},
        {"address", "unix:/s", "s"},
        {"workers", "2", "ws"},
        {"payload", "id", "xws"},
        {"concurrency", "5", "xws"},
        {"claim_ahead", "1", "xws"},
        {"handler_timeout", "1s", "xws"},
        {"handler_output", "none", "xws"},
        {"missing", "ack", "xwsm"},
        {"max_deliveries", "1", "xws"},
        {"retry_delay", "2h", "xws"},
        {"retry_delay_max", "2s", "xws"},
        {"dead_letter_stream", "d", "xws"},
        {"dead_letter_maxlen", "1", "xws"},
        {"target_stream", "t2", "m"},
        {"target_maxlen", "1", "m"},
        {"worklist", "l", "c"},
        {"count", "10", "xwsmc"},
        {"interval", "1s", "xwsmc"},
    };
    static const struct {
        char letter;
        const char *name, *text;
    } kinds[] = {
        {'x', "exec", OF_KIND("exec") "\n"},
        {'w', "worker", OF_KIND("worker") "\n"},
        {'s', "socket", OF_KIND("socket") "\n"},
        {'m', "move", OF_KIND("move") "\n"},
        {'c', "claim-only", OF_KIND("claim-only") "\n"},
    };

    for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++)
        for (size_t j = 0; j < sizeof(kinds) / sizeof(kinds[0]); j++) {
            char text[512], want[256];

            (void)snprintf(text, sizeof(text), "%s%s = %s\n", kinds[j].text, keys[i].key,
                           keys[i].value);
            (void)snprintf(want, sizeof(want),
                           "main.conf:8: [recovery a] %s: means nothing with handler = %s; "
                           "accepted: a configuration without it\n",
                           keys[i].key, kinds[j].name);
            case_load_text(self, text);
            assert_int_equal(strstr(self->said, want) == NULL,
                             strchr(keys[i].kinds, kinds[j].letter) != NULL);
        }
    /* A later file takes back what an earlier one says. */
    case_accepts(self,
                 OF_KIND("move") "target_stream = t\ncommand =\nclaim_ahead = auto\n"
                                 "retry_delay = auto\nconcurrency = 4\nworklist =\n",
                 "");
}

static void test_where_entries_are_moved(void **state) {
    struct test_case *self = *state;
    const struct recovery_settings *settings;

    case_accepts(self, OF_KIND("move") "target_stream = t\ntarget_maxlen = 7\n", "");
    settings = &self->config->recoveries[0];
    assert_int_equal(settings->handler, HANDLER_MOVE);
    assert_string_equal(settings->target_stream, "t");
    assert_int_equal(settings->target_maxlen, 7);
    assert_null(settings->argv);
    case_refuses(self, OF_KIND("move"),
                 "main.conf:1: [recovery a] target_stream: required by handler = move; accepted: "
                 "the key of another stream\n");
    case_refuses(self, OF_KIND("move") "target_stream = s\n",
                 "main.conf:7: [recovery a] target_stream: the stream itself; accepted: the key of "
                 "another stream\n");
}

static void test_for_whom_entries_are_claimed(void **state) {
    struct test_case *self = *state;
    const struct recovery_settings *settings;
    static const char nobody[] =
        "[recovery a]\nstream = s\ngroup = g\nmin_idle = 60s\nhandler = claim-only\n";
    char text[256];

    case_accepts(self, OF_KIND("claim-only"), "");
    settings = &self->config->recoveries[0];
    assert_int_equal(settings->handler, HANDLER_CLAIM_ONLY);
    assert_string_equal(settings->consumer, "c");
    assert_null(settings->worklist);
    case_refuses(self, nobody,
                 "main.conf:1: [recovery a] consumer: required by handler = claim-only without a "
                 "worklist; accepted: the consumer of your application that reads what is pending "
                 "for it\n");
    (void)snprintf(text, sizeof(text), "%sworklist = l\n", nobody);
    case_accepts(self, text, "");
    assert_string_equal(self->config->recoveries[0].worklist, "l");
    case_refuses(self, OF_KIND("claim-only") "worklist = s\n",
                 "main.conf:7: [recovery a] worklist: the stream itself; accepted: the key of a "
                 "list\n");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        CASE(test_servers_are_looked_up),
        CASE(test_a_user_in_two_places),
        CASE(test_urls_are_refused_without_repeating_them),
        CASE(test_reconnect_times),
        CASE(test_command_timeout_and_min_idle),
        CASE(test_the_same_group_twice),
        CASE(test_the_same_group_twice_on_a_bad_url),
        CASE(test_consumers),
        CASE(test_names_with_control_characters),
        CASE(test_commands),
        CASE(test_kinds_of_handlers),
        CASE(test_workers_and_concurrency),
        CASE(test_warnings),
        CASE(test_keys_that_mean_nothing_to_a_handler),
        CASE(test_where_entries_are_moved),
        CASE(test_for_whom_entries_are_claimed),
        CASE(test_a_password_file_is_tried),
        CASE(test_a_bare_name_is_a_credential),
        CASE(test_a_password_in_clear),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
