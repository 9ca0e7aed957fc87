# SPDX-License-Identifier: BSD-3-Clause
"""A blocking Redis client of a few lines, and a decoder for recorded bytes (RESP2)."""

import socket


class ReplyError(Exception):
    """An error reply of the server."""


class Incomplete(Exception):
    """The bytes end in the middle of a value."""


def decode(data, at=0):
    """The value at data[at:] and where it ends."""
    end = data.find(b"\r\n", at)
    if end < 0:
        raise Incomplete
    kind, line, at = data[at : at + 1], data[at + 1 : end], end + 2
    if kind == b"+":
        return line.decode(), at
    if kind == b"-":
        return ReplyError(line.decode(errors="replace")), at
    if kind == b":":
        return int(line), at
    if kind == b"$":
        size = int(line)
        if size < 0:
            return None, at
        if len(data) < at + size + 2:
            raise Incomplete
        return data[at : at + size], at + size + 2
    if kind == b"*":
        if int(line) < 0:
            return None, at
        items = []
        for _ in range(int(line)):
            item, at = decode(data, at)
            items.append(item)
        return items, at
    raise ValueError(f"not RESP2: {kind!r}")


def encode(*words):
    out = b"*%d\r\n" % len(words)
    for word in words:
        if isinstance(word, int):
            word = str(word)
        if isinstance(word, str):
            word = word.encode()
        out += b"$%d\r\n%s\r\n" % (len(word), word)
    return out


class Client:
    """client("XADD", key, "*", ...) -> the reply; bytes stay bytes, errors are raised."""

    def __init__(self, address, timeout=30):
        if isinstance(address, str):
            self._socket = socket.socket(socket.AF_UNIX)
        else:
            self._socket = socket.socket(
                socket.AF_INET6 if ":" in address[0] else socket.AF_INET)
        self._socket.settimeout(timeout)
        self._socket.connect(address)
        self._buffer = b""

    def close(self):
        self._socket.close()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def _read(self):
        while True:
            try:
                value, at = decode(self._buffer)
            except Incomplete:
                data = self._socket.recv(1 << 20)
                if not data:
                    raise ConnectionError("the server closed the connection") from None
                self._buffer += data
                continue
            self._buffer = self._buffer[at:]
            return value

    def __call__(self, *words):
        self._socket.sendall(encode(*words))
        value = self._read()
        if isinstance(value, ReplyError):
            raise value
        return value

    def pipeline(self, commands):
        """Sends many, returns all replies; errors stay values."""
        commands = list(commands)
        self._socket.sendall(b"".join(encode(*words) for words in commands))
        return [self._read() for _ in commands]
