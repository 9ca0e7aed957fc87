#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Kill anything at any time: nothing is lost, nothing unprocessed is acknowledged, and the delivery
counters say how many attempts have begun."""

import collections
import os
import queue
import signal
import threading

import harness
from harness import (GROUP, STREAM, Daemon, Proxy, Test, config, pending, pending_count, recovery,
                     strand)
from monitor import Monitor

# The handler writes "ID DELIVERIES" when it begins, and "ID done" when it is about to succeed.
LOGGING = 'echo "$XAUTOCLAIMD_ID $XAUTOCLAIMD_DELIVERIES" >>{log}\n{work}\n' \
          'echo "$XAUTOCLAIMD_ID done" >>{log}\n'
FAST = {"min_idle": "1s", "interval": "50ms"}
RECONNECT = "reconnect_min = 10ms\nreconnect_max = 50ms\n"


class Safety(Test):
    def setUp(self):
        super().setUp()
        self.log = self.path("handled")
        open(self.log, "w").close()
        self.redis = self.server()
        self.r = self.client(self.redis)

    def logging_handler(self, work=":", name="handler"):
        return self.handler(LOGGING.format(log=self.log, work=work), name)

    def begun(self):
        """ID -> the delivery counts that its handlers were given, in order."""
        out = collections.defaultdict(list)
        with open(self.log) as file:
            for entry_id, word in (line.split() for line in file):
                if word != "done":
                    out[entry_id].append(int(word))
        return out

    def done(self):
        with open(self.log) as file:
            return [entry_id for entry_id, word in (line.split() for line in file)
                    if word == "done"]

    def wait_settled(self, daemon, stream=STREAM, seconds=harness.DEADLINE):
        """Until nothing is pending; looked at whenever the daemon says something."""
        daemon.journal.wait_until(lambda _: pending_count(self.r, stream) == 0, seconds)

    def age_all(self):
        """As if everything pending had been idle for long, with somebody who is dead."""
        self.r("XCLAIM", STREAM, GROUP, "ghost", 0, *pending(self.r), "IDLE", 10 ** 6, "JUSTID")

    def nothing_lost(self, ids):
        self.assertEqual(set(self.done()), set(ids))
        for entry_id, counts in self.begun().items():
            self.assertEqual(counts, sorted(set(counts)), entry_id)

    # --- kill -9 of the daemon in every state of a held entry ---------------------------------

    def killed_while(self, words, swallow=None, before=None, gate=False, then=None):
        """Runs a daemon until the server has been sent these words (or a handler runs), kills it,
        runs another one to the end. Returns the delivery counts of the handlers of 1-0."""
        ids = strand(self.r, 6)
        wire = self.proxy(f"unix:{self.redis.path}")
        if swallow:
            wire(f"swallow {swallow}")
        work = self.gate().wait if gate else ":"
        keys = dict(FAST, concurrency=2, claim_ahead=4)
        monitor = Monitor(self.redis.path)
        self.addCleanup(monitor.close)
        one = self.daemon(config(wire.url, {"orders": recovery(self.logging_handler(work), **keys)},
                                 redis=RECONNECT), name="one")
        if gate:
            one.wait_count(2, DELIVERIES="2")
        if then:
            then(one)
        if words:
            monitor.wait_for(lambda w: [x.upper() for x in w[: len(words)]] == words
                             or set(words) <= {x.upper() for x in w})
        one.kill()
        if pending_count(self.r):
            self.age_all()
        two = self.daemon(config(self.redis.url, {
            "orders": recovery(self.handler(LOGGING.format(log=self.log, work=":")), **keys)}),
            name="two")
        self.wait_settled(two)
        two.terminate()
        self.nothing_lost(ids)
        return self.begun()

    def test_killed_when_the_claim_is_unanswered(self):
        begun = self.killed_while(["XAUTOCLAIM"], swallow="XAUTOCLAIM")
        self.assertEqual(set(map(tuple, begun.values())), {(2,)})

    def test_killed_when_the_counters_are_unanswered(self):
        begun = self.killed_while(["XPENDING", "RECOVERER"], swallow="XPENDING 2")
        self.assertEqual(set(map(tuple, begun.values())), {(2,)})

    def test_killed_when_the_attempt_is_unanswered(self):
        begun = self.killed_while(["XCLAIM"], swallow="XCLAIM")
        # the attempt was counted, as it must be: nobody can know that it did not begin
        self.assertEqual(begun["1-0"], [3])
        self.assertEqual({tuple(begun[f"{i}-0"]) for i in range(3, 7)}, {(2,)})

    def test_killed_with_handlers_running(self):
        begun = self.killed_while(None, gate=True)
        # (a handler may have been killed with the daemon before it wrote its first line)
        self.assertEqual(begun["1-0"][-1], 3)
        self.assertEqual(begun["2-0"][-1], 3)
        # what was only claimed ahead is not charged
        self.assertEqual({tuple(begun[f"{i}-0"]) for i in range(3, 7)}, {(2,)})

    def test_killed_when_the_ack_is_unanswered(self):
        self.killed_while(["XACK"], swallow="XACK")

    def test_killed_in_a_drain(self):
        begun = self.killed_while(
            ["XCLAIM", "TIME"], gate=True,
            then=lambda daemon: daemon.process.send_signal(signal.SIGTERM))
        self.assertEqual({tuple(begun[f"{i}-0"]) for i in range(3, 7)}, {(2,)})

    def test_a_handler_that_kills_the_daemon(self):
        """Its attempts count; its neighbours are not charged."""
        ids = strand(self.r, 20)
        handler = self.handler(
            f'echo "$XAUTOCLAIMD_ID $XAUTOCLAIMD_DELIVERIES" >>{self.log}\n'
            f'if [ "$XAUTOCLAIMD_ID" = 5-0 ] && [ "$XAUTOCLAIMD_DELIVERIES" -lt 5 ]\n'
            f'then kill -9 $PPID; exec sleep 60; fi\n'
            f'echo "$XAUTOCLAIMD_ID done" >>{self.log}\n')
        text = config(self.redis.url, {"orders": recovery(handler, concurrency=1, claim_ahead=10,
                                                          **FAST)})
        for life in range(3):
            daemon = self.daemon(text, name=f"life{life}")
            daemon.process.wait(harness.DEADLINE)
            self.assertEqual(daemon.process.returncode, -signal.SIGKILL)
            self.age_all()
        daemon = self.daemon(text, name="last")
        self.wait_settled(daemon)
        daemon.terminate()
        begun = self.begun()
        self.assertEqual(begun["5-0"], [2, 3, 4, 5])
        # an attempt of somebody else may have been in the very act; nothing else was charged
        for entry_id in ids[5:]:
            self.assertEqual(begun[entry_id][0], 2, entry_id)
        self.assertEqual(set(self.done()), set(ids))

    # --- the server and the link ---------------------------------------------------------------

    def test_server_killed_stopped_restarted(self):
        self.redis.stop()
        self.redis = self.server("--appendonly", "yes", "--appendfsync", "always", name="aof")
        self.r = self.client(self.redis)
        ids = strand(self.r, 300)
        daemon = self.daemon(config(self.redis.url, {
            "orders": recovery(self.logging_handler(), concurrency=2, **FAST)},
            redis=RECONNECT + "command_timeout = 250ms\n"))
        daemon.wait_count(20, OUTCOME="ok")
        self.redis.kill()
        daemon.notify.wait_status("waiting (redis")
        self.redis.start()
        self.r = self.client(self.redis)
        daemon.wait_count(60, OUTCOME="ok")
        self.redis.signal(signal.SIGSTOP)
        daemon.notify.wait_for(lambda m: "timed out" in m.get("STATUS", "")
                               or "no answer" in m.get("STATUS", "")
                               or "within" in m.get("STATUS", ""))
        self.redis.signal(signal.SIGCONT)
        daemon.wait_count(100, OUTCOME="ok")
        self.redis.kill()
        self.redis.start()
        self.r = self.client(self.redis)
        self.wait_settled(daemon, seconds=4 * harness.DEADLINE)
        self.assertEqual(daemon.terminate(), 0)
        self.nothing_lost(ids)

    def test_cut_at_every_byte(self):
        """The connection ends after each byte of each reply of one whole cycle. Every CUT_STEP-th
        byte here; CUT_STEP=1 tries them all."""
        step = int(os.environ.get("CUT_STEP", "16"))
        whole = self.cycle_bytes()
        offsets = queue.Queue()
        for n in range(0, whole + 1, step):
            offsets.put(n)
        problems = []

        def work():
            while True:
                try:
                    n = offsets.get_nowait()
                except queue.Empty:
                    return
                try:
                    self.cut_after(n)
                except Exception as problem:  # noqa: BLE001
                    problems.append(f"after {n} bytes: {problem!r}")

        threads = [threading.Thread(target=work) for _ in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(problems, [])
        print(f"# cut after each {step}. of {whole} bytes")

    def one_cycle(self, name, url, work):
        """A daemon on a stream of its own with three entries; returns it and its log."""
        with self.redis.client() as client:
            ids = strand(client, 3, stream=name)
        log = self.path(name + ".log")
        open(log, "w").close()
        handler = self.handler(LOGGING.format(log=log, work=work), name + ".handler")
        daemon = Daemon(self.dir, config(url, {"orders": recovery(handler, stream=name, **FAST)},
                                         redis=RECONNECT), name=name)
        return daemon, log, ids

    def cycle_bytes(self):
        """How many bytes the server sends until it has answered the XACK of one cycle."""
        wire = Proxy(self.dir, f"unix:{self.redis.path}", name="whole")
        daemon, _, _ = self.one_cycle("whole", wire.url, ":")
        try:
            daemon.wait_pass(PASS_ACKED="3")
            exchanges = wire.exchanges()
            last = max(i for i, e in enumerate(exchanges) if e.name == "XACK")
            return sum(len(e.raw_reply) for e in exchanges[: last + 1])
        finally:
            daemon.stop()
            wire.stop()

    def cut_after(self, n):
        name = f"cut{n}"
        wire = Proxy(self.dir, f"unix:{self.redis.path}", name=name)
        wire(f"cut-down {n}")
        daemon, log, ids = self.one_cycle(name, wire.url, ":")
        try:
            with self.redis.client() as client:
                daemon.journal.wait_until(lambda _: pending_count(client, name) == 0,
                                          harness.DEADLINE)
            status = daemon.terminate()
            with open(log) as file:
                lines = [line.split() for line in file]
            done = [i for i, word in lines if word == "done"]
            begun = [int(word) for i, word in lines if word != "done"]
            assert status == 0, status
            assert set(done) == set(ids), (done, daemon.stderr())
            assert max(begun) <= 3 and min(begun) >= 2, begun
            # never handled again while the daemon knows that it has succeeded
            assert len(done) == len(ids), lines
            errors = daemon.stderr()
            assert "Sanitizer" not in errors and "runtime error" not in errors, errors
        finally:
            daemon.stop()
            wire.stop()

    # --- many daemons ---------------------------------------------------------------------------

    def test_three_daemons_handle_each_entry_once(self):
        n = int(os.environ.get("MANY", "2000"))
        ids = strand(self.r, n)
        handler = self.logging_handler("sleep 0.05")
        daemons = [self.daemon(config(self.redis.url, {
            "orders": recovery(handler, consumer=f"d{i}", concurrency=16, claim_ahead=16,
                               min_idle="10s", interval="100ms")}), name=f"d{i}", level="info")
            for i in range(3)]
        for daemon in daemons:
            daemon.wait_ready()
        self.wait_all_settled(daemons)
        for daemon in daemons:
            self.assertEqual(daemon.terminate(), 0)
        self.assertEqual(len(self.done()), n)
        self.assertEqual(set(self.done()), set(ids))
        self.assertEqual(set(map(tuple, self.begun().values())), {(2,)})
        shares = [sum(int(r.first("PASS_ACKED", "0")) for r in d.journal.records())
                  for d in daemons]
        self.assertEqual(sum(shares), n)
        print(f"# {n} entries, shared {shares}")

    def wait_all_settled(self, daemons):
        """Each daemon's journal wakes the look; the last one to say something sees the end."""
        settled = threading.Event()
        threads = []

        def watch(daemon):
            daemon.journal.wait_until(lambda _: settled.is_set() or self.look(settled),
                                      10 * harness.DEADLINE)

        self.lock = threading.Lock()
        for daemon in daemons:
            threads.append(threading.Thread(target=watch, args=(daemon,), daemon=True))
            threads[-1].start()
        self.assertTrue(settled.wait(10 * harness.DEADLINE))

    def look(self, settled):
        with self.lock, self.redis.client() as client:
            if pending_count(client) == 0:
                settled.set()
        return settled.is_set()

    def test_long_handlers_are_not_handed_twice(self):
        ids = strand(self.r, 8)
        handler = self.logging_handler("sleep 3")
        daemons = [self.daemon(config(self.redis.url, {
            "orders": recovery(handler, consumer=f"d{i}", concurrency=4, **FAST)}), name=f"d{i}")
            for i in range(2)]
        self.wait_all_settled(daemons)
        for daemon in daemons:
            self.assertEqual(daemon.terminate(), 0)
        self.assertEqual(sorted(self.done()), sorted(ids))
        self.assertEqual(set(map(tuple, self.begun().values())), {(2,)})

    def test_a_stopped_daemon_wakes_up(self):
        """While it was stopped another one took over. It hands out nothing that it lost, takes
        nothing back, lowers no counter."""
        ids = strand(self.r, 6)
        gate = self.gate()
        first = self.handler(LOGGING.format(log=self.log, work=gate.wait), "first")
        second = self.handler(LOGGING.format(log=self.log, work=":"), "second")
        one = self.daemon(config(self.redis.url, {
            "orders": recovery(first, consumer="one", concurrency=2, claim_ahead=4, **FAST)}),
            name="one")
        one.wait_count(2, DELIVERIES="2")
        one.process.send_signal(signal.SIGSTOP)
        two = self.daemon(config(self.redis.url, {
            "orders": recovery(second, consumer="two", concurrency=2, claim_ahead=4, **FAST)}),
            name="two")
        self.wait_settled(two)
        self.assertEqual(set(map(tuple, self.begun().values())) - {(2,)}, {(2, 3)})
        one.process.send_signal(signal.SIGCONT)
        # all six are told to be lost; the two handlers that were running end for nothing
        one.journal.wait_until(
            lambda rs: len({r.first("ENTRY_ID") for r in rs
                            if r.priority == 4 and "ENTRY_ID" in r}) == 6, harness.DEADLINE)
        gate.open(2)
        one.wait_count(2, OUTCOME="ok")
        self.assertEqual(one.terminate(), 0)
        two.terminate()
        self.assertEqual({len(self.begun()[i]) for i in ids[:2]}, {2})
        self.assertEqual({len(self.begun()[i]) for i in ids[2:]}, {1})
        self.assertEqual(sum(int(r.first("PASS_ACKED", "0")) for r in one.journal.records()), 0)
        self.assertEqual(sum(int(r.first("PASS_ACKED", "0")) for r in two.journal.records()), 6)

    def test_a_stopped_daemon_takes_nothing_back(self):
        """As before, but the other one still handles when the first one wakes up."""
        ids = strand(self.r, 4)
        gate, other = self.gate(), self.gate("other")
        one = self.daemon(config(self.redis.url, {
            "orders": recovery(self.logging_handler(gate.wait, "first"), consumer="one",
                               concurrency=1, claim_ahead=3, **FAST)}), name="one")
        one.wait_count(1, DELIVERIES="2")
        one.process.send_signal(signal.SIGSTOP)
        two = self.daemon(config(self.redis.url, {
            "orders": recovery(self.logging_handler(other.wait, "second"), consumer="two",
                               concurrency=4, **FAST)}), name="two")
        two.journal.wait_until(
            lambda rs: sum("DELIVERIES" in r and r.priority == 7 for r in rs) == 4,
            harness.DEADLINE)
        before = {i: (p[0], p[2]) for i, p in pending(self.r).items()}
        self.assertEqual(before, {"1-0": ("two", 3), "2-0": ("two", 2), "3-0": ("two", 2),
                                  "4-0": ("two", 2)})
        one.process.send_signal(signal.SIGCONT)
        one.journal.wait_until(
            lambda rs: len({r.first("ENTRY_ID") for r in rs
                            if r.priority == 4 and "ENTRY_ID" in r}) == 4, harness.DEADLINE)
        gate.open()
        one.wait_count(1, OUTCOME="ok")
        one.wait_count(20, PASS_CLAIMED="0")
        self.assertEqual({i: (p[0], p[2]) for i, p in pending(self.r).items()
                          if i != "1-0"}, {i: c for i, c in before.items() if i != "1-0"})
        self.assertEqual(sum(map(len, self.begun().values())), 5)
        other.open(4)
        self.wait_settled(two)
        one.terminate()
        two.terminate()

    # --- drain ------------------------------------------------------------------------------------

    def test_drain(self):
        """100 held, 4 running: those finish and are acknowledged, the others can be had at once,
        uncharged."""
        strand(self.r, 100)
        gate = self.gate()
        daemon = self.daemon(config(self.redis.url, {
            "orders": recovery(self.logging_handler(gate.wait), concurrency=4,
                               claim_ahead=96, min_idle="60s")}, daemon="drain_timeout = 20s\n"))
        daemon.wait_count(4, DELIVERIES="2")
        daemon.process.send_signal(signal.SIGTERM)
        daemon.journal.wait_until(
            lambda _: sum(i[1] > 10 ** 10 for i in pending(self.r).values()) == 96,
            harness.DEADLINE)
        others = {i: p for i, p in pending(self.r).items() if p[2] == 1}
        self.assertEqual(len(others), 96)
        claimed = self.r("XAUTOCLAIM", STREAM, GROUP, "another", 3600000, "0-0", "COUNT", 200,
                         "JUSTID")
        self.assertEqual(len(claimed[1]), 96)
        self.assertIsNone(daemon.process.poll())
        gate.open(4)
        self.assertEqual(daemon.process.wait(harness.DEADLINE), 0)
        left = pending(self.r)
        self.assertEqual(len(left), 96)
        self.assertEqual({(p[0], p[2]) for p in left.values()}, {("another", 1)})
        self.assertEqual(len(self.done()), 4)

    def test_drain_is_cut_short(self):
        """Handlers that need longer than drain_timeout are ended; their entries stay pending."""
        strand(self.r, 10)
        daemon = self.daemon(config(self.redis.url, {
            "orders": recovery(self.logging_handler("exec sleep 600"), concurrency=4,
                               min_idle="60s")}, daemon="drain_timeout = 200ms\n"))
        daemon.wait_count(4, DELIVERIES="2")
        self.assertEqual(daemon.terminate(), 0)
        self.assertEqual(pending_count(self.r), 10)
        self.assertEqual(sorted(p[2] for p in pending(self.r).values()), [1] * 6 + [2] * 4)
        self.assertEqual(self.done(), [])

    def test_a_second_signal_skips_the_wait(self):
        strand(self.r, 4)
        work = "trap '' TERM; while :; do sleep 600 & wait; done"
        daemon = self.daemon(config(self.redis.url, {
            "orders": recovery(self.logging_handler(work), concurrency=2, min_idle="60s")},
            daemon="drain_timeout = 600s\n"))
        daemon.wait_count(2, DELIVERIES="2")
        daemon.process.send_signal(signal.SIGTERM)
        daemon.notify.wait_for(lambda m: m.get("STOPPING") == "1")
        daemon.process.send_signal(signal.SIGTERM)
        self.assertEqual(daemon.process.wait(harness.DEADLINE), 0)
        self.assertEqual(pending_count(self.r), 4)

    def test_drain_with_the_server_away(self):
        strand(self.r, 4)
        daemon = self.daemon(config(self.redis.url, {
            "orders": recovery(self.logging_handler("exec sleep 600"), concurrency=2,
                               min_idle="60s")}, daemon="drain_timeout = 300ms\n"))
        daemon.wait_count(2, DELIVERIES="2")
        self.redis.kill()
        daemon.notify.wait_status("waiting (redis")
        self.assertEqual(daemon.terminate(), 0)

    def test_drain_with_a_server_that_does_not_answer(self):
        """A result that cannot be acknowledged holds up the end only for a while."""
        strand(self.r, 2)
        gate = self.gate()
        daemon = self.daemon(config(self.redis.url, {
            "orders": recovery(self.logging_handler(gate.wait), concurrency=2, min_idle="3600s")},
            redis="command_timeout = 600s\n", daemon="drain_timeout = 100ms\n"))
        daemon.wait_count(2, DELIVERIES="2")
        self.redis.signal(signal.SIGSTOP)
        gate.open(2)
        daemon.wait_count(2, OUTCOME="ok")
        self.assertEqual(daemon.terminate(), 0)
        self.redis.signal(signal.SIGCONT)

    # --- attempts that do not begin -----------------------------------------------------------------

    def test_wrong_command(self):
        """100 stranded entries and a program that is not there: no counter moves, the state says
        so, and all are recovered once it is there and the next interval comes."""
        ids = strand(self.r, 100)
        path = self.path("program")
        daemon = self.daemon(config(self.redis.url, {
            "orders": recovery(path, min_idle="60s", interval="100ms")}))
        record = daemon.journal.wait_for(
            lambda r: r.first("STATE") == "waiting" and r.priority <= 4, harness.DEADLINE)
        self.assertIn("cannot start", record.message)
        daemon.notify.wait_status("1 waiting (orders: cannot start")
        daemon.wait_count(3, PASS_RELEASED="1")
        self.assertEqual({p[2] for p in pending(self.r).values()}, {1})
        self.assertEqual(pending_count(self.r), 100)
        news = [r for r in daemon.records(RECOVERY="orders") if r.priority <= 6]
        self.assertLessEqual(len(news), 2, [r.message for r in news])
        self.handler(LOGGING.format(log=self.log, work=":"), "program")
        self.wait_settled(daemon, seconds=2 * harness.DEADLINE)
        daemon.terminate()
        self.nothing_lost(ids)
        self.assertEqual(set(map(tuple, self.begun().values())), {(2,)})

    # --- counters ------------------------------------------------------------------------------------

    def test_counters_are_where_they_must_be(self):
        """After three failed attempts the counter is 4: on the primary, on a replica, and when
        the AOF is read again."""
        self.redis.stop()
        self.redis = self.server("--appendonly", "yes", "--appendfsync", "always", name="aof",
                                 tcp=True)
        self.r = self.client(self.redis)
        replica = self.server("--replicaof", "127.0.0.1", str(self.redis.port), name="replica")
        strand(self.r, 2)
        handler = self.handler(f'echo "$XAUTOCLAIMD_ID $XAUTOCLAIMD_DELIVERIES" >>{self.log}\n'
                               "exit 1\n")
        daemon = self.daemon(config(self.redis.url, {"orders": recovery(handler, **FAST)}))
        for attempt in range(1, 4):
            daemon.wait_count(2 * attempt, OUTCOME="retry")
            if attempt < 3:
                self.age_all()
        daemon.terminate()
        self.assertEqual({p[2] for p in pending(self.r).values()}, {4})
        self.assertEqual(list(self.begun().values()), [[2, 3, 4], [2, 3, 4]])
        self.assertEqual(self.r("WAIT", 1, 10000), 1)
        self.assertEqual({p[2] for p in pending(self.client(replica)).values()}, {4})
        self.redis.kill()
        self.redis.start()
        self.assertEqual({p[2] for p in pending(self.client(self.redis)).values()}, {4})

    def test_renewals_and_releases_count_nothing(self):
        strand(self.r, 3)
        gate = self.gate()
        keys = dict(FAST, concurrency=1, claim_ahead=2)
        for life in range(10):
            daemon = self.daemon(config(self.redis.url, {
                "orders": recovery(self.logging_handler(gate.wait), **keys)},
                daemon="drain_timeout = 100ms\n"), name=f"life{life}")
            daemon.wait_record(DELIVERIES=str(2 + life))
            if life == 0:
                daemon.wait_count(50, ENTRIES="3", seconds=3 * harness.DEADLINE)  # renewals
            self.assertEqual(daemon.terminate(), 0)
            counts = {i: p[2] for i, p in pending(self.r).items()}
            self.assertEqual(counts, {"1-0": 2 + life, "2-0": 1, "3-0": 1})
            if life < 9:
                self.r("XCLAIM", STREAM, GROUP, "ghost", 0, "1-0", "IDLE", 10 ** 6, "JUSTID")


if __name__ == "__main__":
    harness.main()
