# Wherry: runs the drivers of a case and prints its rows
# SPDX-License-Identifier: Apache-2.0
"""The table of Benchmarks/run. Every driver prints one line of JSON; see Benchmarks/c/bench.h."""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
from typing import Any, Dict, List, NamedTuple, Tuple

BASE = "C on libcurl"
HEAD = """\
| case | driver | rate | speed | spread | CPU µs each | cpu | memory growth, KiB |
|---|---|---:|---:|---:|---:|---:|---:|"""
MIB = 1 << 20
Result = Dict[str, Any]
Commands = Dict[str, List[str]]


class Case(NamedTuple):
    """One case: the arguments of the drivers, and the C program to compare with."""

    name: str
    baseline: str
    verb: str
    words: Tuple[str, ...]


def measure(words: List[str]) -> Result:
    """Runs a driver and returns its line of JSON."""
    done = subprocess.run(words, stdout=subprocess.PIPE, timeout=600, encoding="utf-8")
    if done.returncode != 0:
        raise RuntimeError(f"{' '.join(words)} failed: {done.returncode} {done.stdout}")
    result: Result = json.loads(done.stdout.splitlines()[-1])
    if result["failed"] != 0:
        raise RuntimeError(f"{' '.join(words)} failed: {result['failed']} of {result['done']} requests")
    return result


def ratio(value: float) -> str:
    return f"{value:.2f}" if value >= 0.1 else f"{value:.3f}"


def each(result: Result, figure: str) -> float:
    """The time of one request."""
    return float(result[figure] / result["done"])


def run_case(case: Case, ours: Commands, peers: Commands, rounds: int) -> None:
    """Prints the rows of one case. A failure of a peer only leaves out its row."""
    commands = {**ours, **peers}
    results: Dict[str, List[Result]] = {name: [] for name in commands}
    for number in range(rounds):
        for name in list(commands) if number % 2 == 0 else list(reversed(commands)):
            if name not in results:
                continue
            if case.verb == "download" and os.path.exists(case.words[1]):
                os.unlink(case.words[1])  # Otherwise the next driver would have to truncate it.
            try:
                results[name].append(measure(commands[name]))
            except (RuntimeError, subprocess.TimeoutExpired) as error:
                if name not in peers:
                    raise
                del results[name]
                print(f"left out: {name} in {case.name}: {error}", file=sys.stderr)
    for name, runs in results.items():
        print(row(case, name, runs, results[BASE]), flush=True)


def row(case: Case, name: str, runs: List[Result], bases: List[Result]) -> str:
    """One row: medians, ratios to the C program in the same round, and their range."""
    pairs = list(zip(runs, bases))
    speeds = [each(base, "wall_s") / each(run, "wall_s") for run, base in pairs]
    cpu = statistics.median(each(run, "cpu_s") / each(base, "cpu_s") for run, base in pairs)
    wall = statistics.median(run["wall_s"] for run in runs)
    if case.verb in ("download", "upload"):
        rate = f"{runs[0]['bytes'] / wall / MIB:,.0f} MiB/s"
    else:
        rate = f"{runs[0]['done'] / wall:,.0f}/s"
    cells = (
        case.name,
        name,
        rate,
        ratio(statistics.median(speeds)),
        f"{ratio(min(speeds))}–{ratio(max(speeds))}",
        f"{statistics.median(each(run, 'cpu_s') for run in runs) * 1e6:,.1f}",
        f"{cpu:.2f}",
        f"{max(run['peak_kib'] - run['start_kib'] for run in runs):,}",
    )
    return f"| {' | '.join(cells)} |"
