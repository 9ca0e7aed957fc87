#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Reloads: what did not change goes on, what did drains and begins anew, what is not good changes
nothing. No handler is interrupted, none of its results is lost, nothing grows."""

import json
import os
import signal
import time

import harness
from harness import GROUP, STREAM, Test, config, pending, pending_count, recovery, strand, write

RELOADS = int(os.environ.get("TEST_RELOADS", "300"))


class Reload(Test):
    def begin(self, *streams):
        self.redis = self.server()
        self.r = self.client(self.redis)
        for stream in streams or (STREAM,):
            self.r.pipeline([("XGROUP", "CREATE", stream, GROUP, "0", "MKSTREAM")])
        return self.redis.url

    def add_stranded(self, n, first_ms=1, stream=STREAM):
        ids = [f"{first_ms + i}-0" for i in range(n)]
        self.r.pipeline(("XADD", stream, i, "n", i) for i in ids)
        self.r("XREADGROUP", "GROUP", GROUP, "dead", "COUNT", str(n), "STREAMS", stream, ">")
        self.r("XCLAIM", stream, GROUP, "dead", "0", *ids, "IDLE", "3600000", "RETRYCOUNT", "1",
               "JUSTID")
        return ids

    def reload(self, daemon, text=None, status=0):
        """By xautoclaimctl; what it wrote."""
        if text is not None:
            write(daemon.config_path, text)
        code, out, err = daemon.ctl("reload")
        self.assertEqual(code, status, (out, err))
        return out if status == 0 else err

    def links(self):
        """IDs of the daemon's connections."""
        rows = self.r("CLIENT", "LIST").decode().splitlines()
        return {r.split()[0] for r in rows if " name=xautoclaimd " in r}

    def wait_links(self, n, other_than=()):
        deadline = time.monotonic() + harness.DEADLINE
        while time.monotonic() < deadline:
            links = self.links()
            if len(links) == n and not links & set(other_than):
                return links
        self.fail(f"there are {links}")

    def handled(self):
        try:
            with open(self.path("log")) as file:
                return file.read().split()
        except FileNotFoundError:
            return []

    def logging(self, before="", after="exit 0", name="handler", word="$XAUTOCLAIMD_ID"):
        return self.handler(f"{before}\necho {word} >>{self.path('log')}\n{after}\n", name)


class Protocol(Reload):
    def told(self, daemon, first):
        """What systemd was told since, once it has been told that we are ready again."""
        def words():
            return [m for m in daemon.notify.messages()[first:]
                    if "RELOADING" in m or "READY" in m]

        daemon.notify.wait_for(lambda m: m.get("READY") == "1" and words()[-1:] == [m]
                               and len(words()) >= 2)
        return words()

    def test_what_systemd_is_told(self):
        url = self.begin()
        text = config(url, {"orders": recovery(self.logging())})
        daemon = self.controlled(text).wait_ready()
        first = len(daemon.notify.messages())
        before = time.clock_gettime_ns(time.CLOCK_MONOTONIC) // 1000
        daemon.process.send_signal(signal.SIGHUP)
        daemon.wait_record(RECOVERIES_CHANGED="0")
        after = time.clock_gettime_ns(time.CLOCK_MONOTONIC) // 1000
        told = self.told(daemon, first)
        self.assertEqual(len(told), 2, told)
        self.assertEqual(told[0]["RELOADING"], "1")
        self.assertTrue(before <= int(told[0]["MONOTONIC_USEC"]) <= after, told)
        self.assertEqual(told[1]["READY"], "1")
        self.assertIn("1 recovery", told[1]["STATUS"])

    def test_a_failure_is_told_too_and_stays_until_it_is_mended(self):
        url = self.begin()
        good = config(url, {"orders": recovery(self.logging())})
        daemon = self.controlled(good).wait_ready()
        bad = good + "min_idle = 60\nnonsense = 1\n"
        line = good.count("\n") + 1
        first = len(daemon.notify.messages())
        err = self.reload(daemon, bad, status=1)
        self.assertRegex(err, rf"(?m)^\S+xautoclaimd\.conf:{line}: \[recovery orders\] min_idle: ")
        self.assertRegex(err, rf"(?m)^\S+xautoclaimd\.conf:{line + 1}: \[recovery orders\] nonsense")
        told = self.told(daemon, first)
        self.assertEqual([sorted(set(m) - {"STATUS", "MONOTONIC_USEC"}) for m in told],
                         [["RELOADING"], ["READY"]])
        self.assertIn(f"xautoclaimd.conf:{line}; the old configuration is in force; 1 recovery",
                      told[1]["STATUS"])
        self.assertTrue(told[1]["STATUS"].startswith("reload failed at "))
        daemon.wait_count(3, PRIORITY="3")
        errors = [r.first("MESSAGE") for r in daemon.records(PRIORITY="3")]
        self.assertEqual(len(errors), 3, errors)  # two mistakes, and what they led to
        # it goes on with what it had
        self.add_stranded(3)
        daemon.wait_pass(RECOVERY="orders", PASS_ACKED="3")
        daemon.notify.wait_status("reload failed", "3 acked")
        again = len(daemon.notify.messages())
        self.assertEqual(self.reload(daemon, good),
                         "reloaded: 1 unchanged, 0 changed, 0 removed, 0 new\n")
        self.assertTrue(self.told(daemon, again)[-1]["STATUS"].startswith("1 recovery"))

    def test_a_file_that_is_gone(self):
        url = self.begin()
        text = config(url, {"orders": recovery(self.logging())})
        daemon = self.controlled(text).wait_ready()
        os.unlink(daemon.config_path)
        self.assertIn("xautoclaimd.conf", self.reload(daemon, status=1))
        daemon.notify.wait_status("reload failed")
        self.add_stranded(1)
        daemon.wait_pass(RECOVERY="orders", PASS_ACKED="1")

    def test_while_it_stops(self):
        gate = self.gate()
        url = self.begin()
        text = config(url, {"orders": recovery(self.logging(gate.wait))})
        daemon = self.controlled(text).wait_ready()
        self.add_stranded(1)
        daemon.wait_record(ENTRY_ID="1-0", DELIVERIES="2")
        daemon.process.send_signal(signal.SIGTERM)
        daemon.notify.wait_status("stopping")
        self.assertEqual(self.reload(daemon, status=1), "the daemon is stopping\n")
        gate.open()
        self.assertEqual(daemon.process.wait(harness.DEADLINE), 0)
        self.assertEqual(pending_count(self.r), 0)


class Changes(Reload):
    def test_unchanged_goes_on(self):
        """Its handler runs on, its connection stays, its pass ends as if nothing had been."""
        gate = self.gate()
        url = self.begin()
        text = config(url, {"orders": recovery(self.logging(gate.wait), concurrency=2)})
        self.add_stranded(4)
        daemon = self.controlled(text).wait_ready()
        daemon.wait_count(2, RECOVERY="orders", DELIVERIES="2")
        links = self.links()
        for _ in range(5):
            self.assertEqual(self.reload(daemon),
                             "reloaded: 1 unchanged, 0 changed, 0 removed, 0 new\n")
        gate.open(4)
        daemon.wait_pass(RECOVERY="orders", PASS_CLAIMED="4", PASS_ACKED="4")
        self.assertEqual(self.links(), links)
        self.assertEqual(sorted(self.handled()), ["1-0", "2-0", "3-0", "4-0"])
        self.assertEqual(daemon.records(STATE="draining"), [])

    def test_changed_drains_and_begins_anew_while_another_goes_on(self):
        one, two = self.gate("one"), self.gate("two")
        url = self.begin(STREAM, "b")
        keys = {"orders": recovery(self.logging(one.wait, name="h1"), concurrency=1, claim_ahead=2),
                "b": recovery(self.logging(two.wait, word="b-$XAUTOCLAIMD_ID", name="h2"),
                              stream="b", concurrency=1, claim_ahead=2)}
        self.add_stranded(3)
        self.add_stranded(3, stream="b")
        daemon = self.controlled(config(url, keys)).wait_ready()
        daemon.wait_record(RECOVERY="orders", ENTRY_ID="1-0", DELIVERIES="2")
        daemon.wait_record(RECOVERY="b", ENTRY_ID="1-0", DELIVERIES="2")
        links = self.links()
        keys["b"]["command"] = self.logging(word="new-$XAUTOCLAIMD_ID", name="h3")
        self.assertEqual(self.reload(daemon, config(url, keys)),
                         "reloaded: 1 unchanged, 1 changed, 0 removed, 0 new\n")
        daemon.wait_record(RECOVERY="b", STATE="draining")
        daemon.notify.wait_status("2 recoveries, 1 draining (1 running handler)")
        # what was not started was given back; what runs is not interrupted, nor followed yet
        deadline = time.monotonic() + harness.DEADLINE
        while pending(self.r, "b")["2-0"][1] < 60000 and time.monotonic() < deadline:
            pass
        self.assertEqual({i: p[2] for i, p in pending(self.r, "b").items()},
                         {"1-0": 2, "2-0": 1, "3-0": 1})
        self.assertEqual(self.handled(), [])
        two.open()
        daemon.wait_count(3, RECOVERY="b", OUTCOME="ok")
        daemon.wait_record(RECOVERY="b", STATE="gone")
        one.open(3)
        daemon.wait_pass(RECOVERY="orders", PASS_ACKED="3")
        daemon.terminate()
        self.assertEqual(sorted(self.handled()), ["1-0", "2-0", "3-0", "b-1-0", "new-2-0", "new-3-0"])
        self.assertEqual(pending_count(self.r, "b"), 0)
        self.assertEqual(len(daemon.records(STATE="up")), 1, links)

    def test_removed_drains(self):
        gate = self.gate()
        url = self.begin(STREAM, "b")
        keys = {"orders": recovery(self.logging()),
                "b": recovery(self.logging(gate.wait, name="h2"), stream="b", concurrency=1,
                              claim_ahead=2)}
        self.add_stranded(3, stream="b")
        daemon = self.controlled(config(url, keys)).wait_ready()
        daemon.wait_record(RECOVERY="b", ENTRY_ID="1-0", DELIVERIES="2")
        without = {"orders": keys["orders"]}
        self.assertEqual(self.reload(daemon, config(url, without)),
                         "reloaded: 1 unchanged, 0 changed, 1 removed, 0 new\n")
        self.assertEqual(daemon.ctl("run", "b")[::2], (1, "b is draining\n"))
        self.assertEqual(daemon.ctl("pause", "b")[::2], (1, "b is draining\n"))
        gate.open()
        daemon.wait_record(RECOVERY="b", STATE="gone")
        self.assertEqual(self.handled(), ["1-0"])
        self.assertEqual({i: p[2] for i, p in pending(self.r, "b").items()}, {"2-0": 1, "3-0": 1})
        self.assertEqual(daemon.ctl("run", "b")[::2], (1, "there is no [recovery b]\n"))
        daemon.notify.wait_for(lambda m: m.get("STATUS") == "1 recovery")
        # and comes again
        self.assertEqual(self.reload(daemon, config(url, keys)),
                         "reloaded: 1 unchanged, 0 changed, 0 removed, 1 new\n")
        gate.open(2)
        daemon.wait_count(3, RECOVERY="b", OUTCOME="ok")

    def test_removed_and_back_while_it_drains(self):
        gate = self.gate()
        url = self.begin()
        keys = {"orders": recovery(self.logging(gate.wait), concurrency=1, claim_ahead=0)}
        self.add_stranded(2)
        daemon = self.controlled(config(url, keys)).wait_ready()
        daemon.wait_record(ENTRY_ID="1-0", DELIVERIES="2")
        self.assertIn("1 removed", self.reload(daemon, config(url, {})))
        self.assertIn("1 changed", self.reload(daemon, config(url, keys)))
        self.assertIn("0 changed, 0 removed", self.reload(daemon, config(url, {})))
        self.assertIn("1 changed", self.reload(daemon, config(url, keys)))
        gate.open(2)
        daemon.wait_count(2, OUTCOME="ok")
        daemon.terminate()
        self.assertEqual(self.handled(), ["1-0", "2-0"])
        self.assertEqual(len(daemon.records(STATE="gone")), 2)  # one by the reload, one at the end
        self.assertEqual(pending_count(self.r), 0)

    def test_another_name_for_the_same_group_waits(self):
        gate = self.gate()
        url = self.begin()
        keys = recovery(self.logging(gate.wait), concurrency=1, claim_ahead=0)
        self.add_stranded(2)
        daemon = self.controlled(config(url, {"orders": keys})).wait_ready()
        daemon.wait_record(ENTRY_ID="1-0", DELIVERIES="2")
        fast = dict(keys, min_idle="1s", consumer="other")
        self.assertIn("1 removed, 1 new", self.reload(daemon, config(url, {"later": fast})))
        self.assertEqual(daemon.ctl("run", "later")[::2],
                         (1, "later waits until another one has left the same group\n"))
        gate.open(2)
        daemon.wait_record(RECOVERY="later", ENTRY_ID="2-0", OUTCOME="ok")
        gone = daemon.wait_record(RECOVERY="orders", STATE="gone")
        records = daemon.records()
        self.assertLess(records.index(gone),
                        records.index(next(r for r in records if r.first("RECOVERY") == "later")))
        self.assertEqual(self.handled(), ["1-0", "2-0"])

    def test_a_changed_server_is_connected_to_anew(self):
        url = self.begin()
        keys = {"orders": recovery(self.logging())}
        daemon = self.controlled(config(url, keys)).wait_ready()
        daemon.wait_empty_pass()
        before = self.links()
        self.assertIn("0 changed", self.reload(daemon))
        self.assertIn("1 changed", self.reload(daemon, config(url, keys, redis="reconnect_max = 9s")))
        self.wait_links(1, other_than=before)
        self.add_stranded(2)
        daemon.wait_pass(PASS_ACKED="2")

    def test_one_more_recovery_does_not_disturb_its_server(self):
        """Although its min_idle makes command_timeout shorter."""
        gate = self.gate()
        url = self.begin(STREAM, "b")
        keys = {"orders": recovery(self.logging(gate.wait))}
        daemon = self.controlled(config(url, keys)).wait_ready()
        self.add_stranded(1)
        daemon.wait_record(ENTRY_ID="1-0", DELIVERIES="2")
        before = self.links()
        keys["b"] = recovery(self.logging(name="h2"), stream="b", min_idle="2s")
        self.assertEqual(self.reload(daemon, config(url, keys)),
                         "reloaded: 1 unchanged, 0 changed, 0 removed, 1 new\n")
        daemon.wait_empty_pass(RECOVERY="b")
        self.assertEqual(self.links(), before)
        gate.open()
        daemon.wait_pass(RECOVERY="orders", PASS_ACKED="1")
        # and it is in force: a server that stands still is given up after half a second, not 10
        self.redis.signal(signal.SIGSTOP)
        down = daemon.wait_record(STATE="down", seconds=8)
        self.redis.signal(signal.SIGCONT)
        self.assertTrue(down)

    def test_a_server_that_is_gone_for_good(self):
        """What was handled cannot be acknowledged any more; the new server is not kept waiting."""
        gate = self.gate()
        url = self.begin()
        other = self.server(name="other")
        strand(self.client(other), 1, first_ms=77)
        keys = {"orders": recovery(self.logging(gate.wait))}
        daemon = self.controlled(config(url, keys, daemon="drain_timeout = 1s")).wait_ready()
        self.add_stranded(1)
        daemon.wait_record(ENTRY_ID="1-0", DELIVERIES="2")
        self.redis.kill()
        gate.open()
        daemon.wait_record(ENTRY_ID="1-0", OUTCOME="ok")
        self.assertIn("1 changed", self.reload(daemon, config(other.url, keys,
                                                              daemon="drain_timeout = 1s")))
        gate.open()
        daemon.wait_record(ENTRY_ID="77-0", OUTCOME="ok")
        daemon.notify.wait_for(lambda m: m.get("STATUS", "").startswith("1 recovery;"))

    def test_a_pause_is_inherited(self):
        url = self.begin()
        keys = {"orders": recovery(self.logging())}
        daemon = self.controlled(config(url, keys)).wait_ready()
        daemon.wait_empty_pass()
        self.assertEqual(daemon.ctl("pause", "orders")[0], 0)
        keys["orders"]["interval"] = "110ms"
        self.assertIn("1 changed", self.reload(daemon, config(url, keys)))
        daemon.wait_record(STATE="gone")
        deadline, state = time.monotonic() + harness.DEADLINE, "draining"
        while state == "draining" and time.monotonic() < deadline:
            recoveries = json.loads(daemon.ctl("status", "--json")[1])["recoveries"]
            state = recoveries[0]["state"] if recoveries else state
        self.assertEqual(state, "paused")
        self.add_stranded(1)
        self.assertEqual(daemon.ctl("resume", "orders")[0], 0)
        daemon.wait_pass(PASS_ACKED="1")

    def test_the_daemon_section_takes_effect_at_once(self):
        gate = self.gate()
        url = self.begin()
        keys = {"orders": recovery(self.logging(gate.wait), concurrency=8, claim_ahead=0)}
        self.add_stranded(8)
        daemon = self.controlled(config(url, keys, daemon="max_handlers = 1")).wait_ready()
        daemon.wait_count(1, DELIVERIES="2")
        self.assertIn("1 unchanged", self.reload(daemon, config(url, keys,
                                                                daemon="max_handlers = 3")))
        daemon.wait_count(3, RECOVERY="orders", DELIVERIES="2")
        code, out, _ = daemon.ctl("status", "--json")
        self.assertEqual(code, 0)
        self.assertIn('"running": 3', out)
        self.reload(daemon, config(url, keys, daemon="max_handlers = 1\ndrain_timeout = 77s"))
        gate.open(8)
        daemon.wait_pass(PASS_ACKED="8")
        daemon.terminate()
        self.assertTrue(daemon.records(DRAIN_TIMEOUT_USEC="77000000"))

    def test_log_level(self):
        url = self.begin()
        keys = {"orders": recovery(self.logging())}
        daemon = self.controlled(config(url, keys, daemon="log_level = err"), level=None)
        daemon.wait_ready()
        self.assertEqual(daemon.records(), [])
        self.reload(daemon, config(url, keys, daemon="log_level = debug"))
        daemon.wait_empty_pass()
        self.reload(daemon, config(url, keys, daemon="log_level = err"))
        self.assertEqual(daemon.terminate(), 0)
        self.assertEqual(daemon.records()[-1].first("PRIORITY"), "7")  # nothing of the end

    def test_log_level_of_the_command_line_stays(self):
        url = self.begin()
        keys = {"orders": recovery(self.logging())}
        daemon = self.controlled(config(url, keys)).wait_ready()
        self.reload(daemon, config(url, keys, daemon="log_level = err"))
        daemon.wait_count(len(daemon.records(PASS_CLAIMED="0")) + 1, PASS_CLAIMED="0")

    def test_the_control_socket_moves(self):
        url = self.begin()
        keys = {"orders": recovery(self.logging())}
        daemon = self.controlled(config(url, keys)).wait_ready()
        there = self.path("there")
        self.reload(daemon, config(url, keys, daemon=f"control_socket = {there}"))
        deadline = time.monotonic() + harness.DEADLINE
        while os.path.exists(daemon.control) and time.monotonic() < deadline:
            pass
        self.assertEqual(daemon.ctl("status")[0], 69)
        self.assertEqual(daemon.ctl("--socket", there, "status")[0], 0)
        # where it cannot be made the reload fails
        write(daemon.config_path, config(url, keys, daemon="control_socket = /nonexistent/c"))
        code, _, err = daemon.ctl("--socket", there, "reload")
        self.assertEqual(code, 1)
        self.assertIn("[daemon] control_socket: cannot listen on /nonexistent/c", err)
        daemon.notify.wait_status("reload failed at [daemon] control_socket")
        self.assertEqual(daemon.ctl("--socket", there, "status")[0], 0)
        write(daemon.config_path, config(url, keys, daemon="control_socket = off"))
        self.assertEqual(daemon.ctl("--socket", there, "reload")[0], 0)
        deadline = time.monotonic() + harness.DEADLINE
        while os.path.exists(there) and time.monotonic() < deadline:
            pass
        write(daemon.config_path, config(url, keys))
        daemon.process.send_signal(signal.SIGHUP)
        while daemon.ctl("status")[0] != 0 and time.monotonic() < deadline:
            pass
        self.assertEqual(daemon.ctl("status")[0], 0)


class Many(Reload):
    def usage(self, daemon):
        """(resident KiB, descriptors)"""
        with open(f"/proc/{daemon.pid}/status") as file:
            rss = next(int(x.split()[1]) for x in file if x.startswith("VmRSS"))
        return rss, len(os.listdir(f"/proc/{daemon.pid}/fd"))

    def is_sanitized(self):
        with open(harness.DAEMON, "rb") as file:
            return b"__asan_init" in file.read()

    def children(self, daemon):
        with open(f"/proc/{daemon.pid}/task/{daemon.pid}/children") as file:
            return len(file.read().split())

    def test_many_reloads_under_load(self):
        """Two files in turn, one recovery that changes, one that comes and goes, one that stays,
        all at work; each reload while the one before still drains."""
        url = self.begin(STREAM, "b", "c")
        log = self.path("log")
        handler = self.handler(f'echo "$XAUTOCLAIMD_STREAM-$XAUTOCLAIMD_ID" >>{log}\nexit 0\n')
        common = {"concurrency": 4, "claim_ahead": 8}
        stays = recovery(handler, stream="c", **common)
        first = {"stays": stays, "orders": recovery(handler, **common),
                 "b": recovery(handler, stream="b", **common)}
        second = {"stays": stays, "orders": recovery(handler, count=99, **common)}
        texts = [config(url, first), config(url, second, redis="reconnect_max = 29s")]
        # the odd ones change the server too, so that nothing at all is unchanged
        texts += [config(url, first), config(url, dict(second))]
        daemon = self.controlled(texts[0], level="info").wait_ready()
        total, sizes, n = {s: 0 for s in (STREAM, "b", "c")}, [], 0
        for i in range(RELOADS):
            for stream in total:
                if i % 3 == 0:
                    self.add_stranded(4, 1 + 4 * n, stream)
                    total[stream] += 4
            n += 1 if i % 3 == 0 else 0
            if i % 2:
                self.reload(daemon, texts[i % 4])
            else:
                write(daemon.config_path, texts[i % 4])
                daemon.process.send_signal(signal.SIGHUP)
            if i >= RELOADS // 3 and i % 10 == 0:
                sizes.append(self.usage(daemon))
        self.reload(daemon, texts[0])
        deadline = time.monotonic() + 4 * harness.DEADLINE
        while (any(pending_count(self.r, s) for s in total) and time.monotonic() < deadline):
            pass
        self.assertEqual({s: pending_count(self.r, s) for s in total}, {s: 0 for s in total})
        handled = self.handled()
        self.assertEqual(len(set(handled)), sum(total.values()))
        # each result was used: nothing was handled twice
        self.assertEqual(len(handled), len(set(handled)))
        half = len(sizes) // 2
        early, late = (max(s[0] for s in sizes[:half]), max(s[0] for s in sizes[half:]))
        if not self.is_sanitized():  # which keeps what was freed for a while
            self.assertLess(late, early + 384, sizes)
        self.assertLess(max(s[1] for s in sizes), 100, sizes)
        deadline = time.monotonic() + harness.DEADLINE
        while self.children(daemon) and time.monotonic() < deadline:
            pass
        self.assertEqual(self.children(daemon), 0)
        self.wait_links(1)
        self.assertEqual(daemon.terminate(), 0)
        print(f"# {RELOADS} reloads: {len(handled)} handled, {early} and {late} KiB, "
              f"{max(s[1] for s in sizes)} descriptors")

    def test_a_thousand_recoveries(self):
        """What a reload costs does not grow out of hand with their number."""
        url = self.begin()
        keys = {f"r{i}": recovery("/bin/true", stream=f"s{i}", interval="1h") for i in range(1000)}
        daemon = self.controlled(config(url, keys), level="info").wait_ready()
        started = time.monotonic()
        self.assertIn("1000 unchanged", self.reload(daemon))
        for k in keys.values():
            k["interval"] = "2h"
        self.assertIn("1000 changed", self.reload(daemon, config(url, keys)))
        self.assertEqual(daemon.ctl("status")[0], 0)
        took = time.monotonic() - started
        daemon.notify.wait_for(lambda m: m.get("STATUS", "").startswith("1000 recoveries"))
        self.assertEqual(daemon.terminate(), 0)
        if not self.is_sanitized():
            self.assertLess(took, 5)


if __name__ == "__main__":
    harness.main()
