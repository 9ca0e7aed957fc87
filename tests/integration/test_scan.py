#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Empty page, end of the scan, deleted IDs: three signals that must be told apart."""

import harness
from harness import GROUP, STREAM, Test, config, pending, recovery, strand
from peer import Peer


class Scan(Test):
    def setUp(self):
        super().setUp()
        self.log = self.path("handled")
        self.script = self.handler(f'echo "$XAUTOCLAIMD_ID" >>{self.log}\n')

    def handled(self):
        try:
            with open(self.log) as file:
                return file.read().split()
        except FileNotFoundError:
            return []

    def claims(self, wire):
        return [e for e in wire.exchanges() if e.name == "XAUTOCLAIM"]

    def test_an_empty_page_with_a_cursor_goes_on(self):
        redis = self.server()
        client = self.client(redis)
        fresh = strand(client, 2000, consumer="alive", idle_ms=0)
        idle = strand(client, 5, first_ms=5000)
        wire = self.proxy(f"unix:{redis.path}")
        daemon = self.daemon(config(wire.url, {"orders": recovery(self.script, count=10,
                                                                  interval="60s", concurrency=8,
                                                                  claim_ahead=8)}))
        record = daemon.wait_pass(PASS_ACKED="5")
        daemon.terminate()
        self.assertEqual(record.first("PASS_CLAIMED"), "5")
        self.assertGreaterEqual(int(record.first("PASS_PAGES")), 20)
        claims = self.claims(wire)
        empty = [c for c in claims if c.reply[1] == [] and c.reply[0] != b"0-0"]
        self.assertGreaterEqual(len(empty), 19)
        # one scan: the cursor of each answer is that of the next question, word for word
        self.assertEqual(claims[0].words[5], b"0-0")
        for this, after in zip(claims, claims[1:]):
            self.assertEqual(after.words[5], this.reply[0])
        self.assertEqual(claims[-1].reply[0], b"0-0")
        self.assertEqual(sorted(self.handled()), sorted(idle))
        self.assertEqual(set(pending(client)), set(fresh))

    def test_the_end_of_a_scan_and_the_next_one(self):
        redis = self.server()
        client = self.client(redis)
        strand(client, 4)
        wire = self.proxy(f"unix:{redis.path}")
        daemon = self.daemon(config(wire.url, {"orders": recovery(self.script)}))
        daemon.wait_pass(PASS_ACKED="4")
        daemon.wait_empty_pass()
        late = strand(client, 3, first_ms=100)
        daemon.wait_pass(PASS_ACKED="3")
        daemon.terminate()
        self.assertEqual(sorted(self.handled()[4:]), sorted(late))
        claims = self.claims(wire)
        for this, after in zip(claims, claims[1:]):
            expected = b"0-0" if this.reply[0] == b"0-0" else this.reply[0]
            self.assertEqual(after.words[5], expected)
        self.assertGreaterEqual(sum(c.words[5] == b"0-0" for c in claims), 2)

    def test_a_lost_connection_goes_on_from_the_last_cursor(self):
        redis = self.server()
        client = self.client(redis)
        strand(client, 2000, consumer="alive", idle_ms=0)
        strand(client, 5, first_ms=5000)
        wire = self.proxy(f"unix:{redis.path}")
        wire("drop-reply XAUTOCLAIM 7")
        daemon = self.daemon(config(
            wire.url, {"orders": recovery(self.script, count=10, interval="60s", concurrency=8,
                                          claim_ahead=8, min_idle="10s")}))
        record = daemon.wait_pass(PASS_ACKED="5")
        daemon.terminate()
        self.assertEqual(record.first("PASS_CLAIMED"), "5")
        claims = [c for c in self.claims(wire) if int(c.words[4]) < 10**12]
        lost = next(i for i, c in enumerate(claims) if c.connection != claims[0].connection)
        before = [c for c in claims[:lost] if c.words[5] != claims[lost].words[5]]
        self.assertNotEqual(claims[lost].words[5], b"0-0")
        self.assertEqual(claims[lost].words[5], before[-1].reply[0])
        # and what it claims with has grown by the time the server was away
        self.assertGreaterEqual(int(claims[lost].words[4]), 10000)
        self.assertEqual(sum(c.words[5] == b"0-0" for c in claims), 1)

    def test_nogroup_in_mid_scan_starts_again_at_the_front(self):
        redis = self.server()
        client = self.client(redis)
        strand(client, 5)
        wire = self.proxy(f"unix:{redis.path}")
        gate = self.gate()
        self.handler(f'[ "$XAUTOCLAIMD_ID" != 1-0 ] || {gate.wait}\n'
                     f'echo "$XAUTOCLAIMD_ID" >>{self.log}\n')
        # a window of one: the scan waits in the middle until the first handler has ended
        daemon = self.daemon(config(wire.url, {"orders": recovery(self.script, concurrency=1,
                                                                  claim_ahead=0)}))
        daemon.wait_record(ENTRY_ID="1-0", DELIVERIES="2")
        client("XGROUP", "DESTROY", STREAM, GROUP)
        gate.open()
        daemon.wait_record(STATE="waiting", REDIS_ERROR="NOGROUP")
        client("XTRIM", STREAM, "MAXLEN", 0)
        strand(client, 2, first_ms=9000)
        daemon.wait_record(OUTCOME="ok", ENTRY_ID="9001-0")
        daemon.terminate()
        claims = self.claims(wire)
        failed = next(i for i, c in enumerate(claims)
                      if isinstance(c.reply, harness.ReplyError))
        self.assertNotEqual(claims[failed].words[5], b"0-0")
        self.assertEqual(claims[failed + 1].words[5], b"0-0")

    def test_deleted_ids_are_told_and_dropped(self):
        redis = self.server()
        client = self.client(redis)
        strand(client, 10)
        gone = ["3-0", "4-0", "9-0"]
        client("XDEL", STREAM, *gone)
        wire = self.proxy(f"unix:{redis.path}")
        daemon = self.daemon(config(wire.url, {"orders": recovery(self.script)}))
        record = daemon.wait_pass(PASS_ACKED="7")
        daemon.terminate()
        if harness.keeps_the_deleted():
            self.assertEqual((record.first("PASS_DELETED"), record.first("PASS_MISSING")), ("0", "3"))
            self.assertEqual(set(harness.pending(client)), set(gone))
        else:
            self.assertEqual((record.first("PASS_DELETED"), record.first("PASS_MISSING")), ("3", "0"))
            self.assertEqual(harness.pending_count(client), 0)
        for entry_id in gone:
            told = [r for r in daemon.journal.records() if entry_id in r.get("ENTRY_ID", [])]
            self.assertEqual([r.priority for r in told], [4], entry_id)
            self.assertNotIn(entry_id, self.handled())
            for exchange in wire.exchanges():
                if exchange.name in ("XACK", "XCLAIM", "XRANGE")[:1 if harness.keeps_the_deleted() else 3]:
                    self.assertNotIn(entry_id.encode(), exchange.words)

    def scan_of_a_dead_id_on_6_2(self, missing):
        """Redis 6.2 answers with two elements, and returns an ID that is no longer in the stream
        as claimed; XCLAIM has nil in its place."""
        peer = Peer(self.path("peer"))
        self.addCleanup(peer.close)
        dead_acked = []

        def answer(words):
            name = words[0].upper()
            if name == b"XPENDING" and len(words) == 3:
                return [2 - len(dead_acked), b"1-0", b"2-0", [[b"dead", b"2"]]]
            if name == b"XPENDING":
                first, last = words[3].strip(b"("), words[4]
                return [[i, b"recoverer", 1, 1] for i in (b"1-0", b"2-0")
                        if first <= i <= last and i not in dead_acked]
            if name == b"XAUTOCLAIM":
                return [b"0-0", [i for i in (b"1-0", b"2-0") if i not in dead_acked]]
            if name == b"XCLAIM" and words[-1] != b"JUSTID":
                return [[i, [b"n", b"1"]] if i == b"1-0" else None for i in words[5:]]
            if name == b"XCLAIM":
                return [i for i in words[5:] if b"-" in i]
            if name == b"XRANGE":
                return []
            if name == b"XACK":
                dead_acked.extend(words[3:])
                return len(words) - 3
            return None

        peer.answer = answer
        daemon = self.daemon(config(f"unix://{peer.path}",
                                    {"orders": recovery(self.script, missing=missing,
                                                        interval="60s")}))
        record = daemon.wait_pass()
        daemon.terminate()
        self.assertEqual(record.first("PASS_CLAIMED"), "2")
        self.assertEqual(record.first("PASS_OK"), "1")
        self.assertEqual(record.first("PASS_MISSING"), "1")
        self.assertEqual(record.first("PASS_DELETED"), "0")
        self.assertEqual(self.handled(), ["1-0"])
        told = [r for r in daemon.records(ENTRY_ID="2-0") if r.priority == 4]
        self.assertEqual(len(told), 1)
        return peer

    def test_6_2_dead_id_ends_as_missing_and_is_kept(self):
        peer = self.scan_of_a_dead_id_on_6_2("keep")
        acks = [w for w in peer.requests() if w[0] == b"XACK"]
        self.assertEqual([w[3:] for w in acks], [[b"1-0"]])

    def test_6_2_dead_id_ends_as_missing_and_is_acked(self):
        peer = self.scan_of_a_dead_id_on_6_2("ack")
        acked = sorted(i for w in peer.requests() if w[0] == b"XACK" for i in w[3:])
        self.assertEqual(acked, [b"1-0", b"2-0"])


if __name__ == "__main__":
    harness.main()
