# SPDX-License-Identifier: BSD-3-Clause
"""Were the promises kept? Judges a run of several daemons by what was written down meanwhile: the
handlers' ledger, the XACKs on the wire, what was done to daemons and server, and the pending
entries at the end. Knows nothing of how the run was made.

    overlap     two handlers on one entry at the same time. Excused where the daemon of the one
                that began first, or its link, had stood still for 0.7 min_idle and more, so that
                its claim ran out (nobody can call a handler back); where the other one had stood
                still so long and missed that the server was away or its clock was set; or where
                a foreign client took the entry away. Also where the daemon that begins second
                was born when the server had just come back, or after its clock was set.
    again       handled once more after an ok whose daemon lived on; excused likewise
    under-count a handler was given a number that is not higher than that of the handler before
                it, or the counter is lower than the number of attempts that began
    twice       two handlers of one life of one daemon on one entry at once (never excused)
    unprocessed an XACK by a daemon whose handler had not said ok before; a dead letter without a
                reject, or before the entry was delivered max_deliveries times
    buried      more than one dead letter for one entry
    lost        neither pending nor acknowledged nor dead-lettered by anybody, or gone from the
                stream

All times are seconds on CLOCK_BOOTTIME.
"""

import struct
from bisect import bisect_right
from collections import Counter, namedtuple

RECORD = struct.Struct("=QQQQIIBB22s")  # tests/torture/ledger.h
BEGIN, END = 0, 1
OUTCOMES = ("", "ok", "retry", "reject", "crash", "stopped")

# A claim is renewed at M/4, looked at every M/24; what is younger than M has 0.7 M left at least.
STANDSTILL = 0.7
NEVER = float("inf")

Interval = namedtuple("Interval", "start end")
Ack = namedtuple("Ack", "time daemon ids")
Letter = namedtuple("Letter", "entry daemon deliveries outcome")  # by its provenance


class Handling:
    """One handler: from its begin to its end, its daemon's death, or for ever."""

    def __init__(self, entry, daemon, life, pid, deliveries, begin, end=NEVER, outcome=""):
        self.entry, self.daemon, self.life, self.pid = entry, daemon, life, pid
        self.deliveries, self.begin, self.end, self.outcome = deliveries, begin, end, outcome

    def __repr__(self):
        return (f"{self.entry} by {self.daemon}/{self.life} pid {self.pid} delivery "
                f"{self.deliveries} [{self.begin:.6f}, {self.end:.6f}] {self.outcome or 'no end'}")


class LedgerError(Exception):
    """The ledger cannot be what handlers wrote."""


def read_ledger(data):
    """All handlings, in the order in which they began."""
    open_ones, out = {}, []
    for usec, ms, seq, deliveries, pid, life, kind, outcome, name in RECORD.iter_unpack(data):
        entry, daemon = f"{ms}-{seq}", name.rstrip(b"\0").decode()
        key = (pid, entry, daemon)
        if kind == BEGIN:
            open_ones[key] = Handling(entry, daemon, life, pid, deliveries, usec / 1e6)
            out.append(open_ones[key])
        elif key in open_ones:
            handling = open_ones.pop(key)
            handling.end, handling.outcome = usec / 1e6, OUTCOMES[outcome]
        else:
            raise LedgerError(f"an end without a begin: {key}")
    out.sort(key=lambda h: h.begin)
    return out


class Facts:
    """What is known of a run."""

    def __init__(self, min_idle):
        self.min_idle = min_idle
        self.handlings = []
        self.births = {}        # life -> when it was started
        self.deaths = {}        # life -> when it was killed or ended
        self.still = {}         # daemon -> Intervals in which it was stopped
        self.link_still = {}    # daemon -> Intervals in which its link brought no answer
        self.link_torn = {}     # daemon -> Intervals in which it was cut before any write came through
        self.server_still = []  # Intervals in which the server answered nobody
        self.clock_steps = []   # when the server's clock was set forward
        self.clock_back = []    # ... and back
        self.looks = {}         # daemon -> when it looked at the server's clock
        self.acks = []          # Ack, as the daemons sent them
        self.letters = []       # Letter, as they are in the dead letter stream
        self.max_deliveries = 0
        self.killed = {}        # (pid, ID) -> when that handler was killed by somebody else
        self.stranded = set()   # IDs that were delivered and never acknowledged by their consumer
        self.in_stream = set()  # IDs in the stream at the end
        self.removed = set()    # IDs that somebody deleted, or that were pending in a lost group
        self.foreign_acked = set()
        self.foreign_claimed = {}  # ID -> times at which a foreign client took it by force
        self.pending = {}       # at the end: ID -> (consumer, idle, deliveries)


class Verdict:
    COUNTED = ("overlaps", "again", "undercounts", "twice", "unprocessed", "buried",
               "lost")

    def __init__(self):
        self.overlaps, self.again, self.excused, self.undercounts = [], [], [], []
        self.reasons = Counter()  # of the excused
        self.twice, self.unprocessed, self.buried, self.lost = [], [], [], []
        self.entries = self.attempts = self.acked = self.repeated = self.letters = 0

    @property
    def ok(self):
        return not any(getattr(self, name) for name in self.COUNTED)

    def findings(self):
        return [f"{name}: {finding}" for name in (*self.COUNTED, "excused")
                for finding in getattr(self, name)]


def uncovered(start, end, others):
    """How much of [start, end] none of the others covers."""
    at, total = start, 0.0
    for other in sorted(others):
        if other.end <= at or other.start >= end:
            continue
        total += max(0.0, other.start - at)
        at = max(at, other.end)
    return total + max(0.0, end - at)


def gaps(times, least):
    """Intervals of at least this length between neighbours."""
    times = sorted(times)
    return [Interval(a, b) for a, b in zip(times, times[1:]) if b - a >= least]


def torn(writes, connections, least):
    """The gaps between writes that were answered in which three connections and more began."""
    return [gap for gap in gaps(writes, least)
            if sum(gap.start < begun < gap.end for begun in connections) >= 3]


def _masked(facts, step, since, daemon):
    """Was the clock set back, too, between the looks before and after the step, far apart?"""
    looks = facts.looks.get(daemon, ())
    at = bisect_right(looks, step)
    if at == 0 or at == len(looks) or looks[at] < since or (
            looks[at] - looks[at - 1] < STANDSTILL * facts.min_idle):
        return False
    return any(looks[at - 1] <= back <= looks[at] for back in facts.clock_back)


def _could_not_know(facts, second):
    """Its daemon had no way to see what made the entry look idle."""
    lately = 1.25 * facts.min_idle
    slept = [s for s in facts.still.get(second.daemon, ())
             if s.end - s.start >= STANDSTILL * facts.min_idle]
    for away in facts.server_still:
        if away.start < second.begin < away.end + lately:
            if any(s.start < away.end and s.end > away.start for s in slept):
                return "its sibling stood still while the server was away"
    for step in facts.clock_steps:
        if step < second.begin and _masked(facts, step, second.begin - lately, second.daemon):
            return "its sibling stood still while the clock was set back and forward"
    return None


def _newborn(facts, second):
    """Somebody was born who could not know, and may have taken the entry: to begin it, or to lose
    the answer, so that another one begins it a min_idle later."""
    m = facts.min_idle
    for away in facts.server_still:
        # One that has waited for the server for M/4 knows that it was away.
        if away.start < second.begin < away.end + 2.5 * m and any(
                away.end - m / 4 < born < min(away.end + m / 2, second.begin)
                for born in facts.births.values()):
            return "a sibling was born when the server had just come back"
    for step in facts.clock_steps:
        if step < second.begin < step + 2.5 * m and any(
                step < born < min(step + m, second.begin) for born in facts.births.values()):
            return "a sibling was born after the clock was set"
    return None


def excuse(facts, first, second):
    """Why `second` may have begun while `first` ran, or None."""
    least = STANDSTILL * facts.min_idle
    # The claim that ran out is the one from before the handler's first standstill: whatever came
    # to an end before the handler began is no excuse, for it was checked afterwards.
    for still in facts.still.get(first.daemon, ()):
        if still.start < second.begin and still.end > first.begin and (
                still.end - still.start >= least):
            return "its daemon stood still"
    for still in facts.link_still.get(first.daemon, ()):
        if still.start < second.begin and still.end > first.begin and (
                uncovered(still.start, still.end, facts.server_still) >= least):
            return "its link stood still"
    for torn in facts.link_torn.get(first.daemon, ()):
        if torn.start < second.begin and torn.end > first.begin and (
                uncovered(torn.start, torn.end, facts.server_still) >= least):
            return "its link was cut again and again"
    for time in facts.foreign_claimed.get(first.entry, ()):
        if time < second.begin:
            return "taken away by force"
    return _could_not_know(facts, second) or _newborn(facts, second)


def _judge_entry(facts, verdict, entry, handlings):
    for at, handling in enumerate(handlings):
        for other in handlings[at + 1 :]:
            overlap = other.begin < handling.end
            if not overlap and (handling.outcome != "ok"
                                or facts.deaths.get(handling.life, NEVER) < other.begin):
                continue
            text = f"{handling} | {other}"
            if overlap and other.life == handling.life:
                verdict.twice.append(text)
                continue
            reason = excuse(facts, handling, other)
            if reason:
                verdict.reasons[reason] += 1
                verdict.excused.append(f"{text} ({reason})")
            else:
                (verdict.overlaps if overlap else verdict.again).append(text)
        # One delivery before it was stranded.
        if handling.deliveries < at + 2 or at and (
                handling.deliveries <= handlings[at - 1].deliveries):
            verdict.undercounts.append(
                f"{handling}, attempt {at + 1}" + (f" | {handlings[at - 1]}" if at else ""))
    if entry in facts.pending and facts.pending[entry][2] < len(handlings) + 1:
        verdict.undercounts.append(
            f"{entry}: {len(handlings)} attempts, counter {facts.pending[entry][2]}")
    verdict.repeated += max(0, sum(h.outcome == "ok" for h in handlings) - 1)


def _judge_acks(facts, verdict):
    done = {}
    for handling in facts.handlings:
        if handling.outcome == "ok":
            done.setdefault((handling.daemon, handling.entry), []).append(handling.end)
    for times in done.values():
        times.sort()
    for ack in facts.acks:
        for entry in ack.ids:
            if bisect_right(done.get((ack.daemon, entry), ()), ack.time) == 0:
                verdict.unprocessed.append(f"{entry}: XACK by {ack.daemon} at {ack.time:.6f}")


def _judge_letters(facts, verdict):
    rejected = {(h.daemon, h.entry) for h in facts.handlings if h.outcome == "reject"}
    seen = Counter(letter.entry for letter in facts.letters)
    verdict.buried = [f"{entry}: {n} dead letters" for entry, n in seen.items() if n > 1]
    for letter in facts.letters:
        if (letter.outcome == "reject" and (letter.daemon, letter.entry) not in rejected) or (
                letter.outcome == "exhausted" and letter.deliveries < facts.max_deliveries):
            verdict.unprocessed.append(f"{letter.entry}: {letter}")
    verdict.letters = len(facts.letters)


def judge(facts):
    verdict = Verdict()
    by_entry = {}
    for handling in facts.handlings:
        handling.end = min(handling.end, facts.deaths.get(handling.life, NEVER),
                           facts.killed.get((handling.pid, handling.entry), NEVER))
        by_entry.setdefault(handling.entry, []).append(handling)
    for entry, handlings in by_entry.items():
        handlings.sort(key=lambda h: h.begin)
        _judge_entry(facts, verdict, entry, handlings)
    _judge_acks(facts, verdict)
    _judge_letters(facts, verdict)
    dead = {letter.entry for letter in facts.letters}
    acked = {entry for ack in facts.acks for entry in ack.ids}
    excused = facts.removed | facts.foreign_acked | dead
    for entry in sorted(facts.stranded | set(by_entry)):
        if entry not in facts.in_stream and entry not in facts.removed:
            verdict.lost.append(f"{entry}: no longer in the stream")
        elif entry not in facts.pending and entry not in excused and entry not in acked:
            verdict.lost.append(f"{entry}: not pending, and nobody acknowledged it")
    verdict.entries = len(facts.stranded)
    verdict.attempts = len(facts.handlings)
    verdict.acked = len((acked & facts.stranded) - set(facts.pending))
    return verdict
