# Wherry: a program may end during TLS handshakes
# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import json
import os
import pathlib
import random
import select
import statistics
import subprocess
import sys
import time
from typing import Any, Dict, Iterator

import pytest
from conftest import PATIENCE, ROOT, start_server

#: Runs of each program; scripts/test-exit uses 1,000.
RUNS = int(os.environ.get("WHERRY_EXIT_RUNS", "3"))
#: Runs in a new process. The others run in a child that was forked after the imports, which saves
#: their time.
FRESH = 3
#: Generous, for a busy machine. scripts/test-exit also limits the median.
LONGEST = 2.0
MEDIAN = float(os.environ.get("WHERRY_EXIT_MEDIAN_MS", "inf")) / 1000

#: Work of daemon threads while the program ends.
WORKS = {
    "handshake": "client.get(url + '/echo')",
    "blocking": "client.get(url + '/delay/600000')",
    "download": "client.download(url + '/bytes/20000000?rate=5000000', sys.argv[1])",
    "upload": "client.post(url + '/sink?stall=1&seconds=600', content=bytes(16 << 20))",
    "queued": "client.get(url + '/delay/600000')",
}
PROGRAM = """
{first}
import os, sys, threading, time
import wherry
url = {url!r}
client = wherry.Client(verify={ca!r}, proxy="", max_per_host={connections})
def work():
    started.release()
    try:
        {work}
    except wherry.WherryError:
        pass
started = threading.Semaphore(0)
for _ in range({threads}):
    threading.Thread(target=work, daemon=True).start()
for _ in range({threads}):
    started.acquire()
time.sleep({delay})
print(time.monotonic_ns(), flush=True)
{end}
"""
#: With `ssl` imported, OpenSSL registers its exit handler before the library is loaded.
FIRSTS = {"": "", "ssl": "import ssl; ssl.create_default_context()"}
ENDS = {
    "end": "",
    "sys.exit": "sys.exit()",
    "atexit": "import atexit; atexit.register(client.close)",
    "thread": """
def leave():
    import ctypes
    ctypes.CDLL(None).exit(0)
threading.Thread(target=leave).start()
time.sleep(600)
""",
}


@pytest.fixture(scope="module")
def secure() -> Iterator[Dict[str, Any]]:
    yield from start_server("--tls-make", "good")


class Runner:
    """Runs programs, in new processes and in forked ones."""

    def __init__(self, first: str, folder: pathlib.Path) -> None:
        self._folder = folder
        self._number = 0
        self._env = {**os.environ, "PYTHONPATH": os.path.join(ROOT, "bindings", "python", "src")}
        self._server = subprocess.Popen(
            [sys.executable, str(pathlib.Path(__file__).with_name("exit_server.py")), FIRSTS[first]],
            env=self._env, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
        )  # fmt: skip

    def run(self, code: str, is_fresh: bool) -> float:
        """Runs a program. Returns the seconds from its last line of code to its end."""
        self._number += 1
        argument = str(self._folder / f"{self._number}")
        if is_fresh:
            done = subprocess.run(
                [sys.executable, "-c", code, argument],
                env=self._env, capture_output=True, text=True, timeout=PATIENCE,
            )  # fmt: skip
            end, status, output, problem = time.monotonic_ns(), done.returncode, done.stdout, done.stderr
        else:
            output_file = self._folder / "output"
            assert self._server.stdin is not None and self._server.stdout is not None
            program = {"code": code, "argument": argument, "output": str(output_file)}
            self._server.stdin.write(json.dumps(program) + "\n")
            self._server.stdin.flush()
            ready, _, _ = select.select([self._server.stdout], [], [], PATIENCE)
            assert ready, "the program hangs"
            status = int(self._server.stdout.readline())
            end, output = time.monotonic_ns(), output_file.read_text()
            problem = output
        assert status == 0, (self._number, status, problem)
        return (end - int(output)) / 1e9

    def close(self) -> None:
        self._server.kill()
        self._server.communicate()


@pytest.fixture
def runner(first: str, tmp_path: pathlib.Path) -> Iterator[Runner]:
    runner = Runner(first, tmp_path)
    yield runner
    runner.close()


@pytest.mark.parametrize("first", FIRSTS)
@pytest.mark.parametrize("end", ENDS)
@pytest.mark.parametrize("work", WORKS)
def test_SEC_Y4_a_program_may_end_while_daemon_threads_work(
    secure: Dict[str, Any], runner: Runner, work: str, end: str, first: str
) -> None:
    # OpenSSL's exit handler frees memory that a thread in a handshake still uses: SIGSEGV.
    times = []
    chance = random.Random(1)
    for number in range(RUNS):
        code = PROGRAM.format(
            first=FIRSTS[first], url=f"https://localhost:{secure['tls_port']}/@exit",
            ca=secure["ca"], work=WORKS[work], threads=1 if work == "download" else 4,
            connections=1 if work == "queued" else 64, delay=chance.uniform(0, 0.02), end=ENDS[end],
        )  # fmt: skip
        times.append(runner.run(code, is_fresh=number < FRESH))
    longest, median = max(times), statistics.median(times)
    slow = sum(time > 0.1 for time in times)
    print(
        f"{work} {end} {first}: {RUNS} runs, median {median * 1000:.0f} ms, "
        f"longest {longest * 1000:.0f} ms, {slow} over 100"
    )
    assert longest < LONGEST
    assert median < MEDIAN
