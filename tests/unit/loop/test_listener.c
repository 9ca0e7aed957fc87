/* SPDX-License-Identifier: BSD-3-Clause */
#include "unit.h"

#include "loop/listener.h"
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

struct place {
    char directory[64];
    char path[96];
    struct loop *loop;
    int accepted;
};

static int begin(void **state) {
    struct place *place = calloc(1, sizeof(*place));

    strcpy(place->directory, "/tmp/xautoclaimd-listener-XXXXXX");
    assert_non_null(mkdtemp(place->directory));
    (void)snprintf(place->path, sizeof(place->path), "%s/socket", place->directory);
    assert_int_equal(loop_new(&place->loop), 0);
    *state = place;
    return 0;
}

static int end(void **state) {
    struct place *place = *state;

    place->loop = loop_free(place->loop);
    (void)unlink(place->path);
    assert_int_equal(rmdir(place->directory), 0);
    free(place);
    return 0;
}

static void accepted(void *data, int fd) {
    struct place *place = data;

    assert_true(fcntl(fd, F_GETFD) & FD_CLOEXEC);
    assert_true(fcntl(fd, F_GETFL) & O_NONBLOCK);
    place->accepted++;
    (void)close(fd);
    loop_stop(place->loop);
}

static int make(struct place *place, struct listener **ret, int *ret_errno) {
    return listener_new_unix(place->loop, place->path, 0660, accepted, place, ret, ret_errno);
}

static struct listener *must_make(struct place *place) {
    struct listener *listener = NULL;
    int error = 0;

    assert_int_equal(make(place, &listener, &error), 0);
    return listener;
}

static int dial(const struct place *place) {
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    int fd = socket(AF_UNIX, SOCK_STREAM, 0);

    strcpy(address.sun_path, place->path);
    if (connect(fd, (const struct sockaddr *)&address, sizeof(address)) == 0)
        return fd;
    (void)close(fd);
    return -1;
}

static void test_it_has_its_mode_and_goes_with_its_listener(void **state) {
    struct place *place = *state;
    struct listener *listener;
    struct stat there;
    mode_t before = umask(0077);

    listener = must_make(place);
    assert_int_equal(umask(before), 0077);
    assert_int_equal(stat(place->path, &there), 0);
    assert_int_equal(there.st_mode & 07777, 0660);
    int fd = dial(place);
    assert_true(fd >= 0);
    assert_int_equal(loop_run(place->loop), 0);
    assert_int_equal(place->accepted, 1);
    (void)close(fd);
    listener = listener_free(listener);
    assert_int_equal(stat(place->path, &there), -1);
}

static void test_one_that_is_answered_is_left_alone(void **state) {
    struct place *place = *state;
    struct listener *first = must_make(place), *second = NULL;
    struct stat before, after;
    int error = 0;

    assert_int_equal(stat(place->path, &before), 0);
    assert_int_equal(make(place, &second, &error), LISTENER_E_REFUSED);
    assert_int_equal(error, EADDRINUSE);
    assert_int_equal(stat(place->path, &after), 0);
    assert_true(before.st_ino == after.st_ino);
    listener_free(first);
}

static void test_a_stale_one_is_replaced(void **state) {
    struct place *place = *state;
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    int dead = socket(AF_UNIX, SOCK_STREAM, 0);

    strcpy(address.sun_path, place->path);
    assert_int_equal(bind(dead, (const struct sockaddr *)&address, sizeof(address)), 0);
    (void)close(dead);
    struct listener *listener = must_make(place);
    int fd = dial(place);
    assert_true(fd >= 0);
    (void)close(fd);
    listener_free(listener);
}

static void test_what_is_no_socket_is_left_alone(void **state) {
    struct place *place = *state;
    struct listener *listener = NULL;
    struct stat there;
    int error = 0, fd = open(place->path, O_CREAT | O_WRONLY | O_CLOEXEC, 0600);

    (void)close(fd);
    assert_int_equal(make(place, &listener, &error), LISTENER_E_REFUSED);
    assert_int_equal(error, EADDRINUSE);
    assert_int_equal(stat(place->path, &there), 0);
    assert_true(S_ISREG(there.st_mode));
}

static void test_anothers_socket_is_not_removed(void **state) {
    struct place *place = *state;
    struct listener *first = must_make(place), *second;
    struct stat there;

    assert_int_equal(unlink(place->path), 0);
    second = must_make(place);
    listener_free(first);
    assert_int_equal(stat(place->path, &there), 0);
    listener_free(second);
    assert_int_equal(stat(place->path, &there), -1);
}

static void test_refusals(void **state) {
    struct place *place = *state;
    struct listener *listener = NULL;
    char path[200];
    int error = 0;

    memset(path, 'x', sizeof(path) - 1);
    path[0] = '/';
    path[sizeof(path) - 1] = '\0';
    assert_int_equal(listener_new_unix(place->loop, path, 0660, accepted, place, &listener, &error),
                     LISTENER_E_REFUSED);
    assert_int_equal(error, ENAMETOOLONG);
    assert_int_equal(listener_new_unix(place->loop, "/nonexistent/directory/socket", 0660, accepted,
                                       place, &listener, &error),
                     LISTENER_E_REFUSED);
    assert_int_equal(error, ENOENT);
}

static void stop(void *data) {
    loop_stop(((struct place *)data)->loop);
}

static void test_while_disabled_whoever_connects_waits(void **state) {
    struct place *place = *state;
    struct listener *listener = must_make(place);
    struct timer *timer = NULL;
    int fd = dial(place);

    listener_enable(listener, false);
    assert_int_equal(timer_new(place->loop, stop, place, &timer), 0);
    timer_arm(timer, 50 * USEC_PER_MSEC);
    assert_int_equal(loop_run(place->loop), 0);
    assert_int_equal(place->accepted, 0);
    listener_enable(listener, true);
    assert_int_equal(loop_run(place->loop), 0);
    assert_int_equal(place->accepted, 1);
    (void)close(fd);
    timer_free(timer);
    listener_free(listener);
}

int main(void) {
#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, end)
    const struct CMUnitTest tests[] = {
        TEST(test_it_has_its_mode_and_goes_with_its_listener),
        TEST(test_one_that_is_answered_is_left_alone),
        TEST(test_a_stale_one_is_replaced),
        TEST(test_what_is_no_socket_is_left_alone),
        TEST(test_anothers_socket_is_not_removed),
        TEST(test_refusals),
        TEST(test_while_disabled_whoever_connects_waits),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
