#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Where nothing runs: `move` copies inside the server, each entry exactly once; `claim-only` claims
for the user's own consumer and touches nothing else."""

import collections
import os
import time

import harness
from harness import GROUP, STREAM, Test, config, pending, pending_count, strand

TARGET = "orders:rescued"
LIST = "orders:todo"
PROVENANCE = ["", ".recovery", ".stream", ".group", ".id", ".consumer", ".deliveries", ".outcome",
              ".reason", ".time"]
RIGHTS = {
    "move": ["+evalsha", "+eval", "+time", "+xadd", "+xack", "+xautoclaim", "+xpending", "+xrange",
             "+xclaim", "+exists", "+ping"],
    "claim-only": ["+xautoclaim", "+xpending", "+rpush", "+exists", "+ping"],
}
LINK = "reconnect_min = 10ms\nreconnect_max = 50ms\n"


def move(**keys):
    return {"stream": STREAM, "group": GROUP, "consumer": "mover", "min_idle": "60s",
            "interval": "50ms", "handler": "move", "target_stream": TARGET, **keys}


def claim(**keys):
    return {"stream": STREAM, "group": GROUP, "consumer": "app", "min_idle": "60s",
            "interval": "50ms", "handler": "claim-only", **keys}


class Transfer(Test):
    def setUp(self):
        super().setUp()
        self.redis = self.server()
        self.r = self.client(self.redis)

    def start(self, keys, url=None, redis="", **keywords):
        return self.daemon(config(url or self.redis.url, {"orders": keys}, redis=redis), **keywords)

    def durable(self, n):
        """Stranded entries on a server that loses nothing when it is killed."""
        self.redis = self.server("--appendonly", "yes", "--appendfsync", "always", name="durable")
        self.r = self.client(self.redis)
        return strand(self.r, n)

    def restart(self):
        self.redis.kill()
        self.redis.start()
        self.r = self.client(self.redis)

    def settled(self, daemon, left=0, seconds=harness.DEADLINE):
        daemon.journal.wait_until(lambda _: pending_count(self.r) == left, seconds)

    def copies(self, target=TARGET):
        """(fields, provenance) of each entry of the target, in order."""
        out = []
        for _, flat in self.r("XRANGE", target, "-", "+"):
            pairs = [(flat[i], flat[i + 1]) for i in range(0, len(flat), 2)]
            self.assertEqual([k.decode() for k, _ in pairs[-10:]],
                             ["xautoclaimd" + p for p in PROVENANCE])
            out.append((pairs[:-10], {k.decode()[len("xautoclaimd"):]: v.decode()
                                      for k, v in pairs[-10:]}))
        return out

    def moved_ids(self):
        return [p[".id"] for _, p in self.copies()]

    def user(self, rights, *keys):
        """Logs the daemon in as somebody with these rights only."""
        password = harness.write(self.path("password"), "secret\n", 0o600)
        self.r("ACL", "SETUSER", "recoverer", "reset", "on", ">secret", *("~" + k for k in keys),
               "-@all", *rights)
        return f"username = recoverer\npassword_file = {password}\n"


def balance(record):
    return {k: int(record.first("PASS_" + k)) for k in (
        "CLAIMED", "OK", "FAILED", "REJECTED", "EXHAUSTED", "DEFERRED", "MISSING", "LOST",
        "RELEASED", "MOVED", "HANDED_OVER")}


class Move(Transfer):
    def test_moved_once_with_provenance_and_in_order(self):
        ids = strand(self.r, 500)
        wire = self.proxy(f"unix:{self.redis.path}")
        daemon = self.start(move(), wire.url)
        record = daemon.wait_pass()
        daemon.notify.wait_status("500 claimed, 500 acked, 500 moved")
        self.assertEqual(daemon.terminate(), 0)
        copies = self.copies()
        self.assertEqual([fields for fields, _ in copies], [[(b"n", i.encode())] for i in ids])
        for entry_id, (_, provenance) in zip(ids, copies):
            self.assertLess(abs(int(provenance.pop(".time")) / 1000 - time.time()), 3600)
            self.assertEqual(provenance, {
                "": "1", ".recovery": "orders", ".stream": STREAM, ".group": GROUP,
                ".id": entry_id, ".consumer": "mover", ".deliveries": "1", ".outcome": "move",
                ".reason": ""})
        self.assertEqual(pending_count(self.r), 0)
        account = balance(record)
        self.assertEqual((account.pop("CLAIMED"), account.pop("MOVED"), record.first("PASS_ACKED")),
                         (500, 500, "500"))
        self.assertEqual(set(account.values()), {0})
        # what goes over the wire: no body, nothing to keep, no command by entry
        seen = collections.Counter(e.name for e in wire.exchanges())
        self.assertLessEqual(set(seen), {"HELLO", "CLIENT", "SELECT", "PING", "XPENDING", "TIME",
                                         "EVALSHA", "EVAL"}, seen)
        self.assertEqual(seen["EVAL"], 1)
        for e in wire.exchanges():
            if e.name in ("EVALSHA", "EVAL"):
                self.assertNotIn(b"xautoclaimd.id", e.raw_reply)
        # the entries themselves stay where they were, and nobody else was made
        self.assertEqual(self.r("XLEN", STREAM), 500)
        self.assertEqual(sorted(self.r("KEYS", "*")), sorted([STREAM.encode(), TARGET.encode()]))

    def test_all_kinds_of_bodies(self):
        """Empty and binary values, names that come twice, forged provenance, the most fields."""
        bodies = [
            ("", "", "a", ""), (bytes(range(256)), b"\x00\r\n$3\r\n", b"\xff", b"\xfe"),
            ("a", "1", "a", "2", "a", "1"), ("xautoclaimd", "1", "xautoclaimd.id", "9-9"),
            tuple(str(i) for i in range(7900)),
        ]
        for i, body in enumerate(bodies):
            strand(self.r, 1, body=body, first_ms=i + 1)
        daemon = self.start(move())
        self.settled(daemon)
        daemon.terminate()
        flat = [[w for pair in fields for w in pair] for fields, _ in self.copies()]
        self.assertEqual(flat, [[w if isinstance(w, bytes) else w.encode() for w in body]
                                for body in bodies])

    def test_counters(self):
        """Each entry's own, also where others of ours lie between."""
        ids = strand(self.r, 300)
        for n, entry_id in enumerate(ids):
            self.r("XCLAIM", STREAM, GROUP, "mover" if n % 3 else "dead", 0, entry_id, "IDLE",
                   0 if n % 3 == 1 else 3600000, "RETRYCOUNT", n, "JUSTID")
        daemon = self.start(move())
        self.settled(daemon, 100)
        daemon.terminate()
        self.assertEqual([(p[".id"], p[".deliveries"]) for _, p in self.copies()],
                         [(i, str(n)) for n, i in enumerate(ids) if n % 3 != 1])

    def test_large_entries_go_alone(self):
        small = strand(self.r, 40)
        for n in range(3):
            strand(self.r, 1, body=("big", "x" * 3_000_000), first_ms=1000 + n)
        strand(self.r, 40, first_ms=2000)
        wire = self.proxy(f"unix:{self.redis.path}")
        daemon = self.start(move(), wire.url)
        self.settled(daemon)
        daemon.wait_pass(PASS_MOVED="83", PASS_CLAIMED="83")
        daemon.terminate()
        moved = self.moved_ids()
        self.assertEqual(moved, small + ["1000-0", "1001-0", "1002-0"]
                         + [f"{2000 + i}-0" for i in range(40)])
        pages = [e.reply for e in wire.exchanges() if e.name == "EVALSHA" and e.reply
                 and isinstance(e.reply, list)]
        # a page that begins with a large one holds that, and another large one never
        cursors = [p[0] for p in pages]
        for n in range(3):
            self.assertIn(f"{1000 + n}-0".encode(), cursors)
        print("# pages", [(p[0].decode(), p[1], p[6]) for p in pages if p[1]])

    def test_pages_are_short(self):
        """The server is not kept for longer than about 2 ms a page, whatever `count` says."""
        n = 5000
        strand(self.r, n, body=("n", "x" * 200))
        wire = self.proxy(f"unix:{self.redis.path}")
        daemon = self.start(move(count=1000), wire.url)
        self.settled(daemon)
        record = daemon.wait_pass()
        daemon.terminate()
        pages = [e.reply for e in wire.exchanges()
                 if e.name == "EVALSHA" and isinstance(e.reply, list) and e.reply[1]]
        spent = sorted(p[6] for p in pages)
        stats, = [line for line in self.r("INFO", "commandstats").decode().splitlines()
                  if line.startswith("cmdstat_evalsha:")]
        kept = stats.partition("usec_per_call=")[2].partition(",")[0]
        print(f"# {len(pages)} pages, {n / len(pages):.0f} entries each; the server was kept for "
              f"{kept} us, at most {spent[-1]} us; "
              f"{int(record.first('PASS_USEC')) / n:.0f} us an entry")
        self.assertLess(spent[len(spent) // 2], 4000)
        self.assertGreater(len(pages), 10)
        # it begins with few, and asks for what fits: little is claimed to be given back
        asked = [int(e.words[9]) for e in wire.exchanges() if e.name in ("EVALSHA", "EVAL")]
        self.assertEqual(asked[0], 8)
        self.assertLess(max(asked), 1000)
        self.assertGreater(max(asked), 30)
        self.assertEqual(record.first("PASS_CLAIMED"), str(n))
        self.assertEqual(record.first("PASS_MOVED"), str(n))

    def test_pages_are_bounded_by_size(self):
        """However many are asked for; what is not reached is given back, and comes next."""
        ids = strand(self.r, 100, body=("n", "x" * 20000))
        self.r("SCRIPT", "FLUSH")
        wire = self.proxy(f"unix:{self.redis.path}")
        daemon = self.start(move(count=1), wire.url)
        self.settled(daemon)
        daemon.terminate()
        script = [e for e in wire.exchanges() if e.name == "EVAL"][0].words
        self.r("XCLAIM", STREAM, GROUP, "dead", 0, *ids, "IDLE", 3600000, "FORCE", "JUSTID")
        script[9], script[13], script[-1] = 100, 10 ** 9, 0
        answer = self.r(*script)
        self.assertIn(answer[1], (11, 12))
        self.assertEqual((answer[0].decode(), answer[3], answer[4]), (ids[answer[1]], 0, 1))
        self.assertEqual(list(pending(self.r)), ids[answer[1]:])
        self.assertGreater(min(idle for _, idle, _ in pending(self.r).values()), 10 ** 12)
        # and by time, where the clock goes on in a script
        script[13] = 1
        again = self.r(*script)
        self.assertTrue(again[6] == 0 or again[1] == 1, again)

    def test_maxlen(self):
        strand(self.r, 1000)
        daemon = self.start(move(target_maxlen=10))
        self.settled(daemon)
        daemon.terminate()
        self.assertLess(self.r("XLEN", TARGET), 250)

    def test_what_is_not_idle_stays(self):
        strand(self.r, 5)
        strand(self.r, 5, first_ms=100, consumer="alive", idle_ms=0)
        daemon = self.start(move())
        self.settled(daemon, 5)
        daemon.wait_empty_pass()
        daemon.terminate()
        self.assertEqual({c for c, _, _ in pending(self.r).values()}, {"alive"})
        self.assertEqual(self.r("XLEN", TARGET), 5)

    def test_deleted_while_pending(self):
        strand(self.r, 10)
        self.r("XDEL", STREAM, "3-0", "7-0")
        daemon = self.start(move())
        if harness.keeps_the_deleted():
            daemon.wait_pass(PASS_CLAIMED="10", PASS_MOVED="8", PASS_MISSING="2", PASS_DELETED="0")
            daemon.terminate()
            self.assertEqual(set(pending(self.r)), {"3-0", "7-0"})
            return
        record = daemon.wait_pass(PASS_DELETED="2")
        daemon.terminate()
        self.assertEqual(record.first("PASS_MOVED"), "8")
        self.assertEqual(daemon.wait_record(ENTRIES="2")["ENTRY_ID"], ["3-0", "7-0"])
        self.assertEqual(pending_count(self.r), 0)

    def test_too_many_fields(self):
        """Stays pending and is told once; the others are moved."""
        strand(self.r, 1, body=tuple(str(i) for i in range(8200)))
        strand(self.r, 3, first_ms=10)
        daemon = self.start(move(min_idle="1s"))
        record = daemon.wait_record(ENTRY_ID="1-0", OUTCOME="exhausted")
        self.assertIn("more fields than a script can copy to target_stream", record.message)
        daemon.wait_pass(PASS_MOVED="3", PASS_EXHAUSTED="1")
        self.r("XCLAIM", STREAM, GROUP, "ghost", 0, "1-0", "IDLE", 10 ** 6, "JUSTID")
        daemon.wait_pass(PASS_MOVED="0", PASS_EXHAUSTED="1")
        daemon.terminate()
        self.assertEqual(len(daemon.records(ENTRY_ID="1-0", OUTCOME="exhausted")), 1)
        self.assertEqual(set(pending(self.r)), {"1-0"})

    def test_once(self):
        strand(self.r, 20)
        text = config(self.redis.url, {"orders": move()})
        self.assertIn("orders: 20 would be claimed", self.run_daemon(text, "--dry-run")[1])
        self.assertEqual(self.r("EXISTS", TARGET), 0)
        status, out, _ = self.run_daemon(text, "--once")
        self.assertEqual(status, 0)
        self.assertEqual(out, "orders: 20 claimed, 20 acked, 0 failed, 0 rejected, 0 exhausted, 0 dead-lettered, "
                              "0 missing, 0 lost, 0 deferred, 0 released, 0 deleted, 20 moved\n")
        self.assertEqual(len(self.moved_ids()), 20)

    def test_a_server_that_repeats_scripts_on_its_replicas(self):
        """There a script that has looked at the clock may not write, unless it asks for that."""
        brand, version = harness.server_version()
        if version >= (7,):
            self.skipTest(f"{brand} {'.'.join(map(str, version))} has no lua-replicate-commands")
        self.r("CONFIG", "SET", "lua-replicate-commands", "no")
        ids = strand(self.r, 3)
        strand(self.r, 1, stream="poison")
        daemon = self.daemon(config(self.redis.url, {
            "orders": move(), "poison": harness.recovery("/bin/false", stream="poison",
                                                         max_deliveries=2, dead_letter_stream="dead")}))
        daemon.wait_record(DEAD_LETTER_STREAM="dead")
        self.settled(daemon)
        daemon.terminate()
        self.assertEqual(self.moved_ids(), ids)
        self.assertEqual(self.r("XLEN", "dead"), 1)

    # --- the copy cannot be written -------------------------------------------------------------

    def test_out_of_memory(self):
        """Nothing is claimed while the server has no memory; a server looks at that only before the
        first write of a script, so that is not the claim."""
        strand(self.r, 50)
        before = pending(self.r)
        self.r("CONFIG", "SET", "maxmemory-policy", "noeviction")
        self.r("CONFIG", "SET", "maxmemory", "1")
        daemon = self.start(move())
        record = daemon.wait_record(STATE="waiting", REDIS_ERROR="OOM")
        self.assertIn("no memory for target_stream", record.message)
        daemon.notify.wait_status("1 waiting (orders: no memory for target_stream (OOM))")
        self.assertEqual(self.r("EXISTS", TARGET), 0)
        self.assertEqual({i: (c, d) for i, (c, _, d) in pending(self.r).items()},
                         {i: (c, d) for i, (c, _, d) in before.items()})
        self.r("CONFIG", "SET", "maxmemory", "0")
        self.settled(daemon)
        daemon.terminate()
        self.assertEqual(self.moved_ids(), list(before))
        self.assertEqual(len([r for r in daemon.records(STATE="waiting") if r.priority == 4]), 1)

    def test_refused_in_mid_page(self):
        """What was copied is acknowledged, the rest is pending and can be claimed at once."""
        ids = strand(self.r, 20)
        # three more IDs, then this stream is full
        self.r("XADD", TARGET, f"{2 ** 64 - 1}-{2 ** 64 - 4}", "a", "b")
        daemon = self.start(move(interval="20ms"))
        record = daemon.wait_record(STATE="error")
        self.assertIn("target_stream takes nothing (ERR)", record.message)
        daemon.wait_count(20, PASS_PAGES="1")
        self.assertEqual(self.r("XLEN", TARGET), 4)
        self.assertEqual(list(pending(self.r)), ids[3:])
        account = balance(daemon.records(PASS_MOVED="3")[0])
        self.assertEqual(account["CLAIMED"], account["MOVED"] + account["DEFERRED"])
        # anybody can have them
        self.assertEqual(len(self.r("XAUTOCLAIM", STREAM, GROUP, "other", 3600000, "0-0", "JUSTID")
                             [1]), 17)
        self.r("XCLAIM", STREAM, GROUP, "other", 0, *ids[3:], "IDLE", 3600000, "JUSTID")
        self.assertEqual(len([r for r in daemon.records(STATE="error") if r.priority == 4]), 1)
        self.r("DEL", TARGET)
        self.settled(daemon)
        daemon.terminate()
        self.assertEqual(self.moved_ids(), ids[3:])
        self.assertEqual(len([r for r in daemon.records() if "working again" in r.message]), 1)

    def test_the_target_is_no_stream(self):
        ids = strand(self.r, 5)
        self.r("SET", TARGET, "x")
        daemon = self.start(move(interval="20ms"))
        record = daemon.wait_record(STATE="error", REDIS_ERROR="WRONGTYPE")
        self.assertIn("target_stream is not a stream", record.message)
        daemon.wait_count(20, PASS_PAGES="1")
        self.assertEqual(list(pending(self.r)), ids)
        self.assertEqual(len([r for r in daemon.records(STATE="error") if r.priority == 4]), 1)
        self.r("DEL", TARGET)
        self.settled(daemon)
        daemon.terminate()
        self.assertEqual(self.moved_ids(), ids)

    def test_refused_and_not_given_back(self):
        """A page that finds nothing to claim says nothing of a target that takes nothing."""
        strand(self.r, 1)
        strand(self.r, 1, first_ms=10, consumer="alive", idle_ms=0)
        self.r("SET", TARGET, "x")
        redis = self.user([r for r in RIGHTS["move"] if r != "+xclaim"], STREAM, TARGET)
        daemon = self.start(move(interval="20ms"), redis=redis)
        daemon.wait_record(STATE="error", REDIS_ERROR="WRONGTYPE")
        daemon.wait_count(20, PASS_CLAIMED="0", PASS_PAGES="1")
        self.assertEqual([r.message for r in daemon.records() if "working again" in r.message], [])
        daemon.notify.wait_status("1 in error (orders: target_stream is not a stream)")
        daemon.terminate()

    def test_rights(self):
        """With exactly the documented set it works; without any one of it nothing is copied twice
        or lost, and the record names the command."""
        ids = strand(self.r, 30)
        optional = {"+exists", "+ping", "+eval", "+xclaim"}
        for right in [r for r in RIGHTS["move"] if r not in optional]:
            with self.subTest(right=right):
                redis = self.user([r for r in RIGHTS["move"] if r != right], STREAM, TARGET)
                self.r("SCRIPT", "FLUSH")
                daemon = self.start(move(), redis=redis, name=right[1:])
                record = daemon.wait_record(STATE="error", REDIS_ERROR="NOPERM")
                self.assertIn(f"no permission for {right[1:].upper()}", record.message)
                self.assertEqual(daemon.terminate(), 0)
                self.assertEqual(self.r("EXISTS", TARGET), 0)
                self.assertEqual(list(pending(self.r)), ids)
        redis = self.user(RIGHTS["move"], STREAM, TARGET)
        daemon = self.start(move(), redis=redis, name="all")
        self.settled(daemon)
        daemon.terminate()
        self.assertEqual(self.moved_ids(), ids)
        # without these it does less well: what a page cannot reach comes when it is idle again
        for right in sorted(optional - {"+eval"}):
            with self.subTest(right=right):
                ids = ids + strand(self.r, 300, first_ms=int(ids[-1][:-2]) + 1)
                redis = self.user([r for r in RIGHTS["move"] if r != right], STREAM, TARGET)
                daemon = self.start(move(min_idle="1s"), redis=redis, name=right[1:])
                self.settled(daemon)
                daemon.terminate()
                self.assertEqual(sorted(self.moved_ids(), key=lambda i: int(i[:-2])), ids)

    def test_no_right_for_the_target(self):
        ids = strand(self.r, 5)
        daemon = self.start(move(), redis=self.user(RIGHTS["move"], STREAM))
        record = daemon.wait_record(STATE="error", REDIS_ERROR="NOPERM")
        print("#", record.message)
        self.assertEqual({c for c, _, _ in pending(self.r).values()}, {"dead"})
        self.r("ACL", "SETUSER", "recoverer", "~" + TARGET)
        self.settled(daemon)
        daemon.terminate()
        self.assertEqual(self.moved_ids(), ids)

    def test_read_only(self):
        ids = strand(self.r, 5)
        self.r("REPLICAOF", "127.0.0.1", "1")
        daemon = self.start(move(), redis=LINK)
        daemon.wait_record(REDIS_ERROR="READONLY")
        self.assertEqual(list(pending(self.r)), ids)
        self.r("REPLICAOF", "NO", "ONE")
        self.settled(daemon)
        daemon.terminate()
        self.assertEqual(self.moved_ids(), ids)

    def test_no_group(self):
        daemon = self.start(move())
        daemon.wait_record(STATE="waiting", REDIS_ERROR="NOGROUP")
        self.assertEqual(self.r("KEYS", "*"), [])
        ids = strand(self.r, 5)
        self.r("XCLAIM", STREAM, GROUP, "dead", 0, *ids, "IDLE", 3600000, "JUSTID")
        self.settled(daemon)
        daemon.terminate()
        self.assertEqual(self.moved_ids(), ids)

    def test_other_slot(self):
        """In a cluster both keys must be in one slot."""
        if harness.server_version()[1] >= (7,):
            ports = "--cluster-port", str(harness.free_port())
        else:  # the other port is 10,000 above
            ports = "--port", str(next(p for p in iter(harness.free_port, 0) if p < 55000))
        node = self.server("--cluster-enabled", "yes", "--cluster-config-file", "nodes", *ports,
                           name="node", tcp=True)
        client = self.client(node)
        client("CLUSTER", "ADDSLOTS", *range(16384))
        deadline = time.monotonic() + harness.DEADLINE
        while b"cluster_state:ok" not in client("CLUSTER", "INFO"):
            self.assertLess(time.monotonic(), deadline)
        ids = strand(client, 5)
        daemon = self.start(move(), node.url)
        record = daemon.wait_record(STATE="error", REDIS_ERROR="CROSSSLOT")
        self.assertIn("hash tag", record.message)
        self.assertEqual(daemon.terminate(), 0)
        self.assertEqual(list(pending(client)), ids)
        strand(client, 5, stream="{orders}")
        daemon = self.start(move(stream="{orders}", target_stream="{orders}:rescued"), node.url,
                            name="tagged")
        daemon.wait_pass(PASS_MOVED="5")
        daemon.terminate()
        self.assertEqual(client("XLEN", "{orders}:rescued"), 5)

    # --- whatever happens to the link, the server, the daemon ------------------------------------

    def test_lost_answers(self):
        """The answer of each page is lost once: nothing twice, nothing left."""
        ids = strand(self.r, 400)
        wire = self.proxy(f"unix:{self.redis.path}")
        wire("drop-reply EVAL")
        # (down for long enough to be told of the next loss)
        daemon = self.start(move(count=20), wire.url,
                            redis="reconnect_min = 300ms\nreconnect_max = 300ms\n")
        for lost in range(5):
            daemon.wait_count(lost + 1, STATE="down")
            wire("drop-reply EVALSHA 2")
        self.settled(daemon)
        daemon.terminate()
        self.assertEqual(self.moved_ids(), ids)
        self.assertGreaterEqual(len(daemon.records(STATE="down")), 5)
        # the account knows of what was answered only
        self.assertLess(sum(balance(r)["MOVED"] for r in daemon.records() if "PASS_CLAIMED" in r),
                        400)

    def test_cut_at_many_bytes(self):
        ids = strand(self.r, 300)
        wire = self.proxy(f"unix:{self.redis.path}")
        daemon = self.start(move(count=10), wire.url, redis=LINK)
        for n in range(20):
            before = len(daemon.records(STATE="up"))
            wire(f"cut-{'up' if n % 2 else 'down'} {37 * n + 1}")
            daemon.journal.wait_until(lambda rs, b=before: pending_count(self.r) == 0 or sum(
                r.first("STATE") == "up" for r in rs) > b, harness.DEADLINE)
            if pending_count(self.r) == 0:
                break
        self.settled(daemon)
        daemon.terminate()
        self.assertEqual(self.moved_ids(), ids)

    def test_a_page_that_the_server_carries_out_late(self):
        """A page that was held up (the server stood still, its clock was set) would take what others
        still handle: it says how late it may be, and is nothing when it is later."""
        ids = strand(self.r, 5)
        self.r("SCRIPT", "FLUSH")
        wire = self.proxy(f"unix:{self.redis.path}")
        daemon = self.start(move(min_idle="8s"), wire.url)
        daemon.wait_pass(PASS_MOVED="5")
        daemon.terminate()
        told = [e for e in wire.exchanges() if e.name in ("TIME", "EVAL")]
        at = [e.name for e in told].index("EVAL")
        seconds, usec = map(int, told[at - 1].reply)
        script = told[at].words
        latest = int(script[-1]) - seconds * 10 ** 6 - usec
        self.assertGreaterEqual(latest, 2 * 10 ** 6)
        self.assertLess(latest, 3 * 10 ** 6)
        self.r("XCLAIM", STREAM, GROUP, "dead", 0, *ids, "IDLE", 3600000, "FORCE", "JUSTID")
        before = {i: (c, d) for i, (c, _, d) in pending(self.r).items()}
        script[-1] = seconds * 10 ** 6 + usec
        answer = self.r(*script)
        self.assertEqual((answer[0], answer[1], answer[5]), (b"0-0", 0, 1))
        self.assertEqual({i: (c, d) for i, (c, _, d) in pending(self.r).items()}, before)
        self.assertEqual(self.r("XLEN", TARGET), 5)
        script[-1] = (seconds + 3600) * 10 ** 6
        answer = self.r(*script)
        self.assertEqual((answer[1], answer[5]), (5, 0))

    def until_moved(self, n, seconds=harness.DEADLINE):
        """Until so many are moved, all are, or the time is over."""
        end = time.monotonic() + seconds
        while (self.r("XLEN", TARGET) < n and pending_count(self.r)
               and time.monotonic() < end):
            self.r("XREAD", "COUNT", 1, "BLOCK", 200, "STREAMS", TARGET, "$")

    def race(self, n):
        ids = strand(self.r, n)
        text = config(self.redis.url, {"orders": move(consumer="%i", count=20)}, redis=LINK)
        names = ["a", "b"]

        def born(i):
            names[i % 2] = f"{'ab'[i % 2]}{i}"
            return self.daemon(text.replace("%i", names[i % 2]), name=names[i % 2], level="info")
        daemons = [born(0), born(1)]
        kills = 0
        deadline = time.monotonic() + max(120, n / 1000)
        while pending_count(self.r):
            self.assertLess(time.monotonic(), deadline)
            victim = kills % 2
            self.until_moved(self.r("XLEN", TARGET) + n // 12, 2)
            daemons[victim].kill()
            kills += 1
            daemons[victim] = born(kills + 1)
        for daemon in daemons:
            self.assertEqual(daemon.wait_ready().terminate(), 0)
        return ids, kills

    def test_two_daemons_race_and_are_killed(self):
        n = int(os.environ.get("MANY", "20000"))
        begun = time.monotonic()
        ids, kills = self.race(n)
        moved, who, last = collections.Counter(), collections.Counter(), "-"
        while True:
            rows = self.r("XRANGE", TARGET, last, "+", "COUNT", 500)
            if not rows:
                break
            for _, flat in rows:
                moved[flat[-11].decode()] += 1
                who[flat[-9].decode()] += 1
            last = "(" + rows[-1][0].decode()
        self.assertEqual(len(moved), n)
        self.assertEqual(max(moved.values()), 1)
        self.assertEqual(set(moved), set(ids))
        self.assertGreater(kills, 2)
        self.assertGreater(len(who), 2)
        print(f"# {n} entries, {kills} kills, by {len(who)} daemons, in "
              f"{time.monotonic() - begun:.1f} s")

    def test_drain(self):
        """Stopped in mid-scan: what was moved is moved, the rest is as it was."""
        ids = strand(self.r, 3000)
        daemon = self.start(move(count=5))
        daemon.journal.wait_until(lambda _: 0 < pending_count(self.r) < 2900, harness.DEADLINE)
        self.assertEqual(daemon.terminate(), 0)
        moved = self.moved_ids()
        self.assertEqual(moved, ids[:len(moved)])
        left = pending(self.r)
        self.assertEqual(list(left), ids[len(moved):])
        self.assertEqual({d for _, _, d in left.values()}, {1})


    def test_server_restart(self):
        """Killed in mid-move, three times: what is in its file is in one place, once."""
        ids = self.durable(3000)
        daemon = self.start(move(count=20), redis=LINK)
        for left in (2500, 1500, 500):
            self.until_moved(3000 - left)
            self.restart()
        self.settled(daemon)
        self.assertEqual(daemon.terminate(), 0)
        self.assertEqual(self.moved_ids(), ids)


class ClaimOnly(Transfer):
    def test_server_restart(self):
        """Killed between claims and pushes: each ID comes at least once, none is acknowledged."""
        ids = self.durable(2000)
        daemon = self.start(claim(min_idle="1s", count=20, worklist=LIST), redis=LINK)
        for n in (300, 900, 1500):
            daemon.journal.wait_until(lambda _, n=n: self.r("LLEN", LIST) >= n, harness.DEADLINE)
            self.restart()
        daemon.journal.wait_until(
            lambda _: {i.decode() for i in self.r("LRANGE", LIST, 0, -1)} == set(ids), 60)
        self.assertEqual(daemon.terminate(), 0)
        self.assertEqual(list(pending(self.r)), ids)

    def test_claimed_and_nothing_else(self):
        n = 1000
        ids = strand(self.r, n, body=("n", "x" * 1000))
        wire = self.proxy(f"unix:{self.redis.path}")
        daemon = self.start(claim(interval="60s"), wire.url)
        record = daemon.wait_pass()
        daemon.terminate()
        account = balance(record)
        self.assertEqual((account.pop("CLAIMED"), account.pop("HANDED_OVER")), (n, n))
        self.assertEqual(set(account.values()), {0})
        left = pending(self.r)
        self.assertEqual(list(left), ids)
        self.assertEqual({(c, d) for c, _, d in left.values()}, {("app", 1)})
        seen = collections.Counter(e.name for e in wire.exchanges())
        self.assertLessEqual(set(seen), {"HELLO", "CLIENT", "SELECT", "PING", "XPENDING", "TIME",
                                         "XAUTOCLAIM"}, seen)
        received = sum(len(e.raw_reply) for e in wire.exchanges())
        self.assertLess(received, 60 * n)
        print(f"# {received / n:.1f} bytes an entry")
        self.assertEqual(self.r("KEYS", "*"), [STREAM.encode()])
        # the application reads what is pending for it
        rows = self.r("XREADGROUP", "GROUP", GROUP, "app", "COUNT", n, "STREAMS", STREAM, "0")
        self.assertEqual(len(rows[0][1]), n)

    def test_worklist(self):
        n = 1000
        ids = strand(self.r, n)
        wire = self.proxy(f"unix:{self.redis.path}")
        daemon = self.start(claim(interval="60s", worklist=LIST), wire.url)
        daemon.wait_pass(PASS_HANDED_OVER=n)
        daemon.terminate()
        self.assertEqual([i.decode() for i in self.r("LRANGE", LIST, 0, -1)], ids)
        received = sum(len(e.raw_reply) for e in wire.exchanges())
        self.assertLess(received, 60 * n)
        order = [e.name for e in wire.exchanges() if e.name in ("XAUTOCLAIM", "RPUSH")]
        self.assertEqual(order[:4], ["XAUTOCLAIM", "RPUSH"] * 2)
        self.assertEqual(sorted(self.r("KEYS", "*")), sorted([STREAM.encode(), LIST.encode()]))

    def test_what_is_not_acknowledged_is_pushed_again(self):
        strand(self.r, 3)
        daemon = self.start(claim(min_idle="1s", worklist=LIST))
        daemon.journal.wait_until(lambda _: self.r("LLEN", LIST) == 6, harness.DEADLINE)
        self.r("XACK", STREAM, GROUP, "1-0", "2-0", "3-0")
        daemon.terminate()
        self.assertEqual(collections.Counter(self.r("LRANGE", LIST, 0, 5)),
                         {b"1-0": 2, b"2-0": 2, b"3-0": 2})

    def test_a_push_whose_answer_is_lost(self):
        """Pushed again: at least once."""
        ids = strand(self.r, 30)
        wire = self.proxy(f"unix:{self.redis.path}")
        wire("drop-reply RPUSH 2")
        daemon = self.start(claim(count=10, worklist=LIST), wire.url, redis=LINK)
        daemon.wait_pass(PASS_HANDED_OVER="30")
        daemon.terminate()
        self.assertEqual(collections.Counter(i.decode() for i in self.r("LRANGE", LIST, 0, -1)),
                         {i: 2 if 10 <= n < 20 else 1 for n, i in enumerate(ids)})

    def test_a_push_that_is_refused(self):
        """Kept and pushed when that is possible again; no further page meanwhile."""
        ids = strand(self.r, 30)
        self.r("SET", LIST, "x")
        daemon = self.start(claim(count=10, interval="20ms", worklist=LIST))
        record = daemon.wait_record(STATE="error", REDIS_ERROR="WRONGTYPE")
        self.assertIn("worklist is not a list", record.message)
        daemon.wait_count(20, PASS_PAGES="0")
        self.assertEqual(collections.Counter(c for c, _, _ in pending(self.r).values()),
                         {"app": 10, "dead": 20})
        self.assertEqual(len([r for r in daemon.records(STATE="error") if r.priority == 4]), 1)
        self.r("DEL", LIST)
        daemon.journal.wait_until(lambda _: self.r("LLEN", LIST) == 30, harness.DEADLINE)
        daemon.terminate()
        self.assertEqual([i.decode() for i in self.r("LRANGE", LIST, 0, -1)], ids)
        self.assertEqual(sum(balance(r)["HANDED_OVER"] for r in daemon.records()
                             if "PASS_CLAIMED" in r), 30)

    def test_stopped_before_the_push(self):
        """The end does not wait for a list that takes nothing; the next life pushes."""
        ids = strand(self.r, 5)
        self.r("SET", LIST, "x")
        keys = claim(min_idle="1s", worklist=LIST)
        daemon = self.start(keys)
        daemon.wait_record(STATE="error", REDIS_ERROR="WRONGTYPE")
        self.assertEqual(daemon.terminate(), 0)
        account = balance(daemon.wait_pass())
        self.assertEqual(account["CLAIMED"], account["DEFERRED"])
        self.r("DEL", LIST)
        daemon = self.start(keys, name="again")
        daemon.journal.wait_until(lambda _: self.r("LLEN", LIST) >= 5, harness.DEADLINE)
        daemon.terminate()
        self.assertLessEqual(set(ids), {i.decode() for i in self.r("LRANGE", LIST, 0, -1)})

    def test_killed_again_and_again(self):
        """Each ID is in the list at least once."""
        n = 3000
        ids = strand(self.r, n)
        keys = claim(min_idle="1s", count=10, worklist=LIST)
        for life in range(6):
            daemon = self.start(keys, name=f"life{life}", level="info")
            before = self.r("LLEN", LIST)
            daemon.journal.wait_until(lambda _, b=before: self.r("LLEN", LIST) > b + 100,
                                      harness.DEADLINE)
            daemon.kill()
        daemon = self.start(keys, name="last", level="info")
        daemon.journal.wait_until(
            lambda _: {i.decode() for i in self.r("LRANGE", LIST, 0, -1)} == set(ids), 60)
        daemon.terminate()

    def test_once(self):
        strand(self.r, 20)
        text = config(self.redis.url, {"orders": claim(worklist=LIST)})
        status, out, _ = self.run_daemon(text, "--once")
        self.assertEqual((status, self.r("LLEN", LIST)), (0, 20))
        self.assertEqual(out, "orders: 20 claimed, 0 acked, 0 failed, 0 rejected, 0 exhausted, 0 dead-lettered, "
                              "0 missing, 0 lost, 0 deferred, 0 released, 0 deleted, "
                              "20 handed over\n")
        strand(self.r, 5, first_ms=100)
        self.r("DEL", LIST)
        self.r("SET", LIST, "x")
        status, out, _ = self.run_daemon(text, "--once")
        self.assertEqual((status, out), (69, "orders: could not run: worklist is not a list\n"))

    def test_rights(self):
        strand(self.r, 30)
        for right in RIGHTS["claim-only"][:3]:
            with self.subTest(right=right):
                redis = self.user([r for r in RIGHTS["claim-only"] if r != right], STREAM, LIST)
                daemon = self.start(claim(worklist=LIST), redis=redis, name=right[1:])
                record = daemon.wait_record(STATE="error", REDIS_ERROR="NOPERM")
                self.assertIn(f"no permission for {right[1:].upper()}", record.message)
                self.assertEqual(daemon.terminate(), 0)
                self.assertEqual(self.r("EXISTS", LIST), 0)
        self.r("XCLAIM", STREAM, GROUP, "dead", 0, *pending(self.r), "IDLE", 3600000, "JUSTID")
        daemon = self.start(claim(worklist=LIST), redis=self.user(RIGHTS["claim-only"], STREAM, LIST),
                            name="all")
        daemon.wait_pass(PASS_HANDED_OVER="30")
        self.assertEqual(daemon.terminate(), 0)
        self.assertEqual(self.r("LLEN", LIST), 30)

    def test_deleted_while_pending(self):
        strand(self.r, 10)
        self.r("XDEL", STREAM, "3-0")
        daemon = self.start(claim(worklist=LIST))
        kept = 1 if harness.keeps_the_deleted() else 0
        daemon.wait_pass(PASS_DELETED=1 - kept, PASS_HANDED_OVER=9 + kept)
        daemon.terminate()
        self.assertEqual(self.r("LLEN", LIST), 9 + kept)

    def test_after_an_outage(self):
        """For min_idle after an absence entries must be idle for that much longer."""
        wire = self.proxy(f"unix:{self.redis.path}")
        strand(self.r, 1)
        daemon = self.start(claim(min_idle="2s", interval="10ms"), wire.url, redis=LINK)
        daemon.wait_pass()
        strand(self.r, 5, first_ms=100, consumer="alive", idle_ms=0)
        wire("cut")
        daemon.wait_count(2, STATE="up")
        daemon.wait_count(len(daemon.records(PASS_PAGES="1")) + 5, PASS_PAGES="1")
        daemon.terminate()
        claims = [int(e.words[4]) for e in wire.exchanges() if e.name == "XAUTOCLAIM"]
        probe, = [i for i, m in enumerate(claims) if m > 10 ** 12]
        self.assertEqual(set(claims[:probe]), {2000})
        self.assertGreater(min(claims[probe + 1:]), 2000)
        self.assertGreater(len(claims), probe + 3)


if __name__ == "__main__":
    harness.main()
