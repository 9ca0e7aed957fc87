#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""At the ends of what is allowed: large and odd entries, the lowest and the highest IDs, names of
any bytes that the configuration can express, many recoveries, the smallest settings, the limits
that all recoveries share."""

import base64
import hashlib
import json
import os
import random

import harness
from harness import GROUP, STREAM, Test, config, pending_count, recovery, strand


class Limit(Test):
    def setUp(self):
        super().setUp()
        self.redis = self.server()
        self.r = self.client(self.redis)

    def read(self, name):
        with open(self.path(name), "rb") as file:
            return file.read()

    def end(self, daemon):
        self.assertEqual(daemon.terminate(), 0)


def of_string(text):
    """What a JSON payload has for these bytes."""
    try:
        return text.decode()
    except UnicodeDecodeError:
        return {"base64": base64.b64encode(text).decode()}


def resp_entry(entry_id, strings):
    head = b"*2\r\n$%d\r\n%s\r\n*%d\r\n" % (len(entry_id), entry_id, len(strings))
    return head + b"".join(b"$%d\r\n%s\r\n" % (len(s), s) for s in strings)


class Entries(Limit):
    def hand_over(self, strings, handler="cat"):
        """One entry, as json and as resp: the output of handler by payload."""
        for payload in ("json", "resp"):
            strand(self.r, 1, stream=payload, body=strings)
        script = self.handler(f'{handler} >{self.path("out")}.$XAUTOCLAIMD_RECOVERY\n')
        daemon = self.daemon(config(self.redis.url, {
            p: recovery(script, stream=p, payload=p) for p in ("json", "resp")}))
        for payload in ("json", "resp"):
            daemon.wait_pass(RECOVERY=payload, PASS_ACKED="1")
            self.assertEqual(pending_count(self.r, payload), 0)
        self.end(daemon)
        return self.read("out.json"), self.read("out.resp")

    def check(self, strings):
        as_json, as_resp = self.hand_over(strings)
        given = json.loads(as_json)
        self.assertEqual(given.pop("fields"), [[of_string(name), of_string(value)]
                                               for name, value in zip(strings[::2], strings[1::2])])
        self.assertEqual(given, {"recovery": "json", "stream": "json", "group": GROUP,
                                 "id": "1-0", "deliveries": 2})
        self.assertEqual(as_json.count(b"\n"), 1)
        self.assertEqual(as_resp, resp_entry(b"1-0", strings))

    def test_ten_thousand_pairs(self):
        self.check([b"%s%d" % (word, i) for i in range(10000) for word in (b"name", b"value")])

    def test_empty_names_and_values(self):
        self.check([b"", b"", b"", b"a", b"b", b"", b"", b""])

    def test_binary_values(self):
        noise = random.Random(1)
        self.check([bytes(range(256)), bytes(range(255, -1, -1)), b"\0", b"\r\n", b"\r\n", b"\0\0",
                    b"*2\r\n$1\r\n", b"\xff" * 1000, "\U0010ffff".encode(), b"\xf4\x90\x80\x80"]
                   + [noise.randbytes(n) for n in range(200)])

    def test_a_value_of_64_mib(self):
        size = 64 << 20
        block = random.Random(2).randbytes(1 << 20).hex().encode()
        value = (block * (size // len(block) + 1))[:size]
        as_json, as_resp = self.hand_over(["n", value], "sha256sum")
        text = (b'{"recovery":"json","stream":"json","group":"workers","id":"1-0","deliveries":2,'
                b'"fields":[["n","%s"]]}\n' % value)
        for said, payload in ((as_json, text), (as_resp, resp_entry(b"1-0", [b"n", value]))):
            self.assertEqual(said.split()[0].decode(), hashlib.sha256(payload).hexdigest())

    def test_the_lowest_and_the_highest_ids(self):
        top = 2**64 - 1
        ids = ["0-1", "0-2", f"0-{top}", "1-0", f"1-{top}", f"{2**63 - 1}-{top}", f"{2**63}-0",
               f"{top - 1}-{top}", f"{top}-0", f"{top}-{top - 1}", f"{top}-{top}"]
        self.r("XGROUP", "CREATE", STREAM, GROUP, "0", "MKSTREAM")
        for entry_id in ids:
            self.r("XADD", STREAM, entry_id, "n", entry_id)
        self.r("XREADGROUP", "GROUP", GROUP, "dead", "STREAMS", STREAM, ">")
        self.r("XCLAIM", STREAM, GROUP, "dead", 0, *ids, "IDLE", 3600000, "JUSTID")
        out = self.path("out")
        wire = self.proxy(f"unix:{self.redis.path}")
        # a window of one: each ID is a cursor once
        daemon = self.daemon(config(wire.url, {"orders": recovery(
            self.handler(f'echo "$XAUTOCLAIMD_ID" >>{out}; cat >>{out}.json\n'), concurrency=1,
            claim_ahead=0)}))
        daemon.wait_pass(PASS_CLAIMED=len(ids), PASS_OK=len(ids), PASS_ACKED=len(ids))
        self.end(daemon)
        self.assertEqual(self.read("out").decode().split(), ids)
        given = [json.loads(line) for line in self.read("out.json").splitlines()]
        self.assertEqual([(g["id"], g["fields"]) for g in given], [(i, [["n", i]]) for i in ids])
        self.assertEqual(pending_count(self.r), 0)
        cursors = [e.words[5].decode() for e in wire.exchanges() if e.name == "XAUTOCLAIM"]
        self.assertIn(ids[-1], cursors)


class Names(Limit):
    ODD = ["with  two spaces inside", '"quoted"', "'quoted'", 'one " only', "100%", "%H", "%%",
           "back\\slash\\n\\", "a:b::c", "=", "a=b", "{tag}:1", "{", "#hash", "a#b", "a;b",
           "[brackets]", "[", "*?", "$HOME", "`id`", "-", "--", "0-0", ">", "$", "0", "COUNT",
           "Stra\u00dfe \u65e5\u672c\u8a9e \U0001f600", "\u202eright to left", "e\u0301",
           "no\u00a0break"]
    # what a line of 198 bytes has room for
    LONGEST = {"stream": 198 - len("stream = "), "group": 198 - len("group = "), "consumer": 180}

    def test_names_of_any_bytes(self):
        out = self.path("out")
        script = self.handler(f'cat >{out}.$XAUTOCLAIMD_RECOVERY\n'
                              f'env -0 >{out}.$XAUTOCLAIMD_RECOVERY.env\n')
        wire = self.proxy(f"unix:{self.redis.path}")
        names = {f"odd{i}": ("s" + odd, odd, odd) if odd[0] in "#" else (odd, odd, odd)
                 for i, odd in enumerate(self.ODD)}
        names["long"] = tuple("n\u00e4" * (n // 3) + "x" * (n % 3) for n in self.LONGEST.values())
        recoveries = {}
        for name, (stream, group, consumer) in names.items():
            strand(self.r, 2, stream=stream, group=group)
            recoveries[name] = recovery(script, stream=stream, group=group,
                                        consumer=consumer.replace("%", "%%"))
        daemon = self.daemon(config(wire.url, recoveries))
        for name in names:
            daemon.wait_pass(RECOVERY=name, PASS_ACKED="2")
        self.end(daemon)

        on_wire = {}
        for exchange in wire.exchanges():
            self.assertNotIsInstance(exchange.reply, harness.ReplyError)
            words = [w.decode() for w in exchange.words[1:4]]
            if exchange.name in ("XAUTOCLAIM", "XCLAIM"):
                on_wire.setdefault(exchange.name, set()).add(tuple(words))
            elif exchange.name == "XACK":
                on_wire.setdefault(exchange.name, set()).add(tuple(words[:2]))
        self.assertEqual(on_wire, {"XAUTOCLAIM": set(names.values()),
                                   "XCLAIM": set(names.values()),
                                   "XACK": {n[:2] for n in names.values()}})
        for name, (stream, group, consumer) in names.items():
            given = json.loads(self.read(f"out.{name}"))
            self.assertEqual((given["recovery"], given["stream"], given["group"]),
                             (name, stream, group))
            env = dict(v.split(b"=", 1) for v in self.read(f"out.{name}.env").split(b"\0") if v)
            self.assertEqual([env[b"XAUTOCLAIMD_" + w].decode()
                              for w in (b"RECOVERY", b"STREAM", b"GROUP", b"CONSUMER")],
                             [name, stream, group, consumer])
            self.assertEqual(pending_count(self.r, stream, group), 0)

    def test_a_byte_more_is_refused(self):
        script = self.handler("exit 0\n")
        for key, most in self.LONGEST.items():
            for n, expected in ((most, 0), (most + 1, 78)):
                text = config(self.redis.url, {"orders": recovery(script, **{key: "x" * n})})
                status, _, errors = self.run_daemon(text, "--check")
                self.assertEqual(status, expected, f"{key}, {n} bytes: {errors}")
                self.assertEqual("accepted: " in errors, expected != 0, errors)


class Many(Limit):
    def test_two_hundred_recoveries(self):
        n = 200
        out = self.path("out")
        script = self.handler(f'echo "$XAUTOCLAIMD_STREAM $XAUTOCLAIMD_ID" >>{out}\n')
        recoveries = {}
        for i in range(n):
            strand(self.r, 3, stream=f"s{i}")
            recoveries[f"r{i}"] = recovery(script, stream=f"s{i}")
        daemon = self.daemon(config(self.redis.url, recoveries), level="info")
        daemon.wait_count(n, PASS_CLAIMED="3", PASS_OK="3", PASS_ACKED="3")
        daemon.notify.wait_status(f"{n} recoveries")
        self.end(daemon)
        handled = self.read("out").decode().split("\n")[:-1]
        self.assertEqual(sorted(handled),
                         sorted(f"s{i} {k}-0" for i in range(n) for k in (1, 2, 3)))
        self.assertEqual([pending_count(self.r, f"s{i}") for i in range(n)], [0] * n)
        # one connection for all of them (and the test's)
        self.assertLessEqual(int(dict(line.split(":") for line in self.r("INFO", "stats").decode()
                                      .split("\r\n") if ":" in line)
                                 ["total_connections_received"]), 2)


class Shared(Limit):
    """What all recoveries share: handlers write how many they are, and wait for the test."""

    def script(self, gate):
        os.makedirs(self.path("at-work"))
        return self.handler(
            f'me={self.path("at-work")}/"$XAUTOCLAIMD_RECOVERY.$XAUTOCLAIMD_ID"\n'
            f'cat >/dev/null\nmkdir "$me" || exit 70\nset -- {self.path("at-work")}/*\n'
            f'echo $# >>{self.path("counts")}\n{gate.wait}\nrmdir "$me"\n')

    def begun(self, daemon):
        return [r.first("RECOVERY") for r in daemon.journal.records()
                if "given to the handler" in r.message]

    def step_through(self, daemon, gate, n, at_once):
        """Lets n handlers end one by one: so many are at work, and never one more. The names of
        the recoveries, in the order of their attempts."""
        for done in range(n):
            expected = min(n, done + at_once)
            daemon.journal.wait_until(lambda rs, n=expected: sum(
                "given to the handler" in r.message for r in rs) >= n, harness.DEADLINE)
            self.assertEqual(len(self.begun(daemon)), expected)
            gate.open()
            daemon.wait_count(done + 1, OUTCOME="ok")
        counts = [int(c) for c in self.read("counts").split()]
        self.assertEqual(len(counts), n)
        self.assertLessEqual(max(counts), at_once)
        return self.begun(daemon)

    def start(self, n, shared, body=("n", "1"), names=("a", "b")):
        gate = self.gate()
        for name in names:
            strand(self.r, n, stream="s-" + name, body=body)
        script = self.script(gate)
        return gate, self.daemon(config(
            self.redis.url, {name: recovery(script, stream="s-" + name, concurrency=8)
                             for name in names}, daemon=shared))

    def finish(self, daemon, n, names=("a", "b")):
        for name in names:
            daemon.wait_pass(RECOVERY=name, PASS_OK=n, PASS_ACKED=n)
            self.assertEqual(pending_count(self.r, "s-" + name), 0)
        self.end(daemon)

    def test_three_handlers_for_two_recoveries(self):
        n = 15
        gate, daemon = self.start(n, "max_handlers = 3")
        order = self.step_through(daemon, gate, 2 * n, 3)
        self.finish(daemon, n)
        # whoever comes first may take all; then they take turns until one has no more to do
        share = order[3:n].count("a") / (n - 3)
        self.assertTrue(0.3 <= share <= 0.7, order)

    def test_bodies_at_once(self):
        """Three bodies of 300 KB are below a megabyte: a fourth may begin, and no fifth."""
        n = 12
        gate, daemon = self.start(n, "max_body_bytes = 1M", ("n", "x" * 300 * 1024), ("a",))
        self.step_through(daemon, gate, n, 4)
        self.finish(daemon, n, ("a",))

    def test_bodies_at_once_of_two_recoveries(self):
        n = 10
        gate, daemon = self.start(n, "max_body_bytes = 1M", ("n", "x" * 300 * 1024))
        order = self.step_through(daemon, gate, 2 * n, 4)
        self.finish(daemon, n)
        share = order[4:n].count("a") / (n - 4)
        self.assertTrue(0.3 <= share <= 0.7, order)

    def test_whoever_is_next_and_away_holds_up_nobody(self):
        """The only slot becomes free while the server of the next in the queue is away."""
        away = self.server(name="away")
        gate = self.gate()
        script = self.script(gate)
        strand(self.r, 4, stream="b")
        daemon = self.daemon(
            f"[daemon]\nmax_handlers = 1\ndrain_timeout = 0s\n[redis]\nurl = {self.redis.url}\n"
            f"[redis away]\nurl = {away.url}\n"
            + "".join(f"[recovery {name}]\n" + "".join(
                f"{k} = {v}\n" for k, v in recovery(script, stream=name, **keys).items())
                for name, keys in (("a", {"redis": "away"}), ("b", {}))))
        daemon.wait_record(RECOVERY="b", DELIVERIES="2")
        strand(self.client(away), 4, stream="a")
        daemon.wait_record(RECOVERY="a", PAGE_CLAIMED="4")
        daemon.wait_record(RECOVERY="a", PAGE_CLAIMED="0", PAGE_CURSOR="0-0")
        daemon.journal.clear()
        daemon.wait_record(RECOVERY="a", PAGE_CLAIMED="0")  # the counters have come: it is queued
        away.kill()
        daemon.wait_record(RECOVERY="a", STATE="waiting")
        gate.open(4)
        daemon.wait_pass(RECOVERY="b", PASS_OK="4")
        self.end(daemon)


class Smallest(Limit):
    def run_with(self, most_held, n=12, **keys):
        """No more than so many are ever held, and all are recovered."""
        ids = strand(self.r, n)
        out = self.path("out")
        wire = self.proxy(f"unix:{self.redis.path}")
        daemon = self.daemon(config(wire.url, {"orders": recovery(
            self.handler(f'echo "$XAUTOCLAIMD_ID" >>{out}\n'), **keys)}))
        daemon.wait_pass(PASS_CLAIMED=n, PASS_OK=n, PASS_ACKED=n)
        self.end(daemon)
        self.assertEqual(sorted(self.read("out").decode().split()), sorted(ids))
        self.assertEqual(pending_count(self.r), 0)
        held, counts = 0, []
        for exchange in wire.exchanges():
            if exchange.name == "XAUTOCLAIM":
                counts.append(int(exchange.words[7]))
                held += len(exchange.reply[1])
                self.assertLessEqual(held, most_held)
            elif exchange.name == "XACK":
                held -= exchange.reply
        return counts

    def test_count_1(self):
        self.assertEqual(set(self.run_with(8, count=1)), {1})

    def test_claim_ahead_0(self):
        self.assertLessEqual(max(self.run_with(4, claim_ahead=0)), 4)

    def test_concurrency_1(self):
        self.assertLessEqual(max(self.run_with(2, concurrency=1)), 2)

    def test_all_at_their_smallest(self):
        self.assertEqual(set(self.run_with(1, count=1, claim_ahead=0, concurrency=1)), {1})


if __name__ == "__main__":
    harness.main()
