#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""How large and how many: memory, loop time and fairness at the limits. Slow; by hand:

    PYTHONPATH=tests/support XAUTOCLAIMD=... FAULTPROXY=... JOURNAL_SHIM=... \\
        python3 tests/bench/limits.py [many-bodies large-bodies turn fresh ...]

Each part prints its figures and fails where a limit is exceeded.
"""

import os
import re
import statistics
import subprocess
import sys
import threading
import time

import harness
from harness import GROUP, STREAM, Client, config, pending_count, recovery

FILL = """
local body = string.rep('x', tonumber(ARGV[2]))
for i = 1, tonumber(ARGV[1]) do redis.call('XADD', KEYS[1], i .. '-0', 'body', body) end
redis.call('XGROUP', 'CREATE', KEYS[1], 'workers', '0')
"""

# Delivered without their bodies crossing the wire.
DELIVER = """
redis.call('XREADGROUP', 'GROUP', ARGV[1], 'dead', 'COUNT', ARGV[2], 'STREAMS', KEYS[1], '>')
"""


def fill(client, n, size, stream=STREAM, idle_ms=3600000):
    client("EVAL", FILL, 1, stream, n, size)
    taken = 0
    while taken < n:
        step = min(n - taken, max(1, (64 << 20) // max(size, 1)), 5000)
        client("EVAL", DELIVER, 1, stream, GROUP, step)
        if idle_ms:
            client("XCLAIM", stream, GROUP, "dead", 0,
                   *[f"{i}-0" for i in range(taken + 1, taken + step + 1)], "IDLE", idle_ms,
                   "JUSTID")
        taken += step


def status(pid, field):
    with open(f"/proc/{pid}/status") as file:
        return int(re.search(rf"^{field}:\s+(\d+) kB", file.read(), re.M).group(1)) / 1024


def cpu_seconds(pid):
    with open(f"/proc/{pid}/stat") as file:
        fields = file.read().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


class Limits(harness.Test):
    def settled(self, daemon, client, stream=STREAM, seconds=1800):
        daemon.journal.wait_until(lambda _: pending_count(client, stream) == 0, seconds)

    def longest_turn(self, daemon):
        daemon.terminate()
        record = daemon.journal.wait_for(lambda r: "LOOP_LONGEST_TURN_USEC" in r, 10)
        return int(record.first("LOOP_LONGEST_TURN_USEC")) / 1000

    def test_many_bodies(self):
        """100,000 entries of 10 KB: the daemon stays under 24 MiB."""
        n = int(os.environ.get("N", "100000"))
        redis = self.server()
        client = self.client(redis)
        fill(client, n, 10000)
        begun = time.monotonic()
        daemon = self.daemon(config(redis.url, {"orders": recovery(
            "/bin/true", concurrency=8, interval="1s", min_idle="300s")}), level="info")
        self.settled(daemon, client)
        seconds = time.monotonic() - begun
        peak = status(daemon.pid, "VmHWM")
        turn = self.longest_turn(daemon)
        print(f"# {n} entries of 10 KB: {n / seconds:.0f}/s, peak RSS {peak:.1f} MiB, longest "
              f"turn {turn:.1f} ms")
        self.assertLess(peak, 24)

    def test_large_bodies(self):
        """100 entries of 16 MiB, four at once: under 200 MiB."""
        redis = self.server("--proto-max-bulk-len", "1gb")
        client = self.client(redis)
        fill(client, 100, 16 << 20)
        daemon = self.daemon(config(redis.url, {"orders": recovery(
            "/bin/cat", concurrency=4, interval="1s", min_idle="300s",
            handler_output="none")}), level="info")
        self.settled(daemon, client)
        peak = status(daemon.pid, "VmHWM")
        turn = self.longest_turn(daemon)
        print(f"# 100 entries of 16 MiB: peak RSS {peak:.1f} MiB, longest turn {turn:.1f} ms")
        self.assertLess(peak, 200)

    def test_worker_bodies(self):
        """1,000 entries of 4 MiB through the worker in C, four at once: under 96 MiB."""
        n = int(os.environ.get("N", "1000"))
        redis = self.server()
        client = self.client(redis)
        fill(client, n, 4 << 20)
        daemon = self.daemon(config(redis.url, {"orders": recovery(
            self.worker(), handler="worker", concurrency=4, interval="1s",
            min_idle="300s")}), level="info")
        begun = time.monotonic()
        self.settled(daemon, client)
        seconds = time.monotonic() - begun
        peak = status(daemon.pid, "VmHWM")
        turn = self.longest_turn(daemon)
        print(f"# {n} entries of 4 MiB through a worker: {n / seconds:.0f}/s, peak RSS "
              f"{peak:.1f} MiB, longest turn {turn:.1f} ms")
        self.assertLess(peak, 96)

    def worker(self):
        path = self.path("worker")
        subprocess.run(["cc", "-O2", "-o", path, os.path.join(
            os.path.dirname(os.path.abspath(__file__)), os.pardir, os.pardir, "docs", "examples",
            "worker.c")], check=True)
        return path

    def test_claim_only(self):
        """100,000 entries of 10 KB, claimed for an application: only IDs cross the wire, with and
        without a worklist."""
        n = int(os.environ.get("N", "100000"))
        for keys in ({}, {"worklist": "todo"}):
            redis = self.server(name=f"redis{len(keys)}")
            client = self.client(redis)
            fill(client, n, 10000)
            before = self.sent_by(client)
            daemon = self.daemon(config(redis.url, {"orders": {
                "stream": STREAM, "group": GROUP, "consumer": "app", "handler": "claim-only",
                "interval": "60s", "min_idle": "300s", **keys}}), name=f"app{len(keys)}",
                level="info")
            daemon.wait_pass(PASS_HANDED_OVER=n, seconds=300)
            daemon.terminate()
            received = self.sent_by(client) - before
            print(f"# claim-only {keys}: {received / n:.1f} bytes an entry from the server")
            self.assertLess(received, 60 * n)
            if keys:
                listed = set(client("LRANGE", "todo", 0, -1))
                self.assertEqual(listed, {f"{i}-0".encode() for i in range(1, n + 1)})
            redis.stop()

    def sent_by(self, client):
        return int(re.search(rb"total_net_output_bytes:(\d+)", client("INFO", "stats")).group(1))

    def test_turn(self):
        """One entry of 64 MiB is read and handed over: renewals and the watchdog stay on time."""
        redis = self.server("--proto-max-bulk-len", "1gb")
        client = self.client(redis)
        fill(client, 3, 64 << 20)
        daemon = self.daemon(config(redis.url, {"orders": recovery(
            "/bin/cat", concurrency=1, interval="1s", min_idle="60s",
            handler_output="none")}), level="info")
        self.settled(daemon, client)
        peak = status(daemon.pid, "VmHWM")
        turn = self.longest_turn(daemon)
        print(f"# 3 entries of 64 MiB: longest turn {turn:.1f} ms, peak RSS {peak:.1f} MiB")
        self.assertLess(turn, 200)

    def ping(self, redis, seconds):
        """Latencies of another client's PING, in microseconds, sorted."""
        out = []
        with redis.client() as client:
            end = time.monotonic() + seconds
            while time.monotonic() < end:
                before = time.perf_counter()
                client("PING")
                out.append((time.perf_counter() - before) * 1e6)
        return sorted(out)

    def wait_scans(self, client, n):
        """Until n scans have begun: each asks once whether anything is pending."""
        while True:
            calls = re.search(rb"cmdstat_xpending:calls=(\d+)", client("INFO", "commandstats"))
            if calls and int(calls.group(1)) >= n:
                return
            client("BLPOP", "nothing", "0.1")  # gives the server a moment

    def test_fresh(self):
        """1,000,000 pending entries that are not idle: flat memory, and what others feel."""
        n = int(os.environ.get("N", "1000000"))
        redis = self.server()
        client = self.client(redis)
        fill(client, n, 100, idle_ms=0)
        quiet = self.ping(redis, 10)
        before = cpu_seconds(redis.process.pid)
        daemon = self.daemon(config(redis.url, {"orders": recovery(
            "/bin/true", interval="500ms", min_idle="20d")}), level="info")
        sizes = []
        latencies = {}
        thread = threading.Thread(target=lambda: latencies.update(scan=self.ping(redis, 10)))
        thread.start()
        for i in range(1, 11):
            self.wait_scans(client, i + 1)  # the last one may be under way
            sizes.append(status(daemon.pid, "VmRSS"))
        cpu = (cpu_seconds(redis.process.pid) - before) / 10
        thread.join()
        turn = self.longest_turn(daemon)
        for name, values in (("without", quiet), ("with", latencies["scan"])):
            print(f"# PING {name} the scan: p99 {values[int(len(values) * .99)]:.0f} us, p99.9 "
                  f"{values[int(len(values) * .999)]:.0f} us, of {len(values)}")
        print(f"# {n} fresh entries: server CPU a scan {cpu:.2f} s, RSS after each of 10 scans "
              f"{sizes[0]:.2f} .. {sizes[-1]:.2f} MiB, longest turn {turn:.1f} ms")
        self.assertLess(sizes[-1] - sizes[1], 0.5)

    def many_recoveries(self, n, entries, interval):
        redis = self.server()
        client = self.client(redis)
        for i in range(n):
            if entries:
                harness.strand(client, entries, stream=f"s{i}")
            else:
                client("XGROUP", "CREATE", f"s{i}", GROUP, "0", "MKSTREAM")
        log = self.path("log")
        handler = self.handler(f'echo "$XAUTOCLAIMD_RECOVERY" >>{log}\n')
        daemon = self.daemon(config(redis.url, {f"r{i}": recovery(
            handler, stream=f"s{i}", interval=interval, min_idle="300s") for i in range(n)}),
            level="info" if entries else "debug")
        return client, daemon

    def test_recoveries_at_rest(self):
        n = int(os.environ.get("N", "1000"))
        _, daemon = self.many_recoveries(n, 0, "10s")
        daemon.journal.wait_until(
            lambda rs: sum("PASS_PAGES" in r for r in rs) >= 2 * n, 120)
        before, begun = cpu_seconds(daemon.pid), time.monotonic()
        daemon.journal.wait_until(
            lambda rs: sum("PASS_PAGES" in r for r in rs) >= 4 * n, 120)
        share = (cpu_seconds(daemon.pid) - before) / (time.monotonic() - begun)
        print(f"# {n} recoveries at rest, interval 10s: {share * 100:.1f} % of a core, RSS "
              f"{status(daemon.pid, 'VmRSS'):.1f} MiB")

    def test_recoveries_with_entries(self):
        n = int(os.environ.get("N", "1000"))
        _, daemon = self.many_recoveries(n, 10, "10s")
        begun = time.monotonic()
        ends = {}

        def look(records):
            for r in records:
                if r.first("PASS_ACKED") == "10":
                    ends.setdefault(r.first("RECOVERY"), time.monotonic() - begun)
            return len(ends) == n

        daemon.journal.wait_until(look, 600)
        times = sorted(ends.values())
        print(f"# {n} recoveries with 10 entries each: median {statistics.median(times):.1f} s, "
              f"slowest {times[-1]:.1f} s, peak RSS {status(daemon.pid, 'VmHWM'):.1f} MiB")


if __name__ == "__main__":
    sys.argv[1:] = ["Limits.test_" + a.replace("-", "_") for a in sys.argv[1:]]
    harness.main()
