# Wherry: rows K8 to K14 of features.md with the HTTP cache
# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import pickle
import urllib.parse
from typing import Any, Callable, Dict, List

import pytest
from conftest import FRESH, PATIENT, STALE, Make, Server, marks, miss, script

import wherry

URL = "http://nowhere.invalid/items"


TABLE = {
    ("protocol", "fresh"): ("from_cache", []),
    ("protocol", "stale"): ("from_cache is_revalidated", [304]),
    ("protocol", "absent"): ("", [200]),
    ("reload", "fresh"): ("", [200]),
    ("reload", "stale"): ("", [200]),
    ("reload", "absent"): ("", [200]),
    ("any_age", "fresh"): ("from_cache", []),
    ("any_age", "stale"): ("from_cache is_stale", []),
    ("any_age", "absent"): ("", [200]),
    ("any_age_only", "fresh"): ("from_cache", []),
    ("any_age_only", "stale"): ("from_cache is_stale", []),
    ("any_age_only", "absent"): ("missing", []),
}


@pytest.mark.parametrize(("policy", "stored"), TABLE)
def test_K12_four_policies(server: Server, make: Make, policy: str, stored: str) -> None:
    told, statuses = TABLE[policy, stored]
    name = "/s/" + stored
    age = "0" if stored == "fresh" else "100"
    first = {"Cache-Control": "max-age=60", "ETag": '"a"', "Age": age}
    whole = {"headers": first, "body": "1"}
    if policy == "protocol" and stored == "stale":
        again: Dict[str, Any] = {"status": 304, "headers": {**first, "Age": "0"}}
    else:
        again = {**whole, "body": "2"}
    script(server, **{stored: [whole, again]})
    way = make(cache=False)
    if stored != "absent":
        assert marks(way.get(server.url(name), cache_policy="protocol")) == ""
    asked = len(server.log())

    if told == "missing":
        assert miss(way, server.url(name), cache_policy=policy) == told
    else:
        answer = way.get(server.url(name), cache_policy=policy)
        assert marks(answer) == told and answer.status_code == 200
        assert answer.text == ("2" if policy == "reload" and stored != "absent" else "1")
        assert answer.headers.get_list("etag") == ['"a"']
    assert [one["status"] for one in server.log()[asked:]] == statuses
    if policy == "reload":
        assert way.get(server.url(name), cache_policy="any_age_only").text == answer.text


def test_K12_the_cache_setting_can_be_changed(server: Server, make: Make) -> None:
    url = server.url("/cache", **FRESH)
    way = make(cache=False)
    assert [marks(way.get(url)) for _ in range(2)] == ["", ""]
    way.client.configure(cache=True)
    assert [marks(way.get(url)) for _ in range(2)] == ["", "from_cache"]
    assert marks(way.get(url, cache_policy="off")) == ""
    assert miss(way, url, cache_policy="only") == "missing"
    assert marks(way.get(url, cache_policy="use")) == "from_cache"
    assert marks(way.get(url, cache_policy="refresh")) == ""
    way.client.configure(cache=False)
    assert marks(way.get(url)) == ""
    assert marks(way.get(url, cache_policy="protocol")) == "from_cache"
    with pytest.raises(wherry.ArgumentError):
        way.client.configure(cache=2)
    with pytest.raises(TypeError, match="cache="):
        way.get(url, cache=True)
    assert len(server.log()) == 6


def test_K12_the_setting_survives_pickling(tmp_path: Any) -> None:
    with wherry.Client(cache=True, storage_directory=str(tmp_path / "own")) as client:
        with pickle.loads(pickle.dumps(client)) as copy:
            assert copy.__getstate__()["cache"] is True


def test_K12_every_kind_of_request_uses_the_cache_alike(server: Server, make: Make) -> None:
    url = server.url("/cache", **FRESH)
    way = make()
    first = way.get(url)
    ways: List[Dict[str, Any]] = [
        {}, {"tag": "a"}, {"progress": lambda _: None}, {"metrics": True},
        {"store": lambda _: True},
    ]  # fmt: skip
    for options in ways:
        answer = way.get(url, **options)
        assert marks(answer) == "from_cache" and answer.content == first.content, options
        assert answer.headers["age"].isdigit() and answer.url == url
    based = make(base_url=server.base + "/")
    assert marks(based.get(url[len(server.base) + 1 :])) == "from_cache"
    assert marks(way.request("HEAD", url)) == "from_cache"
    assert len(server.log()) == 1


def test_K12_each_step_of_a_redirect_is_stored_separately(server: Server, make: Make) -> None:
    end = server.url("/cache", **FRESH)
    script(server, old=[{
        "status": 301, "headers": {"Location": end, "Cache-Control": "max-age=60"},
    }])  # fmt: skip
    way = make()
    first, second = (way.get(server.url("/s/old")) for _ in range(2))
    assert marks(second) == "from_cache" and second.content == first.content
    assert second.url == end and [one.status_code for one in second.history] == [301]
    assert len(server.log()) == 2


def test_K12_an_unsafe_method_invalidates_the_cache_entry(server: Server, make: Make) -> None:
    url = server.url("/cache", **FRESH)
    way = make()
    way.get(url)
    assert way.request("POST", url, data=b"x").status_code == 200
    assert marks(way.get(url)) == ""
    assert [one["method"] for one in server.log()] == ["GET", "POST", "GET"]


def test_K12_only_if_cached_returns_504_on_a_miss(server: Server, make: Make) -> None:
    answer = make().get(server.url("/cache"), headers={"Cache-Control": "only-if-cached"})
    assert answer.status_code == 504 and not server.log()


def test_K12_the_HTTP_cache_and_the_timed_cache_do_not_share_entries(
    server: Server,
    make: Make,
) -> None:
    url = server.url("/cache", **FRESH)
    way = make(cache=False)
    http = way.get(url, cache_policy="protocol")
    timed = way.get(url, cache=60)
    assert marks(timed) == "" and timed.content != http.content
    assert way.get(url, cache_policy="only").content == timed.content
    assert way.get(url, cache_policy="any_age_only").content == http.content
    assert sorted(entry.store for entry in way.entries(url)) == ["http", "timed"]
    assert len(server.log()) == 2


def test_K8_K9_K10_entries_are_listed_read_and_cleared(server: Server, make: Make) -> None:
    way = make()
    cache = way.client.cache

    def url(path: str, **query: Any) -> str:
        """The query has no `key` parameter, which lists would show as a digest."""
        return f"{server.base}/@{server.key}{path}?{urllib.parse.urlencode(query)}"

    page, other = (url("/cache/a", page=n, **FRESH) for n in (1, 2))
    stale = url("/cache/b", **STALE)
    for one in (page, other, stale):
        way.get(one)
    way.get(page, cache=60, cache_policy="refresh")
    asked = len(server.log())

    [timed] = way.entries(stores="timed")
    assert timed.store == "timed" and timed.url == page and timed.identifier
    listed = {entry.url: entry for entry in way.entries(stores=["http"])}
    assert set(listed) == {page, other, stale} and len(way.entries()) == 4
    entry = listed[page]
    assert (entry.store, entry.method, entry.status_code) == ("http", "GET", 200)
    assert entry.identifier == ""
    assert 3500 < entry.expires_in <= 3600 and listed[stale].expires_in == 0
    assert entry.body_bytes > 0 and entry.stored_at > 1.6e9
    opened = way.done(cache.open(listed[stale]))
    assert marks(opened) == "from_cache is_stale" and opened.url == stale
    assert len(way.entries(page.split("?")[0], stores="http")) == 2
    assert [entry.url for entry in way.entries(other, stores="http")] == [other]
    assert way.entries(page, method="POST") == []

    assert marks(way.done(cache.read("GET", other))) == "from_cache"
    for options in ({}, {"cache_policy": "protocol"}):
        with pytest.raises(wherry.CacheMissError) as caught:
            way.done(cache.read("GET", stale, **options))
        assert caught.value.reason == "stale"
    read = way.done(cache.read("GET", stale, cache_policy="any_age_only"))
    assert marks(read) == "from_cache is_stale" and read.headers["etag"] == '"a"'

    usage = way.done(cache.usage())
    assert usage.entries == 4 and usage.entry_bytes > sum(e.body_bytes for e in way.entries())
    for stores in ("other", ["timed", "partials"]):
        with pytest.raises(wherry.ArgumentError) as refused:
            way.entries(stores=stores)
        assert refused.value.reason == "bad_value"
    assert way.done(cache.remove("GET", other)) and not way.done(cache.remove("GET", other))
    assert way.done(cache.clear(stores="timed")) == 1 and len(way.entries()) == 2
    assert way.done(cache.clear(page.split("?")[0], stores="http")) == 1
    assert way.done(cache.clear(stores=(), partials=True)) == 0
    assert way.done(cache.clear()) == 1 and way.done(cache.usage()).entries == 0
    with pytest.raises(wherry.CacheMissError):
        way.done(cache.open(entry))
    assert len(server.log()) == asked


def test_K13_the_program_decides_what_is_stored(server: Server, make: Make) -> None:
    way = make()
    asked: List[wherry.Response] = []

    def decide(value: Any) -> Callable[[wherry.Response], Any]:
        def decided(answer: wherry.Response) -> Any:
            asked.append(answer)
            return value

        return decided

    def url(name: str) -> str:
        return server.url("/cache/" + name, header="X-Trace:1", **FRESH)

    first = way.get(url("a"), store=decide(["x-trace", "X-None"]), context=7)
    assert first.headers["x-trace"] == "1" and marks(first) == ""
    [told] = asked
    assert (told.status_code, told.content, told.url) == (200, first.content, url("a"))
    assert told.headers["etag"] == '"a"' and marks(told) == "" and told.context == 7
    second = way.get(url("a"), store=decide(False))
    assert marks(second) == "from_cache" and second.content == first.content
    assert "x-trace" not in second.headers and second.headers["etag"] == '"a"'
    assert len(asked) == 1, "what is stored already is not asked about"
    way.get(url("b"), store=decide(False))
    assert way.entries(url("b")) == []
    whole: List[Any] = [True, []]
    for value in whole:
        way.get(url("b"), cache_policy="reload", store=decide(value))
        assert way.get(url("b")).headers["x-trace"] == "1"
    assert way.get(server.url("/cache/c", control="no-store"), store=decide(True)).text
    assert len(asked) == 4, "nor what may not be stored"


def test_K13_an_exception_in_the_function_ends_the_request_and_stores_nothing(server: Server, make: Make) -> None:
    way = make()
    url = server.url("/cache", **FRESH)

    def fail(_: wherry.Response) -> bool:
        raise KeyError("mine")

    with pytest.raises(KeyError, match="mine"):
        way.get(url, store=fail)
    for wrong in (None, 1, "X-Trace", [1]):
        with pytest.raises(TypeError, match="store="):
            way.get(url, store=lambda _, wrong=wrong: wrong)
    with pytest.raises(wherry.ArgumentError) as caught:
        way.get(url, store=lambda _: ["a\0b"])
    assert caught.value.reason == "bad_header"
    assert way.entries() == []
    assert marks(way.get(url)) == "" and marks(way.get(url)) == "from_cache"


def test_K13_a_rejected_response_removes_the_old_cache_entry(server: Server, make: Make) -> None:
    way = make()
    url = server.url("/cache", **FRESH)
    way.get(url)
    way.get(url, cache_policy="reload", store=lambda _: False)
    assert miss(way, url, cache_policy="any_age_only") == "missing"


def test_K13_the_timed_cache_calls_the_function_too(mock: wherry.MockTransport, make: Make) -> None:
    mock.add(None, "*", text="yes", headers={"X-Trace": "1", "Cache-Control": "max-age=60"})
    way = make(transport=mock)
    asked: List[str] = []

    def decide(answer: wherry.Response) -> Any:
        asked.append(answer.text)
        return ["X-Trace"]

    way.get(URL, cache=60, store=decide)
    assert asked == ["yes", "yes"], "once for each cache"
    for policy in ("only", "any_age_only"):
        stored = way.get(URL, cache_policy=policy)
        assert stored.text == "yes" and "x-trace" not in stored.headers
    way.get(URL, cache=60, cache_policy="refresh", store=lambda _: False)
    assert way.entries() == [] and len(mock.requests) == 2


def test_K14_the_memory_cache_has_a_size_limit(server: Server, make: Make) -> None:
    way = make()

    def memory() -> int:
        used: int = way.done(way.client.cache.usage()).memory_bytes
        return used

    url = server.url("/bytes/20000", cache="max-age=3600")
    first = way.get(url)
    assert way.get(url).from_cache and memory() >= 20000
    way.client.configure(cache_memory_bytes=10000)
    assert memory() == 0
    assert way.get(url).content == first.content and memory() == 0
    assert len(server.log()) == 1


def test_K1_a_stream_of_any_length_bypasses_the_cache_and_a_small_one_is_stored(server: Server, tmp_path: Any) -> None:
    # A body of more than 64 MiB was an error with the cache enabled; and only C could cache a
    # stream.
    size = 70_000_000
    with wherry.Client(storage_directory=str(tmp_path / "store"), cache=True, **PATIENT) as client:
        url = server.url(f"/bytes/{size}", cache="max-age=60")
        with client.stream("GET", url, cache_stream=True) as response:
            assert sum(map(len, response.iter_bytes())) == size
        assert client.cache.usage().entries == 0
        small = server.url("/bytes/3000000", cache="max-age=60")
        for _ in range(2):
            with client.stream("GET", small, cache_stream=True) as response:
                assert len(response.read()) == 3_000_000
        assert client.cache.usage().entries == 1
        assert client.get(small).from_cache
        # Without the keyword a stream does not use the cache.
        with client.stream("GET", small) as response:
            assert len(response.read()) == 3_000_000
    assert len(server.log()) == 3
