# Wherry: rows K1 to K11, K16 and K19 of features.md: the timed cache
# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import asyncio
import os
from typing import Any, Iterator, List

import pytest
from conftest import Server

import wherry

URL = "http://nowhere.invalid/items"


@pytest.fixture
def stored(mock: wherry.MockTransport, tmp_path: Any) -> Iterator[wherry.Client]:
    """A client with its own storage and a clock that stands still."""
    mock.add(None, "http://nowhere.invalid/bad", 404)
    mock.add(None, "*", json={"a": None, "b": "ä"}, headers={"Set-Cookie": "a=planted"})
    mock.advance(0)
    with wherry.Client(transport=mock, storage_directory=str(tmp_path / "own")) as client:
        yield client


def test_K1_K2_a_cache_entry_is_served_while_it_is_fresh(stored: wherry.Client, mock: wherry.MockTransport) -> None:
    for seconds in (0, -1, 0.0005):
        assert not stored.get(URL, cache=seconds).from_cache
    assert stored.cache.usage().entries == 0
    first = stored.get(URL, cache=0.5)
    assert not first.from_cache
    mock.advance(0.499)
    read = stored.get(URL, cache=60)
    assert read.from_cache and read.json() == first.json() and read.status_code == 200
    assert read.headers["content-type"] == "application/json" and "set-cookie" not in read.headers
    assert read.url == URL and len(mock.requests) == 4
    assert not stored.get(URL).from_cache
    mock.advance(0.002)
    with pytest.raises(wherry.CacheMissError) as caught:
        stored.get(URL, cache_policy="only")
    assert caught.value.reason == "stale" and caught.value.status == -10
    assert stored.cache.usage().entries == 0
    assert not stored.get(URL, cache=float("inf")).from_cache
    mock.advance(1e9)
    assert stored.get(URL, cache=0).from_cache


def test_K5_C11_a_change_of_app_version_or_cache_version_misses(
    stored: wherry.Client, mock: wherry.MockTransport
) -> None:
    def reason(**options: Any) -> str:
        with pytest.raises(wherry.CacheMissError) as caught:
            stored.get(URL, cache_policy="only", **options)
        return caught.value.reason

    assert reason() == "missing"
    stored.get(URL, cache=60)
    stored.configure(app_version="2")
    assert reason() == "app_version"
    stored.get(URL, cache=60)
    assert reason(cache_version=2) == "cache_version"
    assert reason() == "missing"


def test_K7_an_error_response_is_not_stored(
    stored: wherry.Client,
    mock: wherry.MockTransport,
) -> None:
    for _ in range(2):
        assert stored.get("http://nowhere.invalid/bad", cache=60).status_code == 404
    stored.post(URL, files={"a": b"1"}, cache=60)
    assert stored.cache.usage().entries == 0 and len(mock.requests) == 3


def test_K8_K9_K10_entries_are_read_listed_and_cleared(
    stored: wherry.Client, mock: wherry.MockTransport, tmp_path: Any
) -> None:
    stored.get(URL, cache=60)
    stored.get(URL, params={"page": 2}, cache=60)
    stored.post(URL, parameters={"a": 1}, cache=1)
    asked = len(mock.requests)
    usage = stored.cache.usage()
    assert usage.entries == 3 and usage.partials == 0 and str(usage).endswith(" KB")

    read = stored.cache.read("POST", URL, parameters={"a": 1})
    assert read.from_cache and read.json() == {"a": None, "b": "ä"} and read.url == URL
    assert read.headers["Content-Type"] == "application/json"
    [entry] = stored.cache.entries(URL, method="POST")
    assert (entry.url, entry.method, entry.status_code) == (URL, "POST", 200)
    assert entry.identifier == stored.identifier("POST", URL, parameters={"a": 1})
    assert entry.body_bytes == len(read.content) and entry.expires_in == 1
    assert entry.stored_at > 1.6e9
    opened = stored.cache.open(entry)
    assert opened.content == read.content and opened.url == URL
    folder = str(tmp_path / "based")
    with wherry.Client(transport=mock, storage_directory=folder, base_url=URL) as based:
        based.get("1", cache=1)
        [listed] = based.cache.entries(URL + "/1")
        assert listed.url == based.cache.open(listed).url == URL + "/1"
        assert based.cache.clear(url=URL + "/1") == 1
    mock.advance(1.5)
    assert [e.method for e in stored.cache.entries()] == ["GET", "GET"]
    with pytest.raises(wherry.CacheMissError):
        stored.cache.open(entry)

    assert stored.cache.clear(url=URL, method="POST") == 0
    assert stored.cache.remove("GET", URL, params={"page": 2})
    assert not stored.cache.remove("GET", URL, params={"page": 2})
    assert stored.cache.clear(url="http://nowhere.invalid/other") == 0
    assert stored.cache.clear(url=URL) == 1
    stored.get(URL, cache=60)
    assert stored.cache.clear(partials=True) == 1 and stored.cache.usage().entries == 0
    assert len(mock.requests) == asked + 2


def test_K11_a_program_stores_its_own_response(stored: wherry.Client, mock: wherry.MockTransport) -> None:
    stored.cache.write("GET", URL, b"[1]", 60, "application/json")
    assert stored.get(URL, cache_policy="only").json() == [1]
    with pytest.raises(wherry.ArgumentError) as caught:
        stored.cache.write("GET", URL, b"[1]", 0)
    assert caught.value.reason == "bad_value" and not mock.requests
    assert not stored.get(URL, cache=60, cache_policy="refresh").from_cache
    assert not stored.get(URL, cache=60, cache_policy="off").from_cache
    assert stored.get(URL, cache_policy="only").json() == {"a": None, "b": "ä"}
    with pytest.raises(wherry.ArgumentError):
        stored.get(URL, cache_policy="sometimes")
    with pytest.raises(wherry.ArgumentError):
        stored.get(URL, cache=float("nan"))


def test_K16_the_cached_response_is_returned_first_and_then_the_fresh_one(server: Server, tmp_path: Any) -> None:
    url = server.url("/cache")
    told: List[wherry.Response] = []
    with wherry.Client(storage_directory=str(tmp_path / "own")) as client:
        first = client.get(url, cache=86400, on_cached=told.append)
        assert not told and not first.from_cache and not first.unchanged
        second = client.get(url, cache=86400, on_cached=told.append)
        assert told[0].from_cache and told[0].content == first.content
        assert not second.from_cache and second.content != first.content
        assert not second.unchanged
        same = server.url("/cache", body="same")
        for _ in range(2):
            fresh = client.get(same, cache=86400, on_cached=told.append)
        assert fresh.unchanged and told[-1].text == "same"

        def fail(_: wherry.Response) -> None:
            raise KeyError("mine")

        with pytest.raises(KeyError):
            client.get(same, cache=86400, on_cached=fail)


def test_K16_other_policies_are_refused(stored: wherry.Client, mock: wherry.MockTransport) -> None:
    def note(_: wherry.Response) -> None:
        raise AssertionError("nothing is stored")

    for policy in ("use", "only", "refresh", "off"):
        with pytest.raises(wherry.ArgumentError) as caught:
            stored.get(URL, cache_policy=policy, on_cached=note)
        assert caught.value.reason == "bad_argument"
        with pytest.raises(wherry.ArgumentError):
            stored.get(URL, on_cached=note, cache_policy=policy)
    assert not mock.requests
    stored.get(URL, cache=60, on_cached=note, cache_policy="then_network")
    assert len(mock.requests) == 1


def test_K19_requests_with_other_credentials_never_get_the_response(
    stored: wherry.Client, mock: wherry.MockTransport
) -> None:
    cases: List[Any] = [
        {"auth": wherry.Bearer("anna")}, {"auth": wherry.Bearer("berta")},
        {"auth": ("anna", "a")}, {"headers": {"Cookie": "a=1"}}, {"headers": {"Cookie": "a=2"}}, {},
    ]  # fmt: skip
    for case in cases:
        assert not stored.get(URL, cache=60, **case).from_cache
        assert stored.get(URL, cache=60, **case).from_cache
    assert len(mock.requests) == len(cases)
    for sign in ("1", "2"):
        found = stored.get(URL, cache=60, params={"sign": sign}, cache_ignore="sign")
        assert found.from_cache


def test_K19_users_have_separate_entries(stored: wherry.Client, tmp_path: Any) -> None:
    def is_cached(**options: Any) -> bool:
        return stored.get(URL, cache=60, **options).from_cache

    assert not is_cached(parameters={"sign": 1}, cache_ignore=["sign"])
    assert is_cached(parameters={"sign": 2}, cache_ignore="sign")
    for user in ("anna", "berta"):
        for _ in range(2):
            found = is_cached(auth=wherry.Bearer(user), cache_headers=["Authorization"])
        assert found
        assert not is_cached(cache_partition=user)
        assert is_cached(cache_partition=user)
    for folder, _, names in os.walk(str(tmp_path)):
        for name in names:
            with open(os.path.join(folder, name), "rb") as file:
                assert b"berta" not in file.read()


def test_K14_limits_are_settings(stored: wherry.Client) -> None:
    stored.get(URL, cache=60)
    stored.get(URL, cache=60)
    assert stored.cache.usage().memory_bytes > 0
    stored.configure(cache_memory_bytes=0)
    assert stored.cache.usage().memory_bytes == 0
    stored.configure(cache_max_bytes=80)
    stored.get(URL + "/2", cache=60)
    with pytest.raises(wherry.CacheMissError):
        stored.cache.read("GET", URL + "/2")


def test_C12_requests_succeed_without_usable_storage(mock: wherry.MockTransport, tmp_path: Any) -> None:
    path = tmp_path / "taken"
    mock.add(None, "*", text="yes")
    with wherry.Client(transport=mock, storage_directory=str(path)) as client:
        path.write_text("mine")  # after the client exists: otherwise creating it would fail
        for _ in range(2):
            assert client.get(URL, cache=60).text == "yes"
        with pytest.raises(wherry.FileError) as caught:
            client.cache.usage()
        assert caught.value.reason == "bad_storage"


def test_K2_K8_K9_K16_asyncio_uses_the_cache_too(mock: wherry.MockTransport, tmp_path: Any) -> None:
    mock.add(None, "*", text="yes")
    mock.advance(0)

    async def run() -> None:
        folder = str(tmp_path / "own")
        async with wherry.AsyncClient(transport=mock, storage_directory=folder) as client:
            assert not (await client.get(URL, cache=60)).from_cache
            found = await asyncio.gather(*(client.get(URL, cache=60) for _ in range(50)))
            assert all(one.from_cache and one.text == "yes" for one in found)
            told: List[wherry.Response] = []
            fresh = await client.get(URL, cache=60, on_cached=told.append)
            assert fresh.unchanged and told[0].from_cache and told[0].text == "yes"
            [entry] = await client.cache.entries(URL)
            assert (await client.cache.open(entry)).text == "yes"
            assert (await client.cache.read("GET", URL)).text == "yes"
            assert (await client.cache.usage()).entries == 1
            await client.cache.write("PUT", URL, b"own", 60)
            assert (await client.put(URL, cache_policy="only")).text == "own"
            assert await client.cache.remove("PUT", URL)
            assert await client.cache.clear(url=URL) == 1
            with pytest.raises(wherry.CacheMissError):
                await client.get(URL, cache_policy="only")

    asyncio.run(run())
    assert len(mock.requests) == 2
