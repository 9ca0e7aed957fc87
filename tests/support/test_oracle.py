#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Does the oracle of the torture runs see what it is there for, and nothing else?"""

import unittest

from harness import TapResult
from oracle import (BEGIN, END, OUTCOMES, RECORD, Ack, Facts, Handling, Interval, LedgerError, Letter,
                    gaps, judge, read_ledger, torn, uncovered)


def record(usec, kind, outcome="", entry=(7, 0), deliveries=2, pid=10, life=1, daemon=b"d0"):
    return RECORD.pack(usec, *entry, deliveries, pid, life, kind, OUTCOMES.index(outcome), daemon)


def handled(daemon, begin, end, outcome="ok", deliveries=2, life=None, entry="7-0", pid=10):
    life = int(daemon[1:]) if life is None else life
    return Handling(entry, daemon, life, pid, deliveries, begin, end, outcome)


class Ledger(unittest.TestCase):
    def test_begin_and_end(self):
        one, two = read_ledger(
            record(2000000, BEGIN, pid=11, life=2, daemon=b"d1", deliveries=3)
            + record(1000000, BEGIN) + record(1500000, END, "retry"))
        self.assertEqual((one.entry, one.daemon, one.life, one.pid), ("7-0", "d0", 1, 10))
        self.assertEqual((one.begin, one.end, one.outcome, one.deliveries), (1.0, 1.5, "retry", 2))
        self.assertEqual((two.begin, two.end, two.outcome), (2.0, float("inf"), ""))

    def test_a_pid_that_comes_again(self):
        one, two = read_ledger(record(1, BEGIN) + record(2, BEGIN) + record(3, END, "ok"))
        self.assertEqual((one.outcome, two.outcome), ("", "ok"))

    def test_nonsense(self):
        with self.assertRaises(LedgerError):
            read_ledger(record(1, END, "ok"))


class Judgement(unittest.TestCase):
    """One entry, 7-0, min_idle 1 s."""

    def setUp(self):
        self.facts = Facts(1.0)
        self.facts.stranded = {"7-0"}
        self.facts.in_stream = {"7-0"}
        self.facts.pending = {"7-0": ("d0", 0, 9)}

    def judge(self, *handlings):
        self.facts.handlings = list(handlings)
        return judge(self.facts)

    def acked(self, *acks):
        self.facts.pending = {}
        self.facts.acks = [Ack(time, daemon, ["7-0"]) for time, daemon in acks]

    def test_a_good_run(self):
        self.acked((2.0, "d1"))
        verdict = self.judge(handled("d0", 0, 1, "retry"), handled("d1", 1, 2, deliveries=3))
        self.assertTrue(verdict.ok)
        self.assertEqual((verdict.entries, verdict.attempts, verdict.acked, verdict.repeated),
                         (1, 2, 1, 0))
        self.assertEqual(verdict.findings(), [])

    def test_overlap(self):
        verdict = self.judge(handled("d0", 0, 2), handled("d1", 1.9, 3, deliveries=3))
        self.assertEqual((len(verdict.overlaps), len(verdict.again)), (1, 0))
        self.assertEqual(verdict.repeated, 1)
        self.assertFalse(verdict.ok)

    def test_overlap_in_any_order_of_the_ledger(self):
        verdict = self.judge(handled("d1", 1.9, 3, deliveries=3), handled("d0", 0, 2))
        self.assertEqual(len(verdict.overlaps), 1)

    def test_a_short_one_within_a_long_one(self):
        verdict = self.judge(handled("d0", 0, 9), handled("d1", 1, 2, deliveries=3),
                             handled("d2", 4, 5, deliveries=4))
        self.assertEqual(len(verdict.overlaps), 2)

    def test_the_daemon_of_the_first_stood_still(self):
        pair = [handled("d0", 0, 3), handled("d1", 2, 3, deliveries=3)]
        self.facts.still = {"d0": [Interval(0.5, 1.5)]}
        verdict = self.judge(*pair)
        self.assertEqual((len(verdict.overlaps), len(verdict.excused)), (0, 1))
        self.assertTrue(verdict.ok)
        for still in ({"d1": [Interval(0.5, 1.5)]},  # the second must look before it begins
                      {"d0": [Interval(0.5, 1.0)]},  # too short
                      {"d0": [Interval(2.1, 3.1)]},  # afterwards
                      {"d0": [Interval(-2.0, -0.1)]}):  # before
            self.facts.still = still
            self.assertEqual(len(self.judge(*pair).overlaps), 1, still)

    def test_its_link_stood_still(self):
        pair = [handled("d0", 0, 3), handled("d1", 2, 3, deliveries=3)]
        self.facts.link_still = {"d0": [Interval(0.5, 1.5)]}
        self.assertEqual(len(self.judge(*pair).excused), 1)
        # that is no excuse where it was the server
        self.facts.server_still = [Interval(0.4, 1.2)]
        self.assertEqual(len(self.judge(*pair).overlaps), 1)

    def test_its_link_was_cut_again_and_again(self):
        pair = [handled("d0", 0, 3), handled("d1", 2, 3, deliveries=3)]
        self.facts.link_torn = {"d0": [Interval(0.5, 1.5)]}
        self.assertEqual(len(self.judge(*pair).excused), 1)
        self.facts.link_torn = {"d0": [Interval(0.5, 1.1)]}
        self.assertEqual(len(self.judge(*pair).overlaps), 1)

    def test_the_second_could_not_know_of_the_servers_absence(self):
        pair = [handled("d0", 0, 3), handled("d1", 2, 3, deliveries=3)]
        self.facts.server_still = [Interval(0.2, 1.8)]
        self.assertEqual(len(self.judge(*pair).overlaps), 1)
        for born, excused in ((1.6, 1), (1.9, 1), (1.5, 0), (0.1, 0)):
            self.facts.births = {1: born}
            self.assertEqual(len(self.judge(*pair).excused), excused, born)
        self.facts.births = {}
        self.facts.still = {"d1": [Interval(1.2, 1.9)]}
        self.assertEqual(len(self.judge(*pair).excused), 1)
        self.facts.still = {"d1": [Interval(1.3, 1.9)]}  # too short
        self.assertEqual(len(self.judge(*pair).overlaps), 1)
        self.facts.server_still = [Interval(0.2, 0.7)]  # too long ago
        self.facts.still = {"d1": [Interval(0.2, 1.2)]}
        self.assertEqual(len(self.judge(*pair).overlaps), 1)

    def test_the_second_could_not_know_of_a_clock_step(self):
        pair = [handled("d0", 0, 3), handled("d1", 2, 3, deliveries=3)]
        self.facts.clock_steps = [1.9]
        self.assertEqual(len(self.judge(*pair).overlaps), 1)
        self.facts.births = {1: 1.95}
        self.assertEqual(len(self.judge(*pair).excused), 1)
        self.facts.births = {1: 1.85}
        self.assertEqual(len(self.judge(*pair).overlaps), 1)

    def test_a_step_that_another_one_hid(self):
        pair = [handled("d0", 0, 3), handled("d1", 2, 3, deliveries=3)]
        self.facts.clock_steps, self.facts.clock_back = [1.5], [1.2]
        self.facts.looks = {"d1": [0.1, 1.0, 1.9, 1.95]}
        self.assertEqual(len(self.judge(*pair).excused), 1)
        for looks in ([0.1, 1.3, 1.9], [0.1, 1.0], [1.9], [0.1, 1.0, 1.4, 1.9],
                      [0.1, 1.1, 1.79]):  # the last: not for long enough
            self.facts.looks = {"d1": looks}
            self.assertEqual(len(self.judge(*pair).overlaps), 1, looks)
        self.facts.looks = {"d1": [0.1, 1.0, 1.9, 1.95]}
        late = [handled("d0", 0, 9), handled("d1", 5, 6, deliveries=3)]
        self.assertEqual(len(self.judge(*late).overlaps), 1)

    def test_again_after_an_ok(self):
        pair = [handled("d0", 0, 1), handled("d1", 2, 3, deliveries=3)]
        verdict = self.judge(*pair)
        self.assertEqual((len(verdict.again), len(verdict.overlaps)), (1, 0))
        self.assertFalse(verdict.ok)
        self.facts.deaths = {0: 1.5}
        self.assertTrue(self.judge(*pair).ok)
        self.facts.deaths = {0: 2.5}
        self.assertFalse(self.judge(*pair).ok)
        self.facts.link_still = {"d0": [Interval(1.1, 1.9)]}
        self.assertEqual(len(self.judge(*pair).excused), 1)

    def test_taken_away_by_force(self):
        pair = [handled("d0", 0, 3), handled("d1", 2, 3, deliveries=3)]
        self.facts.foreign_claimed = {"7-0": [1.0]}
        self.assertEqual(len(self.judge(*pair).excused), 1)
        self.facts.foreign_claimed = {"7-0": [2.5]}
        self.assertEqual(len(self.judge(*pair).overlaps), 1)

    def test_twice_in_one_daemon(self):
        self.facts.still = {"d0": [Interval(0.5, 1.5)]}  # no excuse
        verdict = self.judge(handled("d0", 0, 2), handled("d0", 1.9, 3, deliveries=3, pid=11))
        self.assertEqual((len(verdict.twice), len(verdict.overlaps)), (1, 0))
        self.assertFalse(verdict.ok)

    def test_killed_with_its_daemon(self):
        self.facts.deaths = {1: 0.5}
        verdict = self.judge(handled("d0", 0, float("inf"), "", life=1),
                             handled("d0", 0.6, 1, deliveries=3, life=2))
        self.assertTrue(verdict.ok)
        self.facts.deaths = {1: 0.7}
        verdict = self.judge(handled("d0", 0, float("inf"), "", life=1),
                             handled("d0", 0.6, 1, deliveries=3, life=2))
        self.assertEqual(len(verdict.overlaps), 1)

    def test_undercount(self):
        self.assertEqual(len(self.judge(handled("d0", 0, 1, deliveries=1)).undercounts), 1)
        for second in (2, 1):
            verdict = self.judge(handled("d0", 0, 1), handled("d1", 2, 3, deliveries=second))
            self.assertEqual(len(verdict.undercounts), 1)
            self.assertFalse(verdict.ok)
        # enough in sum, but one number twice
        verdict = self.judge(handled("d0", 0, 1, deliveries=5), handled("d1", 2, 3, deliveries=5))
        self.assertEqual(len(verdict.undercounts), 1)

    def test_undercount_at_the_end(self):
        self.facts.pending = {"7-0": ("d0", 0, 2)}
        self.assertTrue(self.judge(handled("d0", 0, 1, "reject")).ok)
        self.facts.pending = {"7-0": ("d0", 0, 1)}
        self.assertEqual(len(self.judge(handled("d0", 0, 1, "reject")).undercounts), 1)

    def test_acked_unprocessed(self):
        self.acked((0.5, "d0"))
        self.assertEqual(len(self.judge(handled("d0", 0, 1)).unprocessed), 1)  # too early
        self.acked((2.0, "d0"))
        self.assertEqual(len(self.judge(handled("d0", 0, 1, "retry")).unprocessed), 1)
        self.assertEqual(len(self.judge(handled("d1", 0, 1)).unprocessed), 1)  # by another
        self.assertEqual(len(self.judge().unprocessed), 1)
        self.assertFalse(self.judge().ok)

    def test_lost(self):
        self.facts.pending = {}
        verdict = self.judge(handled("d0", 0, 1))
        self.assertEqual(len(verdict.lost), 1)
        self.assertFalse(verdict.ok)
        for excused in ("removed", "foreign_acked"):
            setattr(self.facts, excused, {"7-0"})
            self.assertTrue(self.judge(handled("d0", 0, 1)).ok)
            setattr(self.facts, excused, set())

    def test_dead_letters(self):
        self.facts.pending, self.facts.max_deliveries = {}, 5
        for daemon, deliveries, outcome, ended, good in (
                ("d0", 2, "reject", "reject", True), ("d1", 2, "reject", "reject", False),
                ("d0", 2, "reject", "retry", False), ("d0", 5, "exhausted", "retry", True),
                ("d0", 4, "exhausted", "retry", False)):
            self.facts.letters = [Letter("7-0", daemon, deliveries, outcome)]
            verdict = self.judge(handled("d0", 0, 1, ended))
            self.assertEqual((verdict.ok, verdict.lost), (good, []), (daemon, outcome, ended))
        self.facts.letters = 2 * [Letter("7-0", "d0", 2, "reject")]
        verdict = self.judge(handled("d0", 0, 1, "reject"))
        self.assertEqual(len(verdict.buried), 1)
        self.assertFalse(verdict.ok)

    def test_a_handler_that_was_killed(self):
        pair = [handled("d0", 0, float("inf"), ""), handled("d1", 2, 3, deliveries=3)]
        self.assertEqual(len(self.judge(*pair).overlaps), 1)
        self.facts.killed = {(pair[0].pid, "7-0"): 1.5}
        self.assertTrue(self.judge(*pair).ok)

    def test_gone_from_the_stream(self):
        self.facts.in_stream = set()
        self.assertEqual(len(self.judge().lost), 1)
        self.facts.removed = {"7-0"}
        self.assertTrue(self.judge().ok)


class Intervals(unittest.TestCase):
    def test_uncovered(self):
        self.assertEqual(uncovered(1, 4, []), 3)
        self.assertEqual(uncovered(1, 4, [Interval(0, 2)]), 2)
        self.assertEqual(uncovered(1, 4, [Interval(2, 3), Interval(2.5, 9)]), 1)
        self.assertEqual(uncovered(1, 4, [Interval(0, 9)]), 0)
        self.assertEqual(uncovered(1, 4, [Interval(5, 9)]), 3)

    def test_torn(self):
        self.assertEqual(torn([1, 2], [1.1, 1.2, 1.3], 1), [Interval(1, 2)])
        self.assertEqual(torn([1, 2], [0.9, 1.2, 1.3], 1), [])
        self.assertEqual(torn([1, 1.9], [1.1, 1.2, 1.3], 1), [])

    def test_gaps(self):
        self.assertEqual(gaps([5, 1, 2, 2.5], 1), [Interval(1, 2), Interval(2.5, 5)])


if __name__ == "__main__":
    result = TapResult()
    unittest.defaultTestLoader.loadTestsFromModule(__import__("__main__")).run(result)
    print(f"1..{result.count}")
    raise SystemExit(0 if result.wasSuccessful() else 1)
