# Wherry: cache hits from Python, in Wherry and in other caches
# SPDX-License-Identifier: Apache-2.0
"""bench_cache.py WHO FOLDER memory|disk SIZE ENTRIES COUNT: prints {"ns": median, "failed": 0}.

WHO: read            Client.cache.read, from a folder filled by Benchmarks/c/bench_cache.c
     get             Client.get with cache=, which never uses the network
     get-http        the same with the HTTP cache
     diskcache       Cache.get of the body only
     hishel          an httpx client with its cache in SQLite
     requests-cache  a session with its cache in memory or in SQLite

Benchmarks/python/peers.txt lists the other caches. Their first responses come from a stub transport.
"""

from __future__ import annotations

import os
import sys
import time
from typing import Any, Callable, List

MOST = 1024
Call = Callable[[str], bool]


def wherry_call(who: str, folder: str, in_memory: bool, size: int) -> Call:
    here = os.path.dirname(os.path.abspath(__file__))
    sys.path.insert(0, os.path.join(here, *[os.pardir] * 2, "bindings", "python", "src"))
    import wherry

    client = wherry.Client(
        storage_directory=folder,
        cache_max_bytes=1 << 40,
        cache_memory_bytes=1 << 30 if in_memory else 0,
        trust_env=False,
        cache=who == "get-http",
    )

    def is_hit(answer: wherry.Response) -> bool:
        return answer.from_cache and len(answer.content) == size

    if who == "read":
        return lambda url: is_hit(client.cache.read("GET", url))
    if who == "get-http":
        return lambda url: is_hit(client.get(url))
    return lambda url: is_hit(client.get(url, cache=86_400))


def diskcache_call(folder: str, size: int, urls: List[str]) -> Call:
    import diskcache  # type: ignore[import-not-found,unused-ignore]

    cache = diskcache.Cache(folder, size_limit=1 << 40)
    for url in urls:
        cache.set(url, b"x" * size)
    return lambda url: len(cache.get(url)) == size


HEADERS = {"Cache-Control": "max-age=86400", "ETag": '"v1"'}


def hishel_call(folder: str, size: int, urls: List[str]) -> Call:
    import hishel  # type: ignore[import-not-found,unused-ignore]
    import hishel.httpx  # type: ignore[import-not-found,unused-ignore]
    import httpx  # type: ignore[import-not-found,unused-ignore]

    answered = [0]

    def answer(request: Any) -> Any:
        answered[0] += 1
        return httpx.Response(200, headers=HEADERS, content=b"x" * size)

    os.makedirs(folder, exist_ok=True)
    storage = hishel.SqliteStorage(database_path=os.path.join(folder, "hishel.db"))
    transport = hishel.httpx.CacheTransport(httpx.MockTransport(answer), storage=storage)
    client = httpx.Client(transport=transport)
    for url in urls:
        client.get(url)

    def call(url: str) -> bool:
        before = answered[0]
        return len(client.get(url).content) == size and answered[0] == before

    return call


def requests_cache_call(folder: str, in_memory: bool, size: int, urls: List[str]) -> Call:
    import io

    import requests  # type: ignore[import-untyped,unused-ignore]
    import requests_cache  # type: ignore[import-not-found,unused-ignore]
    from urllib3 import HTTPResponse  # type: ignore[import-not-found,unused-ignore]

    class Adapter(requests.adapters.HTTPAdapter):  # type: ignore[misc,unused-ignore]
        def send(self, request: Any, **options: Any) -> Any:
            raw = HTTPResponse(io.BytesIO(b"x" * size), HEADERS, 200, preload_content=False, reason="OK")
            return self.build_response(request, raw)

    os.makedirs(folder, exist_ok=True)
    kind = "memory" if in_memory else "sqlite"
    name = os.path.join(folder, "requests-cache.db")
    session = requests_cache.CachedSession(name, backend=kind, expire_after=86_400)
    session.mount("http://", Adapter())
    for url in urls:
        session.get(url)

    def call(url: str) -> bool:
        answer = session.get(url)
        return bool(answer.from_cache) and len(answer.content) == size

    return call


def run(call: Call, urls: List[str], count: int) -> int:
    """Measures, prints the line, and returns the number of misses."""
    times: List[int] = []
    failed = 0
    for turn in range(len(urls) + count):
        url = urls[turn * 7919 % len(urls)]
        start = time.perf_counter_ns()
        is_right = call(url)
        end = time.perf_counter_ns()
        failed += not is_right
        if turn >= len(urls):
            times.append(end - start)
    print('{"ns": %d, "failed": %d}' % (sorted(times)[len(times) // 2], failed))
    return failed


def main() -> int:
    who, folder, place, size, entries, count = sys.argv[1:]
    urls = ["http://bench.invalid/items/%d" % number for number in range(min(int(entries), MOST))]
    in_memory = place == "memory"
    if who == "diskcache":
        call = diskcache_call(folder, int(size), urls)
    elif who == "hishel":
        call = hishel_call(folder, int(size), urls)
    elif who == "requests-cache":
        call = requests_cache_call(folder, in_memory, int(size), urls)
    else:
        call = wherry_call(who, folder, in_memory, int(size))
    return run(call, urls, int(count)) != 0


if __name__ == "__main__":
    sys.exit(main())
