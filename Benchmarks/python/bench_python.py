# Wherry: benchmark driver of the Python binding
# SPDX-License-Identifier: Apache-2.0
"""bench_python.py sync|asyncio VERB WORD...: prints one line in the format of Benchmarks/c/bench.h.

sync URL REQUESTS                      one GET after the other
get URL REQUESTS FLIGHT [CA [1.1]]     FLIGHT GETs at once (asyncio)
download URL PATH COUNT                into a file
upload URL PATH COUNT [CA]             a multipart form with that file, one after the other
"""

from __future__ import annotations

import os
import sys
from typing import Any, Dict, Tuple

from measurement import WARM_UP, Counts, Result, in_flight, measured, one_by_one

sys.path.insert(
    0,
    os.path.join(os.path.dirname(os.path.abspath(__file__)), *[os.pardir] * 2, "bindings", "python", "src"),
)

import wherry  # noqa: E402

#: The same settings as in the other drivers: no environment, no compression.
SETTINGS: Any = {"trust_env": False, "compressed": 0}


def trust(words: Tuple[str, ...]) -> Dict[str, Any]:
    """The settings of the words `[CA [1.1]]`."""
    return dict(zip(("verify", "http_version"), words))


def downloads(client: wherry.Client, url: str, path: str, total: int) -> Counts:
    for _ in range(total):
        client.download(url, path, overwrite=True, resume=False)
    return total, 0, os.path.getsize(path) * total


def uploads(client: wherry.Client, url: str, path: str, total: int) -> Counts:
    size = os.path.getsize(path)

    def send() -> Result:
        with open(path, "rb") as file:
            return client.post(url, files={"photo": file}).status_code, size

    return one_by_one(send, total)


async def async_downloads(client: wherry.AsyncClient, url: str, path: str, total: int) -> Counts:
    for _ in range(total):
        await client.download(url, path, overwrite=True, resume=False)
    return total, 0, os.path.getsize(path) * total


async def async_uploads(client: wherry.AsyncClient, url: str, path: str, total: int) -> Counts:
    size = os.path.getsize(path)

    async def send() -> Result:
        with open(path, "rb") as file:
            return (await client.post(url, files={"photo": file})).status_code, size

    return await in_flight(send, total, 1)


def run_asyncio(verb: str, words: Tuple[str, ...]) -> None:
    import asyncio

    loop = asyncio.new_event_loop()
    settings = {**SETTINGS, **trust(words[3:])}
    if verb == "get":
        url, total, flight = words[0], int(words[1]), int(words[2])
        client = wherry.AsyncClient(max_per_host=flight, max_connections=flight, **settings)

        async def send() -> Result:
            response = await client.get(url)
            return response.status_code, len(response.content)

        loop.run_until_complete(in_flight(send, max(WARM_UP, flight), flight))
        measured(lambda: loop.run_until_complete(in_flight(send, total, flight)))
    else:
        client = wherry.AsyncClient(**settings)
        function = {"download": async_downloads, "upload": async_uploads}[verb]
        url, path, total = words[0], words[1], int(words[2])

        def run(count: int) -> Counts:
            return loop.run_until_complete(function(client, url, path, count))

        measured(lambda: run(total), (lambda: run(1)) if verb == "upload" else None)
    loop.run_until_complete(client.aclose())
    loop.close()


def run_sync(verb: str, words: Tuple[str, ...]) -> None:
    with wherry.Client(**SETTINGS, **trust(words[3:])) as client:
        if verb == "sync":

            def send() -> Result:
                response = client.get(words[0])
                return response.status_code, len(response.content)

            one_by_one(send, WARM_UP)
            measured(lambda: one_by_one(send, int(words[1])))
        else:
            function = {"download": downloads, "upload": uploads}[verb]

            def run(count: int) -> Counts:
                return function(client, words[0], words[1], count)

            measured(lambda: run(int(words[2])), (lambda: run(1)) if verb == "upload" else None)


if __name__ == "__main__":
    mode, what, *rest = sys.argv[1:]
    (run_asyncio if mode == "asyncio" else run_sync)(what, tuple(rest))
