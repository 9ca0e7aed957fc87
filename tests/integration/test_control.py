#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""The control socket and xautoclaimctl: each command, and clients that know no manners."""

import json
import os
import pty
import select
import signal
import socket
import stat
import subprocess
import time

import harness
from harness import CTL, DEADLINE, STREAM, Test, config, pending, pending_count, recovery, strand

OTHER = "invoices"


def run_ctl(*arguments):
    done = subprocess.run([CTL, *arguments], capture_output=True, text=True, timeout=DEADLINE,
                          check=False)
    return done.returncode, done.stdout, done.stderr


class Control(Test):
    def begin(self, handler="exit 0\n", others=True, **keys):
        """orders as the test wants it, and another recovery that only counts the time."""
        self.redis = self.server()
        self.r = self.client(self.redis)
        self.r.pipeline([("XGROUP", "CREATE", s, harness.GROUP, "0", "MKSTREAM")
                         for s in (STREAM, OTHER)])
        recoveries = {"orders": recovery(self.handler(handler), **keys)}
        if others:
            recoveries["clock"] = recovery(self.handler("exit 0\n", "other"), stream=OTHER,
                                           interval="50ms", consumer="clock")
        return config(self.redis.url, recoveries)

    def strand(self, n, **keywords):
        return strand(self.client(self.redis), n, **keywords)

    def some_time(self, daemon, passes=5):
        """Until the other recovery has looked so many times."""
        before = len(daemon.records(RECOVERY="clock", PASS_CLAIMED="0"))
        daemon.wait_count(before + passes, RECOVERY="clock", PASS_CLAIMED="0")

    def said(self, daemon, *arguments, status=0):
        code, out, err = daemon.ctl(*arguments)
        self.assertEqual(code, status, (arguments, out, err))
        return out if status == 0 else err

    def facts(self, daemon, name="orders"):
        answer = json.loads(self.said(daemon, "status", "--json"))
        return next(r for r in answer["recoveries"] if r["name"] == name), answer

    def add_stranded(self, n, first_ms):
        """More of them, in a group that is there."""
        ids = [f"{first_ms + i}-0" for i in range(n)]
        self.r.pipeline(("XADD", STREAM, i, "n", i) for i in ids)
        self.r("XREADGROUP", "GROUP", harness.GROUP, "dead", "COUNT", str(n), "STREAMS", STREAM, ">")
        self.r("XCLAIM", STREAM, harness.GROUP, "dead", "0", *ids, "IDLE", "3600000", "RETRYCOUNT",
               "1", "JUSTID")
        return ids


class Status(Control):
    def test_what_it_tells(self):
        gate = self.gate()
        text = self.begin(gate.wait + "\n", concurrency=2, claim_ahead=1)
        now = int(time.time() * 1000)
        self.add_stranded(5, now - 200000)
        daemon = self.controlled(text).wait_ready()
        daemon.wait_count(2, RECOVERY="orders", DELIVERIES="2")
        facts, whole = self.facts(daemon)
        self.assertEqual((facts["state"], facts["pending"], facts["held"], facts["running"]),
                         ("scanning", 5, 3, 2))
        self.assertTrue(200 <= facts["oldest_seconds"] < 300, facts)
        self.assertEqual((facts["stream"], facts["group"], facts["consumer"], facts["trouble"]),
                         ("orders", "workers", "recoverer", ""))
        self.assertIsNone(facts["last_pass"])
        self.assertEqual(facts["total"]["claimed"], 3)  # while the pass goes on
        self.assertEqual(whole["pid"], daemon.pid)
        self.assertIn("2 recoveries", whole["status"])
        self.assertEqual([(s["state"], s["recoveries"]) for s in whole["servers"]], [("up", 2)])
        gate.open(5)
        daemon.wait_pass(RECOVERY="orders", PASS_ACKED="5")
        facts, _ = self.facts(daemon)
        self.assertEqual((facts["pending"], facts["held"], facts["oldest_seconds"]), (0, 0, None))
        self.assertEqual(facts["last_pass"]["entries"]["acked"], 5)
        self.assertEqual(facts["total"]["ok"], 5)
        table = self.said(daemon, "status")
        self.assertRegex(table, r"(?m)^RECOVERY +STATE +PENDING +OLDEST +HELD +LAST PASS +NEXT +")
        self.assertRegex(table, r"(?m)^orders +(resting|scanning) +0 +- +0 +5 claimed, 5 acked, "
                                r"\d+s ago +(now|\d+s) +5 +5 +0$")
        self.assertRegex(table, r"(?m)^- +unix://\S+ +2 +up$")
        daemon.terminate()

    def test_troubles_and_a_server_that_is_away(self):
        text = self.begin()
        self.redis.kill()
        daemon = self.controlled(text).wait_ready()
        daemon.notify.wait_status("waiting (redis")
        facts, whole = self.facts(daemon)
        self.assertTrue(facts["trouble"])
        self.assertNotEqual(whole["servers"][0]["state"], "up")
        self.assertIn(facts["trouble"], self.said(daemon, "status"))

    def test_watch_writes_changes_where_there_is_no_terminal(self):
        gate = self.gate()
        text = self.begin(gate.wait + "\n", others=False)
        daemon = self.controlled(text).wait_ready()
        with subprocess.Popen([CTL, "--socket", daemon.control, "status", "--watch"],
                              stdout=subprocess.PIPE, text=True) as watch:
            self.assertRegex(watch.stdout.readline(), r"^orders \w+ pending=0 held=0 running=0 ")
            self.add_stranded(1, 1)
            line = ""
            while "running=1" not in line:
                line = watch.stdout.readline()
                self.assertTrue(line.startswith("orders "), line)
            gate.open()
            while "acked=1" not in line:
                line = watch.stdout.readline()
                self.assertTrue(line.startswith("orders "), line)
            watch.send_signal(signal.SIGINT)
            self.assertEqual(watch.wait(DEADLINE), -signal.SIGINT)

    def test_watch_redraws_on_a_terminal(self):
        daemon = self.controlled(self.begin()).wait_ready()
        master, slave = pty.openpty()
        with subprocess.Popen([CTL, "--socket", daemon.control, "status", "--watch"],
                              stdout=slave) as watch:
            os.close(slave)
            seen, deadline = b"", time.monotonic() + DEADLINE
            while seen.count(b"\x1b[H\x1b[2J") < 3 and time.monotonic() < deadline:
                if select.select([master], [], [], 1)[0]:
                    seen += os.read(master, 65536)
            watch.send_signal(signal.SIGINT)
            watch.wait(DEADLINE)
        os.close(master)
        self.assertGreaterEqual(seen.count(b"\x1b[H\x1b[2J"), 3)
        self.assertGreaterEqual(seen.count(b"RECOVERY"), 2)

    def test_watch_survives_a_restart(self):
        daemon = self.controlled(self.begin(others=False)).wait_ready()
        with subprocess.Popen([CTL, "--socket", daemon.control, "status", "--watch"],
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as watch:
            watch.stdout.readline()
            daemon.terminate()
            self.assertIn("cannot reach the daemon", watch.stderr.readline())
            self.add_stranded(1, 1)
            daemon.start()
            line = ""
            while "acked=1" not in line:
                line = watch.stdout.readline()
                self.assertTrue(line.startswith("orders "), line)
            watch.terminate()
            watch.communicate()


class Commands(Control):
    def test_run(self):
        text = self.begin(interval="1h")
        daemon = self.controlled(text).wait_ready()
        out = self.said(daemon, "run", "orders")
        self.assertRegex(out, "^orders: ")
        daemon.wait_empty_pass(RECOVERY="orders")
        self.add_stranded(3, 1)
        self.assertEqual(self.said(daemon, "run", "orders"), "orders: scans now\n")
        daemon.wait_pass(RECOVERY="orders", PASS_ACKED="3")
        self.assertEqual(self.said(daemon, "run", "nobody", status=1),
                         "there is no [recovery nobody]\n")

    def test_run_where_the_group_was_missing(self):
        text = self.begin(interval="1h")
        self.r("DEL", STREAM)
        daemon = self.controlled(text).wait_ready()
        self.said(daemon, "run", "orders")
        daemon.notify.wait_status("no stream")
        self.strand(2)
        self.assertIn("no stream", self.said(daemon, "run", "orders"))
        daemon.wait_pass(RECOVERY="orders", PASS_ACKED="2")

    def test_pause_claims_nothing_and_what_is_held_goes_on(self):
        gate = self.gate()
        text = self.begin(gate.wait + "\n", concurrency=1, claim_ahead=1)
        self.add_stranded(5, 1)
        daemon = self.controlled(text).wait_ready()
        daemon.wait_record(ENTRY_ID="1-0", DELIVERIES="2")
        self.assertEqual(self.said(daemon, "pause", "orders"), "orders: paused\n")
        self.assertEqual(self.said(daemon, "pause", "orders"), "orders: paused\n")
        self.assertEqual(len(daemon.records(STATE="paused")), 2)  # the state, and what people read
        self.assertEqual(self.facts(daemon)[0]["state"], "paused")
        daemon.notify.wait_status("1 paused")
        gate.open(5)
        # two were held: both are handled and acknowledged, the others stay where they were
        daemon.wait_count(2, RECOVERY="orders", OUTCOME="ok")
        daemon.wait_pass(RECOVERY="orders", PASS_ACKED="2")
        self.some_time(daemon)
        rest = pending(self.r)
        self.assertEqual({i: p[0] for i, p in rest.items()},
                         {"3-0": "dead", "4-0": "dead", "5-0": "dead"})
        self.assertIn("is paused", self.said(daemon, "run", "orders", status=1))
        self.assertEqual(self.said(daemon, "resume", "orders"), "orders: resumed\n")
        daemon.wait_count(5, RECOVERY="orders", OUTCOME="ok")
        daemon.wait_record(RECOVERY="orders", STATE="resumed")
        daemon.terminate()
        self.assertEqual(pending_count(self.r), 0)

    def test_pause_holds_back_retries_too(self):
        """Also of what fails while it is paused."""
        gate = self.gate()
        text = self.begin(f"{gate.wait}\nexit 1\n", retry_delay="100ms", retry_delay_max="100ms")
        self.add_stranded(1, 1)
        daemon = self.controlled(text).wait_ready()
        gate.open()
        daemon.wait_record(ENTRY_ID="1-0", DELIVERIES="3")
        self.said(daemon, "pause", "orders")
        gate.open(9)
        daemon.wait_count(2, RECOVERY="orders", OUTCOME="retry")
        self.some_time(daemon, 10)
        self.assertEqual(len(daemon.records(RECOVERY="orders", OUTCOME="retry")), 2)
        self.said(daemon, "resume", "orders")
        daemon.wait_count(4, RECOVERY="orders", OUTCOME="retry")

    def test_a_pause_outlives_an_outage(self):
        text = self.begin()
        daemon = self.controlled(text).wait_ready()
        self.some_time(daemon, 1)
        self.said(daemon, "pause", "orders")
        self.redis.kill()
        daemon.notify.wait_status("waiting (redis")
        self.assertEqual(self.facts(daemon)[0]["state"], "paused")
        self.redis.start()
        self.r = self.client(self.redis)
        self.strand(2)
        daemon.wait_record(STATE="up")
        strand(self.r, 1, stream=OTHER)
        daemon.wait_pass(RECOVERY="clock", PASS_ACKED="1")
        self.assertEqual({p[0] for p in pending(self.r).values()}, {"dead"})
        self.said(daemon, "resume", "orders")
        daemon.wait_pass(RECOVERY="orders", PASS_ACKED="2")

    def test_a_drain_ends_a_pause(self):
        daemon = self.controlled(self.begin()).wait_ready()
        self.said(daemon, "pause", "orders")
        self.assertEqual(daemon.terminate(), 0)

    def test_resume_of_what_is_not_paused(self):
        daemon = self.controlled(self.begin()).wait_ready()
        self.assertEqual(self.said(daemon, "resume", "orders"), "orders: resumed\n")
        self.some_time(daemon, 1)
        self.assertEqual(daemon.records(RECOVERY="orders", STATE="resumed"), [])


class CommandLine(Test):
    def test_usage(self):
        for arguments in ([], ["nonsense"], ["status", "x"], ["run"], ["run", "a", "b"],
                          ["run", "a b"], ["run", ""], ["pause"], ["reload", "x"], ["version"],
                          ["--nonsense"], ["-i"], ["--socket"], ["-i", "a", "--socket", "/x", "status"],
                          ["-i", "a/b", "status"], ["-i", "", "status"], ["--json", "reload"],
                          ["--watch", "run", "a"], ["--socket", "/" + 300 * "x", "status"]):
            code, out, err = run_ctl(*arguments)
            self.assertEqual((code, out), (64, ""), (arguments, err))
            self.assertIn("xautoclaimctl", err)

    def test_help_and_version(self):
        code, out, err = run_ctl("--help")
        self.assertEqual((code, err), (0, ""))
        self.assertLessEqual(max(map(len, out.splitlines())), 80)
        for word in ("status", "reload", "run", "pause", "resume", "-i", "--socket", "--json",
                     "--watch"):
            self.assertRegex(out, rf"(?m)^  {word}\b")
        code, out, _ = run_ctl("--version")
        self.assertEqual(code, 0)
        self.assertRegex(out, r"^xautoclaimctl \d+\.\d+\.\d+\n$")

    def test_nobody_there(self):
        for arguments in (["status"], ["status", "--watch"], ["reload"], ["run", "a"]):
            code, out, err = run_ctl("--socket", self.path("none"), *arguments)
            self.assertEqual((code, out), (69, ""))
            self.assertIn("cannot reach the daemon", err)
        code, _, err = run_ctl("-i", "no-such-instance", "status")
        self.assertEqual(code, 69)
        self.assertIn("/run/xautoclaimd-no-such-instance/control", err)

    def test_somebody_else_there(self):
        path = self.path("liar")
        with socket.socket(socket.AF_UNIX) as liar:
            liar.bind(path)
            liar.listen()
            for answer in (b"", b"ok 100\nshort", b"HTTP/1.1 200 OK\r\n\r\n", b"ok 2\n{}",
                           b"ok 1\nlonger"):
                with subprocess.Popen([CTL, "--socket", path, "status"], stdout=subprocess.PIPE,
                                      stderr=subprocess.PIPE, text=True) as ctl:
                    peer, _ = liar.accept()
                    peer.recv(100)
                    peer.sendall(answer)
                    peer.close()
                    out, err = ctl.communicate(timeout=DEADLINE)
                    self.assertEqual((ctl.returncode, out), (69, ""), (answer, err))


class Socket(Control):
    def test_its_mode_and_its_end(self):
        daemon = self.controlled(self.begin()).wait_ready()
        self.assertEqual(stat.S_IMODE(os.stat(daemon.control).st_mode), 0o660)
        daemon.terminate()
        self.assertFalse(os.path.exists(daemon.control))

    def test_what_a_crash_leaves_is_replaced(self):
        daemon = self.controlled(self.begin()).wait_ready()
        daemon.wait_record(RECOVERIES="2")
        daemon.kill()
        self.assertTrue(os.path.exists(daemon.control))
        self.assertEqual(daemon.ctl("status")[0], 69)
        daemon.start()
        daemon.wait_count(2, RECOVERIES="2")
        self.said(daemon, "status")
        daemon.terminate()

    def test_another_daemons_is_left_alone(self):
        text = self.begin()
        first = self.controlled(text).wait_ready()
        inode = os.stat(first.control).st_ino
        second = self.daemon(text, name="second",
                             environment={"RUNTIME_DIRECTORY": first.directory}).wait_ready()
        warning = second.wait_record(PRIORITY="4")
        self.assertIn("control_socket", warning.first("MESSAGE"))
        self.assertEqual(second.terminate(), 0)
        self.assertEqual(os.stat(first.control).st_ino, inode)
        self.assertEqual(self.facts(first)[1]["pid"], first.pid)

    def test_off(self):
        text = self.begin().replace("[daemon]\n", "[daemon]\ncontrol_socket = off\n")
        daemon = self.controlled(text).wait_ready()
        self.assertFalse(os.path.exists(daemon.control))
        self.assertEqual(daemon.ctl("status")[0], 69)

    def test_once_has_none(self):
        text = self.begin()
        code, _, err = self.run_daemon(text, "--once", environment={"RUNTIME_DIRECTORY": self.dir})
        self.assertEqual(code, 0, err)
        self.assertFalse(os.path.exists(self.path("control")))


class Hostile(Control):
    def dial(self, daemon):
        client = socket.socket(socket.AF_UNIX)
        self.addCleanup(client.close)
        client.connect(daemon.control)  # waits while the queue of the kernel is full
        client.settimeout(DEADLINE)
        return client

    def read_all(self, client):
        data = b""
        try:
            while True:
                part = client.recv(65536)
                if not part:
                    return data
                data += part
        except ConnectionResetError:
            return data

    def descriptors(self, daemon):
        return len(os.listdir(f"/proc/{daemon.pid}/fd"))

    def test_clients_that_know_no_manners(self):
        daemon = self.controlled(self.begin()).wait_ready()
        self.some_time(daemon, 1)
        before = self.descriptors(daemon)

        # a megabyte without a newline
        client = self.dial(daemon)
        try:
            client.sendall(b"x" * (1 << 20))
        except (BrokenPipeError, ConnectionResetError):
            pass
        self.assertTrue(self.read_all(client).startswith(b"error "))

        # half-closed: with a request it is answered, without one it is told or dropped
        for sent, wanted in ((b"version\n", b"ok "), (b"vers", b"error "), (b"", b"")):
            client = self.dial(daemon)
            client.sendall(sent)
            client.shutdown(socket.SHUT_WR)
            answer = self.read_all(client)
            self.assertTrue(answer.startswith(wanted) and (wanted or not answer), (sent, answer))

        # gone before the answer
        for _ in range(50):
            client = self.dial(daemon)
            client.sendall(b"status\n")
            client.close()

        # binary rubbish, and requests that nearly are one
        for sent in (b"\0\n", b"\xff\xfe\n", b"status\r\n", b"run\n", b"GET / HTTP/1.0\r\n\r\n"):
            client = self.dial(daemon)
            client.sendall(sent)
            self.assertTrue(self.read_all(client).startswith(b"error "), sent)

        self.said(daemon, "status")
        self.some_time(daemon, 2)
        while self.descriptors(daemon) > before:
            self.some_time(daemon, 1)
        self.assertEqual(daemon.terminate(), 0)

    def test_a_hundred_silent_connections(self):
        daemon = self.controlled(self.begin()).wait_ready()
        self.some_time(daemon, 1)
        before = self.descriptors(daemon)
        clients = []
        for _ in range(100):
            client = socket.socket(socket.AF_UNIX)
            self.addCleanup(client.close)
            client.setblocking(False)
            try:
                client.connect(daemon.control)
            except BlockingIOError:  # the queue of the kernel is full
                client.close()
                continue
            clients.append(client)
        self.assertGreaterEqual(len(clients), 16)
        # what the daemon is for goes on
        self.add_stranded(20, 1)
        daemon.wait_pass(RECOVERY="orders")
        self.some_time(daemon, 3)
        self.assertLessEqual(self.descriptors(daemon), before + 16 + 12)  # 4 handlers
        # they are dropped one after the other, and whoever asks has its turn
        started = time.monotonic()
        self.assertEqual(clients[0].getblocking(), False)
        clients[0].settimeout(DEADLINE)
        self.assertEqual(clients[0].recv(1), b"")
        self.assertLess(time.monotonic() - started, 20)
        for client in clients:
            client.close()
        self.said(daemon, "status")
        while self.descriptors(daemon) > before:
            self.some_time(daemon, 1)

    def test_bytes_that_drip(self):
        """A byte now and then does not prolong a client's life."""
        daemon = self.controlled(self.begin()).wait_ready()
        client = self.dial(daemon)
        client.settimeout(0.2)
        started = time.monotonic()
        while time.monotonic() - started < 25:
            try:
                client.send(b"s")
                if client.recv(1) == b"":
                    break
            except TimeoutError:
                continue
            except (BrokenPipeError, ConnectionResetError):
                break
        took = time.monotonic() - started
        self.assertTrue(8 < took < 20, took)


if __name__ == "__main__":
    harness.main()
