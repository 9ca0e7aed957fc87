#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""The Debian package as a file: built, checked, built once more.

usage: test_package.py BUILD-ROOT SOURCE-TREE OUTPUT   (OUTPUT gets before/ and now/)
"""

import filecmp
import glob
import os
import subprocess
import sys
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "support"))
import harness  # noqa: E402

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT, SOURCE, OUTPUT = "", "", ""


def in_root(output, *command):
    done = subprocess.run([os.path.join(HERE, "in-root"), ROOT, SOURCE,
                           os.path.join(OUTPUT, output), *command], stdin=subprocess.DEVNULL,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
    return done.returncode, done.stdout


def packages(where):
    """The package, then its debug symbols."""
    return sorted(glob.glob(os.path.join(OUTPUT, where, "*.deb")), key=lambda p: "dbgsym" in p)


def control(field):
    return subprocess.run(["dpkg-deb", "--field", packages("now")[0], field], check=True,
                          stdout=subprocess.PIPE, text=True).stdout.strip()


class Package(unittest.TestCase):
    def build(self, where, script):
        status, text = in_root(where, "sh", "-euc", script)
        self.assertEqual(status, 0, text)

    def test_1_builds(self):
        self.build("before", "sh packaging/build-deb.sh --suffix '~before' /srv/out")
        self.build("now", "sh packaging/build-deb.sh /srv/out")
        self.assertEqual(len(packages("now")), 2, "the package and its debug symbols")

    def test_2_no_compiler_warnings(self):
        with open(os.path.join(OUTPUT, "now", "build.log"), encoding="utf-8") as file:
            text = file.read()
        self.assertNotIn("warning:", text)
        self.assertIn("-D_FORTIFY_SOURCE=2", subprocess.run(
            [os.path.join(HERE, "in-root"), ROOT, SOURCE, OUTPUT, "env",
             "DEB_BUILD_MAINT_OPTIONS=hardening=+all", "dpkg-buildflags"], check=True,
            stdout=subprocess.PIPE, text=True).stdout)

    def test_3_lintian(self):
        status, text = in_root("now", "sh", "-c", "lintian -EI --tag-display-limit 0 "
                               "/srv/out/*.changes 2>/dev/null")
        tags = [line for line in text.splitlines() if line]
        print("# lintian: " + ("silent" if not tags else "; ".join(tags)))
        self.assertEqual([tag for tag in tags if tag[:2] in ("E:", "W:")], [])
        self.assertEqual(status, 0, text)

    def test_4_reproducible(self):
        self.build("again", "umask 077; export TZ=Pacific/Chatham LC_ALL=C TMPDIR=/var/tmp; "
                   "sh packaging/build-deb.sh /srv/out")
        self.assertEqual([os.path.basename(p) for p in packages("again")],
                         [os.path.basename(p) for p in packages("now")])
        for one, two in zip(packages("now"), packages("again")):
            self.assertTrue(filecmp.cmp(one, two, shallow=False), f"{one} differs")

    def test_5_hardened(self):
        binary = os.path.join(OUTPUT, "x")
        subprocess.run(["dpkg-deb", "-x", packages("now")[0], binary], check=True)
        program = os.path.join(binary, "usr/sbin/xautoclaimd")
        headers = subprocess.run(["readelf", "-hldW", program], check=True, text=True,
                                 stdout=subprocess.PIPE).stdout
        self.assertIn("DYN (Position-Independent Executable", headers)
        self.assertIn("GNU_RELRO", headers)
        self.assertRegex(headers, r"FLAGS.*(BIND_)?NOW")
        self.assertRegex(headers, r"GNU_STACK .* RW ")
        symbols = subprocess.run(["readelf", "--dyn-syms", "-W", program], check=True, text=True,
                                 stdout=subprocess.PIPE).stdout
        self.assertIn("__stack_chk_fail", symbols)
        self.assertIn("_chk@", symbols)

    def test_6_control(self):
        self.assertEqual(control("Package"), "xautoclaimd")
        for library in ("libhiredis", "libevent-core", "libsystemd0", "libjansson4", "libinih1"):
            self.assertIn(library, control("Depends"))
        print(f"# {os.path.basename(packages('now')[0])}: "
              f"{os.path.getsize(packages('now')[0]) // 1024} KiB")


if __name__ == "__main__":
    ROOT, SOURCE, OUTPUT = sys.argv[1:4]
    result = harness.TapResult()
    unittest.defaultTestLoader.loadTestsFromTestCase(Package).run(result)
    print(f"1..{result.count}")
    sys.exit(0 if result.wasSuccessful() else 1)
