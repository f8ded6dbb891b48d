# Wherry: tests of the HTTP cache on the command line, with a separate process for each run.
# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import json
import pathlib
import subprocess
import sys
from typing import Any

import pytest
from conftest import GUARD, ROOT, Result, Scope, field, wherry

FRESH = "/cache?control=max-age=3600&etag=a"
STALE = "/cache?control=max-age=60&age=100&etag=a"  # 40 seconds stale on arrival
NOTE = "This stored response is stale"

Store = tuple[str, pathlib.Path]


@pytest.fixture
def store(tmp_path: pathlib.Path) -> Store:
    return ("--cache-directory", tmp_path / "store")


def marks(result: Result) -> str:
    """How the response in --json-output is marked."""
    assert result.status == 0, result
    return " ".join(name for name in ("from_cache", "stale", "revalidated") if result.json.get(name))


TABLE = {
    ("protocol", "fresh"): ("from_cache", []),
    ("protocol", "stale"): ("revalidated", [304]),
    ("protocol", "absent"): ("", [200]),
    ("reload", "fresh"): ("", [200]),
    ("reload", "stale"): ("", [200]),
    ("reload", "absent"): ("", [200]),
    ("any-age", "fresh"): ("from_cache", []),
    ("any-age", "stale"): ("from_cache stale", []),
    ("any-age", "absent"): ("", [200]),
    ("any-age-only", "fresh"): ("from_cache", []),
    ("any-age-only", "stale"): ("from_cache stale", []),
    ("any-age-only", "absent"): ("missing", []),
}


@pytest.mark.parametrize(("policy", "stored"), TABLE)
def test_K12_the_four_policies_work(server: Scope, store: Store, policy: str, stored: str) -> None:
    told, statuses = TABLE[policy, stored]
    url = server.url(STALE if stored == "stale" else FRESH)
    first = b""
    if stored != "absent":
        first = wherry("get", url, "--cache-policy", "protocol", *store).out
    asked = len(server.requests())

    result = wherry("get", url, "--cache-policy", policy, "--json-output", *store)
    if told == "missing":
        assert result.status == 9 and result.json["error"]["reason"] == "missing"
    else:
        assert set(told.split()) <= set(marks(result).split()) and (told != "") == ("from_cache" in marks(result))
        assert (result.json["json"] == json.loads(first or b"0")) is (told != "")
        assert result.err == ""
    assert [one["status"] for one in server.requests()[asked:]] == statuses


def test_K15_a_stale_entry_is_validated(server: Scope, store: Store) -> None:
    url = server.url("/cache?control=max-age=0&etag=a&lastmod=-60")
    ask = ("get", url, "--cache-policy", "protocol", *store)
    first, second = wherry(*ask), wherry(*ask)
    assert first.out == second.out != b"" and second.err == ""
    log = server.requests()
    assert [one["status"] for one in log] == [200, 304] and field(log[1], "if-none-match") == '"a"'
    assert field(log[1], "if-modified-since")
    assert "from_cache" in marks(wherry(*ask, "--json-output"))
    head = wherry(*ask, "-i").text
    assert head.startswith("HTTP 200\n") and head.endswith(first.out.decode())


def test_K17_a_stale_response_is_served_if_the_server_is_unreachable(
    store: Store,
    tmp_path: pathlib.Path,
) -> None:
    server = subprocess.Popen(
        [sys.executable, "-m", "wherry_testserver", "--port", "0"],
        cwd=ROOT / "Tests/TestServer",
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    )
    assert server.stdin and server.stdout
    url = Scope(json.loads(server.stdout.readline()), "gone").url(STALE)
    first = wherry("get", url, "--stale-if-error", 0, *store)
    server.stdin.close()
    server.wait(GUARD)
    server.stdout.close()

    assert first.status == 0 and NOTE not in first.err
    for late in ((), ("--stale-if-error", 39)):
        assert wherry("get", url, "--cache-policy", "protocol", *late, *store).status == 4
    served = wherry("get", url, "--stale-if-error", 86400, *store)
    assert (served.status, served.out) == (0, first.out) and NOTE in served.err
    assert wherry("get", url, "--stale-if-error", 86400, "--quiet", *store).err == ""
    told = wherry("get", url, "--stale-if-error", 86400, "--json-output", *store)
    assert marks(told) == "from_cache stale" and told.err == ""
    target = tmp_path / "out.json"
    assert wherry("get", url, "--cache-policy", "any-age-only", "-o", target, *store).status == 0
    assert target.read_bytes() == first.out


def test_K17_stale_if_error_applies_to_the_HTTP_cache(server: Scope) -> None:
    for policy in (("--cache", 60), ("--cache-policy", "use"), ("--cache-policy", "off")):
        wrong = wherry("get", server.url(FRESH), "--stale-if-error", 60, *policy)
        assert wrong.status == 2 and "--stale-if-error" in wrong.err
    assert wherry("get", server.url(FRESH), "--stale-if-error", "-1").status == 2
    assert server.requests() == []


def test_K8_K9_K10_list_show_usage_and_clear_support_both_caches(
    server: Scope,
    store: Store,
) -> None:
    page, other = (server.url(f"{FRESH}&page={n}") for n in (1, 2))
    stale = server.url(STALE)
    bodies = {url: wherry("get", url, "--cache-policy", "protocol", *store).out for url in (page, other, stale)}
    timed = wherry("get", page, "--cache", 86400, *store).out
    asked = len(server.requests())

    lines = wherry("cache", "list", *store).text.splitlines()
    assert sorted(line.split()[-1] for line in lines) == ["http", "http", "http", "timed"]
    assert f"GET {stale}  200  26 bytes  0:00 left  http" in [line.split("  ", 1)[1] for line in lines]
    assert len(wherry("cache", "list", page, *store).text.splitlines()) == 2
    told = wherry("cache", "list", "--store", "http", "--json-output", *store).text.splitlines()
    entries: dict[str, Any] = {entry["url"]: entry for entry in map(json.loads, told)}
    assert set(entries) == {page, other, stale}
    assert entries[page]["store"] == "http" and 0 < entries[page]["seconds_left"] <= 3600
    [entry] = map(json.loads, wherry("cache", "list", "--store", "timed", "--json-output", *store).text.splitlines())
    assert entry["store"] == "timed" and entry["url"] == page

    assert wherry("cache", "show", page, *store).out == timed != bodies[page]
    assert wherry("cache", "show", page, "--store", "http", *store).out == bodies[page]
    assert wherry("cache", "show", stale, *store).out == bodies[stale]
    shown = wherry("cache", "show", stale, "--json-output", *store)
    assert marks(shown) == "from_cache stale" and shown.json["store"] == "http"
    assert wherry("cache", "show", page, "--json-output", *store).json["store"] == "timed"
    assert wherry("cache", "show", stale, "--store", "timed", *store).status == 9
    assert wherry("cache", "show", stale + "&page=3", *store).status == 9
    assert wherry("cache", "list", "--store", "partials", *store).status == 2

    assert wherry("cache", "usage", *store).text.startswith("4 responses, ")
    assert wherry("cache", "clear", "--store", "timed", "--json-output", *store).json["deleted"] == 1
    assert "1 response deleted" in wherry("cache", "clear", other, *store).err
    assert "2 responses deleted" in wherry("cache", "clear", page.split("?")[0], *store).err
    assert wherry("cache", "usage", "--json-output", *store).json["entries"] == 0
    assert len(server.requests()) == asked


def test_K19_SEC_C2_a_request_with_another_token_gets_another_response(
    server: Scope,
    store: Store,
) -> None:
    url = server.url(FRESH + "&vary=User-Agent,Accept-Encoding,Accept-Language")
    cases = [
        ("--bearer", "planted-anna"), ("--bearer", "planted-berta"), ("-H", "Accept-Language: de"),
        ("-H", "Accept-Language: fr"), (),
    ]  # fmt: skip
    bodies = []
    for fields in cases:
        bodies.append(wherry("get", url, "--cache-policy", "protocol", *fields, *store).out)
        assert wherry("get", url, "--cache-policy", "any-age", *fields, *store).out == bodies[-1]
        assert wherry("cache", "show", url, *fields, *store).out == bodies[-1]

    assert len(set(bodies)) == len(cases) == len(server.requests())
    assert wherry("cache", "show", url, "--bearer", "carla", *store).status == 9
    files = [path for path in store[1].rglob("*") if path.is_file()]
    assert files and not [path for path in files if b"planted" in path.read_bytes()]


def test_SEC_C3_an_unauthenticated_response_is_not_stored(server: Scope, store: Store) -> None:
    url = server.tls(FRESH)
    for _ in range(2):
        assert wherry("get", url, "--insecure", "--cache-policy", "protocol", *store).status == 0
    assert "There are no stored responses" in wherry("cache", "list", *store).err
    good = wherry("get", url, "--cacert", server.ca, "--cache-policy", "protocol", *store)
    other = wherry("get", url, "--insecure", "--cache-policy", "any-age", *store)
    assert good.status == other.status == 0 and good.out != other.out
    cut = server.url("/bytes/1000?cache=max-age=60&cut=500")
    assert wherry("get", cut, "--cache-policy", "protocol", *store).status == 4
    assert wherry("get", cut, "--cache-policy", "any-age-only", *store).status == 9
    assert len(server.requests()) == 5
