# Wherry: cache entries: secrets, keys, cookies, streams, and the folder that was deleted
# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import pathlib
import shutil
from typing import Any, Iterator, List

import pytest
from conftest import Server

import wherry

FRESH = {"control": "max-age=3600", "etag": "a"}


@pytest.fixture
def way(tmp_path: pathlib.Path) -> Iterator[wherry.Client]:
    with wherry.Client(storage_directory=str(tmp_path / "store"), cache=True) as client:
        yield client


def place(server: Server, path: str) -> str:
    """A URL without a `key=` query parameter, because that is a secret name."""
    return f"{server.base}/@{server.key}{path}"


def planted(folder: pathlib.Path) -> List[pathlib.Path]:
    files = [path for path in folder.rglob("*") if path.is_file()]
    assert files
    return [path for path in files if b"planted" in path.read_bytes() or "planted" in path.name]


@pytest.mark.parametrize("options", [{}, {"cache": 3600}])
def test_SEC_C10_entries_store_secrets_of_a_query_as_digests(
    server: Server, way: wherry.Client, tmp_path: pathlib.Path, options: Any
) -> None:
    # The file of an entry had ?token=, ?password= and ?access_token= in plain text.
    url = place(server, "/cache?control=max-age=3600&page=1")
    bodies = {}
    for name in ("token", "password", "access_token"):
        for value in ("planted-1", "planted-2"):
            bodies[name, value] = way.get(f"{url}&{name}={value}", **options).content
    assert len(set(bodies.values())) == 6
    for (name, value), body in bodies.items():
        assert way.get(f"{url}&{name}={value}", **options).content == body
    assert len(server.log()) == 6
    assert planted(tmp_path / "store") == []
    entries = way.cache.entries()
    assert entries and not [entry for entry in entries if "planted" in entry.url]
    # A listed URL, and the entry itself, find their own response and no other.
    for entry in entries:
        assert [one.id for one in way.cache.entries(entry.url, stores=entry.store)] == [entry.id]
        assert way.cache.open(entry).content in bodies.values()
    assert way.cache.clear(entries[0].url) == 1
    assert way.cache.delete(entries[-1]) and not way.cache.delete(entries[-1])
    with pytest.raises(wherry.CacheMissError):
        way.cache.open(entries[-1])


def test_SEC_C10_secret_names_set_by_the_program_are_hidden_too(server: Server, tmp_path: pathlib.Path) -> None:
    store = tmp_path / "store"
    with wherry.Client(storage_directory=str(store), cache=True) as client:
        client.add_secret_name("patient")
        client.get(place(server, "/cache?control=max-age=60&patient=planted"))
        assert len(client.cache.entries()) == 1
    assert planted(store) == []


@pytest.mark.parametrize("options", [{}, {"cache": 3600}])
def test_K19_SEC_C2_cookies_set_by_the_program_separate_users(
    server: Server, tmp_path: pathlib.Path, options: Any
) -> None:
    # Two programs with the cookie files of two users got each other's pages.
    url = place(server, "/cache?control=max-age=3600")
    bodies = []
    for user in ("anna", "berta", None, "anna"):
        with wherry.Client(storage_directory=str(tmp_path / "store"), cache=True) as client:
            if user:
                client.cookies.set("session", user, url)
            bodies.append(client.get(url, **options).content)
    assert bodies[0] == bodies[3] and len(set(bodies)) == 3 == len(server.log())


def test_K13_cookies_set_by_a_server_do_not_split_the_cache(
    server: Server,
    way: wherry.Client,
) -> None:
    url = place(server, "/cache?control=max-age=3600")
    first = way.get(url)
    way.get(place(server, "/cookies/set?a=1&attributes=Path%3D/"))
    assert [cookie.name for cookie in way.cookies] == ["a"]
    assert way.get(url).from_cache and way.get(url).content == first.content


def test_K10_a_deleted_folder_is_created_again(server: Server, way: wherry.Client, tmp_path: pathlib.Path) -> None:
    # A program whose folder was deleted stored nothing until it ended.
    url = place(server, "/cache?control=max-age=3600")
    way.get(url + "&page=1")
    shutil.rmtree(tmp_path / "store")
    assert way.cache.clear() == 0 and way.cache.usage().entries == 0
    for page in (2, 3, 3):
        answer = way.get(f"{url}&page={page}")
    assert answer.from_cache and way.cache.usage().entries >= 1


def test_L3_the_log_shows_cache_reads(server: Server, way: wherry.Client) -> None:
    url = place(server, "/cache?control=max-age=3600")
    with way.log("debug") as log:
        with pytest.raises(wherry.CacheMissError):
            way.cache.read("GET", url)
        way.get(url)
        way.get(url)
        way.cache.read("GET", url)
        way.cache.open(way.cache.entries()[0])
        log.end()
        events = [record.event for record in log]
    assert events.count("hit") == 3 and events.count("missed") == 2
