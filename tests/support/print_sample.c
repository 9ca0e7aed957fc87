/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Writes the sample configuration file to standard output:
 *
 *   <build>/tests/support/print-sample >config/xautoclaimd.conf
 */
#include "config/config.h"

#include <stdio.h>
#include <string.h>

int main(void) {
    int r = config_print_sample(stdout);

    if (r < 0)
        fprintf(stderr, "print-sample: %s\n", strerror(-r));
    return r < 0 ? 1 : 0;
}
