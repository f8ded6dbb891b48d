# Wherry: tests of cached responses on the command line.
# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import json
import pathlib

from conftest import Scope, wherry


def test_K2_a_cached_response_serves_the_next_command(
    server: Scope,
    tmp_path: pathlib.Path,
) -> None:
    store = ("--cache-directory", tmp_path / "store")
    url = server.url("/cache")
    first = wherry("get", url, "--cache", 86400, *store)
    second = wherry("get", url, "--cache", 86400, *store)

    assert first.status == second.status == 0
    assert first.out == second.out != b""
    assert len(server.requests()) == 1
    told = wherry("get", url, "--cache-policy", "only", "--json-output", *store).json
    assert told["from_cache"] is True and told["json"] == json.loads(first.out)
    fresh = wherry("get", url, "--cache", 86400, "--cache-policy", "refresh", *store)
    assert fresh.out != first.out
    target = tmp_path / "out.json"
    assert wherry("get", url, "--cache", 86400, "-o", target, *store).status == 0
    assert target.read_bytes() == fresh.out
    assert "HTTP 200\n" in wherry("get", url, "-i", "--cache", 86400, *store).text
    assert len(server.requests()) == 2


def test_K5_a_cache_miss_is_reported(server: Scope, tmp_path: pathlib.Path) -> None:
    missed = wherry("get", server.url("/cache"), "--cache-policy", "only", "--cache-directory", tmp_path / "store")

    assert missed.status == 9 and missed.out == b"" and "missing" in missed.err
    assert server.requests() == []
    wrong = wherry("get", server.url("/cache"), "--cache-policy", "sometimes")
    assert wrong.status == 2


def test_K8_K9_K10_cache_list_show_usage_and_clear_work(
    server: Scope,
    tmp_path: pathlib.Path,
) -> None:
    store = ("--cache-directory", tmp_path / "store")
    url, other = server.url("/cache"), server.url("/json")
    assert "There are no stored responses" in wherry("cache", "list", *store).err
    body = wherry("get", url, "--cache", 86400, *store).out
    wherry("post", url, "--data", "x", "--cache", 86400, *store)
    wherry("get", other, "--cache", 86400, "--param", "token=planted", *store)

    listed = wherry("cache", "list", *store)
    assert listed.status == 0 and len(listed.text.splitlines()) == 3
    assert f"GET {url}  200  " in listed.text and "planted" not in listed.text
    lines = wherry("cache", "list", url, "--method", "POST", "--json-output", *store).text.splitlines()
    [entry] = map(json.loads, lines)
    assert entry["method"] == "POST" and 0 < entry["seconds_left"] <= 86400
    assert wherry("cache", "show", url, *store).out == body
    assert "HTTP 200\n" in wherry("cache", "show", url, "--include", *store).text
    assert wherry("cache", "show", other, "--param", "token=planted", *store).status == 0
    assert wherry("cache", "show", other, *store).status == 9
    assert wherry("cache", "usage", *store).text.startswith("3 responses, ")
    assert wherry("cache", "usage", "--json-output", *store).json["entries"] == 3

    assert wherry("cache", "clear", url, "--json-output", *store).json == {"ok": True, "deleted": 2}
    assert "1 response deleted" in wherry("cache", "clear", *store).err
    assert wherry("cache", "usage", *store).text.startswith("0 responses, 0 bytes")
    assert len(server.requests()) == 3


def test_K19_a_request_with_other_headers_gets_another_response(server: Scope, tmp_path: pathlib.Path) -> None:
    store = ("--cache-directory", tmp_path / "store")
    url = server.url("/cache")
    cases = [
        ("--bearer", "anna"), ("--bearer", "berta"), ("-H", "Accept-Language: de"),
        ("-H", "Accept-Language: fr"), (),
    ]  # fmt: skip
    bodies = []
    for fields in cases:
        bodies.append(wherry("get", url, "--cache", 86400, *fields, *store).out)
        assert wherry("get", url, "--cache", 86400, *fields, *store).out == bodies[-1]
        assert wherry("cache", "show", url, *fields, *store).out == bodies[-1]

    assert len(set(bodies)) == len(cases) == len(server.requests())
    assert wherry("cache", "show", url, "--bearer", "carla", *store).status == 9


def test_K5_the_reason_of_a_cache_miss_is_reported(server: Scope, tmp_path: pathlib.Path) -> None:
    ask = ("get", server.url("/cache"), "--cache", 86400, "--cache-directory", tmp_path / "store")

    assert "Load cache failed: Cache info does not exist" in wherry(*ask, "--debug").err
    assert "Load cache succeed:" in wherry(*ask, "--debug").err


def test_C12_an_unusable_folder_is_reported(tmp_path: pathlib.Path) -> None:
    taken = tmp_path / "taken"
    taken.write_text("mine")

    result = wherry("cache", "list", "--cache-directory", taken)

    assert result.status == 7 and "bad_storage" in result.err
