# Wherry: clients that are closed while others use them
# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import sys
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Callable

import pytest
from conftest import PATIENCE

import wherry


def test_M12_a_client_that_is_closed_while_threads_use_it_says_so(
    mock: wherry.MockTransport, threads: ThreadPoolExecutor, tmp_path: Any
) -> None:
    # What had looked at the client before it was closed called its handle a bad one.
    url = "http://test/file"
    mock.add(None, url, content=b"x")

    def plain(client: wherry.Client, _: str) -> None:
        client.get(url)

    def watched(client: wherry.Client, _: str) -> None:
        client.get(url, progress=lambda _: None)

    def streamed(client: wherry.Client, _: str) -> None:
        with client.stream("GET", url) as response:
            response.read()

    def downloaded(client: wherry.Client, path: str) -> None:
        client.download(url, path, overwrite=True)

    def waiting(client: wherry.Client, _: str) -> None:
        client.wait()

    def until_closed(client: wherry.Client, use: Callable[[wherry.Client, str], None]) -> str:
        with pytest.raises(wherry.WherryError) as caught:
            while True:
                use(client, str(tmp_path / use.__name__))
        return caught.value.reason

    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-5)
    try:
        for _ in range(100):
            client = wherry.Client(transport=mock)
            ends = [
                threads.submit(until_closed, client, use)
                for use in (plain, watched, streamed, downloaded, waiting)
            ]
            client.close()
            assert {end.result(PATIENCE) for end in ends} <= {"cancelled", "closed"}
    finally:
        sys.setswitchinterval(interval)
