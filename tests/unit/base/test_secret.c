/* SPDX-License-Identifier: BSD-3-Clause */
#include "unit.h"

#include "base/secret.h"
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static char directory[] = "/tmp/xautoclaimd-secret-XXXXXX";
static char path[64];

static int begin(void **state) {
    strcpy(directory + strlen(directory) - 6, "XXXXXX");
    if (!mkdtemp(directory))
        return -1;
    (void)snprintf(path, sizeof(path), "%s/pw", directory);
    return 0;
}

static int end(void **state) {
    (void)unlink(path);
    (void)rmdir(path);
    return rmdir(directory);
}

static void write_file(const char *text, size_t size, mode_t mode) {
    FILE *file = fopen(path, "w");

    assert_non_null(file);
    assert_int_equal(fwrite(text, 1, size, file), size);
    assert_int_equal(fclose(file), 0);
    assert_int_equal(chmod(path, mode), 0);
}

static void reads(const char *name, const char *credentials, const char *want) {
    struct secret secret;
    char why[SECRET_WHY_MAX] = "";

    assert_int_equal(secret_read(name, credentials, &secret, why), 0);
    assert_string_equal(why, "");
    assert_string_equal(secret.data, want);
    assert_int_equal(secret.size, strlen(want));
    secret_wipe(&secret);
    assert_int_equal(secret.size, 0);
    assert_int_equal(secret.data[0], 0);
}

static void refuses(const char *name, const char *credentials, int result, const char *want) {
    static const struct secret nothing;
    struct secret secret;
    char why[SECRET_WHY_MAX] = "";

    memset(&secret, 'x', sizeof(secret));
    assert_int_equal(secret_read(name, credentials, &secret, why), result);
    assert_string_equal(why, want);
    assert_memory_equal(&secret, &nothing, sizeof(secret));
}

/* The file is there, so the reason ends in its name. */
static void refuses_file(const char *name, const char *credentials, const char *reason) {
    char want[SECRET_WHY_MAX];

    (void)snprintf(want, sizeof(want), "%s (%s)", reason, name);
    refuses(name, credentials, SECRET_E_REFUSED, want);
}

static void test_one_newline_is_stripped(void **state) {
    write_file("hunter2", 7, 0600);
    reads(path, NULL, "hunter2");
    write_file("hunter2\n", 8, 0400);
    reads(path, NULL, "hunter2");
    write_file("hunter2\n\n", 9, 0600);
    reads(path, NULL, "hunter2\n");
    write_file(" a b ", 5, 0640);
    reads(path, NULL, " a b ");
}

static void test_bad_contents(void **state) {
    char text[SECRET_MAX + 2];

    write_file("", 0, 0600);
    refuses_file(path, NULL, "the file is empty");
    write_file("\n", 1, 0600);
    refuses_file(path, NULL, "the file is empty");
    write_file("hunter2\0\n", 9, 0600);
    refuses_file(path, NULL, "the file holds a NUL byte");
    memset(text, 'x', sizeof(text));
    write_file(text, SECRET_MAX + 1, 0600);
    refuses_file(path, NULL, "the file is longer than 4096 bytes");
    text[SECRET_MAX + 1] = '\n';
    write_file(text, SECRET_MAX + 2, 0600);
    refuses_file(path, NULL, "the file is longer than 4096 bytes");
    text[SECRET_MAX] = '\n';
    write_file(text, SECRET_MAX + 1, 0600);
    text[SECRET_MAX] = '\0';
    reads(path, NULL, text);
}

static void test_rights(void **state) {
    static const char others[] = "others have rights on the file; accepted: mode 0600 or 0640";

    for (mode_t bit = 1; bit <= 4; bit <<= 1) {
        write_file("hunter2", 7, 0600 | bit);
        refuses_file(path, NULL, others);
        refuses_file(path, "/tmp", others);
        reads(path, directory, "hunter2");
        reads("pw", directory, "hunter2");
    }
}

static void test_rights_of_a_group(void **state) {
    if (geteuid() != 0)
        skip();
    write_file("hunter2", 7, 0640);
    assert_int_equal(chown(path, 12345, 0), 0);
    refuses_file(
        path, NULL,
        "the group of the file has rights on it, and it belongs neither to root nor to the "
        "user that reads it");
    assert_int_equal(chmod(path, 0600), 0);
    reads(path, NULL, "hunter2");
}

static void test_names(void **state) {
    static const char neither[] = "neither an absolute path nor a bare name";

    write_file("hunter2", 7, 0600);
    refuses("pw", NULL, SECRET_E_NO_DIRECTORY,
            "a bare name is looked up in $CREDENTIALS_DIRECTORY, which is not set");
    refuses("pw", "relative", SECRET_E_NO_DIRECTORY,
            "a bare name is looked up in $CREDENTIALS_DIRECTORY, which is not set");
    refuses("", directory, SECRET_E_REFUSED, neither);
    refuses("./pw", directory, SECRET_E_REFUSED, neither);
    refuses("..", directory, SECRET_E_REFUSED, neither);
    /* What is not there could be a password in the wrong place. */
    refuses("other", directory, SECRET_E_REFUSED, "cannot be read: No such file or directory");
    refuses("/hunter2", NULL, SECRET_E_REFUSED, "cannot be read: No such file or directory");
}

/* The credentials directory vouches for what lies in it, not for what can be reached from it. */
static void test_paths_through_the_credentials_directory(void **state) {
    char roundabout[160];

    write_file("hunter2", 7, 0644);
    (void)snprintf(roundabout, sizeof(roundabout), "%s/../%s", directory, path + strlen("/tmp/"));
    refuses_file(roundabout, directory,
                 "others have rights on the file; accepted: mode 0600 or 0640");
    (void)snprintf(roundabout, sizeof(roundabout), "%s//", directory);
    reads(path, roundabout, "hunter2");
}

static void test_what_is_no_file(void **state) {
    assert_int_equal(mkdir(path, 0700), 0);
    refuses_file(path, NULL, "not a regular file");
    assert_int_equal(rmdir(path), 0);
    assert_int_equal(mkfifo(path, 0600), 0);
    refuses_file(path, NULL, "not a regular file");
}

#define CASE(test) cmocka_unit_test_setup_teardown(test, begin, end)

int main(void) {
    const struct CMUnitTest tests[] = {
        CASE(test_one_newline_is_stripped),
        CASE(test_bad_contents),
        CASE(test_rights),
        CASE(test_rights_of_a_group),
        CASE(test_names),
        CASE(test_paths_through_the_credentials_directory),
        CASE(test_what_is_no_file),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
