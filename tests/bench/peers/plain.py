# SPDX-License-Identifier: BSD-3-Clause
"""The loop that most people write: claim IDs, then one entry at a time: read, process, XACK."""

import sys

import redis


def process(_fields):
    pass


r = redis.Redis(unix_socket_path=sys.argv[1])
r.response_callbacks.pop("XAUTOCLAIM", None)  # with JUSTID it would lose the cursor
cursor, acked = "0-0", 0
while True:
    cursor, ids, *_ = r.execute_command("XAUTOCLAIM", "orders", "workers", "plain", 60000, cursor,
                                        "COUNT", 100, "JUSTID")
    for entry in ids:
        for _, fields in r.xclaim("orders", "workers", "plain", 0, [entry]):
            process(fields)
            acked += r.xack("orders", "workers", entry)
    if cursor == b"0-0":
        break
print(acked)
