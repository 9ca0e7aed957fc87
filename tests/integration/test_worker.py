#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Handlers that stay, end to end: one suite for worker and for socket. What comes of every way in
which the other side can answer, keep silent, break the protocol or go; and that none of it costs
an entry, or others their time."""

import hashlib
import json
import os
import signal
import subprocess
import sys
import threading
import unittest

import harness
from harness import Test, config, free_port, pending, pending_count, recovery, strand, write
from resp import encode

TALKER = os.path.join(os.path.dirname(os.path.abspath(harness.__file__)), "talker.py")


class Kind:
    """What both kinds are tested for. talk() gives the keys of a recovery whose handlers behave
    so."""

    def setUp(self):
        super().setUp()
        self.redis = self.server()
        self.r = self.client(self.redis)

    def prepare(self, name):
        path = self.path("talk-" + name)
        os.mkdir(path)
        os.mkfifo(os.path.join(path, "gate"))
        self.gate_fd = os.open(os.path.join(path, "gate"), os.O_RDWR)
        self.addCleanup(os.close, self.gate_fd)
        return path

    def requests(self, name="a"):
        """The lines that its handlers have left: (first word, second word)."""
        try:
            with open(self.path(f"talk-{name}/requests")) as file:
                return [tuple(line.split()) for line in file]
        except FileNotFoundError:
            return []

    def wait_requests(self, daemon, count, name="a"):
        """Until so many requests have come; each begins with a record of the daemon's."""
        import time
        deadline = time.monotonic() + harness.DEADLINE
        while len(self.requests(name)) < count:
            self.assertLess(time.monotonic(), deadline, self.requests(name))
            os.sched_yield()
        return self.requests(name)

    def open_gate(self, n=1):
        os.write(self.gate_fd, b"." * n)

    def start(self, behaviour, entries=1, body=None, name="a", daemon="", level="debug", **keys):
        strand(self.r, entries, body=body)
        keys = {"interval": "1s", **self.talk(behaviour, name, keys.get("payload", "json")), **keys}
        return self.daemon(config(self.redis.url, {"a": recovery("", **keys)}, daemon=daemon),
                           level=level).wait_ready()

    def outcome(self, daemon, entry="1-0", **fields):
        return daemon.wait_record(RECOVERY="a", ENTRY_ID=entry, **fields)

    def fails(self, behaviour, reason, entries=1, **keys):
        """The first attempt at 1-0 ends with retry, for this reason; nothing is acknowledged."""
        daemon = self.start(behaviour, entries, **{"retry_delay": "1h", "retry_delay_max": "1h", **keys})
        record = self.outcome(daemon, OUTCOME="retry")
        self.assertEqual(record.first("REASON"), reason.replace("NOUN", self.noun))
        self.assertEqual(pending(self.r)["1-0"][2], 2)
        return daemon

    def ended(self, daemon, reason):
        return daemon.wait_record(RECOVERY="a", REASON=reason.replace("NOUN", self.noun),
                                  MESSAGE_ID=WORKER_ENDED)

    def finishes(self, daemon):
        """It ends by SIGTERM, with nothing of its own left."""
        self.assertEqual(daemon.terminate(), 0)
        self.assertEqual(self.children(daemon), [])

    def children(self, daemon):
        found = []
        for pid in filter(str.isdigit, os.listdir("/proc")):
            try:
                with open(f"/proc/{pid}/cmdline", "rb") as file:
                    words = file.read().split(b"\0")
                if TALKER.encode() in words and b"worker" in words and self.dir.encode() in b" ".join(words):
                    found.append(int(pid))
            except OSError:
                pass
        return found

    # --- answers

    def test_ok(self):
        daemon = self.start("ok", 1000)
        daemon.wait_pass(PASS_OK=1000, PASS_ACKED=1000)
        self.assertEqual(pending_count(self.r), 0)
        self.assertEqual(sorted(e for e, _ in self.requests()), sorted(f"{i}-0" for i in range(1, 1001)))
        self.assertLessEqual(len({who for _, who in self.requests()}), 4)
        self.finishes(daemon)

    def test_retry(self):
        daemon = self.start("retry", 2, retry_delay="100ms", max_deliveries=3)
        records = daemon.wait_count(4, OUTCOME="retry")
        self.assertEqual({r.first("REASON") for r in records}, {"the bank is closed"})
        daemon.wait_count(2, OUTCOME="exhausted")
        self.assertEqual({p[2] for p in pending(self.r).values()}, {3})
        self.finishes(daemon)

    def test_retry_without_a_reason(self):
        self.fails("bare-retry", "answered retry")

    def test_reject(self):
        daemon = self.start("reject", dead_letter_stream="dead")
        record = self.outcome(daemon, OUTCOME="reject")
        self.assertEqual(record.first("REASON"), "not an order")
        daemon.wait_pass(PASS_DEAD_LETTERED=1)
        letter = self.r("XRANGE", "dead", "-", "+")[0][1]
        self.assertIn(b"not an order", letter)
        self.assertEqual(pending_count(self.r), 0)

    def test_reasons_are_a_handlers_own_words(self):
        daemon = self.fails("retry", "answered retry", handler_output="none")
        self.assertFalse([r for r in daemon.journal.records() if "bank" in r.message])

    def test_working(self):
        daemon = self.start("working", handler_timeout="1s")
        record = self.outcome(daemon, OUTCOME="ok")
        self.assertGreater(int(record.first("DURATION_USEC")), 2_000_000)
        daemon.wait_pass(PASS_ACKED=1)

    def test_many_in_flight_on_one(self):
        daemon = self.start("backwards", 640, concurrency=64, workers=1)
        daemon.wait_pass(PASS_OK=640, PASS_ACKED=640)
        self.assertEqual(len({who for _, who in self.requests()}), 1)
        self.finishes(daemon)

    def test_shares(self):
        """5 over 2: at most 3 on each."""
        daemon = self.start("silent", 10, concurrency=5, workers=2)
        daemon.wait_count(5, MESSAGE_ID=ATTEMPT_BEGUN)
        requests = self.wait_requests(daemon, 5)
        count = sorted(sum(who == w for _, who in requests) for w in {w for _, w in requests})
        self.assertEqual(count, [2, 3])

    # --- what breaks it

    def test_crash(self):
        daemon = self.start("crash", 2, concurrency=1, retry_delay="100ms")
        record = self.outcome(daemon, "2-0", OUTCOME="retry")
        self.assertEqual(record.first("REASON"), self.crashed)
        self.ended(daemon, self.crashed)
        # the next one answers it, as its first
        daemon.wait_record(ENTRY_ID="2-0", OUTCOME="ok")
        self.finishes(daemon)

    def test_crash_at_once(self):
        """It is not fed the whole stream: one entry, then a wait, then one more."""
        daemon = self.start("crash-at-once", 100, concurrency=16, workers=4, claim_ahead=0,
                            retry_delay="1h", retry_delay_max="1h")
        first = daemon.wait_record(MESSAGE_ID=RECOVERY_DOWN)
        self.assertEqual(first.first("REASON").partition(": mend")[0].partition(": start")[0],
                         self.crashed)
        charged = [p for p in pending(self.r).values() if p[2] > 1]
        self.assertLessEqual(len(charged), 16)
        daemon.wait_count(2, MESSAGE_ID=RECOVERY_DOWN)
        daemon.wait_count(3, MESSAGE_ID=RECOVERY_DOWN)
        self.assertLessEqual(len([p for p in pending(self.r).values() if p[2] > 1]), len(charged) + 2)
        self.finishes(daemon)

    def test_half_an_answer(self):
        self.fails("half-an-answer", self.crashed)

    def test_silence(self):
        daemon = self.fails("silent", "timed out after 1s", handler_timeout="1s")
        self.ended(daemon, "the NOUN was ended: an entry timed out after 1s")

    def test_silence_takes_the_others_with_it(self):
        daemon = self.start("silent", 3, handler_timeout="2s", retry_delay="1h",
                            retry_delay_max="1h", concurrency=3, workers=1)
        records = daemon.wait_count(3, OUTCOME="retry")
        self.assertIn("timed out after 2s", {r.first("REASON") for r in records})
        self.finishes(daemon)

    def test_late_answers(self):
        """After the time-out, whatever it says."""
        self.fails("late", "timed out after 1s", handler_timeout="1s")

    def test_deaf(self):
        """Not handed out again while the first one may be at work on it."""
        daemon = self.start("deaf", handler_timeout="1s", retry_delay="100ms", concurrency=1)
        self.outcome(daemon, OUTCOME="retry")
        requests = self.wait_requests(daemon, 2 if self.noun == "worker" else 3)
        if self.noun == "worker":
            self.assertEqual([e for e, _ in requests], ["1-0", "1-0"])
            self.assertNotEqual(requests[0][1], requests[1][1])
        daemon.kill()

    def test_nonsense(self):
        daemon = self.fails("nonsense", "the NOUN was ended: it wrote something that is no answer")
        self.ended(daemon, "the NOUN was ended: it wrote something that is no answer")

    def test_nothing_counts_after_nonsense(self):
        self.fails("nonsense-after", "the NOUN was ended: it wrote something that is no answer")

    def test_overlong(self):
        self.fails("overlong", "the NOUN was ended: it wrote a line of more than 4096 bytes")

    def test_foreign(self):
        self.fails("foreign",
                   "the NOUN was ended: it answered for an entry that it has not been given")

    def test_early(self):
        self.fails("early",
                   "the NOUN was ended: it answered for an entry that it has not been given",
                   entries=2, concurrency=1, max_deliveries=2)
        self.assertIn("2-0", pending(self.r))

    def test_before_it_is_given(self):
        """64 KiB have gone, the rest has not."""
        self.fails("before-it-is-given",
                   "the NOUN was ended: it answered for an entry that it has not been given",
                   body=("n", b"x" * (8 << 20)))

    def test_other(self):
        daemon = self.start("other", 2, concurrency=2, retry_delay="1h", retry_delay_max="1h")
        self.wait_requests(daemon, 2)
        self.open_gate(2)
        records = daemon.wait_count(2, OUTCOME="retry")
        self.assertEqual({r.first("REASON") for r in records},
                         {f"the {self.noun} was ended: it answered for an entry that it has not "
                          "been given"})
        self.assertEqual(pending_count(self.r), 2)

    def test_closes_output(self):
        self.fails("closes-output", self.left)

    def test_closes_input(self):
        """What it had answered by then counts; what it did not read was no attempt."""
        daemon = self.start("closes-input", 2, concurrency=1, retry_delay="1h",
                            retry_delay_max="1h")
        self.outcome(daemon, OUTCOME="ok")
        second = self.outcome(daemon, "2-0", OUTCOME="ok")
        self.assertEqual(second.first("DELIVERIES"), "2")
        self.assertEqual(daemon.records(OUTCOME="retry"), [])

    def test_reads_nothing_and_ends(self):
        """A program that cannot work at all, such as one with a missing module, costs no entry an
        attempt, and buries none."""
        daemon = self.start("reads-nothing-and-ends", 20, max_deliveries=3,
                            dead_letter_stream="dead")
        daemon.wait_count(7, MESSAGE_ID=WORKER_ENDED)
        self.assertEqual(daemon.terminate(), 0)
        self.assertEqual({p[2] for p in pending(self.r).values()}, {1})
        self.assertEqual(daemon.records(OUTCOME="retry"), [])
        self.assertEqual(self.r("XLEN", "dead"), 0)

    # --- what it costs others

    def never_blocked(self, done, *arguments, **keys):
        """The machine may be busy: the best of three runs counts, as the daemon itself can only
        make it worse."""
        turns = []
        for run in range(8):
            name = f"run{run}"
            self.r("DEL", "orders")
            strand(self.r, keys.get("entries", 1), body=keys.get("body"))
            settings = {"interval": "1s", "retry_delay": "1h", "retry_delay_max": "1h",
                        **self.talk(arguments[0], name, "json"), **keys.get("keys", {})}
            daemon = self.daemon(config(self.redis.url, {"a": recovery("", **settings)}), name=name,
                                 level="info")
            done(daemon)
            self.assertEqual(daemon.terminate(), 0)
            record = daemon.wait_record(MESSAGE_ID=STOPPED)
            turns.append(int(record.first("LOOP_LONGEST_TURN_USEC")) / 1e6)
            if turns[-1] < LIMIT:
                break
        print(f"# longest turns of the loop: {turns}")
        self.assertLess(min(turns), LIMIT)

    def test_reads_nothing(self):
        """64 MiB wait for it, two seconds, or $LONG of them."""
        seconds = int(os.environ.get("LONG", "2"))

        def done(daemon):
            record = daemon.wait_record(OUTCOME="retry", seconds=seconds + harness.DEADLINE)
            self.assertRegex(record.first("REASON"),
                             rf"^(the {self.noun} was ended: an entry )?timed out after \d+[sm]$")
        self.never_blocked(done, "reads-nothing", entries=64, body=("n", b"x" * (1 << 20)),
                           keys={"concurrency": 64, "workers": 1,
                                 "handler_timeout": f"{seconds}s"})

    def test_floods(self):
        self.never_blocked(lambda daemon: daemon.wait_pass(PASS_OK=1, PASS_ACKED=1), "floods")

    def test_writes_before_it_reads(self):
        def done(daemon):
            record = daemon.wait_record(OUTCOME="retry")
            self.assertEqual(record.first("REASON"),
                             f"the {self.noun} was ended: it wrote something that is no answer")
        self.never_blocked(done, "writes-before-it-reads")

    # --- the daemon's end, the server's end

    def test_drain(self):
        """What is in flight is waited for; the others are given back."""
        daemon = self.start("waits", 10, concurrency=1, claim_ahead=4)
        self.wait_requests(daemon, 1)
        daemon.process.send_signal(signal.SIGTERM)
        daemon.notify.wait_for(lambda m: m.get("STOPPING") == "1")
        self.open_gate()
        self.assertEqual(daemon.process.wait(harness.DEADLINE), 0)
        self.assertEqual(self.children(daemon), [])
        left = pending(self.r)
        self.assertEqual(len(left), 9)
        self.assertEqual({p[2] for p in left.values()}, {1})

    def test_drain_is_cut_short(self):
        daemon = self.start("silent", 2, concurrency=2, daemon="drain_timeout = 1s")
        self.wait_requests(daemon, 2)
        self.assertEqual(daemon.terminate(), 0)
        self.assertEqual(self.children(daemon), [])
        records = daemon.wait_count(2, OUTCOME="retry")
        self.assertTrue(all(r.first("REASON").startswith("stopped: ") for r in records))
        self.assertEqual(pending_count(self.r), 2)

    def test_second_signal(self):
        daemon = self.start("deaf", 2, concurrency=2)
        self.wait_requests(daemon, 2)
        daemon.process.send_signal(signal.SIGTERM)
        daemon.notify.wait_for(lambda m: m.get("STOPPING") == "1")
        self.assertEqual(daemon.terminate(seconds=4), 0)
        self.assertEqual(self.children(daemon), [])

    def test_killed(self):
        daemon = self.start("silent", 1)
        self.wait_requests(daemon, 1)
        daemon.kill()
        self.gone_after_a_kill(daemon)
        self.assertEqual(pending(self.r)["1-0"][2], 2)

    def test_server_restart(self):
        """The result is kept and acknowledged when the server is there again."""
        self.redis.stop()
        self.redis.options += ["--appendonly", "yes", "--appendfsync", "always"]
        self.redis.start()
        self.r = self.client(self.redis)
        daemon = self.start("waits", 1, concurrency=1)
        self.wait_requests(daemon, 1)
        self.redis.kill()
        daemon.wait_record(MESSAGE_ID=LINK_DOWN)
        self.open_gate()
        daemon.wait_record(ENTRY_ID="1-0", OUTCOME="ok")
        self.redis.start()
        daemon.wait_pass(PASS_ACKED=1)
        self.assertEqual(pending_count(self.client(self.redis)), 0)
        self.assertEqual(len(self.requests()), 1)
        self.finishes(daemon)

    def test_once(self):
        strand(self.r, 100)
        keys = self.talk("ok", "a", "json")
        daemon = self.daemon(config(self.redis.url, {"a": recovery("", **keys)}), "--once")
        self.assertEqual(daemon.process.wait(harness.DEADLINE), 0)
        self.assertEqual(pending_count(self.r), 0)
        self.assertEqual(self.children(daemon), [])

    # --- payloads

    def payload_of(self, kind, entry, strings):
        if kind == "id":
            return f"{entry}\n".encode()
        if kind == "resp":
            return b"*2\r\n" + self.bulk(entry.encode()) + b"*%d\r\n" % len(strings) + b"".join(
                self.bulk(s) for s in strings)
        texts = [s.decode() for s in strings]
        fields = [list(pair) for pair in zip(texts[::2], texts[1::2])]
        return json.dumps({"recovery": "a", "stream": "orders", "group": "workers", "id": entry,
                           "deliveries": 2, "fields": fields}, separators=(",", ":"),
                          ensure_ascii=False).encode() + b"\n"

    def bulk(self, data):
        return b"$%d\r\n%s\r\n" % (len(data), data)

    def payloads(self, kind):
        bodies = [[b"n", b""], [b"", b""], [b"a b", b"\xc3\xbc\r\n$5"],
                  [s for i in range(10000) for s in (b"f%d" % i, b"v")],
                  [b"n", b"x" * (1 << 20)], [b"n", b"y" * (64 << 20)]]
        daemon = self.start("keeps", 0, payload=kind, concurrency=3, workers=1, interval="100ms",
                            level="info")
        for i, strings in enumerate(bodies):
            self.r("XADD", "orders", f"{i + 1}-0", *strings)
        ids = [f"{i + 1}-0" for i in range(len(bodies))]
        self.r("XCLAIM", "orders", "workers", "dead", 0, *ids, "IDLE", 3600000, "RETRYCOUNT", 1,
               "FORCE", "JUSTID")
        daemon.journal.wait_until(
            lambda rs: sum(int(r.first("PASS_OK") or 0) for r in rs) == len(bodies) or None,
            harness.DEADLINE)
        for entry, strings in zip(ids, bodies):
            with open(self.path("talk-a/" + entry)) as file:
                self.assertEqual(file.read(),
                                 hashlib.sha256(self.payload_of(kind, entry, strings)).hexdigest(),
                                 entry)

    def test_payload_json(self):
        self.payloads("json")

    def test_payload_resp(self):
        self.payloads("resp")

    def test_payload_id(self):
        self.payloads("id")


class Worker(Kind, Test):
    noun = "worker"
    crashed = "the worker ended: exit status 3"
    left = "the worker ended: exit status 0"

    def talk(self, behaviour, name, payload):
        words = " ".join([sys.executable, TALKER, "worker", self.prepare(name), payload, behaviour])
        return {"handler": "worker", "command": words}

    def gone_after_a_kill(self, daemon):
        import time
        deadline = time.monotonic() + harness.DEADLINE
        while self.children(daemon):
            self.assertLess(time.monotonic(), deadline)

    def test_idle_workers_are_asked_politely(self):
        daemon = self.start("ok", 1)
        daemon.wait_pass(PASS_ACKED=1)
        self.finishes(daemon)
        self.assertEqual(self.requests()[-1][0], "eof")
        self.assertEqual(daemon.records(MESSAGE_ID=WORKER_ENDED), [])

    def test_a_worker_that_will_not_leave(self):
        daemon = self.start("deaf", 1, concurrency=1, handler_timeout="1h",
                            daemon="drain_timeout = 100ms")
        self.wait_requests(daemon, 1)
        self.assertEqual(daemon.terminate(), 0)
        self.assertEqual(self.children(daemon), [])

    def test_what_it_is_started_with(self):
        daemon = self.start("shows", 3, concurrency=1)
        daemon.wait_pass(PASS_ACKED=3)
        with open(self.path("talk-a/environment")) as file:
            environment = json.load(file)
        ours = {k: v for k, v in environment.items() if k.startswith("XAUTOCLAIMD_")}
        self.assertEqual({k: ours.get("XAUTOCLAIMD_" + k) for k in ("RECOVERY", "STREAM", "GROUP", "CONSUMER")},
                         {"RECOVERY": "a", "STREAM": "orders", "GROUP": "workers",
                          "CONSUMER": "recoverer"})
        self.assertNotIn("XAUTOCLAIMD_ID", environment)
        self.assertNotIn("XAUTOCLAIMD_DELIVERIES", environment)
        self.assertNotIn("NOTIFY_SOCKET", environment)

    def test_its_standard_error_is_logged(self):
        daemon = self.start("shows", 1, concurrency=1)
        record = daemon.wait_record(MESSAGE_ID=WORKER_OUTPUT)
        self.assertEqual(record.message, f"a: {record.first('WORKER')}: stderr: hello from the worker")
        self.assertRegex(record.first("WORKER"), r"^worker \d+$")
        self.assertIsNone(record.first("ENTRY_ID"))
        self.assertEqual(daemon.terminate(), 0)
        dropped = daemon.wait_record(MESSAGE_ID=WORKER_DROPPED)
        self.assertEqual(dropped.first("HANDLER_OUTPUT_DROPPED"), str(3000 - 1024))

    def test_a_program_that_is_not_there_yet(self):
        """Nothing is charged, and work begins soon after it is there, not at the next interval alone."""
        strand(self.r, 10)
        path = self.path("late")
        keys = {"handler": "worker", "command": path, "interval": "30s"}
        daemon = self.daemon(config(self.redis.url, {"a": recovery("", **keys)})).wait_ready()
        record = daemon.wait_record(MESSAGE_ID=RECOVERY_DOWN)
        self.assertIn(f"cannot start {path}: No such file or directory", record.message)
        self.assertEqual({p[2] for p in pending(self.r).values()}, {1})
        self.prepare("a")
        write(path, f"#!/bin/sh\nexec {sys.executable} {TALKER} worker {self.path('talk-a')} json ok\n",
              0o755)
        daemon.wait_pass(PASS_OK=10)
        daemon.wait_record(MESSAGE_ID=RECOVERY_UP)
        self.assertEqual(len(daemon.records(MESSAGE_ID=RECOVERY_DOWN)), 1)
        self.finishes(daemon)


class Socket(Kind, Test):
    noun = "connection"
    crashed = left = "the connection ended: closed by the service"

    def service(self, behaviour, where, directory, payload):
        process = subprocess.Popen([sys.executable, TALKER, where, directory, payload, behaviour],
                                   stdout=subprocess.PIPE)
        self.addCleanup(process.stdout.close)
        self.addCleanup(harness.end_process, process, signal.SIGKILL)
        self.assertEqual(process.stdout.readline(), b"listening\n")
        return process

    def talk(self, behaviour, name, payload):
        path = self.path(f"service-{name}")
        self.process = self.service(behaviour, path, self.prepare(name), payload)
        return {"handler": "socket", "address": f"unix:{path}"}

    def gone_after_a_kill(self, daemon):
        self.assertEqual(self.wait_requests(daemon, 2)[1][0], "eof")

    def away(self, where, address, phrase):
        strand(self.r, 10)
        keys = {"handler": "socket", "address": address, "interval": "30s"}
        daemon = self.daemon(config(self.redis.url, {"a": recovery("", **keys)})).wait_ready()
        record = daemon.wait_record(MESSAGE_ID=RECOVERY_DOWN)
        self.assertIn(f"cannot connect to {address}: {phrase}", record.message)
        daemon.notify.wait_status("1 waiting")
        self.assertEqual({p[2] for p in pending(self.r).values()}, {1})
        self.service("ok", where, self.prepare("a"), "json")
        daemon.wait_pass(PASS_OK=10)
        daemon.wait_record(MESSAGE_ID=RECOVERY_UP)
        self.assertEqual(len(daemon.records(MESSAGE_ID=RECOVERY_DOWN)), 1)
        self.finishes(daemon)

    def test_a_service_that_is_not_there_yet(self):
        path = self.path("service")
        self.away(path, f"unix:{path}", "No such file or directory")

    def test_a_port_that_is_not_there_yet(self):
        port = str(free_port())
        self.away(port, f"127.0.0.1:{port}", "Connection refused")

    def test_a_service_that_starts_again(self):
        daemon = self.start("waits", 1, concurrency=1, retry_delay="100ms")
        self.wait_requests(daemon, 1)
        harness.end_process(self.process, signal.SIGKILL)
        record = self.outcome(daemon, OUTCOME="retry")
        self.assertEqual(record.first("REASON"), self.crashed)
        os.unlink(self.path("service-a"))
        self.service("ok", self.path("service-a"), self.path("talk-a"), "json")
        self.outcome(daemon, OUTCOME="ok")
        daemon.wait_record(PASS_ACKED=1)
        self.assertEqual(pending_count(self.r), 0)


class Both(Test):
    def test_a_recovery_with_a_worker_that_floods_does_not_hold_up_another(self):
        """Both kinds beside each other, each with entries of its own."""
        redis = self.server()
        r = self.client(redis)
        recoveries = {}
        for name, behaviour in (("a", "floods"), ("b", "ok")):
            path = self.path("talk-" + name)
            os.mkdir(path)
            strand(r, 1 if name == "a" else 1000, stream=name)
            recoveries[name] = recovery("", handler="worker", stream=name, interval="1s",
                                        command=f"{sys.executable} {TALKER} worker {path} json {behaviour}")
        daemon = self.daemon(config(redis.url, recoveries), level="info").wait_ready()
        daemon.wait_pass(RECOVERY="a", PASS_OK=1)
        daemon.wait_pass(RECOVERY="b", PASS_OK=1000)
        self.assertEqual(daemon.terminate(), 0)


def ids():
    """The MESSAGE_IDs by name, from the table."""
    import re
    here = os.path.dirname(os.path.abspath(__file__))
    with open(os.path.join(here, "../../src/report/events.c")) as file:
        return dict(re.findall(r'\w+\((\w+), "[\w-]+", \w+, "([0-9a-f]{32})"', file.read()))


IDS = ids()
WORKER_ENDED, WORKER_OUTPUT, WORKER_DROPPED = (
    IDS[n] for n in ("WORKER_ENDED", "WORKER_OUTPUT", "WORKER_DROPPED"))
ATTEMPT_BEGUN, RECOVERY_DOWN, RECOVERY_UP, STOPPED, LINK_DOWN = (
    IDS[n] for n in ("ATTEMPT_BEGUN", "RECOVERY_DOWN", "RECOVERY_UP", "STOPPED", "LINK_DOWN"))
LIMIT = 0.010 if not os.environ.get("TEST_SLOW") else 0.200

if __name__ == "__main__":
    harness.main()
