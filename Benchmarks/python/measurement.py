# Wherry: measurements and output of the benchmark drivers in Python
# SPDX-License-Identifier: Apache-2.0
"""The loops of the drivers, and the line of JSON that Benchmarks/c/bench.h describes."""

from __future__ import annotations

import json
import sys
import time
from typing import Awaitable, Callable, Optional, Tuple

#: The minimum number of requests before the measurement.
WARM_UP = 64
#: The numbers of requests and of failed requests, and the bytes of their bodies.
Counts = Tuple[int, int, int]
#: A status code, and the bytes of the body that was received or uploaded.
Result = Tuple[int, int]
Send = Callable[[], Result]
AsyncSend = Callable[[], Awaitable[Result]]


def status_kib(name: str) -> int:
    with open("/proc/self/status", encoding="ascii") as file:
        for line in file:
            if line.startswith(name):
                return int(line.split()[1])
    return -1


def measured(run: Callable[[], Counts], first: Optional[Callable[[], object]] = None) -> None:
    """Runs the case and prints the line. The memory of `first` counts, but not its time."""
    with open("/proc/self/clear_refs", "w", encoding="ascii") as file:
        file.write("5")  # resets the peak
    start = status_kib("VmRSS:")
    if first is not None:
        first()
    wall, cpu = time.perf_counter(), time.process_time()
    done, failed, count = run()
    figures = {
        "wall_s": time.perf_counter() - wall,
        "cpu_s": time.process_time() - cpu,
        "done": done,
        "failed": failed,
        "bytes": count,
        "start_kib": start,
        "peak_kib": status_kib("VmHWM:"),
    }
    print(json.dumps(figures))
    if failed:
        sys.exit(f"{failed} of {done} failed")


def one_by_one(send: Send, total: int) -> Counts:
    """Sends requests one after the other."""
    failed = count = 0
    for _ in range(total):
        status, size = send()
        failed += status != 200
        count += size
    return total, failed, count


async def in_flight(send: AsyncSend, total: int, flight: int) -> Counts:
    """Sends requests with a number of them in flight."""
    import asyncio

    left, failed, count = total, 0, 0

    async def one_after_the_other() -> None:
        nonlocal left, failed, count
        while left > 0:
            left -= 1
            status, size = await send()
            failed += status != 200
            count += size

    await asyncio.gather(*[one_after_the_other() for _ in range(flight)])
    return total, failed, count
