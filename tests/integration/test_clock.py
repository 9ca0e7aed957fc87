#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""The server's wall clock is set, which makes idle times jump: nobody loses what he is handling."""

import os

import harness
from harness import Test, config, pending, recovery, strand

GATE = 'cat {gate} >/dev/null\n'


class Clock(Test):
    def gated(self, name):
        """A handler that waits until somebody opens its gate, and the gate."""
        gate = self.path(name + ".gate")
        os.mkfifo(gate)
        return self.handler(GATE.format(gate=gate), name=name), gate

    def claimer(self, redis, name, **keys):
        handler, gate = self.gated(name + "-handler")
        keys = {"consumer": name, "interval": "60s", **keys}
        return self.daemon(config(redis.url, {"orders": recovery(handler, **keys)}), name=name), gate

    def step_back(self, seconds):
        redis = self.server(clock=True)
        r = self.client(redis)
        strand(r, 1)
        daemon, gate = self.claimer(redis, "a", min_idle="2s")
        daemon.wait_record(DELIVERIES="2")
        before = len(daemon.journal.records())
        redis.set_clock(-seconds)
        daemon.journal.wait_until(
            lambda rs: [x for x in rs[before:] if "renewed" in x.message], harness.DEADLINE)
        self.assertEqual(pending(r)["1-0"][0], "a")
        with open(gate, "w"):
            pass
        daemon.wait_pass(PASS_OK="1", PASS_ACKED="1", PASS_LOST="0")
        self.assertEqual([x.message for x in daemon.journal.records()
                          if x.priority is not None and x.priority <= 4], [])

    def test_a_step_back_is_no_name_clash(self):
        self.step_back(1)

    def test_nor_is_a_small_one(self):
        """Too small to be called a step ahead, too large for the tolerance of a fence."""
        self.step_back(0.15)

    def test_a_step_ahead_while_a_scan_waits_for_room(self):
        redis = self.server(clock=True)
        r = self.client(redis)
        strand(r, 3)
        r("XCLAIM", "orders", "workers", "dead", 0, "1-0", "IDLE", 0, "JUSTID")
        # a handles 2-0 and 3-0
        self.claimer(redis, "a", min_idle="6s", concurrency=2)[0].wait_count(2, DELIVERIES="2")
        r("XCLAIM", "orders", "workers", "dead", 0, "1-0", "IDLE", 3600000, "JUSTID")
        # b has room for one; its scan waits at 2-0
        b, gate = self.claimer(redis, "b", min_idle="6s", concurrency=1, claim_ahead=0)
        b.wait_record(ENTRY_ID="1-0", DELIVERIES="2")
        redis.set_clock(60)
        with open(gate, "w"):
            pass
        b.wait_record(PAGE_CURSOR="2-0")
        self.assertEqual({i: p[0] for i, p in pending(r).items()}, {"2-0": "a", "3-0": "a"})

    def test_a_server_that_started_without_a_clock(self):
        """Set when its time came from the network: what is held looks as old as 1970. What runs
        goes on, and what was finished is acknowledged."""
        redis = self.server(clock=True)
        redis.set_clock(-50 * 365 * 86400)
        r = self.client(redis)
        strand(r, 2)
        wire = self.proxy(f"unix:{redis.path}")
        running = self.gate("running")
        handler = self.handler(f'[ "$XAUTOCLAIMD_ID" = 1-0 ] || {running.wait}\n')
        wire("hold up")
        daemon = self.daemon(config(wire.url, {"orders": recovery(
            handler, consumer="a", min_idle="8s", interval="100ms", concurrency=2)}))
        wire("drop-reply XACK")
        wire("resume")
        daemon.wait_record(ENTRY_ID="1-0", OUTCOME="ok")
        daemon.wait_record(ENTRY_ID="2-0", DELIVERIES="2")
        redis.set_clock(0)
        daemon.journal.wait_until(
            lambda rs: sum("renewed" in x.message for x in rs) >= 2, harness.DEADLINE)
        running.open()
        daemon.wait_pass(PASS_OK="2", PASS_LOST="0")
        self.assertEqual(daemon.terminate(), 0)
        self.assertEqual(pending(r), {})


if __name__ == "__main__":
    harness.main()
