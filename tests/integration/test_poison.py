#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""A poison message can neither spin for ever nor vanish: retry delays, the limit, dead letters."""

import collections
import os
import signal
import time

import harness
from harness import (GROUP, STREAM, Test, config, pending, pending_count, recovery, strand)

DEAD = "orders:dead"
FAST = {"min_idle": "1s", "interval": "50ms", "dead_letter_stream": DEAD}
PROVENANCE = ["", ".recovery", ".stream", ".group", ".id", ".consumer", ".deliveries", ".outcome",
              ".reason", ".time"]


class Poison(Test):
    def setUp(self):
        super().setUp()
        self.redis = self.server()
        self.r = self.client(self.redis)
        self.log = self.path("handled")
        open(self.log, "w").close()

    def script(self, body, name="handler"):
        return self.handler(f'echo "$XAUTOCLAIMD_ID $XAUTOCLAIMD_DELIVERIES" >>{self.log}\n{body}\n',
                            name)

    def begun(self):
        out = collections.defaultdict(list)
        with open(self.log) as file:
            for entry_id, deliveries in (line.split() for line in file):
                out[entry_id].append(int(deliveries))
        return out

    def letters(self, client=None):
        """(fields before the provenance, provenance) of each dead letter."""
        out = []
        for _, flat in (client or self.r)("XRANGE", DEAD, "-", "+"):
            pairs = [(flat[i].decode(), flat[i + 1].decode()) for i in range(0, len(flat), 2)]
            self.assertEqual([k for k, _ in pairs[-10:]], ["xautoclaimd" + p for p in PROVENANCE])
            out.append((pairs[:-10], {k[len("xautoclaimd"):]: v for k, v in pairs[-10:]}))
        return out

    def settled(self, daemon, left=0, seconds=harness.DEADLINE):
        daemon.journal.wait_until(lambda _: pending_count(self.r) == left, seconds)

    def test_it_kills_the_daemon(self):
        """Begun at most max_deliveries - 1 times, then a dead letter, once; everybody else is
        processed and charged only for what began."""
        n = int(os.environ.get("MANY", "300"))
        ids = strand(self.r, n)
        handler = self.script('if [ "$XAUTOCLAIMD_ID" = 7-0 ]; then kill -9 $PPID; exec sleep 60; fi')
        text = config(self.redis.url, {"orders": recovery(handler, concurrency=1, claim_ahead=8,
                                                          max_deliveries=5, **FAST)})
        for life in range(4):
            daemon = self.daemon(text, name=f"life{life}", level="info")
            self.assertEqual(daemon.process.wait(harness.DEADLINE), -signal.SIGKILL)
            self.r("XCLAIM", STREAM, GROUP, "ghost", 0, *pending(self.r), "IDLE", 10 ** 6, "JUSTID")
        daemon = self.daemon(text, name="last", level="info")
        self.settled(daemon, seconds=4 * harness.DEADLINE)
        daemon.terminate()
        begun = self.begun()
        self.assertEqual(begun["7-0"], [2, 3, 4, 5])
        for entry_id in ids:
            if entry_id != "7-0":
                self.assertEqual(begun[entry_id], [2], entry_id)
        (fields, provenance), = self.letters()
        self.assertEqual(fields, [("n", "7-0")])
        self.assertLess(abs(int(provenance.pop(".time")) / 1000 - time.time()), 3600)
        self.assertEqual(provenance, {
            "": "1", ".recovery": "orders", ".stream": STREAM, ".group": GROUP, ".id": "7-0",
            ".consumer": "recoverer", ".deliveries": "5", ".outcome": "exhausted",
            ".reason": "delivered 5 times"})

    def test_it_fails_each_time(self):
        """The reason of the last failure goes into the letter."""
        strand(self.r, 1)
        daemon = self.daemon(config(self.redis.url, {"orders": recovery(
            self.script("exit 3"), max_deliveries=3, retry_delay="100ms", **FAST)}))
        record = daemon.wait_record(OUTCOME="exhausted", ENTRY_ID="1-0")
        self.assertEqual(record.first("DEAD_LETTER_STREAM"), DEAD)
        daemon.wait_pass(PASS_EXHAUSTED="1", PASS_DEAD_LETTERED="1", PASS_ACKED="1")
        daemon.terminate()
        self.assertEqual(self.begun()["1-0"], [2, 3])
        (_, provenance), = self.letters()
        self.assertEqual(provenance[".reason"], "exit status 3")
        self.assertEqual(provenance[".outcome"], "exhausted")
        self.assertEqual(pending_count(self.r), 0)

    def test_rejected(self):
        strand(self.r, 3)
        wire = self.proxy(f"unix:{self.redis.path}")
        daemon = self.daemon(config(wire.url, {"orders": recovery(
            self.script('case "$XAUTOCLAIMD_ID" in 2-0|100-0) exit 65; esac'), **FAST)}))
        record = daemon.wait_pass(PASS_REJECTED="1", PASS_DEAD_LETTERED="1")
        strand(self.r, 1, first_ms=100)
        daemon.wait_record(ENTRY_ID="100-0", DEAD_LETTER_STREAM=DEAD)
        daemon.terminate()
        self.assertEqual(record.first("PASS_ACKED"), "3")
        (_, provenance), (_, second) = self.letters()
        self.assertEqual(second[".id"], "100-0")
        self.assertEqual((provenance[".outcome"], provenance[".reason"]),
                         ("reject", "exit status 65"))
        self.assertEqual(pending_count(self.r), 0)
        # the script is called by its name, sent once where it is not known; no body comes back
        scripts = [e for e in wire.exchanges() if e.name.startswith("EVAL")]
        self.assertEqual([e.name for e in scripts], ["EVALSHA", "EVAL", "EVALSHA"])
        self.assertEqual([e.reply for e in scripts[1:]], [[b"copied", 1]] * 2)

    def test_rejected_without_a_dead_letter_stream(self):
        strand(self.r, 1)
        keys = {k: v for k, v in FAST.items() if k != "dead_letter_stream"}
        daemon = self.daemon(config(self.redis.url, {"orders": recovery(
            self.script("exit 65"), **keys)}))
        daemon.wait_record(ENTRY_ID="1-0", OUTCOME="exhausted")
        self.r("XCLAIM", STREAM, GROUP, "ghost", 0, "1-0", "IDLE", 10 ** 6, "JUSTID")
        daemon.wait_record(PASS_EXHAUSTED="1")
        daemon.terminate()
        self.assertEqual(len(self.begun()["1-0"]), 1)
        self.assertEqual(len(daemon.records(ENTRY_ID="1-0", OUTCOME="exhausted")), 1)
        self.assertEqual(pending_count(self.r), 1)

    def test_delays(self):
        """Attempts come when the delays say, doubling, up to the largest."""
        strand(self.r, 1)
        interval, delays = 0.1, [1.0, 2.0, 3.0, 3.0]
        handler = self.script(f"date +%s.%N >>{self.log}.times; exit 1")
        daemon = self.daemon(config(self.redis.url, {"orders": recovery(
            handler, min_idle="1s", interval="100ms", retry_delay="1s", retry_delay_max="3s")}))
        daemon.wait_count(5, OUTCOME="retry", seconds=60)
        daemon.terminate()
        with open(self.log + ".times") as file:
            times = [float(line) for line in file]
        gaps = [b - a for a, b in zip(times, times[1:])]
        for gap, delay in zip(gaps, delays):
            self.assertGreaterEqual(gap, 0.9 * delay, gaps)
            # (and what a busy machine takes to start a process)
            self.assertLessEqual(gap, 1.1 * delay + interval + 0.3, gaps)
        print("# attempts after", " ".join(f"{gap:.2f}" for gap in gaps), "s")
        # after a restart it may come earlier than its delay, but never than min_idle
        again = self.daemon(config(self.redis.url, {"orders": recovery(
            handler, min_idle="2s", interval="100ms", retry_delay="30s")}), name="again")
        again.wait_count(1, OUTCOME="retry")
        again.terminate()
        with open(self.log + ".times") as file:
            times = [float(line) for line in file]
        self.assertGreaterEqual(times[-1] - times[-2], 1.9)

    def test_delays_without_a_scan(self):
        """An attempt comes when its delay is over, not with the next scan; min_idle as short as
        it may be."""
        strand(self.r, 1)
        daemon = self.daemon(config(self.redis.url, {"orders": recovery(
            self.script("exit 1"), min_idle="1s", interval="30s", retry_delay="2s")}))
        daemon.wait_record(OUTCOME="retry", DELIVERIES="3", seconds=20)
        daemon.terminate()
        stats = self.r("INFO", "commandstats").decode().split()
        looks = [s for s in stats if s.startswith("cmdstat_time:")][0]
        self.assertLess(int(looks.partition("calls=")[2].partition(",")[0]), 6)

    def test_a_retry_that_somebody_else_has_taken(self):
        strand(self.r, 1)
        daemon = self.daemon(config(self.redis.url, {"orders": recovery(
            self.script("exit 1"), min_idle="2s", interval="100ms", retry_delay="500ms")}))
        daemon.wait_record(OUTCOME="retry", ENTRY_ID="1-0")
        self.r("XCLAIM", STREAM, GROUP, "other", 0, "1-0")
        before = pending(self.r)["1-0"]
        daemon.wait_count(2, PASS_CLAIMED="0")
        daemon.wait_count(10, PASS_CLAIMED="0")
        self.assertEqual(pending(self.r)["1-0"][0], "other")
        self.assertEqual(pending(self.r)["1-0"][2], before[2])
        self.assertEqual(self.begun()["1-0"], [2])
        daemon.terminate()

    # --- the copy cannot be written -----------------------------------------------------------------

    def cannot_write(self, break_it, mend_it, word, redis=""):
        """Still pending, nothing acknowledged, others go on; done once mended."""
        strand(self.r, 2)
        break_it()
        daemon = self.daemon(config(self.redis.url, {"orders": recovery(
            self.script('[ "$XAUTOCLAIMD_ID" != 1-0 ] || exit 65'), **FAST)}, redis=redis))
        record = daemon.wait_record(STATE="waiting", REDIS_ERROR=word)
        self.assertIn("dead letters cannot be written", record.message)
        daemon.notify.wait_status("dead letters cannot be written")
        daemon.journal.wait_until(lambda _: set(pending(self.r)) == {"1-0"}, harness.DEADLINE)
        self.assertEqual(self.r("EXISTS", DEAD), 0)
        more = strand(self.r, 2, first_ms=100) if word != "OOM" else []
        if more:
            daemon.journal.wait_until(lambda _: set(pending(self.r)) == {"1-0"}, harness.DEADLINE)
        mend_it()
        self.settled(daemon)
        daemon.wait_record(DEAD_LETTER_STREAM=DEAD)
        daemon.terminate()
        (_, provenance), = self.letters()
        self.assertEqual((provenance[".outcome"], provenance[".reason"]),
                         ("reject", "exit status 65"))
        self.assertEqual(self.begun()["1-0"], [2])
        down = [r for r in daemon.records(STATE="waiting") if r.priority == 4]
        self.assertEqual(len(down), 1)

    def test_out_of_memory(self):
        self.cannot_write(
            lambda: (self.r("CONFIG", "SET", "maxmemory-policy", "noeviction"),
                     self.r("CONFIG", "SET", "maxmemory", "1")),
            lambda: self.r("CONFIG", "SET", "maxmemory", "0"), "OOM")

    def test_no_right_for_the_stream(self):
        password = harness.write(self.path("password"), "secret\n", 0o600)
        rights = ["+xautoclaim", "+xclaim", "+xrange", "+xack", "+xpending", "+exists", "+ping",
                  "+evalsha", "+eval", "+time", "+xadd"]
        self.r("ACL", "SETUSER", "recoverer", "on", ">secret", "~" + STREAM, *rights)
        self.cannot_write(lambda: None,
                          lambda: self.r("ACL", "SETUSER", "recoverer", "~" + DEAD), "NOPERM",
                          redis=f"username = recoverer\npassword_file = {password}\n")

    def test_nothing_left_to_write(self):
        """Whoever mends it by hand, and acknowledges the entry, ends the trouble too."""
        strand(self.r, 1)
        self.r("SET", DEAD, "x")
        daemon = self.daemon(config(self.redis.url, {"orders": recovery(
            self.script("exit 65"), **FAST)}))
        daemon.notify.wait_status("waiting (orders: dead letters cannot be written (WRONGTYPE))")
        self.r("XACK", STREAM, GROUP, "1-0")
        daemon.journal.wait_for(lambda r: "working again" in r.message, harness.DEADLINE)
        daemon.notify.wait_for(lambda m: m.get("STATUS", "").startswith("1 recovery;"))
        daemon.terminate()

    def test_wrong_type_of_the_stream(self):
        strand(self.r, 1)
        self.r("SET", DEAD, "x")
        daemon = self.daemon(config(self.redis.url, {"orders": recovery(
            self.script("exit 65"), **FAST)}))
        daemon.wait_record(STATE="waiting", REDIS_ERROR="WRONGTYPE")
        self.assertEqual(pending_count(self.r), 1)
        self.r("DEL", DEAD)
        self.settled(daemon)
        daemon.terminate()
        self.assertEqual(len(self.letters()), 1)

    def test_read_only(self):
        strand(self.r, 1)
        gate = self.gate()
        daemon = self.daemon(config(self.redis.url, {"orders": recovery(
            self.script(f"{gate.wait}; exit 65"), **FAST)},
            redis="reconnect_min = 10ms\nreconnect_max = 50ms\n"))
        daemon.wait_record(DELIVERIES="2")
        self.r("REPLICAOF", "127.0.0.1", "1")
        gate.open()
        daemon.wait_record(REDIS_ERROR="READONLY")
        self.assertEqual(pending_count(self.r), 1)
        self.r("REPLICAOF", "NO", "ONE")
        self.settled(daemon)
        daemon.terminate()
        self.assertEqual(len(self.letters()), 1)

    def test_the_answer_of_the_script_is_lost(self):
        strand(self.r, 1)
        wire = self.proxy(f"unix:{self.redis.path}")
        self.r("SCRIPT", "FLUSH")
        wire("drop-reply EVAL")
        daemon = self.daemon(config(wire.url, {"orders": recovery(
            self.script("exit 65"), **FAST)}, redis="reconnect_min = 10ms\nreconnect_max = 50ms\n"))
        daemon.wait_pass(PASS_CLAIMED="1", PASS_REJECTED="1", PASS_EXHAUSTED="0")
        daemon.terminate()
        self.assertEqual(len(self.letters()), 1)
        self.assertEqual(pending_count(self.r), 0)
        self.assertEqual(self.begun()["1-0"], [2])

    def test_too_many_fields(self):
        fields = [str(i) for i in range(8200)]
        strand(self.r, 1, body=fields)
        daemon = self.daemon(config(self.redis.url, {"orders": recovery(
            self.script("exit 65"), **FAST)}))
        record = daemon.wait_record(ENTRY_ID="1-0", OUTCOME="exhausted")
        self.assertIn("more fields than a script can copy", record.message)
        self.r("XCLAIM", STREAM, GROUP, "ghost", 0, "1-0", "IDLE", 10 ** 6, "JUSTID")
        daemon.wait_record(PASS_EXHAUSTED="1", PASS_PAGES="1")
        daemon.terminate()
        self.assertEqual(len(daemon.records(ENTRY_ID="1-0", OUTCOME="exhausted")), 1)
        self.assertEqual(pending_count(self.r), 1)
        self.assertEqual(self.begun()["1-0"], [2])

    def test_as_many_fields_as_a_script_can_copy(self):
        fields = [str(i) for i in range(7900)]
        strand(self.r, 1, body=fields)
        daemon = self.daemon(config(self.redis.url, {"orders": recovery(
            self.script("exit 65"), **FAST)}))
        daemon.wait_pass(PASS_DEAD_LETTERED="1")
        daemon.terminate()
        (pairs, _), = self.letters()
        self.assertEqual([w for pair in pairs for w in pair], fields)

    # --- who may ----------------------------------------------------------------------------------------

    def test_two_daemons_race(self):
        """Many entries that are over the limit, two daemons: one letter each."""
        n = 200
        ids = strand(self.r, n)
        for start in range(0, n, 100):
            self.r("XCLAIM", STREAM, GROUP, "dead", 0, *ids[start:start + 100], "IDLE", 10 ** 6,
                   "RETRYCOUNT", 9, "JUSTID")
        daemons = [self.daemon(config(self.redis.url, {"orders": recovery(
            self.script("exit 0"), consumer=f"d{i}", max_deliveries=3, **FAST)}), name=f"d{i}",
            level="info") for i in range(2)]
        self.settled(daemons[0])
        for daemon in daemons:
            daemon.terminate()
        letters = [p[".id"] for _, p in self.letters()]
        self.assertEqual(sorted(letters), sorted(ids))
        self.assertEqual(self.begun(), {})

    def test_forged_provenance(self):
        """A message's own fields of that name stay ordinary fields, before the real ones."""
        strand(self.r, 1, body=("xautoclaimd", "1", "xautoclaimd.id", "9-9", "a", "b"))
        daemon = self.daemon(config(self.redis.url, {"orders": recovery(
            self.script("exit 65"), **FAST)}))
        daemon.wait_pass(PASS_DEAD_LETTERED="1")
        daemon.terminate()
        (fields, provenance), = self.letters()
        self.assertEqual(fields, [("xautoclaimd", "1"), ("xautoclaimd.id", "9-9"), ("a", "b")])
        self.assertEqual(provenance[".id"], "1-0")

    def test_maxlen(self):
        strand(self.r, 500)
        daemon = self.daemon(config(self.redis.url, {"orders": recovery(
            self.script("exit 65"), concurrency=16, dead_letter_maxlen=10, **FAST)}), level="info")
        self.settled(daemon, seconds=3 * harness.DEADLINE)
        daemon.terminate()
        self.assertLess(self.r("XLEN", DEAD), 250)

    def wait_exhausted(self, daemon, n):
        daemon.journal.wait_until(
            lambda rs: sum(int(r.first("PASS_EXHAUSTED", "0")) for r in rs) >= n,
            10 * harness.DEADLINE)

    def test_exhausted_without_a_dead_letter_stream(self):
        """One record each at most, none handed out again."""
        n = int(os.environ.get("MANY", "2000"))
        ids = strand(self.r, n)
        for start in range(0, n, 1000):
            self.r("XCLAIM", STREAM, GROUP, "dead", 0, *ids[start:start + 1000], "IDLE", 10 ** 6,
                   "RETRYCOUNT", 9, "JUSTID")
        daemon = self.daemon(config(self.redis.url, {"orders": recovery(
            self.script("exit 0"), max_deliveries=3, min_idle="1s", interval="100ms",
            concurrency=64)}), level="info")
        begun = time.monotonic()
        self.wait_exhausted(daemon, n)
        first = time.monotonic() - begun
        told = len(daemon.records(OUTCOME="exhausted"))
        self.wait_exhausted(daemon, 4 * n)
        daemon.terminate()
        again = [r for r in daemon.records(OUTCOME="exhausted")]
        self.assertEqual(len(again), told)
        self.assertEqual(len({r.first("ENTRY_ID") for r in again}), told)
        self.assertEqual(pending_count(self.r), n)
        self.assertEqual(self.begun(), {})
        passes = [r for r in daemon.journal.records() if int(r.first("PASS_EXHAUSTED", "0")) > 0]
        usec = sum(int(r.first("PASS_USEC")) for r in passes)
        n_met = sum(int(r.first("PASS_EXHAUSTED")) for r in passes)
        print(f"# {n} exhausted entries: {told} records, all met after {first:.1f} s, then "
              f"{usec / n_met:.1f} us of a scan for each")


if __name__ == "__main__":
    harness.main()
