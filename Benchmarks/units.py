# Wherry: the units of work that Benchmarks/counts and Benchmarks/hot-functions profile
# SPDX-License-Identifier: Apache-2.0
"""The work of a program in `Case`s, and the servers that it needs."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from contextlib import ExitStack, contextmanager
from typing import Any, Callable, Dict, Iterator, List, NamedTuple, Optional, Sequence

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(HERE)
sys.path.insert(0, os.path.join(ROOT, "Tests", "TestServer"))

from wherry_testserver.nginx import Nginx  # noqa: E402

#: Programs that are linked with the library, and with C libraries only.
OURS, THEIRS = ("bench_abi", "bench_cache"), ("bench_get", "bench_get_sync", "bench_upload", "sink")

Words = Callable[[int], List[str]]


class Case(NamedTuple):
    """One unit of work: the commands that do it a number of times, in Wherry and in C, and the numbers."""

    name: str
    ours: Words
    theirs: Optional[Words]
    short: int
    long: int
    #: Whether the counts hardly depend on the load of the machine.
    is_steady: bool = False


def build(folder: str, library: str, ours: Sequence[str] = OURS, theirs: Sequence[str] = THEIRS) -> Dict[str, str]:
    """Compiles programs that are linked with the library, and with libcurl only; returns their paths."""
    flags = ["cc", "-O2", "-std=gnu11", "-Wall", "-Wextra", "-I", os.path.join(ROOT, "include")]
    linked = [library, "-Wl,-rpath," + os.path.dirname(library)]
    programs = {}
    for name in (*ours, *theirs):
        programs[name] = os.path.join(folder, name)
        source = os.path.join(HERE, "c", name + ".c")
        subprocess.run([*flags, source, "-o", programs[name], *(linked if name in ours else ["-lcurl"])], check=True)
    return programs


def cases(programs: Dict[str, str], nginx: Nginx, sink: str, folder: str) -> List[Case]:
    url, secure, ca = nginx.url("/1k.bin"), nginx.tls_url("/1k.bin"), nginx.ca
    photo = os.path.join(folder, "photo.bin")
    with open(photo, "wb") as file:
        file.write(os.urandom(3_000_000))

    def many(*more: str, to: str = url) -> Dict[str, Any]:
        return {
            "ours": lambda count: [programs["bench_abi"], "get", to, str(count), "64", *more],
            "theirs": lambda count: [programs["bench_get"], to, str(count), "64", *more],
        }

    def hit(place: str, call: str) -> Words:
        return lambda count: [
            programs["bench_cache"], os.path.join(folder, place + call), place, call, "1024", "64", str(count)
        ]  # fmt: skip

    return [
        Case(
            "blocking GET of 1 KiB",
            lambda count: [programs["bench_abi"], "sync", url, str(count)],
            lambda count: [programs["bench_get_sync"], url, str(count)],
            500,
            1500,
            is_steady=True,
        ),
        Case("GET of 1 KiB, 64 in flight", **many(), short=1000, long=3000),
        Case("GET of 1 KiB over TLS, HTTP/1.1, 64 in flight", **many(ca, "1.1", to=secure), short=1000, long=4000),
        Case("GET of 1 KiB over TLS, HTTP/2, 64 in flight", **many(ca, to=secure), short=1000, long=3000),
        Case(
            "form of 3 MB",
            lambda count: [programs["bench_abi"], "upload", sink, photo, str(count)],
            lambda count: [programs["bench_upload"], sink, photo, str(count)],
            20,
            60,
        ),
        Case("cache hit of 1 KiB in memory", hit("memory", "perform"), None, 1000, 5000, is_steady=True),
        Case(
            "cache hit of 1 KiB in memory, HTTP cache", hit("memory", "perform-http"), None, 1000, 5000, is_steady=True
        ),
        Case("cache hit of 1 KiB on disk", hit("disk", "perform"), None, 1000, 5000, is_steady=True),
    ]


@contextmanager
def served(library: str) -> Iterator[List[Case]]:
    """Compiles the programs, starts nginx and the sink, and returns all cases."""
    with tempfile.TemporaryDirectory() as folder, ExitStack() as stack:
        programs = build(folder, library)
        nginx = stack.enter_context(Nginx())
        sink = stack.enter_context(subprocess.Popen([programs["sink"]], stdin=subprocess.PIPE, stdout=subprocess.PIPE))
        assert sink.stdin is not None and sink.stdout is not None
        # The sink exits at the end of its input.
        stack.callback(sink.stdin.close)
        port = json.loads(sink.stdout.readline())["port"]
        yield cases(programs, nginx, f"http://127.0.0.1:{port}/", folder)


def run(words: List[str]) -> str:
    """Runs a command; returns its output and errors."""
    done = subprocess.run(words, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=600)
    if done.returncode != 0:
        raise SystemExit(f"{' '.join(words)} failed:\n{done.stdout}")
    return done.stdout
