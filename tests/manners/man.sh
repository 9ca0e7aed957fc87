#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# The manual pages can be built and read without complaints, the list of keys is that of the
# table, and each option and command of the programs is in its page and in its completions.
# usage: man.sh SOURCE-TREE PRINT-MANUAL XAUTOCLAIMD XAUTOCLAIMCTL
set -eu

tree=$1
pages=$1/docs/man
status=0
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

complain() {
    echo "$*"
    status=1
}

"$2" <"$pages/xautoclaimd.conf.5.scd" >"$work/new"
if ! diff -u "$pages/xautoclaimd.conf.5.scd" "$work/new"; then
    complain "to update it: $2 <docs/man/xautoclaimd.conf.5.scd >new && mv new docs/man/xautoclaimd.conf.5.scd"
fi

command -v scdoc >/dev/null || { echo "scdoc is not installed"; exit 77; }
for page in "$pages"/*.scd; do
    name=$(basename "$page" .scd)
    scdoc <"$page" >"$work/$name" || { complain "$name: scdoc refuses it"; continue; }
    if command -v mandoc >/dev/null; then
        # What scdoc writes always has these: a paragraph after each heading, long input lines,
        # and the title as it is spelt.
        mandoc -Tlint -Wstyle "$work/$name" >"$work/lint" || true
        if grep -vE 'skipping paragraph macro: PP (empty|after SH)|input text line longer than 80|lower case character in document title' "$work/lint"; then
            complain "$name: mandoc complains"
        fi
    fi
done

# program_agrees PROGRAM PAGE
program_agrees() {
    name=$(basename "$1")
    for word in $("$1" --help | sed -nE 's/^  (-*[a-z-]+)( [A-Z]+)?  .*/\1/p'); do
        grep -qF -e "*$word*" "$pages/$2" || complain "$word is not in $2"
        for completion in "$name.bash" "_$name"; do
            grep -qE -e "(^|[^a-z-])$word([^a-z-]|\$)" "$tree/packaging/completion/$completion" ||
                complain "$word is not in $completion"
        done
    done
}
program_agrees "$3" xautoclaimd.8.scd
program_agrees "$4" xautoclaimctl.1.scd
exit "$status"
