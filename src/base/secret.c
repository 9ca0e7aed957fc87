/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Reads a password file with read(2) straight into its holder's buffer, so that no library
 * buffer keeps a copy. All checks are made on the open descriptor.
 */
#include "base/secret.h"

#include "base/cleanup.h"
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

static int refuse(char why[SECRET_WHY_MAX], const char *reason) {
    (void)snprintf(why, SECRET_WHY_MAX, "%s", reason);
    return SECRET_E_REFUSED;
}

static int refuse_errno(char why[SECRET_WHY_MAX], int error) {
    (void)snprintf(why, SECRET_WHY_MAX, "cannot be read: %s", strerror(error));
    return SECRET_E_REFUSED;
}

/* A file that is there is named: who mistook password_file for the password has named none. */
static int name_file(char why[SECRET_WHY_MAX], const char *path) {
    size_t used = strlen(why);

    for (const char *p = path; *p != '\0'; p++)
        if ((unsigned char)*p < ' ' || *p == 0x7f)
            return SECRET_E_REFUSED;
    (void)snprintf(why + used, SECRET_WHY_MAX - used, " (%s)", path);
    return SECRET_E_REFUSED;
}

/* True if path is directory, a slash, and one name. */
static bool lies_in(const char *path, const char *directory) {
    size_t n = strlen(directory);

    while (n > 1 && directory[n - 1] == '/')
        n--;
    if (n == 0 || strncmp(path, directory, n) != 0 || path[n] != '/')
        return false;
    path += n + 1;
    return *path != '\0' && !strchr(path, '/') && strcmp(path, "..") != 0;
}

static bool is_bare_name(const char *name) {
    return *name != '\0' && !strchr(name, '/') && strcmp(name, ".") != 0 && strcmp(name, "..") != 0;
}

/* Finds the file and whether the credentials directory vouches for its rights. */
static int locate(const char *password_file, const char *directory, char path[PATH_MAX],
                  bool *ret_vouched, char why[SECRET_WHY_MAX]) {
    int n;

    if (directory && directory[0] != '/')
        directory = NULL;
    if (password_file[0] == '/') {
        n = snprintf(path, PATH_MAX, "%s", password_file);
        *ret_vouched = directory && lies_in(password_file, directory);
    } else if (!is_bare_name(password_file)) {
        return refuse(why, "neither an absolute path nor a bare name");
    } else if (!directory) {
        (void)snprintf(why, SECRET_WHY_MAX,
                       "a bare name is looked up in $CREDENTIALS_DIRECTORY, which is not set");
        return SECRET_E_NO_DIRECTORY;
    } else {
        n = snprintf(path, PATH_MAX, "%s/%s", directory, password_file);
        *ret_vouched = true;
    }
    return n < PATH_MAX ? 0 : refuse_errno(why, ENAMETOOLONG);
}

static int check_rights(const struct stat *st, char why[SECRET_WHY_MAX]) {
    if (st->st_mode & S_IRWXO)
        return refuse(why, "others have rights on the file; accepted: mode 0600 or 0640");
    if ((st->st_mode & S_IRWXG) && st->st_uid != 0 && st->st_uid != geteuid())
        return refuse(
            why,
            "the group of the file has rights on it, and it belongs neither to root nor to the "
            "user that reads it");
    return 0;
}

/* Reads at most `size` bytes; stops early only at the end of the file. */
static ssize_t read_whole(int fd, char *to, size_t size) {
    size_t used = 0;

    while (used < size) {
        ssize_t n = read(fd, to + used, size - used);

        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return -errno;
        if (n == 0)
            break;
        used += (size_t)n;
    }
    return (ssize_t)used;
}

static int take_bytes(int fd, struct secret *ret, char why[SECRET_WHY_MAX]) {
    ssize_t n = read_whole(fd, ret->data, SECRET_MAX + 2);

    if (n < 0)
        return refuse_errno(why, (int)-n);
    if (n > 0 && ret->data[n - 1] == '\n')
        n--;
    if (n == 0)
        return refuse(why, "the file is empty");
    if (n > SECRET_MAX)
        return refuse(why, "the file is longer than 4096 bytes");
    if (memchr(ret->data, '\0', (size_t)n))
        return refuse(why, "the file holds a NUL byte");
    ret->data[n] = '\0';
    ret->size = (size_t)n;
    return 0;
}

int secret_read(const char *password_file, const char *credentials_directory, struct secret *ret,
                char why[SECRET_WHY_MAX]) {
    CLEANUP_CLOSE int fd = -1;
    char path[PATH_MAX];
    bool vouched = false;
    struct stat st;

    secret_wipe(ret);
    int r = locate(password_file, credentials_directory, path, &vouched, why);
    if (r != 0)
        return r;
    /* O_NONBLOCK: a FIFO must not hang the daemon. */
    fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
    if (fd < 0 || fstat(fd, &st) < 0) {
        bool is_there = errno == EACCES || errno == EPERM;

        (void)refuse_errno(why, errno);
        return is_there ? name_file(why, path) : SECRET_E_REFUSED;
    }
    if (!S_ISREG(st.st_mode))
        r = refuse(why, "not a regular file");
    if (r == 0 && !vouched)
        r = check_rights(&st, why);
    if (r == 0)
        r = take_bytes(fd, ret, why);
    if (r != 0) {
        (void)name_file(why, path);
        secret_wipe(ret);
    }
    return r;
}

void secret_wipe(struct secret *secret) {
    explicit_bzero(secret, sizeof(*secret));
}
