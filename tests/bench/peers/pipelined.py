# SPDX-License-Identifier: BSD-3-Clause
"""The same by somebody who knows about round trips: a page is read at once and acknowledged at
once, and the next page is claimed in the same pipeline."""

import sys

import redis


def process(_fields):
    pass


def claim(pipe, cursor):
    pipe.execute_command("XAUTOCLAIM", "orders", "workers", "pipelined", 60000, cursor, "COUNT",
                         100, "JUSTID")


r = redis.Redis(unix_socket_path=sys.argv[1])
r.response_callbacks.pop("XAUTOCLAIM", None)  # with JUSTID it would lose the cursor
pipe = r.pipeline(transaction=False)
claim(pipe, "0-0")
(cursor, ids, *_), = pipe.execute()
acked = 0
while True:
    done = []
    if ids:
        for entry, fields in r.xclaim("orders", "workers", "pipelined", 0, ids):
            process(fields)
            done.append(entry)
    if done:
        pipe.xack("orders", "workers", *done)
    last = cursor == b"0-0"
    if not last:
        claim(pipe, cursor)
    replies = pipe.execute()
    if done:
        acked += replies.pop(0)
    if last:
        break
    cursor, ids, *_ = replies[0]
print(acked)
