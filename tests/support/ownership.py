# SPDX-License-Identifier: BSD-3-Clause
"""What the tests of ownership share: one server, daemons behind proxies, a second recoverer that
is nothing but a client, and questions to the recorded wire."""

import os
import threading

import harness
from harness import GROUP, STREAM, Test, config, pending, recovery, strand
from monitor import Monitor

SCRIPT = 'echo "$XAUTOCLAIMD_CONSUMER $XAUTOCLAIMD_ID $XAUTOCLAIMD_DELIVERIES" >>{log}\n{work}\n'


def outlast(seconds):
    """For faults that consist in time: an outage longer than a claim lasts."""
    threading.Event().wait(seconds)


class Ownership(Test):
    def setUp(self):
        super().setUp()
        self.log = self.path("handled")
        self.redis = self.server(*self.server_options())
        self.r = self.client(self.redis)
        self.monitor = Monitor(self.redis.path)
        self.addCleanup(self.monitor.close)

    def server_options(self):
        return ()

    # --- daemons ----------------------------------------------------------------------------------

    def begin(self, work, name="first", redis="", environment=None, preload=(), arguments=(),
              url=None, **keys):
        """A daemon whose consumer has its name, behind a proxy; returns both."""
        wire = None if url else self.proxy(f"unix:{self.redis.path}", name=name + "-wire")
        handler = self.handler(SCRIPT.format(log=self.log, work=work), name + "-handler")
        keys = {"interval": "60s", "consumer": name, "concurrency": 1, "claim_ahead": 1, **keys}
        daemon = self.daemon(
            config(url or wire.url, {"orders": recovery(handler, **keys)}, redis=redis,
                   daemon="drain_timeout = 2s"),
            *arguments, name=name, environment=environment, preload=preload)
        return daemon, wire

    def wait_begun(self, daemon, entry_id, n=1):
        return daemon.journal.wait_until(
            lambda rs: len([r for r in rs if "given to the handler" in r.message
                            and r.first("ENTRY_ID") == entry_id]) >= n, harness.DEADLINE)

    def wait_said(self, daemon, words, n=1, **fields):
        """Until the nth such record; returns all."""
        return daemon.journal.wait_until(
            lambda rs: (lambda found: found if len(found) >= n else None)(
                [r for r in rs if words in r.message and harness.matches(r, fields)]),
            harness.DEADLINE)

    def said(self, daemon, words):
        return [r.message for r in daemon.journal.records() if words in r.message]

    def assert_never_in_doubt_of_itself(self, daemon):
        self.assertEqual(self.said(daemon, "no longer ours"), [])
        self.assertEqual(self.said(daemon, "under our consumer name"), [])

    def starts(self, consumer=None):
        """[(ID, deliveries)] in the order in which handlers began."""
        if not os.path.exists(self.log):
            return []
        with open(self.log) as file:
            lines = [line.split() for line in file]
        return [(i, int(n)) for c, i, n in lines if consumer in (None, c)]

    # --- the server -------------------------------------------------------------------------------

    def sibling_claims(self, min_idle_ms, consumer="other"):
        """Another recoverer walks the list; returns what it got."""
        reply = self.r("XAUTOCLAIM", STREAM, GROUP, consumer, min_idle_ms, "0-0", "COUNT", 1000,
                       "JUSTID")
        return [i.decode() for i in reply[1]]

    def claim(self, consumer, entry_id, *options, min_idle=0):
        return self.r("XCLAIM", STREAM, GROUP, consumer, min_idle, entry_id, *options)

    def owner(self, entry_id):
        return pending(self.r)[entry_id][0]

    def count(self, entry_id):
        return pending(self.r)[entry_id][2]

    def until_idle(self, entry_id, ms):
        """Until the server itself says that the entry has been idle for so long."""
        while (idle := pending(self.r)[entry_id][1]) < ms:
            outlast((ms - idle) / 1000)

    def wait_command(self, *words):
        """Until the server carries out a command that has all these words."""
        return self.monitor.wait_for(lambda seen: all(w in seen for w in words),
                                     harness.DEADLINE)

    def wait_question(self, entry_id):
        """Until the server is asked for the owner of this one entry."""
        return self.monitor.wait_for(
            lambda seen: seen[0].upper() == "XPENDING" and seen[3:] == [entry_id, entry_id, "1"],
            harness.DEADLINE)

    def replace_stream(self, consumer, deliveries=1):
        """Another stream with another message under the same ID, in one step."""
        self.r("MULTI")
        self.r("DEL", STREAM)
        self.r("XADD", STREAM, "1-0", "another", "message")
        self.r("XGROUP", "CREATE", STREAM, GROUP, "0")
        self.r("XREADGROUP", "GROUP", GROUP, consumer, "STREAMS", STREAM, ">")
        self.r("XCLAIM", STREAM, GROUP, consumer, 0, "1-0", "RETRYCOUNT", deliveries, "JUSTID")
        self.r("EXEC")

    # --- the wire ---------------------------------------------------------------------------------

    @staticmethod
    def of(wire, name, entry_id=None):
        return [e for e in wire.exchanges()
                if e.name == name and (entry_id is None or entry_id.encode() in e.words)]

    def questions(self, wire, entry_id):
        """XPENDING key group id id 1"""
        return [e for e in self.of(wire, "XPENDING")
                if len(e.words) == 6 and e.words[3:5] == [entry_id.encode()] * 2]

    def assert_one_claim_at_a_time(self, wire, entry_id):
        claims = self.of(wire, "XCLAIM", entry_id)
        for before, after in zip(claims, claims[1:]):
            if before.connection == after.connection:
                self.assertIsNotNone(before.answered, before)
                self.assertGreaterEqual(after.sent, before.answered, (before, after))


__all__ = ["GROUP", "STREAM", "Ownership", "harness", "outlast", "pending", "strand"]
