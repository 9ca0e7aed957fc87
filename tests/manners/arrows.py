#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Which room may include the doors of which, and where a library's headers may be seen.

    main -> daemon -> control, recovery -> redis, handler -> loop, report -> base
    main -> control (its client)
    config -> base; main and daemon read it; everyone may see config/settings.h

usage: arrows.py SOURCE-TREE | arrows.py --self-test
"""

import fnmatch
import os
import re
import sys
import tempfile

# A room may include the doors of every room on a lower floor, and its own.
FLOORS = {"main": 6, "daemon": 5, "control": 4, "recovery": 4, "redis": 3, "handler": 3,
          "loop": 2, "report": 2, "base": 1}

# Beside the floors: who may include which door of config.
CONFIG_DOORS = {"config.h": {"main", "daemon", "config"}, "settings.h": None}

# Headers of libraries, and the files under src/ that may know them.
LIBRARIES = [
    ("libevent", ["event2/*", "event.h", "evhttp.h", "evdns.h", "evutil.h"],
     # where hiredis' adapter is attached, and its randomness
     ["loop/*", "redis/connection.c", "redis/link.c"]),
    ("hiredis", ["hiredis.h", "hiredis/*", "hiredis_ssl.h", "async.h", "adapters/*", "read.h",
                 "sds.h", "alloc.h"], ["redis/*"]),
    ("inih", ["ini.h", "INIReader.h"], ["config/ini.c"]),
    ("popt", ["popt.h"], ["config/command.c"]),
    ("jansson", ["jansson.h", "jansson_config.h"], ["handler/*", "control/*"]),
    ("libsystemd", ["systemd/*"], ["report/*"]),
]

INCLUDE = re.compile(r'^[ \t]*#[ \t]*include(?:_next)?[ \t]*(.*?)[ \t]*$')
NAMED = re.compile(r'^(?:"([^"]+)"|<([^>]+)>)')


def without_comments(text):
    """Comments become blanks; lines stay where they are, strings are kept."""
    pattern = re.compile(r'/\*.*?\*/|//[^\n]*|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\'', re.S)
    return pattern.sub(lambda m: m[0] if m[0][0] in "\"'" else re.sub(r"[^\n]", " ", m[0]), text)


def includes(path):
    """(line number, what stands behind #include) of a file; continued lines are joined."""
    with open(path, encoding="utf-8") as file:
        lines = without_comments(file.read()).split("\n")
    at = 0
    while at < len(lines):
        number, line = at + 1, lines[at]
        while line.endswith("\\") and at + 1 < len(lines):
            at += 1
            line = line[:-1] + lines[at]
        at += 1
        found = INCLUDE.match(line)
        if found:
            yield number, found[1]


def sources(tree):
    for top in ("src", "include"):
        for directory, _, names in sorted(os.walk(os.path.join(tree, top))):
            for name in sorted(names):
                if name.endswith((".c", ".h")):
                    yield os.path.relpath(os.path.join(directory, name), tree)


def room_of(path):
    """Of a file below src/ or include/; what lies in src/ itself is a main."""
    parts = path.split("/")
    return "main" if len(parts) == 2 else parts[1]


def judge_door(room, path, door_room, door):
    if door_room == room:
        return None
    if door_room == "config":
        allowed = CONFIG_DOORS.get(door, set())
        if allowed is None or room in allowed:
            return None
        return f"{room} may not include config/{door}"
    if room == "config":
        return None if door_room == "base" else f"config may not include the doors of {door_room}"
    if FLOORS[door_room] < FLOORS[room]:
        return None
    return f"{room} may not include the doors of {door_room}: nothing points up or sideways"


def judge_library(path, header):
    for library, headers, allowed in LIBRARIES:
        if not any(fnmatch.fnmatchcase(header, pattern) for pattern in headers):
            continue
        inside = path.removeprefix("src/")
        if path.startswith("src/") and any(fnmatch.fnmatchcase(inside, a) for a in allowed):
            return None
        return f"<{header}>: {library} is known in {', '.join(allowed)} of src only"
    return None


def judge(tree, path, what):
    """What is wrong with this #include, or None."""
    room = room_of(path)
    if room not in FLOORS and room != "config":
        return f"unknown room {room}"
    named = NAMED.match(what)
    if not named:
        return f"cannot be judged: {what}"
    name = named[1] or named[2]
    beside = os.path.join(tree, os.path.dirname(path), name)
    if named[1] and "/" not in name and path.startswith("src/") and os.path.exists(beside):
        return None
    if os.path.exists(os.path.join(tree, "include", name)) and "/" in name:
        door_room, _, door = name.partition("/")
        if door_room not in FLOORS and door_room != "config":
            return f"unknown room {door_room}"
        return judge_door(room, path, door_room, door)
    if named[1]:
        return f'"{name}" is no door and does not lie beside this file: it is private elsewhere'
    return judge_library(path, name)


def violations(tree):
    found, count = [], 0
    for path in sources(tree):
        for number, what in includes(os.path.join(tree, path)):
            count += 1
            wrong = judge(tree, path, what)
            if wrong:
                found.append(f"{path}:{number}: {wrong}")
    return found, count


# --- self-test -----------------------------------------------------------------------------------

DOORS = ["base/text.h", "loop/loop.h", "report/report.h", "redis/link.h", "handler/handler.h",
         "recovery/recovery.h", "control/control.h", "config/config.h", "config/settings.h",
         "daemon/daemon.h"]

# file, line, what the complaint must hold (None: allowed)
CASES = [
    ("src/main.c", '#include "daemon/daemon.h"', None),
    ("src/main.c", '#include "config/config.h"', None),
    ("src/daemon/x.c", '#include "recovery/recovery.h"', None),
    ("src/daemon/x.c", '#include "config/config.h"', None),
    ("src/recovery/x.c", '#include "redis/link.h"', None),
    ("src/recovery/x.c", '#include "config/settings.h"', None),
    ("src/handler/x.c", '#include "loop/loop.h"', None),
    ("src/handler/x.c", '#include <jansson.h>', None),
    ("src/daemon/x.c", '#include "control/control.h"', None),
    ("src/control/x.c", '#include "loop/loop.h"', None),
    ("src/control/x.c", '#include <jansson.h>', None),
    ("src/control/x.c", '#include "recovery/recovery.h"', "sideways"),
    ("src/control/x.c", '#include "daemon/daemon.h"', "nothing points up"),
    ("src/control/x.c", '#include <event2/event.h>', "libevent"),
    ("src/loop/x.c", '#include <event2/event.h>', None),
    ("src/redis/connection.c", '#include <event2/event.h>', None),
    ("src/config/ini.c", '#include <ini.h>', None),
    ("src/report/x.c", '#include <systemd/sd-journal.h>', None),
    ("src/base/x.c", '#include "config/settings.h"', None),
    ("src/base/x.c", '#include "base/text.h"', None),
    ("src/redis/x.c", '#include "private.h"', None),
    ("src/redis/x.c", '/* #include "recovery/recovery.h" */', None),
    ("src/redis/x.c", '// #include "recovery/recovery.h"', None),
    ("src/redis/x.c", '#include "recovery/recovery.h"', "nothing points up"),
    ("src/redis/x.c", '#include <recovery/recovery.h>', "nothing points up"),
    ("src/redis/x.c", '  #  include "recovery/recovery.h"', "nothing points up"),
    ("src/redis/x.c", '#include \\\n"recovery/recovery.h"', "nothing points up"),
    ("src/redis/x.c", '#include /* hidden */ "recovery/recovery.h"', "nothing points up"),
    ("include/redis/x.h", '#include "recovery/recovery.h"', "nothing points up"),
    ("src/redis/x.c", '#include "handler/handler.h"', "sideways"),
    ("src/loop/x.c", '#include "report/report.h"', "sideways"),
    ("src/recovery/x.c", '#include "control/control.h"', "sideways"),
    ("src/base/x.c", '#include "report/report.h"', "nothing points up"),
    ("src/recovery/x.c", '#include "daemon/daemon.h"', "nothing points up"),
    ("src/recovery/x.c", '#include "config/config.h"', "may not include config/config.h"),
    ("include/handler/x.h", '#include "config/config.h"', "may not include config/config.h"),
    ("src/config/x.c", '#include "report/report.h"', "config may not include"),
    ("src/recovery/x.c", '#include "redis/private.h"', "private elsewhere"),
    ("src/recovery/x.c", '#include "../redis/private.h"', "private elsewhere"),
    ("src/recovery/x.c", '#include "private.h"', "private elsewhere"),
    ("include/recovery/x.h", '#include "private.h"', "private elsewhere"),
    ("src/daemon/x.c", '#include <event2/event.h>', "libevent"),
    ("src/redis/command.c", '#include <event2/event.h>', "libevent"),
    ("include/loop/x.h", '#include <event2/event.h>', "libevent"),
    ("src/recovery/x.c", '#include <hiredis.h>', "hiredis"),
    ("include/redis/x.h", '#include <hiredis/hiredis.h>', "hiredis"),
    ("src/config/load.c", '#include <ini.h>', "inih"),
    ("src/daemon/x.c", '#include <ini.h>', "inih"),
    ("src/redis/x.c", '#include <jansson.h>', "jansson"),
    ("src/daemon/x.c", '#include <systemd/sd-daemon.h>', "libsystemd"),
    ("src/daemon/x.c", '#include <popt.h>', "popt"),
    ("src/redis/x.c", '#include WHATEVER', "cannot be judged"),
    ("src/attic/x.c", '#include "base/text.h"', "unknown room"),
]


def put(tree, path, text):
    path = os.path.join(tree, path)
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "w", encoding="utf-8") as file:
        file.write(text + "\n")


def self_test():
    wrong = 0
    for path, line, complaint in CASES:
        with tempfile.TemporaryDirectory() as tree:
            for door in DOORS:
                put(tree, "include/" + door, "")
            put(tree, "src/redis/private.h", "")
            put(tree, path, line)
            found, _ = violations(tree)
        right = found == [] if complaint is None else len(found) == 1 and complaint in found[0]
        if not right:
            wrong += 1
            print(f"{path}: {line!r}: expected {complaint!r}, got {found}")
    print(f"{len(CASES)} cases, {wrong} wrong")
    return 1 if wrong else 0


def main():
    if sys.argv[1:] == ["--self-test"]:
        return self_test()
    if len(sys.argv) != 2 or not os.path.isdir(os.path.join(sys.argv[1], "src")):
        sys.exit("usage: arrows.py SOURCE-TREE | arrows.py --self-test")
    found, count = violations(sys.argv[1])
    print("\n".join(found + [f"{count} includes, {len(found)} against the arrows"]))
    return 1 if found or count == 0 else 0


if __name__ == "__main__":
    sys.exit(main())
