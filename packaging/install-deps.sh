#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
#
# Installs with apt-get what building and testing needs, on Debian 12 and 13 and on Ubuntu where
# the packages have the same names. What is there already, from wherever, is not touched; if
# nothing is missing, nothing is done and no network is needed.
#
# usage: install-deps.sh [--build-only]
#   --build-only  what building the daemon and running it against a redis-server needs
#
# Not root: says what is missing and how to install it, exit status 1.
set -eu

build_only=no
case "${1-}" in
--build-only) build_only=yes ;;
'') ;;
*)
    echo "usage: $0 [--build-only]" >&2
    exit 64
    ;;
esac

missing=

# need PACKAGE KIND NAME: one line a package, and how to see that what it brings is there.
need() {
    case "$2" in
    command) command -v "$3" >/dev/null 2>&1 && return 0 ;;
    library) pkg-config --exists "$3" 2>/dev/null && return 0 ;;
    header) printf '#include <%s>\n' "$3" | cc -E -o /dev/null -x c - 2>/dev/null && return 0 ;;
    runtime) can_sanitize && return 0 ;;
    esac
    missing="$missing $1"
}

# Clang finds its sanitizers in a package of their own.
can_sanitize() {
    command -v clang >/dev/null 2>&1 || return 1
    test -e "$(clang -print-file-name=libclang_rt.asan-"$(uname -m)".a)" && return 0
    set -- "$(clang -print-resource-dir)"/lib/*/libclang_rt.asan*.a
    test -e "$1"
}

need gcc command cc
need libc6-dev header stdio.h
need meson command meson
need ninja-build command ninja
need pkg-config command pkg-config
need libhiredis-dev library hiredis
need libevent-dev library libevent_core
need libsystemd-dev library libsystemd
need libinih-dev library inih
need libjansson-dev library jansson
need libpopt-dev library popt
need uthash-dev header uthash.h
need scdoc command scdoc
need redis-server command redis-server
need redis-tools command redis-cli
if [ "$build_only" = no ]; then
    need libcmocka-dev library cmocka
    need python3 command python3
    need clang command clang
    need libclang-rt-dev runtime -
    need valgrind command valgrind
    need cppcheck command cppcheck
    need shellcheck command shellcheck
    need mandoc command mandoc
fi

if [ -z "$missing" ]; then
    exit 0
fi
if [ "$(id -u)" -ne 0 ]; then
    echo "missing packages:$missing" >&2
    echo "install them as root: $0${1:+ $1}, or: apt-get install --no-install-recommends$missing" >&2
    exit 1
fi
if ! command -v apt-get >/dev/null 2>&1; then
    echo "missing (by their Debian names), and there is no apt-get here:$missing" >&2
    exit 1
fi

export DEBIAN_FRONTEND=noninteractive
log=$(mktemp)
policy=/usr/sbin/policy-rc.d
made_policy=no

clean_up() {
    rm -f "$log"
    [ "$made_policy" = no ] || rm -f "$policy"
}
trap clean_up EXIT
trap 'exit 1' HUP INT TERM

# Installing redis-server must not start one: the tests have their own. A policy that is there
# already is the administrator's and stays.
if [ ! -e "$policy" ]; then
    made_policy=yes
    printf '#!/bin/sh\nexit 101\n' >"$policy"
    chmod 755 "$policy"
fi

echo "installing:$missing" >&2
# shellcheck disable=SC2086 # package names, one word each
if ! { apt-get -q update &&
    apt-get -q -y --no-install-recommends -o Dpkg::Use-Pty=0 install $missing; } >"$log" 2>&1; then
    cat "$log" >&2
    exit 1
fi
