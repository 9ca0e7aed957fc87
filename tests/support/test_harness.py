#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""What a server is asked for and given, by its version; the servers here only say that they are one."""

import os
import shutil
import sys
import tempfile
import unittest

import harness

# Says its version, or notes how it was called and is ready.
SERVER = """#!{python}
import os, signal, socket, sys
if sys.argv[1:] == ["--version"]:
    print({version!r})
    sys.exit()
with open({called!r}, "w") as file:
    file.write("\\n".join(sys.argv))
with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as notify:
    notify.sendto(b"READY=1", os.environ["NOTIFY_SOCKET"])
signal.pause()
"""


class Versions(unittest.TestCase):
    def setUp(self):
        self.dir = tempfile.mkdtemp(prefix="xac")
        self.addCleanup(shutil.rmtree, self.dir)
        self.addCleanup(harness.server_version.cache_clear)
        self.addCleanup(setattr, harness, "REDIS_SERVER", harness.REDIS_SERVER)
        harness.REDIS_SERVER = os.path.join(self.dir, "server")

    def says(self, version):
        harness.server_version.cache_clear()
        harness.write(harness.REDIS_SERVER, SERVER.format(
            python=sys.executable, version=version, called=os.path.join(self.dir, "called")), 0o755)

    def options(self):
        harness.Server(self.dir).stop()
        with open(os.path.join(self.dir, "called")) as file:
            return file.read().split("\n")[1:]

    def test_redis_6_2(self):
        self.says("Redis server v=6.2.16 sha=00000000:0 malloc=libc bits=64 build=9a92ac75d4535b8c")
        self.assertEqual(harness.server_version(), ("Redis", (6, 2, 16)))
        self.assertTrue(harness.keeps_the_deleted())
        self.assertEqual([o for o in self.options() if o.startswith("--enable")], [])

    def test_newer_ones(self):
        for version in "Redis server v=7.0.15 sha=00000000:0", "Valkey server v=9.1.2 sha=00000000:1":
            with self.subTest(version=version):
                self.says(version)
                self.assertFalse(harness.keeps_the_deleted())
                options = self.options()
                self.assertEqual(options[options.index("--enable-debug-command") + 1], "yes")

    def test_no_server(self):
        self.says("Hello")
        self.assertRaisesRegex(RuntimeError, "--version: Hello", harness.server_version)


if __name__ == "__main__":
    result = harness.TapResult()
    unittest.defaultTestLoader.loadTestsFromTestCase(Versions).run(result)
    print(f"1..{result.count}")
    raise SystemExit(0 if result.wasSuccessful() else 1)
