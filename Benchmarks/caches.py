# Wherry: benchmarks of cache hits
# SPDX-License-Identifier: Apache-2.0
"""Cache hits, compared with plain files read in C and with other Python caches.

Every program prints {"ns": median of its calls, "failed": 0}; each figure in the table is the median
of the rounds. All Wherry programs read the same folder, which the C program fills.
"""

from __future__ import annotations

import json
import os
import statistics
import subprocess
from typing import Dict, List, NamedTuple, Optional

from peers import Peers

HERE = os.path.dirname(os.path.abspath(__file__))
SIZES = {"1 KiB": 1 << 10, "64 KiB": 64 << 10, "1 MiB": 1 << 20}
PEERS = ("diskcache", "hishel", "requests-cache")


class Programs(NamedTuple):
    """The command line of each program; `None` if it is not built."""

    plain: str
    c: Optional[str]
    swift: Optional[List[str]]
    python: Optional[List[str]]
    peers: Peers


def measure(words: List[str], figure: str = "ns", timeout: float = 600) -> float:
    """Runs a program and returns its nanoseconds: the median time of a call, or another figure."""
    done = subprocess.run(words, stdout=subprocess.PIPE, timeout=timeout, encoding="utf-8")
    if done.returncode != 0:
        raise RuntimeError(f"{' '.join(words)} failed: {done.returncode} {done.stdout}")
    return float(json.loads(done.stdout.splitlines()[-1])[figure])


def hits(programs: Programs, folder: str, place: str, size: int, count: int) -> Dict[str, List[str]]:
    """Command lines by name, in running order: the C program fills the folder first."""
    shape = [str(size), "16", str(count)]
    store = os.path.join(folder, f"store-{size}")
    found = {"plain file, C": [programs.plain, os.path.join(folder, f"plain-{size}"), *shape]}
    if programs.c:
        for call in ("read", "perform", "perform-http"):
            found[f"C {call}"] = [programs.c, store, place, call, *shape]
        if programs.swift:
            for call in ("read", "perform", "perform-http", "send", "send-http"):
                found[f"Swift {call}"] = [*programs.swift, "cache", store, place, call, *shape]
        if programs.python:
            for call in ("read", "get", "get-http"):
                found[f"Python {call}"] = [*programs.python, call, store, place, *shape]
    script = os.path.join(HERE, "python", "bench_cache.py")
    few = [str(size), "16", str(max(1, count // 10))]
    for who in PEERS:
        if who in programs.peers.names:
            own = os.path.join(folder, f"{who}-{place}-{size}")
            found[who] = [programs.peers.python, script, who, own, place, *few]
    return found


def row(name: str, figures: List[float]) -> None:
    """One row of a table, in microseconds."""
    words = " | ".join(f"{figure / 1000:.2f}" for figure in figures)
    print(f"| {name} | {words} |", flush=True)


def run(programs: Programs, folder: str, rounds: int, scale: int) -> None:
    """Prints both tables: hits by size, and a cache of 100,000 entries."""
    places = [(place, size) for place in ("memory", "disk") for size in SIZES]
    print("| a hit, in microseconds | " + " | ".join(f"{s}, {p}" for p, s in places) + " |")
    print("|---|" + "---:|" * len(places))
    results: Dict[str, List[float]] = {}
    for place, size in places:
        commands = hits(programs, folder, place, SIZES[size], 10_000 // scale)
        times: Dict[str, List[float]] = {name: [] for name in commands}
        for _ in range(rounds):
            for name, words in commands.items():
                times[name].append(measure(words))
        for name, found in times.items():
            results.setdefault(name, []).append(statistics.median(found))
    for name, figures in results.items():
        row(name, figures)
    if programs.c is None:
        return
    entries, store = str(100_000 // scale), os.path.join(folder, "many")
    print(f"\n| {int(entries):,} entries of 1 KiB, C | microseconds |\n|---|---:|")
    for name, place, call in (
        ("a hit from memory", "memory", "read"),
        ("a hit from disk", "disk", "read"),
        ("a client opened, one hit from disk, closed", "disk", "open"),
        ("one URL cleared", "disk", "clear"),
    ):
        words = [programs.c, store, place, call, "1024", entries, str(2_000 // scale)]
        row(name, [statistics.median(measure(words) for _ in range(rounds))])
