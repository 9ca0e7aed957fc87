#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Whose entry is it? Each way in which a recoverer can wrongly think that it owns an entry, or
wrongly think that it does not: answers that are lost, late or refused, leases that have run out,
IDs that come to name something else, others who take what we are still handling."""

import signal
import time

from ownership import GROUP, STREAM, Ownership, harness, outlast, pending, strand
from peer import Peer


class Doubt(Ownership):
    """What is not known is asked for; only the answer counts."""

    def test_lost_answer_to_a_renewal(self):
        """The connection ends between a renewal and its answer. To take that for a loss would
        end the renewals of a handler that runs: a min_idle later another daemon starts a second
        one."""
        strand(self.r, 1)
        gate = self.gate()
        daemon, wire = self.begin(gate.wait, min_idle="3s")
        self.wait_begun(daemon, "1-0")
        wire("drop-reply XCLAIM")
        self.wait_question("1-0")
        asked_at = len(self.said(daemon, "renewed"))
        for n in range(1, 5):  # four thirds of min_idle
            self.wait_said(daemon, "renewed", asked_at + n)
            self.assertEqual(self.sibling_claims(3000), [])
        gate.open()
        daemon.wait_pass(PASS_OK="1", PASS_ACKED="1", PASS_LOST="0")
        daemon.terminate()
        self.assertEqual(self.starts(), [("1-0", 2)])
        self.assert_never_in_doubt_of_itself(daemon)
        self.assert_one_claim_at_a_time(wire, "1-0")
        for renewal in self.of(wire, "XCLAIM", "1-0"):  # not as one who waits for his turn
            self.assertLess(int(renewal.words[4]), 3000)

    def test_lost_answer_to_an_attempt(self):
        """The attempt has been carried out and charged, its answer is lost. The entry is ours and
        begins nothing until that is known; the charge is taken back, so that a bad network does
        not use up an entry's deliveries."""
        strand(self.r, 1)
        daemon, wire = self.begin("exit 0", min_idle="4s")
        self.wait_begun(daemon, "1-0")  # the first one tells how attempts look on the wire
        daemon.wait_pass(PASS_ACKED="1")
        daemon.terminate()
        strand(self.r, 1, first_ms=2)
        wire("drop-reply XCLAIM")
        daemon.start()
        daemon.wait_pass(PASS_ACKED="1", PASS_PAGES="1", PASS_OK="1", PASS_LOST="0")
        daemon.journal.wait_for(lambda r: r.first("ENTRY_ID") == "2-0" and "OUTCOME" in r, 30)
        daemon.terminate()
        self.assertEqual(self.starts(), [("1-0", 2), ("2-0", 2)])
        lost, corrected, again = self.of(wire, "XCLAIM", "2-0")
        self.assertNotIn(b"JUSTID", lost.words)
        self.assertEqual(corrected.words[-3:], [b"RETRYCOUNT", b"1", b"JUSTID"])
        self.assertNotIn(b"JUSTID", again.words)
        self.assert_never_in_doubt_of_itself(daemon)

    def test_lost_answer_to_a_page(self):
        """A page has claimed anew what is being handled (the server was away for long, say), and
        its answer is lost. The idle time then fits no claim that was answered; to take it for a
        stranger's under our name would give up an entry that is ours."""
        strand(self.r, 1)
        gate = self.gate()
        daemon, wire = self.begin(gate.wait, min_idle="6s", interval="50ms", claim_ahead=2)
        self.wait_begun(daemon, "1-0")
        self.until_idle("1-0", 1000)
        daemon.process.send_signal(signal.SIGSTOP)
        wire("drop-reply XAUTOCLAIM")
        self.claim("first", "1-0", "IDLE", 3600000, "JUSTID")
        daemon.process.send_signal(signal.SIGCONT)
        self.wait_question("1-0")
        self.wait_said(daemon, "renewed", 3)
        gate.open()
        daemon.wait_pass(PASS_OK="1", PASS_ACKED="1")
        daemon.terminate()
        claimed = [e for e in self.of(wire, "XAUTOCLAIM") if e.reply and b"1-0" in e.reply[1]]
        self.assertEqual(len(claimed), 2)
        self.assertEqual(self.starts(), [("1-0", 2)])
        self.assert_never_in_doubt_of_itself(daemon)

    def test_refused_although_ours(self):
        """A server may refuse a renewal of what is ours, for example while its clock, set back,
        has not caught up. The refusal only raises the question; and since the answer shows that
        the entry is ours for long enough, the next renewal carries no check that would be
        refused as well."""
        peer = Peer(self.path("peer"))
        self.addCleanup(peer.close)
        state = {"claimed": 0.0, "refusals": 2, "acked": False}

        def answer(words):
            name = words[0].upper()
            if name == b"XPENDING" and len(words) == 3:
                return [0 if state["acked"] else 1, b"1-0", b"1-0", [[b"dead", b"1"]]]
            if name == b"XPENDING":
                # a little more than it was, within what clocks are forgiven
                idle = int((time.monotonic() - state["claimed"]) * 1000) + 80
                return [[b"1-0", b"first", idle, 2 if words[5] == b"1" and len(words) == 6 else 1]]
            if name == b"XCLAIM" and words[4] != b"0" and state["refusals"] > 0:
                state["refusals"] -= 1
                return []
            if name in (b"XCLAIM", b"XAUTOCLAIM"):
                state["claimed"] = time.monotonic()
                if name == b"XAUTOCLAIM":
                    return [b"0-0", [b"1-0"], []]
                return [b"1-0"] if words[-1] == b"JUSTID" else [[b"1-0", [b"n", b"1"]]]
            if name == b"XACK":
                state["acked"] = True
                return 1
            return None

        peer.answer = answer
        gate = self.gate()
        daemon, _ = self.begin(gate.wait, min_idle="4s", url=f"unix://{peer.path}")
        self.wait_begun(daemon, "1-0")
        self.wait_said(daemon, "renewed", 3)
        gate.open()
        daemon.wait_pass(PASS_OK="1", PASS_ACKED="1", PASS_LOST="0")
        daemon.terminate()
        self.assertEqual(self.starts(), [("1-0", 2)])
        self.assert_never_in_doubt_of_itself(daemon)
        words = [w for w in peer.requests() if w[0] in (b"XCLAIM", b"XPENDING") and b"1-0" in w]
        refused = next(i for i, w in enumerate(words)
                       if w[0] == b"XCLAIM" and w[4] != b"0" and w[-1] == b"JUSTID")
        self.assertEqual([w[0] for w in words[refused : refused + 3]],
                         [b"XCLAIM", b"XPENDING", b"XCLAIM"])
        self.assertEqual(words[refused + 2][4], b"0")

    def test_counters_behind_leftovers(self):
        """Entries that an earlier life of ours left under our name, and those of living
        consumers, lie between the two that were claimed. An answer that is full of them does not
        mean that the claimed ones are gone."""
        ids = strand(self.r, 352)
        self.r("XCLAIM", STREAM, GROUP, "first", 0, *ids[1:250], "JUSTID")
        self.r("XCLAIM", STREAM, GROUP, "alive", 0, *ids[250:351], "JUSTID")
        self.claim("dead", "1-0", "IDLE", 3600000, "RETRYCOUNT", 3, "JUSTID")
        self.claim("dead", "352-0", "IDLE", 3600000, "RETRYCOUNT", 5, "JUSTID")
        daemon, wire = self.begin("exit 0", min_idle="60s", concurrency=2, claim_ahead=40)
        daemon.wait_pass(PASS_CLAIMED="2", PASS_PAGES="1", PASS_OK="2", PASS_LOST="0")
        daemon.terminate()
        self.assertEqual(sorted(self.starts()), [("1-0", 4), ("352-0", 6)])
        self.assertEqual(self.questions(wire, "352-0"), [])
        counts = [e for e in self.of(wire, "XPENDING") if len(e.words) > 3]
        self.assertEqual(len(counts), 2)  # however few are asked for
        for count in counts:
            self.assertEqual(count.words[-1], b"first")
            self.assertEqual({row[1] for row in count.reply}, {b"first"})

    def test_gone_before_it_was_counted(self):
        """Between the claim and the question for its counter one entry was taken by somebody
        else, one acknowledged. Both are missing in the answer, and each is told for what it is."""
        daemon, wire = self.begin("exit 0", min_idle="6s", interval="100ms", claim_ahead=2)
        daemon.wait_record(STATE="waiting", REDIS_ERROR="NOGROUP")
        daemon.process.send_signal(signal.SIGSTOP)
        strand(self.r, 3)
        wire("slow 200")  # an answer of three IDs takes a while, a question a longer one
        daemon.process.send_signal(signal.SIGCONT)
        self.wait_command("XAUTOCLAIM", "6000")
        wire("hold down")
        wire("slow 0")
        self.claim("other", "2-0", "JUSTID")
        self.r("XACK", STREAM, GROUP, "3-0")
        wire("resume")
        self.wait_said(daemon, "now with consumer \"other\"", ENTRY_ID="2-0")
        self.wait_said(daemon, "acknowledged by somebody else", ENTRY_ID="3-0")
        daemon.wait_pass(PASS_CLAIMED="3", PASS_OK="1", PASS_LOST="2")
        daemon.terminate()
        self.assertEqual(self.starts(), [("1-0", 2)])

    def test_deleted_while_it_waits(self):
        """A stream is trimmed: the server drops the entry without a word as soon as a renewal
        names it. It is told to be missing, not lost to somebody else, and nothing acknowledges
        an ID that is no longer pending. A server that keeps the deleted shows it when it is read;
        there it is pending, and acknowledged."""
        strand(self.r, 2)
        gate = self.gate()
        daemon, wire = self.begin(gate.wait, min_idle="2s", missing="ack")
        self.wait_begun(daemon, "1-0")
        self.r("XDEL", STREAM, "2-0")
        if harness.keeps_the_deleted():
            gate.open()
        told = self.wait_said(daemon, "is gone from the stream", ENTRY_ID="2-0")
        self.assertEqual([r.priority for r in told], [4])
        gate.open()
        daemon.wait_pass(PASS_OK="1", PASS_MISSING="1", PASS_LOST="0", PASS_DELETED="0")
        daemon.terminate()
        self.assertEqual(len(self.of(wire, "XACK", "2-0")), int(harness.keeps_the_deleted()))
        self.assertEqual(pending(self.r), {})
        self.assertEqual(self.starts(), [("1-0", 2)])

    def test_deleted_while_it_is_handled(self):
        """As before, but its handler runs: it ends, and its ok acknowledges nothing."""
        strand(self.r, 1)
        gate = self.gate()
        daemon, wire = self.begin(gate.wait, min_idle="2s")
        self.wait_begun(daemon, "1-0")
        self.r("XDEL", STREAM, "1-0")
        if harness.keeps_the_deleted():
            self.wait_said(daemon, "renewed", 2)
            gate.open()
            daemon.wait_pass(PASS_LOST="0", PASS_OK="1", PASS_ACKED="1")
            daemon.terminate()
            return
        self.wait_said(daemon, "no longer ours: no longer pending", ENTRY_ID="1-0")
        gate.open()
        daemon.wait_pass(PASS_LOST="1", PASS_OK="0", PASS_ACKED="0")
        daemon.terminate()
        self.assertEqual(self.of(wire, "XACK"), [])

    def claimed_under_our_name(self, payload):
        strand(self.r, 2)
        gate = self.gate()
        daemon, wire = self.begin(gate.wait, min_idle="2s", payload=payload)
        self.wait_begun(daemon, "1-0")
        daemon.process.send_signal(signal.SIGSTOP)
        self.until_idle("2-0", 2000)
        self.until_idle("1-0", 2000)
        self.assertEqual(self.sibling_claims(2000, "first"), ["1-0", "2-0"])
        daemon.process.send_signal(signal.SIGCONT)
        clash = self.wait_said(daemon, "under our consumer name", 2)
        self.assertEqual({r.first("ENTRY_ID") for r in clash}, {"1-0", "2-0"})
        gate.open()
        daemon.wait_pass(PASS_CLAIMED="2")
        daemon.terminate()
        self.assertEqual(self.starts(), [("1-0", 2)])
        self.assertEqual(self.count("2-0"), 1)
        # what was processed may be acknowledged whoever claims it now
        self.assertEqual([e.reply for e in self.of(wire, "XACK", "1-0")], [1])

    def test_another_process_under_our_name(self):
        """A second process with our consumer name has claimed what we held while we were
        stopped. XPENDING shows our own name; only the idle time tells. Without that both would
        handle 2-0."""
        self.claimed_under_our_name("json")

    def test_another_process_under_our_name_by_id(self):
        """The same where the counter is set, not raised: a stale number would lower it."""
        self.claimed_under_our_name("id")

    def test_idle_for_too_long_is_not_ours_either(self):
        """Another process under our name has set the entry's idle time: older than our claim."""
        strand(self.r, 1)
        gate = self.gate()
        daemon, wire = self.begin(gate.wait, min_idle="8s")
        self.wait_begun(daemon, "1-0")
        self.claim("first", "1-0", "IDLE", 4000, "JUSTID")
        wire("cut")  # after the reconnect everything is asked for
        self.wait_said(daemon, "under our consumer name")
        gate.open()
        daemon.wait_pass(PASS_CLAIMED="1")
        daemon.terminate()


class SameName(Ownership):
    """An ID is a name; it may come to name another message."""

    def kept_result(self, consumer):
        strand(self.r, 1)
        gate = self.gate()
        daemon, wire = self.begin(gate.wait, min_idle="4s")
        self.wait_begun(daemon, "1-0")
        wire("refuse on")
        wire("cut")
        gate.open()
        daemon.wait_count(1, OUTCOME="ok")
        self.replace_stream(consumer)
        wire("refuse off")
        self.wait_said(daemon, "no longer ours", ENTRY_ID="1-0")
        daemon.wait_pass(PASS_LOST="1", PASS_OK="0", PASS_ACKED="0")
        daemon.terminate()
        self.assertEqual(self.of(wire, "XACK"), [])
        self.assertEqual(self.owner("1-0"), consumer)

    def test_kept_result_of_a_message_that_was_replaced(self):
        """While a result waits for the connection, the server is flushed and filled again. The
        kept ok would acknowledge a message that nobody has processed; its counter, lower than
        ours, gives it away."""
        self.kept_result("app")

    def test_kept_result_of_a_message_that_was_replaced_under_our_name(self):
        """The same if the new one is pending under our own name."""
        self.kept_result("first")

    def test_an_ok_while_the_question_is_open(self):
        """A renewal was refused, the owner is being asked, and the handler ends: its ok waits
        for the answer, which says that the message is another one."""
        strand(self.r, 1)
        gate = self.gate()
        daemon, wire = self.begin(gate.wait, min_idle="4s")
        self.wait_begun(daemon, "1-0")
        self.until_idle("1-0", 600)
        self.replace_stream("app")
        wire("swallow XPENDING")
        self.wait_question("1-0")
        gate.open()
        daemon.wait_count(1, OUTCOME="ok")
        self.wait_said(daemon, "no longer ours", ENTRY_ID="1-0")
        daemon.wait_pass(PASS_LOST="1", PASS_OK="0", PASS_ACKED="0")
        daemon.terminate()
        self.assertEqual(self.of(wire, "XACK"), [])
        self.assertEqual(self.owner("1-0"), "app")

    def test_results_are_void_after_the_group_has_gone(self):
        """Once the server has said that there is no such group, no counter proves anything: the
        new entry may have been delivered as often as the old one."""
        strand(self.r, 1)
        gate = self.gate()
        daemon, wire = self.begin(gate.wait, min_idle="4s", interval="50ms", claim_ahead=2)
        self.wait_begun(daemon, "1-0")
        self.r("DEL", STREAM)
        daemon.wait_record(REDIS_ERROR="NOGROUP")
        self.replace_stream("app", deliveries=7)
        gate.open()
        daemon.wait_count(1, OUTCOME="ok")
        daemon.wait_pass(PASS_LOST="1", PASS_OK="0")
        daemon.terminate()
        self.assertEqual(self.of(wire, "XACK"), [])
        self.assertEqual(self.owner("1-0"), "app")

    def test_a_scan_claims_another_message_with_a_known_id(self):
        """The stream was replaced unseen, and a scan claims the new entry while the handler of
        the old one runs. Its ok is not the new one's."""
        strand(self.r, 1)
        gate = self.gate()
        daemon, wire = self.begin(gate.wait, min_idle="6s", interval="50ms", claim_ahead=2)
        self.wait_begun(daemon, "1-0")
        self.wait_said(daemon, "renewed")
        self.r("MULTI")
        self.r("DEL", STREAM)
        self.r("XADD", STREAM, "1-0", "another", "message")
        self.r("XGROUP", "CREATE", STREAM, GROUP, "0")
        self.r("XREADGROUP", "GROUP", GROUP, "app", "STREAMS", STREAM, ">")
        self.claim("app", "1-0", "IDLE", 3600000, "RETRYCOUNT", 1, "JUSTID")
        self.r("EXEC")
        daemon.wait_record(PASS_CLAIMED="1", PASS_DEFERRED="1")
        gate.open()
        daemon.wait_count(1, OUTCOME="ok")
        self.wait_said(daemon, "no longer ours", ENTRY_ID="1-0")
        daemon.terminate()
        self.assertEqual(self.of(wire, "XACK"), [])
        self.assertIn("1-0", pending(self.r))


class Lease(Ownership):
    """How long a claim is certainly ours."""

    def test_one_claim_at_a_time(self):
        """A stop comes while a renewal is unanswered. Sent behind it, the release would be
        refused by the renewal's own effect, and nobody could have the entries for min_idle."""
        strand(self.r, 3)
        gate = self.gate()
        daemon, wire = self.begin(gate.wait, min_idle="4s", claim_ahead=2)
        self.wait_begun(daemon, "1-0")
        wire("hold down")
        self.wait_command("XCLAIM", "first", "2-0", "JUSTID")
        daemon.process.send_signal(signal.SIGTERM)
        daemon.wait_record(STATE="draining")
        gate.open()
        self.wait_command("XACK", "1-0")  # and with it all that would be sent too early
        wire("resume")
        self.assertEqual(daemon.process.wait(harness.DEADLINE), 0)
        daemon.wait_pass(PASS_OK="1", PASS_RELEASED="2")
        for entry_id in ("2-0", "3-0"):
            self.assert_one_claim_at_a_time(wire, entry_id)
            _, idle, count = pending(self.r)[entry_id]
            self.assertGreater(idle, 10**9)  # anybody's, at once
            self.assertEqual(count, 1)  # and uncharged

    def test_nothing_behind_an_unanswered_renewal(self):
        """The next renewal, and an attempt whose slot has become free, wait for the answer: they
        too would be refused, and what is ours taken for lost."""
        strand(self.r, 2)
        gate = self.gate()
        daemon, wire = self.begin(gate.wait, min_idle="6s")
        self.wait_begun(daemon, "1-0")
        wire("hold down")
        self.wait_command("XCLAIM", "first", "2-0", "JUSTID")
        outlast(0.75)  # the next renewals would be due
        gate.open(2)
        self.wait_command("XACK", "1-0")  # and with it all that would be sent too early
        wire("resume")
        daemon.wait_pass(PASS_OK="2", PASS_ACKED="2", PASS_LOST="0")
        daemon.terminate()
        self.assert_one_claim_at_a_time(wire, "1-0")
        self.assert_one_claim_at_a_time(wire, "2-0")
        self.assertEqual(self.starts(), [("1-0", 2), ("2-0", 2)])

    def woken_late(self, payload):
        """First holds 2-0 and is suspended for an hour; meanwhile another one claims it, begins
        two attempts and gives it back. Returns what was seen on the wire from the waking on."""
        strand(self.r, 2)
        gate = self.gate()
        boottime = harness.write(self.path("boottime"), "0")
        daemon, wire = self.begin(gate.wait, min_idle="6s", payload=payload,
                                  environment={"FAKE_BOOTTIME": boottime},
                                  preload=[harness.CLOCK_SHIM], interval="60s")
        self.wait_begun(daemon, "1-0")
        daemon.process.send_signal(signal.SIGSTOP)
        harness.write(boottime, "3600")
        self.claim("first", "1-0", "IDLE", 3600000, "JUSTID")
        self.claim("other", "2-0")
        self.claim("other", "2-0")
        self.claim("other", "2-0", "TIME", 0, "JUSTID")
        before = len(wire.exchanges())
        gate.open()
        daemon.process.send_signal(signal.SIGCONT)
        daemon.wait_pass(PASS_OK="1", PASS_LOST="1")
        daemon.terminate()
        self.assertEqual(self.starts(), [("1-0", 2)])
        self.assertEqual((self.owner("2-0"), self.count("2-0")), ("other", 3))
        return [e for e in wire.exchanges()[before:] if b"2-0" in e.words]

    def test_suspended_with_an_entry_in_hand(self):
        """After a suspend all times of ours look fresh on a clock that stood still, and a claim
        with a min-idle that has not grown takes the entry from whoever has it now. Once the
        lease is over only a question may be sent."""
        for exchange in self.woken_late("json"):
            self.assertEqual(exchange.name, "XPENDING")

    def test_suspended_and_the_counter(self):
        """Where the counter is set by us, a number from before the suspend would make the other
        one's attempts unseen: poison would never be exhausted."""
        for exchange in self.woken_late("id"):
            self.assertEqual(exchange.name, "XPENDING")

    def counted_by_another(self, payload):
        """First is suspended with 2-0 in hand; another one begins an attempt and dies; the first
        thing that First does is a scan, which claims what it holds."""
        strand(self.r, 2)
        gate = self.gate()
        daemon, wire = self.begin(gate.wait, min_idle="6s", payload=payload, interval="50ms",
                                  claim_ahead=2)
        self.wait_begun(daemon, "1-0")
        self.wait_said(daemon, "renewed")
        daemon.process.send_signal(signal.SIGSTOP)
        self.claim("other", "2-0")
        self.claim("other", "2-0", "IDLE", 3600000, "JUSTID")
        daemon.process.send_signal(signal.SIGCONT)
        daemon.wait_record(PASS_CLAIMED="1", PASS_DEFERRED="1")
        gate.open(2)
        daemon.wait_count(2, OUTCOME="ok")
        daemon.terminate()
        self.assertEqual(self.starts(), [("1-0", 2), ("2-0", 3)])
        self.assertEqual([e.words for e in self.of(wire, "XCLAIM", "2-0")
                          if b"RETRYCOUNT" in e.words and e.words[-2] != b"3"], [])

    def test_attempts_of_others_stay_counted(self):
        """An attempt that somebody else began is not one of ours whose answer was lost, and its
        charge is not ours to take back."""
        self.counted_by_another("json")

    def test_attempts_of_others_stay_counted_where_counters_are_set(self):
        """A number that was read before it changed hands would undo theirs."""
        self.counted_by_another("id")

    def test_the_lease_is_looked_at_before_each_start(self):
        """One answer grants several entries, and starting a program may take long (here: an
        hour). Those that come after it were granted in time and are not sure any more."""
        strand(self.r, 5)  # one alone, whose size nobody knew, then four together
        daemon, _ = self.begin("exit 0", concurrency=5, claim_ahead=0, preload=[harness.CLOCK_SHIM],
                               environment={"FAKE_BOOTTIME_START": "3"})
        daemon.wait_pass(PASS_CLAIMED="5")
        daemon.terminate()
        self.assertEqual(sorted(i for i, _ in self.starts()), ["1-0", "2-0", "3-0"])

    def test_an_answer_that_comes_after_the_lease(self):
        """The machine is suspended between an attempt and its answer, for longer than a claim
        lasts; our time-outs slept as well. The answer says granted; that was then."""
        strand(self.r, 2)
        gate = self.gate()
        boottime = harness.write(self.path("boottime"), "0")
        daemon, wire = self.begin(gate.wait, min_idle="6s", preload=[harness.CLOCK_SHIM],
                                  environment={"FAKE_BOOTTIME": boottime})
        self.wait_begun(daemon, "1-0")
        wire("hold down")
        gate.open()
        self.monitor.wait_for(lambda w: w[0].upper() == "XCLAIM" and "2-0" in w
                              and "JUSTID" not in w)
        daemon.process.send_signal(signal.SIGSTOP)
        harness.write(boottime, "3600")
        self.claim("first", "2-0", "IDLE", 3600000, "JUSTID")
        self.assertEqual(self.sibling_claims(6000), ["2-0"])
        wire("resume")
        daemon.process.send_signal(signal.SIGCONT)
        daemon.wait_pass(PASS_CLAIMED="2", PASS_OK="1")
        daemon.terminate()
        self.assertEqual([e.reply[0][0] for e in self.of(wire, "XCLAIM", "2-0")], [b"2-0"])
        self.assertEqual(self.starts(), [("1-0", 2)])
        self.assertEqual(self.owner("2-0"), "other")

    def test_a_fence_against_those_who_do_not_wait(self):
        """Somebody takes an entry with a smaller min-idle than ours while we hold it. An attempt
        without a check would take it back in the middle of their work."""
        strand(self.r, 2)
        gate = self.gate()
        daemon, wire = self.begin(gate.wait, min_idle="6s")
        self.wait_begun(daemon, "1-0")
        self.until_idle("2-0", 1000)
        self.claim("other", "2-0")
        gate.open()
        self.wait_said(daemon, "now with consumer \"other\"", ENTRY_ID="2-0")
        daemon.wait_pass(PASS_OK="1", PASS_LOST="1")
        daemon.terminate()
        self.assertEqual((self.owner("2-0"), self.count("2-0")), ("other", 2))
        refused = self.of(wire, "XCLAIM", "2-0")[-1]
        self.assertNotIn(b"JUSTID", refused.words)
        self.assertEqual(refused.reply, [])

    def test_a_claim_that_was_carried_out_too_late(self):
        """Our attempt hangs somewhere in the network until another daemon has claimed the entry
        and handles it; then it is carried out after all and takes it away. XPENDING says: ours.
        To believe that would start a second handler."""
        strand(self.r, 2)
        gate = self.gate()
        daemon, wire = self.begin(gate.wait, min_idle="2s", redis="reconnect_max = 100ms\n")
        self.wait_begun(daemon, "1-0")
        wire("hold up")
        gate.open()
        daemon.wait_count(1, OUTCOME="ok")
        wire("refuse on")
        daemon.wait_record(STATE="waiting")
        self.until_idle("2-0", 2000)
        self.assertIn("2-0", self.sibling_claims(2000))
        self.claim("other", "2-0")  # its attempt: from now on a handler of theirs runs
        wire("resume")
        self.monitor.wait_for(lambda w: "2-0" in w and "first" in w and w[0].upper() == "XCLAIM"
                              and "JUSTID" not in w)
        self.assertEqual((self.owner("2-0"), self.count("2-0")), ("first", 3))
        wire("refuse off")
        self.wait_question("2-0")
        daemon.wait_pass(PASS_CLAIMED="2")
        daemon.terminate()
        self.assertEqual(self.starts(), [("1-0", 2)])

    def test_a_slow_server_starts_nothing(self):
        """A page that was answered late was carried out nobody knows when. Nothing of it is
        started, nothing is given back, and the state says why."""
        strand(self.r, 3)
        self.r("CLIENT", "PAUSE", 60000, "WRITE")
        daemon, wire = self.begin("exit 0", min_idle="4s", claim_ahead=2,
                                  redis="command_timeout = 2s\n")
        self.wait_command("XPENDING")
        outlast(1.5)  # more than a quarter of min_idle, less than the time-out
        self.r("CLIENT", "UNPAUSE")
        record = daemon.wait_pass(PASS_CLAIMED="3", PASS_DEFERRED="3")
        self.assertEqual(record.first("PASS_RELEASED"), "0")
        daemon.wait_record(STATE="waiting")
        self.assertTrue(self.said(daemon, "slower than min_idle/4"))
        self.wait_said(daemon, "working again")
        daemon.terminate()
        self.assertEqual(self.starts(), [])
        self.assertEqual({(p[0], p[2]) for p in pending(self.r).values()}, {("first", 1)})
        self.assertEqual(self.of(wire, "XCLAIM"), [])

    def test_reconnects_come_within_the_lease(self):
        """A configured wait of half a minute would lose everything that is held in an outage of
        a second."""
        strand(self.r, 1)
        gate = self.gate()
        daemon, wire = self.begin(gate.wait, min_idle="4s",
                                  redis="reconnect_min = 60s\nreconnect_max = 60s\n")
        self.wait_begun(daemon, "1-0")
        wire("cut")
        self.wait_question("1-0")
        self.assertEqual(self.sibling_claims(4000), [])
        gate.open()
        daemon.wait_pass(PASS_OK="1", PASS_ACKED="1", PASS_LOST="0")
        daemon.terminate()


class LostButRunning(Ownership):
    """A handler cannot be called back. Its entry belongs to somebody else, and stays ours to
    watch until it ends."""

    def lose(self, work, **keys):
        """1-0 runs here and belongs to the consumer `other`."""
        strand(self.r, 1)
        daemon, wire = self.begin(work, **{"min_idle": "3s", **keys})
        self.wait_begun(daemon, "1-0")
        self.until_idle("1-0", 500)  # the fence has grown: theirs is newer
        self.claim("other", "1-0", "JUSTID")
        self.wait_said(daemon, "now with consumer \"other\"", ENTRY_ID="1-0")
        return daemon, wire

    def test_is_not_handed_out_again(self):
        """The other one dies, a scan claims the entry again: it is still being handled here."""
        gate = self.gate()
        daemon, _ = self.lose(gate.wait, interval="50ms", claim_ahead=2)
        self.claim("other", "1-0", "IDLE", 3600000, "JUSTID")
        daemon.wait_record(PASS_CLAIMED="1", PASS_DEFERRED="1")
        self.assertEqual(self.owner("1-0"), "first")
        gate.open()
        daemon.wait_pass(PASS_OK="1", PASS_ACKED="1")
        daemon.terminate()
        self.assertEqual(self.starts(), [("1-0", 2)])

    def test_is_taken_back_when_anybody_may_have_it(self):
        """The claim that took it was nobody's: carried out for a daemon that had given up
        waiting. Nobody renews it, so min_idle later any scan would start a second handler.
        First does not wait for its next scan; and it asks for no less than a scan does."""
        gate = self.gate()
        daemon, wire = self.lose(gate.wait)
        lost_at = len(wire.exchanges())
        self.monitor.wait_for(lambda w: w[0].upper() == "XCLAIM" and w[3:6] == ["first", "3000", "1-0"],
                              harness.DEADLINE)
        renewed = len(self.said(daemon, "renewed"))
        self.wait_said(daemon, "renewed", renewed + 2)
        self.assertEqual(self.owner("1-0"), "first")
        gate.open()
        daemon.wait_pass(PASS_OK="1", PASS_ACKED="1")
        daemon.terminate()
        self.assertEqual(self.starts(), [("1-0", 2)])
        took = False
        for exchange in wire.exchanges()[lost_at:]:
            if exchange.name == "XCLAIM" and not took:
                self.assertGreaterEqual(int(exchange.words[4]), 3000)
                took = exchange.reply == [b"1-0"]
        self.assertTrue(took)

    def test_is_not_taken_from_those_who_renew(self):
        """The other one is alive and renews: it is left in peace however long that takes."""
        gate = self.gate()
        daemon, wire = self.lose(gate.wait, interval="50ms", claim_ahead=2)
        for _ in range(6):
            self.until_idle("1-0", 1000)
            self.assertEqual(self.owner("1-0"), "other")
            self.claim("other", "1-0", "JUSTID")
        self.assertEqual(self.owner("1-0"), "other")
        gate.open()
        daemon.wait_pass(PASS_CLAIMED="1")
        daemon.terminate()

    def test_its_ok_is_acknowledged(self):
        """It was processed; whoever owns the entry now, the work is done."""
        gate = self.gate()
        daemon, wire = self.lose(gate.wait)
        gate.open()
        daemon.wait_pass(PASS_OK="1", PASS_ACKED="1", PASS_LOST="0")
        daemon.terminate()
        # and only after a look whether it is still that entry
        names = [e.name for e in wire.exchanges() if b"1-0" in e.words]
        self.assertEqual(names[-2:], ["XPENDING", "XACK"])

    def test_its_ok_is_not_acknowledged_under_another_message(self):
        """The entry was replaced meanwhile: a lower counter is another message."""
        gate = self.gate()
        daemon, wire = self.lose(gate.wait)
        self.claim("other", "1-0", "RETRYCOUNT", 1, "JUSTID")
        gate.open()
        daemon.wait_pass(PASS_OK="0", PASS_LOST="1")
        daemon.terminate()
        self.assertEqual(self.of(wire, "XACK"), [])

    def test_its_reject_decides_nothing(self):
        """The other one may succeed where this handler gave up. The entry is not exhausted, and
        if it comes back it is tried again."""
        gate = self.gate()
        daemon, _ = self.lose(f'{gate.wait}\n[ "$XAUTOCLAIMD_DELIVERIES" != 2 ] || exit 65',
                              interval="50ms")
        gate.open()
        daemon.wait_pass(PASS_LOST="1", PASS_REJECTED="0")
        self.assertEqual(self.said(daemon, "exhausted"), [])
        self.claim("other", "1-0", "IDLE", 3600000, "JUSTID")
        self.wait_begun(daemon, "1-0", 2)
        gate.open()
        daemon.wait_pass(PASS_OK="1", PASS_ACKED="1")
        daemon.terminate()
        self.assertEqual(self.starts(), [("1-0", 2), ("1-0", 3)])


class Charge(Ownership):
    """Who is charged for an attempt, and who is not."""

    def test_neighbours_are_not_charged(self):
        """An entry that kills the daemon each time it is handled. What was claimed ahead of it
        has begun nothing; charged as well, three deaths would exhaust innocent entries."""
        ids = strand(self.r, 4)
        daemon, _ = self.begin("kill -9 $PPID; sleep 60", claim_ahead=3)
        for deliveries in (2, 3, 4):
            daemon.process.wait(harness.DEADLINE)
            self.assertEqual({i: p[2] for i, p in pending(self.r).items()},
                             {"1-0": deliveries, "2-0": 1, "3-0": 1, "4-0": 1})
            self.r("XCLAIM", STREAM, GROUP, "first", 0, *ids, "IDLE", 3600000, "JUSTID")
            daemon.start()
        daemon.process.wait(harness.DEADLINE)

    def test_a_dead_id_is_charged_once(self):
        """Redis 6.2 keeps an ID whose entry has gone and lets it be claimed for ever. Attempted
        each time, it would climb to max_deliveries and be exhausted, a message that is not
        there."""
        peer = Peer(self.path("peer"))
        self.addCleanup(peer.close)

        def answer(words):
            name = words[0].upper()
            if name == b"XPENDING" and len(words) == 3:
                return [1, b"1-0", b"1-0", [[b"dead", b"1"]]]
            if name == b"XPENDING":
                return [[b"1-0", b"first", 1, 1]]
            if name == b"XAUTOCLAIM":
                return [b"0-0", [b"1-0"]]
            if name == b"XCLAIM":
                return [None] if words[-1] != b"JUSTID" else [b"1-0"]
            return [] if name == b"XRANGE" else None

        peer.answer = answer
        daemon, _ = self.begin("exit 0", interval="20ms", url=f"unix://{peer.path}")
        daemon.wait_count(5, PASS_CLAIMED="1", PASS_MISSING="1")
        daemon.terminate()
        attempts = [w for w in peer.requests() if w[0] == b"XCLAIM" and w[-1] != b"JUSTID"]
        self.assertEqual(len(attempts), 1)
        self.assertEqual(self.starts(), [])

    def test_a_dead_id_that_was_claimed_ahead(self):
        """Redis 6.2 carries out the attempt on it, which makes it idle from then on, and does not
        name it in the answer. It is missing: nobody else has claimed it under our name."""
        peer = Peer(self.path("peer"))
        self.addCleanup(peer.close)
        claims = {}  # ID -> [when, deliveries]

        def answer(words):
            name, now = words[0].upper(), time.monotonic()
            if name == b"XPENDING" and len(words) == 3:
                return [2, b"1-0", b"2-0", [[b"dead", b"2"]]]
            if name == b"XPENDING":
                return [[i, b"first", round((now - when) * 1000), n]
                        for i, (when, n) in claims.items() if words[3] <= i <= words[4]]
            if name == b"XAUTOCLAIM" and words[4] == b"60000" and not claims:
                claims.update({b"1-0": [now, 1], b"2-0": [now, 1]})
                return [b"0-0", [b"1-0", b"2-0"]]
            if name == b"XAUTOCLAIM":
                return [b"0-0", []]
            if name != b"XCLAIM":
                return [] if name == b"XRANGE" else 1 if name == b"XACK" else None
            with_bodies, ids = words[-1] != b"JUSTID", [i for i in words[5:] if i in claims]
            for i in ids:
                claims[i] = [now, claims[i][1] + with_bodies]
            return [None if i == b"2-0" else [i, [b"n", b"1"]] for i in ids] if with_bodies else ids

        peer.answer = answer
        gate = self.gate()
        daemon, _ = self.begin(gate.wait, min_idle="60s", url=f"unix://{peer.path}")
        self.wait_begun(daemon, "1-0")
        outlast(0.3)
        gate.open()
        daemon.wait_pass(PASS_CLAIMED="2", PASS_OK="1", PASS_MISSING="1", PASS_LOST="0")
        daemon.terminate()
        self.wait_said(daemon, "is gone from the stream", ENTRY_ID="2-0")
        self.assert_never_in_doubt_of_itself(daemon)


class NotEnded(Ownership):
    def test_told_to_stop_but_not_ended(self):
        """A handler ignores that its time is over. Until it has been killed and reaped the entry
        is being handled, and a scan that claims it starts no second one."""
        strand(self.r, 1)
        daemon, _ = self.begin("trap '' TERM\nwhile :; do read _ <\"$0.never\"; done",
                               min_idle="60s", handler_timeout="1s", interval="50ms",
                               retry_delay="100ms", claim_ahead=2)
        harness.os.mkfifo(self.path("first-handler.never"))
        self.wait_begun(daemon, "1-0")
        outlast(1.5)
        self.claim("first", "1-0", "IDLE", 3600000, "JUSTID")
        daemon.wait_record(PASS_CLAIMED="1", PASS_DEFERRED="1")
        self.assertEqual(daemon.records(OUTCOME="retry"), [])
        daemon.wait_record(OUTCOME="retry")
        self.wait_begun(daemon, "1-0", 2)
        daemon.kill()


class Acknowledgement(Ownership):
    """Finished is not acknowledged."""

    def test_finished_is_held_until_it_is_acknowledged(self):
        """An ok waits for its XACK (refused here). Not renewed, it would be handled again by
        somebody else a min_idle later, and claimed again by our own scan."""
        strand(self.r, 1)
        self.r("ACL", "SETUSER", "default", "-xack")
        daemon, _ = self.begin("exit 0", min_idle="2s", interval="50ms", claim_ahead=2)
        daemon.wait_record(STATE="error", REDIS_ERROR="NOPERM")
        for n in range(1, 6):
            self.wait_said(daemon, "renewed", n)
            self.assertEqual(self.sibling_claims(2000), [])
        self.claim("first", "1-0", "IDLE", 3600000, "JUSTID")
        self.r("ACL", "SETUSER", "default", "+xack")
        daemon.wait_pass(PASS_OK="1", PASS_ACKED="1")
        daemon.terminate()
        self.assertEqual(self.starts(), [("1-0", 2)])

    def test_the_zeros_of_a_repeated_ack(self):
        """XACK returns one number. If its answer was lost and it is sent again, its zero says
        nothing: most likely we acknowledged the entry ourselves. Counted as somebody else's
        it would be a false alarm, and in one command with others it would hide a true one."""
        strand(self.r, 2)
        gate = self.gate()
        daemon, wire = self.begin(gate.wait, min_idle="4s", concurrency=2)
        self.wait_begun(daemon, "1-0")
        self.wait_begun(daemon, "2-0")
        wire("drop-reply XACK")
        wire("refuse on")
        gate.open()
        daemon.wait_record(STATE="waiting")
        gate.open()
        daemon.wait_count(2, OUTCOME="ok")
        first = self.of(wire, "XACK")[0].words[3].decode()
        second = "2-0" if first == "1-0" else "1-0"
        self.assertNotIn(first, pending(self.r))
        wire("refuse off")
        record = daemon.wait_pass(PASS_OK="2")
        daemon.terminate()
        acks = [[i.decode() for i in e.words[3:]] for e in self.of(wire, "XACK")]
        self.assertEqual(acks[0], [first])
        self.assertEqual(sorted(acks[1:]), sorted([[first], [second]]))
        self.assertEqual((record.first("PASS_ACKED"), record.first("PASS_ACK_NONE")), ("1", "0"))
        unknown = self.wait_said(daemon, "whether the first one acked the others is not known")
        self.assertEqual([r.priority for r in unknown], [7])

    def test_somebody_else_acknowledged_it(self):
        """While the connection was away, one entry was acknowledged by us without our knowing and
        another one by somebody else. The second is the news."""
        strand(self.r, 2)
        gate = self.gate()
        daemon, wire = self.begin(gate.wait, min_idle="4s", concurrency=2)
        self.wait_begun(daemon, "1-0")
        self.wait_begun(daemon, "2-0")
        self.r("XACK", STREAM, GROUP, "2-0")
        gate.open(2)
        record = daemon.wait_pass(PASS_CLAIMED="2")
        daemon.terminate()
        self.assertEqual((record.first("PASS_ACKED"), record.first("PASS_ACK_NONE")), ("1", "1"))
        self.assertEqual([r.priority for r in self.wait_said(daemon, "no longer pending")], [4])


class Progress(Ownership):
    def test_a_flapping_link_reaches_the_end(self):
        """Each time after three pages the connection ends. A scan that began at the front again
        would never come to what lies at the end of a long list."""
        strand(self.r, 3000, consumer="alive", idle_ms=0)
        strand(self.r, 1, first_ms=9000)
        daemon, wire = self.begin("exit 0", min_idle="20s", count=8, concurrency=8, claim_ahead=8,
                                  redis="reconnect_min = 10ms\nreconnect_max = 20ms\n")
        for n in range(1, 9):
            wire(f"drop-reply XAUTOCLAIM {4 * n}")
        daemon.wait_pass(PASS_OK="1", PASS_ACKED="1")
        daemon.terminate()
        pages = [e for e in self.of(wire, "XAUTOCLAIM") if int(e.words[4]) < 10**12]
        self.assertGreaterEqual(len({e.connection for e in pages}), 8)
        self.assertEqual(sum(e.words[5] == b"0-0" for e in pages), 1)
        answered = b"0-0"
        for before, after in zip(pages, pages[1:]):
            if before.connection == after.connection:
                answered = before.reply[0]
            self.assertEqual(after.words[5], answered)

    def test_pages_are_not_asked_for_one_by_one(self):
        """The server looks at ten times COUNT entries a call. Asked for one entry whenever one
        place is free, it would be called for every ten entries of the list."""
        strand(self.r, 40)
        daemon, wire = self.begin("exit 0", count=100, concurrency=4, claim_ahead=16)
        daemon.wait_pass(PASS_ACKED="40")
        daemon.terminate()
        for page in self.of(wire, "XAUTOCLAIM"):
            self.assertGreaterEqual(int(page.words[7]), 10)


if __name__ == "__main__":
    harness.main()
