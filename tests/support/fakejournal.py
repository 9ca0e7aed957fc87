#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""A journal for tests: a datagram socket that speaks journald's native protocol.

    with FakeJournal("/some/dir/socket") as journal:
        ...                     # the program under test logs
        record = journal.wait_for(lambda r: r.first("PASS_CLAIMED") == "3", 10)

A record is a dict: field name -> list of values in the order they came, str where the bytes are
UTF-8, else bytes. A thread collects them; waiting is woken by each record, there is no polling.

Run with --self-test to test this file.
"""

import array
import mmap
import os
import select
import socket
import struct
import threading
import time


class Record(dict):
    """Field name -> list of values."""

    def first(self, name, default=None):
        """The first value of a field, or the default."""
        values = self.get(name)
        return values[0] if values else default

    @property
    def message(self):
        return self.first("MESSAGE", "")

    @property
    def priority(self):
        value = self.first("PRIORITY")
        return None if value is None else int(value)

    def add(self, name, value):
        try:
            shown = value.decode("utf-8")
        except UnicodeDecodeError:
            shown = value
        self.setdefault(name.decode("ascii", "replace"), []).append(shown)


class ProtocolError(Exception):
    """What came is not the native protocol."""


def parse(data):
    """All records of one datagram (or memory file); an empty line parts two of them."""
    records, record, at = [], Record(), 0
    while at < len(data):
        end = data.find(b"\n", at)
        if end < 0:
            raise ProtocolError("a line without its newline")
        line, at = data[at:end], end + 1
        if not line:
            if record:
                records.append(record)
                record = Record()
            continue
        name, equals, value = line.partition(b"=")
        if not equals:
            value, at = parse_binary(data, at)
        record.add(name, value)
    if record:
        records.append(record)
    return records


def parse_binary(data, at):
    """The value behind "NAME\\n": 64 bits of length, little endian, the bytes, a newline."""
    if len(data) - at < 8:
        raise ProtocolError("a length that is cut off")
    (size,) = struct.unpack_from("<Q", data, at)
    at += 8
    if len(data) - at < size + 1 or data[at + size] != 0x0A:
        raise ProtocolError("a value that is cut off")
    return data[at : at + size], at + size + 1


def read_memory_file(fd):
    """The contents of a passed descriptor, wherever its offset is."""
    size = os.fstat(fd).st_size
    if size == 0:
        return b""
    with mmap.mmap(fd, size, prot=mmap.PROT_READ) as memory:
        return bytes(memory)


class FakeJournal:
    """Binds the socket at once, listens until close(). One lock guards all that is collected."""

    DATAGRAM_MAX = 1 << 20
    DESCRIPTORS_MAX = 16

    def __init__(self, path):
        self.path = path
        self._changed = threading.Condition()
        self._records = []
        self._errors = []
        self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM | socket.SOCK_CLOEXEC)
        self._wake, self._woken = socket.socketpair()
        try:
            self._socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 8 << 20)
            self._socket.bind(path)
        except OSError:
            self._close_sockets()
            raise
        os.chmod(path, 0o666)  # the program under test may run as another user
        self._thread = threading.Thread(target=self._collect, name="fakejournal", daemon=True)
        self._thread.start()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def close(self):
        """Ends the thread and removes the socket. What was collected stays readable."""
        if self._thread is None:
            return
        self._wake.send(b"x")
        self._thread.join()
        self._thread = None
        self._close_sockets()
        try:
            os.unlink(self.path)
        except FileNotFoundError:
            pass

    def _close_sockets(self):
        for each in (self._socket, self._wake, self._woken):
            each.close()

    # --- the thread -------------------------------------------------------------------------

    def _collect(self):
        while True:
            ready, _, _ = select.select([self._socket, self._woken], [], [])
            if self._socket in ready:
                self._receive()
            elif self._woken in ready:
                return

    def _receive(self):
        data, descriptors = self._receive_datagram()
        try:
            payload = b"".join(read_memory_file(fd) for fd in descriptors) if descriptors else data
            records, error = parse(payload), None
        except (ProtocolError, OSError, ValueError) as problem:
            records, error = [], problem
        finally:
            for fd in descriptors:
                os.close(fd)
        with self._changed:
            self._records.extend(records)
            if error is not None:
                self._errors.append(error)
            self._changed.notify_all()

    def _receive_datagram(self):
        descriptors = array.array("i")
        space = socket.CMSG_SPACE(self.DESCRIPTORS_MAX * descriptors.itemsize)
        data, ancillary, flags, _ = self._socket.recvmsg(
            self.DATAGRAM_MAX, space, socket.MSG_CMSG_CLOEXEC
        )
        for level, kind, content in ancillary:
            if level == socket.SOL_SOCKET and kind == socket.SCM_RIGHTS:
                whole = len(content) - len(content) % descriptors.itemsize
                descriptors.frombytes(content[:whole])
        if flags & socket.MSG_TRUNC:
            data = b"cut off"  # fails to parse, and so is seen
        return data, list(descriptors)

    # --- for tests --------------------------------------------------------------------------

    def _check(self):
        if self._errors:
            raise self._errors[0]

    def records(self):
        """A copy of all that came so far."""
        with self._changed:
            self._check()
            return list(self._records)

    def catch_up(self):
        """Until all that was sent before has been read: datagrams keep their order."""
        with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as sender:
            sender.sendto(b"X_CAUGHT_UP=1\n", self.path)
        self.wait_until(lambda records: any("X_CAUGHT_UP" in r for r in records), 30)
        with self._changed:
            self._records[:] = [r for r in self._records if "X_CAUGHT_UP" not in r]

    def clear(self):
        """Forgets all that came so far."""
        with self._changed:
            self._check()
            self._records.clear()

    def wait_until(self, condition, deadline_seconds):
        """Waits until condition(list of all records) is true; returns what it answered."""
        deadline = time.monotonic() + deadline_seconds
        with self._changed:
            while True:
                self._check()
                answer = condition(list(self._records))
                if answer:
                    return answer
                left = deadline - time.monotonic()
                if left <= 0:
                    raise TimeoutError(self._story(deadline_seconds))
                self._changed.wait(left)

    def wait_for(self, predicate, deadline_seconds):
        """Waits for a record that predicate(record) accepts and returns the first such one.
        Records that came earlier count too, unless they were cleared."""
        found = self.wait_until(
            lambda records: [record for record in records if predicate(record)], deadline_seconds
        )
        return found[0]

    def _story(self, seconds):
        last = "".join(f"\n  <{r.priority}> {r.message}" for r in self._records[-50:])
        return f"not in {seconds} s; {len(self._records)} records, the last ones:{last}"


# --- self-test ------------------------------------------------------------------------------


def _send(path, data, descriptors=()):
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as sender:
        rights = [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", descriptors))]
        sender.sendmsg([data] if data else [], rights if descriptors else [], 0, path)


def _self_test():
    import fcntl
    import tempfile
    import unittest

    class SelfTest(unittest.TestCase):
        def setUp(self):
            self.dir = tempfile.TemporaryDirectory()
            self.path = os.path.join(self.dir.name, "socket")
            self.journal = FakeJournal(self.path)

        def tearDown(self):
            self.journal.close()
            self.dir.cleanup()

        def test_text_fields(self):
            _send(self.path, b"MESSAGE=hello=world\nPRIORITY=4\nENTRY_ID=1-0\nENTRY_ID=2-0\n")
            record = self.journal.wait_for(lambda r: r.message == "hello=world", 10)
            self.assertEqual(record["ENTRY_ID"], ["1-0", "2-0"])
            self.assertEqual(record.priority, 4)
            self.assertIsNone(record.first("NONE"))

        def test_binary_fields(self):
            _send(self.path, b"MESSAGE\n" + struct.pack("<Q", 3) + b"a\nb\nRAW=\xff\nPRIORITY=6\n")
            record = self.journal.wait_for(lambda r: r.priority == 6, 10)
            self.assertEqual(record.message, "a\nb")
            self.assertEqual(record["RAW"], [b"\xff"])

        def test_two_records_in_a_datagram(self):
            _send(self.path, b"MESSAGE=1\n\nMESSAGE=2\n\n")
            both = self.journal.wait_until(lambda rs: rs if len(rs) == 2 else None, 10)
            self.assertEqual([r.message for r in both], ["1", "2"])

        def _memory_file(self, value):
            fd = os.memfd_create("record", os.MFD_ALLOW_SEALING)
            os.write(fd, b"PRIORITY=7\nMESSAGE\n" + struct.pack("<Q", len(value)) + value + b"\n")
            fcntl.fcntl(fd, 1033, 0xF)  # F_ADD_SEALS, all of them
            return fd

        def test_memory_files(self):
            value = b"x" * (2 << 20)
            fd = self._memory_file(value)
            _send(self.path, b"", [fd])
            os.close(fd)
            record = self.journal.wait_for(lambda r: r.priority == 7, 10)
            self.assertEqual(len(record.message), len(value))

        def test_waiting_ends_with_the_record(self):
            timer = threading.Timer(0.05, _send, (self.path, b"MESSAGE=late\n"))
            timer.start()
            before = time.monotonic()
            self.journal.wait_for(lambda r: r.message == "late", 30)
            self.assertLess(time.monotonic() - before, 20)
            timer.join()

        def test_waiting_ends_at_the_deadline(self):
            _send(self.path, b"MESSAGE=other\n")
            self.journal.wait_for(lambda r: r.message == "other", 10)
            with self.assertRaisesRegex(TimeoutError, "other"):
                self.journal.wait_for(lambda r: r.message == "never", 0.01)

        def test_clear(self):
            _send(self.path, b"MESSAGE=old\n")
            self.journal.wait_for(lambda r: r.message == "old", 10)
            self.journal.clear()
            self.assertEqual(self.journal.records(), [])

        def test_nonsense_is_not_swallowed(self):
            for bad in (b"MESSAGE=x", b"MESSAGE\n\x01", b"M\n" + struct.pack("<Q", 9) + b"x\n"):
                with self.assertRaises(ProtocolError):
                    parse(bad)
            _send(self.path, b"MESSAGE=x")
            with self.assertRaises(ProtocolError):
                self.journal.wait_for(lambda r: True, 10)

        def test_close(self):
            _send(self.path, b"MESSAGE=kept\n")
            self.journal.wait_for(lambda r: r.message == "kept", 10)
            self.journal.close()
            self.journal.close()
            self.assertEqual(len(self.journal.records()), 1)
            self.assertFalse(os.path.exists(self.path))

    result = unittest.TextTestRunner(verbosity=1).run(
        unittest.defaultTestLoader.loadTestsFromTestCase(SelfTest)
    )
    return 0 if result.wasSuccessful() else 1


if __name__ == "__main__":
    import sys

    if sys.argv[1:] != ["--self-test"]:
        sys.exit("usage: fakejournal.py --self-test")
    sys.exit(_self_test())
