# SPDX-License-Identifier: BSD-3-Clause
"""What a torture run is made of: one real server, several daemons, each with a consumer name and
a fault proxy of its own, and producers whose consumers strand entries all the time."""

import json
import os
import random
import signal
import subprocess
import threading
import time

import harness
from harness import GROUP, STREAM, Proxy, Server
from oracle import Interval
from resp import Client, ReplyError

BUILD = os.path.dirname(os.path.dirname(os.path.abspath(harness.DAEMON)))
HANDLER = os.environ.get("TORTURE_HANDLER") or os.path.join(
    BUILD, "tests", "torture", "torture-handler")
STAMP = os.environ.get("TORTURE_STAMP") or os.path.join(BUILD, "tests", "torture", "stamp")

DEAD = STREAM + ":dead"
MAX_DELIVERIES = 5

CONFIG = """[daemon]
drain_timeout = 10s
[redis]
url = {url}
reconnect_min = 10ms
[recovery torture]
stream = {stream}
group = {group}
consumer = {name}
min_idle = {min_idle}ms
interval = 100ms
max_deliveries = {max_deliveries}
dead_letter_stream = {dead}
handler = exec
command = {command}
payload = {payload}
concurrency = {concurrency}
handler_timeout = {timeout}ms
"""


def boottime():
    return time.clock_gettime(time.CLOCK_BOOTTIME)


class History:
    """What was done, and when."""

    def __init__(self, path):
        self._lock = threading.Lock()
        self._file = open(path, "w")

    def __call__(self, text):
        with self._lock:
            self._file.write(f"{boottime():.6f} {text}\n")

    def close(self):
        self._file.close()


class Node:
    """One daemon, life after life, with its proxy."""

    def __init__(self, directory, name, upstream, min_idle, **keys):
        self.name = name
        self.lock = threading.Lock()  # whoever stops or kills it has it
        self.log_path = os.path.join(directory, name + ".log")
        with open(self.log_path, "wb") as log:
            self._stamp = subprocess.Popen([STAMP], stdin=subprocess.PIPE, stdout=log)
        self.proxy = Proxy(directory, upstream, name=name)
        self.config = harness.write(
            os.path.join(directory, name + ".conf"),
            CONFIG.format(url=self.proxy.url, stream=STREAM, group=GROUP, name=name, dead=DEAD,
                          max_deliveries=MAX_DELIVERIES, min_idle=round(min_idle * 1000),
                          timeout=round(min_idle * 4000), **keys))
        self.births, self.deaths = {}, {}
        self.still = []
        self.failures = []
        self.process = None
        self.start()

    def start(self):
        environment = {k: v for k, v in os.environ.items()
                       if k not in ("NOTIFY_SOCKET", "JOURNAL_STREAM", "WATCHDOG_USEC")}
        self.process = subprocess.Popen(
            [harness.DAEMON, "--config", self.config, "--log-level", "debug"],
            stdin=subprocess.DEVNULL, stdout=self._stamp.stdin, stderr=self._stamp.stdin,
            env=environment)
        self.births[self.process.pid] = boottime()

    def _over(self, expected):
        self.deaths[self.process.pid] = boottime()
        if self.process.returncode not in expected:
            self.failures.append(f"{self.name}: exit status {self.process.returncode}")

    def kill(self):
        self.process.kill()
        self.process.wait()
        self._over((-signal.SIGKILL,))

    def terminate(self, seconds=30):
        self.process.send_signal(signal.SIGTERM)
        try:
            self.process.wait(seconds)
        except subprocess.TimeoutExpired:
            self.failures.append(f"{self.name}: alive {seconds} s after SIGTERM")
            self.process.kill()
            self.process.wait()
        # What comes before the daemon listens for signals ends it at once.
        self._over((0, -signal.SIGTERM, -signal.SIGKILL))

    def suspend(self):
        self.process.send_signal(signal.SIGSTOP)
        return boottime()

    def resume(self, since):
        self.still.append(Interval(since, boottime()))
        self.process.send_signal(signal.SIGCONT)

    def look_after(self):
        """One that ended by itself is a finding."""
        if self.process.poll() is not None and self.process.pid not in self.deaths:
            self._over(())

    def stop(self):
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGCONT)
            harness.end_process(self.process, signal.SIGKILL)
        self.proxy.stop()
        self._stamp.stdin.close()
        self._stamp.wait(20)

    def cuts(self):
        return json.loads(self.proxy("count").partition(" ")[2])["cut"]

    def complaints(self):
        with open(self.log_path, errors="replace") as log:
            bad = [line.strip() for line in log
                   if "Assertion" in line or "Sanitizer" in line or "runtime error" in line]
        return self.failures + bad


class World:
    def __init__(self, directory, seed, given, clock=False):
        self.directory, self.min_idle, self.rate = directory, given.min_idle, given.rate
        self.log = History(os.path.join(directory, "history"))
        self.ended = threading.Event()   # of the faults and producers
        self.ledger = os.path.join(directory, "ledger")
        open(self.ledger, "w").close()
        self.server_lock = threading.Lock()  # whoever stops or kills it has it
        self.server_still, self.clock_steps, self.clock_back = [], [], []
        self._still_since, self._clock = None, 0
        self.nodes, self.server = [], None
        self.broken = []  # faults that failed themselves
        self.produced, self.consumer_acked = set(), set()
        self.removed, self.foreign_acked, self.foreign_claimed = set(), set(), {}
        self.handlers_killed = {}
        try:
            self._begin(seed, given, clock)
        except BaseException:
            self.stop()
            raise

    def _begin(self, seed, given, clock):
        self.server = Server(self.directory, "--appendonly", "yes", "--appendfsync", "always",
                             clock=clock)
        with self.server.client() as client:
            client("XGROUP", "CREATE", STREAM, GROUP, "0", "MKSTREAM")
        for i in range(given.daemons):
            name = f"d{i}"
            command = f"{HANDLER} {self.ledger} {name} {seed} {round(self.min_idle * 1000)}"
            self.nodes.append(Node(self.directory, name, f"unix:{self.server.path}", self.min_idle,
                                   command=command, payload="id" if i % 4 == 3 else "json",
                                   concurrency=given.concurrency))

    # --- the server ---------------------------------------------------------------------------

    def set_clock(self, seconds):
        """How far the server's clock is ahead of ours."""
        if seconds != self._clock:
            (self.clock_steps if seconds > self._clock else self.clock_back).append(boottime())
        self._clock = seconds
        self.server.set_clock(seconds)

    def server_away(self):
        self._still_since = boottime()

    def server_back(self):
        self.server_still.append(Interval(self._still_since, boottime()))
        self._still_since = None

    # --- those who strand entries -------------------------------------------------------------

    def client(self):
        """A client of the server itself; waits until it is there."""
        while True:
            try:
                return Client(self.server.path, timeout=60)
            except OSError:
                if self.ended.wait(0.02):
                    time.sleep(0)  # the end of the run waits for the server too

    def _strand_some(self, client, rng, most):
        added = client.pipeline([("XADD", STREAM, "*", "n", rng.randrange(10**6))
                                 for _ in range(rng.randint(1, most))])
        self.produced.update(i.decode() for i in added if isinstance(i, bytes))
        flaky = f"flaky-{rng.randrange(5)}"
        reply = client("XREADGROUP", "GROUP", GROUP, flaky, "COUNT", most,
                       "STREAMS", STREAM, ">")
        delivered = [entry[0].decode() for entry in (reply[0][1] if reply else [])]
        done = [i for i in delivered if rng.random() < 0.15]
        if done:
            self.consumer_acked.update(done)
            client("XACK", STREAM, GROUP, *done)

    def produce(self, rng):
        """Until the run ends; not much more than the daemons can take."""
        client, most = None, max(1, round(2 * self.rate * 0.04))
        while not self.ended.wait(0.04):
            try:
                client = client or self.client()
                if client("XPENDING", STREAM, GROUP)[0] < 20 * self.rate:
                    self._strand_some(client, rng, most)
            except (OSError, ReplyError) as error:
                self.log(f"producer: {error}")
                client = client.close() if client else None
        if client:
            client.close()

    # --- the end ------------------------------------------------------------------------------

    def strand_the_rest(self, client):
        """What was added and never delivered."""
        while client("XREADGROUP", "GROUP", GROUP, "flaky-0", "COUNT", 1000, "STREAMS", STREAM,
                     ">"):
            pass

    def stop(self):
        self.ended.set()
        self.log(f"connections cut: {sum(node.cuts() for node in self.nodes)}")
        for node in self.nodes:
            node.stop()
        if self.server:
            self.server.stop()
        self.log.close()


def stream(seed, name):
    """A source of random numbers that is the same in each run with this seed."""
    return random.Random(f"{seed}:{name}")
