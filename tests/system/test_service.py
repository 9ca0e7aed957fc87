#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""The installed service in a booted Debian: what an administrator does with it, from the
installation to the purge, in this order.

usage: test_service.py GUEST-ROOT PACKAGE-BEFORE PACKAGE [TEST...]

The tests share one guest and come in the order of their names; each but the first ones sets up
what it needs. What was measured is in lines that begin with "# figure:".
"""

import os
import re
import signal
import sys
import time
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [HERE, os.path.join(HERE, "..", "support")]
import harness  # noqa: E402
from guest import Failed, Guest, wait_until  # noqa: E402

UNIT = "xautoclaimd"
CONFIG = "/etc/xautoclaimd/xautoclaimd.conf"
CONFIG_DROPINS = "/etc/xautoclaimd/xautoclaimd.conf.d"
UNIT_DROPINS = "/etc/systemd/system/xautoclaimd.service.d"
EXAMPLES = "/usr/share/doc/xautoclaimd/examples"
HANDLER = "/opt/demo/handler"
PASSWORD = "s3cr3t-Hunter2-w0rd"
PASS_ID = "1e1a9bcd5486406a8c5549e3b1283c91"

SIX_LINES = f"""[recovery orders]
stream = orders
group = workers
min_idle = 60s
handler = worker
command = {HANDLER} worker
"""
EXEC = SIX_LINES.replace("handler = worker", "handler = exec").replace(f"{HANDLER} worker", HANDLER)
QUICK = """[recovery orders]
min_idle = 5s
interval = 1s
"""
RIGHTS = "+xautoclaim +xclaim +xrange +xack +xpending +exists +ping"

ROOT, PACKAGE_BEFORE, PACKAGE = "", "", ""
guest = None


def setUpModule():
    global guest
    guest = Guest(ROOT)
    try:
        figure("boot", guest.boot())
        guest.put("/etc/redis/test.conf", "unixsocket /run/redis/redis-server.sock\n"
                  "unixsocketperm 770\nappendonly yes\n", 0o640, "redis:redis")
        guest.shell("echo include /etc/redis/test.conf >>/etc/redis/redis.conf")
        guest.run("systemctl", "restart", "redis-server")
        guest.put_file("/root/before.deb", PACKAGE_BEFORE)
        guest.put_file("/root/now.deb", PACKAGE)
        guest.run("mkdir", "-p", os.path.dirname(HANDLER))
        guest.put_file(HANDLER, os.path.join(HERE, "handler"), 0o755)
    except BaseException:
        guest.end()
        raise


def tearDownModule():
    guest.end()


def figure(what, value, unit="s"):
    print(f"# figure: {what}: {value:.2f} {unit}" if isinstance(value, float)
          else f"# figure: {what}: {value}", flush=True)


def redis(*command, stdin=None):
    return guest.run("redis-cli", *command, stdin=stdin).strip()


def strand(count, stream="orders", idle_ms=3600000):
    """Entries that a consumer got and left behind, idle for long."""
    ids = [f"1700000000000-{n}" for n in range(1, count + 1)]
    lines = [f"XGROUP CREATE {stream} workers 0 MKSTREAM"]
    lines += [f"XADD {stream} {i} order_id {n}" for n, i in enumerate(ids, 1)]
    lines.append(f"XREADGROUP GROUP workers lost COUNT {count} STREAMS {stream} >")
    for at in range(0, count, 100):
        lines.append(f"XCLAIM {stream} workers lost 0 {' '.join(ids[at:at + 100])} "
                     f"IDLE {idle_ms} JUSTID")
    redis(stdin="\n".join(lines) + "\n")
    if pending(stream) != count:
        raise Failed(f"{pending(stream)} are pending, not {count}")
    return ids


def pending(stream="orders"):
    return int(redis("XPENDING", stream, "workers").splitlines()[0])


def wait_recovered(stream="orders", deadline=None):
    try:
        wait_until(f"{stream} is recovered", lambda: pending(stream) == 0, deadline)
    except TimeoutError as error:
        raise Failed(f"{error}, {pending(stream)} pending\n{guest.journal_text()}") from None


def account():
    """[(begin or end, ID)] as handlers have written it."""
    text = guest.run("sh", "-c", "cat /var/lib/demo/account 2>/dev/null || true")
    return [tuple(line.split()[:2]) for line in text.splitlines()]


def ended():
    return {entry for word, entry in account() if word == "end"}


def configure(text, **dropins):
    guest.put(CONFIG, text)
    for name, content in dropins.items():
        guest.put(f"{CONFIG_DROPINS}/{name}.conf", content)


def unit_dropin(name, text=None):
    """One of the documented ones, or text."""
    if text is None:
        guest.shell(f"mkdir -p {UNIT_DROPINS}; cp {EXAMPLES}/dropins/{name}.conf {UNIT_DROPINS}/")
    else:
        guest.put(f"{UNIT_DROPINS}/{name}.conf", text)


def restart():
    guest.run("systemctl", "daemon-reload")
    guest.run("systemctl", "restart", UNIT)


def clean_up():
    guest.try_run("systemctl", "stop", UNIT)
    guest.try_run("systemctl", "reset-failed", UNIT)
    guest.shell(f"rm -rf {CONFIG_DROPINS}/* {UNIT_DROPINS} /etc/xautoclaimd/redis-password "
                "/var/lib/demo/*")
    guest.run("systemctl", "start", "redis-server")
    for user in ("default", "recoverer"):
        # With a password we are refused until it is given.
        guest.try_run("redis-cli", "-a", PASSWORD, "CONFIG", "SET", "requirepass", "")
        if user != "default":
            redis("ACL", "DELUSER", user)
    redis("ACL", "LOG", "RESET")
    redis("FLUSHALL")
    guest.run("systemctl", "daemon-reload")


def overall_exposure():
    text = guest.run("systemd-analyze", "security", "--no-pager", UNIT)
    return float(re.search(r"Overall exposure level for \S+: ([0-9.]+)", text)[1])


class Service(unittest.TestCase):
    maxDiff = None

    def assert_healthy(self, restarts=0):
        self.assertEqual(guest.show(UNIT, "ActiveState"), "active")
        self.assertEqual(guest.show(UNIT, "NRestarts"), str(restarts))

    # --- installed, at work ---

    def test_01_install(self):
        guest.run("dpkg", "-i", "/root/before.deb")
        self.assert_healthy()
        self.assertEqual(guest.status_text(), "nothing to do: no [recovery] is configured")
        self.assertEqual(guest.run("systemctl", "is-enabled", UNIT).strip(), "enabled")
        self.assertIn("/usr/sbin/nologin", guest.run("getent", "passwd", "xautoclaimd"))
        self.assertEqual(guest.try_run("xautoclaimd", "--check").returncode, 0)
        self.assertNotIn("Unknown key", guest.run("sh", "-c", "systemd-analyze verify "
                         "/lib/systemd/system/xautoclaimd.service 2>&1 | grep -v Restart || true"))

    def test_02_upgrade(self):
        before = guest.show(UNIT, "MainPID")
        guest.run("dpkg", "-i", "/root/now.deb")
        self.assert_healthy()
        self.assertNotEqual(guest.show(UNIT, "MainPID"), before, "the new one runs")
        self.assertNotIn("~before", guest.run("dpkg-query", "-W", "xautoclaimd"))

    def test_03_a_thousand_stranded(self):
        ids = strand(1000)
        configure(SIX_LINES)
        unit_dropin("handler")
        begun = time.monotonic()
        restart()
        wait_recovered(deadline=300)
        figure("1,000 stranded messages recovered after the start, Python worker",
               time.monotonic() - begun)
        status = guest.wait_status("1000 acked")
        self.assertEqual(status, "1 recovery; last pass orders: 1000 claimed, 1000 acked")
        self.assertEqual(ended(), set(ids))
        self.assertEqual(len(account()), 2000, "each was handled once")
        self.assertEqual(guest.shell("stat -c %U:%a /var/lib/demo /var/lib/demo/account").split(),
                         ["xautoclaimd:750", "xautoclaimd:600"])
        self.assert_healthy()

    def test_04_journal(self):
        records = guest.records("RECOVERY=orders", f"MESSAGE_ID={PASS_ID}")
        self.assertEqual(sum(int(r["PASS_ACKED"]) for r in records), 1000)
        for name, value in (("STREAM", "orders"), ("GROUP", "workers"), ("PRIORITY", "6"),
                            ("_SYSTEMD_UNIT", "xautoclaimd.service"),
                            ("SYSLOG_IDENTIFIER", "xautoclaimd")):
            self.assertEqual(records[0].get(name), value, name)
        self.assertIn("orders", guest.run("journalctl", "--field", "RECOVERY").split())
        self.assertTrue(guest.records("-u", UNIT, "-p", "info", "--grep", "executable memory"))
        told = guest.run("journalctl", "--catalog", "--no-pager", f"MESSAGE_ID={PASS_ID}")
        self.assertIn(" Subject: A pass of orders is done\n", told)
        self.assertIn("man:xautoclaimd(8)", told)
        with open(os.path.join(HERE, "../../packaging/catalog/xautoclaimd.catalog"),
                  encoding="utf-8") as file:
            entries = len(re.findall("^-- ", file.read(), re.M))
        known = guest.run("journalctl", "--list-catalog")
        self.assertEqual(known.count(" xautoclaimd: "), entries)

    def test_05_own_memory(self):
        """Handlers may make memory executable; the unit is not what would forbid it."""
        words = [r["MESSAGE"] for r in guest.records("-u", UNIT, "RECOVERY=orders")
                 if "executable memory" in r["MESSAGE"]]
        self.assertEqual([w.rpartition(": ")[2] for w in words], ["yes"])

    def test_06_reboot(self):
        clean_up()
        configure(SIX_LINES)
        unit_dropin("handler")
        ids = strand(50)
        figure("reboot", guest.reboot())
        wait_recovered()
        self.assertEqual(ended(), set(ids))
        self.assert_healthy()

    # --- troubles ---

    def test_10_redis_stops_and_starts(self):
        clean_up()
        configure(SIX_LINES, quick=QUICK)
        unit_dropin("handler")
        restart()
        guest.wait_status("no stream")
        guest.run("systemctl", "stop", "redis-server")
        status = guest.wait_status("1 waiting (redis 127.0.0.1:6379: Connection refused")
        self.assertTrue(status.startswith("1 recovery, "), status)
        self.assertIn(status, guest.run("systemctl", "status", "--no-pager", UNIT))
        self.assert_healthy()
        guest.run("systemctl", "start", "redis-server")
        strand(20)
        wait_recovered()
        self.assert_healthy()
        text = guest.journal_text(lines=50)
        self.assertEqual(text.count(": down: "), 1, text)

    def test_11_redis_away_at_the_start(self):
        clean_up()
        guest.run("systemctl", "stop", "redis-server")
        configure(SIX_LINES)
        restart()
        self.assertIn("Connection refused", guest.wait_status("waiting (redis"))
        self.assert_healthy()
        guest.run("systemctl", "start", "redis-server")
        guest.wait_status("no stream")
        self.assert_healthy()

    def test_12_wrong_password(self):
        clean_up()
        redis("CONFIG", "SET", "requirepass", PASSWORD)
        configure(SIX_LINES)
        restart()
        self.assertIn("NOAUTH", guest.wait_status("1 in error (redis"))
        guest.put("/etc/xautoclaimd/redis-password", "wrong\n", 0o640, "root:xautoclaimd")
        configure(SIX_LINES, password="[redis]\npassword_file = /etc/xautoclaimd/redis-password\n")
        restart()
        guest.wait_status("WRONGPASS")
        self.assertIn("WRONGPASS", guest.run("systemctl", "status", "--no-pager", UNIT))
        guest.put("/etc/xautoclaimd/redis-password", PASSWORD + "\n", 0o640, "root:xautoclaimd")
        guest.wait_status("no stream", deadline=150)  # it is read at each connect
        self.assert_healthy()

    def test_13_no_group_and_wrong_type(self):
        clean_up()
        redis("XADD", "orders", "*", "order_id", "1")
        configure(SIX_LINES, quick=QUICK)
        restart()
        status = guest.wait_status('1 waiting (orders: no group "workers"')
        self.assertIn(status, guest.run("systemctl", "status", "--no-pager", UNIT))
        redis("DEL", "orders")
        redis("SET", "orders", "x")
        status = guest.wait_status("1 in error (orders: the key is not a stream")
        self.assertIn(status, guest.run("systemctl", "status", "--no-pager", UNIT))
        redis("DEL", "orders")
        strand(3)
        guest.wait_status("1 recovery; last pass")
        self.assert_healthy()

    def test_14_bad_configuration(self):
        clean_up()
        configure(SIX_LINES.replace("60s", "60"))
        self.assertNotEqual(guest.try_run("systemctl", "restart", UNIT).returncode, 0)
        self.assertEqual(guest.show(UNIT, "ActiveState"), "failed")
        self.assertEqual(guest.show(UNIT, "ExecMainStatus"), "78")
        self.assertEqual(guest.show(UNIT, "NRestarts"), "0")
        self.assertIn(f"{CONFIG}:4: [recovery orders] min_idle: ", guest.journal_text())

    def test_15_reload(self):
        if guest.try_run("test", "-x", "/usr/bin/xautoclaimctl").returncode != 0:
            self.skipTest("the package has no xautoclaimctl")
        clean_up()
        configure(SIX_LINES)
        unit_dropin("handler")
        restart()
        guest.wait_status("1 recovery, 1 waiting (orders: no stream")
        pid = guest.show(UNIT, "MainPID")
        guest.put(f"{CONFIG_DROPINS}/second.conf",
                  SIX_LINES.replace("orders]", "invoices]").replace("= orders", "= invoices"))
        guest.run("systemctl", "reload", UNIT)
        self.assertTrue(guest.status_text().startswith("2 recoveries"), guest.status_text())
        strand(10, "invoices")
        wait_recovered("invoices", deadline=150)
        guest.put(f"{CONFIG_DROPINS}/third.conf", "[recovery orders]\nnonsense = 1\n")
        done = guest.try_run("systemctl", "reload", UNIT)
        self.assertNotEqual(done.returncode, 0, "a bad file fails the reload")
        self.assertIn("nonsense", guest.journal_text(lines=30))
        self.assertEqual(guest.show(UNIT, "MainPID"), pid)
        self.assert_healthy()

    def test_16_a_thousand_reloads(self):
        """Two files in turn, while entries are handled all the time: nothing grows, no handler is
        interrupted, each result is used."""
        ids = self.begin_load(6000, 0.1)
        restart()
        wait_until("handlers run", lambda: len(ended()) >= 8)
        pid = guest.show(UNIT, "MainPID")
        begun = time.monotonic()
        sizes = []
        for _ in range(10):
            guest.shell(f"""
                for i in $(seq 50); do
                    for interval in 1s 2s; do
                        printf '[recovery orders]\\nmin_idle = 5s\\ninterval = %s\\n' \
                            $interval >{CONFIG_DROPINS}/quick.conf
                        systemctl reload {UNIT} || exit 1
                    done
                done""")
            sizes.append(self.sizes(pid))
        figure("1,000 reloads", time.monotonic() - begun)
        for what, early, late in zip(("RSS in KiB", "descriptors", "children"), sizes[1], sizes[-1]):
            figure(f"{what} after 200 and after 1,000 reloads", f"{early}, {late}")
            self.assertLessEqual(late, early + (256 if "RSS" in what else 2), sizes)
        self.assertEqual(self.finish_load(ids), 0, "each was handled once")
        self.assertEqual(guest.show(UNIT, "MainPID"), pid)
        self.assert_healthy()

    def sizes(self, pid):
        """RSS, descriptors and children, when one generation is there and at work."""
        wait_until("one generation is at work", lambda: int(guest.shell(
            f"pgrep -c -P {pid} || true")) == 4)
        return [int(n) for n in guest.shell(
            f"awk '/^VmRSS/ {{print $2}}' /proc/{pid}/status; ls /proc/{pid}/fd | wc -l; "
            f"pgrep -c -P {pid} || true").split()]

    # --- ends ---

    def begin_load(self, count, pause):
        clean_up()
        configure(SIX_LINES, quick=QUICK)
        unit_dropin("handler")
        guest.shell("mkdir -p /var/lib/demo")
        guest.put("/var/lib/demo/pause", f"{pause}\n")
        guest.run("chown", "-R", "xautoclaimd:", "/var/lib/demo")
        return strand(count)

    def finish_load(self, ids):
        guest.run("rm", "-f", "/var/lib/demo/pause")
        wait_recovered(deadline=300)
        self.assertEqual(ended(), set(ids), "nothing is lost")
        words = account()
        return sum(1 for word in words if word[0] == "begin") - len(ids)

    def test_20_watchdog(self):
        ids = self.begin_load(60, 0.2)
        unit_dropin("watchdog", "[Service]\nWatchdogSec=3s\n")
        restart()
        wait_until("handlers run", lambda: len(ended()) >= 4)
        pid = guest.show(UNIT, "MainPID")
        stopped = time.monotonic()
        guest.run("kill", "-STOP", pid)
        wait_until("it is started again", lambda: guest.show(UNIT, "NRestarts") == "1" and
                   guest.show(UNIT, "ActiveState") == "active")
        figure("stopped by SIGSTOP, running again (WatchdogSec=3s)", time.monotonic() - stopped)
        self.assertNotEqual(guest.show(UNIT, "MainPID"), pid)
        self.assertTrue(guest.records("-u", UNIT, "--grep", "[Ww]atchdog timeout"))
        again = self.finish_load(ids)
        figure("handled again after the watchdog, of 60", again)
        self.assertLessEqual(again, 4, "only what had a handler")
        self.assert_healthy(restarts=1)

    def test_21_stop_under_load(self):
        ids = self.begin_load(200, 0.5)
        restart()
        wait_until("handlers run", lambda: len(ended()) >= 8)
        begun = time.monotonic()
        guest.run("systemctl", "stop", UNIT)
        figure("stop with 4 handlers of 0.5 s running", time.monotonic() - begun)
        self.assertEqual(guest.show(UNIT, "Result"), "success")
        self.assertEqual(guest.show(UNIT, "ExecMainStatus"), "0")
        self.assertEqual(guest.show(UNIT, "ActiveState"), "inactive")
        words = account()
        done = ended()
        self.assertEqual(len(words), 2 * len(done), "each handler that began has ended")
        self.assertEqual(pending(), len(ids) - len(done), "and was acknowledged")
        self.assertLess(len(done), len(ids))
        guest.run("systemctl", "start", UNIT)
        self.assertEqual(self.finish_load(ids), 0, "nothing was handled twice")

    def test_22_killed(self):
        ids = self.begin_load(100, 0.2)
        restart()
        kills = 0
        for at in (8, 24, 40):
            wait_until(f"{at} are handled", lambda at=at: len(ended()) >= at)
            guest.run("systemctl", "kill", "--signal=KILL", "--kill-whom=main", UNIT)
            kills += 1
            wait_until("it is started again", lambda n=kills: guest.show(UNIT, "NRestarts") ==
                       str(n) and guest.show(UNIT, "ActiveState") == "active")
        again = self.finish_load(ids)
        figure(f"handled again after {kills} SIGKILLs, of 100", again)
        self.assertLessEqual(again, 4 * kills, "only what had a handler")

    def test_23_upgrade_under_load(self):
        ids = self.begin_load(100, 0.3)
        restart()
        wait_until("handlers run", lambda: len(ended()) >= 4)
        guest.run("dpkg", "-i", "/root/before.deb")
        guest.run("dpkg", "-i", "/root/now.deb")
        self.assertEqual(self.finish_load(ids), 0, "nothing was handled twice")
        self.assert_healthy()

    # --- secrets ---

    def set_up_credential(self, text=SIX_LINES):
        clean_up()
        redis("ACL", "SETUSER", "recoverer", "on", f">{PASSWORD}", "resetkeys", "~orders", "-@all",
              *RIGHTS.split())
        guest.put("/etc/xautoclaimd/redis-password", PASSWORD + "\n", 0o600)
        configure(text, quick=QUICK, redis="[redis]\nurl = redis://127.0.0.1:6379/0\n"
                  "username = recoverer\npassword_file = redis-password\n")
        unit_dropin("handler")
        unit_dropin("password")

    def test_30_credential_and_least_rights(self):
        self.set_up_credential()
        ids = strand(100)
        restart()
        wait_recovered()
        self.assertEqual(ended(), set(ids))
        self.assert_healthy()
        denied = set(re.findall(r"^object\n(\S+)$", redis("--no-raw", "ACL", "LOG"), re.M))
        raw = redis("ACL", "LOG").splitlines()
        denied |= {raw[i + 1] for i, line in enumerate(raw[:-1]) if line == "object"}
        self.assertLessEqual(denied, {"hello", "client|setname", "time", "info", "client|setinfo"},
                             "what is asked for besides is optional")

    def test_31_nothing_secret_shows(self):
        self.set_up_credential(EXEC)
        strand(40)
        guest.shell("mkdir -p /var/lib/demo")
        guest.put("/var/lib/demo/pause", "0.3\n")
        guest.run("chown", "-R", "xautoclaimd:", "/var/lib/demo")
        guest.put(f"{CONFIG_DROPINS}/level.conf", "[daemon]\nlog_level = debug\n")
        restart()
        wait_until("handlers run", lambda: len(ended()) >= 4)
        processes = guest.run("systemctl", "show", "--property=ControlGroup", "--value", UNIT)
        shown = {
            "systemctl show": guest.run("systemctl", "show", UNIT),
            "systemctl status": guest.try_run("systemctl", "status", "-l", "--no-pager",
                                              UNIT).stdout,
            "--print-config": guest.run("xautoclaimd", "--print-config"),
            "environments and arguments": guest.shell(
                f"for p in $(cat /sys/fs/cgroup/systemd{processes.strip()}/cgroup.procs "
                f"/sys/fs/cgroup/unified{processes.strip()}/cgroup.procs "
                f"/sys/fs/cgroup{processes.strip()}/cgroup.procs 2>/dev/null | sort -u); do "
                "cat /proc/$p/environ /proc/$p/cmdline 2>/dev/null | tr '\\0' '\\n' || true; "
                "done"),
            "the journal": guest.run("journalctl", "--output=json", "--all"),
        }
        self.assertIn("XAUTOCLAIMD_ID=", shown["environments and arguments"], "handlers too")
        self.assertIn("page 0-0 -> ", shown["the journal"], "at debug level")
        for where, text in shown.items():
            self.assertNotIn(PASSWORD, text, where)
            self.assertNotIn("order_id", text, where)
        for variable in ("CREDENTIALS_DIRECTORY", "NOTIFY_SOCKET", "JOURNAL_STREAM"):
            self.assertNotRegex(guest.shell(
                "for p in $(pgrep -f /opt/demo/handler); do cat /proc/$p/environ 2>/dev/null | "
                "tr '\\0' '\\n' || true; done"), f"(?m)^{variable}=")
        wait_recovered()

    def test_32_password_files_that_are_refused(self):
        path = "/etc/xautoclaimd/redis-password"
        for mode, owner, words in ((0o644, "root:root", "others have rights"),
                                   (0o600, "root:root", "Permission denied"),
                                   (0o640, "daemon:xautoclaimd", "neither to root nor")):
            with self.subTest(words):
                clean_up()
                guest.put(path, PASSWORD + "\n", mode, owner)
                configure(SIX_LINES, password=f"[redis]\npassword_file = {path}\n")
                self.assertNotEqual(guest.try_run("systemctl", "restart", UNIT).returncode, 0)
                self.assertEqual(guest.show(UNIT, "ExecMainStatus"), "78")
                last = [line for line in guest.journal_text().splitlines() if words in line]
                self.assertTrue(last, guest.journal_text())
                self.assertIn(path, last[-1])
                self.assertIn("password_file", last[-1])

    def test_33_missing_credential(self):
        self.set_up_credential()
        guest.run("rm", "/etc/xautoclaimd/redis-password")
        guest.run("systemctl", "daemon-reload")
        self.assertNotEqual(guest.try_run("systemctl", "restart", UNIT).returncode, 0)
        self.assertEqual(guest.show(UNIT, "ExecMainStatus"), "243")

    # --- the sandbox ---

    def runs_inside(self, most, *dropins, url="redis://127.0.0.1:6379/0"):
        clean_up()
        configure(EXEC, redis=f"[redis]\nurl = {url}\n")
        for name in ("handler", *dropins):
            unit_dropin(name)
        ids = strand(100)
        restart()
        wait_recovered()
        self.assertEqual(ended(), set(ids))
        level = overall_exposure()
        figure(f"exposure with {', '.join(dropins) or 'no drop-in'}", f"{level}")
        guest.run("systemd-analyze", "security", f"--threshold={round(most * 10)}", "--no-pager",
                  UNIT)
        self.assertLessEqual(level, most)

    def test_40_as_shipped(self):
        self.runs_inside(1.1)

    def test_41_local_redis(self):
        self.runs_inside(0.9, "local-redis")

    def test_42_unix_socket(self):
        self.runs_inside(0.2, "unix-socket", url="unix:///run/redis/redis-server.sock")
        pid = guest.show(UNIT, "MainPID")
        self.assertNotEqual(guest.run("readlink", f"/proc/{pid}/ns/net"),
                            guest.run("readlink", "/proc/1/ns/net"))

    def test_43_what_handlers_are_refused(self):
        clean_up()
        guest.put("/opt/demo/nosy", """#!/bin/sh
for path in /etc /usr /opt/demo /var/lib /home /root; do
    ! touch "$path/nosy" 2>/dev/null || echo "wrote to $path" >&2
done
! cat /etc/shadow >/dev/null 2>&1 || echo "read /etc/shadow" >&2
! kill -0 1 2>/dev/null || echo "may signal PID 1" >&2
! ls /proc/1/ >/dev/null 2>&1 || echo "sees PID 1" >&2
! unshare --user true 2>/dev/null || echo "made a namespace" >&2
! mount -t tmpfs x /tmp 2>/dev/null || echo "mounted" >&2
touch /tmp/private && echo "looked round" >&2
""", 0o755)
        configure(EXEC.replace(HANDLER, "/opt/demo/nosy"))
        strand(1)
        restart()
        wait_recovered()
        said = [r["MESSAGE"].partition("stderr: ")[2] for r in
                guest.records(f"_PID={guest.show(UNIT, 'MainPID')}", "RECOVERY=orders")
                if "stderr: " in r["MESSAGE"]]
        self.assertEqual(said, ["looked round"])
        self.assertNotEqual(guest.try_run("test", "-e", "/tmp/private").returncode, 0)

    # --- instances ---

    def test_50_instance(self):
        clean_up()
        configure("")  # the entries are the instance's
        guest.put("/etc/xautoclaimd/west.conf", SIX_LINES + "consumer = recovery-%i\n"
                  "interval = 1s\n[daemon]\nlog_level = debug\n")
        guest.shell(f"mkdir -p {UNIT_DROPINS.replace('d.service', 'd@.service')}; cp {EXAMPLES}"
                    f"/dropins/handler.conf {UNIT_DROPINS.replace('d.service', 'd@.service')}/")
        guest.run("systemctl", "daemon-reload")
        guest.run("systemctl", "start", UNIT, "xautoclaimd@west")
        self.assertEqual(guest.show("xautoclaimd@west", "ActiveState"), "active")
        self.assertEqual(guest.shell("ls -d /run/xautoclaimd-west").strip(),
                         "/run/xautoclaimd-west")
        strand(5)
        wait_recovered()
        guest.wait_status("5 acked", "xautoclaimd@west")
        self.assertIn("recovery-west", redis("XINFO", "CONSUMERS", "orders", "workers"))
        self.assertTrue(guest.records("INSTANCE=west", "RECOVERY=orders"))
        pid = guest.show("xautoclaimd@west", "MainPID")
        guest.run("dpkg", "-i", "/root/before.deb")
        self.assertNotEqual(guest.show("xautoclaimd@west", "MainPID"), pid,
                            "an upgrade restarts instances")
        guest.run("dpkg", "-i", "/root/now.deb")
        self.assertEqual(guest.show("xautoclaimd@west", "ActiveState"), "active")
        guest.run("systemctl", "stop", "xautoclaimd@west")
        guest.shell("rm -r /etc/systemd/system/xautoclaimd@.service.d /etc/xautoclaimd/west.conf")

    # --- removed ---

    def test_80_its_own_test(self):
        clean_up()
        guest.run("cp", f"{EXAMPLES}/xautoclaimd.conf", CONFIG)
        guest.put_file("/root/recovers", os.path.join(HERE, "../../packaging/debian/tests/recovers"),
                       0o755)
        guest.run("systemctl", "start", UNIT)
        guest.run("/root/recovers")

    def test_81_remove(self):
        clean_up()
        guest.run("cp", f"{EXAMPLES}/xautoclaimd.conf", CONFIG)
        guest.run("systemctl", "start", UNIT)
        guest.run("dpkg", "--remove", "xautoclaimd")
        self.assertEqual(guest.run("pgrep", "-c", "xautoclaimd", stdin="")
                         if guest.try_run("pgrep", "xautoclaimd").returncode == 0 else "0", "0")
        self.assertEqual(guest.try_run("test", "-f", CONFIG).returncode, 0,
                         "the configuration stays until the purge")

    def test_82_purge(self):
        guest.run("dpkg", "--purge", "xautoclaimd")
        left = guest.run("find", "/", "-xdev", "-iname", "*xautoclaim*", "-not", "-path",
                         "/proc/*").split()
        self.assertEqual(left, [])
        self.assertEqual(guest.run("systemctl", "list-units", "--all", "--no-legend", "xautoclaim*")
                         .strip(), "")
        self.assertNotIn("xautoclaimd", guest.run("journalctl", "--list-catalog"))

    def test_83_again(self):
        """What was purged can be installed again."""
        guest.run("dpkg", "-i", "/root/now.deb")
        self.assert_healthy()
        self.assertEqual(guest.status_text(), "nothing to do: no [recovery] is configured")
        guest.run("dpkg", "--purge", "xautoclaimd")


def main():
    global ROOT, PACKAGE_BEFORE, PACKAGE
    ROOT, PACKAGE_BEFORE, PACKAGE, *names = sys.argv[1:]
    loader = unittest.defaultTestLoader
    suite = unittest.TestSuite()
    for name in loader.getTestCaseNames(Service):
        if not names or any(wanted in name for wanted in names):
            suite.addTest(Service(name))
    result = harness.TapResult()
    # Who stops us must not leave a container behind.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    try:
        suite.run(result)
    finally:
        if guest:
            guest.end()
    print(f"1..{result.count}")
    sys.exit(0 if result.wasSuccessful() else 1)


if __name__ == "__main__":
    main()
