/* SPDX-License-Identifier: BSD-3-Clause */
#include "case.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

int case_begin(void **state) {
    struct test_case *self = calloc(1, sizeof(*self));

    assert_non_null(self);
    strcpy(self->directory, "/tmp/xautoclaimd-config-XXXXXX");
    assert_non_null(mkdtemp(self->directory));
    (void)snprintf(self->path, sizeof(self->path), "%s/main.conf", self->directory);
    self->source.path = self->path;
    *state = self;
    return 0;
}

static void remove_all(const char *path) {
    DIR *dir = opendir(path);

    assert_non_null(dir);
    for (const struct dirent *entry; (entry = readdir(dir));) {
        char inner[512];

        if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0)
            continue;
        (void)snprintf(inner, sizeof(inner), "%s/%s", path, entry->d_name);
        if (entry->d_type == DT_DIR)
            remove_all(inner);
        else
            (void)unlink(inner);
    }
    (void)closedir(dir);
    (void)rmdir(path);
}

int case_end(void **state) {
    struct test_case *self = *state;

    self->config = config_free(self->config);
    remove_all(self->directory);
    free(self);
    return 0;
}

void case_write(struct test_case *self, const char *name, const char *text, size_t size) {
    char path[256];

    (void)snprintf(path, sizeof(path), "%s/%s", self->directory, name);
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    assert_int_equal(fwrite(text, 1, size, file), size);
    assert_int_equal(fclose(file), 0);
    assert_int_equal(chmod(path, 0644), 0);
}

static void hear(void *data, const char *line) {
    struct test_case *self = data;
    size_t used = strlen(self->said), n = strlen(self->directory);

    assert_null(strchr(line, '\n'));
    while (*line != '\0' && used + 2 < sizeof(self->said)) {
        if (strncmp(line, self->directory, n) == 0 && line[n] == '/')
            line += n + 1;
        else
            self->said[used++] = *line++;
    }
    self->said[used++] = '\n';
    self->said[used] = '\0';
}

void case_load(struct test_case *self) {
    self->config = config_free(self->config);
    self->said[0] = '\0';
    self->result = config_load(&self->source, hear, self, &self->config);
    assert_int_equal(self->config != NULL, self->result == 0);
}

void case_load_text(struct test_case *self, const char *text) {
    case_write(self, "main.conf", text, strlen(text));
    case_load(self);
}

void case_refuses(struct test_case *self, const char *text, const char *complaints) {
    case_load_text(self, text);
    assert_string_equal(self->said, complaints);
    assert_int_equal(self->result, CONFIG_E_INVALID);
}

void case_accepts(struct test_case *self, const char *text, const char *warnings) {
    case_load_text(self, text);
    assert_string_equal(self->said, warnings);
    assert_int_equal(self->result, 0);
}

char *case_print(const struct config *config) {
    char *text = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&text, &size);

    assert_non_null(out);
    assert_int_equal(config_print(config, out), 0);
    assert_int_equal(fclose(out), 0);
    return text;
}
