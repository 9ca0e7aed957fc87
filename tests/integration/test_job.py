#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""The job, end to end, on the wire: what is claimed, read, handled, acknowledged, and what the
records say of it. Everything the daemon sends goes through a recording proxy."""

import harness
from harness import GROUP, STREAM, Test, config, pending, pending_count, recovery, strand

HANDLER = 'printf "%s\\n" "$XAUTOCLAIMD_ID" >>{log}\nexit 0\n'


class Job(Test):
    def start(self, n, handler, **keys):
        self.redis = self.server()
        self.r = self.client(self.redis)
        self.ids = strand(self.r, n)
        self.wire = self.proxy(f"unix:{self.redis.path}")
        keys = {"interval": "60s", **keys}
        return config(self.wire.url, {"orders": recovery(handler, **keys)})

    def exchanges(self, name):
        return [e for e in self.wire.exchanges() if e.name == name]

    def test_five_steps(self):
        log = self.path("handled")
        handler = self.handler(HANDLER.format(log=log))
        text = self.start(25, handler)
        self.assertEqual(pending_count(self.r), 25)
        before = self.r("XINFO", "GROUPS", STREAM)
        daemon = self.daemon(text)
        record = daemon.wait_pass(RECOVERY="orders")
        daemon.terminate()

        # 1. XPENDING shows n
        summaries = [e for e in self.exchanges("XPENDING") if len(e.words) == 3]
        self.assertEqual(summaries[0].reply[0], 25)

        # 2. the claim: JUSTID, a cursor and IDs, no field
        claims = self.exchanges("XAUTOCLAIM")
        claimed = []
        for claim in claims:
            self.assertEqual(claim.words[1:4], [b"orders", b"workers", b"recoverer"])
            self.assertEqual(claim.words[-1], b"JUSTID")
            cursor, ids, *deleted = claim.reply  # Redis 6.2 has no third element
            self.assertRegex(cursor.decode(), r"^\d+-\d+$")
            self.assertTrue(all(isinstance(i, bytes) for i in ids), claim.reply)
            self.assertIn(deleted, ([[]], []))
            claimed += [i.decode() for i in ids]
        self.assertEqual(sorted(claimed), sorted(self.ids))

        # 3. each is read by its ID once, and nothing else is read
        reads = {}
        for read in self.exchanges("XCLAIM"):
            if b"JUSTID" in read.words:
                continue
            self.assertEqual(read.words[1:4], [b"orders", b"workers", b"recoverer"])
            for entry_id, fields in read.reply:
                self.assertNotIn(entry_id, reads)
                self.assertEqual(fields[0], b"n")
                reads[entry_id.decode()] = read
        self.assertEqual(sorted(reads), sorted(self.ids))
        self.assertEqual(self.exchanges("XRANGE"), [])
        self.assertEqual(self.exchanges("XREADGROUP"), [])

        # 4. each is handled once
        with open(log) as file:
            self.assertEqual(sorted(file.read().split()), sorted(self.ids))

        # 5. XACK, each ID once; XPENDING shows n minus the sum of what it returned
        acks = self.exchanges("XACK")
        acked = [i.decode() for e in acks for i in e.words[3:]]
        self.assertEqual(sorted(acked), sorted(self.ids))
        self.assertEqual(pending_count(self.r), 25 - sum(e.reply for e in acks))
        self.assertEqual(pending_count(self.r), 0)
        self.assertEqual(record.first("PASS_CLAIMED"), "25")
        self.assertEqual(record.first("PASS_OK"), "25")
        self.assertEqual(record.first("PASS_ACKED"), "25")

        # nothing else was created: one stream, one group, our consumer beside the dead one
        self.assertEqual(self.r("DBSIZE"), 1)
        after = self.r("XINFO", "GROUPS", STREAM)
        self.assertEqual(len(before), len(after))
        consumers = self.r("XINFO", "CONSUMERS", STREAM, GROUP)
        self.assertEqual(sorted(c[1] for c in consumers), [b"dead", b"recoverer"])

    def test_the_order_of_one_entry(self):
        """XCLAIM just before its handler starts, XACK after it ended and not before."""
        gate = self.gate()
        handler = self.handler(gate.wait + "\n")
        text = self.start(3, handler, concurrency=1, claim_ahead=2)
        daemon = self.daemon(text)
        daemon.wait_record(ENTRY_ID="1-0", DELIVERIES="2")
        # three are claimed; only the one that has a handler was read
        self.assertEqual({i: p[2] for i, p in pending(self.r).items()},
                         {"1-0": 2, "2-0": 1, "3-0": 1})
        self.assertEqual({p[0] for p in pending(self.r).values()}, {"recoverer"})
        reads = [e for e in self.exchanges("XCLAIM") if b"JUSTID" not in e.words]
        self.assertEqual(len(reads), 1)
        self.assertEqual(self.exchanges("XACK"), [])
        for n in range(1, 4):
            gate.open()
            daemon.wait_count(n, OUTCOME="ok")
        daemon.wait_pass(RECOVERY="orders", PASS_ACKED="3")
        daemon.terminate()
        events = [(e.sent, e.name, e.words) for e in self.wire.exchanges()
                  if e.name == "XACK" or e.name == "XCLAIM" and b"JUSTID" not in e.words]
        self.assertEqual([(name, words[5 if name == "XCLAIM" else 3]) for _, name, words in events],
                         [("XCLAIM", b"1-0"), ("XACK", b"1-0"), ("XCLAIM", b"2-0"),
                          ("XACK", b"2-0"), ("XCLAIM", b"3-0"), ("XACK", b"3-0")])

    def test_records_equal_the_wire(self):
        """25 claimed, 2 deleted, 1 missing, 3 failed, 1 acked by somebody else; where the server
        keeps the deleted they are claimed and missing, too."""
        kept = 2 if harness.keeps_the_deleted() else 0
        log, gate = self.path("handled"), self.gate()
        # the first entry waits at the gate until the test has spoiled the others
        handler = self.handler(
            f'echo "$XAUTOCLAIMD_ID" >>{log}\n'
            f'case "$XAUTOCLAIMD_ID" in\n'
            f'1-0) {gate.wait} ;;\n'
            f'5-0|6-0|7-0) exit 1 ;;\n'
            f'esac\n')
        text = self.start(27, handler, concurrency=1, claim_ahead=30)
        self.r("XDEL", STREAM, "26-0", "27-0")
        daemon = self.daemon(text)
        daemon.wait_record(DELIVERIES="2")
        self.r("XDEL", STREAM, "10-0")  # missing: held, and gone when it is read
        self.assertEqual(self.r("XACK", STREAM, GROUP, "1-0"), 1)  # by somebody else
        gate.open()
        record = daemon.wait_pass(RECOVERY="orders")
        daemon.terminate()

        pages = self.exchanges("XAUTOCLAIM")
        page_records = [r for r in daemon.journal.records() if "PAGE_CURSOR" in r]
        self.assertEqual(len(page_records), len(pages))
        for page, said in zip(pages, page_records):
            self.assertEqual(said.first("PAGE_CURSOR"), page.words[5].decode())
            self.assertEqual(said.first("PAGE_CURSOR_NEXT"), page.reply[0].decode())
            self.assertEqual(said.first("PAGE_CLAIMED"), str(len(page.reply[1])))
            self.assertEqual(said.first("PAGE_DELETED"), str(sum(map(len, page.reply[2:]))))
        acks = self.exchanges("XACK")
        expected = {
            "PASS_PAGES": len(pages),
            "PASS_CLAIMED": sum(len(p.reply[1]) for p in pages),
            "PASS_DELETED": sum(len(d) for p in pages for d in p.reply[2:]),
            "PASS_OK": len([i for a in acks for i in a.words[3:]]),
            "PASS_ACKED": sum(a.reply for a in acks),
            "PASS_ACK_NONE": sum(len(a.words) - 3 - a.reply for a in acks),
            "PASS_FAILED": 3, "PASS_MISSING": 1 + kept, "PASS_REJECTED": 0,
            "PASS_EXHAUSTED": 0, "PASS_DEFERRED": 0, "PASS_LOST": 0, "PASS_RELEASED": 0, "PASS_DEAD_LETTERED": 0,
        }
        self.assertEqual({k: record.first(k) for k in expected},
                         {k: str(v) for k, v in expected.items()})
        self.assertEqual(record.first("PASS_CLAIMED"), str(25 + kept))
        self.assertEqual(record.first("PASS_DELETED"), str(2 - kept))
        self.assertEqual(record.first("PASS_OK"), "21")
        self.assertEqual(record.first("PASS_ACKED"), "20")
        self.assertEqual(record.first("PASS_ACK_NONE"), "1")

        # deleted and missing are found by their IDs; neither was handled nor acknowledged
        deleted = [r for r in daemon.journal.records() if r.get("ENTRY_ID") == ["26-0", "27-0"]]
        self.assertEqual([r.priority for r in deleted], [] if kept else [4])
        for entry_id in ["10-0", "26-0", "27-0"] if kept else ["10-0"]:
            missing = [r for r in daemon.records(ENTRY_ID=entry_id) if r.priority == 4]
            self.assertEqual(len(missing), 1, entry_id)
        with open(log) as file:
            handled = file.read().split()
        self.assertEqual(len(handled), len(set(handled)))
        self.assertEqual(set(handled), set(self.ids) - {"10-0", "26-0", "27-0"})
        acked = {i.decode() for a in acks for i in a.words[3:]}
        self.assertEqual(acked, set(handled) - {"5-0", "6-0", "7-0"})
        left = pending(self.r)
        self.assertEqual(set(left) - ({"10-0", "26-0", "27-0"} if kept else set()),
                         {"5-0", "6-0", "7-0"})
        self.assertEqual({left[i][2] for i in ("5-0", "6-0", "7-0")}, {2})

    def test_payload_id_reads_no_body(self):
        log = self.path("handled")
        handler = self.handler(f'cat >>{log}\necho "$XAUTOCLAIMD_DELIVERIES" >>{log}\n')
        text = self.start(3, handler, payload="id", concurrency=1)
        daemon = self.daemon(text)
        daemon.wait_pass(RECOVERY="orders", PASS_ACKED="3")
        daemon.terminate()
        with open(log) as file:
            self.assertEqual(file.read().split(), ["1-0", "2", "2-0", "2", "3-0", "2"])
        for exchange in self.wire.exchanges():
            self.assertNotIn(exchange.name, ("XRANGE",))
            if exchange.name == "XCLAIM":
                self.assertIn(b"JUSTID", exchange.words)

    def test_window(self):
        """Never more is claimed than can soon be started."""
        log = self.path("handled")
        handler = self.handler(HANDLER.format(log=log))
        text = self.start(50, handler, concurrency=2, claim_ahead=3, count=100)
        daemon = self.daemon(text)
        daemon.wait_pass(RECOVERY="orders", PASS_ACKED="50")
        daemon.terminate()
        held = 0
        for exchange in self.wire.exchanges():
            if exchange.name == "XAUTOCLAIM":
                count = int(exchange.words[7])
                self.assertLessEqual(count, 5)
                self.assertGreaterEqual(count, 2)  # not before half of the window is free
                held += len(exchange.reply[1])
                self.assertLessEqual(held, 5)
            elif exchange.name == "XACK":
                held -= exchange.reply

    def test_a_claimed_entry_is_not_handed_out_twice(self):
        """A second claim of what is held (here: forced by making it idle) starts no second
        handler."""
        log, gate = self.path("handled"), self.gate()
        handler = self.handler(f'echo "$XAUTOCLAIMD_ID" >>{log}\n{gate.wait}\n')
        text = self.start(1, handler, interval="50ms")
        daemon = self.daemon(text)
        daemon.wait_record(DELIVERIES="2")
        self.r("XCLAIM", STREAM, GROUP, "recoverer", 0, "1-0", "IDLE", "3600000", "JUSTID")
        daemon.wait_record(PASS_CLAIMED="1", PASS_DEFERRED="1")
        gate.open()
        daemon.wait_pass(PASS_OK="1", PASS_ACKED="1")
        daemon.terminate()
        with open(log) as file:
            self.assertEqual(file.read().split(), ["1-0"])


class Many(Test):
    def test_several_recoveries_on_several_servers(self):
        log = self.path("handled")
        handler = self.handler(
            f'echo "$XAUTOCLAIMD_RECOVERY $XAUTOCLAIMD_STREAM $XAUTOCLAIMD_ID" >>{log}\n')
        one, two = self.server(name="one"), self.server(name="two", tcp=True)
        a, b = self.client(one), self.client(two)
        strand(a, 5, stream="s1")
        strand(a, 6, stream="s2")
        strand(b, 7, stream="s1")
        text = (f"[redis]\nurl = {one.url}\n[redis two]\nurl = redis://127.0.0.1:{two.port}/0\n")
        for name, stream, redis in (("r1", "s1", ""), ("r2", "s2", ""), ("r3", "s1", "two")):
            keys = recovery(handler, stream=stream)
            if redis:
                keys["redis"] = redis
            text += f"[recovery {name}]\n" + "".join(f"{k} = {v}\n" for k, v in keys.items())
        daemon = self.daemon(text)
        for name, n in (("r1", 5), ("r2", 6), ("r3", 7)):
            daemon.wait_pass(RECOVERY=name, PASS_ACKED=n)
        daemon.terminate()
        with open(log) as file:
            lines = file.read().split("\n")[:-1]
        self.assertEqual(len(lines), 18)
        self.assertEqual(len(set(lines)), 18)
        for client, stream in ((a, "s1"), (a, "s2"), (b, "s1")):
            self.assertEqual(pending_count(client, stream), 0)

    def test_status_and_ready(self):
        redis = self.server()
        strand(self.client(redis), 3)
        handler = self.handler("exit 0\n")
        daemon = self.daemon(config(redis.url, {"orders": recovery(handler)})).wait_ready()
        daemon.notify.wait_status("1 recovery", "last pass orders: 3 claimed, 3 acked")
        self.assertEqual(daemon.terminate(), 0)
        daemon.notify.wait_for(lambda m: m.get("STOPPING") == "1")
        for status in daemon.notify.statuses():
            self.assertLessEqual(len(status.encode()), 200)

    def test_no_recovery_is_no_error(self):
        daemon = self.daemon("[redis]\n").wait_ready()
        daemon.notify.wait_status("nothing to do")
        self.assertEqual(daemon.terminate(), 0)

    def test_watchdog(self):
        redis = self.server()
        strand(self.client(redis), 1)
        daemon = self.daemon(
            config(redis.url, {"orders": recovery(self.handler("exit 0\n"))}),
            wrapper=["sh", "-c", 'WATCHDOG_PID=$$ WATCHDOG_USEC=300000 exec "$@"', "sh"])
        daemon.notify.wait_for(lambda m: m.get("WATCHDOG") == "1")
        daemon.terminate()


if __name__ == "__main__":
    harness.main()
