#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""How fast each way through the daemon is, against its floor and its peers: a table of medians,
spreads and ratios. All in one run and taking turns, as a machine is not the same an hour later.

    paths.py --daemon PROGRAM --floor PROGRAM [--rounds 5] [worker move exec]

Each candidate starts when the server has the entries pending, and is done when none is pending any
more: what it takes to start and to connect counts.
"""

import argparse
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
TOP = os.path.dirname(os.path.dirname(HERE))
SCRIPTS = os.path.join(TOP, "src", "redis", "scripts")
sys.path[:0] = [os.path.join(TOP, "tests", "support"), SCRIPTS]

# Made, delivered and made idle inside the server.
ADD = """
local n, body = tonumber(ARGV[1]), string.rep('x', tonumber(ARGV[2]))
for i = 1, n do redis.call('XADD', KEYS[1], i .. '-0', 'body', body) end
redis.call('XGROUP', 'CREATE', KEYS[1], 'workers', '0')
for _ = 1, n, 1000 do
    redis.call('XREADGROUP', 'GROUP', 'workers', 'dead', 'COUNT', 1000, 'STREAMS', KEYS[1], '>')
end
"""
AGE = """
local n = tonumber(ARGV[1])
for at = 1, n, 1000 do
    local words = {KEYS[1], 'workers', 'dead', 0}
    for i = at, math.min(n, at + 999) do words[#words + 1] = i .. '-0' end
    for _, word in ipairs({'IDLE', '3600000', 'JUSTID'}) do words[#words + 1] = word end
    redis.call('XCLAIM', unpack(words))
end
"""

CONFIG = """[redis]
url = {url}
[recovery orders]
stream = orders
group = workers
consumer = bench
min_idle = 60s
interval = 1s
count = 250
{keys}
"""
WORKER = """handler = worker
command = {program}
workers = 1
concurrency = 256
claim_ahead = 256"""
MOVE = "handler = move\ntarget_stream = target"
EXEC = "handler = exec\ncommand = /bin/true\nconcurrency = {at_once}"
AT_ONCE = 8
MOVE_PAGE = 125  # entries of this size that keep a server for about as long as the daemon lets it


class Bench:
    def __init__(self, given, directory):
        import harness
        self.harness, self.given, self.directory = harness, given, directory
        self.server = harness.Server(directory)
        self.client = self.server.client()
        self.environment = dict(os.environ, NODE_PATH=given.node_modules or "")
        self.masters = set()
        self.worker = os.path.join(directory, "worker")
        subprocess.run(["cc", "-O2", "-o", self.worker,
                        os.path.join(TOP, "docs", "examples", "worker.c")], check=True)

    def close(self):
        self.client.close()
        self.server.stop()

    def script(self):
        """The SHA1 of what the daemon sends to move a page."""
        from embed import script_text
        text = script_text([os.path.join(SCRIPTS, name) for name in ("copy.lua", "move.lua")])
        return self.client("SCRIPT", "LOAD", text).decode()

    def strand(self, n):
        master = f"master:{n}"
        if n not in self.masters:
            self.client("EVAL", ADD, 1, master, n, self.given.bytes)
            self.masters.add(n)
        self.client("DEL", "target")
        self.client("COPY", master, "orders", "REPLACE")
        self.client("EVAL", AGE, 1, "orders", n)

    def program(self, n, *words):
        """One that ends by itself and prints how many it has done; returns the seconds."""
        begun = time.monotonic()
        done = subprocess.run(words, env=self.environment, check=True, stdout=subprocess.PIPE,
                              text=True).stdout
        seconds = time.monotonic() - begun
        if int(done) != n:
            sys.exit(f"{' '.join(words)}: {done.strip()} of {n}")
        return seconds

    def daemon(self, keys):
        config = self.harness.write(os.path.join(self.directory, "bench.conf"),
                                    CONFIG.format(url=self.server.url, keys=keys))
        begun = time.monotonic()
        process = subprocess.Popen([self.given.daemon, "--config", config, "--log-level", "warning"],
                                   stdin=subprocess.DEVNULL)
        try:
            while self.client("XPENDING", "orders", "workers")[0] > 0:
                if process.poll() is not None or time.monotonic() - begun > 600:
                    sys.exit("xautoclaimd did not do it")
                time.sleep(0.005)
            return time.monotonic() - begun
        finally:
            process.terminate()
            process.wait(60)


def candidates(bench, path):
    """[(name, entries, one run -> seconds)], the floor first."""
    given, socket, floor = bench.given, bench.server.path, bench.given.floor
    n, few = given.entries, given.entries // 10
    peers = os.path.join(HERE, "peers")
    if path == "exec":
        return [
            ("a bare posix_spawn loop", few,
             lambda: bench.program(few, floor, "spawn", str(few), str(AT_ONCE), "/bin/true")),
            ("xautoclaimd, exec", few, lambda: bench.daemon(EXEC.format(at_once=AT_ONCE))),
        ]
    if path == "move":
        sha1 = bench.script()
        return [
            ("a bare C loop of the script", n,
             lambda: bench.program(n, floor, "move", socket, sha1, str(MOVE_PAGE))),
            ("xautoclaimd, move", n, lambda: bench.daemon(MOVE)),
        ]
    out = [
        ("a bare C loop", n, lambda: bench.program(n, floor, "entries", socket)),
        ("xautoclaimd, worker", n, lambda: bench.daemon(WORKER.format(program=bench.worker))),
        ("Python, one at a time", few, lambda: bench.program(
            few, sys.executable, os.path.join(peers, "plain.py"), socket)),
        ("Python, pipelined", n, lambda: bench.program(
            n, sys.executable, os.path.join(peers, "pipelined.py"), socket)),
    ]
    if given.node_modules:
        out.append(("ioredis, pipelined", n, lambda: bench.program(
            n, "node", os.path.join(peers, "pipelined.js"), socket)))
    return out


def measure(bench, path):
    rows = candidates(bench, path)
    rates = {name: [] for name, *_ in rows}
    for _ in range(bench.given.rounds):
        for name, n, run in rows:
            bench.strand(n)
            rates[name].append(n / run())
    floor = statistics.median(next(iter(rates.values())))
    print(f"\n{path}: entries of {bench.given.bytes} bytes, {bench.given.rounds} rounds\n"
          f"{'':30}{'median/s':>10}{'lowest':>10}{'highest':>10}{'of the floor':>14}")
    for name, some in rates.items():
        median = statistics.median(some)
        print(f"{name:30}{median:10,.0f}{min(some):10,.0f}{max(some):10,.0f}"
              f"{median / floor:14.2f}", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--daemon", required=True)
    parser.add_argument("--floor", required=True)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--entries", type=int, default=100000)
    parser.add_argument("--bytes", type=int, default=100)
    parser.add_argument("--node-modules", help="where ioredis is; without it that row is left out")
    parser.add_argument("paths", nargs="*", default=["worker", "move", "exec"])
    given = parser.parse_args()
    directory = tempfile.mkdtemp(prefix="xab")
    bench = Bench(given, directory)
    try:
        for path in given.paths:
            measure(bench, path)
    finally:
        bench.close()
        shutil.rmtree(directory, ignore_errors=True)


if __name__ == "__main__":
    main()
