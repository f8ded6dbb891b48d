# Wherry: benchmarks of one large file against libcurl in C, curl, wget2, aria2c, and requests
# SPDX-License-Identifier: Apache-2.0
"""1 GiB from nginx to memory, to a disk, and over TLS to memory.

Each program runs in its own process; the kernel counts its time and memory, including its start. Each
round runs all programs, so that other load on the machine affects all of them alike. Each figure is
the median over the rounds, and ratios compare runs of the same round. In a virtual machine, the first
use of memory is slow. The benchmark therefore touches as much memory as a program may need before each
run, and ignores the first round.
"""

from __future__ import annotations

import json
import mmap
import os
import shutil
import statistics
import subprocess
import sys
from typing import Dict, List, NamedTuple

from peers import Peers
from wherry_testserver.nginx import Nginx

MIB = 1 << 20
BASE = "C on libcurl"
PROGRAMS = ("curl", "wget2", "aria2c")
REQUESTS = (
    "import sys, requests\n"
    "url, path, ca = sys.argv[1:]\n"
    "with requests.get(url, stream=True, timeout=600, verify=ca or True) as answer:\n"
    "    answer.raise_for_status()\n"
    "    with open(path, 'wb') as file:\n"
    "        for piece in answer.iter_content(1 << 18):\n"
    "            file.write(piece)\n"
)


class Run(NamedTuple):
    """The cost of one process; `peak` is its maximum resident size in KiB."""

    wall: float
    cpu: float
    peak: int


def touch(count: int) -> None:
    """Allocates, clears, and frees this many bytes of memory."""
    populate = 0x8000  # MAP_POPULATE of Linux; Python has the name since 3.10.
    flags = mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | populate
    mmap.mmap(-1, count, flags=flags).close()


def measure(measured: str, words: List[str], timeout: float = 600) -> Run:
    """Runs a program and returns its cost."""
    done = subprocess.run([measured, *words], stdout=subprocess.PIPE, timeout=timeout)
    if done.returncode != 0:
        raise RuntimeError(f"{' '.join(words)} failed")
    found = json.loads(done.stdout)
    return Run(found["wall_s"], found["cpu_s"], found["peak_kib"])


def commands(programs: Dict[str, str], peers: Peers, url: str, target: str, ca: str) -> Dict[str, List[str]]:
    """Command lines of Wherry, the C program, and the installed programs."""
    folder, name = os.path.split(target)
    ends = [ca] if ca else []
    found = {BASE: [programs["bench_download"], url, target, "1", *ends]}
    if ca:
        found["C on libcurl, HTTP/1.1"] = [*found[BASE], "1.1"]
    ours = [programs["bench_abi"], "download", url, target, "1", "1"]
    found["Wherry, `DURABILITY` 0"] = [*ours, "0", "1", *ends]
    found["Wherry, without checkpoints"] = [*ours, "1", "0", *ends]
    found["Wherry"] = [*ours, "1", "1", *ends]
    if shutil.which("curl"):
        found["curl"] = ["curl", "-sf", "-o", target, *(["--cacert", ca] if ca else []), url]
    if shutil.which("wget2"):
        trust = [f"--ca-certificate={ca}"] if ca else []
        found["wget2"] = ["wget2", "-q", "--no-config", *trust, "-O", target, url]
    if shutil.which("aria2c"):
        trust = [f"--ca-certificate={ca}"] if ca else []
        plain = ["-x1", "-s1", "--file-allocation=none", "-q", "--no-conf"]
        found["aria2c"] = ["aria2c", *plain, *trust, "-d", folder, "-o", name, url]
    if "requests" in peers.names:
        found["requests"] = [peers.python, "-c", REQUESTS, url, target, ca]
    return found


def table(measured: str, title: str, found: Dict[str, List[str]], target: str, size: int, rounds: int) -> None:
    """Measures one target and prints its rows."""
    runs: Dict[str, List[Run]] = {name: [] for name in found}
    for number in range(rounds + 1):
        names = list(found)
        for name in names if number % 2 == 0 else reversed(names):
            for left in (target, target + ".aria2"):
                if os.path.exists(left):
                    os.unlink(left)  # Otherwise the next program would have to truncate it.
            os.sync()
            touch(3 * size)
            took = measure(measured, found[name])
            if number > 0:
                runs[name].append(took)
            if os.path.getsize(target) != size:
                raise RuntimeError(f"{name} brought {os.path.getsize(target)} bytes")
    os.unlink(target)
    for name, all in runs.items():
        pairs = list(zip(all, runs[BASE]))
        wall = statistics.median(run.wall for run in all)
        speed = statistics.median(base.wall / run.wall for run, base in pairs)
        cpu = statistics.median(run.cpu / base.cpu for run, base in pairs)
        each = statistics.median(run.cpu for run in all) * (1 << 30) / size
        peak = max(run.peak for run in all) / 1024
        print(
            f"| {title} | {name} | {size / wall / MIB:,.0f} | {speed:.2f} | {each:.2f} | {cpu:.2f} | {peak:.1f} |",
            flush=True,
        )


def run(programs: Dict[str, str], peers: Peers, disk: str, memory: str, rounds: int, size: int) -> None:
    """Prints the rows of all targets; `disk` and `memory` are folders."""
    print("| target | program | MiB/s | speed | CPU s per GiB | cpu | peak, MiB |")
    print("|---|---|---:|---:|---:|---:|---:|", flush=True)
    with Nginx() as nginx:
        with open(os.path.join(nginx.root, "big.bin"), "wb") as file:
            for _ in range(size // MIB):
                file.write(os.urandom(1 << 16) * 16)
        os.chmod(file.name, 0o644)
        for title, folder, url, ca in (
            ("memory", memory, nginx.url("/big.bin"), ""),
            ("disk", disk, nginx.url("/big.bin"), ""),
            ("memory, over TLS", memory, nginx.tls_url("/big.bin"), nginx.ca),
        ):
            target = os.path.join(folder, "download.bin")
            found = commands(programs, peers, url, target, ca)
            table(programs["measured"], title, found, target, size, rounds)


if __name__ == "__main__":
    sys.exit("run by Benchmarks/run --case downloads")
