#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Exit statuses as a table of real runs, and the modes that end by themselves: --once, --dry-run,
--check, --print-config."""

import json
import os
import re
import signal
import subprocess

import harness
from harness import GROUP, STREAM, Test, config, pending, recovery, strand, write

OK, LEFT, USAGE, UNAVAILABLE, CONFIG = 0, 1, 64, 69, 78

COLUMNS = ("claimed", "acked", "failed", "rejected", "exhausted", "dead-lettered", "missing", "lost",
           "deferred", "released", "deleted")
SUMMARY = re.compile(r"^([A-Za-z0-9._:-]+): " + ", ".join(rf"(\d+) {c}" for c in COLUMNS) + "$")
SAMPLE = os.path.join(os.path.dirname(os.path.abspath(__file__)),
                      "../../config/xautoclaimd.conf")
COULD_NOT = re.compile(r"^([A-Za-z0-9._:-]+): could not run: (.+)$")


class ExitTest(Test):
    def setUp(self):
        super().setUp()
        self.fine = self.handler("exit 0\n", "fine")

    def with_server(self, *options, **keywords):
        self.redis = self.server(*options, **keywords)
        self.r = self.client(self.redis)

    def run_to_end(self, text, *arguments, **keywords):
        status, out, err = self.run_daemon(text, *arguments, **keywords)
        for word in ("Sanitizer", "runtime error", "Assertion"):
            self.assertNotIn(word, err)
        return status, out, err

    def once(self, text, *arguments, **keywords):
        """(exit status, [a summary line each: name -> its numbers, or why it could not run])."""
        status, out, err = self.run_to_end(text, "--once", *arguments, **keywords)
        lines = []
        for line in out.splitlines():
            counted, refused = SUMMARY.match(line), COULD_NOT.match(line)
            self.assertTrue(counted or refused, line)
            if counted:
                numbers = zip(COLUMNS, counted.groups()[1:])
                lines.append((counted[1], {c: int(n) for c, n in numbers if n != "0"}))
            else:
                lines.append((refused[1], refused[2]))
        return status, lines, err

    def expect_once(self, text, status, lines, *arguments, **keywords):
        got_status, got, err = self.once(text, *arguments, **keywords)
        self.assertEqual(got, lines, err)
        self.assertEqual(got_status, status, err)
        return err


class Once(ExitTest):
    def setUp(self):
        super().setUp()
        self.with_server()

    def test_all_fine(self):
        strand(self.r, 30)
        self.expect_once(config(self.redis.url, {"orders": recovery(self.fine)}), OK,
                         [("orders", {"claimed": 30, "acked": 30})])
        self.assertEqual(pending(self.r), {})

    def test_nothing_to_do(self):
        strand(self.r, 3, idle_ms=0)
        text = config(self.redis.url, {"orders": recovery(self.fine)})
        self.expect_once(text, OK, [("orders", {})])
        self.assertEqual(len(pending(self.r)), 3)
        self.r("XACK", STREAM, GROUP, "1-0", "2-0", "3-0")
        self.expect_once(text, OK, [("orders", {})])
        self.expect_once(config(self.redis.url, {}), OK, [])

    def test_one_pass_and_not_more(self):
        """What fails is not tried again; a short interval does not matter."""
        strand(self.r, 5)
        log = self.path("handled")
        handler = self.handler(f"echo $XAUTOCLAIMD_ID >>{log}; exit 1\n")
        self.expect_once(config(self.redis.url, {"orders": recovery(handler, interval="10ms")}),
                         LEFT, [("orders", {"claimed": 5, "failed": 5})])
        with open(log) as file:
            self.assertEqual(sorted(file.read().split()), [f"{i}-0" for i in range(1, 6)])

    def test_waits_until_all_is_settled(self):
        strand(self.r, 20)
        self.expect_once(config(self.redis.url, {"orders": recovery(
            self.handler("sleep 0.1\n"), concurrency=2)}), OK,
            [("orders", {"claimed": 20, "acked": 20})])

    def test_left(self):
        cases = {
            "failed": ("exit 1", {"claimed": 2, "failed": 2}),
            "rejected": ("exit 65", {"claimed": 2, "rejected": 2}),
            "timed-out": ("exec sleep 1000", {"claimed": 2, "failed": 2}),
            "one-of-two": ('test "$XAUTOCLAIMD_ID" = 1-0', {"claimed": 2, "acked": 1, "failed": 1}),
        }
        for name, (script, numbers) in cases.items():
            strand(self.r, 2, stream=name)
            handler = self.handler(script + "\n")
            self.expect_once(config(self.redis.url, {name: recovery(
                handler, stream=name, handler_timeout="300ms")}), LEFT, [(name, numbers)])

    def test_dead_letters_are_not_left(self):
        strand(self.r, 3)
        self.expect_once(config(self.redis.url, {"orders": recovery(
            self.handler("exit 65\n"), dead_letter_stream="dead")}), OK,
            [("orders", {"claimed": 3, "acked": 3, "rejected": 3, "dead-lettered": 3})])
        self.assertEqual(pending(self.r), {})

    def test_left_missing(self):
        """The first handler deletes the second entry, which is claimed already."""
        strand(self.r, 2)
        handler = self.handler(
            f"{self.cli()} XDEL {STREAM} 2-0 >/dev/null\n")
        self.expect_once(config(self.redis.url, {"orders": recovery(handler, concurrency=1)}),
                         LEFT, [("orders", {"claimed": 2, "acked": 1, "missing": 1})])

    def cli(self):
        return f"redis-cli -s {self.redis.path}"

    def test_deleted_entries_leave_nothing(self):
        strand(self.r, 5)
        self.r("XDEL", STREAM, "2-0", "3-0")
        text = config(self.redis.url, {"orders": recovery(self.fine)})
        if harness.keeps_the_deleted():
            self.expect_once(text, LEFT, [("orders", {"claimed": 5, "acked": 3, "missing": 2})])
            self.assertEqual(set(pending(self.r)), {"2-0", "3-0"})
            return
        self.expect_once(text, OK, [("orders", {"claimed": 3, "acked": 3, "deleted": 2})])
        self.assertEqual(pending(self.r), {})

    def test_could_not_run(self):
        strand(self.r, 1)
        self.r("SET", "text", "x")
        self.r("ACL", "SETUSER", "nobody", "on", "nopass", "~*", "+ping")
        self.r("ACL", "SETUSER", "secret", "on", ">right")
        wrong = write(self.path("wrong"), "wrong\n", 0o600)
        cases = {
            "no group": ("no group", {"group": "others"}, ""),
            "no stream": ("no stream", {"stream": "nothing"}, ""),
            "wrong type": ("not a stream", {"stream": "text"}, ""),
            "no such handler": ("cannot start", {"command": self.path("nothing")}, ""),
            "no permission": ("no permission for XPENDING", {}, "username = nobody"),
            "wrong password": ("WRONGPASS", {}, f"username = secret\npassword_file = {wrong}"),
        }
        for what, (why, keys, redis) in cases.items():
            text = config(self.redis.url, {"orders": recovery(self.fine, **keys)}, redis=redis)
            status, lines, err = self.once(text)
            self.assertEqual((status, len(lines)), (UNAVAILABLE, 1), (what, lines, err))
            self.assertEqual(lines[0][0], "orders")
            self.assertIsInstance(lines[0][1], str, what)
            self.assertIn(why, lines[0][1], what)
        self.assertEqual(pending(self.r)["1-0"][2], 1)  # none of it was charged

    def test_no_server(self):
        port = harness.free_port()
        for url in (f"unix://{self.path('nowhere')}", f"redis://127.0.0.1:{port}/0",
                    f"unix://{self.path('nowhere')} redis://127.0.0.1:{port}"):
            text = config(url, {"a": recovery(self.fine), "b": recovery(self.fine, stream="b")})
            status, lines, _ = self.once(text)
            self.assertEqual(status, UNAVAILABLE)
            self.assertEqual([n for n, _ in lines], ["a", "b"])
            for _, why in lines:
                self.assertIsInstance(why, str)
                self.assertRegex(why, "refused|No such file")

    def test_the_server_goes_while_a_handler_runs(self):
        """Waits for the handler, has nowhere to tell its result, and says so."""
        strand(self.r, 3)
        handler = self.handler(f"kill -KILL {self.redis.process.pid}; sleep 0.2\n")
        status, lines, _ = self.once(config(self.redis.url, {"orders": recovery(
            handler, concurrency=1)}))
        self.assertEqual((status, len(lines)), (UNAVAILABLE, 1))
        self.assertIsInstance(lines[0][1], str)

    def test_the_second_url_will_do(self):
        strand(self.r, 2)
        self.expect_once(config(f"unix://{self.path('nowhere')} {self.redis.url}",
                                {"orders": recovery(self.fine)}), OK,
                         [("orders", {"claimed": 2, "acked": 2})])

    def test_two_recoveries(self):
        """The worst status counts; the others do their work."""
        fails = self.handler("exit 1\n", "fails")
        done, failed = {"claimed": 3, "acked": 3}, {"claimed": 3, "failed": 3}
        for fill in ("a", "b"):
            strand(self.r, 3, stream=fill)

        def again():
            for stream in ("a", "b"):
                self.r("DEL", stream)
                strand(self.r, 3, stream=stream)

        text = config(self.redis.url, {"a": recovery(self.fine, stream="a"),
                                       "b": recovery(fails, stream="b")})
        self.expect_once(text, LEFT, [("a", done), ("b", failed)])
        again()
        self.expect_once(text, OK, [("a", done)], "--recovery", "a")
        self.assertEqual({p[:1] + p[2:] for p in pending(self.r, "b").values()}, {("dead", 1)})
        again()
        self.expect_once(text, LEFT, [("b", failed)], "--recovery=b")
        again()
        self.expect_once(text, LEFT, [("a", done), ("b", failed)], "--recovery", "b",
                         "--recovery", "a")
        again()
        status, lines, _ = self.once(config(self.redis.url, {
            "gone": recovery(self.fine, stream="gone"), "a": recovery(self.fine, stream="a"),
            "b": recovery(fails, stream="b")}))
        self.assertEqual(status, UNAVAILABLE)
        self.assertEqual(lines[1:], [("a", done), ("b", failed)])
        self.assertEqual(lines[0], ("gone", 'no stream "gone"'))
        self.assertEqual(pending(self.r, "a"), {})

    def test_two_servers_of_which_one_is_away(self):
        strand(self.r, 3)
        text = (config(self.redis.url, {"here": recovery(self.fine)})
                + f"[redis away]\nurl = unix://{self.path('nowhere')}\n[recovery there]\n"
                + "".join(f"{k} = {v}\n" for k, v in recovery(self.fine, redis="away").items()))
        status, lines, _ = self.once(text)
        self.assertEqual(status, UNAVAILABLE)
        self.assertEqual(lines[0], ("here", {"claimed": 3, "acked": 3}))
        self.assertEqual(lines[1][0], "there")
        self.assertIn("No such file", lines[1][1])


class Signals(ExitTest):
    def test_end_with_0(self):
        self.with_server()
        gate = self.path("gate")
        os.mkfifo(gate)
        for number, (sig, script, n) in enumerate((
                (signal.SIGTERM, "exit 0", 0), (signal.SIGINT, "exit 0", 0),
                (signal.SIGTERM, f"cat {gate} >/dev/null", 3),
                (signal.SIGINT, f"cat {gate} >/dev/null", 3))):
            stream = f"s{number}"
            self.r("DEL", stream)
            strand(self.r, n, stream=stream) if n else self.r(
                "XGROUP", "CREATE", stream, GROUP, "0", "MKSTREAM")
            daemon = self.daemon(config(self.redis.url, {"orders": recovery(
                self.handler(script + "\n"), stream=stream, concurrency=1, claim_ahead=2)}),
                name=f"d{number}").wait_ready()
            if n:
                daemon.wait_record(DELIVERIES="2", ENTRY_ID="1-0")
            else:
                daemon.wait_empty_pass()
            daemon.process.send_signal(sig)
            record = daemon.wait_record(SIGNAL=sig.name)
            self.assertEqual(record.first("HANDLERS"), str(min(n, 1)))
            if n:  # what runs is waited for and acknowledged, the rest is given back
                daemon.journal.wait_until(lambda rs: sum(
                    r.first("ENTRIES") == "2" and "given back" in r.message for r in rs),
                    harness.DEADLINE)
                with open(gate, "w"):
                    pass
            self.assertEqual(daemon.process.wait(harness.DEADLINE), OK)
            self.assertEqual(sorted(pending(self.r, stream)), ["2-0", "3-0"] if n else [])

    def test_end_with_0_while_the_server_is_away(self):
        daemon = self.daemon(config(f"unix://{self.path('nowhere')}",
                                    {"orders": recovery(self.fine)})).wait_ready()
        daemon.notify.wait_status("No such file")
        self.assertEqual(daemon.terminate(), OK)

    def test_end_with_0_while_a_recovery_is_in_error(self):
        self.with_server()
        self.r("SET", STREAM, "x")
        daemon = self.daemon(config(self.redis.url, {"orders": recovery(self.fine)})).wait_ready()
        daemon.wait_record(STATE="error", PRIORITY="4")
        self.assertEqual(daemon.terminate(), OK)


class Usage(ExitTest):
    def test_unknown_recovery(self):
        text = config("unix:///nowhere", {"orders": recovery(self.fine)})
        for mode in ((), ("--once",), ("--dry-run",), ("--check",), ("--print-config",)):
            for names in (("--recovery", "nothing"), ("--recovery=orders", "--recovery=ORDERS"),
                          ("--recovery", "")):
                status, out, err = self.run_to_end(text, *mode, *names)
                self.assertEqual((status, out), (USAGE, ""), (mode, names))
                self.assertIn("there is no [recovery", err)

    def test_known_recovery(self):
        text = config("unix:///nowhere", {"orders": recovery(self.fine)})
        self.assertEqual(self.run_to_end(text, "--check", "--recovery", "orders")[0], OK)

    def test_usage_comes_before_the_configuration(self):
        for arguments in (("--nonsense",), ("--check", "--once"), ("more",)):
            status, out, err = self.run_to_end("[nonsense]\n", *arguments)
            self.assertEqual((status, out), (USAGE, ""))
            self.assertNotIn("[nonsense]", err)

    def test_help_and_version(self):
        for option in ("--help", "--version"):
            done = subprocess.run([harness.DAEMON, option], capture_output=True, text=True,
                                  check=False, timeout=harness.DEADLINE)
            self.assertEqual((done.returncode, done.stderr), (OK, ""))


class DryRun(ExitTest):
    LINE = re.compile(r"^([a-z]+): (\d+-\d+) idle (.+), delivered (\d+) times, last to (.+)$")

    def dry_run(self, text, *arguments):
        """(exit status, name -> [(ID, deliveries, consumer)], name -> its last line)."""
        status, out, err = self.run_to_end(text, "--dry-run", *arguments)
        if status == OK:
            self.assertNotRegex(err, "<[34]>")
        listed, ends = {}, {}
        for line in out.splitlines():
            found = self.LINE.match(line)
            if found:
                listed.setdefault(found[1], []).append((found[2], int(found[4]), found[5]))
            else:
                name, _, rest = line.partition(": ")
                self.assertNotIn(name, ends)
                ends[name] = rest
        return status, listed, ends

    def everything(self, stream=STREAM, group=GROUP):
        """All that a client can see of the stream, less what time alone changes."""
        def less(rows, *names):
            pairs = [dict(zip(row[::2], row[1::2])) for row in rows]
            return [{k: v for k, v in p.items() if k not in names} for p in pairs]

        return {
            "digest": self.r("DEBUG", "DIGEST"),
            "value": self.r("DEBUG", "DIGEST-VALUE", stream),
            "stream": self.r("XINFO", "STREAM", stream, "FULL", "COUNT", "0"),
            "groups": self.r("XINFO", "GROUPS", stream),
            "consumers": less(self.r("XINFO", "CONSUMERS", stream, group), b"idle", b"inactive"),
            "pending": {i: (p[0], p[2]) for i, p in pending(self.r, stream, group).items()},
            "keys": sorted(self.r("KEYS", "*")),
        }

    def scan(self, text):
        """The IDs that a real scan claims, from the wire."""
        wire = self.proxy(f"unix:{self.redis.path}")
        daemon = self.daemon(text.replace(self.redis.url, wire.url))
        daemon.wait_record(STATE="resting", STATE_FROM="scanning")
        daemon.terminate()
        pages = [e for e in wire.exchanges() if e.name == "XAUTOCLAIM"]
        return [i.decode() for e in pages for i in e.reply[1]]

    def compare(self, text):
        before = self.everything()
        status, listed, ends = self.dry_run(text)
        self.assertEqual(status, OK)
        self.assertEqual(self.everything(), before)
        ids = [i for i, *_ in listed.get("orders", [])]
        self.assertEqual(ends, {"orders": f"{len(ids)} would be claimed"})
        for entry_id, deliveries, consumer in listed.get("orders", []):
            self.assertEqual(before["pending"][entry_id], (consumer, deliveries))
        claimed = self.scan(text)
        self.assertEqual(sorted(claimed), sorted(ids))
        self.assertEqual(len(set(ids)), len(ids))
        return ids

    def text(self, **keys):
        return config(self.redis.url, {"orders": recovery(
            self.fine, concurrency=2000, claim_ahead=2000, count=1000, interval="60s",
            **keys)}, daemon="max_handlers = 8")

    def test_lists_what_a_scan_claims(self):
        """Idle and fresh ones mixed, several consumers, our own among them."""
        self.with_server()
        strand(self.r, 10, consumer="dead")
        strand(self.r, 10, consumer="alive", idle_ms=0, first_ms=100)
        strand(self.r, 10, consumer="other", idle_ms=61000, first_ms=200)
        strand(self.r, 10, consumer="slow", idle_ms=30000, first_ms=300)
        strand(self.r, 10, consumer="recoverer", first_ms=400)
        self.r("XCLAIM", STREAM, GROUP, "dead", 0, "3-0", "RETRYCOUNT", 7, "IDLE", 3600000,
               "JUSTID")
        self.r("XADD", STREAM, "9000-0", "n", "never delivered")
        self.assertEqual(len(self.compare(self.text())), 30)

    def test_behind_two_thousand_fresh_ones(self):
        self.with_server()
        strand(self.r, 2000, consumer="alive", idle_ms=0)
        idle = strand(self.r, 25, first_ms=5000)
        self.assertEqual(self.compare(self.text()), idle)

    def test_two_thousand_idle_ones(self):
        """More than a window, at and around its ends."""
        for n in (499, 500, 501, 1000, 1999):
            with self.subTest(n=n):
                if not hasattr(self, "redis"):
                    self.with_server()
                self.r("FLUSHALL")
                idle = strand(self.r, n)
                before = self.everything()
                status, listed, ends = self.dry_run(self.text())
                self.assertEqual(status, OK)
                self.assertEqual([i for i, *_ in listed["orders"]], idle)
                self.assertEqual(ends, {"orders": f"{n} would be claimed"})
                self.assertEqual(self.everything(), before)

    def test_a_connection_that_comes_again(self):
        """While another recovery is still being listed: nothing is listed twice."""
        self.with_server()
        strand(self.r, 2)
        flaps = self.proxy(f"unix:{self.redis.path}", name="flaps")
        slow = self.proxy(f"unix:{self.redis.path}", name="slow")
        slow("hold down")
        keys = recovery(self.fine)
        daemon = self.daemon(
            f"[redis]\nurl = {flaps.url}\n[redis slow]\nurl = {slow.url}\n"
            + "".join(f"[recovery {name}]\n" + "".join(f"{k} = {v}\n" for k, v in all_keys.items())
                      for name, all_keys in (("a", keys),
                                             ("b", {**keys, "redis": "slow", "stream": "b"}))),
            "--dry-run")
        daemon.journal.wait_for(lambda r: "connected, " in r.message, harness.DEADLINE)
        asked = {}
        while not asked.get("XPENDING") or counted["replies"] < counted["requests"]:
            counted = json.loads(flaps("count")[3:])
            asked = counted["commands"]
        flaps("cut")
        daemon.journal.wait_for(lambda r: "connected again" in r.message, harness.DEADLINE)
        slow("resume")
        out = daemon.process.stdout.read().decode()
        self.assertEqual(out.count("a: 1-0 idle"), 1, out)
        self.assertEqual(out.count("a: 2 would be claimed"), 1, out)

    def test_nothing(self):
        self.with_server()
        strand(self.r, 3, idle_ms=0)
        self.assertEqual(self.compare(self.text()), [])
        status, listed, ends = self.dry_run(config(self.redis.url, {}))
        self.assertEqual((status, listed, ends), (OK, {}, {}))

    def test_sends_nothing_but_questions(self):
        self.with_server()
        strand(self.r, 700)
        wire = self.proxy(f"unix:{self.redis.path}")
        self.assertEqual(self.dry_run(self.text().replace(self.redis.url, wire.url))[0], OK)
        exchanges = wire.exchanges()
        names = {e.name for e in exchanges}
        self.assertLessEqual(names, {"HELLO", "CLIENT", "XPENDING", "AUTH", "SELECT"})
        for exchange in exchanges:
            if exchange.name == "XPENDING":  # a bounded window each
                self.assertLessEqual(len(exchange.reply), 1000)

    def test_several_recoveries(self):
        self.with_server()
        strand(self.r, 2, stream="a")
        strand(self.r, 3, stream="b")
        text = config(self.redis.url, {name: recovery(self.fine, stream=name) for name in "abc"})
        status, listed, ends = self.dry_run(text)
        self.assertEqual(status, UNAVAILABLE)
        self.assertEqual({n: len(ids) for n, ids in listed.items()}, {"a": 2, "b": 3})
        self.assertEqual(ends, {"a": "2 would be claimed", "b": "3 would be claimed",
                                "c": "could not run: NOGROUP"})
        status, listed, ends = self.dry_run(text, "--recovery", "b")
        self.assertEqual((status, list(listed), list(ends)), (OK, ["b"], ["b"]))
        self.assertEqual(sorted(self.r("KEYS", "*")), [b"a", b"b"])

    def test_could_not_run(self):
        self.with_server()
        self.r("SET", "text", "x")
        self.r("ACL", "SETUSER", "nobody", "on", "nopass", "~*", "+ping")
        cases = {
            "no server": ("unix:///nowhere", {}, "", "No such file"),
            "no port": (f"redis://127.0.0.1:{harness.free_port()}", {}, "", "refused"),
            "no stream": (self.redis.url, {}, "", "NOGROUP"),
            "wrong type": (self.redis.url, {"stream": "text"}, "", "WRONGTYPE"),
            "no permission": (self.redis.url, {}, "username = nobody", "NOPERM"),
        }
        for what, (url, keys, redis, why) in cases.items():
            status, listed, ends = self.dry_run(config(
                url, {"orders": recovery(self.fine, **keys)}, redis=redis))
            self.assertEqual((status, listed), (UNAVAILABLE, {}), what)
            self.assertRegex(ends["orders"], f"^could not run: .*{why}", what)


BAD = {
    # name -> (text, place, a word of what is wrong)
    "unknown section": ("[nonsense]\n", ":1: [nonsense]", "unknown"),
    "unknown key": ("[daemon]\ncolour = red\n", ":2: [daemon] colour", "unknown"),
    "twice": ("[daemon]\nlog_level = info\nlog_level = err\n", ":3: [daemon] log_level", "twice"),
    "bare number": ("[daemon]\ndrain_timeout = 30\n", ":2: [daemon] drain_timeout", "unit"),
    "out of range": ("[daemon]\nmax_handlers = 0\n", ":2: [daemon] max_handlers", "accepted"),
    "bad word": ("[daemon]\nlog_level = loud\n", ":2: [daemon] log_level", "accepted"),
    "no equals": ("[daemon]\nlog_level\n", ":2:", ""),
    "before any section": ("log_level = info\n", ":1:", "section"),
    "indented": ("[daemon]\nlog_level = info\n  more\n", ":3:", "indented"),
    "long line": ("[redis]\nusername = " + "x" * 300 + "\n", ":2:", "long"),
    "NUL": ("[daemon]\nlog_level = in\0fo\n", ":2:", "NUL"),
    "bad url": ("[redis]\nurl = http://127.0.0.1\n", ":2: [redis] url", "accepted"),
    "not built": ("[redis]\nmode = cluster\n", ":2: [redis] mode", ""),
    "required": ("[recovery orders]\nstream = s\n", ":1: [recovery orders]", "required"),
    "bad name": ("[recovery a b]\n", ":1: [recovery a b]", "unknown section"),
    "relative command": ("[recovery o]\nstream = s\ngroup = g\nmin_idle = 1m\nhandler = exec\n"
                         "command = true\n", ":6: [recovery o] command", "absolute"),
    "open quote": ("[recovery o]\nstream = s\ngroup = g\nmin_idle = 1m\nhandler = exec\n"
                   "command = /bin/true 'x\n", ":6: [recovery o] command", "quot"),
    "min_idle too short": ("[recovery o]\nstream = s\ngroup = g\nmin_idle = 999ms\n"
                           "handler = exec\ncommand = /bin/true\n", ":4: [recovery o] min_idle",
                           "accepted"),
    "no such redis": ("[recovery o]\nstream = s\ngroup = g\nmin_idle = 1m\nhandler = exec\n"
                      "command = /bin/true\nredis = other\n", ":7: [recovery o] redis", ""),
    "same group twice": ("".join(f"[recovery {n}]\nstream = s\ngroup = g\nmin_idle = 1m\n"
                                 "handler = exec\ncommand = /bin/true\n" for n in "ab"),
                         "[recovery b]", "same"),
}


class Check(ExitTest):
    def test_every_bad_configuration(self):
        path = self.path("run.conf")
        for what, (text, place, word) in BAD.items():
            status, out, err = self.run_to_end(text, "--check")
            self.assertEqual((status, out), (CONFIG, ""), (what, err))
            self.assertIn(path + place if place[0] == ":" else place, err, what)
            self.assertIn(word, err, what)
            for line in err.splitlines():
                self.assertTrue(line.startswith(path + ":"), line)

    def test_all_errors_are_told(self):
        status, _, err = self.run_to_end("[daemon]\nlog_level = loud\ncolour = red\n"
                                         "drain_timeout = 30\n[redis]\nurl = x\n", "--check")
        self.assertEqual(status, CONFIG)
        for line in (2, 3, 4, 6):
            self.assertIn(f"run.conf:{line}: ", err)
        self.assertEqual(len(err.splitlines()), 4)

    def test_every_mode_refuses_it(self):
        for mode in ((), ("--once",), ("--dry-run",), ("--print-config",)):
            for what in ("unknown key", "bare number", "required"):
                text, place, _ = BAD[what]
                status, out, err = self.run_to_end(text, *mode)
                self.assertEqual((status, out), (CONFIG, ""), (mode, what))
                self.assertIn(self.path("run.conf") + place, err)

    def test_start_tells_the_journal(self):
        daemon = self.daemon("[daemon]\ncolour = red\n", level="info")
        self.assertEqual(daemon.process.wait(harness.DEADLINE), CONFIG)
        record = daemon.journal.wait_for(lambda r: r.priority == 3, harness.DEADLINE)
        self.assertIn(f"{daemon.config_path}:2: [daemon] colour", record.message)
        self.assertFalse(any(m.get("READY") for m in daemon.notify.messages()))

    def test_files(self):
        path = self.path("files.conf")

        def check():
            done = subprocess.run([harness.DAEMON, "--check", "--config", path],
                                  capture_output=True, text=True, check=False,
                                  timeout=harness.DEADLINE)
            self.assertEqual(done.stdout, "")
            return done.returncode, done.stderr

        status, err = check()
        self.assertEqual(status, CONFIG)
        self.assertIn(f"{path}: cannot be read: No such file", err)
        os.mkdir(path)
        self.assertEqual(check()[0], CONFIG)
        os.rmdir(path)
        write(path, "[redis]\n", 0o666)
        status, err = check()
        self.assertEqual(status, CONFIG)
        self.assertIn("others may write it", err)
        os.chmod(path, 0o644)
        self.assertEqual(check(), (OK, ""))
        os.mkdir(path + ".d")
        write(path + ".d/20-bad.conf", "[daemon]\nlog_level = loud\n", 0o644)
        write(path + ".d/10-good.conf", "[daemon]\nlog_level = err\n", 0o644)
        write(path + ".d/.hidden.conf", "nonsense\n", 0o644)
        write(path + ".d/old.conf~", "nonsense\n", 0o644)
        write(path + ".d/x.conf.dpkg-old", "nonsense\n", 0o644)
        status, err = check()
        self.assertEqual(status, CONFIG)
        self.assertIn(f"{path}.d/20-bad.conf:2: [daemon] log_level", err)
        self.assertEqual(len(err.splitlines()), 1)
        os.unlink(path + ".d/20-bad.conf")
        self.assertEqual(check(), (OK, ""))
        os.chmod(path + ".d", 0o777)
        self.assertEqual(check()[0], CONFIG)

    def test_good(self):
        self.assertEqual(self.run_to_end("", "--check"), (OK, "", ""))
        text = config("redis://127.0.0.1:1/0", {"orders": recovery(self.fine)})
        self.assertEqual(self.run_to_end(text, "--check"), (OK, "", ""))

    def test_warnings_do_not_fail(self):
        text = config("redis://127.0.0.1/0", {"orders": recovery(self.fine, count=500)})
        status, out, err = self.run_to_end(text, "--check")
        self.assertEqual((status, out), (OK, ""))
        self.assertIn("warning: ", err)
        self.assertIn("count", err)


class PrintConfig(ExitTest):
    def everything_changed(self):
        write(self.path("secret"), "secret\n", 0o600)
        return (
            "[daemon]\ndrain_timeout = 1h 30m\nlog_level = debug\nmax_handlers = 7\n"
            "max_body_bytes = 3M\n"
            "[redis]\nurl = redis://u@10.0.0.1:7/3\n redis://u@[::1]:8/3\nconnect_timeout = 7s\n"
            "command_timeout = 8s\nreconnect_min = 50ms\nreconnect_max = 1s 500ms\n"
            "[redis other]\nurl = unix:///run/a.sock?db=5\nusername = me\n"
            f"password_file = {self.path('secret')}\n"
            "[recovery one]\nstream = a stream; with # signs\ngroup = \"g\"\nconsumer = c-%N-%%\n"
            "min_idle = 90s\ninterval = 250ms\ncount = 17\nhandler = exec\n"
            "command = /bin/sh -c 'echo \"a b\" \\\\ $X' \"it's\"\n  more\\ words\n"
            "payload = resp\nconcurrency = 3\nclaim_ahead = 0\nhandler_timeout = 2m\n"
            "handler_output = none\nmissing = ack\nredis = other\n"
            "[recovery two]\nstream = b\ngroup = g\nmin_idle = 1d\nhandler = exec\n"
            "command = /bin/true\n")

    def test_round_trip(self):
        for text in ("", config("redis://127.0.0.1/0", {"orders": recovery(self.fine)}),
                     self.everything_changed()):
            status, out, warned = self.run_to_end(text, "--print-config")
            self.assertEqual(status, OK, warned)
            status, again, warned_again = self.run_to_end(out, "--print-config")
            self.assertEqual((status, again), (OK, out))
            self.assertEqual(self.run_to_end(out, "--check"), (OK, "", warned_again))
            # the same warnings, if any, at other lines
            for err in (warned, warned_again):
                self.assertTrue(all(l.startswith("warning: ") for l in err.splitlines()), err)
            lineless = [re.sub(r":\d+:", "", err) for err in (warned, warned_again)]
            self.assertEqual(sorted(lineless[0].splitlines()), sorted(lineless[1].splitlines()))

    def test_every_key_and_what_was_set(self):
        _, out, _ = self.run_to_end(self.everything_changed(), "--print-config")
        for line in ("drain_timeout = 1h 30m", "max_handlers = 7", "reconnect_max = 1s 500ms",
                     "stream = a stream; with # signs", 'group = "g"', "count = 17",
                     "claim_ahead = 0", "missing = ack", "[recovery two]", "[redis other]",
                     "handler_timeout = 30s", "concurrency = 4"):
            self.assertIn(line + "\n", out)
        _, every_kind, _ = self.run_to_end(
            "".join(f"[recovery {name}]\nstream = {name}\ngroup = g\nmin_idle = 1m\n{keys}\n"
                    for name, keys in (("x", "handler = exec\ncommand = /bin/true"),
                                       ("w", "handler = worker\ncommand = /bin/true"),
                                       ("s", "handler = socket\naddress = unix:/s"),
                                       ("m", "handler = move\ntarget_stream = t"),
                                       ("c", "handler = claim-only\nworklist = l"))),
            "--print-config")
        with open(SAMPLE) as file:
            known = set(re.findall(r"^#([a-z_]+) =", file.read(), re.M))
        self.assertGreaterEqual(len(known), 25)
        # mean nothing to exec
        others = {"address", "workers", "target_stream", "target_maxlen", "worklist"}
        for printed, keys in ((out, known - others), (every_kind, known)):
            self.assertEqual(set(re.findall(r"^([a-z_]+) =", printed, re.M)), keys)

    def test_behaves_as_what_was_printed(self):
        """The printed configuration does the same work."""
        self.with_server()
        strand(self.r, 4)
        text = config(self.redis.url, {"orders": recovery(
            self.handler("test \"$1\" = 'a  b'\n") + " 'a  b'")})
        _, out, _ = self.run_to_end(text, "--print-config")
        self.expect_once(out, OK, [("orders", {"claimed": 4, "acked": 4})])


if __name__ == "__main__":
    harness.main()
