# SPDX-License-Identifier: BSD-3-Clause
"""What the integration tests stand on: private Redis servers, the daemon under test with a
journal and a notify socket of its own, the fault proxy.

Everything lives in one temporary directory a test and on Unix sockets or free loopback ports.
Whatever was started is ended by its pid when the test is over. Nothing here sleeps: tests wait
for records, status sentences or processes, with a deadline.

The journal: a preloaded library leads what the daemon sends to the journal's socket into the
test's, so that every record arrives with all its fields. No root, no namespace.
"""

import functools
import json
import os
import re
import shutil
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import threading
import time
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

from fakejournal import FakeJournal  # noqa: E402
from resp import Client, ReplyError  # noqa: E402,F401

DAEMON = os.environ.get("XAUTOCLAIMD", "")
PROXY = os.environ.get("FAULTPROXY", "")
CTL = os.environ.get("XAUTOCLAIMCTL") or os.path.join(
    os.path.dirname(os.path.abspath(DAEMON)), "xautoclaimctl")
# Built beside them.
JOURNAL_SHIM = os.environ.get("JOURNAL_SHIM") or os.path.join(
    os.path.dirname(os.path.dirname(os.path.abspath(DAEMON))), "tests", "support",
    "journal-shim.so")
CLOCK_SHIM = os.path.join(os.path.dirname(JOURNAL_SHIM), "clock-shim.so")
WALL_CLOCK_SHIM = os.path.join(os.path.dirname(JOURNAL_SHIM), "wall-clock-shim.so")
REDIS_SERVER = os.environ.get("REDIS_SERVER") or "redis-server"

# Deadlines are for what goes wrong; a slow machine or a sanitizer must not trip them.
DEADLINE = float(os.environ.get("TEST_DEADLINE", "30"))

STREAM, GROUP = "orders", "workers"


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def end_process(process, sig=signal.SIGTERM):
    if process.poll() is None:
        process.send_signal(sig)
        try:
            process.wait(20)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


@functools.cache
def server_version():
    """What the server that the tests use calls itself: ("Redis", (7, 0, 15))."""
    said = subprocess.run([REDIS_SERVER, "--version"], capture_output=True, text=True,
                          check=True).stdout
    found = re.match(r"(\w+) server v=([\d.]+)", said)
    if not found:
        raise RuntimeError(f"{REDIS_SERVER} --version: {said}")
    return found[1], tuple(int(n) for n in found[2].split("."))


def keeps_the_deleted():
    """Redis 6.2 does not look whether what it claims is in the stream still: XAUTOCLAIM returns the
    IDs of deleted entries as claimed, and has no third element; XCLAIM returns nil for them."""
    return server_version()[1] < (7,)


class Server:
    """A private redis-server on a Unix socket (and a TCP port, and with a wall clock of its own,
    where asked for)."""

    def __init__(self, directory, *options, tcp=False, name="redis", clock=False):
        self.directory = os.path.join(directory, name)
        os.makedirs(self.directory, exist_ok=True)
        self.path = os.path.join(self.directory, "sock")
        self.port = free_port() if tcp else 0
        self.options = list(options)
        self.clock_path = os.path.join(self.directory, "clock") if clock else None
        if clock:
            self.set_clock(0)
        self.process = None
        self.start()

    @property
    def url(self):
        return f"unix://{self.path}"

    def set_clock(self, seconds):
        """How far its wall clock is ahead of ours."""
        fd = os.open(self.clock_path, os.O_RDWR | os.O_CREAT, 0o644)
        os.pwrite(fd, struct.pack("=q", round(seconds * 1e6)), 0)
        os.close(fd)

    def _program(self):
        if not self.clock_path:
            return [REDIS_SERVER]
        return ["env", f"CLOCK_OFFSET={self.clock_path}", f"LD_PRELOAD={WALL_CLOCK_SHIM}",
                REDIS_SERVER]

    @staticmethod
    def _allow_debug():
        """DEBUG is allowed to everybody before 7.0, which refuses an option that it does not know."""
        return ["--enable-debug-command", "yes"] if server_version()[1] >= (7,) else []

    def start(self):
        """Returns when the server has said that it is ready (as it would tell systemd)."""
        notify_path = os.path.join(self.directory, "ready")
        if os.path.exists(notify_path):
            os.unlink(notify_path)
        notify = NotifySocket(notify_path)
        with open(os.path.join(self.directory, "log"), "ab") as log:
            self.process = subprocess.Popen(
                [*self._program(), "--port", str(self.port), "--bind", "127.0.0.1", "--unixsocket",
                 self.path, "--dir", self.directory, "--save", "", "--supervised", "systemd",
                 *self._allow_debug(), *self.options],
                stdout=log, stderr=subprocess.STDOUT,
                env=dict(os.environ, NOTIFY_SOCKET=notify_path))
        try:
            notify.wait_for(lambda m: m.get("READY") == "1")
        except TimeoutError:
            self.kill()
            with open(os.path.join(self.directory, "log"), errors="replace") as log:
                raise RuntimeError("redis-server: " + log.read()) from None
        finally:
            notify.close()

    def client(self):
        return Client(self.path)

    def signal(self, sig):
        self.process.send_signal(sig)

    def kill(self):
        self.process.kill()
        self.process.wait()

    def stop(self):
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGCONT)
        end_process(self.process, signal.SIGKILL)


class NotifySocket:
    """What systemd would be told."""

    def __init__(self, path):
        self.path = path
        self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self._socket.bind(path)
        self._changed = threading.Condition()
        self._messages = []
        self._thread = threading.Thread(target=self._collect, daemon=True)
        self._thread.start()

    def _collect(self):
        while True:
            data = self._socket.recv(65536)
            if data == b"X_END=1":
                return
            fields = dict(line.partition("=")[::2] for line in data.decode().splitlines())
            with self._changed:
                self._messages.append(fields)
                self._changed.notify_all()

    def close(self):
        if not self._thread.is_alive():
            return
        with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as sender:
            sender.sendto(b"X_END=1", self.path)
        self._thread.join()
        self._socket.close()

    def messages(self):
        with self._changed:
            return list(self._messages)

    def statuses(self):
        return [m["STATUS"] for m in self.messages() if "STATUS" in m]

    def wait_for(self, predicate, seconds=DEADLINE):
        deadline = time.monotonic() + seconds
        seen = 0
        with self._changed:
            while True:
                for message in self._messages[seen:]:
                    if predicate(message):
                        return message
                seen = len(self._messages)
                left = deadline - time.monotonic()
                if left <= 0:
                    raise TimeoutError(f"no such notification in {seconds} s; there were "
                                       f"{self._messages[-10:]}")
                self._changed.wait(left)

    def wait_status(self, *words, seconds=DEADLINE):
        return self.wait_for(lambda m: all(w in m.get("STATUS", "") for w in words),
                             seconds)["STATUS"]


class Daemon:
    """xautoclaimd with a configuration file, its journal, its notify socket."""

    def __init__(self, directory, config, *arguments, name="daemon", environment=None, level="debug",
                 wrapper=(), preload=()):
        self.directory = os.path.join(directory, name)
        os.makedirs(os.path.join(self.directory, "journal"), exist_ok=True)
        self.config_path = os.path.join(self.directory, "xautoclaimd.conf")
        write(self.config_path, config)
        self.notify = NotifySocket(os.path.join(self.directory, "notify"))
        self.journal = FakeJournal(os.path.join(self.directory, "journal", "socket"))
        self.stderr_path = os.path.join(self.directory, "stderr")
        self.arguments = ["--config", self.config_path,
                          *(["--log-level", level] if level else []), *arguments]
        self.environment = environment or {}
        self.wrapper = list(wrapper)
        self.preload = ":".join([JOURNAL_SHIM, *preload])
        self.process = None
        self.start()

    def start(self):
        stderr = open(self.stderr_path, "ab")
        status = os.fstat(stderr.fileno())
        environment = dict(os.environ, NOTIFY_SOCKET=self.notify.path,
                           JOURNAL_STREAM=f"{status.st_dev}:{status.st_ino}", **self.environment)
        journal = ["env", f"LD_PRELOAD={self.preload}", f"FAKE_JOURNAL={self.journal.path}"]
        self.process = subprocess.Popen([*self.wrapper, *journal, DAEMON, *self.arguments],
                                        stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                        stderr=stderr, env=environment)
        stderr.close()

    @property
    def pid(self):
        return self.process.pid

    def wait_ready(self):
        self.notify.wait_for(lambda m: m.get("READY") == "1")
        return self

    def records(self, **fields):
        return [r for r in self.journal.records() if matches(r, fields)]

    def wait_record(self, seconds=DEADLINE, **fields):
        return self.journal.wait_for(lambda r: matches(r, fields), seconds)

    def wait_count(self, n, seconds=DEADLINE, **fields):
        return self.journal.wait_until(
            lambda rs: [r for r in rs if matches(r, fields)]
            if sum(matches(r, fields) for r in rs) >= n else None, seconds)

    def wait_pass(self, seconds=DEADLINE, **fields):
        """A pass record that claimed or deleted something."""
        return self.journal.wait_for(
            lambda r: "PASS_CLAIMED" in r and matches(r, fields)
            and (r.first("PASS_CLAIMED") != "0" or r.first("PASS_DELETED") != "0"), seconds)

    def wait_sums(self, RECOVERY, seconds=DEADLINE, **sums):
        """Until the passes of a recovery add up to these."""
        def enough(records):
            return all(sum(int(r.first(name, "0")) for r in records
                           if r.first("RECOVERY") == RECOVERY) >= n for name, n in sums.items())

        self.journal.wait_until(enough, seconds)

    def wait_empty_pass(self, seconds=DEADLINE, **fields):
        return self.journal.wait_for(
            lambda r: r.first("PASS_CLAIMED") == "0" and matches(r, fields), seconds)

    def terminate(self, seconds=DEADLINE):
        """SIGTERM; returns the exit status."""
        self.process.send_signal(signal.SIGTERM)
        status = self.process.wait(seconds)
        self.journal.catch_up()
        return status

    @property
    def control(self):
        """The control socket of a daemon that was started with RUNTIME_DIRECTORY in its own."""
        return os.path.join(self.directory, "control")

    def ctl(self, *arguments):
        """Runs xautoclaimctl: (exit status, standard output, standard error)."""
        done = subprocess.run([CTL, "--socket", self.control, *arguments], capture_output=True,
                              text=True, timeout=DEADLINE, check=False)
        return done.returncode, done.stdout, done.stderr

    def kill(self):
        self.process.kill()
        self.process.wait()

    def stderr(self):
        with open(self.stderr_path, errors="replace") as file:
            return file.read()

    def stop(self):
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGCONT)
            end_process(self.process)
        if self.process.stdout:
            self.process.stdout.close()
        self.journal.close()
        self.notify.close()


class Proxy:
    """tests/support/faultproxy between a client and a server."""

    def __init__(self, directory, upstream, name="proxy", listen=None):
        self.path = os.path.join(directory, name + ".sock")
        self.record_path = os.path.join(directory, name + ".record")
        self.process = subprocess.Popen(
            [PROXY, "--listen", listen or f"unix:{self.path}", "--upstream", upstream, "--record",
             self.record_path], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, bufsize=1)
        self.address = self.process.stdout.readline().strip()

    @property
    def url(self):
        return f"unix://{self.path}"

    def __call__(self, command):
        self.process.stdin.write(command + "\n")
        self.process.stdin.flush()
        answer = self.process.stdout.readline().strip()
        if not answer.startswith("ok"):
            raise RuntimeError(f"proxy: {command}: {answer}")
        return answer

    def exchanges(self):
        from recording import exchanges
        return exchanges(self.record_path)

    def stop(self):
        end_process(self.process)
        self.process.stdin.close()
        self.process.stdout.close()


class Gate:
    """Holds handlers back: each waits in `gate.wait` (shell) until the test lets one more
    through."""

    def __init__(self, path):
        os.mkfifo(path)
        self._fd = os.open(path, os.O_RDWR)
        self.wait = f"read _ <{path}"

    def open(self, n=1):
        os.write(self._fd, b"\n" * n)

    def close(self):
        os.close(self._fd)


def matches(record, fields):
    return all(record.first(name) == str(value) for name, value in fields.items())


def write(path, text, mode=None):
    with open(path, "w") as file:
        file.write(text)
    if mode is not None:
        os.chmod(path, mode)
    return path


def strand(client, n, stream=STREAM, group=GROUP, consumer="dead", body=None, idle_ms=3600000,
           first_ms=1):
    """n entries with IDs first_ms-0, ... delivered to a consumer that died idle_ms ago."""
    client.pipeline([("XGROUP", "CREATE", stream, group, "0", "MKSTREAM")])
    ids = [f"{first_ms + i}-0" for i in range(n)]
    for start in range(0, n, 1000):
        part = ids[start : start + 1000]
        client.pipeline(("XADD", stream, i, *(body or ("n", i))) for i in part)
        client.pipeline([("XREADGROUP", "GROUP", group, consumer, "COUNT", len(part), "STREAMS",
                          stream, ">")])
        if idle_ms:
            client.pipeline([("XCLAIM", stream, group, consumer, "0", *part, "IDLE", idle_ms,
                              "RETRYCOUNT", 1, "JUSTID")])
    return ids


def pending(client, stream=STREAM, group=GROUP):
    """ID -> (consumer, idle in ms, deliveries)."""
    rows = client("XPENDING", stream, group, "-", "+", "1000000")
    return {r[0].decode(): (r[1].decode(), r[2], r[3]) for r in rows}


def pending_count(client, stream=STREAM, group=GROUP):
    return client("XPENDING", stream, group)[0]


class Test(unittest.TestCase):
    """A test with a directory; what it makes with the functions below ends with it."""

    longMessage = True

    def setUp(self):
        # Short, because the path of a Unix socket may have 107 bytes.
        self.dir = tempfile.mkdtemp(prefix="xac")
        os.chmod(self.dir, 0o755)
        self.addCleanup(shutil.rmtree, self.dir, ignore_errors=True)

    def server(self, *options, **keywords):
        server = Server(self.dir, *options, **keywords)
        self.addCleanup(server.stop)
        return server

    def daemon(self, config, *arguments, **keywords):
        daemon = Daemon(self.dir, config, *arguments, **keywords)
        self.addCleanup(self._end_daemon, daemon)
        return daemon

    def _end_daemon(self, daemon):
        daemon.stop()
        errors = daemon.stderr()
        self.assertNotIn("Sanitizer", errors)
        self.assertNotIn("runtime error", errors)
        self.assertNotIn("Assertion", errors)

    def controlled(self, config, *arguments, **keywords):
        """A daemon with a control socket."""
        directory = self.path(keywords.get("name", "daemon"))
        environment = {"RUNTIME_DIRECTORY": directory, **keywords.pop("environment", {})}
        return self.daemon(config, *arguments, environment=environment, **keywords)

    def proxy(self, upstream, **keywords):
        proxy = Proxy(self.dir, upstream, **keywords)
        self.addCleanup(proxy.stop)
        return proxy

    def client(self, server):
        client = server.client()
        self.addCleanup(client.close)
        return client

    def gate(self, name="gate"):
        gate = Gate(self.path(name))
        self.addCleanup(gate.close)
        return gate

    def path(self, name):
        return os.path.join(self.dir, name)

    def handler(self, script, name="handler"):
        """An executable shell script; returns its path."""
        return write(self.path(name), "#!/bin/sh\n" + script, 0o755)

    def run_daemon(self, config, *arguments, environment=None):
        """Runs xautoclaimd to its end: (exit status, standard output, standard error)."""
        path = write(self.path("run.conf"), config)
        done = subprocess.run([DAEMON, "--config", path, *arguments], capture_output=True,
                              text=True, timeout=DEADLINE, check=False,
                              env=dict(os.environ, **(environment or {})))
        return done.returncode, done.stdout, done.stderr


def config(url, recoveries, redis="", daemon=""):
    """A configuration: recoveries is a dict of name -> dict of keys."""
    lines = [f"[daemon]\n{daemon}\n[redis]\nurl = {url}\n{redis}\n"]
    for name, keys in recoveries.items():
        lines.append(f"[recovery {name}]\n")
        lines.extend(f"{key} = {value}\n" for key, value in keys.items())
    return "".join(lines)


def recovery(handler, /, **keys):
    """The keys of a recovery that acts fast."""
    return {"stream": STREAM, "group": GROUP, "consumer": "recoverer", "min_idle": "60s",
            "interval": "100ms", "handler": "exec", "command": handler, **keys}


class TapResult(unittest.TestResult):
    """Test Anything Protocol on standard output."""

    def __init__(self):
        super().__init__()
        self.count = 0

    def _line(self, ok, test, note=""):
        self.count += 1
        name = test.id().partition(".")[2] if hasattr(test, "id") else str(test)
        print(f"{ok} {self.count} - {name}{note}", flush=True)

    def addSuccess(self, test):
        self._line("ok", test)

    def _failed(self, test, error):
        self._line("not ok", test)
        for line in self._exc_info_to_string(error, test).splitlines():
            print("# " + line)
        sys.stdout.flush()

    def addFailure(self, test, err):
        super().addFailure(test, err)
        self._failed(test, err)

    def addError(self, test, err):
        super().addError(test, err)
        self._failed(test, err)

    def addSubTest(self, test, subtest, err):
        super().addSubTest(test, subtest, err)
        if err is not None:
            self._failed(subtest, err)

    def addSkip(self, test, reason):
        super().addSkip(test, reason)
        self._line("ok", test, f" # SKIP {reason}")


def need(condition, reason):
    return unittest.skipUnless(condition, reason)


def main():
    for path in (DAEMON, PROXY, JOURNAL_SHIM):
        if not os.access(path, os.R_OK):
            sys.exit(f"Bail out! not built, or not named in the environment: {path or 'XAUTOCLAIMD, FAULTPROXY'}")
    names = sys.argv[1:]
    loader = unittest.defaultTestLoader
    module = sys.modules["__main__"]
    tests = loader.loadTestsFromNames(names, module) if names else loader.loadTestsFromModule(module)
    result = TapResult()
    tests.run(result)
    print(f"1..{result.count}", flush=True)
    sys.exit(0 if result.wasSuccessful() else 1)


def dump(value):
    return json.dumps(value, default=repr, indent=1)
