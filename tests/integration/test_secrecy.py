#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""What must never be seen: field names, field values, the password. Canaries are searched, as raw
bytes and without regard to case, in every record at debug level, in what systemd is told, on
standard error and standard output, and in what /proc shows of the daemon and of handlers.

All canaries hold the same seven letters, which nothing else does; so a piece of one is found too.
"""

import os
import threading

import fakejournal
import harness
from harness import GROUP, STREAM, ReplyError, Test, config, pending, recovery, strand, write
from peer import Peer

WORD = b"anarie7"
NAME, VALUE = b"Canarie7-field-name", b"Canarie7-field-value"
PASSWORD = b"Canarie7pass"
FIELDS = [NAME, VALUE, b"binary", b"\xff\x00" + VALUE + b"\xfe", NAME, b"<" + VALUE + b">\n%s%n"]

ECHO_OUT, ECHO_ERR = "cat", "cat >&2"


def holds(data):
    return WORD in data.lower()


class SecrecyTest(Test):
    def setUp(self):
        super().setUp()
        self.raw = []  # every datagram of every journal
        parse = fakejournal.parse

        def tapped(data):
            self.raw.append(bytes(data))
            return parse(data)

        fakejournal.parse = tapped
        self.addCleanup(setattr, fakejournal, "parse", parse)

    def secret(self, password=PASSWORD, name="secret"):
        return write(self.path(name), password.decode() + "\n", 0o600)

    def assert_hidden(self, where, data):
        if isinstance(data, str):
            data = data.encode(errors="surrogateescape")
        if holds(data):
            at = data.lower().index(WORD)
            self.fail(f"{where} shows it: {data[max(0, at - 200):at + 40]!r}")

    def check_daemon(self, daemon):
        """After its end."""
        self.assertTrue(self.raw)
        self.assertTrue(any(b"PRIORITY=7" in data for data in self.raw))  # debug was on
        for data in self.raw:
            self.assert_hidden("a record", data)
        self.assertTrue(daemon.notify.statuses())
        for message in daemon.notify.messages():
            self.assert_hidden("a notification", repr(message))
        with open(daemon.stderr_path, "rb") as file:
            self.assert_hidden("standard error", file.read())
        with open(daemon.config_path, "rb") as file:
            self.assert_hidden("the test's own configuration", file.read())

    def check_process(self, pid):
        for name in ("cmdline", "environ", "comm", "status"):
            with open(f"/proc/{pid}/{name}", "rb") as file:
                data = file.read()
            self.assert_hidden(f"/proc/{pid}/{name}", data)

    def check_modes(self, text, statuses, **keywords):
        """All modes that end by themselves: mode -> exit status."""
        outputs = {}
        for mode, status in statuses.items():
            got, out, err = self.run_daemon(text, mode, "--log-level", "debug", **keywords)
            self.assertEqual(got, status, (mode, out, err))
            self.assert_hidden(mode + " on standard output", out)
            self.assert_hidden(mode + " on standard error", err)
            outputs[mode] = out + err
        return outputs


class Bodies(SecrecyTest):
    """Fields go from the server to the standard input of the handler, and nowhere else."""

    OUTCOMES = {"ok": "exit 0", "failed": "exit 1", "rejected": "exit 65",
                "killed": "kill -9 $$", "timed-out": "exec sleep 1000"}

    def setUp(self):
        super().setUp()
        self.redis = self.server()
        self.r = self.client(self.redis)

    def work(self, copy, policy, payload="json"):
        """A daemon that hands out entries to handlers of every outcome; after its end."""
        recoveries = {}
        for name, then in self.OUTCOMES.items():
            strand(self.r, 3, stream="s-" + name, body=FIELDS)
            self.r("XDEL", "s-" + name, "3-0")
            recoveries[name] = recovery(self.handler(f"{copy}\n{then}\n", name), payload=payload,
                                        stream="s-" + name, handler_output=policy,
                                        handler_timeout="300ms")
        daemon = self.daemon(config(self.redis.url, recoveries)).wait_ready()
        for name in self.OUTCOMES:
            daemon.wait_pass(RECOVERY=name,
                             PASS_CLAIMED="3" if harness.keeps_the_deleted() else "2")
        self.check_process(daemon.pid)
        self.assertEqual(daemon.terminate(), 0)
        return daemon

    def test_the_search_finds_it_where_it_is_allowed(self):
        """Without this the others prove nothing."""
        daemon = self.work(ECHO_OUT, "both")
        self.assertTrue(any(NAME in data and VALUE in data for data in self.raw))
        with self.assertRaises(AssertionError):
            self.check_daemon(daemon)
        self.raw.clear()
        with self.assertRaises(AssertionError):
            self.assert_hidden("x", b"...CANARIE7-FIEL")

    def test_stdout_under_stderr(self):
        self.check_daemon(self.work(ECHO_OUT, "stderr"))

    def test_stdout_under_none(self):
        self.check_daemon(self.work(ECHO_OUT, "none"))

    def test_stderr_under_none(self):
        self.check_daemon(self.work(ECHO_ERR, "none", payload="resp"))

    def test_what_a_handler_says_is_its_own(self):
        """Under stderr the words of the handler are logged, and still no other record has them."""
        self.work(ECHO_ERR, "stderr")
        shown = [data for data in self.raw if holds(data)]
        self.assertTrue(shown)
        for data in shown:
            self.assertIn(b"\nHANDLER_OUTPUT=stderr\n", data)

    def test_modes(self):
        strand(self.r, 3, body=FIELDS)
        text = config(self.redis.url, {"orders": recovery(self.handler("cat; exit 1\n"))})
        outputs = self.check_modes(text, {"--check": 0, "--print-config": 0, "--dry-run": 0,
                                          "--once": 1})
        self.assertIn("3 failed", outputs["--once"])

    def test_processes(self):
        """Neither the command line nor the environment of a handler has a field."""
        gate, pids = self.path("gate"), self.path("pids")
        os.mkfifo(gate)
        strand(self.r, 1, body=FIELDS)
        daemon = self.daemon(config(self.redis.url, {"orders": recovery(
            self.handler(f"echo $$ >{pids}\ncat {gate} - >/dev/null\n"))})).wait_ready()
        daemon.wait_record(ENTRY_ID="1-0", DELIVERIES="2")
        with open(gate, "w"):  # it has noted its number by now
            with open(pids) as file:
                self.check_process(int(file.read()))
            self.check_process(daemon.pid)
        daemon.wait_pass(PASS_ACKED="1")
        daemon.terminate()
        self.check_daemon(daemon)

    def test_refused_payloads(self):
        """A handler that closes its input, or was never there."""
        strand(self.r, 2, stream="a", body=[NAME, VALUE * 20000])
        strand(self.r, 2, stream="b", body=FIELDS)
        daemon = self.daemon(config(self.redis.url, {
            "a": recovery(self.handler("exec <&-; exit 1\n"), stream="a"),
            "b": recovery(self.path("nothing"), stream="b")})).wait_ready()
        daemon.wait_pass(RECOVERY="a", PASS_FAILED="2")
        daemon.wait_record(RECOVERY="b", STATE="waiting", PRIORITY="4")
        daemon.terminate()
        self.check_daemon(daemon)


class Passwords(SecrecyTest):
    RIGHTS = ["+xautoclaim", "+xclaim", "+xrange", "+xack", "+xpending", "+exists", "+ping"]

    def setUp(self):
        super().setUp()
        self.hold = self.path("hold")
        os.mkfifo(self.hold)

    def serve(self, *options):
        self.redis = self.server(*options)
        self.r = self.client(self.redis)
        strand(self.r, 2, body=FIELDS)
        self.r("ACL", "SETUSER", "recoverer", "on", ">" + PASSWORD.decode(), f"~{STREAM}",
               *self.RIGHTS)

    def look_at_processes(self, daemon):
        """While a handler runs: the daemon's and the handler's."""
        daemon.wait_record(ENTRY_ID="1-0", DELIVERIES="2")
        with open(self.hold, "w"):
            with open(self.path("pid")) as file:
                pid = int(file.read())
            self.check_process(pid)
            self.check_process(daemon.pid)
            with open(f"/proc/{pid}/environ", "rb") as file:
                self.assertNotIn(b"CREDENTIALS_DIRECTORY", file.read())

    def holding(self):
        """The first one waits for the test, the others do not."""
        return self.handler(f"test -e {self.path('pid')} && exit 0\n"
                            f"echo $$ >{self.path('pid')}\ncat {self.hold} - >/dev/null\n")

    def accepted(self, redis, environment=None):
        text = config(self.redis.url, {"orders": recovery(
            self.holding(), concurrency=1)}, redis=redis)
        daemon = self.daemon(text, environment=environment).wait_ready()
        self.look_at_processes(daemon)
        daemon.wait_pass(PASS_ACKED="2")
        # the link goes and comes back: the file is read again
        self.r("CLIENT", "KILL", "TYPE", "normal", "SKIPME", "yes")
        daemon.wait_count(2, REDIS=self.redis.url, PRIORITY="5")
        self.r("CLIENT", "KILL", "TYPE", "normal", "SKIPME", "yes")
        daemon.wait_count(3, REDIS=self.redis.url, PRIORITY="5")
        self.assertEqual(daemon.terminate(), 0)
        self.check_daemon(daemon)
        self.r("DEL", STREAM)
        strand(self.r, 2, body=FIELDS)
        self.check_modes(text.replace(self.holding(), self.handler("exit 0\n", "fine")),
                         {"--check": 0, "--print-config": 0, "--dry-run": 0, "--once": 0},
                         environment=environment)

    def test_user_and_absolute_file(self):
        self.serve()
        self.accepted(f"username = recoverer\npassword_file = {self.secret()}")

    def test_user_and_credential(self):
        self.serve()
        os.mkdir(self.path("credentials"))
        self.secret(name="credentials/redis")
        self.accepted("username = recoverer\npassword_file = redis",
                      {"CREDENTIALS_DIRECTORY": self.path("credentials")})

    def test_default_user(self):
        self.serve()
        self.r("CONFIG", "SET", "requirepass", PASSWORD)
        self.accepted(f"password_file = {self.secret()}")

    def denied(self, redis, word, unavailable=69):
        """The link does not come up; the word of the error is all that is said of it."""
        text = config(self.redis.url, {"orders": recovery(self.handler("exit 0\n"))}, redis=redis)
        daemon = self.daemon(text).wait_ready()
        record = daemon.wait_record(REDIS=self.redis.url, PRIORITY="4")
        self.assertEqual(record.first("REDIS_ERROR"), word)
        daemon.notify.wait_status(word)
        # tried again: the next refusal is as silent
        daemon.wait_count(3, REDIS=self.redis.url, STATE="greeting")
        self.check_process(daemon.pid)
        daemon.terminate()
        self.check_daemon(daemon)
        self.check_modes(text, {"--check": 0, "--print-config": 0, "--dry-run": unavailable,
                                "--once": unavailable})

    def test_wrong_password(self):
        self.serve()
        self.r("ACL", "SETUSER", "recoverer", "resetpass", ">another")
        self.denied(f"username = recoverer\npassword_file = {self.secret()}", "WRONGPASS")

    def test_wrong_password_of_the_default_user(self):
        self.serve()
        self.r("CONFIG", "SET", "requirepass", "another")
        self.denied(f"password_file = {self.secret()}", "WRONGPASS")

    def test_renamed_commands(self):
        """The error of an unknown command repeats its arguments, which are the password."""
        self.serve("--rename-command", "AUTH", "", "--rename-command", "HELLO", "")
        try:
            self.r("AUTH", PASSWORD)
        except ReplyError as error:
            self.assertIn(PASSWORD.decode(), str(error))  # it does
        self.denied(f"password_file = {self.secret()}", "ERR")

    def test_a_password_in_a_url(self):
        """Refused, and not repeated, however it is written."""
        word = PASSWORD.decode()
        urls = [f"redis://:{word}@127.0.0.1:6379/0", f"redis://user:{word}@127.0.0.1",
                f"redis://user:{word}@[::1]:6379", f"redis://user:{word}@host:port/x",
                f"redis://user:a@{word}@127.0.0.1", f"redis://user:{word}@", f"redis://:{word}",
                f"rediss://user:{word}@127.0.0.1", f"http://user:{word}@127.0.0.1",
                f"unix://user:{word}@/run/redis.sock", f"unix:///run/redis.sock?password={word}",
                f"redis://127.0.0.1?password={word}", f"redis://127.0.0.1/0#{word}",
                f"user:{word}@127.0.0.1", f"REDIS://:{word}@127.0.0.1",
                f"redis://127.0.0.1 redis://:{word}@127.0.0.1:6380",
                f"redis://127.0.0.1\n  redis://:{word}@127.0.0.1:6380"]
        fine = {"orders": recovery(self.handler("exit 0\n"))}
        for url in urls:
            outputs = self.check_modes(config(url, fine), {
                "--check": 78, "--print-config": 78, "--dry-run": 78, "--once": 78})
            self.assertIn("[redis] url: ", outputs["--check"], url)
        for number, url in enumerate(urls[:4]):
            daemon = self.daemon(config(url, fine), name=f"d{number}")
            self.assertEqual(daemon.process.wait(harness.DEADLINE), 78)
            daemon.journal.wait_for(lambda r: r.priority == 3, harness.DEADLINE)
            for data in self.raw:
                self.assert_hidden("a record", data)
            self.assert_hidden("standard error", daemon.stderr())

    def test_a_password_in_a_wrong_place(self):
        """As a key of its own, as the name of a file, in a line that is none."""
        word = PASSWORD.decode()
        for line in (f"password = {word}", f"requirepass = {word}", f"password_file = {word}",
                     f"password_file = ./{word}", f"url = {word}"):
            got, out, err = self.run_daemon(f"[redis]\n{line}\n", "--check")
            # a bare name may be a credential that only the service sees
            self.assertEqual(got, 0 if line == f"password_file = {word}" else 78, line)
            self.assert_hidden(line, out + err)
            got, out, err = self.run_daemon(f"[redis]\n{line}\n")
            self.assertEqual(got, 78, line)
            self.assert_hidden(line, out + err)

    def test_a_bad_password_file(self):
        fine = {"orders": recovery(self.handler("exit 0\n"))}
        files = {"read by others": (PASSWORD, 0o644), "long": (PASSWORD * 500, 0o600),
                 "two lines": (PASSWORD + b"\n" + PASSWORD, 0o600),
                 "NUL": (PASSWORD + b"\0" + PASSWORD, 0o600)}
        for what, (data, mode) in files.items():
            path = self.path("bad")
            with open(path, "wb") as file:
                file.write(data)
            os.chmod(path, mode)
            for arguments in (("--check",), ("--once",), ("--dry-run",), ("--print-config",)):
                text = config("unix:///nowhere", fine, redis=f"password_file = {path}")
                got, out, err = self.run_daemon(text, *arguments)
                if what != "two lines":  # that is a password like any other
                    self.assertEqual(got, 78, (what, arguments, err))
                self.assert_hidden(f"{what}, {arguments}", out + err)


class Peers(SecrecyTest):
    """Servers that repeat in their errors what they were told, or what they hold."""

    # Error texts; the first word may be shown where it looks like a code.
    ERRORS = ["ERR {0}", "ERR unknown command 'X', with args beginning with: '{0}' '{0}'",
              "{0} is not allowed", "NOPERM this user may not say '{0}'", "WRONGTYPE {0}",
              "NOGROUP no such key '{0}'", "LOADING {0}", "BUSY {0}", "READONLY {0}", "OOM {0}",
              "MOVED 1 {0}:6379", "ASK 1 {0}:6379", "NOAUTH {0}", "WRONGPASS {0}", "MISCONF {0}",
              "EXECABORT {0}", "ERR", "", " {0}", "'{0}'", "ERR{0}", "err {0}", "NOPERM:{0}"]
    # What is no error and yet not what was asked for.
    SHAPES = [b"{0}", "{0}", [b"{0}", b"{0}"], [[b"{0}", [b"{0}", b"{0}"]]], [b"0-0", [b"{0}"]],
              [b"{0}", []], [1, b"{0}", b"{0}", [[b"{0}", b"1"]]], [[b"1-0", b"{0}"]], 7, None]

    # Which commands are answered badly; what the others need in order to get so far.
    COMMANDS = ["AUTH", "HELLO", "SELECT", "CLIENT", "XPENDING", "XPENDING-RANGE", "XAUTOCLAIM",
                "XCLAIM", "XACK", "XRANGE", "EXISTS", "TIME"]

    def filled(self, shape):
        if isinstance(shape, bytes):
            return shape.replace(b"{0}", VALUE + b" " + PASSWORD)
        if isinstance(shape, str):
            return shape.replace("{0}", (VALUE + b" " + PASSWORD).decode())
        if isinstance(shape, list):
            return [self.filled(item) for item in shape]
        return shape

    @staticmethod
    def kind(words):
        name = words[0].upper().decode()
        return "XPENDING-RANGE" if name == "XPENDING" and len(words) > 3 else name

    def good(self, words):
        kind = self.kind(words)
        if kind == "XPENDING":
            return [2, b"1-0", b"2-0", [[b"dead", b"2"]]]
        if kind == "XPENDING-RANGE":
            if words[3] == words[4]:  # whose is this one? Nobody's
                return []
            return [[i, b"recoverer", 1, 1] for i in (b"1-0", b"2-0")]
        if kind == "XAUTOCLAIM":
            return [b"0-0", [b"1-0", b"2-0"] if int(words[4]) < 10**12 else [], []]
        if kind == "XCLAIM" and b"JUSTID" not in words:
            # not the second one: the daemon asks whose that is, and whether it exists
            return [[b"1-0", [NAME, VALUE]]] if b"1-0" in words else []
        if kind == "XCLAIM":
            return [w for w in words[5:] if w.count(b"-") == 1]
        return {"AUTH": "OK", "HELLO": [b"server", b"redis", b"version", b"7.0.0", b"proto", 2],
                "SELECT": "OK", "CLIENT": "OK", "XACK": 1, "XRANGE": [], "EXISTS": 1,
                "TIME": [b"1700000000", b"0"]}.get(kind)

    def talk(self, command, reply):
        """A daemon whose server answers this command so; after its end."""
        peer = Peer(self.path("peer"))
        reached, later = [], []
        enough = threading.Event()
        if command == "EXISTS":  # is asked after NOGROUP only
            others = {"XPENDING": ReplyError("NOGROUP " + VALUE.decode())}
        else:
            others = {}

        def answer(words):
            kind = self.kind(words)
            (reached if kind == command else later if reached else []).append(words)
            # it has met that answer twice, or goes on although it was answered so
            if len(reached) >= 2 or len(later) >= 12:
                enough.set()
            if kind == command:
                return reply
            return others.get(kind, self.good(words))

        peer.answer = answer
        text = config(f"unix://{peer.path}?db=3", {"orders": recovery(
            self.handler("cat >/dev/null; exit 0\n"), interval="10ms")},
            redis=f"username = u\npassword_file = {self.secret()}\nreconnect_min = 10ms\n"
                  "reconnect_max = 20ms", daemon="drain_timeout = 100ms")
        name = "daemon%d" % len(os.listdir(self.dir))
        daemon = self.daemon(text, name=name).wait_ready()
        try:
            self.assertTrue(enough.wait(harness.DEADLINE), f"{command} {reply!r}: {later[-5:]}")
        finally:
            self.assertEqual(daemon.terminate(), 0)
            peer.close()
        self.check_daemon(daemon)
        self.raw.clear()
        return daemon, text

    def go_through(self, command):
        for text in self.ERRORS:
            self.talk(command, ReplyError(self.filled(text)))

    def shapes(self, command):
        for shape in self.SHAPES:
            if shape is None:
                continue
            self.talk(command, self.filled(shape))


def add_peer_tests():
    for command in Peers.COMMANDS:
        name = command.lower().replace("-", "_")
        setattr(Peers, f"test_errors_of_{name}",
                lambda self, command=command: self.go_through(command))
        setattr(Peers, f"test_shapes_of_{name}",
                lambda self, command=command: self.shapes(command))


add_peer_tests()


if __name__ == "__main__":
    harness.main()
