/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A password from a file: read whole, checked, handed over in a buffer that its holder wipes.
 *
 *   CLEANUP(secret_wipe) struct secret secret = {0};
 *   char why[SECRET_WHY_MAX];
 *   int r = secret_read(settings->password_file, directory, &secret, why);
 *
 * The bytes are never logged, copied elsewhere or put into a reason here.
 */
#pragma once

#include "base/error.h"
#include <stddef.h>

#define SECRET_MAX 4096
#define SECRET_WHY_MAX 384

struct secret {
    size_t size;
    char data[SECRET_MAX + 2]; /* size bytes and a NUL */
};

/* password_file: an absolute path, or a bare name (no slash) that is looked up in
 * credentials_directory, which may be NULL. One trailing newline is stripped. Refused: what is
 * not a regular file; what is empty, holds a NUL or more than SECRET_MAX bytes; outside
 * credentials_directory also a file with any right for others, or with rights for its group
 * that belongs neither to root nor to us.
 *
 * 0 with the bytes in *ret. SECRET_E_REFUSED, or SECRET_E_NO_DIRECTORY (a bare name and no
 * credentials_directory), with a printable reason in why, which names the file where there is one
 * and holds nothing of its contents; *ret is then wiped. */
enum { SECRET_E_REFUSED = 1, SECRET_E_NO_DIRECTORY };
MUST_CHECK int secret_read(const char *password_file, const char *credentials_directory,
                           struct secret *ret, char why[SECRET_WHY_MAX]);

void secret_wipe(struct secret *secret);
