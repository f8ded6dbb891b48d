# Wherry: transfer reports and selecting transfers
# SPDX-License-Identifier: Apache-2.0

from __future__ import annotations

import asyncio
import hashlib
import pathlib
from typing import Any, List

import pytest
from conftest import Server

import wherry

SIZE = 500_000
KINDS = ["md5", "sha1", "sha256", "sha512"]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("expects", [False, True])
def test_D20_a_digest_is_reported(
    server: Server, client: wherry.Client, tmp_path: pathlib.Path, kind: str, expects: bool
) -> None:
    right = client.get(server.url(f"/digest/{SIZE}", algorithm=kind)).text
    url = server.url(f"/bytes/{SIZE}", cut=200_000, times=1)
    target = tmp_path / "file"
    asked: Any = {kind: right} if expects else {"digest": kind}
    with client.start_download(url, target, **asked) as download:
        assert download.digests == {}
        download.wait()
        # It covers bytes of two runs: the first was cut.
        assert download.digests == {kind: right}
    assert hashlib.new(kind, target.read_bytes()).hexdigest() == right


def test_D20_an_announced_digest_is_reported_and_none_if_not_requested(
    server: Server, client: wherry.Client, tmp_path: pathlib.Path
) -> None:
    right = client.get(server.url(f"/digest/{SIZE}")).text
    url = server.url(f"/bytes/{SIZE}", repr_digest="right")
    with client.start_download(url, tmp_path / "a") as download:
        download.wait()
        assert download.digests == {"sha256": right}
    with client.start_download(server.url(f"/bytes/{SIZE}"), tmp_path / "b") as download:
        download.wait()
        assert download.digests == {}
    with client.start_download(url, tmp_path / "c", sha256="0" * 64) as download:
        with pytest.raises(wherry.FileError) as raised:
            download.wait()
        assert raised.value.reason == "checksum"
        assert download.digests == {}
    for wrong in ("crc32", "sha-256"):
        with pytest.raises(wherry.ArgumentError):
            client.download(url, tmp_path / "d", digest=wrong)
    with pytest.raises(wherry.ArgumentError):
        client.download(url, tmp_path / "d", digest="md5", sha256=right)
    assert not (tmp_path / "d").exists()


def test_D20_asyncio_reports_a_digest(server: Server, tmp_path: pathlib.Path) -> None:
    async def body() -> None:
        async with wherry.AsyncClient() as client:
            right = (await client.get(server.url(f"/digest/{SIZE}"))).text
            url = server.url(f"/bytes/{SIZE}")
            download = client.start_download(url, tmp_path / "a", digest="sha256")
            await download.wait()
            assert download.digests == {"sha256": right}

    asyncio.run(body())


def test_R23_both_sizes_of_an_encoded_response_are_reported(server: Server, client: wherry.Client) -> None:
    seen: List[wherry.Progress] = []
    answer = client.get(server.url("/gzip", zeros=400_000), progress=seen.append)
    last = seen[-1]
    assert last.decoded_bytes == len(answer.content)
    assert 0 < last.done_bytes < last.decoded_bytes
    assert last.done_bytes == last.total_bytes == last.wire_bytes
    del seen[:]
    client.get(server.url("/bytes/1000"), progress=seen.append)
    assert seen[-1].decoded_bytes == seen[-1].done_bytes == 1000


def test_M3_several_URLs_select_their_transfers_together(server: Server) -> None:
    async def body() -> None:
        async with wherry.AsyncClient(timeout=None) as client:
            urls = [server.url("/silent", n=number) for number in range(4)]
            tasks = [asyncio.ensure_future(client.get(url)) for url in urls]
            while client.count() < 4:
                await asyncio.sleep(0)
            some = [urls[0], urls[2], "http://127.0.0.1:1/other"]
            assert client.count(url=some) == 2
            assert client.count(url=()) == 0
            assert client.cancel(url=some) == 2
            ends = await asyncio.gather(tasks[0], tasks[2], return_exceptions=True)
            assert [type(end) for end in ends] == [wherry.CancelledError] * 2
            # The others continue: a transfer counts until its end has been read.
            assert client.count() == 2
            assert not tasks[1].done() and not tasks[3].done()
            assert client.cancel(url=[urls[1], urls[3]]) == 2
            ends = await asyncio.gather(tasks[1], tasks[3], return_exceptions=True)
            assert [type(end) for end in ends] == [wherry.CancelledError] * 2
            assert client.count() == 0

    asyncio.run(body())
