#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""--help, --version and what is refused: where each is printed, how wide, with which status; and
the help and the program know the same options.

usage: command_line.py XAUTOCLAIMD VERSION OPTIONS.C
"""

import os
import re
import subprocess
import sys
import tempfile

COLUMNS = 80
EX_USAGE = 64

CONFIG = """[recovery orders]
stream = orders
group = workers
min_idle = 60s
handler = exec
command = /bin/true
"""

# What each option of the help may be followed by; the names of the values are the help's.
VALUES = {"FILE": ["{config}"], "NAME": ["orders"],
          "LEVEL": ["err", "warning", "notice", "info", "debug"]}

# Modes that need a server or run for ever; they are tried where nothing is configured.
NEED_NOTHING = {"--once", "--dry-run"}

JUNK = [
    ["--nonsense"], ["-x"], ["-h"], ["argument"], [""], ["--", "argument"],
    ["--config"], ["--recovery"], ["--log-level"],
    ["--check=yes"], ["--once=1"], ["--help=me"],
    ["--log-level", "loud"], ["--log-level", ""], ["--log-level", "INFO"], ["--log-level", "7"],
    ["--check", "--once"], ["--once", "--dry-run"], ["--print-config", "--check"],
    ["--check", "argument"], ["--once", "--nonsense"],
]


class Checks:
    def __init__(self, program):
        self.program = program
        self.count = 0
        self.failed = 0

    def run(self, *arguments, stdout=subprocess.PIPE):
        environment = {k: v for k, v in os.environ.items() if k != "NOTIFY_SOCKET"}
        return subprocess.run([self.program, *arguments], stdin=subprocess.DEVNULL, stdout=stdout,
                              stderr=subprocess.PIPE, text=True, timeout=30, check=False,
                              env=environment)

    def check(self, right, what, done=None):
        self.count += 1
        print(f"{'ok' if right else 'not ok'} {self.count} - {what}")
        if not right:
            self.failed += 1
            if done is not None:
                print(f"# exit {done.returncode}\n# stdout: {done.stdout!r}\n"
                      f"# stderr: {done.stderr!r}")


def check_help(checks):
    done = checks.run("--help")
    checks.check(done.returncode == 0 and done.stderr == "" and done.stdout.endswith("\n"),
                 "--help is on standard output, exit 0", done)
    widest = max(done.stdout.split("\n"), key=len)
    checks.check(len(widest) <= COLUMNS and widest.isascii(),
                 f"--help has at most {COLUMNS} columns ({len(widest)}: {widest.strip()})", done)
    checks.check(all(line == line.rstrip() for line in done.stdout.split("\n")),
                 "--help has no blanks at the ends of its lines", done)
    statuses = set(re.findall(r"\b(\d+) [a-z-]", done.stdout.partition("Exit status:")[2]))
    checks.check({"0", "1", "64", "69", "78"} <= statuses, "--help names the exit statuses", done)
    return dict(re.findall(r"^  (--[a-z-]+)(?: ([A-Z]+))?  ", done.stdout, re.M))


def check_version(checks, version):
    done = checks.run("--version")
    checks.check(done.returncode == 0 and done.stderr == ""
                 and done.stdout == f"xautoclaimd {version}\n", "--version", done)


def check_options(checks, options, config, empty):
    for option, value in sorted(options.items()):
        for word in VALUES[value] if value else [""]:
            arguments = [option] + ([word.format(config=config)] if value else [])
            if option != "--config":
                arguments += ["--config", empty if option in NEED_NOTHING else config]
            if value:
                arguments.append("--check")
            done = checks.run(*arguments)
            # --once writes its records to standard error
            checks.check(done.returncode == 0 and "--help" not in done.stderr,
                         f"{option} {word.strip('{}')}".strip() + " is accepted", done)


def check_same_options(checks, options, source):
    with open(source, encoding="utf-8") as file:
        rows = dict(re.findall(r'^\s*\{"([a-z-]+)", (no|required|optional)_argument,', file.read(),
                               re.M))
    known = {"--" + name: kind == "required" for name, kind in rows.items()}
    helped = {name: bool(value) for name, value in options.items()}
    checks.check(known and known == helped,
                 f"the help and the program know the same {len(known)} options "
                 f"(different: {sorted(known.items() ^ helped.items())})")


def check_junk(checks, config):
    for junk in JUNK:
        done = checks.run("--config", config, *junk)
        checks.check(done.returncode == EX_USAGE and done.stdout == "" and done.stderr != ""
                     and done.stderr.count("\n") <= 4 and "--help" in done.stderr,
                     f"{' '.join(junk) or 'an empty argument'}: refused on standard error", done)


def main():
    if len(sys.argv) != 4:
        sys.exit("usage: command_line.py XAUTOCLAIMD VERSION OPTIONS.C")
    program, version, source = sys.argv[1:]
    checks = Checks(program)
    with tempfile.TemporaryDirectory() as directory:
        config, empty = os.path.join(directory, "good.conf"), os.path.join(directory, "empty.conf")
        for path, text in ((config, CONFIG), (empty, "")):
            with open(path, "w", encoding="utf-8") as file:
                file.write(text)
        options = check_help(checks)
        check_version(checks, version)
        check_same_options(checks, options, source)
        check_options(checks, options, config, empty)
        check_junk(checks, config)
    print(f"1..{checks.count}")
    return 1 if checks.failed else 0


if __name__ == "__main__":
    sys.exit(main())
