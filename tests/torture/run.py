#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Runs several daemons against one server while everything around them breaks, and lets the
oracle judge what came of it. One line a mode; the exit status is 1 if a promise was broken.

    run.py --mode cuts --seconds 20 --seed 7
    run.py --all
"""

import argparse
import os
import shutil
import sys
import tempfile
import threading
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), os.pardir, "support"))
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))


def options():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--mode", default="mixed")
    parser.add_argument("--all", action="store_true", help="each mode in turn")
    parser.add_argument("--seconds", type=float, default=20, help="how long things break (20)")
    parser.add_argument("--seed", type=int, help="of the schedule; drawn if it is not given")
    parser.add_argument("--daemons", type=int, default=4)
    parser.add_argument("--concurrency", type=int, default=8, help="of each daemon (8)")
    parser.add_argument("--rate", type=float, default=60, help="entries a second (60)")
    parser.add_argument("--min-idle", type=float, default=1.0, help="seconds (1)")
    parser.add_argument("--quiet", type=float, default=90,
                        help="how long everything may take to settle afterwards (90)")
    parser.add_argument("--xautoclaimd", default=os.environ.get("XAUTOCLAIMD"))
    parser.add_argument("--faultproxy", default=os.environ.get("FAULTPROXY"))
    parser.add_argument("--redis-server", default=os.environ.get("REDIS_SERVER"))
    parser.add_argument("--keep", action="store_true", help="keep the logs of a good run too")
    parser.add_argument("--tap", action="store_true", help="for meson: two modes, a fixed seed each")
    given = parser.parse_args()
    if not given.xautoclaimd:
        parser.error("--xautoclaimd PATH or XAUTOCLAIMD is needed")
    return given


OPTIONS = options()
# Before the harness is read, which takes them from there.
os.environ["XAUTOCLAIMD"] = os.path.abspath(OPTIONS.xautoclaimd)
os.environ["FAULTPROXY"] = os.path.abspath(OPTIONS.faultproxy or os.path.join(
    os.path.dirname(os.path.dirname(os.path.abspath(OPTIONS.xautoclaimd))), "tests", "support",
    "faultproxy"))
if OPTIONS.redis_server:
    os.environ["REDIS_SERVER"] = OPTIONS.redis_server

import faults  # noqa: E402
import oracle  # noqa: E402
import recording  # noqa: E402
from harness import GROUP, STREAM, pending  # noqa: E402
from world import DEAD, MAX_DELIVERIES, World, boottime, stream  # noqa: E402


# A link that comes up only to go down again stands still.
GREETING = ("HELLO", "AUTH", "SELECT", "CLIENT")
WRITES = ("XAUTOCLAIM", "XCLAIM", "XACK", "EVAL", "EVALSHA")


def read_ledger(world):
    with open(world.ledger, "rb") as file:
        return oracle.read_ledger(file.read())


def unexplained(world, client):
    """Pending entries that no deletion explains; and whether handlers run."""
    lives = {node.process.pid for node in world.nodes}
    running = any(not h.outcome and h.life in lives and
                  (h.pid, h.entry) not in world.handlers_killed for h in read_ledger(world))
    return set(pending(client)) - world.removed, running


def settle(world, seconds):
    """Waits until nothing is left to do; returns what is in the way."""
    deadline = time.monotonic() + seconds
    with world.client() as client:
        world.strand_the_rest(client)
        while True:
            left, running = unexplained(world, client)
            for node in world.nodes:
                node.look_after()
            if not left and not running or any(node.failures for node in world.nodes):
                return []
            if time.monotonic() > deadline:
                return [f"not settled in {seconds} s: {len(left)} pending, such as "
                        f"{sorted(left)[:5]}" if left else "handlers that do not end"]
            threading.Event().wait(0.1)


def read_links(world, facts):
    shift = boottime() - time.clock_gettime(time.CLOCK_MONOTONIC)
    least = oracle.STANDSTILL * world.min_idle
    for node in world.nodes:
        exchanges = recording.exchanges(node.proxy.record_path)
        answers = [e.answered + shift for e in exchanges
                   if e.answered is not None and e.name not in GREETING]
        facts.looks[node.name] = [e.sent + shift for e in exchanges
                                  if e.name == "TIME" and e.answered is not None]
        facts.link_still[node.name] = oracle.gaps(answers, least)
        writes = [e.answered + shift for e in exchanges
                  if e.answered is not None and e.name in WRITES]
        begun = {}
        for e in exchanges:
            begun.setdefault(e.connection, e.sent + shift)
        facts.link_torn[node.name] = oracle.torn(writes, begun.values(), least)
        facts.acks += [oracle.Ack(e.sent + shift, node.name, [i.decode() for i in e.words[3:]])
                       for e in exchanges if e.name == "XACK"]


def letters(client):
    """The dead letters, by their last ten pairs."""
    for _, fields in client("XRANGE", DEAD, "-", "+"):
        pairs = [f.decode(errors="replace") for f in fields[-20:]]
        of = dict(zip(pairs[::2], pairs[1::2]))
        yield oracle.Letter(of["xautoclaimd.id"], of["xautoclaimd.consumer"],
                            int(of["xautoclaimd.deliveries"]), of["xautoclaimd.outcome"])


def collect(world):
    facts = oracle.Facts(world.min_idle)
    facts.max_deliveries, facts.killed = MAX_DELIVERIES, world.handlers_killed
    with world.client() as client:
        facts.letters = list(letters(client))
        facts.pending = pending(client)
        facts.in_stream = {i.decode() for i, _ in client("XRANGE", STREAM, "-", "+")}
    facts.handlings = read_ledger(world)
    facts.server_still = world.server_still
    facts.clock_steps, facts.clock_back = world.clock_steps, world.clock_back
    facts.removed, facts.foreign_acked = world.removed, world.foreign_acked
    facts.foreign_claimed = world.foreign_claimed
    facts.stranded = (world.produced | facts.in_stream) - world.consumer_acked
    for node in world.nodes:
        facts.births.update(node.births)
        facts.deaths.update(node.deaths)
        facts.still[node.name] = node.still
    read_links(world, facts)
    return facts


def strike(world, mode, seed, seconds):
    world.log(f"mode {mode}, seed {seed}, {seconds} s")
    threads = faults.begin(world, mode, seed)
    threads.append(threading.Thread(target=world.produce, args=(stream(seed, "producer"),)))
    threads[-1].start()
    end = time.monotonic() + seconds
    while time.monotonic() < end and not any(node.failures for node in world.nodes):
        threading.Event().wait(0.1)
        for node in world.nodes:
            if node.lock.acquire(blocking=False):
                node.look_after()
                node.lock.release()
    world.ended.set()
    for thread in threads:
        thread.join()


def line(mode, seed, verdict, complaints, seconds):
    reasons = "; ".join(f"{n} {reason}" for reason, n in verdict.reasons.most_common())
    return (f"{mode:8s} seed {seed:<10d} entries {verdict.entries:5d}  attempts "
            f"{verdict.attempts:5d}  acked {verdict.acked:5d}  repeated {verdict.repeated:4d}  "
            f"overlaps {len(verdict.overlaps):3d} (+{len(verdict.excused)} excused)  again "
            f"{len(verdict.again):3d}  under-counts "
            f"{len(verdict.undercounts):3d}  twice {len(verdict.twice):3d}  lost "
            f"{len(verdict.lost):3d}  unprocessed {len(verdict.unprocessed):3d}  dead letters "
            f"{verdict.letters:4d} ({len(verdict.buried)} twice)  other "
            f"{len(complaints)}  {seconds:.0f} s" + (f"  excused: {reasons}" if reasons else ""))


def run(mode, seed, given):
    """(the line, whether all promises were kept, what was found, where the logs are)"""
    begun = time.monotonic()
    directory = tempfile.mkdtemp(prefix="xat")
    world = World(directory, seed, given, "clock" in faults.of_mode(mode))
    try:
        strike(world, mode, seed, given.seconds)
        complaints = settle(world, given.quiet)
        for node in world.nodes:
            if node.process.poll() is None:
                node.terminate()
            complaints += node.complaints()
        facts = collect(world)
    finally:
        world.stop()
    complaints += world.broken
    verdict = oracle.judge(facts)
    findings = complaints + verdict.findings()
    good = verdict.ok and not complaints
    with open(os.path.join(directory, "findings"), "w") as file:
        file.write(line(mode, seed, verdict, complaints, 0) + "\n" + "\n".join(findings) + "\n")
    text = line(mode, seed, verdict, complaints, time.monotonic() - begun)
    if good and not given.keep:
        shutil.rmtree(directory, ignore_errors=True)
        directory = ""
    return text, good, findings, directory


def show(findings, directory, prefix=""):
    for finding in findings[:20]:
        print(prefix + finding)
    if directory:
        print(f"{prefix}logs are in {directory}", flush=True)


def new_seed():
    return int.from_bytes(os.urandom(4), "little")


def as_tap(given):
    good = True
    for n, (mode, seed) in enumerate((("mixed", 1), ("all", 2)), 1):
        text, ok, findings, directory = run(mode, seed, given)
        print(f"{'ok' if ok else 'not ok'} {n} - {mode}, seed {seed}\n# {text}", flush=True)
        if not ok:
            show(findings, directory, "# ")
        good = good and ok
    print("1..2")
    return good


def main(given):
    good = True
    if given.tap:
        return as_tap(given)
    seed = new_seed() if given.seed is None else given.seed
    for mode in faults.MODES if given.all else given.mode.split(","):
        if mode not in faults.MODES:
            sys.exit(f"no such mode: {mode}; there are {', '.join(faults.MODES)}")
        text, ok, findings, directory = run(mode, seed, given)
        print(text, flush=True)
        if not ok or given.keep:
            show(findings, directory, "    ")
        good = good and ok
    return good


if __name__ == "__main__":
    sys.exit(0 if main(OPTIONS) else 1)
