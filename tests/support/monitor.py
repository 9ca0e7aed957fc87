# SPDX-License-Identifier: BSD-3-Clause
"""MONITOR as an event to wait for: has the server been sent a certain command?"""

import re
import socket
import threading
import time

from resp import encode

_WORD = re.compile(r'"((?:[^"\\]|\\.)*)"')


class Monitor:
    def __init__(self, path):
        self._socket = socket.socket(socket.AF_UNIX)
        self._socket.connect(path)
        self._socket.sendall(encode("MONITOR"))
        self._file = self._socket.makefile("rb")
        assert self._file.readline() == b"+OK\r\n"
        self._changed = threading.Condition()
        self._commands = []
        self._thread = threading.Thread(target=self._collect, daemon=True)
        self._thread.start()

    def _collect(self):
        try:
            for line in self._file:
                words = _WORD.findall(line.decode(errors="replace"))
                with self._changed:
                    self._commands.append(words)
                    self._changed.notify_all()
        except (OSError, ValueError):
            pass

    def close(self):
        try:
            self._socket.shutdown(socket.SHUT_RDWR)
        except OSError:
            pass  # the server has gone
        self._thread.join()
        self._file.close()
        self._socket.close()

    def wait_for(self, predicate, seconds=30):
        """The first command (a list of words), of those already seen too, that it accepts."""
        deadline = time.monotonic() + seconds
        seen = 0
        with self._changed:
            while True:
                for words in self._commands[seen:]:
                    if predicate(words):
                        return words
                seen = len(self._commands)
                left = deadline - time.monotonic()
                if left <= 0:
                    raise TimeoutError(f"no such command in {seconds} s; the last ones: "
                                       f"{self._commands[-10:]}")
                self._changed.wait(left)
