# Wherry: benchmark driver of the Python binding
# SPDX-License-Identifier: Apache-2.0
"""bench_python.py sync|asyncio VERB WORD...: prints one line in the format of Benchmarks/c/bench.h.

sync URL REQUESTS          one GET after the other
get URL REQUESTS FLIGHT    FLIGHT GETs at once (asyncio)
download URL PATH COUNT    into a file
upload URL PATH COUNT      a multipart form with that file, one after the other
"""

from __future__ import annotations

import json
import os
import sys
import time
from typing import Any, Callable, Tuple

sys.path.insert(
    0,
    os.path.join(os.path.dirname(os.path.abspath(__file__)), *[os.pardir] * 2, "bindings", "python", "src"),
)

import wherry  # noqa: E402

WARM_UP = 64
#: The same settings as in the other drivers: no environment, no compression.
SETTINGS: Any = {"trust_env": False, "compressed": 0}
Counts = Tuple[int, int, int]


def status_kib(name: str) -> int:
    with open("/proc/self/status", encoding="ascii") as file:
        for line in file:
            if line.startswith(name):
                return int(line.split()[1])
    return -1


def measured(run: Callable[[], Counts]) -> None:
    """Runs the case and prints the line."""
    with open("/proc/self/clear_refs", "w", encoding="ascii") as file:
        file.write("5")  # resets the peak
    start, wall, cpu = status_kib("VmRSS:"), time.perf_counter(), time.process_time()
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


def sync_gets(client: wherry.Client, url: str, total: int) -> Counts:
    failed = count = 0
    for _ in range(total):
        answer = client.get(url)
        failed += answer.status_code != 200
        count += len(answer.content)
    return total, failed, count


def downloads(client: wherry.Client, url: str, path: str, total: int) -> Counts:
    for _ in range(total):
        client.download(url, path, overwrite=True, resume=False)
    return total, 0, os.path.getsize(path) * total


def uploads(client: wherry.Client, url: str, path: str, total: int) -> Counts:
    failed = 0
    for _ in range(total):
        with open(path, "rb") as file:
            failed += not client.post(url, files={"photo": file}).ok
    return total, failed, os.path.getsize(path) * total


async def gets(client: wherry.AsyncClient, url: str, total: int, flight: int) -> Counts:
    import asyncio

    left, failed, count = total, 0, 0

    async def one_after_the_other() -> None:
        nonlocal left, failed, count
        while left > 0:
            left -= 1
            answer = await client.get(url)
            failed += answer.status_code != 200
            count += len(answer.content)

    await asyncio.gather(*[one_after_the_other() for _ in range(flight)])
    return total, failed, count


async def async_downloads(client: wherry.AsyncClient, url: str, path: str, total: int) -> Counts:
    for _ in range(total):
        await client.download(url, path, overwrite=True, resume=False)
    return total, 0, os.path.getsize(path) * total


async def async_uploads(client: wherry.AsyncClient, url: str, path: str, total: int) -> Counts:
    failed = 0
    for _ in range(total):
        with open(path, "rb") as file:
            failed += not (await client.post(url, files={"photo": file})).ok
    return total, failed, os.path.getsize(path) * total


def run_asyncio(verb: str, words: Tuple[str, ...]) -> None:
    import asyncio

    loop = asyncio.new_event_loop()
    if verb == "get":
        url, total, flight = words[0], int(words[1]), int(words[2])
        client = wherry.AsyncClient(max_per_host=flight, max_connections=flight, **SETTINGS)
        loop.run_until_complete(gets(client, url, max(WARM_UP, flight), flight))
        measured(lambda: loop.run_until_complete(gets(client, url, total, flight)))
    else:
        client = wherry.AsyncClient(**SETTINGS)
        function = {"download": async_downloads, "upload": async_uploads}[verb]
        url, path, total = words[0], words[1], int(words[2])
        measured(lambda: loop.run_until_complete(function(client, url, path, total)))
    loop.run_until_complete(client.aclose())
    loop.close()


def run_sync(verb: str, words: Tuple[str, ...]) -> None:
    with wherry.Client(**SETTINGS) as client:
        if verb == "sync":
            sync_gets(client, words[0], WARM_UP)
            measured(lambda: sync_gets(client, words[0], int(words[1])))
        else:
            function = {"download": downloads, "upload": uploads}[verb]
            measured(lambda: function(client, words[0], words[1], int(words[2])))


if __name__ == "__main__":
    mode, what, *rest = sys.argv[1:]
    (run_asyncio if mode == "asyncio" else run_sync)(what, tuple(rest))
