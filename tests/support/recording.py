# SPDX-License-Identifier: BSD-3-Clause
"""What the fault proxy recorded, as requests with their replies, in the order of the requests."""

import base64
import json

from resp import Incomplete, decode


class Exchange:
    """words: the request; reply: its value, None where it never came; sent, answered: seconds on
    the proxy's clock, of the chunk that completed it."""

    def __init__(self, connection, words, sent):
        self.connection = connection
        self.words = words
        self.sent = sent
        self.reply = None
        self.raw_reply = b""
        self.answered = None

    @property
    def name(self):
        return self.words[0].decode().upper()

    def __repr__(self):
        return f"{self.words} -> {self.reply}"


class _Way:
    def __init__(self):
        self.buffer = b""
        self.values = []

    def feed(self, data):
        self.buffer += data
        out = []
        while True:
            try:
                value, at = decode(self.buffer)
            except Incomplete:
                return out
            out.append((value, self.buffer[:at]))
            self.buffer = self.buffer[at:]


def exchanges(path):
    up, down, waiting, out = {}, {}, {}, []
    with open(path) as file:
        for line in file:
            try:
                chunk = json.loads(line)
            except ValueError:
                break  # the last line, still being written
            conn, data = chunk["conn"], base64.b64decode(chunk["data"])
            if chunk["dir"] == "up":
                for words, _ in up.setdefault(conn, _Way()).feed(data):
                    exchange = Exchange(conn, words, chunk["t"])
                    out.append(exchange)
                    waiting.setdefault(conn, []).append(exchange)
            else:
                for value, raw in down.setdefault(conn, _Way()).feed(data):
                    exchange = waiting[conn].pop(0)
                    exchange.reply, exchange.raw_reply = value, raw
                    exchange.answered = chunk["t"]
    return out
