# Wherry: tests of cache entries on the command line: secrets, keys, and separate users.
# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import json
import pathlib
from typing import Any

import pytest
from conftest import Scope, wherry

Store = tuple[str, pathlib.Path]
PROTOCOL = ("--cache-policy", "protocol")
FRESH = "/cache?control=max-age=3600&etag=a"


@pytest.fixture
def store(tmp_path: pathlib.Path) -> Store:
    return ("--cache-directory", tmp_path / "store")


def planted(store: Store) -> list[pathlib.Path]:
    """The files of a store that contain the planted secret."""
    files = [path for path in store[1].rglob("*") if path.is_file()]
    assert files
    return [path for path in files if b"planted" in path.read_bytes() or "planted" in path.name]


def entries(*arguments: Any) -> list[dict[str, Any]]:
    lines = wherry("cache", "list", "--json-output", *arguments).text.splitlines()
    return [json.loads(line) for line in lines]


@pytest.mark.parametrize("ask", [PROTOCOL, ("--cache", 3600)])
def test_SEC_C10_secrets_in_a_query_are_neither_stored_nor_listed(
    server: Scope, store: Store, ask: tuple[Any, ...]
) -> None:
    # Entries contained ?token=, ?password= and ?access_token= in plain text, and `cache list`
    # printed them.
    names = ("token", "password", "access_token")
    urls = [server.url(f"{FRESH}&page=1&{name}=planted-{name}") for name in names]
    bodies = [wherry("get", url, *ask, *store).out for url in urls]
    other = server.url(f"{FRESH}&page=1&token=planted-other")
    assert wherry("get", other, *ask, *store).out not in bodies

    assert planted(store) == []
    listed = wherry("cache", "list", *store).text
    assert "planted" not in listed and listed.count("=***") == 4 and listed.count("page=1") == 4
    # The same request still finds its response, and no other.
    for url, body in zip(urls, bodies):
        assert wherry("get", url, *ask, *store).out == body
        assert wherry("cache", "show", url, *store).out == body
    assert len(server.requests()) == 4
    assert "1 response deleted" in wherry("cache", "clear", urls[0], *store).err
    assert len(entries(*store)) == 3


@pytest.mark.parametrize("ask", [PROTOCOL, ("--cache", 3600)])
def test_K8_K9_a_listed_entry_is_found_by_its_key_and_by_its_URL(
    server: Scope, store: Store, ask: tuple[Any, ...]
) -> None:
    # Listed URLs lacked their query or contained no usable secret, so that show and clear missed.
    bodies = {
        wherry("get", server.url(FRESH), "--param", f"page={page}", "--param", "token=planted", *ask, *store).out
        for page in (1, 2, 3)
    }
    listed = entries(*store)
    assert len(listed) == len({entry["url"] for entry in listed}) == len({entry["key"] for entry in listed}) == 3
    assert {wherry("cache", "show", entry["url"], *store).out for entry in listed} == bodies
    assert {wherry("cache", "show", entry["key"], *store).out for entry in listed} == bodies
    line = wherry("cache", "list", listed[0]["key"], *store).text
    assert line.startswith(f"{listed[0]['key']}  GET {listed[0]['url']}  200  ") and line.count("\n") == 1

    assert "1 response deleted" in wherry("cache", "clear", listed[0]["key"], *store).err
    assert "1 response deleted" in wherry("cache", "clear", listed[1]["url"], *store).err
    assert [entry["key"] for entry in entries(*store)] == [listed[2]["key"]]
    assert wherry("cache", "show", listed[0]["key"], *store).status == 9
    assert wherry("cache", "clear", listed[0]["key"], "--json-output", *store).json["deleted"] == 0
    assert len(server.requests()) == 3


def test_K8_a_response_for_a_user_is_found_by_key(server: Scope, store: Store) -> None:
    url = server.url(FRESH)
    body = wherry("get", url, "--bearer", "planted", *PROTOCOL, *store).out
    [entry] = entries(*store)
    assert wherry("cache", "show", entry["key"], *store).out == body
    assert wherry("cache", "show", entry["url"], *store).out == body
    assert wherry("cache", "clear", entry["key"], "--json-output", *store).json["deleted"] == 1


def jar(path: pathlib.Path, server: Scope, user: str) -> pathlib.Path:
    path.write_text(f"127.0.0.1\tFALSE\t/\tFALSE\t0\tsession\t{user}\n")
    return path


@pytest.mark.parametrize("ask", [PROTOCOL, ("--cache", 3600)])
def test_K19_SEC_C2_two_cookie_jars_never_share_a_response(
    server: Scope, store: Store, tmp_path: pathlib.Path, ask: tuple[Any, ...]
) -> None:
    # The second user got a page of the first one.
    url = server.url(FRESH)
    assert url.startswith("http://127.0.0.1:")
    anna, berta = (jar(tmp_path / user, server, "planted-" + user) for user in ("anna", "berta"))
    first = wherry("get", url, "-b", anna, *ask, *store).out
    second = wherry("get", url, "-b", berta, *ask, *store).out
    literal = wherry("get", url, "-b", "session=carla", *ask, *store).out
    nobody = wherry("get", url, *ask, *store).out
    assert len({first, second, literal, nobody}) == 4
    assert wherry("get", url, "-b", anna, *ask, *store).out == first
    assert wherry("get", url, "-b", berta, *ask, *store).out == second
    assert wherry("get", url, "-b", "session=carla", *ask, *store).out == literal
    assert len(server.requests()) == 4 and planted(store) == []


def test_K13_only_vary_splits_the_HTTP_cache_by_header(server: Scope, store: Store) -> None:
    # Each -H created a separate entry.
    url = server.url(FRESH + "&vary=X-Color")
    plain = wherry("get", url, *PROTOCOL, *store).out
    assert wherry("get", url, "-H", "X-Trace: 1", *PROTOCOL, *store).out == plain
    assert wherry("get", url, "-H", "X-Trace: 2", *PROTOCOL, *store).out == plain
    red = wherry("get", url, "-H", "X-Color: red", *PROTOCOL, *store).out
    assert red != plain
    assert wherry("get", url, "-H", "X-Color: red", "-H", "X-Trace: 3", *PROTOCOL, *store).out == red
    assert len(server.requests()) == 2


# Cookies from -H, and from a file of headers, were not part of the key: one user's page was given
# to another.
@pytest.mark.parametrize("ask", [PROTOCOL, ("--cache", 3600)])
def test_K19_SEC_C2_two_cookie_headers_never_share_a_response(
    server: Scope, store: Store, tmp_path: pathlib.Path, ask: tuple[Any, ...]
) -> None:
    url = server.url(FRESH)
    fields = tmp_path / "fields"
    fields.write_text("cookie: s=planted-carla\n")
    users = [
        ("-H", "Cookie: s=planted-anna"),
        ("-H", "COOKIE: s=planted-berta"),
        ("--header", f"@{fields}"),
        ("-b", "s=planted-dora"),
        (),
    ]
    bodies = [wherry("get", url, *user, *ask, *store).out for user in users]
    assert len(set(bodies)) == len(users) == len(server.requests())

    for user, body in zip(users, bodies):
        assert wherry("get", url, *user, *ask, *store).out == body
        if "-b" not in user:
            assert wherry("cache", "show", url, *user, *store).out == body
    # The same cookie is the same user, whatever option sends it.
    assert wherry("get", url, "-H", "Cookie: s=planted-dora", *ask, *store).out == bodies[3]
    assert wherry("cache", "show", url, "-H", "Cookie: s=planted-emil", *store).status == 9
    assert len(server.requests()) == len(users) and planted(store) == []
    assert wherry("cache", "clear", url, "--json-output", *store).json["deleted"] == len(users)
