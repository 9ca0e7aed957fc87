# SPDX-License-Identifier: BSD-3-Clause
"""A network and a view of /etc of its own for a whole test program: it runs itself again inside
of new namespaces, as root or in a user namespace. There is a loopback and nothing else.

    if __name__ == "__main__":
        own_network.enter()      # returns inside, or outside with own_network.missing saying why
        harness.main()
"""

import fcntl
import os
import shutil
import socket
import struct
import subprocess
import sys
import tempfile

_INSIDE = "TEST_WORLD_INSIDE"
_ETC = {
    "resolv.conf": "",
    "nsswitch.conf": "hosts: files dns\n",
    "hosts": "127.0.0.1 localhost\n::1 localhost\n",
}

# Why there is none, or None.
missing = "not entered"


def _loopback_up():
    SIOCSIFFLAGS, IFF_UP, IFF_RUNNING = 0x8914, 0x1, 0x40
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as control:
        fcntl.ioctl(control, SIOCSIFFLAGS,
                    struct.pack("16sH14x", b"lo", IFF_UP | IFF_RUNNING))


def _mount(source, target):
    subprocess.run(["mount", "--bind", source, os.path.realpath(target)], check=True,
                   capture_output=True, text=True)


def _whole_etc(directory):
    """A copy of /etc for a system that lacks some of the files."""
    copy = os.path.join(directory, "etc")
    shutil.copytree("/etc", copy, symlinks=True)
    for name in _ETC:
        if not os.path.exists("/etc/" + name):
            path = os.path.join(copy, name)
            if os.path.lexists(path):
                os.unlink(path)
            with open(path, "w"):
                pass
    _mount(copy, "/etc")


def _set_up():
    _loopback_up()
    # What is mounted from there keeps what it shows when the directory is gone.
    directory = tempfile.mkdtemp()
    try:
        subprocess.run(["mount", "-t", "tmpfs", "own-etc", directory], check=True,
                       capture_output=True, text=True)
        if not all(os.path.exists("/etc/" + name) for name in _ETC):
            _whole_etc(directory)
        for name, text in _ETC.items():
            path = os.path.join(directory, name)
            with open(path, "w") as file:
                file.write(text)
            _mount(path, "/etc/" + name)
        if os.path.isdir("/run/nscd"):  # its answers would come from outside
            os.mkdir(os.path.join(directory, "nscd"))
            _mount(os.path.join(directory, "nscd"), "/run/nscd")
        subprocess.run(["umount", "-l", directory], check=True, capture_output=True, text=True)
    finally:
        os.rmdir(directory)


def _is_ours(path):
    with open("/proc/self/mountinfo") as file:
        return os.path.realpath(path) in [line.split()[4] for line in file]


def write_etc(name, text):
    """Changes one of the files of this world, in place."""
    path = "/etc/" + name
    if os.environ.get(_INSIDE) != "yes" or not _is_ours(path):
        raise RuntimeError(f"{path} is not this test's own")
    with open(path, "w") as file:
        file.write(text)


def enter():
    global missing
    if os.environ.get(_INSIDE) == "yes":
        try:
            _set_up()
            missing = None
        except (OSError, subprocess.CalledProcessError) as error:
            missing = f"no namespaces to be had: {getattr(error, 'stderr', None) or error}".strip()
        return
    for user in ([], ["--map-root-user"]):
        wrapper = ["unshare", *user, "--net", "--mount"]
        try:
            probe = subprocess.run([*wrapper, "true"], capture_output=True, text=True, check=False)
        except OSError as error:
            missing = f"no namespaces to be had: {error}"
            return
        if probe.returncode == 0:
            os.environ[_INSIDE] = "yes"
            os.execvp(wrapper[0], [*wrapper, sys.executable, *sys.argv])
        missing = f"no namespaces to be had: {probe.stderr.strip()}"
