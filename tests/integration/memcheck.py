#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Some of the integration tests with the daemon under valgrind: the job, a lost connection,
a drain, a second signal. The last case: valgrind found nothing, in none of them.

usage: memcheck.py [NAME...]    (as test_job.Job.test_five_steps; default: those below)
"""

import glob
import os
import shutil
import sys
import tempfile
import unittest

TESTS = [
    "test_job.Job.test_five_steps",
    "test_job.Job.test_records_equal_the_wire",
    "test_job.Job.test_payload_id_reads_no_body",
    "test_scan.Scan.test_a_lost_connection_goes_on_from_the_last_cursor",
    "test_safety.Safety.test_drain",
    "test_safety.Safety.test_a_second_signal_skips_the_wait",
]
VALGRIND = ("valgrind --error-exitcode=99 --leak-check=full --show-leak-kinds=definite,possible "
            "--errors-for-leak-kinds=definite,possible --child-silent-after-fork=yes")


def wrap(directory, daemon):
    """A script in the daemon's place; each run leaves a log."""
    path = os.path.join(directory, "xautoclaimd-under-valgrind")
    with open(path, "w") as file:
        # See journal_shim.c: valgrind would not outlive what the daemon forbids itself.
        file.write(f"#!/bin/sh\nexport TEST_UNDER_VALGRIND=1 "
                   f"LD_PRELOAD=${{LD_PRELOAD:-{os.environ['JOURNAL_SHIM']}}}\n"
                   f"exec {VALGRIND} --log-file={directory}/log.%p {daemon} \"$@\"\n")
    os.chmod(path, 0o755)
    return path


class Found(unittest.TestCase):
    directory = None

    def test_nothing(self):
        logs = glob.glob(os.path.join(self.directory, "log.*"))
        self.assertTrue(logs, "valgrind has not run")
        summaries = 0
        for path in logs:
            with open(path, errors="replace") as file:
                text = file.read()
            self.assertNotRegex(text, r"ERROR SUMMARY: [1-9]", text)
            summaries += "ERROR SUMMARY: 0" in text
        # those that were not killed
        self.assertTrue(summaries, "no run came to its end")


def main():
    if not shutil.which("valgrind"):
        print("1..0 # SKIP valgrind is not installed")
        return
    daemon = os.environ["XAUTOCLAIMD"]
    os.environ.setdefault("JOURNAL_SHIM", os.path.join(
        os.path.dirname(os.path.dirname(os.path.abspath(daemon))), "tests", "support",
        "journal-shim.so"))
    Found.directory = tempfile.mkdtemp(prefix="xac-memcheck.")
    try:
        os.environ["XAUTOCLAIMD"] = wrap(Found.directory, os.path.abspath(daemon))
        os.environ.setdefault("TEST_DEADLINE", "120")
        import harness  # reads the environment
        suite = unittest.defaultTestLoader.loadTestsFromNames(sys.argv[1:] or TESTS)
        suite.addTest(Found("test_nothing"))
        result = harness.TapResult()
        suite.run(result)
        print(f"1..{result.count}", flush=True)
    finally:
        shutil.rmtree(Found.directory)
    sys.exit(0 if result.wasSuccessful() else 1)


if __name__ == "__main__":
    main()
