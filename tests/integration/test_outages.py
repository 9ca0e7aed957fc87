#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Time that passes for the server alone: it was down, stopped or paused, or its clock was set. Every
entry grows idle then although its consumer is at work, and whoever comes back first could take it."""

import json
import signal
import time

from ownership import Ownership, harness, outlast, pending, strand

PROBE = 10**14  # milliseconds: no entry can be idle for so long


class Absence(Ownership):
    """First handles 1-0 and comes back last; Second, with nothing to do, comes back first."""

    M = 2000

    def server_options(self):
        return ("--appendonly", "yes", "--appendfsync", "always")

    def prepare(self, **keys):
        strand(self.r, 1)
        self.held = self.gate()
        redis = "reconnect_max = 200ms\n"
        keys = {"min_idle": f"{self.M}ms", **keys}
        self.first, self.first_wire = self.begin(self.held.wait, redis=redis, **keys)
        self.wait_begun(self.first, "1-0")
        self.second, self.second_wire = self.begin("exit 0", "second", interval="100ms",
                                                   redis=redis, **keys)
        self.second.wait_empty_pass()
        self.first_wire("refuse on")
        self.first_wire("cut")
        self.between_two_passes()
        self.before = len(self.second_wire.exchanges())

    def between_two_passes(self):
        """A scan that is under way when the fault begins would be another story."""
        self.second.journal.clear()
        self.second.wait_empty_pass()

    def pages_since(self):
        return [e for e in self.second_wire.exchanges()[self.before:] if e.name == "XAUTOCLAIM"]

    def came_back(self, away_ms):
        """Second has looked through the list and left 1-0 alone; First finds it in its place."""
        self.second.journal.clear()
        self.second.wait_count(3, PASS_CLAIMED="0", PASS_PAGES="1")
        with self.client(self.redis) as client:
            self.assertEqual(client("XPENDING", "orders", "workers", "-", "+", 10)[0][1], b"first")
        probe, *pages = [e for e in self.pages_since() if e.reply is not None]
        self.assertGreater(int(probe.words[4]), PROBE)
        self.assertTrue(pages)
        for page in pages:
            self.assertGreaterEqual(int(page.words[4]), self.M + away_ms)
        self.first_wire("refuse off")
        self.first.journal.clear()
        self.wait_said(self.first, "renewed")
        self.held.open()
        self.first.wait_pass(PASS_OK="1", PASS_ACKED="1", PASS_LOST="0")
        self.first.terminate()
        self.second.terminate()
        self.assertEqual(self.starts(), [("1-0", 2)])

    def test_restarted(self):
        """The server is down for longer than min_idle and reads its file. Delivery times are
        wall-clock times, so to it 1-0 has been idle all the time."""
        self.prepare()
        self.redis.kill()
        outlast(1.5 * self.M / 1000)
        self.redis.start()
        self.came_back(1.3 * self.M)

    def test_stopped(self):
        """The server stands still and goes on; connections to it were not refused meanwhile, and
        what was asked in vain was a read."""
        self.prepare()
        self.redis.signal(signal.SIGSTOP)
        outlast(1.5 * self.M / 1000)
        self.redis.signal(signal.SIGCONT)
        self.came_back(1.3 * self.M)

    def test_paused(self):
        """Writes are held up, reads go through: the server looks well and is not back."""
        self.prepare()
        self.r("CLIENT", "PAUSE", 60000, "WRITE")
        outlast(1.5 * self.M / 1000)
        self.r("CLIENT", "UNPAUSE")
        self.came_back(1.3 * self.M)


    def test_born_into_it(self):
        """Second never saw the server before: how long it has been away it cannot know, so it
        leaves the others time to renew what they hold."""
        strand(self.r, 1)
        self.held = self.gate()
        redis = "reconnect_max = 100ms\n"
        keys = {"min_idle": f"{self.M}ms", "redis": redis}
        self.first, _ = self.begin(self.held.wait, **keys)
        self.wait_begun(self.first, "1-0")
        self.redis.kill()
        outlast(0.7 * self.M / 1000)
        self.second, self.second_wire = self.begin("exit 0", "second", interval="100ms", **keys)
        self.wait_said(self.second, "-> down")
        outlast(0.5 * self.M / 1000)
        self.redis.start()
        self.second.wait_count(3, PASS_CLAIMED="0", PASS_PAGES="1")
        self.held.open()
        self.first.wait_pass(PASS_OK="1", PASS_ACKED="1", PASS_LOST="0")
        probe, page = [e for e in self.second_wire.exchanges()
                       if e.name == "XAUTOCLAIM" and e.reply is not None][:2]
        self.assertGreater(int(probe.words[4]), PROBE)
        self.assertGreaterEqual(page.sent - probe.answered, 0.49 * self.M / 1000)
        self.first.terminate()
        self.second.terminate()
        self.assertEqual(self.starts(), [("1-0", 2)])


class ShortAbsence(Ownership):
    def absence(self, begin, end):
        strand(self.r, 1, consumer="alive", idle_ms=0)
        daemon, wire = self.begin("exit 0", min_idle="4s", interval="100ms",
                                  redis="command_timeout = 2s\n")
        daemon.wait_empty_pass()
        daemon.journal.clear()
        daemon.wait_empty_pass()
        before = len(wire.exchanges())
        begin()
        outlast(1.5)
        end()
        daemon.journal.clear()
        daemon.wait_count(2, PASS_CLAIMED="0", PASS_PAGES="1")
        daemon.terminate()
        self.assertEqual({e.connection for e in wire.exchanges()}, {1})
        pages = [int(e.words[4]) for e in wire.exchanges()[before:] if e.name == "XAUTOCLAIM"]
        return pages

    def test_an_answer_that_was_slow(self):
        """The connection held, a read was answered late, everything since looks prompt. Yet
        others may have lost min_idle/4 and more of their claims' time."""
        probe, *pages = self.absence(lambda: self.redis.signal(signal.SIGSTOP),
                                     lambda: self.redis.signal(signal.SIGCONT))
        self.assertGreater(probe, PROBE)
        self.assertTrue(pages)
        self.assertGreater(min(pages), 5000)
        self.assertLess(max(pages), PROBE)

    def test_an_absence_ends_with_a_write(self):
        """The same with writes paused: the scan that waited is followed by a probe, and only
        when that was carried out do scans go on."""
        _, probe, *pages = self.absence(lambda: self.r("CLIENT", "PAUSE", 60000, "WRITE"),
                                        lambda: self.r("CLIENT", "UNPAUSE"))
        self.assertGreater(probe, PROBE)
        self.assertTrue(pages)
        self.assertGreater(min(pages), 5000)
        self.assertLess(max(pages), PROBE)


    def test_nothing_starts_before_a_write_was_carried_out(self):
        """After a reconnect reads are answered and writes are not: an attempt sent then would wait
        in the server and be carried out whenever that goes on."""
        strand(self.r, 2)
        gate = self.gate()
        daemon, wire = self.begin(gate.wait, min_idle="6s")
        self.wait_begun(daemon, "1-0")
        self.r("CLIENT", "PAUSE", 60000, "WRITE")
        wire("cut")
        self.wait_question("2-0")
        gate.open(2)
        daemon.wait_count(1, OUTCOME="ok")
        self.r("CLIENT", "UNPAUSE")
        daemon.wait_pass(PASS_OK="2", PASS_ACKED="2")
        daemon.terminate()
        probe = next(e for e in self.of(wire, "XAUTOCLAIM") if int(e.words[4]) > PROBE)
        attempt = next(e for e in self.of(wire, "XCLAIM", "2-0") if b"JUSTID" not in e.words)
        self.assertGreaterEqual(attempt.sent, probe.answered)


class Clock(Ownership):
    """The server's clock is set."""

    def setUp(self):
        # The server reads its clock from a file.
        self.addCleanup(setattr, harness, "REDIS_SERVER", harness.REDIS_SERVER)
        super().setUp()

    def server(self, *options, **keywords):
        self.now = harness.write(self.path("now"), "0")
        harness.REDIS_SERVER = harness.write(
            self.path("server"),
            f"#!/bin/sh\nexport LD_PRELOAD={harness.CLOCK_SHIM} FAKE_REALTIME={self.now}\n"
            f'exec {harness.REDIS_SERVER} "$@"\n', 0o755)
        return super().server(*options, **keywords)

    def step(self, seconds):
        """Returns when the server has seen it: Valkey 9 looks at its clock once a millisecond."""
        before = int(self.r("TIME")[0])
        harness.write(self.now, str(seconds))
        deadline = time.monotonic() + harness.DEADLINE
        while abs(int(self.r("TIME")[0]) - before - seconds) > abs(seconds) / 2:
            self.assertLess(time.monotonic(), deadline)

    def prepare(self, **keys):
        strand(self.r, 2)
        self.held = self.gate()
        self.first, self.first_wire = self.begin(self.held.wait, min_idle="4s", **keys)
        self.wait_begun(self.first, "1-0")

    def end(self):
        self.held.open(2)
        self.first.wait_pass(PASS_OK="2", PASS_ACKED="2", PASS_LOST="0")
        self.first.terminate()
        self.assertEqual(self.starts(), [("1-0", 2), ("2-0", 2)])
        self.assert_never_in_doubt_of_itself(self.first)

    def renewed_after(self, n):
        self.first.journal.clear()
        self.wait_said(self.first, "renewed", n)

    def test_set_forward(self):
        """Everything has become idle in a moment. Scans look at the clock first and claim later
        by as much as it has jumped; First renews as ever."""
        self.prepare()
        second, wire = self.begin("exit 0", "second", min_idle="4s", interval="100ms")
        second.wait_empty_pass()
        second.journal.clear()
        second.wait_empty_pass()
        self.step(60)
        second.journal.clear()
        second.wait_count(2, PASS_CLAIMED="0", PASS_PAGES="1")
        self.assertEqual((self.owner("1-0"), self.owner("2-0")), ("first", "first"))
        self.assertGreater(max(int(e.words[4]) for e in self.of(wire, "XAUTOCLAIM")), 60000)
        self.renewed_after(2)
        self.held.open(2)
        self.first.wait_count(2, OUTCOME="ok")
        self.first.terminate()
        second.terminate()
        self.assertEqual(self.starts("first"), [("1-0", 2), ("2-0", 2)])
        self.assertEqual(self.starts("second"), [])

    def test_set_forward_between_look_and_page(self):
        """The page takes what First handles. The look behind it shows why: Second starts
        nothing, and First, robbed, ends what it runs."""
        self.prepare(claim_ahead=9)
        second, wire = self.begin("exit 0", "second", min_idle="4s", interval="100ms",
                                  concurrency=4)
        second.wait_empty_pass()
        wire("hold-at XAUTOCLAIM")
        held = lambda: json.loads(wire("count")[3:])["commands"]["XAUTOCLAIM"]  # noqa: E731
        before = held()
        while held() == before:
            outlast(0.005)
        self.step(60)
        wire("resume")
        second.wait_record(PAGE_CLAIMED="2")
        second.wait_pass(PASS_CLAIMED="2", PASS_DEFERRED="2")
        self.assertEqual(self.owner("1-0"), "second")
        self.held.open()
        self.first.wait_record(ENTRY_ID="1-0", OUTCOME="ok")
        self.first.terminate()
        second.terminate()
        self.assertEqual(self.starts(), [("1-0", 2)])
        self.assertEqual(list(pending(self.r)), ["2-0"])

    def test_set_forward_under_those_who_hold(self):
        """First sees it in its own scan: all that it holds is asked for, nothing is given up for
        an idle time that no claim explains."""
        self.prepare(interval="100ms", claim_ahead=9)
        self.first.wait_empty_pass()
        self.step(60)
        self.renewed_after(3)
        self.held.open()
        self.wait_begun(self.first, "2-0")
        self.held.open()
        self.first.wait_count(2, OUTCOME="ok")
        self.first.terminate()
        self.assert_never_in_doubt_of_itself(self.first)

    def set_back(self, **keys):
        self.prepare(**keys)
        self.until_idle("1-0", 500)
        self.step(-30)
        # until the clock has caught up every idle time is 0, and every check would refuse
        self.renewed_after(2)
        self.assertEqual((self.owner("1-0"), self.owner("2-0")), ("first", "first"))
        self.end()

    def test_set_back(self):
        """Idle times stand at 0 until the clock has caught up: checks refuse what is ours, and
        the idle time fits no claim. A look at the clock explains both."""
        self.set_back(interval="100ms", claim_ahead=9)

    def test_set_back_between_two_scans(self):
        """The same when the next scan, with its look at the clock, is far away: what seems to be
        another process under our name is a reason to look at once."""
        self.set_back()


if __name__ == "__main__":
    harness.main()
