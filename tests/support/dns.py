# SPDX-License-Identifier: BSD-3-Clause
"""A name server that a test scripts: UDP, port 53 of a loopback address, A and AAAA.

    dns.names["db.example"] = ["127.0.0.1"]        answers with these
    dns.names["db.example"] = Late(20, [...])      that many seconds after each query
    dns.names["db.example"] = SILENCE              never answers
    (not there)                                    NXDOMAIN
"""

import ipaddress
import socket
import struct
import threading

SILENCE = object()
A, AAAA = 1, 28
NOERROR, NXDOMAIN = 0, 3


class Late:
    def __init__(self, seconds, addresses):
        self.seconds, self.addresses = seconds, addresses


def parse_question(query):
    """(name, type, the bytes of the question section)."""
    labels, at = [], 12
    while query[at]:
        labels.append(query[at + 1 : at + 1 + query[at]].decode())
        at += 1 + query[at]
    return ".".join(labels).lower(), struct.unpack_from(">H", query, at + 1)[0], query[12 : at + 5]


def answer(query, addresses):
    """addresses: None for a name that does not exist."""
    _, kind, question = parse_question(query)
    version = {A: 4, AAAA: 6}.get(kind)
    found = [a for a in map(ipaddress.ip_address, addresses or ()) if a.version == version]
    flags = 0x8580 | (NXDOMAIN if addresses is None else NOERROR)
    records = b"".join(b"\xc0\x0c" + struct.pack(">HHIH", kind, 1, 0, len(a.packed)) + a.packed
                       for a in found)
    return query[:2] + struct.pack(">HHHHH", flags, 1, len(found), 0, 0) + question + records


class Dns:
    def __init__(self, address="127.0.0.1"):
        self.names = {}
        self._queries = []
        self._changed = threading.Condition()
        self._late = []
        self._socket = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self._socket.bind((address, 53))
        self._thread = threading.Thread(target=self._serve, daemon=True)
        self._thread.start()

    def _serve(self):
        while True:
            query, peer = self._socket.recvfrom(4096)
            if not query:
                return
            name, kind, _ = parse_question(query)
            with self._changed:
                self._queries.append((name, kind))
                self._changed.notify_all()
            self._answer(query, peer, self.names.get(name))

    def _answer(self, query, peer, what):
        if isinstance(what, Late):
            timer = threading.Timer(what.seconds, self._answer, (query, peer, what.addresses))
            timer.daemon = True
            self._late.append(timer)
            timer.start()
        elif what is not SILENCE:
            self._socket.sendto(answer(query, what), peer)

    def asked(self, name, kind=A):
        """How often."""
        with self._changed:
            return self._queries.count((name, kind))

    def wait_asked(self, name, times=1, seconds=30):
        with self._changed:
            if not self._changed.wait_for(lambda: self._queries.count((name, A)) >= times, seconds):
                raise TimeoutError(f"nobody asked for {name} in {seconds} s; there were "
                                   f"{self._queries[-10:]}")

    def close(self):
        if not self._thread.is_alive():
            return
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sender:
            sender.sendto(b"", self._socket.getsockname())
        self._thread.join()
        for timer in self._late:
            timer.cancel()
        self._socket.close()
