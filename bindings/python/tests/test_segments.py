# Wherry: several connections for one file, and other download settings, with both clients
# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import asyncio
import os
from typing import Any, Callable

import pytest
from conftest import PATIENT, Server
from test_resume import digest, sha256

import wherry

SIZE, CUT = 8_389_385, 3_000_000

Load = Callable[..., str]


@pytest.fixture(params=["blocking", "asyncio"])
def load(request: pytest.FixtureRequest) -> Load:
    """Downloads and returns the path, or raises."""

    def blocking(url: str, path: Any, **options: Any) -> str:
        with wherry.Client(**PATIENT) as client:
            return client.download(url, path, **options)

    async def later(url: str, path: Any, options: Any) -> str:
        async with wherry.AsyncClient(**PATIENT) as client:
            return await client.download(url, path, **options)

    def asynchronous(url: str, path: Any, **options: Any) -> str:
        return asyncio.run(later(url, path, options))

    return blocking if request.param == "blocking" else asynchronous


def test_D23_several_connections_download_a_file(server: Server, tmp_path: Any) -> None:
    gate = server.gate()
    with wherry.Client(max_per_host=2, **PATIENT) as client:
        url = server.url(f"/bytes/{SIZE}", hold=100_000, gate=gate)
        with client.start_download(url, tmp_path / "a", segments=4) as running:
            server.wait(requests=4)
            server.open_gate(gate)
            path = running.wait()

    assert sha256(path) == digest(server, SIZE)
    assert os.listdir(tmp_path) == ["a"]
    assert server.ask("/_stats")["peak_requests"] == 4


@pytest.mark.parametrize(
    "query",
    [
        {"ranges": 0, "accept_ranges": "bytes"}, {"max_parallel": 2, "rate": 16_000_000},
        {"cut": 500_000}, {"bad_range": "gap", "bad_times": 1}, {},
    ],
    ids=str,
)  # fmt: skip
def test_D23_the_file_is_complete_for_any_server_behavior(
    server: Server, load: Load, tmp_path: Any, query: Any
) -> None:
    path = load(server.url(f"/bytes/{SIZE}", **query), tmp_path / "a", segments=4)

    assert sha256(path) == digest(server, SIZE)
    assert os.listdir(tmp_path) == ["a"]


def test_D23_downloads_use_one_connection_or_as_many_as_help(server: Server, load: Load, tmp_path: Any) -> None:
    for count in (1, "auto"):
        load(server.url(f"/bytes/{SIZE}"), tmp_path / str(count), segments=count)
    assert server.ask("/_stats")["requests"] == 2


@pytest.mark.parametrize("count", [0, 17, -1, "many", True, 2.0], ids=str)
def test_D23_an_invalid_number_of_connections_is_refused(
    server: Server, client: wherry.Client, tmp_path: Any, count: Any
) -> None:
    with pytest.raises(wherry.ArgumentError) as caught:
        client.download(server.url("/bytes/10"), tmp_path / "a", segments=count)
    assert caught.value.reason == "bad_value" and server.log() == []
    with pytest.raises(wherry.ArgumentError):
        wherry.Client(segments=count)


def test_D26_a_fresh_link_resumes_the_partial_file_of_an_expired_one(server: Server, load: Load, tmp_path: Any) -> None:
    old = server.url(f"/bytes/{SIZE}", sig=1, cut=CUT, times=1, status_next=403, change_at=2)
    for reason in ("truncated", "expired"):
        with pytest.raises(wherry.WherryError) as caught:
            load(old, tmp_path / "a", max_retries=0)
        assert caught.value.reason == reason and caught.value.partial_path

    told: Any = []
    fresh = server.url(f"/bytes/{SIZE}", sig=2)
    path = load(fresh, tmp_path / "a", partial_of="same_path", progress=told.append)

    assert sha256(path) == digest(server, SIZE)
    assert told[0].resumed_at_bytes == CUT
    with pytest.raises(wherry.ArgumentError):
        load(fresh, tmp_path / "b", partial_of="mine")


def test_D26_a_fresh_link_resumes_by_default(server: Server, load: Load, tmp_path: Any) -> None:
    # Only a program that set partial_of= was tested.
    with pytest.raises(wherry.WherryError):
        load(server.url(f"/bytes/{SIZE}", sig=1, cut=CUT, times=1), tmp_path / "a", max_retries=0)

    told: Any = []
    path = load(server.url(f"/bytes/{SIZE}", sig=2), tmp_path / "a", progress=told.append)

    assert sha256(path) == digest(server, SIZE)
    assert told[0].resumed_at_bytes == CUT
    assert os.listdir(tmp_path) == ["a"]


def test_D26_a_fresh_link_into_a_directory_resumes_and_another_file_does_not(
    server: Server, load: Load, tmp_path: Any
) -> None:
    # The partial file was keyed by the whole URL, so that a fresh query always began at byte 0.
    def cut(**query: Any) -> str:
        with pytest.raises(wherry.WherryError) as caught:
            load(server.url(f"/bytes/{SIZE}", **query), None, directory=tmp_path, max_retries=0)
        assert caught.value.reason == "truncated"
        return str(caught.value.partial_path)

    def first_range() -> Any:
        fields = {name.lower(): value for name, value in server.log()[-1]["headers"]}
        return fields.get("range")

    first = cut(sig=1, cut=CUT, times=1)
    other = cut(id=2, seed=2, cut=CUT // 2, times=2)
    assert first_range() == f"bytes={CUT}-" and other != first
    assert len(os.listdir(tmp_path)) == 4

    told: Any = []
    path = load(server.url(f"/bytes/{SIZE}", sig=3), None, directory=tmp_path, progress=told.append)
    assert sha256(path) == digest(server, SIZE)
    assert told[0].resumed_at_bytes == CUT
    assert len(os.listdir(tmp_path)) == 3

    url = server.url(f"/bytes/{SIZE}", id=2, seed=2, cut=CUT // 2, times=2)
    path = load(url, None, directory=tmp_path, rename=True)
    assert first_range() == f"bytes={CUT // 2}-"
    assert os.path.getsize(path) == SIZE and len(os.listdir(tmp_path)) == 2


def test_DR14_DR15_stalls_and_waits_of_a_download_are_limited(server: Server, load: Load, tmp_path: Any) -> None:
    with pytest.raises(wherry.WherryError) as caught:
        with wherry.Client(stall_bytes_per_second=1000, timeout=None) as client:
            client.download(
                server.url("/bytes/1000", stall=10, seconds=600), tmp_path / "a",
                stall_timeout=0.2, max_retries=0,
            )  # fmt: skip
    assert caught.value.reason == "stalled"

    later = server.url("/bytes/2000", status_first=503, status_times=1, retry_after=5)
    with pytest.raises(wherry.WherryError) as caught:
        load(later, tmp_path / "b", max_retry_after=4)
    assert caught.value.reason == "retry_later"
    assert caught.value.retry_after == 5


def test_D24_limits_can_change_during_a_download(server: Server, tmp_path: Any) -> None:
    with wherry.Client(max_download_bytes_per_second=1, **PATIENT) as client:
        url = server.url(f"/bytes/{SIZE}", row=1)
        with client.start_download(url, tmp_path / "a") as running:
            server.wait(requests=1)
            client.configure(max_download_bytes_per_second=0)
            assert sha256(running.wait()) == digest(server, SIZE)

        url = server.url(f"/bytes/{SIZE}", row=2)
        with client.start_download(url, tmp_path / "b", max_receive_bytes_per_second=1) as running:
            server.wait(requests=2)
            with pytest.raises(wherry.ArgumentError):
                running.limit(-1)
            running.limit(0)
            assert sha256(running.wait()) == digest(server, SIZE)


def test_D24_limits_can_change_during_an_asyncio_download(server: Server, tmp_path: Any) -> None:
    async def load() -> str:
        async with wherry.AsyncClient(**PATIENT) as client:
            running = client.start_download(
                server.url(f"/bytes/{SIZE}"), tmp_path / "a", max_receive_bytes_per_second=1
            )
            running.limit(0)
            return await running

    assert sha256(asyncio.run(load())) == digest(server, SIZE)


def test_D27_the_next_mirror_continues_after_a_permanent_failure(server: Server, load: Load, tmp_path: Any) -> None:
    url = server.url(f"/bytes/{SIZE}", cut_at=CUT)
    mirrors = [server.url("/status/404"), server.url(f"/bytes/{SIZE}", mirror=2)]
    with pytest.raises(wherry.ArgumentError) as caught:
        load(url, tmp_path / "a", mirrors=mirrors)
    assert caught.value.reason == "bad_digest"

    right = digest(server, SIZE)
    path = load(url, tmp_path / "a", mirrors=mirrors, sha256=right, max_retries=0)

    assert sha256(path) == right
    assert os.listdir(tmp_path) == ["a"]
