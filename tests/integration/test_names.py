#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Host names: looked up as every other program does, at each connect, and nothing waits for it
but the link itself. The name server is scripted, in a network of the tests' own."""

import os
import re
import signal
import socket
import time

import dns
import harness
import own_network
from dns import SILENCE, Late
from harness import Test, pending_count, recovery, strand

NAMESERVER = "nameserver 127.0.0.1\noptions timeout:30 attempts:1\n"
FAST = "reconnect_min = 10ms\nreconnect_max = 50ms\n"
NAME = "db.example"
# Of one turn of the loop: far below any look-up here, far above a busy machine's hiccups.
TURN_MAX_USEC = 1_000_000


class Names(Test):
    def setUp(self):
        if own_network.missing:
            self.skipTest(own_network.missing)
        super().setUp()
        own_network.write_etc("resolv.conf", NAMESERVER)
        self.dns = dns.Dns()
        self.addCleanup(self.dns.close)
        self.port = harness.free_port()
        self.script = self.handler("exit 0\n")

    def redis_at(self, address, name="redis"):
        return self.server("--port", str(self.port), "--bind", address, name=name)

    def url(self, name=NAME):
        return f"redis://{name}:{self.port}"

    def config(self, url, redis=FAST, other=None):
        """The recovery under test; another one on a Unix socket, where a server is given."""
        text = harness.config(url, {"orders": recovery(self.script, interval="50ms")}, redis=redis)
        if other:
            text += f"[redis local]\nurl = {other.url}\n" + "".join(
                ["[recovery other]\n"] + [f"{key} = {value}\n" for key, value in recovery(
                    self.script, interval="50ms", stream="other", redis="local").items()])
        return text

    def other_passes(self, daemon):
        return len([r for r in daemon.records(RECOVERY="other") if "PASS_CLAIMED" in r])

    def states(self, daemon):
        """What the link to the name went through, with numeric addresses."""
        return [re.sub(r".* -> ", "", r.message) for r in daemon.journal.records()
                if r.first("REDIS", "").startswith(NAME) and "STATE_FROM" in r]

    def tried(self, daemon):
        return [m[1] for m in map(re.compile(r"connecting \((.*)\)").match, self.states(daemon))
                if m]

    def ends_well(self, daemon, seconds=harness.DEADLINE):
        began = time.monotonic()
        self.assertEqual(daemon.terminate(seconds), 0)
        took = time.monotonic() - began
        stopped = daemon.journal.wait_for(lambda r: "LOOP_LONGEST_TURN_USEC" in r, harness.DEADLINE)
        self.assertLess(int(stopped.first("LOOP_LONGEST_TURN_USEC")), TURN_MAX_USEC)
        return took

    def found(self, *addresses):
        """The order in which the system gives them."""
        self.dns.names[NAME] = list(addresses)
        rows = socket.getaddrinfo(NAME, None, type=socket.SOCK_STREAM)
        self.assertEqual({r[4][0] for r in rows}, set(addresses))
        return [r[4][0] for r in rows]

    def test_a_name(self):
        redis = self.redis_at("127.0.0.1")
        strand(self.client(redis), 3)
        self.dns.names[NAME] = ["127.0.0.1"]
        daemon = self.daemon(self.config(self.url()))
        daemon.wait_pass(RECOVERY="orders", PASS_ACKED="3")
        self.assertEqual(self.states(daemon), ["resolving", "connecting (127.0.0.1)",
                                               "greeting (127.0.0.1)", "up (127.0.0.1)"])
        brand, version = harness.server_version()
        version = ".".join(map(str, version))
        said, = daemon.records(REDIS=f"{NAME}:{self.port}", REDIS_VERSION=version)
        self.assertIn(f"connected, {brand.lower()} {version}", said.message)
        self.ends_well(daemon)

    def test_not_looked_up_at_load(self):
        self.dns.names[NAME] = SILENCE
        status, _, errors = self.run_daemon(self.config(self.url()), "--check")
        self.assertEqual((status, errors), (0, ""))
        self.assertEqual(self.dns.asked(NAME), 0)

    def test_an_answer_after_20_seconds(self):
        redis, local = self.redis_at("127.0.0.1"), self.server(name="local")
        strand(self.client(redis), 3)
        strand(self.client(local), 1, stream="other")
        self.dns.names[NAME] = Late(20, ["127.0.0.1"])
        daemon = self.daemon(self.config(self.url(), FAST + "connect_timeout = 2s\n", local))
        daemon.wait_pass(RECOVERY="other", PASS_ACKED="1")
        daemon.notify.wait_status(f"cannot resolve {NAME}: no answer within 2s")
        strand(self.client(local), 5, stream="other", first_ms=100)
        daemon.wait_pass(RECOVERY="other", PASS_ACKED="5")
        before, began = self.other_passes(daemon), time.monotonic()
        daemon.wait_pass(60, RECOVERY="orders", PASS_ACKED="3")
        took = time.monotonic() - began
        self.assertGreater(took, 5)
        # each 50 ms on an idle machine
        self.assertGreater(self.other_passes(daemon) - before, took * 2)
        self.assertEqual(self.dns.asked(NAME), 1)
        # several tries, all of them waiting for the one look-up
        self.assertGreater(self.states(daemon).count("resolving"), 3)
        self.assertEqual(self.tried(daemon), ["127.0.0.1"])
        self.ends_well(daemon)

    def test_never_an_answer(self):
        local = self.server(name="local")
        strand(self.client(local), 1, stream="other")
        self.dns.names[NAME] = SILENCE
        daemon = self.daemon(self.config(self.url(), FAST + "connect_timeout = 100ms\n", local))
        daemon.wait_count(20, STATE="resolving")
        daemon.notify.wait_status(f"cannot resolve {NAME}: no answer within 100ms")
        before = self.other_passes(daemon)
        daemon.wait_count(40, STATE="resolving")
        self.assertGreater(self.other_passes(daemon), before)
        self.assertEqual(self.dns.asked(NAME), 1)
        self.assertLessEqual(len(os.listdir(f"/proc/{daemon.pid}/task")), 2)
        strand(self.client(local), 5, stream="other", first_ms=100)
        daemon.wait_pass(RECOVERY="other", PASS_ACKED="5")
        news = [r for r in daemon.journal.records()
                if r.priority <= 6 and r.first("REDIS", "").startswith(NAME)]
        self.assertEqual(len(news), 1, [r.message for r in news])
        # the look-up is still out
        self.assertLess(self.ends_well(daemon), 10)

    def test_stopped_at_the_first_look_up(self):
        self.dns.names[NAME] = SILENCE
        for sig in (signal.SIGTERM, signal.SIGINT):
            daemon = self.daemon(self.config(self.url()), name=sig.name)
            daemon.wait_ready()
            daemon.wait_record(STATE="resolving")
            asked = self.dns.asked(NAME)
            self.dns.wait_asked(NAME, max(asked, 1))
            began = time.monotonic()
            daemon.process.send_signal(sig)
            self.assertEqual(daemon.process.wait(harness.DEADLINE), 0)
            self.assertLess(time.monotonic() - began, 10)

    def test_no_such_name_then_there_is(self):
        redis = self.redis_at("127.0.0.1")
        strand(self.client(redis), 3)
        daemon = self.daemon(self.config(self.url()))
        record = daemon.wait_record(REDIS=f"{NAME}:{self.port}", PRIORITY="4")
        self.assertIn(f"cannot resolve {NAME}: Name or service not known", record.message)
        daemon.notify.wait_status(f"cannot resolve {NAME}: Name or service not known")
        self.dns.wait_asked(NAME, 3)
        self.dns.names[NAME] = ["127.0.0.1"]
        daemon.wait_pass(RECOVERY="orders", PASS_ACKED="3")
        self.ends_well(daemon)

    def test_the_first_address_is_dead(self):
        order = self.found("127.0.0.1", "127.0.0.2", "127.0.0.3")
        redis = self.redis_at(order[-1])
        strand(self.client(redis), 3)
        daemon = self.daemon(self.config(self.url()))
        daemon.wait_pass(RECOVERY="orders", PASS_ACKED="3")
        self.assertEqual(self.tried(daemon), order)
        self.assertEqual(self.states(daemon).count("resolving"), 1)
        self.ends_well(daemon)

    def test_the_first_address_swallows_everything(self):
        order = self.found("127.0.0.1", "127.0.0.2")
        redis = self.redis_at(order[-1])
        strand(self.client(redis), 3)
        # a listener whose queue is full neither takes a connection nor refuses it
        listener = socket.create_server((order[0], self.port), backlog=0)
        self.addCleanup(listener.close)
        for _ in range(4):
            filler = socket.socket()
            self.addCleanup(filler.close)
            filler.setblocking(False)
            filler.connect_ex((order[0], self.port))
        daemon = self.daemon(self.config(self.url(), FAST + "connect_timeout = 500ms\n"))
        record = daemon.wait_record(REDIS=f"{NAME}:{self.port}", PRIORITY="4")
        self.assertIn("no connection and greeting within 500ms", record.message)
        daemon.wait_pass(RECOVERY="orders", PASS_ACKED="3")
        self.assertEqual(self.tried(daemon), order)
        self.ends_well(daemon)

    def test_the_address_changes(self):
        first = self.redis_at("127.0.0.1", "first")
        second = self.redis_at("127.0.0.3", "second")
        strand(self.client(first), 3)
        strand(self.client(second), 4)
        self.dns.names[NAME] = ["127.0.0.1"]
        daemon = self.daemon(self.config(self.url()))
        daemon.wait_pass(RECOVERY="orders", PASS_ACKED="3")
        self.dns.names[NAME] = ["127.0.0.3"]
        first.kill()
        daemon.wait_pass(RECOVERY="orders", PASS_ACKED="4")
        self.assertEqual(pending_count(self.client(second)), 0)
        self.assertEqual(self.tried(daemon), ["127.0.0.1", "127.0.0.3"])
        self.ends_well(daemon)

    def test_localhost_without_a_name_server(self):
        self.dns.close()
        own_network.write_etc("resolv.conf", "")
        redis = self.redis_at("127.0.0.1")
        strand(self.client(redis), 3)
        daemon = self.daemon(self.config(self.url("localhost")))
        daemon.wait_pass(RECOVERY="orders", PASS_ACKED="3")
        daemon.wait_record(REDIS=f"localhost:{self.port}", STATE="up")
        self.ends_well(daemon)

    def test_the_second_url_when_the_first_name_fails(self):
        local = self.server(name="local")
        strand(self.client(local), 3)
        daemon = self.daemon(self.config(f"{self.url()} {local.url}"))
        daemon.wait_pass(RECOVERY="orders", PASS_ACKED="3")
        self.assertEqual(self.states(daemon), ["resolving", "closing", "down"])
        self.assertEqual(len(daemon.records(REDIS=local.url, STATE="resolving")), 1)
        self.ends_well(daemon)

    def test_the_second_name_while_the_first_is_never_answered(self):
        redis = self.redis_at("127.0.0.1")
        strand(self.client(redis), 3)
        self.dns.names[NAME] = SILENCE
        self.dns.names["two.example"] = ["127.0.0.1"]
        daemon = self.daemon(self.config(f"{self.url()} {self.url('two.example')}",
                                         FAST + "connect_timeout = 200ms\n"))
        daemon.wait_pass(RECOVERY="orders", PASS_ACKED="3")
        self.ends_well(daemon)

    def test_once_and_dry_run_say_why(self):
        for name, why in ((NAME, "Name or service not known"), ("silent", "no answer within 200ms")):
            self.dns.names["silent"] = SILENCE
            for mode in ("--once", "--dry-run"):
                status, output, _ = self.run_daemon(
                    self.config(self.url(name), "connect_timeout = 200ms\n"), mode)
                self.assertEqual(status, 69, output)
                self.assertEqual(output, f"orders: could not run: cannot resolve {name}: {why}\n")


if __name__ == "__main__":
    own_network.enter()
    harness.main()
