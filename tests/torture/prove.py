#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Would the torture see it? Breaks a copy of the source in one place after the other, builds it and
tortures that: each break must be found, by the kind of finding that it makes, and the whole source
must pass. Slow; by hand:

    tests/torture/prove.py [--seconds 20] [NAME...]
"""

import argparse
import os
import re
import shutil
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
TOP = os.path.dirname(os.path.dirname(HERE))

# name, [(file, what is there, what comes in its place)], mode, the finding. What only a suspended
# machine shows (a clock that stands still) is not among them.
BREAKS = [
    ("nothing", [], "mixed", None),
    ("acked-too-early", [(
        "src/recovery/attempt.c", "    report_attempt_begun(",
        "    void early(void *data, const struct answer *answer, uint64_t n) {\n"
        "        (void)recovery_answered(data, ORDER_XACK, answer);\n    }\n"
        "    (void)recovery_sent(r, command_xack(r->parts.link, &r->ref, &held->id, 1, early, r));\n"
        "    report_attempt_begun(")], "none", "unprocessed"),
    ("missing-is-lost", [(
        "src/recovery/keep.c",
        "        if (answer->kind != ANSWER_ERROR)\n            ask_about(r, held);\n",
        "        if (answer->kind == ANSWER_OK && held->state == HELD_HANDLING)\n"
        "            held_enter(&r->ledger, held, HELD_LOST);\n"),
        ("src/recovery/recovery.c", "\n    ask_about_all(r);\n", "\n"),
        ("src/recovery/lease.c", "lease->unanswered == 0 && ", "")], "cuts", "overlaps"),
    ("unanswered-acks-forgotten", [(
        "src/recovery/ack.c", "            not_acked(r, held, answer->kind == ANSWER_UNKNOWN);",
        "            settle(r, held, SETTLED_OK);")], "cuts", "again"),
    ("no-away-time", [(
        "src/recovery/away.c",
        "now < away->until ? usec_add(min_idle, away->extra) : min_idle", "min_idle")],
        "restart", "overlaps"),
    ("no-look-at-the-clock", [(
        "src/recovery/time_guard.c", "    if (server > usec_add(most, min_idle / 8)) {",
        "    if (false && server > most) {")], "clock", "overlaps"),
    ("no-renewals", [(
        "src/recovery/keep.c", "        renew_kind(r, RENEW_FENCED, now, age / 2);", "        ;")], "none", "overlaps"),
    ("attempts-not-counted", [(
        "src/recovery/attempt.c", ".retry_count = first->deliveries + 1",
        ".retry_count = first->deliveries")], "none", "undercounts"),
    ("dead-letters-not-acked", [(
        "src/redis/scripts/dead_letter.lua", "redis.call('XACK', KEYS[1], group, id)", "1")],
        "none", "buried"),
]

COUNTED = {"overlaps": "overlaps", "again": "again", "undercounts": "under-counts",
           "twice": "twice", "lost": "lost", "unprocessed": "unprocessed"}


def edit(tree, name, path, old, new):
    with open(os.path.join(tree, path)) as file:
        text = file.read()
    if text.count(old) != 1:
        sys.exit(f"{name}: {path} has changed: what is to be broken is there "
                 f"{text.count(old)} times")
    with open(os.path.join(tree, path), "w") as file:
        file.write(text.replace(old, new))


def run(directory, name, edits, mode, given):
    """What torturing a copy with that break says."""
    tree, build = os.path.join(directory, name), os.path.join(directory, name, "build")
    shutil.copytree(TOP, tree, ignore=shutil.ignore_patterns("build*", ".git"))
    for path, old, new in edits:
        edit(tree, name, path, old, new)
    for command in (["meson", "setup", build, tree], ["ninja", "-C", build]):
        done = subprocess.run(command, capture_output=True, text=True)
        if done.returncode != 0:
            sys.exit(f"{name}: {done.stdout[-2000:]}{done.stderr[-2000:]}")
    return subprocess.run(
        [sys.executable, os.path.join(HERE, "run.py"), "--xautoclaimd",
         os.path.join(build, "src", "xautoclaimd"), "--mode", mode, "--seconds",
         str(given.seconds), "--seed", str(given.seed), "--quiet", "20"],
        capture_output=True, text=True, env=dict(os.environ, TMPDIR=directory))


def kinds(line):
    """What a line of run.py counts, where that is not 0."""
    counts = {kind: re.search(rf"{words} +(\d+)", line) for kind, words in COUNTED.items()}
    counts["buried"] = re.search(r"\((\d+) twice\)", line)
    return {kind for kind, match in counts.items() if match and int(match[1]) > 0}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seconds", type=float, default=20)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("names", nargs="*")
    given = parser.parse_args()
    good = True
    for name, edits, mode, finding in BREAKS:
        if given.names and name not in given.names:
            continue
        directory = tempfile.mkdtemp(prefix="xap")
        try:
            done = run(directory, name, edits, mode, given)
        finally:
            shutil.rmtree(directory, ignore_errors=True)
        found = kinds(done.stdout)
        # What is found hangs on what else happens; a break is seen by its own kind of finding.
        ok = done.returncode == 0 if finding is None else done.returncode == 1 and finding in found
        good = good and ok
        print(f"{'ok' if ok else 'NOT SEEN'}: {name} ({mode}): "
              f"{', '.join(sorted(found)) or 'nothing found'}\n    "
              f"{done.stdout.partition(chr(10))[0] or done.stderr[-500:]}", flush=True)
    return good


if __name__ == "__main__":
    sys.exit(0 if main() else 1)
