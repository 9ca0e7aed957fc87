/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Opens files and lists drop-ins. Rights are checked on the open descriptor.
 */
#include "files.h"

#include "base/cleanup.h"
#include "base/text.h"
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <string.h>
#include <sys/stat.h>

#define FILE_BYTES_MAX (1024L * 1024)
#define DROP_INS_MAX 1000

const char *files_shown(const char *path, struct config_memory *memory) {
    char text[PATH_MAX];

    return memory_copy(memory,
                       text_printable((struct blob){path, strlen(path)}, text, sizeof(text)));
}

static void complain_path(struct complaints *complaints, const char *path, const char *what) {
    char text[PATH_MAX];

    text_printable((struct blob){path, strlen(path)}, text, sizeof(text));
    complain(complaints, (struct place){.file = text}, "%s", what);
}

static void complain_errno(struct complaints *complaints, const char *path, int error) {
    char text[PATH_MAX];

    text_printable((struct blob){path, strlen(path)}, text, sizeof(text));
    complain(complaints, (struct place){.file = text}, "cannot be read: %s", strerror(error));
}

/* NULL: nothing is wrong. */
static const char *find_distrust(const struct stat *st) {
    if (st->st_mode & S_IWOTH)
        return "others may write it; accepted: no write permission for others (chmod o-w)";
    if (st->st_uid != 0 && st->st_uid != geteuid())
        return "belongs to another user; accepted: owned by root or by the user that reads it";
    return NULL;
}

int files_open(const char *path, struct complaints *complaints, FILE **ret) {
    /* O_NONBLOCK: a FIFO must not hang the daemon. */
    CLEANUP_CLOSE int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
    const char *fault;
    struct stat st;

    *ret = NULL;
    if (fd < 0 || fstat(fd, &st) < 0) {
        complain_errno(complaints, path, errno);
        return 0;
    }
    if (!S_ISREG(st.st_mode))
        fault = "not a regular file";
    else if (st.st_size > FILE_BYTES_MAX)
        fault = "too large; accepted: at most 1M";
    else
        fault = find_distrust(&st);
    if (fault) {
        complain_path(complaints, path, fault);
        return 0;
    }
    FILE *file = fdopen(fd, "r");
    if (!file)
        return -errno;
    fd = -1;
    *ret = file;
    return 0;
}

static bool is_drop_in(const char *name) {
    size_t n = strlen(name);

    return name[0] != '.' && n > 5 && strcmp(name + n - 5, ".conf") == 0 &&
           !strstr(name, ".dpkg-") && name[n - 1] != '~';
}

static int compare(const void *a, const void *b) {
    return strcmp(*(char *const *)a, *(char *const *)b);
}

static char *join(struct config_memory *memory, const char *directory, const char *name) {
    size_t n = strlen(directory) + 1 + strlen(name) + 1;
    char *path = memory_alloc(memory, n);

    if (path)
        (void)snprintf(path, n, "%s/%s", directory, name);
    return path;
}

/* paths has room for DROP_INS_MAX and the NULL. */
static int list(DIR *dir, const char *path, struct config_memory *memory,
                struct complaints *complaints, char **paths) {
    size_t n = 0;

    for (;;) {
        errno = 0;
        const struct dirent *entry = readdir(dir);

        if (!entry && errno != 0)
            complain_errno(complaints, path, errno);
        if (!entry)
            break;
        if (!is_drop_in(entry->d_name))
            continue;
        if (n == DROP_INS_MAX) {
            complain_path(complaints, path, "too many files; accepted: at most 1000");
            break;
        }
        paths[n] = join(memory, path, entry->d_name);
        if (!paths[n++])
            return -ENOMEM;
    }
    qsort(paths, n, sizeof(*paths), compare);
    return 0;
}

/* *ret is NULL where there is nothing to list. */
static int open_directory(const char *path, struct complaints *complaints, DIR **ret) {
    CLEANUP_CLOSE int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NONBLOCK);
    struct stat st;

    *ret = NULL;
    if (fd < 0 && errno == ENOENT)
        return 0;
    if (fd < 0 || fstat(fd, &st) < 0) {
        complain_errno(complaints, path, errno);
        return 0;
    }
    if (find_distrust(&st)) {
        complain_path(complaints, path, find_distrust(&st));
        return 0;
    }
    *ret = fdopendir(fd);
    if (!*ret)
        return -errno;
    fd = -1;
    return 0;
}

int files_drop_ins(const char *main_path, struct config_memory *memory,
                   struct complaints *complaints, char ***ret) {
    size_t n = strlen(main_path) + sizeof(".d");
    char *path = memory_alloc(memory, n);
    char **paths = memory_alloc(memory, (DROP_INS_MAX + 1) * sizeof(char *));
    DIR *dir;

    if (!path || !paths)
        return -ENOMEM;
    (void)snprintf(path, n, "%s.d", main_path);
    int r = open_directory(path, complaints, &dir);
    if (r == 0 && dir) {
        r = list(dir, path, memory, complaints, paths);
        (void)closedir(dir);
    }
    if (r == 0)
        *ret = paths;
    return r;
}
