#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Is everything that went wrong counted as failed, and nothing twice?"""

import unittest

from harness import TapResult
from tally import count_test


def count(stdout, result="OK", returncode=0):
    c = count_test({"name": "t", "stdout": stdout, "result": result, "returncode": returncode})
    return c.passed, c.failed, c.skips


class Tally(unittest.TestCase):
    def test_cases(self):
        self.assertEqual(count("1..2\nok 1 - a\nok 2 - b\n"), (2, 0, []))
        self.assertEqual(count("ok 1 - a\nnot ok 2 - b\n1..2\n", "FAIL", 1), (1, 1, []))

    def test_a_case_that_was_not_come_to(self):
        self.assertEqual(count("1..4\nok 1 - a\n", "ERROR", -6), (1, 3, []))
        self.assertEqual(count("1..4\nok 1 - a\nnot ok 2 - b\n", "FAIL", 1), (1, 3, []))
        self.assertEqual(count("ok 1 - a\n"), (1, 1, []))  # no plan

    def test_a_bad_end(self):
        self.assertEqual(count("1..1\nok 1 - a\n", "ERROR", 99), (1, 1, []))
        self.assertEqual(count("1..1\nok 1 - a\n", "TIMEOUT", -15), (1, 1, []))
        self.assertEqual(count("", "ERROR", 1), (0, 1, []))
        self.assertEqual(count("Bail out! no\n1..1\nok 1 - a\n", "ERROR"), (1, 1, []))

    def test_skips_and_why(self):
        self.assertEqual(count("ok 1 - a # SKIP no root\n1..1\n"), (0, 0, [("a", "no root")]))
        self.assertEqual(count("1..0 # SKIP no root\n", "SKIP"),
                         (0, 0, [("all of it", "no root")]))
        cmocka = "1..2\n# left out: slow\nnot ok 1 # SKIP a\nok 2 - b\n"
        self.assertEqual(count(cmocka, "FAIL", 0), (1, 0, [("a", "slow")]))
        self.assertEqual(count(cmocka, "ERROR", 99), (1, 1, [("a", "slow")]))

    def test_not_tap(self):
        self.assertEqual(count("hello\n"), (1, 0, []))
        self.assertEqual(count("hello\n", "FAIL", 1), (0, 1, []))
        self.assertEqual(count("x\nno tool\n", "SKIP", 77), (0, 0, [("t", "no tool")]))


if __name__ == "__main__":
    result = TapResult()
    unittest.defaultTestLoader.loadTestsFromTestCase(Tally).run(result)
    print(f"1..{result.count}")
    raise SystemExit(0 if result.wasSuccessful() else 1)
