#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""A worker that is given IDs and reads the entries by itself (handler = worker, payload = id).

usage: by_id.py /path/of/redis.sock | by_id.py HOST:PORT

For applications that have a connection to Redis anyway, and for bodies that should not pass
through the daemon. It reads (XRANGE key ID ID) and never acknowledges: that is the daemon's, after
the answer. The stream is $XAUTOCLAIMD_STREAM.
"""

import os
import socket
import sys


class Redis:
    """As much of a client as this takes."""

    def __init__(self, where):
        if where.startswith("/"):
            self.socket = socket.socket(socket.AF_UNIX)
            self.socket.connect(where)
        else:
            host, _, port = where.rpartition(":")
            self.socket = socket.create_connection((host.strip("[]"), int(port)))
        self.file = self.socket.makefile("rb")

    def __call__(self, *words):
        words = [w if isinstance(w, bytes) else str(w).encode() for w in words]
        self.socket.sendall(b"*%d\r\n" % len(words)
                            + b"".join(b"$%d\r\n%s\r\n" % (len(w), w) for w in words))
        return self.reply()

    def reply(self):
        line = self.file.readline()
        if not line.endswith(b"\r\n"):
            raise ConnectionError("the server has gone")
        kind, rest = line[:1], line[1:-2]
        if kind == b"-":
            raise RuntimeError(rest.split(b" ")[0].decode())
        if kind == b"+":
            return rest
        if kind == b":":
            return int(rest)
        size = int(rest)
        if size < 0:
            return None
        if kind == b"*":
            return [self.reply() for _ in range(size)]
        return self.file.read(size + 2)[:-2]


def work(fields):
    """Do it so that doing it twice does no harm."""
    del fields


def main():
    redis = Redis(sys.argv[1])
    stream = os.environ["XAUTOCLAIMD_STREAM"]
    for line in sys.stdin:
        entry = line.strip()
        found = redis("XRANGE", stream, entry, entry)
        if not found:
            print(entry, "reject it is gone from the stream", flush=True)
            continue
        names_and_values = found[0][1]
        work(list(zip(names_and_values[::2], names_and_values[1::2])))
        print(entry, "ok", flush=True)


if __name__ == "__main__":
    main()
