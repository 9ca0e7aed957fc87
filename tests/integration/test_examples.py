#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""The examples of docs/examples/ are what the manual says: each recovers all that is stranded, and
nothing else is in the log. EXAMPLE_ENTRIES says how many; 10000."""

import os
import shutil
import signal
import socket
import sqlite3
import subprocess
import time
import unittest

import harness
from harness import Test, config, pending_count, recovery, strand

HERE = os.path.dirname(os.path.abspath(__file__))
EXAMPLES = os.path.join(HERE, "../../docs/examples")
ENTRIES = int(os.environ.get("EXAMPLE_ENTRIES", "10000"))
COMPILER = os.environ.get("CC", "cc").split()


class Examples(Test):
    def setUp(self):
        super().setUp()
        self.redis = self.server()
        self.r = self.client(self.redis)

    def example(self, name):
        return os.path.abspath(os.path.join(EXAMPLES, name))

    def recovers(self, **keys):
        strand(self.r, ENTRIES, body=("order_id", "1001", "status", "paid"))
        keys = {"interval": "1s", **keys}
        begun = time.monotonic()
        daemon = self.daemon(config(self.redis.url, {"orders": recovery("", **keys)}), level="info")
        daemon.wait_pass(PASS_OK=ENTRIES, PASS_ACKED=ENTRIES, seconds=4 * harness.DEADLINE)
        print(f"# {ENTRIES} entries in {time.monotonic() - begun:.1f} s")
        self.assertEqual(pending_count(self.r), 0)
        self.assertEqual(daemon.terminate(), 0)
        self.assertEqual([r.message for r in daemon.journal.records() if int(r.first("PRIORITY")) < 5],
                         [])

    @unittest.skipUnless(shutil.which(COMPILER[0]), "no C compiler")
    def test_worker_c(self):
        subprocess.run([*COMPILER, "-O2", "-Wall", "-Wextra", "-Werror", "-o", self.path("worker"),
                        self.example("worker.c")], check=True)
        self.recovers(handler="worker", command=self.path("worker"))

    def test_worker_py(self):
        self.recovers(handler="worker", command=self.example("worker.py"), workers=1)

    def test_worker_py_remembers(self):
        """Each ID once, however many workers."""
        path = self.path("done.db")
        self.recovers(handler="worker", command=f"{self.example('worker.py')} {path}")
        with sqlite3.connect(path) as db:
            self.assertEqual(db.execute("SELECT count(*) FROM done").fetchone()[0], ENTRIES)

    def test_worker_sh(self):
        self.recovers(handler="worker", command=self.example("worker.sh"))

    def test_by_id_py(self):
        self.recovers(handler="worker", payload="id",
                      command=f"{self.example('by_id.py')} {self.redis.path}")

    def test_service_py(self):
        path = self.path("orders.sock")
        service = subprocess.Popen([self.example("service.py"), path, "--takes", "0.01"])
        self.addCleanup(harness.end_process, service, signal.SIGKILL)
        deadline = time.monotonic() + harness.DEADLINE
        with socket.socket(socket.AF_UNIX) as probe:
            while probe.connect_ex(path) != 0:
                self.assertLess(time.monotonic(), deadline)
        self.recovers(handler="socket", address=f"unix:{path}", concurrency=64, workers=1)
        service.terminate()
        self.assertEqual(service.wait(harness.DEADLINE), 0)


if __name__ == "__main__":
    harness.main()
