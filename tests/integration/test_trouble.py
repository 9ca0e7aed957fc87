#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""What goes wrong is a state: said once when it is entered, once when it is left, shown in the
status, tried again each interval, and never in the way of other recoveries."""

import time

import harness
from harness import GROUP, STREAM, ReplyError, Test, config, pending, pending_count, recovery, strand
from ownership import outlast
from peer import Peer

RIGHTS = ["+xautoclaim", "+xclaim", "+xrange", "+xack", "+xpending", "+exists", "+ping"]


class Trouble(Test):
    def setUp(self):
        super().setUp()
        self.log = self.path("handled")
        self.script = self.handler(f'echo "$XAUTOCLAIMD_ID" >>{self.log}\n')

    def two(self, url, redis="", **keys):
        """The recovery under test, and another one on the same server."""
        return config(url, {
            "orders": recovery(self.script, interval="10ms", **keys),
            "other": recovery(self.handler("exit 0\n", "other"), stream="other", interval="50ms"),
        }, redis=redis)

    def news(self, daemon, name="orders"):
        """Records that an operator sees, of this recovery."""
        return [r for r in daemon.records(RECOVERY=name) if r.priority <= 6]

    def stays_quiet(self, daemon, intervals=200, most=1):
        """So many more tries, and no more records than these. A try without result ends in an
        account at debug."""
        before = len(daemon.records(RECOVERY="orders", PASS_PAGES="0"))
        daemon.wait_count(before + intervals, RECOVERY="orders", PASS_PAGES="0")
        news = self.news(daemon)
        self.assertLessEqual(len(news), most, [r.message for r in news])

    def other_still_works(self, daemon, client):
        strand(client, 3, stream="other", first_ms=client("XLEN", "other") + 1)
        daemon.wait_pass(RECOVERY="other", PASS_ACKED="3")

    def mended(self, daemon, n):
        daemon.wait_pass(RECOVERY="orders", PASS_ACKED=n)
        news = self.news(daemon)
        self.assertEqual([r for r in news if "PASS_PAGES" not in r and "STATE" in r][1:], [])
        ups = [r for r in news if "working again" in r.message]
        self.assertEqual(len(ups), 1, [r.message for r in news])
        daemon.notify.wait_status("2 recoveries")
        self.assertEqual(daemon.terminate(), 0)

    def test_no_group(self):
        redis = self.server()
        client = self.client(redis)
        client("XADD", STREAM, "1-0", "n", "1")
        strand(client, 1, stream="other")
        daemon = self.daemon(self.two(redis.url))
        record = daemon.wait_record(RECOVERY="orders", STATE="waiting", REDIS_ERROR="NOGROUP")
        self.assertEqual(record.priority, 4)
        self.assertIn('no group "workers"', record.message)
        daemon.notify.wait_status("2 recoveries, 1 waiting (orders: no group \"workers\")")
        self.stays_quiet(daemon)
        self.other_still_works(daemon, client)
        with self.assertRaises(ReplyError):  # the group was not created by us
            client("XINFO", "CONSUMERS", STREAM, GROUP)
        client("XDEL", STREAM, "1-0")
        strand(client, 4, first_ms=10)
        self.mended(daemon, 4)

    def test_no_key(self):
        redis = self.server()
        client = self.client(redis)
        strand(client, 1, stream="other")
        daemon = self.daemon(self.two(redis.url))
        record = daemon.wait_record(RECOVERY="orders", STATE="waiting", REDIS_ERROR="NOGROUP")
        self.assertIn('no stream "orders"', record.message)
        daemon.notify.wait_status("1 waiting (orders: no stream \"orders\")")
        self.stays_quiet(daemon)
        self.assertEqual(client("EXISTS", STREAM), 0)
        self.other_still_works(daemon, client)
        strand(client, 4)
        self.mended(daemon, 4)

    def test_wrong_type(self):
        redis = self.server()
        client = self.client(redis)
        client("SET", STREAM, "x")
        strand(client, 1, stream="other")
        daemon = self.daemon(self.two(redis.url))
        record = daemon.wait_record(RECOVERY="orders", STATE="error", REDIS_ERROR="WRONGTYPE")
        self.assertIn("not a stream", record.message)
        daemon.notify.wait_status("1 in error (orders: the key is not a stream)")
        self.stays_quiet(daemon)
        self.other_still_works(daemon, client)
        client("DEL", STREAM)
        strand(client, 4)
        daemon.wait_pass(RECOVERY="orders", PASS_ACKED="4")
        self.assertEqual(daemon.terminate(), 0)

    def without(self, right):
        """A server whose user lacks one right, with entries stranded, and the daemon."""
        redis = self.server()
        client = self.client(redis)
        password = harness.write(self.path("password"), "secret\n", 0o600)
        client("ACL", "SETUSER", "recoverer", "on", ">secret", "~*",
               *[r for r in RIGHTS if r != right])
        strand(client, 5)
        strand(client, 1, stream="other")
        text = self.two(redis.url, redis=f"username = recoverer\npassword_file = {password}\n",
                        concurrency=1, claim_ahead=4)
        return redis, client, text

    def lacks(self, command):
        _, client, text = self.without("+" + command)
        daemon = self.daemon(text)
        record = daemon.wait_record(RECOVERY="orders", STATE="error", REDIS_ERROR="NOPERM")
        self.assertIn("no permission for " + command.upper(), record.message)
        daemon.notify.wait_status("in error", "no permission for " + command.upper())
        return client, daemon

    def test_no_right_for_xautoclaim(self):
        client, daemon = self.lacks("xautoclaim")
        self.stays_quiet(daemon)
        client("ACL", "SETUSER", "recoverer", "+xautoclaim")
        self.mended(daemon, 5)

    def test_no_right_for_xpending(self):
        client, daemon = self.lacks("xpending")
        self.stays_quiet(daemon)
        client("ACL", "SETUSER", "recoverer", "+xpending")
        self.mended(daemon, 5)

    def test_no_right_for_xclaim(self):
        client, daemon = self.lacks("xclaim")
        before = len(daemon.records(RECOVERY="orders", PAGE_DELETED="0"))
        daemon.wait_count(before + 5, RECOVERY="orders", PAGE_DELETED="0")
        self.assertLessEqual(len(self.news(daemon)), 1)
        self.assertEqual({p[2] for p in pending(client).values()}, {1})
        # what it touched must grow idle again: made so by hand
        client("ACL", "SETUSER", "recoverer", "+xclaim")
        client("XCLAIM", STREAM, GROUP, "dead", 0, *pending(client), "IDLE", 3600000, "JUSTID")
        daemon.wait_record(OUTCOME="ok", ENTRY_ID="5-0")
        self.assertEqual(len([r for r in self.news(daemon) if "working again" in r.message]), 1)
        self.assertEqual(daemon.terminate(), 0)
        self.assertEqual(pending_count(client), 0)

    def test_no_right_for_xack(self):
        client, daemon = self.lacks("xack")
        with open(self.log) as file:
            handled = file.read().split()
        # no handler is started whose result could not be acknowledged
        self.assertEqual(len(handled), 1)
        client("ACL", "SETUSER", "recoverer", "+xack")
        daemon.journal.wait_for(lambda r: "working again" in r.message, harness.DEADLINE)
        daemon.wait_record(OUTCOME="ok", ENTRY_ID="5-0")
        self.assertEqual(daemon.terminate(), 0)
        self.assertEqual(pending_count(client), 0)
        with open(self.log) as file:
            handled = file.read().split()
        self.assertEqual(len(handled), 5)  # each once: the result was kept
        self.assertEqual(len(set(handled)), 5)

    def test_no_right_any_more_for_anything(self):
        """While a handler runs and another has ended: each order is refused again and again, and
        told once."""
        redis, client, _ = self.without("")
        gate = self.gate()
        handler = self.handler(gate.wait + "\n", "gated")
        daemon = self.daemon(config(
            redis.url, {"orders": recovery(handler, interval="50ms", min_idle="3s", concurrency=2)},
            redis=f"username = recoverer\npassword_file = {self.path('password')}\n"))
        daemon.wait_count(2, DELIVERIES="2")
        client("ACL", "SETUSER", "recoverer", "resetkeys")
        gate.open()
        daemon.wait_record(OUTCOME="ok")
        daemon.wait_record(REDIS_ERROR="NOPERM")
        self.refused_again(client, 20)
        told = [r.message for r in self.news(daemon) if r.first("STATE")]
        self.assertEqual(len(told), len(set(told)), told)
        self.assertLessEqual(len(told), 4)
        client("ACL", "SETUSER", "recoverer", "~*")
        gate.open(9)
        self.drained(daemon, client)

    def denied(self, client):
        stats = client("INFO", "commandstats").decode()
        return sum(int(line.partition("rejected_calls=")[2].partition(",")[0])
                   for line in stats.split() if line.startswith("cmdstat_x"))

    def refused_again(self, client, times):
        """Until so many more orders were refused, of which there may be no record."""
        most = self.denied(client) + times
        deadline = time.monotonic() + harness.DEADLINE
        while self.denied(client) < most:
            self.assertLess(time.monotonic(), deadline)
            outlast(0.02)

    def drained(self, daemon, client):
        daemon.journal.wait_until(lambda _: pending_count(client) == 0, harness.DEADLINE)
        self.assertEqual(daemon.terminate(), 0)

    def test_no_replicas_while_a_handler_runs(self):
        """All writes are refused: results, renewals, pages. One trouble, one record."""
        redis = self.server()
        client = self.client(redis)
        strand(client, 6)
        gate = self.gate()
        daemon = self.daemon(config(redis.url, {"orders": recovery(
            self.handler(gate.wait + "\n"), min_idle="2s", interval="50ms", concurrency=2)}))
        daemon.wait_count(2, DELIVERIES="2")
        client("CONFIG", "SET", "min-replicas-to-write", 1)
        gate.open()
        daemon.wait_record(OUTCOME="ok")
        self.refused_again(client, 20)
        self.assertEqual(len([r for r in self.news(daemon) if r.first("STATE")]), 1)
        client("CONFIG", "SET", "min-replicas-to-write", 0)
        gate.open(9)
        self.drained(daemon, client)

    def test_the_link_comes_back_after_the_time_of_the_next_try(self):
        """What was refused in mid-scan is tried again all the same."""
        redis, client, _ = self.without("+xack")
        wire = self.proxy(f"unix:{redis.path}")
        strand(client, 20, first_ms=10)
        daemon = self.daemon(config(
            wire.url, {"orders": recovery(self.script, interval="500ms", concurrency=2)},
            redis=f"username = recoverer\npassword_file = {self.path('password')}\n"
                  "reconnect_max = 100ms\n"))
        daemon.wait_record(STATE="error", REDIS_ERROR="NOPERM")
        wire("refuse on")
        wire("cut")
        daemon.wait_record(STATE="waiting", STATE_FROM="error")  # the timer has fired
        client("ACL", "SETUSER", "recoverer", "+xack")
        wire("refuse off")
        self.drained(daemon, client)

    def test_no_right_for_xrange(self):
        redis, client, text = self.without("+xrange")
        gate = self.gate()
        self.handler(f'[ "$XAUTOCLAIMD_ID" != 1-0 ] || {gate.wait}\n')
        daemon = self.daemon(text)
        daemon.wait_record(RECOVERY="orders", DELIVERIES="2")
        client("XDEL", STREAM, "3-0")
        gate.open()
        record = daemon.wait_record(RECOVERY="orders", STATE="error", REDIS_ERROR="NOPERM")
        self.assertIn("no permission for XRANGE", record.message)
        # an error is no answer: the entry is not taken for missing
        self.assertEqual([r for r in daemon.records(ENTRY_ID="3-0") if r.priority <= 4], [])
        client("ACL", "SETUSER", "recoverer", "+xrange")
        daemon.wait_sums(RECOVERY="orders", PASS_MISSING=1, PASS_ACKED=4)
        self.assertEqual(daemon.terminate(), 0)

    def test_exists_and_ping_are_optional(self):
        _, client, text = self.without("+exists")
        client("ACL", "SETUSER", "recoverer", "-ping", "-exists")
        daemon = self.daemon(text)
        daemon.wait_pass(RECOVERY="orders", PASS_ACKED="5")
        client("DEL", STREAM)
        record = daemon.wait_record(RECOVERY="orders", STATE="waiting", REDIS_ERROR="NOGROUP")
        self.assertIn('no stream "orders" or no group "workers"', record.message)
        self.assertEqual(daemon.terminate(), 0)

    def test_wrong_password(self):
        redis, client, text = self.without("")
        password = harness.write(self.path("password"), "wrong\n", 0o600)
        daemon = self.daemon(text.replace("[redis]\n", "[redis]\nreconnect_min = 10ms\n"
                                          "reconnect_max = 10ms\n"))
        record = daemon.wait_record(REDIS_ERROR="WRONGPASS")
        daemon.notify.wait_status("2 recoveries, 2 in error (redis", "WRONGPASS")
        daemon.wait_count(50, STATE="greeting")
        news = [r for r in daemon.journal.records() if r.priority <= 6]
        self.assertEqual(len([r for r in news if "REDIS" in r]), 1, [r.message for r in news])
        self.assertLessEqual(record.priority, 4)
        harness.write(password, "secret\n")
        daemon.wait_pass(RECOVERY="orders", PASS_ACKED="5")
        self.assertEqual(daemon.terminate(), 0)

    def test_server_away_at_start_and_later(self):
        redis = self.server("--appendonly", "yes", "--appendfsync", "always")
        strand(self.client(redis), 3)
        strand(self.client(redis), 1, stream="other")
        redis.kill()
        daemon = self.daemon(self.two(redis.url, redis="reconnect_min = 10ms\n"
                                                       "reconnect_max = 50ms\n",
                                      min_idle="1s")).wait_ready()
        daemon.notify.wait_status("2 recoveries, 2 waiting (redis", "refused")
        daemon.wait_count(20, STATE="connecting")
        self.assertEqual(len([r for r in daemon.journal.records()
                              if "REDIS" in r and r.priority <= 6]), 1)
        redis.start()
        daemon.wait_pass(RECOVERY="orders", PASS_ACKED="3")
        redis.kill()
        daemon.notify.wait_status("2 waiting (redis")
        redis.start()
        strand(self.client(redis), 3, first_ms=100, idle_ms=10 ** 9)
        daemon.wait_count(2, RECOVERY="orders", PASS_ACKED="3")
        self.assertEqual(daemon.terminate(), 0)
        # two outages, each told when it came and when it went
        links = [r for r in daemon.journal.records() if "REDIS" in r and r.priority <= 6]
        self.assertEqual(len(links), 4, [r.message for r in links])
        # beside its passes it says nothing (but that the server is loading, where it is seen to be)
        news = [r.message for r in self.news(daemon) if r.first("REDIS_ERROR") != "LOADING"
                and "working again" not in r.message]
        self.assertEqual(len(news), 2, news)

    def peer(self, answers, name="peer"):
        peer = Peer(self.path(name))
        self.addCleanup(peer.close)
        peer.answer = lambda words: answers.get(words[0].upper(), lambda w: None)(words)
        return peer

    def test_server_too_old(self):
        peer = self.peer({b"XPENDING": lambda w: [1, b"1-0", b"1-0", [[b"dead", b"1"]]]})
        daemon = self.daemon(config(f"unix://{peer.path}",
                                    {"orders": recovery(self.script, interval="10ms")}))
        record = daemon.wait_record(RECOVERY="orders", STATE="error")
        self.assertIn("needs Redis 6.2 or newer", record.message)
        daemon.notify.wait_status("1 in error (orders: needs Redis 6.2 or newer")
        self.stays_quiet(daemon)
        self.assertEqual(daemon.terminate(), 0)

    def test_cluster(self):
        peer = self.peer({b"XPENDING": lambda w: ReplyError("MOVED 3999 127.0.0.1:6381")})
        daemon = self.daemon(config(f"unix://{peer.path}",
                                    {"orders": recovery(self.script, interval="10ms")}))
        record = daemon.wait_record(RECOVERY="orders", STATE="error")
        self.assertIn("this is a cluster: mode = cluster", record.message)
        self.stays_quiet(daemon)
        self.assertEqual(daemon.terminate(), 0)

    def test_transient_errors_start_no_handler(self):
        for word in ("LOADING", "BUSY", "MASTERDOWN", "MISCONF", "NOREPLICAS", "CLUSTERDOWN"):
            with self.subTest(word):
                peer = self.peer({
                    b"XPENDING": lambda w: [1, b"1-0", b"1-0", [[b"dead", b"1"]]],
                    b"XAUTOCLAIM": lambda w: ReplyError(f"{word} some text"),  # noqa: B023
                }, name="peer-" + word)
                daemon = self.daemon(config(f"unix://{peer.path}", {
                    "orders": recovery(self.script, interval="10ms")}), name=word)
                record = daemon.wait_record(RECOVERY="orders", STATE="waiting", REDIS_ERROR=word)
                self.assertEqual(record.priority, 4)
                daemon.notify.wait_status(f"1 waiting (orders: the server answers {word})")
                daemon.wait_count(4, RECOVERY="orders", PASS_PAGES="0")
                self.assertEqual(len(self.news(daemon)), 1)
                self.assertEqual(daemon.terminate(), 0)

    def test_a_primary_becomes_a_replica(self):
        redis = self.server()
        client = self.client(redis)
        strand(client, 3)
        daemon = self.daemon(config(redis.url, {"orders": recovery(self.script, min_idle="1s")},
                                    redis="reconnect_min = 10ms\nreconnect_max = 50ms\n"))
        daemon.wait_pass(RECOVERY="orders", PASS_ACKED="3")
        strand(client, 3, first_ms=100, idle_ms=10 ** 9)
        client("REPLICAOF", "127.0.0.1", "1")
        daemon.wait_record(REDIS_ERROR="READONLY")
        daemon.notify.wait_status("waiting (redis", "READONLY")
        client("REPLICAOF", "NO", "ONE")
        daemon.journal.wait_until(
            lambda rs: sum(int(r.first("PASS_ACKED", "0")) for r in rs) >= 6, harness.DEADLINE)
        self.assertEqual(daemon.terminate(), 0)
        self.assertEqual(pending_count(client), 0)


if __name__ == "__main__":
    harness.main()
