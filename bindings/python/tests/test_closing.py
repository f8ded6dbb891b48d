# Wherry: clients that are closed while other threads use them
# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import sys
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Callable

import pytest
from conftest import PATIENCE

import wherry


def test_M12_a_client_closed_during_use_reports_that_it_is_closed(
    mock: wherry.MockTransport, threads: ThreadPoolExecutor, tmp_path: Any
) -> None:
    # A call that had checked the client before it was closed reported a bad handle.
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
                threads.submit(until_closed, client, use) for use in (plain, watched, streamed, downloaded, waiting)
            ]
            client.close()
            assert {end.result(PATIENCE) for end in ends} <= {"cancelled", "closed"}
    finally:
        sys.setswitchinterval(interval)
