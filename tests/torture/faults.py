# SPDX-License-Identifier: BSD-3-Clause
"""What is done to daemons and server. Each fault is a loop that waits, strikes, and waits again,
all drawn from its own source of random numbers, until the run ends."""

import os
import signal
import threading

import oracle
from harness import GROUP, STREAM
from resp import ReplyError
from world import boottime, stream


def entry_key(entry):
    ms, _, seq = entry.partition("-")
    return int(ms), int(seq)


def cuts(world, rng, pace):
    """Connections are reset at random bytes; about 25 a second over all links."""
    while not world.ended.wait(rng.uniform(0.02, 0.06) * pace):
        node = rng.choice(world.nodes)
        node.proxy(f"{rng.choice(('cut-up', 'cut-down'))} {rng.randrange(1200)}")


def restart(world, rng, pace):
    """The server is killed and comes back with what is in its file."""
    while not world.ended.wait(rng.uniform(1, 2.5) * world.min_idle * pace):
        with world.server_lock:
            down = rng.uniform(0.1, 3) * world.min_idle
            world.log(f"server killed for {down:.3f}")
            world.server_away()
            world.server.kill()
            world.ended.wait(down)
            world.server.start()
            world.server_back()
            world.log("server up")


def sigstop(world, rng, pace):
    """The server stands still."""
    while not world.ended.wait(rng.uniform(1, 2.5) * world.min_idle * pace):
        with world.server_lock:
            still = rng.uniform(0.3, 3) * world.min_idle
            world.log(f"server stopped for {still:.3f}")
            world.server_away()
            world.server.signal(signal.SIGSTOP)
            world.ended.wait(still)
            world.server_back()
            world.server.signal(signal.SIGCONT)
            world.log("server goes on")


def pause(world, rng, pace):
    """CLIENT PAUSE: commands wait, all of them or those that write."""
    while not world.ended.wait(rng.uniform(1, 2.5) * world.min_idle * pace):
        with world.server_lock:
            still = rng.uniform(0.3, 3) * world.min_idle
            mode = rng.choice(("WRITE", "ALL"))
            world.log(f"CLIENT PAUSE {still:.3f} {mode}")
            with world.client() as client:
                world.server_away()
                client("CLIENT", "PAUSE", round(still * 1000), mode)
                world.ended.wait(still)
                client("CLIENT", "UNPAUSE")
            world.server_back()
            world.log("CLIENT UNPAUSE")


def clock(world, rng, pace):
    """The server's clock steps, both ways."""
    offset = 0.0
    while not world.ended.wait(rng.uniform(0.3, 1.5) * world.min_idle * pace):
        offset += rng.choice((-1, 1)) * rng.uniform(0.05, 3)
        world.log(f"server clock {offset:+.3f}")
        world.set_clock(offset)


def kill9(world, rng, pace):
    """Daemons are killed, and started again."""
    while not world.ended.wait(rng.uniform(0.2, 0.8) * world.min_idle * pace):
        node = rng.choice(world.nodes)
        with node.lock:
            world.log(f"{node.name} killed, pid {node.process.pid}")
            node.kill()
            world.ended.wait(rng.choice((0, rng.uniform(0, 1.5))) * world.min_idle)
            node.start()
            world.log(f"{node.name} started, pid {node.process.pid}")


def term(world, rng, pace):
    """Daemons are asked to stop, drain, and are started again."""
    while not world.ended.wait(rng.uniform(0.2, 0.8) * world.min_idle * pace):
        node = rng.choice(world.nodes)
        with node.lock:
            world.log(f"{node.name} terminated, pid {node.process.pid}")
            node.terminate()
            node.start()
            world.log(f"{node.name} started, pid {node.process.pid}")


def stop(world, rng, pace):
    """Daemons stand still while their handlers run on."""
    while not world.ended.wait(rng.uniform(0.2, 0.8) * world.min_idle * pace):
        node = rng.choice(world.nodes)
        with node.lock:
            still = rng.uniform(0.9, 3) * world.min_idle
            world.log(f"{node.name} stopped for {still:.3f}")
            since = node.suspend()
            world.ended.wait(still)
            node.resume(since)
            world.log(f"{node.name} goes on")


def _remove(world, rng, client, some):
    if rng.random() < 0.8:
        world.removed.update(some)
        world.log(f"XDEL {some}")
        client("XDEL", STREAM, *some)
        return
    oldest = min(some, key=entry_key)
    below = {i.decode() for i, _ in client("XRANGE", STREAM, "-", "(" + oldest)}
    world.removed |= below
    world.removed_below = oldest
    world.log(f"XTRIM below {oldest}")
    client("XTRIM", STREAM, "MINID", "=", oldest)


def _foreign(world, rng, client, some):
    if rng.random() < 0.5:
        world.foreign_acked.update(some)
        world.log(f"foreign XACK {some}")
        client("XACK", STREAM, GROUP, *some)
        return
    force = rng.random() < 0.5
    if force:
        for entry in some:
            world.foreign_claimed.setdefault(entry, []).append(boottime())
    min_idle = 0 if force else round(world.min_idle * 1000)
    world.log(f"foreign XCLAIM {min_idle} {some}")
    client("XCLAIM", STREAM, GROUP, "foreign", min_idle, *some)


def trim(world, rng, pace):
    """Others delete, acknowledge and claim what is pending."""
    client = None
    while not world.ended.wait(rng.uniform(0.05, 0.3) * pace):
        try:
            client = client or world.client()
            rows = client("XPENDING", STREAM, GROUP, "-", "+", 1000)
            if rows:
                some = [r[0].decode() for r in rng.sample(rows, min(len(rows), rng.randint(1, 3)))]
                (_remove if rng.random() < 0.5 else _foreign)(world, rng, client, some)
        except (OSError, ReplyError) as error:
            world.log(f"trimmer: {error}")
            client = client.close() if client else None
    if client:
        client.close()


def _regroup(world, rng, client):
    """What was pending in the old group is nobody's any more."""
    client("MULTI")
    client("XPENDING", STREAM, GROUP, "-", "+", 10**6)
    client("XINFO", "GROUPS", STREAM)
    client("XGROUP", "DESTROY", STREAM, GROUP)
    rows, groups, _ = client("EXEC")
    lost = {row[0].decode() for row in rows}
    world.removed |= lost
    world.log(f"group destroyed with {len(lost)} pending")
    info = dict(zip(groups[0][::2], groups[0][1::2]))
    world.ended.wait(rng.choice((0, rng.uniform(0, 0.5))) * world.min_idle)
    client("XGROUP", "CREATE", STREAM, GROUP, info[b"last-delivered-id"])
    world.log("group created")


def regroup(world, rng, pace):
    """The group is destroyed and made anew."""
    while not world.ended.wait(rng.uniform(4, 12) * world.min_idle * pace):
        while True:
            with world.server_lock:  # half done would be another fault
                try:
                    with world.client() as client:
                        _regroup(world, rng, client)
                    break
                except (OSError, ReplyError) as error:
                    world.log(f"regroup: {error}")


def _running(world):
    """(pid, ID) of a handler that has begun and not ended, in the order of their beginnings."""
    size = oracle.RECORD.size
    with open(world.ledger, "rb") as file:
        end = file.seek(0, 2) // size * size
        file.seek(max(0, end - 1000 * size))
        tail = file.read(min(end, 1000 * size))
    out = {}
    for _, ms, seq, _, pid, _, kind, _, _ in oracle.RECORD.iter_unpack(tail):
        if kind == oracle.BEGIN:
            out[pid, f"{ms}-{seq}"] = True
        else:
            out.pop((pid, f"{ms}-{seq}"), None)
    return list(out)


def _signal_handler(world, pid, entry, signum):
    """False: it is gone. A number that was given away again is nobody's handler."""
    try:
        fd = os.pidfd_open(pid)
    except OSError:
        return False
    try:
        with open(f"/proc/{pid}/environ", "rb") as file:
            if f"XAUTOCLAIMD_ID={entry}".encode() not in file.read().split(b"\0"):
                return False
        signal.pidfd_send_signal(fd, signum)
    except OSError:
        return False
    finally:
        os.close(fd)
    return True


def handlers(world, rng, pace):
    """Handlers are killed, or stand still for a while."""
    while not world.ended.wait(rng.uniform(0.05, 0.4) * world.min_idle * pace):
        running = _running(world)
        if not running:
            continue
        pid, entry = rng.choice(running)
        if rng.random() < 0.6:
            if _signal_handler(world, pid, entry, signal.SIGKILL):
                world.handlers_killed[pid, entry] = boottime()
                world.log(f"handler {pid} of {entry} killed")
        elif _signal_handler(world, pid, entry, signal.SIGSTOP):
            world.log(f"handler {pid} of {entry} stopped")
            world.ended.wait(rng.uniform(0.5, 2) * world.min_idle)
            _signal_handler(world, pid, entry, signal.SIGCONT)


def slow(world, rng, pace):
    """A link is slow for a while."""
    while not world.ended.wait(rng.uniform(0.5, 2) * world.min_idle * pace):
        node = rng.choice(world.nodes)
        node.proxy(f"slow {rng.randrange(20000, 200000)}")
        world.ended.wait(rng.uniform(0.2, 1.5) * world.min_idle)
        node.proxy("slow 0")


FAULTS = {f.__name__: f for f in (cuts, slow, restart, sigstop, pause, clock, kill9, term, stop, trim,
                                  handlers, regroup)}
# What neither ends a daemon nor touches its entries: no two handlers may overlap for it.
MIXED = ("cuts", "restart", "sigstop", "pause", "clock", "stop")
MODES = ("none", *FAULTS, "mixed", "all")
SERVER_FAULTS = ("restart", "sigstop", "pause")  # one at a time


def of_mode(mode):
    if mode == "none":
        return []
    if mode == "mixed":
        return list(MIXED)
    if mode == "all":
        return list(FAULTS)
    return [mode]


def begin(world, mode, seed):
    """Starts the threads of a mode."""
    names = of_mode(mode)
    threads = []
    for name in names:
        pace = 1 if len(names) == 1 else 2 if name not in SERVER_FAULTS else 4
        threads.append(threading.Thread(
            target=_guarded, args=(world, FAULTS[name], stream(seed, name), pace), name=name))
    for thread in threads:
        thread.start()
    return threads


def _guarded(world, fault, rng, pace):
    try:
        fault(world, rng, pace)
    except Exception as error:  # told, and fails the run
        world.log(f"the fault {fault.__name__} itself failed: {error!r}")
        world.broken.append(f"{fault.__name__}: {error!r}")
