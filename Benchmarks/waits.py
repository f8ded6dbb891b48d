# Wherry: the costs of very many downloads, and of an agent that starts, dies, or is crowded
# SPDX-License-Identifier: Apache-2.0
"""What a call costs while many downloads wait, and how long calls to the agent take.

Needs the libraries and the agent of a build, such as that of `swift build -c release`:

    WHERRY_LIBRARY=.build/release/libwherry.so PYTHONPATH=bindings/python/src \\
        python3 Benchmarks/waits.py .build/release/wherry-agent
"""

from __future__ import annotations

import os
import random
import signal
import socket
import statistics
import sys
import tempfile
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Callable, List, NamedTuple

import wherry

COUNT = 10_000


def row(what: str, *figures: str) -> None:
    print(f"| {what} | {' | '.join(figures)} |", flush=True)


def silent() -> "tuple[socket.socket, str]":
    """A server that takes connections and never responds."""
    server = socket.create_server(("127.0.0.1", 0), backlog=1024)
    return server, f"http://127.0.0.1:{server.getsockname()[1]}/"


def timed(work: Callable[[], Any]) -> float:
    begun = time.perf_counter()
    work()
    return time.perf_counter() - begun


class Cost(NamedTuple):
    """The mean microseconds of one kind of call, and those of CPU time of this process."""

    call: str
    wall: float
    cpu: float


def steer(folder: str, count: int) -> List[Cost]:
    """Starts this number of downloads after four active ones, steers them out of order, and ends them."""
    server, url = silent()
    client = wherry.Client(timeout=None, max_downloads=4, trust_env=False)
    for name in ("a", "b", "c", "d"):
        client.start_download(url + name, os.path.join(folder, name))
    handles: List[Any] = []
    costs: List[Cost] = []

    def start() -> None:
        for number in range(count):
            handles.append(client.start_download(f"{url}{number}", os.path.join(folder, str(number))))

    def measure(call: str, work: Callable[[], Any]) -> None:
        used = time.process_time()
        wall = timed(work)
        used = time.process_time() - used
        costs.append(Cost(call, wall / count * 1e6, used / count * 1e6))

    def each(call: str, verb: Callable[[Any], Any]) -> None:
        order = list(handles)
        random.Random(1).shuffle(order)
        measure(call, lambda: [verb(handle) for handle in order])

    chance = random.Random(2)
    measure("start", start)
    each("pause", lambda handle: handle.pause())
    each("resume", lambda handle: handle.resume())
    each("prioritize", lambda handle: handle.prioritize(chance.randrange(-9, 9)))
    each("move", lambda handle: handle.move(chance.randrange(count)))
    each("query the queue position", lambda handle: handle.place)
    each("cancel", lambda handle: handle.cancel())
    client.close()
    server.close()
    return costs


def many(folder: str) -> None:
    """Prints the costs of many queued downloads."""
    print(f"| {COUNT:,} queued downloads, and four active ones | us each | us of CPU |\n|---|---:|---:|")
    for cost in steer(folder, COUNT):
        row(cost.call, f"{cost.wall:.0f}", f"{cost.cpu:.0f}")


def open_session(state: str, agent: str, **options: Any) -> wherry.BackgroundSession:
    return wherry.BackgroundSession(
        "bench", state_directory=state, agent=agent, agent_idle=5, trust_env=False, **options
    )


def agent_of(state: str) -> int:
    with open(os.path.join(state, "log"), encoding="utf-8") as log:
        lines = [line for line in log if line.rstrip().endswith("started")]
    return int(lines[-1].split("[")[1].split("]")[0])


def told(what: str, times: List[float]) -> None:
    row(what, f"{statistics.median(times) * 1000:.1f}", f"{max(times) * 1000:.1f}")


def background(folder: str, agent: str, rounds: int) -> None:
    """Times calls while the agent starts, after it has ended, and while it has many idle clients."""
    server, url = silent()
    print("\n| call of a session | median, ms | longest, ms |\n|---|---:|---:|")
    single, losers, lists, crowded, bad = [], [], [], [], []
    for number in range(rounds):
        state = os.path.join(folder, f"state{number}")

        def start(index: int) -> float:
            with open_session(state, agent) as session:
                barrier.wait()
                return timed(lambda: session.download(f"{url}{index}", os.path.join(folder, f"f{index}")))

        barrier = threading.Barrier(1)
        single.append(start(99))
        with open_session(state, agent) as session:
            kill(state)
            lists.append(timed(session.jobs))
            for job in session.jobs():
                session.cancel(job)
                session.acknowledge(job)
            kill(state)
        # Six programs find no agent at the same moment: one starts it, five wait for it.
        barrier = threading.Barrier(6)
        with ThreadPoolExecutor(6) as pool:
            losers += sorted(pool.map(start, range(6)))[1:]
        with open_session(state, agent) as session:
            idle = []
            for _ in range(300):
                client = socket.socket(socket.AF_UNIX)
                client.setblocking(False)
                try:
                    client.connect(os.path.join(state, "agent.sock"))
                except BlockingIOError:
                    pass
                idle.append(client)
            crowded.append(timed(session.jobs))
            for client in idle:
                client.close()
            for word in ("", "x", "0" * 32, "../../etc"):
                bad.append(timed(lambda: refused(session, word)))
            for job in session.jobs():
                session.cancel(job)
                session.acknowledge(job)
        kill(state)
    told("download, which starts the agent", single)
    told("the same by six programs at once: those that came second", losers)
    told("list after `kill -9` of the agent, which starts another one", lists)
    told("list beside 300 idle connections", crowded)
    told("cancel of an id that is malformed or unknown", bad)
    server.close()


def refused(session: wherry.BackgroundSession, word: str) -> None:
    try:
        session.cancel(word)
    except wherry.WherryError as error:
        assert error.reason in ("not_found", "bad_argument"), error
    else:
        raise AssertionError(word)


def kill(state: str) -> None:
    process = agent_of(state)
    try:
        os.kill(process, signal.SIGKILL)
        while True:
            os.kill(process, 0)
            with open(f"/proc/{process}/stat", encoding="ascii") as file:
                if file.read().split()[2] == "Z":
                    return
    except (ProcessLookupError, FileNotFoundError):
        return


def main() -> int:
    if len(sys.argv) < 2:
        print("usage: waits.py AGENT [ROUNDS]", file=sys.stderr)
        return 2
    with tempfile.TemporaryDirectory(prefix="wherry-waits-") as folder:
        many(folder)
        background(folder, os.path.abspath(sys.argv[1]), int(sys.argv[2]) if len(sys.argv) > 2 else 20)
    return 0


if __name__ == "__main__":
    sys.exit(main())
