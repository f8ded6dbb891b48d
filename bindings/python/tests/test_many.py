# Wherry: thousands of concurrent transfers of every kind
# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import asyncio
import os
from typing import Any, Callable, Coroutine, List, Tuple

import pytest
from conftest import PATIENCE, Server
from test_uploads import png

import wherry


def test_M1_a_thousand_mixed_transfers_have_unique_numbers_and_each_ends_once(server: Server, tmp_path: Any) -> None:
    picture = png(4, 4)
    gate = server.url("/silent", seconds=3600)

    async def main() -> None:
        async with wherry.AsyncClient(timeout=None, max_per_host=8, durability=0) as client:

            async def streamed(url: str) -> int:
                async with client.stream("GET", url) as answer:
                    return len(await answer.aread())

            async def size(url: str, path: str) -> int:
                return os.path.getsize(await client.download(url, path))

            async def body(call: Coroutine[Any, Any, wherry.Response]) -> int:
                return len((await call).raise_for_status().content)

            # No other transfer gets a connection, so all are in the list at the same time.
            blocks = [asyncio.ensure_future(client.get(gate, tag="block")) for _ in range(8)]
            wait = asyncio.get_running_loop().run_in_executor
            await wait(None, lambda: server.wait(requests=8))
            kinds: List[Tuple[str, Callable[[int], Coroutine[Any, Any, int]]]] = [
                ("request", lambda n: body(client.get(server.url(f"/bytes/{n}")))),
                ("request", lambda n: body(client.post(server.url(f"/bytes/{n}"), json=[n]))),
                ("upload", lambda n: body(client.upload(server.url(f"/bytes/{n}"), picture))),
                ("download", lambda n: size(server.url(f"/bytes/{n}"), str(tmp_path / str(n)))),
                ("request", lambda n: streamed(server.url(f"/bytes/{n}"))),
            ]
            sizes = range(1, 1001)
            ends: List[int] = []
            tasks = [asyncio.ensure_future(kinds[n % 5][1](n)) for n in sizes]
            for task in tasks:
                task.add_done_callback(lambda task: ends.append(task.result()))
            while client.count() < 1008:
                assert not any(task.done() for task in tasks)
                await asyncio.sleep(0)

            listed = [info for info in client.transfers() if info.tag != "block"]
            numbers = [info.id for info in listed]
            assert len(numbers) == len(set(numbers)) == 1000 and 0 not in numbers
            assert sorted(info.kind for info in listed) == sorted(kinds[n % 5][0] for n in sizes)
            assert client.cancel(tag="block") == 8
            results = await asyncio.wait_for(asyncio.gather(*tasks), 5 * PATIENCE)
            assert results == list(sizes) and sorted(ends) == list(sizes)
            for block in blocks:
                with pytest.raises(wherry.CancelledError):
                    await block
            assert client.count() == 0 and client.transfers() == []

    asyncio.run(main())
    assert sorted(map(int, os.listdir(tmp_path))) == [n for n in range(1, 1001) if n % 5 == 3]
