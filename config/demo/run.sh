#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
#
# Shows what xautoclaimd does, with a private Redis in a temporary directory: 1,000 messages are
# stranded by a consumer that dies, the daemon recovers them, and both sets of IDs are compared.
# Exit status 0 only if each was handled exactly once and nothing is left pending.
#
# usage: run.sh    (builds in build/demo, or $DEMO_BUILD; $XAUTOCLAIMD: this daemon, no build;
#                   $REDIS_SERVER: this server)
set -eu
umask 077

top=$(CDPATH='' cd -- "$(dirname -- "$0")/../.." && pwd)
build=${DEMO_BUILD:-$top/build/demo}
server=${REDIS_SERVER:-redis-server}
messages=1000
work=$(mktemp -d /tmp/xautoclaimd-demo.XXXXXX)
redis_pid=
daemon_pid=

clean_up() {
    for pid in $daemon_pid $redis_pid; do
        kill "$pid" 2>/dev/null || true
        wait "$pid" 2>/dev/null || true
    done
    rm -rf "$work"
}
trap clean_up EXIT
trap 'exit 1' HUP INT TERM

die() {
    echo "demo: $*" >&2
    exit 1
}

redis() {
    redis-cli -s "$work/redis.sock" "$@"
}

# until_true SECONDS COMMAND...
until_true() {
    tries=$(($1 * 10))
    shift
    while ! "$@"; do
        tries=$((tries - 1))
        [ "$tries" -gt 0 ] || return 1
        sleep 0.1
    done
}

is_up() {
    kill -0 "$redis_pid" && redis PING >/dev/null 2>&1
}

is_recovered() {
    kill -0 "$daemon_pid" 2>/dev/null || die "the daemon ended: $(cat "$work/daemon.log")"
    [ "$(redis XPENDING orders workers | head -n 1)" = 0 ] &&
        grep -q 'pass done' "$work/daemon.log"
}

show_pending() {
    redis XPENDING orders workers | awk '
        NR == 1 { printf "   XPENDING orders workers: %d pending", $0 }
        NR > 3 && NR % 2 == 0 && $0 != "" { printf ", %s has", $0 }
        NR > 3 && NR % 2 == 1 { printf " %s", $0 }
        END { print "" }'
}

# --- build ---

sh "$top/packaging/install-deps.sh" --build-only || exit 1
daemon=${XAUTOCLAIMD-}
if [ -z "$daemon" ]; then
    echo "building..."
    mkdir -p "$build"
    if ! { [ -f "$build/build.ninja" ] || meson setup -Dtests=false "$build" "$top"; } \
        >"$work/build.log" 2>&1 || ! ninja -C "$build" >>"$work/build.log" 2>&1; then
        cat "$work/build.log" >&2
        die "the build failed"
    fi
    daemon=$build/src/xautoclaimd
fi

# --- strand ---

"$server" --port 0 --unixsocket "$work/redis.sock" --dir "$work" --save '' --appendonly no \
    --logfile "$work/redis.log" &
redis_pid=$!
until_true 20 is_up || die "$server did not start: $(cat "$work/redis.log")"
# "Redis server v=7.0.15 ..."
echo "$("$daemon" --version), $("$server" --version | sed -n 's/ server v=\([^ ]*\).*/ \1/p')"

echo "1. a producer adds $messages messages to the stream orders"
redis XGROUP CREATE orders workers 0 MKSTREAM >/dev/null
awk -v n="$messages" 'BEGIN { for (i = 1; i <= n; i++) print "XADD orders * order_id", i }' |
    redis >"$work/added"

echo "2. consumer worker-1 of group workers reads them all and dies before XACK"
redis XREADGROUP GROUP workers worker-1 COUNT "$messages" STREAMS orders '>' >/dev/null
show_pending
redis XPENDING orders workers - + "$messages" | awk 'NR % 4 == 1' | sort >"$work/stranded"
[ "$(sort -u "$work/stranded" | wc -l)" -eq "$messages" ] || die "not all messages are pending"

# --- recover ---

sed "s|@WORK@|$work|" "$top/config/demo/demo.conf" >"$work/demo.conf"
cp "$top/config/demo/handler" "$work/handler"
: >"$work/handled"
echo "3. xautoclaimd takes what has been idle for 5 s and gives it to config/demo/handler:"
DEMO_HANDLED="$work/handled" "$daemon" --config "$work/demo.conf" 2>"$work/daemon.log" &
daemon_pid=$!
until_true 120 is_recovered || die "messages are still pending: $(cat "$work/daemon.log")"
kill "$daemon_pid"
status=0
wait "$daemon_pid" || status=$?
daemon_pid=
sed 's/^<[0-9]>/   | /' "$work/daemon.log"
show_pending

# --- compare ---

sort "$work/handled" >"$work/sorted"
[ "$status" -eq 0 ] || die "the daemon ended with status $status"
[ "$(redis XPENDING orders workers | head -n 1)" = 0 ] || die "messages are pending again"
cmp -s "$work/stranded" "$work/sorted" || {
    diff "$work/stranded" "$work/sorted" >&2 || true
    die "what was handled (>) is not what was stranded (<)"
}
echo "ok: $messages stranded, $(uniq "$work/sorted" | wc -l) handled, each exactly once"
