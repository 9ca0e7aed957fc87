#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# Each kind of record has a MESSAGE_ID of its own, as 32 hexadecimal digits, found only in the
# table of events. People's filters and the message catalog know them.
# usage: message_ids.sh SOURCE-TREE
set -eu

table=$1/src/report/events.c
rows=$(grep -cE '^ +(ROW|LIMITED)\(' "$table" || true)
ids=$(grep -oE '"[0-9a-fA-F]{32}"' "$table" | tr -d '"' | sort)
status=0

if [ "$rows" -eq 0 ] || [ "$(printf '%s\n' "$ids" | wc -l)" -ne "$rows" ]; then
    echo "$table: $rows rows, $(printf '%s\n' "$ids" | wc -l) MESSAGE_IDs"
    status=1
fi
twice=$(printf '%s\n' "$ids" | uniq -d)
if [ -n "$twice" ]; then
    echo "$table: used twice: $twice"
    status=1
fi
if printf '%s\n' "$ids" | grep '[A-F]'; then
    echo "$table: journalctl shows and catalogs list them in lower case"
    status=1
fi
if grep -rnE '"[0-9a-f]{32}"' "$1/src" "$1/include" --include='*.[ch]' |
    grep -v '/src/report/events\.c:'; then
    echo "a MESSAGE_ID outside the table"
    status=1
fi
echo "$rows MESSAGE_IDs"
exit "$status"
