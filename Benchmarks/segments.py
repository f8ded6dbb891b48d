# Wherry: benchmarks of parallel connections against axel, aria2c, and curl
# SPDX-License-Identifier: Apache-2.0
"""One file from a server with a speed limit per connection, and from one without a limit.

wget2 is not here: with `--chunk-size` and `--max-threads`, wget2 1.99.1 still uses one connection at a time.
"""

from __future__ import annotations

import json
import os
import shutil
import statistics
import subprocess
import time
from typing import List, Tuple

MIB = 1 << 20
PROGRAMS = ("axel", "aria2c", "curl")
Program = Tuple[str, str, List[str]]


def timed(words: List[str], target: str) -> float:
    """Runs a program and returns its time in seconds."""
    for name in (target, target + ".aria2", target + ".st"):
        if os.path.exists(name):
            os.unlink(name)  # Otherwise the next program would have to truncate it.
    begun = time.perf_counter()
    done = subprocess.run(words, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, timeout=600)
    wall = time.perf_counter() - begun
    if done.returncode != 0:
        raise RuntimeError(f"{' '.join(words)} failed: {done.returncode}")
    return wall


def commands(abi: str, url: str, target: str, is_capped: bool) -> List[Program]:
    """Command lines of Wherry and the installed programs."""
    counts = (1, 8, 0) if is_capped else (1, 0)
    found: List[Program] = [
        ("Wherry", str(count or "auto"), [abi, "download", url, target, "1", str(count)]) for count in counts
    ]
    if is_capped and shutil.which("axel"):
        found.append(("axel", "8", ["axel", "-q", "-n8", "-o", target, url]))
    if shutil.which("aria2c"):
        folder, name = os.path.split(target)
        for count in (8,) if is_capped else (1, 4):
            split = [f"-x{count}", f"-s{count}", "-k1M", "--file-allocation=none", "-q"]
            found.append(("aria2c", str(count), ["aria2c", *split, "-d", folder, "-o", name, url]))
    if shutil.which("curl"):
        found.append(("curl", "1", ["curl", "-s", "-o", target, url]))
    return found


def run(abi: str, capped: str, folder: str, rounds: int) -> None:
    """Prints the medians; the ideal is eight connections at their limit, or one of Wherry without one."""
    target = os.path.join(folder, "segments.bin")
    print("| file and server | program | connections | s | of the ideal |")
    print("|---|---|---:|---:|---:|", flush=True)
    for size, rate in ((128 * MIB, 8 * MIB), (1024 * MIB, 0)):
        with subprocess.Popen([capped, str(size), str(rate)], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as server:
            assert server.stdin is not None and server.stdout is not None
            url = f"http://127.0.0.1:{json.loads(server.stdout.readline())['port']}/file"
            programs = commands(abi, url, target, rate > 0)
            walls: List[List[float]] = [[] for _ in programs]
            # Without a limit, runs are short, and other load on the machine matters more.
            for number in range(rounds if rate else 4 * rounds):
                turn = list(zip(programs, walls))
                for (_, _, words), wall in turn if number % 2 == 0 else reversed(turn):
                    wall.append(timed(words, target))
            ideal = size / (8 * rate) if rate else statistics.median(walls[0])
            label = f"{size // MIB} MiB, {f'{rate // MIB} MiB/s each' if rate else 'no cap'}"
            for (name, count, _), wall in zip(programs, walls):
                middle = statistics.median(wall)
                print(f"| {label} | {name} | {count} | {middle:.2f} | {middle / ideal:.2f} |")
            server.stdin.close()
