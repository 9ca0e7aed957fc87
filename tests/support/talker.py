# SPDX-License-Identifier: BSD-3-Clause
"""A handler that stays, and behaves as its arguments say: as a worker on standard input and output,
or as a service that does the same on each connection.

usage: talker.py worker DIRECTORY PAYLOAD BEHAVIOUR
       talker.py PATH-OR-PORT DIRECTORY PAYLOAD BEHAVIOUR

Each request leaves a line "ID WHO" in DIRECTORY/requests, each end of input "eof WHO", and
"overlap ID" where the one who had that ID before is still there. WHO is a process or a connection.
A byte in DIRECTORY/gate (a FIFO) lets one waiting behaviour go on.
"""

import hashlib
import json
import os
import select
import signal
import socket
import sys
import threading


class Connection:
    """One side of the protocol. living: who is still at work, of all connections of a service."""

    def __init__(self, sock, directory, payload, living=None):
        self.socket = sock
        self.directory = directory
        self.payload = payload
        self.living = living
        self.who = str(os.getpid()) if living is None else str(sock.fileno()) + "." + str(id(sock))
        self.buffer = bytearray()
        self.asked = []

    def log(self, text):
        fd = os.open(os.path.join(self.directory, "requests"), os.O_WRONLY | os.O_CREAT | os.O_APPEND)
        os.write(fd, text.encode() + b"\n")
        os.close(fd)

    def lines(self):
        try:
            with open(os.path.join(self.directory, "requests")) as file:
                return [line.split() for line in file]
        except FileNotFoundError:
            return []

    def is_there(self, who):
        if self.living is not None:
            return who in self.living
        try:
            os.kill(int(who), 0)
        except ProcessLookupError:
            return False
        return True

    def more(self):
        data = self.socket.recv(1 << 20)
        self.buffer += data
        return bool(data)

    def take(self, size):
        data = bytes(self.buffer[:size])
        del self.buffer[:size]
        return data

    def line(self, end=b"\n"):
        start = 0
        while True:
            at = self.buffer.find(end, start)
            if at >= 0:
                return self.take(at + len(end))
            start = max(0, len(self.buffer) - len(end))
            if not self.more():
                return b""

    def exactly(self, size):
        while len(self.buffer) < size:
            if not self.more():
                return b""
        return self.take(size)

    def bulk(self):
        head = self.line()
        return head + self.exactly(int(head[1:]) + 2) if head else b""

    def whole(self):
        """The bytes of the next request; b"" at the end of input."""
        if self.payload != "resp":
            return self.line()
        text = self.line()
        if not text:
            return b""
        text += self.bulk()
        head = self.line()
        parts = [text, head]
        parts.extend(self.bulk() for _ in range(int(head[1:])))
        return b"".join(parts)

    def request(self):
        """(ID, bytes), or None."""
        text = self.whole()
        if not text:
            self.log(f"eof {self.who}")
            return None
        if self.payload == "json":
            entry = json.loads(text)["id"]
        elif self.payload == "resp":
            entry = text.split(b"\r\n", 3)[2].decode()
        else:
            entry = text.strip().decode()
        if any(words[0] == entry and words[1] != self.who and self.is_there(words[1])
               for words in self.lines() if len(words) == 2):
            self.log(f"overlap {entry} {self.who}")
        self.log(f"{entry} {self.who}")
        return entry, text

    def say(self, text):
        self.socket.sendall(text.encode() if isinstance(text, str) else text)

    def gate(self):
        fd = os.open(os.path.join(self.directory, "gate"), os.O_RDONLY)
        os.read(fd, 1)
        os.close(fd)

    def crash(self):
        if self.living is None:
            os._exit(3)


def until_the_end(c):
    while c.request():
        pass


def ok(c):
    while (r := c.request()):
        c.say(f"{r[0]} ok\n")


def answers(*words):
    def behaviour(c):
        while (r := c.request()):
            c.say(f"{r[0]} {' '.join(words)}\n")
    return behaviour


def crash(c):
    """In the middle of the second entry; by then it has answered the first."""
    entry, _ = c.request()
    c.say(f"{entry} ok\n")
    if c.request():
        c.crash()


def reads_nothing_and_ends(c):
    """Ends when there is something to read."""
    select.select([c.socket], [], [])
    c.crash()


def crash_at_once(c):
    c.request()
    c.crash()


def half_an_answer(c):
    entry, _ = c.request()
    c.say(f"{entry} ok")
    c.crash()


def deaf(c):
    if c.living is None:
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
    until_the_end(c)
    if c.living is None:
        signal.pause()


def late(c):
    """Says nothing until it is told to stop, then that all is well."""
    asked = [c.request()[0]]
    if c.living is None:
        def told(*_):
            for entry in asked:
                c.say(f"{entry} ok\n")
            os._exit(0)
        signal.signal(signal.SIGTERM, told)
    while (r := c.request()):
        asked.append(r[0])
    for entry in asked:
        try:
            c.say(f"{entry} ok\n")
        except OSError:
            pass


def working(c):
    """Takes three times as long as it may, and says so."""
    while (r := c.request()):
        for _ in range(10):
            select.select([], [], [], 0.3)
            c.say(f"{r[0]} working\n")
        c.say(f"{r[0]} ok\n")


def says(text):
    def behaviour(c):
        c.request()
        try:
            c.say(text)
        except OSError:
            pass
        until_the_end(c)
    return behaviour


def nonsense_after(c):
    """One good answer behind a bad line: it does not count."""
    entry, _ = c.request()
    c.say(f"what?\n{entry} ok\n")
    until_the_end(c)


def other(c):
    """Answers for the entry that another one has."""
    entry, _ = c.request()
    c.gate()
    theirs = next(words[0] for words in c.lines() if len(words) == 2 and words[1] != c.who)
    c.say(f"{theirs} ok\n")
    until_the_end(c)


def before_it_is_given(c):
    """Answers when it has read the head."""
    while b"-0" not in c.buffer:
        c.more()
    at = c.buffer.index(b"\"id\":\"") + 6
    c.say(c.buffer[at : c.buffer.index(b"\"", at)].decode() + " ok\n")
    select.select([], [], [])


def reads_nothing(c):
    c.log("here " + c.who)
    select.select([], [], [])


def floods(c):
    """64 MiB of lines that are all right, before it reads anything else."""
    entry, _ = c.request()
    line = f"{entry} working\n".encode()
    block = line * ((1 << 20) // len(line))
    for _ in range(64):
        c.say(block)
    c.say(f"{entry} ok\n")
    ok(c)


def writes_before_it_reads(c):
    """64 MiB of nothing that is an answer, before it reads anything."""
    try:
        for _ in range(64):
            c.say(b"x" * 4000 + b"\n" * ((1 << 20) - 4000))
    except OSError:
        pass


def closes_output(c):
    c.request()
    c.socket.shutdown(socket.SHUT_WR)
    until_the_end(c)


def closes_input(c):
    """Answers what it has and reads no more."""
    entry, _ = c.request()
    c.socket.shutdown(socket.SHUT_RD)
    c.say(f"{entry} ok\n")
    select.select([], [], [])


def backwards(c):
    """Collects as many as it is given at once, 64, and answers them from the last to the first."""
    while True:
        asked = []
        while len(asked) < 64:
            r = c.request()
            if not r:
                return
            asked.append(r[0])
        c.say("".join(f"{entry} ok\n" for entry in reversed(asked)))


def waits(c):
    while (r := c.request()):
        c.gate()
        c.say(f"{r[0]} ok\n")


def keeps(c):
    """What it was given: the digest of each request."""
    while (r := c.request()):
        with open(os.path.join(c.directory, r[0]), "w") as file:
            file.write(hashlib.sha256(r[1]).hexdigest())
        c.say(f"{r[0]} ok\n")


def shows(c):
    """What it was started with."""
    with open(os.path.join(c.directory, "environment"), "w") as file:
        json.dump(dict(os.environ), file)
    os.write(2, b"hello from the worker\n" + b"y" * 3000 + b"\n")
    ok(c)


BEHAVIOURS = {
    "ok": ok, "retry": answers("retry the bank is closed"), "bare-retry": answers("retry"),
    "reject": answers("reject not an order"), "crash": crash, "crash-at-once": crash_at_once,
    "reads-nothing-and-ends": reads_nothing_and_ends,
    "half-an-answer": half_an_answer, "silent": until_the_end, "deaf": deaf, "late": late,
    "working": working, "nonsense": says("hello\n"), "nonsense-after": nonsense_after,
    "overlong": says("x" * 5000), "foreign": says("999-0 ok\n"), "early": says("2-0 ok\n1-0 ok\n"),
    "other": other, "before-it-is-given": before_it_is_given, "reads-nothing": reads_nothing,
    "floods": floods, "writes-before-it-reads": writes_before_it_reads,
    "closes-output": closes_output, "closes-input": closes_input, "backwards": backwards,
    "waits": waits, "keeps": keeps, "shows": shows,
}


def serve(where, directory, payload, behaviour):
    if where.startswith("/"):
        listener = socket.socket(socket.AF_UNIX)
        listener.bind(where)
    else:
        listener = socket.create_server(("127.0.0.1", int(where)))
    listener.listen(128)
    living = set()

    def one(sock):
        connection = Connection(sock, directory, payload, living)
        living.add(connection.who)
        try:
            behaviour(connection)
            # What is not read would reset the connection, and with it take what was written.
            sock.shutdown(socket.SHUT_WR)
        except OSError:
            pass
        finally:
            living.discard(connection.who)
            sock.close()

    print("listening", flush=True)
    while True:
        sock, _ = listener.accept()
        threading.Thread(target=one, args=(sock,), daemon=True).start()


def main():
    where, directory, payload, name = sys.argv[1:]
    if where == "worker":
        BEHAVIOURS[name](Connection(socket.socket(fileno=os.dup(0)), directory, payload))
    else:
        serve(where, directory, payload, BEHAVIOURS[name])


if __name__ == "__main__":
    main()
