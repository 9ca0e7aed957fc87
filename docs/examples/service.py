#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""A service (handler = socket, payload = json) that works on 64 entries at once, in one process.

usage: service.py /run/orders/orders.sock [--takes SECONDS]

    [recovery orders]
    handler = socket
    address = unix:/run/orders/orders.sock
    concurrency = 64
    workers = 1

Answers go out as the work is done, in any order. xautoclaimd-orders.service beside this file runs
it under systemd.
"""

import argparse
import asyncio
import json
import os
import signal

LINE_MAX = 256 << 20  # of a request; at least the largest entry, as JSON


async def work(entry, takes):
    """Do it so that doing it twice does no harm, and so that it is safe when this returns."""
    await asyncio.sleep(takes)


async def answer(line, writer, takes):
    entry = json.loads(line)
    try:
        await work(entry, takes)
        said = "ok"
    except Exception as error:  # its words must stay on one line
        said = "retry " + " ".join(str(error).split())
    writer.write(f"{entry['id']} {said}\n".encode())
    await writer.drain()


async def connection(reader, writer, takes):
    running = set()
    try:
        while (line := await reader.readline()).endswith(b"\n"):
            task = asyncio.create_task(answer(line, writer, takes))
            running.add(task)
            task.add_done_callback(running.discard)
        # The daemon has closed it: what is not done is handed out again.
    finally:
        for task in running:
            task.cancel()
        writer.close()


async def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("path")
    parser.add_argument("--takes", type=float, default=0)
    options = parser.parse_args()
    if os.path.exists(options.path):
        os.unlink(options.path)  # of one that was killed
    server = await asyncio.start_unix_server(
        lambda r, w: connection(r, w, options.takes), options.path, limit=LINE_MAX)
    stop = asyncio.Event()
    for signo in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(signo, stop.set)
    await stop.wait()
    server.close()


if __name__ == "__main__":
    asyncio.run(main())
