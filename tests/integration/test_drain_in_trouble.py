#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""A daemon that is stopped while a recovery is in trouble."""

import signal
import time

import harness
from harness import GROUP, STREAM, Test, config, pending_count, recovery, strand
from ownership import outlast


class DrainInTrouble(Test):
    def test_a_refused_xack_is_tried_once_more(self):
        """The right came back, and the next try by itself is far away."""
        redis = self.server()
        client = self.client(redis)
        client("ACL", "SETUSER", "recoverer", "on", "nopass", "~*", "+@all", "-xack")
        strand(client, 1)
        daemon = self.daemon(config(
            redis.url, {"orders": recovery(self.handler("exit 0\n"), interval="50s")},
            redis="username = recoverer\npassword_file = "
                  + harness.write(self.path("password"), "any\n", 0o600),
            daemon="drain_timeout = 10m"))
        daemon.wait_record(STATE="error", REDIS_ERROR="NOPERM")
        client("ACL", "SETUSER", "recoverer", "+xack")
        self.assertEqual(daemon.terminate(), 0)
        self.assertEqual(pending_count(client, STREAM, GROUP), 0)

    def test_it_is_tried_again_while_that_may_help(self):
        redis = self.server()
        client = self.client(redis)
        strand(client, 1)
        gate = self.gate()
        daemon = self.daemon(config(
            redis.url, {"orders": recovery(self.handler(gate.wait + "\n"), interval="50s")},
            daemon="drain_timeout = 10m"))
        daemon.wait_record(DELIVERIES="2")
        client("CONFIG", "SET", "min-replicas-to-write", 1)
        gate.open()
        daemon.wait_record(STATE="waiting", REDIS_ERROR="NOREPLICAS")
        daemon.process.send_signal(signal.SIGTERM)
        daemon.journal.wait_for(lambda r: "stopping" in r.message, harness.DEADLINE)
        before = self.refused(client)
        deadline = time.monotonic() + harness.DEADLINE
        while self.refused(client) < before + 2:  # in the drain, too
            self.assertLess(time.monotonic(), deadline)
            outlast(0.02)
        client("CONFIG", "SET", "min-replicas-to-write", 0)
        self.assertEqual(daemon.process.wait(harness.DEADLINE), 0)
        self.assertEqual(pending_count(client, STREAM, GROUP), 0)

    def test_a_link_that_is_lost_behind_a_page(self):
        """Nobody knows yet whether the clock was set: the drain waits for its time and no longer,
        and the loop runs."""
        redis = self.server()
        strand(self.client(redis), 1)
        wire = self.proxy(f"unix:{redis.path}")
        daemon = self.daemon(config(
            wire.url, {"orders": recovery(self.handler("exit 0\n"))},
            daemon="drain_timeout = 1s"))
        wire("swallow TIME 2")
        daemon.wait_record(PAGE_CLAIMED="1")
        wire("refuse on")
        wire("cut")
        daemon.wait_record(STATE="down")
        self.assertEqual(daemon.terminate(), 0)
        self.assertEqual(pending_count(self.client(redis), STREAM, GROUP), 1)

    def test_refusals_are_not_chased(self):
        """A server that takes no writes for now is asked at times, by whoever, and found mended
        soon."""
        redis = self.server()
        client = self.client(redis)
        strand(client, 3)
        gate = self.gate()
        daemon = self.daemon(config(
            redis.url, {"orders": recovery(self.handler(gate.wait + "\n"), interval="20s",
                                           min_idle="2s", concurrency=3)}))
        daemon.wait_count(3, DELIVERIES="2")
        client("CONFIG", "SET", "min-replicas-to-write", 1)
        gate.open(3)
        daemon.wait_record(STATE="waiting", REDIS_ERROR="NOREPLICAS")
        outlast(2)
        self.assertLess(self.all_refused(client), 60)
        client("CONFIG", "SET", "min-replicas-to-write", 0)
        mended = time.monotonic()
        daemon.journal.wait_until(lambda _: pending_count(client, STREAM, GROUP) == 0,
                                  harness.DEADLINE)
        self.assertLess(time.monotonic() - mended, 10)
        daemon.terminate()

    def all_refused(self, client):
        return sum(int(line.partition("rejected_calls=")[2].partition(",")[0])
                   for line in client("INFO", "commandstats").decode().split()
                   if line.startswith("cmdstat_x"))

    def refused(self, client):
        lines = [line for line in client("INFO", "commandstats").decode().split()
                 if line.startswith("cmdstat_xack:")]
        return int(lines[0].partition("rejected_calls=")[2].partition(",")[0])


if __name__ == "__main__":
    harness.main()
