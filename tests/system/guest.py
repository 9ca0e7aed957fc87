# SPDX-License-Identifier: BSD-3-Clause
"""A Debian system that boots in a container of systemd-nspawn, and what can be done in it.

The root is the lower layer of an overlay and stays as it is; what the guest writes lasts over a
reboot and is gone when the guest is. No bus, no machined and no registration on the host: commands
enter the namespaces of the guest's first process. The network is the guest's own loopback.
"""

import json
import os
import shutil
import signal
import subprocess
import tempfile
import time

DEADLINE = float(os.environ.get("TEST_DEADLINE", "120"))
GROUPS = [path for path in ("/sys/fs/cgroup/systemd", "/sys/fs/cgroup/unified", "/sys/fs/cgroup")
          if os.path.exists(os.path.join(path, "cgroup.procs"))]
BOOT = """set -eu
mount -t overlay overlay -o "lowerdir=$1,upperdir=$2/upper,workdir=$2/work" "$2/root"
exec systemd-nspawn --quiet --directory="$2/root" --machine="$3" --boot --register=no --keep-unit \\
    --private-network --console=pipe --capability=all --system-call-filter=bpf
"""


def wait_until(what, condition, deadline=None):
    """What condition() returned when it was first true."""
    end = time.monotonic() + (deadline or DEADLINE)
    while True:
        got = condition()
        if got:
            return got
        if time.monotonic() > end:
            raise TimeoutError(f"{what}: not within {deadline or DEADLINE:.0f} s")
        time.sleep(0.05)


class Failed(AssertionError):
    """A command in the guest ended badly."""


class Guest:
    def __init__(self, root):
        self.root = root
        self.name = f"xautoclaimd-{os.getpid()}"
        self.directory = tempfile.mkdtemp(prefix="xautoclaimd-guest-", dir="/var/tmp")
        for name in ("upper", "work", "root"):
            os.mkdir(os.path.join(self.directory, name))
        os.chmod(self.directory, 0o755)
        os.chmod(os.path.join(self.directory, "upper"), 0o755)
        self.nspawn = None
        self.leader = None

    def boot(self):
        """Returns when everything that starts at boot has started, with the seconds it took."""
        begun = time.monotonic()
        # A cgroup of its own: guests that are started side by side must not share one.
        groups = [os.path.join(path, self.name) for path in GROUPS]
        for group in groups:
            os.makedirs(group, exist_ok=True)

        def join():
            os.setsid()
            for group in groups:
                with open(os.path.join(group, "cgroup.procs"), "w", encoding="ascii") as file:
                    file.write(str(os.getpid()))

        with open(os.path.join(self.directory, "console"), "ab") as console:
            # pylint: disable-next=subprocess-popen-preexec-fn
            self.nspawn = subprocess.Popen(
                ["unshare", "--mount", "--propagation", "private", "sh", "-c", BOOT, "sh",
                 self.root, self.directory, self.name],
                stdin=subprocess.DEVNULL, stdout=console, stderr=console, preexec_fn=join)
        wait_until("its systemd can be asked", self._can_be_asked)
        state = self.try_run("systemctl", "is-system-running", "--wait").stdout.strip()
        if state not in ("running", "degraded"):
            raise Failed(f"the guest booted into the state {state!r}\n{self.console()}")
        return time.monotonic() - begun

    def console(self):
        with open(os.path.join(self.directory, "console"), errors="replace",
                  encoding="utf-8") as file:
            return file.read()[-3000:]

    def _alive(self):
        if self.nspawn.poll() is not None:
            raise Failed(f"systemd-nspawn ended ({self.nspawn.returncode})\n{self.console()}")
        return True

    def _can_be_asked(self):
        # At first nspawn has another child, which starts the one that stays.
        self.leader = self._find_leader()
        return self.leader and self.try_run("test", "-S", "/run/systemd/private").returncode == 0

    def _find_leader(self):
        self._alive()
        path = f"/proc/{self.nspawn.pid}/task/{self.nspawn.pid}/children"
        with open(path, encoding="ascii") as file:
            children = file.read().split()
        return int(children[0]) if children else None

    def try_run(self, *command, stdin=None, timeout=120):
        # In a session of its own: what signals its group in there must not reach us.
        return subprocess.run(
            ["setsid", "-w", "nsenter", "-t", str(self.leader), "-a", "-r", "-w", "--",
             "/usr/bin/env", "-i", "PATH=/usr/sbin:/usr/bin:/sbin:/bin", "TERM=dumb",
             "LANG=C.UTF-8", "SYSTEMD_PAGER=", "SYSTEMD_COLORS=0", "HOME=/root",
             "DEBIAN_FRONTEND=noninteractive", *command],
            input=stdin if stdin is not None else "", stdout=subprocess.PIPE,
            stderr=subprocess.PIPE, text=True, errors="replace", timeout=timeout, check=False)

    def run(self, *command, stdin=None, timeout=120):
        """Its standard output; a bad exit status is an error."""
        done = self.try_run(*command, stdin=stdin, timeout=timeout)
        if done.returncode != 0:
            raise Failed(f"{' '.join(command)}: exit status {done.returncode}\n"
                         f"{done.stdout[-2000:]}{done.stderr[-2000:]}")
        return done.stdout

    def shell(self, script, stdin=None):
        return self.run("sh", "-euc", script, stdin=stdin)

    def put(self, path, text, mode=0o644, owner="root:root"):
        self.run("sh", "-euc", 'mkdir -p "${1%/*}"; umask 077; cat >"$1"; chown "$2" "$1"; '
                 'chmod "$3" "$1"', "sh", path, owner, f"{mode:o}", stdin=text)

    def put_file(self, path, source, mode=0o644):
        """A file of the host, whatever is in it."""
        with open(source, "rb") as file:
            subprocess.run(["setsid", "-w", "nsenter", "-t", str(self.leader), "-a", "-r", "-w",
                            "--", "/bin/sh", "-euc", 'cat >"$1"; chmod "$2" "$1"', "sh", path,
                            f"{mode:o}"], stdin=file, check=True)

    # --- units and records ---

    def show(self, unit, name):
        return self.run("systemctl", "show", "--property", name, "--value", unit).rstrip("\n")

    def status_text(self, unit="xautoclaimd"):
        return self.show(unit, "StatusText")

    def wait_status(self, words, unit="xautoclaimd", deadline=None):
        try:
            return wait_until(words, lambda: words in self.status_text(unit) and
                              self.status_text(unit), deadline)
        except TimeoutError as error:
            raise Failed(f"{error}; the status is {self.status_text(unit)!r}, the unit "
                         f"{self.show(unit, 'ActiveState')}\n{self.journal_text(unit)}") from None

    def records(self, *matches):
        lines = self.run("journalctl", "--output=json", "--all", *matches).splitlines()
        return [json.loads(line) for line in lines if line.startswith("{")]

    def journal_text(self, unit="xautoclaimd", lines=15):
        return self.run("journalctl", "--output=cat", "--unit", unit, "--lines", str(lines))

    # --- the end ---

    def _end(self, sig):
        """Signals nspawn, which shuts the guest down, and waits."""
        try:
            self.nspawn.send_signal(sig)
            self.nspawn.wait(40)
        except subprocess.TimeoutExpired:
            os.kill(self.leader, signal.SIGKILL)
            try:
                self.nspawn.wait(10)
            except subprocess.TimeoutExpired:
                self.nspawn.kill()
                self.nspawn.wait()

    def reboot(self):
        """As `reboot` does; returns the seconds until everything has started again."""
        begun = time.monotonic()
        self.try_run("systemctl", "--no-block", "reboot")
        try:
            self.nspawn.wait(60)  # it leaves the new start to its caller
        except subprocess.TimeoutExpired:
            raise Failed("the guest does not go down\n" + self.console()) from None
        self.boot()
        return time.monotonic() - begun

    def end(self):
        if self.nspawn and self.nspawn.poll() is None:
            self._end(signal.SIGTERM)
        for group in (os.path.join(path, self.name) for path in GROUPS):
            for directory, _, _ in os.walk(group, topdown=False):
                try:
                    os.rmdir(directory)
                except OSError:
                    pass
        shutil.rmtree(self.directory, ignore_errors=True)


def why_not():
    """Why no guest can be booted here, or None."""
    if os.getuid() != 0:
        return "only root can boot containers"
    if not shutil.which("systemd-nspawn"):
        return "systemd-nspawn is not installed (package systemd-container)"
    if not GROUPS:
        return "no cgroup hierarchy of systemd is mounted"
    for path in GROUPS:
        probe = os.path.join(path, f"xautoclaimd-probe-{os.getpid()}")
        try:
            os.mkdir(probe)
            os.rmdir(probe)
        except OSError as error:
            return f"no cgroup can be made below {path}: {error.strerror}"
    done = subprocess.run(["unshare", "--mount", "--propagation", "private", "true"],
                          stderr=subprocess.DEVNULL, check=False)
    return "no mount namespace can be made" if done.returncode != 0 else None
