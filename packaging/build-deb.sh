#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
#
# Builds the Debian package of this tree for the release that it runs on (Debian 12 or 13).
#
# usage: build-deb.sh [--suffix SUFFIX] [DIRECTORY]
#   DIRECTORY  where the packages are put (default: build/deb)
#   --suffix   added to the version, such as ~git20261129
#
# Needed: build-essential, debhelper and the build dependencies of debian/control, which are named
# if they are missing. The same tree gives the same packages, byte for byte.
set -eu

top=$(CDPATH='' cd -- "$(dirname -- "$0")/.." && pwd)
suffix=
if [ "${1-}" = --suffix ]; then
    suffix=$2
    shift 2
fi
case "${1-}" in
-*)
    sed -n 's/^# \{0,1\}//; /^usage:/,/--suffix/p' "$0" >&2
    exit 64
    ;;
esac
output=${1-$top/build/deb}
mkdir -p "$output"
output=$(CDPATH='' cd -- "$output" && pwd)

# A plain name: dpkg-buildflags maps build paths away only if they have no odd characters.
work=$(mktemp -d "${TMPDIR:-/tmp}/xautoclaimd-deb-XXXXXX")
trap 'rm -rf "$work"' EXIT
trap 'exit 1' HUP INT TERM
source=$work/xautoclaimd
mkdir "$source"

# What git knows, as it lies there; without git all but what was built.
if git -C "$top" rev-parse --is-inside-work-tree >/dev/null 2>&1; then
    (cd "$top" && git ls-files -z --cached --others --exclude-standard |
        tar -c --null --ignore-failed-read -T - 2>/dev/null) | tar -x -C "$source"
else
    tar -c -C "$top" --exclude=./build --exclude=./.git . | tar -x -C "$source"
fi
cp -R "$source/packaging/debian" "$source/debian"
sed -i "1s/(\([^)]*\))/(\1$suffix)/" "$source/debian/changelog"

# Neither time, umask, language nor what somebody has set for other builds may show.
(
    cd "$source"
    umask 022
    unset CFLAGS CPPFLAGS LDFLAGS DEB_BUILD_OPTIONS || true
    export LC_ALL=C.UTF-8
    dpkg-checkbuilddeps
    dpkg-buildpackage -us -uc -b
) >"$work/log" 2>&1 || {
    cat "$work/log" >&2
    exit 1
}
cp "$work"/*.deb "$work"/*.changes "$work"/*.buildinfo "$output/"
cp "$work/log" "$output/build.log"
ls "$output"/xautoclaimd_*.deb
