# Wherry: row R33 of features.md
# SPDX-License-Identifier: Apache-2.0
"""Equal requests that share a response, blocking and with asyncio."""

from __future__ import annotations

import asyncio
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from conftest import PATIENT, Server, until

import wherry


def test_R33_twenty_threads_share_one_request(server: Server) -> None:
    url = server.url("/text/a", gate=server.gate())
    with wherry.Client(**PATIENT) as client, ThreadPoolExecutor(20) as threads:
        calls = [
            threads.submit(client.get, url, coalesce=True, context=number, params={"n": 1}) for number in range(20)
        ]
        until(lambda: client.count() == 20)
        server.wait(requests=1)
        server.open_gate(server.gate())
        answers = [call.result() for call in calls]
    assert [answer.context for answer in answers] == list(range(20))
    assert {answer.status_code for answer in answers} == {200}
    assert len(server.log()) == 1


def test_R33_twenty_tasks_share_a_request_and_one_is_cancelled(server: Server) -> None:
    url = server.url("/text/a", gate=server.gate())

    async def main() -> None:
        loop = asyncio.get_running_loop()
        async with wherry.AsyncClient(**PATIENT) as client:
            tasks = [asyncio.ensure_future(client.get(url, coalesce=True)) for _ in range(20)]
            await loop.run_in_executor(None, lambda: server.wait(requests=1))
            tasks[0].cancel()
            with pytest.raises(asyncio.CancelledError):
                await tasks[0]
            await loop.run_in_executor(None, lambda: server.open_gate(server.gate()))
            answers = await asyncio.gather(*tasks[1:])
            assert [answer.status_code for answer in answers] == [200] * 19
            # The last cancel ends the request.
            last = [asyncio.ensure_future(client.get(server.url("/silent"), coalesce=True)) for _ in range(2)]
            await loop.run_in_executor(None, lambda: server.wait(requests=2))
            for task in last:
                task.cancel()
            await loop.run_in_executor(None, lambda: server.wait(ended=2))

    asyncio.run(main())
    assert len(server.log()) == 2


@pytest.mark.parametrize(
    "options",
    [{"headers": {"X-User": "2"}}, {"params": {"a": "2"}}, {"json": 2}, {"max_body_bytes": 999},
     {"coalesce": False}, {"progress": print}],
    ids=str,
)  # fmt: skip
def test_R33_different_requests_are_sent_separately(server: Server, options: Any) -> None:
    async def main() -> None:
        url = server.url("/faulty-echo", gate=server.gate())
        async with wherry.AsyncClient(**PATIENT) as client:
            own = {"coalesce": True, **options}
            calls = [client.post(url, coalesce=True), client.post(url, **own)]
            tasks = [asyncio.ensure_future(call) for call in calls]
            loop = asyncio.get_running_loop()
            await loop.run_in_executor(None, lambda: server.wait(requests=2))
            await loop.run_in_executor(None, lambda: server.open_gate(server.gate()))
            assert [a.status_code for a in await asyncio.gather(*tasks)] == [200, 200]

    asyncio.run(main())
    assert len(server.log()) == 2
