#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Sums up meson's JSON test logs in single test cases.

usage: tally.py NAME=LOG...

Shows what each failing test wrote and why anything was skipped. The last line is
"N passed, N failed, N skipped"; the exit status is 0 only if something passed and none failed.

A case that a test announced and did not come to is failed; so is one more where a test ended
badly (a crash, a sanitizer, valgrind, a time-out) although all of its cases were fine.
"""

import json
import re
import sys

CASE = re.compile(r"^(not ok|ok)\b(?:\s+\d+)?\s*(?:-\s*)?(.*)$")
SKIP = re.compile(r"^(.*?)#\s*SKIP\b\s*(.*)$", re.IGNORECASE)
PLAN = re.compile(r"^1\.\.(\d+)\b\s*(?:#\s*SKIP\b\s*(.*))?", re.IGNORECASE)
LEFT_OUT = "# left out: "


class Count:
    def __init__(self):
        self.passed = 0
        self.failed = 0
        self.skips = []  # (case, reason)
        self.not_ok_skips = 0  # cmocka 1.1.5 writes "not ok # SKIP", which meson calls a failure
        self.ill = []  # what was wrong besides single cases

    def add(self, other):
        self.passed += other.passed
        self.failed += other.failed
        self.skips += other.skips


def is_tap(text):
    return any(PLAN.match(line) or CASE.match(line) for line in text.splitlines())


def count_tap(text):
    count, plan, reason = Count(), None, ""
    for line in text.splitlines():
        planned, case = PLAN.match(line), CASE.match(line)
        if planned:
            plan = int(planned[1])
            if plan == 0:
                count.skips.append(("all of it", planned[2] or ""))
        elif line.startswith(LEFT_OUT):
            reason = line[len(LEFT_OUT):]
        elif case:
            skip = SKIP.match(case[2])
            if skip and skip[1].strip():  # name # SKIP reason
                count.skips.append((skip[1].strip(), skip[2] or reason))
            elif skip:  # cmocka: # SKIP name
                count.skips.append((skip[2], reason))
                count.not_ok_skips += case[1] == "not ok"
            elif case[1] == "ok":
                count.passed += 1
            else:
                count.failed += 1
            reason = ""
        elif line.startswith("Bail out!"):
            count.ill.append(line)
    seen = count.passed + count.failed + len(count.skips)
    if plan is None:
        count.ill.append("it did not say how many cases it has")
    elif 0 < plan and seen < plan:
        count.failed += plan - seen
        count.ill.append(f"it ended before {plan - seen} of its {plan} cases")
    return count


def count_test(test):
    text, result = test.get("stdout", ""), test["result"]
    if is_tap(text):
        count = count_tap(text)
    else:
        count = Count()
        if result == "OK":
            count.passed = 1
        elif result == "SKIP":
            count.skips.append((test["name"], text.strip().rpartition("\n")[2]))
    only_skipped = result == "FAIL" and test["returncode"] == 0 and count.not_ok_skips
    if result not in ("OK", "SKIP") and not only_skipped:
        count.ill.append(f"{result.lower()}, exit status {test['returncode']}")
    if count.ill and count.failed == 0:
        count.failed = 1
    return count


def show(name, test, count):
    print(f"-- failed in {name}: {test['name']}" + "".join(f"; {line}" for line in count.ill))
    for stream in ("stdout", "stderr"):
        text = test.get(stream, "").rstrip()
        if text:
            print(text)
    print("--")


def read(path):
    try:
        with open(path) as file:
            return [json.loads(line) for line in file if line.strip()]
    except FileNotFoundError:
        return []


def main():
    total = Count()
    for argument in sys.argv[1:]:
        name, _, path = argument.partition("=")
        build, tests = Count(), read(path)
        for test in tests:
            count = count_test(test)
            build.add(count)
            if count.failed:
                show(name, test, count)
        if not tests:
            print(f"-- failed in {name}: no test ran")
            build.failed += 1
        for case, reason in build.skips:
            print(f"skipped in {name}: {case}: {reason or 'no reason given'}")
        print(f"{name}: {build.passed} passed, {build.failed} failed, {len(build.skips)} skipped")
        total.add(build)
    print(f"{total.passed} passed, {total.failed} failed, {len(total.skips)} skipped", flush=True)
    sys.exit(0 if total.failed == 0 and total.passed > 0 else 1)


if __name__ == "__main__":
    main()
