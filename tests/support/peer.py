# SPDX-License-Identifier: BSD-3-Clause
"""A scripted server on a Unix socket, for replies that no server at hand gives: an older version,
a renamed command. peer.answer(words) -> the reply; None: an error "unknown command"."""

import os
import socket
import threading

from resp import Incomplete, ReplyError, decode


def encode_reply(value):
    if isinstance(value, ReplyError):
        return b"-%s\r\n" % str(value).encode()
    if value is None:
        return b"$-1\r\n"
    if isinstance(value, bool):
        raise TypeError(value)
    if isinstance(value, int):
        return b":%d\r\n" % value
    if isinstance(value, str):
        return b"+%s\r\n" % value.encode()
    if isinstance(value, bytes):
        return b"$%d\r\n%s\r\n" % (len(value), value)
    return b"*%d\r\n" % len(value) + b"".join(encode_reply(item) for item in value)


class Peer:
    def __init__(self, path):
        self.path = path
        self.answer = lambda words: None
        self._lock = threading.Lock()
        self._requests = []
        self._listener = socket.socket(socket.AF_UNIX)
        self._listener.bind(path)
        self._listener.listen(16)
        self._connections = []
        threading.Thread(target=self._accept, daemon=True).start()

    def close(self):
        self._listener.close()
        for connection in self._connections:
            connection.close()
        os.unlink(self.path)

    def requests(self):
        with self._lock:
            return list(self._requests)

    def _accept(self):
        while True:
            try:
                connection, _ = self._listener.accept()
            except OSError:
                return
            self._connections.append(connection)
            threading.Thread(target=self._serve, args=(connection,), daemon=True).start()

    def _serve(self, connection):
        buffer = b""
        try:
            while True:
                data = connection.recv(1 << 16)
                if not data:
                    return
                buffer += data
                while True:
                    try:
                        words, at = decode(buffer)
                    except Incomplete:
                        break
                    buffer = buffer[at:]
                    with self._lock:
                        self._requests.append(words)
                    reply = self.answer(words)
                    if reply is None:
                        text = "ERR unknown command '%s', with args beginning with: %s" % (
                            words[0].decode(errors="replace"),
                            " ".join(f"'{w.decode(errors='replace')}'" for w in words[1:]))
                        reply = ReplyError(text)
                    connection.sendall(encode_reply(reply))
        except OSError:
            return
