# Wherry: rows K15 to K20, SEC-C2 and SEC-C3 with the HTTP cache
# SPDX-License-Identifier: Apache-2.0
"""No test waits for time to pass: stale responses have an ``Age``, or the test moves a mock's
clock.
"""

from __future__ import annotations

from typing import Any, Dict, List

import pytest
from conftest import (
    FRESH, STALE, Make, Server, field, marks, miss, run_python, script, start_server, until,
)  # fmt: skip

import wherry

URL = "http://nowhere.invalid/items"


def test_K15_a_304_returns_the_stored_body(server: Server, make: Make) -> None:
    way = make()
    date = "Mon, 01 Jan 2024 00:00:00 GMT"
    old = {"Cache-Control": "max-age=60", "Age": "100", "ETag": 'W/"a"', "Last-Modified": date}
    new = {"Cache-Control": "max-age=3600", "ETag": 'W/"a"', "X-Version": "2", "Set-Cookie": "a=b"}
    script(server, a=[
        {"headers": {**old, "X-Version": "1"}, "body": "stored"}, {"status": 304, "headers": new},
    ])  # fmt: skip
    url = server.url("/s/a")
    first, second, third = (way.get(url) for _ in range(3))
    assert [marks(one) for one in (first, second)] == ["", "from_cache is_revalidated"]
    assert marks(third) == "from_cache", "its age has begun anew"
    for answer in (second, third):
        assert (answer.status_code, answer.text, answer.url) == (200, "stored", url)
        assert answer.headers.get_list("x-version") == ["2"]
    assert "set-cookie" in second.headers and "set-cookie" not in third.headers
    log = server.log()
    assert [one["status"] for one in log] == [200, 304]
    assert field(log[1], "if-none-match") == ['W/"a"']
    assert field(log[1], "if-modified-since") == [date]


def test_K15_another_response_replaces_the_cache_entry(server: Server, make: Make) -> None:
    way = make()
    url = server.url("/cache", etag_next="b", **STALE)
    first, second = way.get(url), way.get(url)
    assert marks(second) == "" and second.content != first.content
    assert way.get(url, cache_policy="any_age_only").content == second.content
    assert [one["status"] for one in server.log()] == [200, 200]


def test_K15_a_conditional_request_of_the_caller_gets_the_304(server: Server, make: Make) -> None:
    way = make()
    url = server.url("/cache", **FRESH)
    way.get(url)
    answer = way.get(url, headers={"If-None-Match": '"b", "a"'})
    assert answer.status_code == 304 and answer.content == b"" and marks(answer) == "from_cache"
    assert len(server.log()) == 1


def test_K16_the_cached_response_is_returned_first_and_then_the_fresh_one(
    server: Server,
    make: Make,
) -> None:
    way = make()
    told: List[wherry.Response] = []
    for query, body, end in (
        ({**STALE, "etag_next": "b"}, False, ""),
        (FRESH, True, "from_cache is_revalidated unchanged"),
        ({"control": "max-age=60", "body": "same"}, True, "unchanged"),
    ):
        url = server.url(f"/cache/{end or 'changed'}".replace(" ", "-"), **query)
        first = way.get(url, on_cached=told.append)
        assert not told and marks(first) == ""
        second = way.get(url, on_cached=told.append)
        [stored] = told
        assert stored.from_cache and stored.content == first.content
        assert stored.is_stale == ("age" in query) and not stored.is_revalidated
        assert marks(second) == end and (second.content == first.content) is body
        told.clear()
    assert len(server.log()) == 6


def test_K16_stale_while_revalidate_sends_one_background_request(
    server: Server,
    make: Make,
) -> None:
    control = "max-age=60, stale-while-revalidate=1000"
    answer = {"Cache-Control": control, "ETag": '"a"'}
    script(server, a=[
        {"headers": {**answer, "Age": "100"}, "body": "old"},
        {"headers": answer, "body": "new", "gate": server.gate()},
    ])  # fmt: skip
    way = make()
    url = server.url("/s/a")
    way.get(url)
    for _ in range(3):
        answer_now = way.get(url)
        assert marks(answer_now) == "from_cache is_stale" and answer_now.text == "old"
    server.wait(requests=2)
    server.open_gate(server.gate())
    server.wait(ended=2)
    # The response is stored a moment later; reading the cache sends no request.
    until(lambda: way.get(url, cache_policy="any_age_only").text == "new")
    assert marks(way.get(url)) == "from_cache" and len(server.log()) == 2


def test_K17_a_stale_response_is_served_if_the_server_is_unreachable(make: Make) -> None:
    way = make()
    for told in start_server():
        server = Server(f"http://127.0.0.1:{told['port']}", "gone")
        url = server.url("/cache", **STALE)
        granted = server.url("/cache", control="max-age=60, stale-if-error=1000", age=100)
        strict = server.url("/cache", control="max-age=60, must-revalidate", age=100)
        stored = [way.get(one).content for one in (url, granted, strict)]

    def reason(where: str, **options: Any) -> str:
        with pytest.raises(wherry.NetworkError) as caught:
            way.get(where, **options)
        return caught.value.reason

    assert reason(url) == reason(url, stale_if_error=39) == "connect"
    for options in ({"stale_if_error": 3600}, {"stale_if_error": float("inf")}):
        answer = way.get(url, **options)
        assert marks(answer) == "from_cache is_stale" and answer.content == stored[0]
    assert marks(way.get(granted)) == "from_cache is_stale"
    assert reason(strict, stale_if_error=3600) == "connect"
    assert reason(url, stale_if_error=3600, cache_policy="reload") == "connect"
    assert reason(url, stale_if_error=3600, cache_policy="off") == "connect"
    assert marks(way.get(strict, cache_policy="any_age")) == "from_cache is_stale"
    with pytest.raises(wherry.ArgumentError):
        way.get(url, stale_if_error=float("nan"))


def test_K17_a_server_error_counts_as_unreachable(server: Server, make: Make) -> None:
    way = make()
    failures: List[Dict[str, Any]] = [{"status": status} for status in (500, 502, 503, 504)]
    cut = "HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nx"
    failures += [{"raw": [["rst"]]}, {"raw": [["send", cut], ["fin"]]}]
    first = {"headers": {"Cache-Control": "max-age=60", "Age": "100"}, "body": "stored"}
    script(server, a=[first, *failures], b=[first, {"status": 404}, {"status": 501}])
    way.get(server.url("/s/a"))
    for failure in failures:
        answer = way.get(server.url("/s/a"), stale_if_error=3600)
        assert marks(answer) == "from_cache is_stale", failure
        assert (answer.status_code, answer.text) == (200, "stored")
    way.get(server.url("/s/b"))
    assert way.get(server.url("/s/b"), stale_if_error=3600).status_code == 404


def test_K17_a_response_becomes_stale_with_time(mock: wherry.MockTransport, make: Make) -> None:
    mock.add("GET", URL, text="yes", headers={"Cache-Control": "max-age=60"}, times=1)
    mock.fail("GET", URL, "connect")
    mock.advance(0)
    way = make(transport=mock)
    way.get(URL)
    mock.advance(59)
    assert marks(way.get(URL)) == "from_cache" and way.get(URL).headers["age"] == "59"
    mock.advance(31)
    assert marks(way.get(URL, stale_if_error=30)) == "from_cache is_stale"
    mock.advance(1)
    with pytest.raises(wherry.NetworkError):
        way.get(URL, stale_if_error=30)


def test_K18_the_least_recently_used_entry_is_evicted_first(
    mock: wherry.MockTransport,
    make: Make,
) -> None:
    mock.add("GET", URL + "*", content=b"x" * 5000, headers={"Cache-Control": "max-age=3600"})
    mock.add("GET", "*", content=b"x" * 20000, headers={"Cache-Control": "max-age=3600"})
    way = make(transport=mock, cache_max_bytes=100_000, cache_memory_bytes=0)

    def usage() -> wherry.CacheUsage:
        told: wherry.CacheUsage = way.done(way.client.cache.usage())
        return told

    for number in range(40):
        way.get(f"{URL}/{number}")
    until(lambda: usage().entry_bytes <= 100_000)
    assert 10 <= usage().entries < 20 and len(way.entries(stores="http")) == usage().entries
    assert miss(way, URL + "/0", cache_policy="any_age_only") == "missing"
    assert way.get(URL + "/39", cache_policy="any_age_only").from_cache
    large = "http://nowhere.invalid/large"  # More than an eighth of the limit.
    way.get(large)
    assert miss(way, large, cache_policy="any_age_only") == "missing"
    way.client.configure(cache_max_bytes=6000)
    until(lambda: usage().entry_bytes <= 6000)


def test_K19_SEC_C2_two_tokens_never_share_an_entry(
    server: Server,
    make: Make,
    tmp_path: Any,
) -> None:
    way = make()
    url = server.url("/cache", **FRESH)
    cases: List[Dict[str, Any]] = [
        {"auth": wherry.Bearer("planted-anna")}, {"auth": wherry.Bearer("planted-berta")},
        {"auth": ("anna", "planted")}, {"cache_partition": "planted-carla"},
        {"headers": {"X-User": "planted"}, "cache_headers": "X-User"}, {},
    ]  # fmt: skip
    bodies = []
    for case in cases:
        first, second = way.get(url, **case), way.get(url, **case)
        assert marks(first) == "" and marks(second) == "from_cache"
        assert second.content == first.content
        bodies.append(first.content)
    assert len(set(bodies)) == len(cases) == len(server.log()) == len(way.entries())
    for case, content in zip(cases, bodies):
        for policy in ("protocol", "any_age", "any_age_only"):
            assert way.get(url, cache_policy=policy, **case).content == content
    assert miss(way, url, auth=wherry.Bearer("dora"), cache_policy="any_age_only") == "missing"
    files = [path for path in tmp_path.rglob("*") if path.is_file()]
    assert files and not [path for path in files if b"planted" in path.read_bytes()]
    other = make(auth=wherry.Bearer("planted-anna"))
    assert other.get(url).content == bodies[0] and len(server.log()) == len(cases)


def test_K19_vary_headers_separate_responses(server: Server, make: Make) -> None:
    way = make()
    url = server.url("/cache", vary="Accept-Language", **FRESH)
    bodies = {}
    for language in ("de", "fr", "de", "fr"):
        answer = way.get(url, headers={"Accept-Language": language})
        assert answer.json()["language"] == language
        assert answer.from_cache is (language in bodies)
        bodies[language] = answer.content
    assert miss(way, url, cache_policy="any_age_only") == "missing"
    assert miss(way, server.url("/cache", vary="*", **FRESH), cache_policy="any_age_only")
    assert len(server.log()) == 2


def test_K19_ignored_parameters_do_not_change_the_cache_key(server: Server, make: Make) -> None:
    way = make()
    for sign in (1, 2):
        url = server.url("/cache", **FRESH)
        answer = way.get(url, params={"sign": sign}, cache_ignore=["sign"])
    assert marks(answer) == "from_cache" and len(server.log()) == 1


ONE_OF_FOUR = """
import wherry
with wherry.MockTransport() as mock:
    for n in range(20):
        mock.add("GET", f"http://h.invalid/{n}", content=b"%d %d " % (n, mine) * (400 * n + 1),
                 headers={"Cache-Control": "max-age=3600"})
    with wherry.Client(transport=mock, cache=True, storage_directory=folder,
                       cache_memory_bytes=(0, 1 << 20)[mine % 2]) as client:
        for step in range(400):
            n = (step * 7 + mine) % 20
            policy = ("any_age", "reload", "protocol", "any_age")[step % 4]
            answer = client.get(f"http://h.invalid/{n}", cache_policy=policy)
            words = answer.content.split()
            assert len(words) == 2 * (400 * n + 1), (n, len(words))
            assert set(words[::2]) == {b"%d" % n} and len(set(words[1::2])) == 1, n
        assert len(client.cache.entries()) == 20
        print(sum(client.cache.open(entry).status_code == 200 for entry in client.cache.entries()))
"""


def test_K20_processes_share_a_folder(server: Server, tmp_path: Any) -> None:
    folder, url = str(tmp_path / "own"), server.url("/cache", **FRESH)
    code = f"""
import wherry
with wherry.Client(cache=True, storage_directory={folder!r}) as client:
    answer = client.get({url!r})
    print(answer.from_cache, answer.text)
"""
    with wherry.Client(cache=True, storage_directory=folder) as client:
        first = client.get(url)
        done = run_python(code)
        assert (done.stdout, done.stderr) == (f"True {first.text}\n", "")
        url = url.replace("/cache?", "/cache/b?")
        other = run_python(code.replace("/cache?", "/cache/b?"))
        assert other.stdout.startswith("False ")
        answer = client.get(url)
        assert answer.from_cache and other.stdout == f"False {answer.text}\n"
        client.cache.clear()
        assert run_python(code).stdout.startswith("False ")
    assert len(server.log()) == 3


def test_K20_four_processes_never_read_a_torn_entry(threads: Any, tmp_path: Any) -> None:
    def run(mine: int) -> Any:
        head = f"mine, folder = {mine}, {str(tmp_path / 'own')!r}\n"
        return run_python(head + ONE_OF_FOUR)

    for done in threads.map(run, range(4)):
        assert (done.stdout, done.stderr) == ("20\n", "")


def test_SEC_C3_an_unauthenticated_response_is_not_stored(tls_base: str, certificate: str, make: Make) -> None:
    server = Server(tls_base, f"c3-{id(make)}")
    path = certificate + "/cert.pem"
    url = tls_base + f"/cache?key={server.key}&control=max-age%3D3600"
    checked, trusting = make(verify=path), make(verify=False)

    for _ in range(2):
        assert marks(trusting.get(url, cache_policy="protocol")) == ""
    assert miss(trusting, url, cache_policy="any_age_only") == "missing"
    assert checked.entries() == []
    good = checked.get(url)
    assert marks(checked.get(url)) == "from_cache"
    answer = trusting.get(url, stale_if_error=3600)
    assert marks(answer) == "" and answer.content != good.content
    assert checked.get(url).content == good.content
    bare = tls_base + f"/bytes/100?key={server.key}&cache=max-age%3D3600&no_length=1&cut=40&unclean=1"
    for _ in range(2):
        assert marks(checked.get(bare)) == ""
    assert miss(checked, bare, cache_policy="any_age_only") == "missing"


def test_SEC_C3_a_cut_body_is_not_stored(server: Server, make: Make) -> None:
    way = make()
    for name, fault in (
        ("cut", {"cut": 500}), ("reset", {"reset": 500}), ("long", {"length": 2000, "close": 1}),
        ("chunk", {"chunked": 1, "chunked_cut": 1}),
    ):  # fmt: skip
        url = server.url("/bytes/1000", name=name, cache="max-age=3600", **fault)
        with pytest.raises(wherry.NetworkError):
            way.get(url)
        assert miss(way, url, cache_policy="any_age_only") == "missing", name
    assert way.entries() == []
    good = server.url("/bytes/1000/then", cache="max-age=60", reset=500, times=1)
    with pytest.raises(wherry.NetworkError):
        way.get(good)
    assert [marks(way.get(good)) for _ in range(2)] == ["", "from_cache"]


def test_SEC_C3_a_cut_response_keeps_the_cache_entry(server: Server, make: Make) -> None:
    way = make()
    cut = "HTTP/1.1 200 OK\r\nCache-Control: max-age=9\r\nContent-Length: 9\r\n\r\nbad"
    script(server, a=[
        {"headers": {"Cache-Control": "max-age=3600"}, "body": "good"},
        {"raw": [["send", cut], ["fin"]]},
    ])  # fmt: skip
    url = server.url("/s/a")
    way.get(url)
    with pytest.raises(wherry.NetworkError):
        way.get(url, cache_policy="reload")
    assert way.get(url).text == "good" and len(server.log()) == 2


def test_C12_creating_a_client_without_usable_storage_fails(
    mock: wherry.MockTransport, make: Make, tmp_path: Any
) -> None:
    path = tmp_path / "taken"
    path.write_text("mine")
    with pytest.raises(wherry.FileError) as refused:
        make(transport=mock, storage_directory=str(path))
    assert refused.value.reason == "bad_storage" and str(path) in refused.value.message
    assert path.read_text() == "mine"
