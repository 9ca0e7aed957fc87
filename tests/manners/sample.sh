#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# The sample file in config/ is what the table of keys says, byte for byte.
# usage: sample.sh PRINT-SAMPLE FILE
set -eu
if "$1" | cmp - "$2"; then
    exit 0
fi
"$1" | diff -u "$2" - || true
echo "to update it: $1 >$2" >&2
exit 1
