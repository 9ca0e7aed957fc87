#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# A worker in shell (handler = worker, payload = json). Write to standard output nothing but
# answers: give every command its own (>&2, >/dev/null), and its own input (</dev/null), or it
# reads the next entries.
set -eu

work() {
    : "$1" # the line of JSON; for example: printf '%s\n' "$1" | jq -r ... | program
}

while IFS= read -r line; do
    id=${line#*\",\"id\":\"}
    id=${id%%\"*}
    if work "$line" >&2 </dev/null; then
        printf '%s ok\n' "$id"
    else
        printf '%s retry exit status %d\n' "$id" "$?"
    fi
done
