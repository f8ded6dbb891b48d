# Wherry: custom transports: mocks with a function, objects, and mounts
# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import asyncio
import contextvars
import gzip
import pathlib
import threading
from typing import Any, AsyncIterator, List, Tuple

import pytest
from conftest import Make, Server
from test_forking import forked

import wherry

URL = "http://api.test/x"
here: contextvars.ContextVar[str] = contextvars.ContextVar("here", default="")


def echo(request: wherry.SentRequest) -> wherry.Response:
    """The properties of the request."""
    return wherry.Response(200, headers={"X-From": "mock"}, json={
        "method": request.method, "url": request.url, "headers": request.headers.multi_items(),
        "body": request.read().decode("latin-1"),
    })  # fmt: skip


async def slow_echo(request: wherry.SentRequest) -> wherry.Response:
    await asyncio.sleep(0)
    return echo(request)


def test_R39_a_function_responds_to_every_request(make: Make) -> None:
    mock = wherry.MockTransport(echo)
    way = make(transport=mock, cache=False, headers={"X-A": "1"}, auth=("me", "x"), params={"p": "1"})
    plain = way.get(URL)
    report = plain.json()
    assert report["method"] == "GET" and report["url"] == URL + "?p=1" and report["body"] == ""
    fields = dict(report["headers"])
    assert fields["X-A"] == "1" and fields["Authorization"].startswith("Basic ")
    assert plain.headers["x-from"] == "mock" and plain.request.url == plain.url == URL + "?p=1"
    posted = way.request("POST", URL, json={"a": 1}, tag="t").json()
    assert (posted["method"], posted["body"]) == ("POST", '{"a":1}')
    assert [(asked.method, asked.content) for asked in mock.requests] == [("GET", b""), ("POST", b'{"a":1}')]
    assert mock.requests[1].json() == {"a": 1}


def test_R39_a_coroutine_function_responds_for_an_async_client() -> None:
    async def main() -> Tuple[Any, ...]:
        mock = wherry.MockTransport(slow_echo)
        async with wherry.AsyncClient(transport=mock) as client:
            several = await asyncio.gather(*[client.get(f"{URL}/{n}") for n in range(20)])
            async with client.stream("GET", URL) as stream:
                pieces = [piece async for piece in stream.aiter_bytes()]
            return [answer.json()["url"] for answer in several], pieces, len(mock.requests)

    urls, pieces, count = asyncio.run(main())
    assert urls == [f"{URL}/{n}" for n in range(20)] and b"api.test" in b"".join(pieces) and count == 21
    with wherry.Client(transport=wherry.MockTransport(slow_echo)) as client:
        with pytest.raises(TypeError, match="needs an AsyncClient"):
            client.get(URL)


def test_R39_the_rules_of_a_mock_precede_its_function(make: Make) -> None:
    mock = wherry.MockTransport(echo)
    mock.add("GET", "http://api.test/once", json=[1], times=1)
    mock.fail(None, "http://API.test/down*", "resolve")
    way = make(transport=mock, cache=False)
    mock.add(None, "http://api.test/late", 404, text="late", headers={"X-N": "5"})
    assert way.get("http://api.test/once").json() == [1]
    assert way.get("http://api.test/once").json()["method"] == "GET"
    assert way.get("http://api.test/late").status_code == 404
    with pytest.raises(wherry.NetworkError) as caught:
        way.get("http://api.test/down/x")
    assert caught.value.reason == "resolve" and type(caught.value) is wherry.NetworkError
    assert [asked.url for asked in mock.requests][-1] == "http://api.test/down/x"
    with pytest.raises(wherry.ArgumentError, match="without a function"):
        mock.add("GET", URL, delay=1)


@pytest.mark.parametrize("error", [ValueError("mine"), KeyError("k"), wherry.NetworkError("mine", "connect"), wherry.TimeoutError("slow", "idle_timeout"), ConnectionResetError("reset"), wherry.NetworkError("mine", "")], ids=repr)  # fmt: skip
def test_R39_an_exception_in_a_function_reaches_the_caller(make: Make, error: Exception) -> None:
    def handle(request: wherry.SentRequest) -> wherry.Response:
        raise error

    async def handle_later(request: wherry.SentRequest) -> wherry.Response:
        raise error

    for function in (handle, handle_later):
        way = make(transport=wherry.MockTransport(function), cache=False)
        if function is handle_later and isinstance(way.client, wherry.Client):
            continue
        for options in ({}, {"json": 1}):
            with pytest.raises(type(error)) as caught:
                way.request("POST", URL, **options)
            assert caught.value is error


def test_R39_a_failure_of_a_function_is_retried(make: Make) -> None:
    calls: List[str] = []

    def handle(request: wherry.SentRequest) -> wherry.Response:
        calls.append(request.url)
        if len(calls) == 1:
            raise wherry.NetworkError("the first attempt fails", "connect")
        return wherry.Response(503 if len(calls) == 2 else 200, headers={"Retry-After": "0"})

    answer = make(transport=wherry.MockTransport(handle), cache=False, max_retries=3).get(URL)
    assert answer.status_code == 200 and len(calls) == 3


@pytest.mark.parametrize("result", [None, 5, "text"])
def test_an_invalid_response_is_a_type_error(make: Make, result: Any) -> None:
    way = make(transport=wherry.MockTransport(lambda request: result), cache=False)
    with pytest.raises(TypeError, match="must return a Response"):
        way.get(URL)


def test_redirects_and_cookies_work_as_with_a_network(make: Make) -> None:
    def handle(request: wherry.SentRequest) -> wherry.Response:
        if request.url.endswith("/x"):
            fields = [("Location", "/y?z=1"), ("Set-Cookie", "a=1; Path=/"), ("Set-Cookie", "b=2")]
            return wherry.Response(302, headers=fields)
        return echo(request)

    way = make(transport=wherry.MockTransport(handle), cache=False)
    answer = way.request("POST", URL, data={"f": "1"})
    assert [hop.status_code for hop in answer.history] == [302]
    assert answer.json()["method"] == "GET" and answer.url == "http://api.test/y?z=1"
    assert dict(answer.json()["headers"])["Cookie"] == "a=1; b=2"
    assert way.client.cookies.get_dict() == {"a": "1", "b": "2"}


def test_the_cache_stores_responses_of_a_function(make: Make) -> None:
    count = iter(range(9))

    def handle(request: wherry.SentRequest) -> wherry.Response:
        if "If-None-Match" in request.headers:
            return wherry.Response(304, headers={"ETag": '"a"'})
        fields = {"Cache-Control": "max-age=60", "ETag": '"a"'}
        return wherry.Response(200, headers=fields, json=next(count))

    way = make(transport=wherry.MockTransport(handle))
    assert [way.get(URL).json() for _ in range(3)] == [0, 0, 0]
    assert way.get(URL).from_cache
    assert way.get(URL, cache_policy="reload").json() == 1


def test_bodies_of_every_kind_reach_a_function_complete(make: Make, tmp_path: pathlib.Path) -> None:
    (tmp_path / "f").write_bytes(b"file")
    way = make(transport=wherry.MockTransport(echo), cache=False)
    for options, body in (
        ({"content": iter([b"a", b"b"])}, "ab"), ({"data": tmp_path / "f"}, "file"),
        ({"data": {"a": "b"}}, "a=b"), ({"parameters": {"a": 1}}, '{"a":1}'),
    ):  # fmt: skip
        assert way.request("POST", URL, **options).json()["body"] == body
    form = way.request("POST", URL, data={"a": "b"}, files={"f": wherry.Sized([b"x", b"y"], 2)}).json()
    assert 'name="a"\r\n\r\nb' in form["body"] and "\r\n\r\nxy\r\n" in form["body"]
    assert dict(form["headers"])["Content-Type"].startswith("multipart/form-data; boundary=")
    picture = memoryview(bytes(12)).cast("B", (2, 2, 3))
    sent = way.done(way.client.upload(URL, picture, fields={"note": "n"})).json()
    assert "PNG" in sent["body"] or "JFIF" in sent["body"]
    separate = way.done(way.client.upload(URL, [picture, picture], separate=2))
    assert [image.ok for image in separate.images] == [True, True]


def test_downloads_receive_the_bytes_of_a_function(make: Make, tmp_path: pathlib.Path) -> None:
    data = bytes(range(256)) * 4000

    def handle(request: wherry.SentRequest) -> wherry.Response:
        span = request.headers.get("Range")
        if span is None:
            return wherry.Response(200, headers={"Accept-Ranges": "bytes"}, content=data)
        first, _, last = span.partition("=")[2].partition("-")
        end = int(last) if last else len(data) - 1
        fields = {"Content-Range": f"bytes {first}-{end}/{len(data)}"}
        return wherry.Response(206, headers=fields, content=data[int(first) : end + 1])

    way = make(transport=wherry.MockTransport(handle), cache=False)
    path = way.done(way.client.download("http://api.test/big.bin", tmp_path / "big.bin"))
    assert pathlib.Path(path).read_bytes() == data

    def fail(request: wherry.SentRequest) -> wherry.Response:
        raise ValueError("mine")

    way = make(transport=wherry.MockTransport(fail), cache=False)
    with pytest.raises(ValueError, match="mine"):
        way.done(way.client.download("http://api.test/other", tmp_path / "other"))


def test_streams_groups_and_pages_call_a_function(make: Make) -> None:
    def handle(request: wherry.SentRequest) -> wherry.Response:
        page = int(dict(p.split("=") for p in request.url.partition("?")[2].split("&") if p).get("nextPage", "0"))
        return wherry.Response(200, json=[page * 2, page * 2 + 1] if page < 2 else [])

    way = make(transport=wherry.MockTransport(handle), cache=False)
    group = way.client.group()
    for _ in range(3):
        group.get(URL)
    assert [answer.json() for answer in way.done(group.run())] == [[0, 1]] * 3
    pages = way.client.pages(URL, size=2)
    if isinstance(way.client, wherry.Client):
        assert list(pages) == [0, 1, 2, 3]
        with way.client.stream("GET", URL) as stream:
            assert stream.read() == b"[0,1]"
        pages.close()
    else:

        async def main() -> List[Any]:
            return [item async for item in pages]

        assert way.done(main()) == [0, 1, 2, 3]


def test_an_encoded_body_of_a_function_is_decoded(make: Make) -> None:
    fields = {"Content-Encoding": "gzip"}
    way = make(
        cache=False,
        transport=wherry.MockTransport(
            lambda request: wherry.Response(200, headers=fields, content=gzip.compress(b"plain"))
        ),
    )
    assert way.get(URL).content == b"plain"


def test_chunks_of_a_body_are_joined(make: Make) -> None:
    async def later() -> AsyncIterator[bytes]:
        yield b"a"
        yield b"b"

    way = make(transport=wherry.MockTransport(lambda request: wherry.Response(200, content=iter([b"a", b"b"]))))
    assert way.get(URL).content == b"ab"
    way = make(transport=wherry.MockTransport(lambda request: wherry.Response(200, content=later())))
    if isinstance(way.client, wherry.AsyncClient):
        assert way.get(URL).content == b"ab"
    else:
        with pytest.raises(wherry.StateError, match="aread"):
            way.get(URL)


def test_HEAD_and_empty_responses_have_no_body(make: Make) -> None:
    way = make(
        transport=wherry.MockTransport(
            lambda request: wherry.Response(204) if "empty" in request.url else wherry.Response(200, text="abc")
        ),
        cache=False,
    )
    assert way.request("HEAD", URL).content == b""
    assert way.get("http://api.test/empty").status_code == 204


def test_a_function_runs_on_the_thread_and_in_the_context_of_the_request(make: Make) -> None:
    seen: List[Tuple[int, str]] = []

    def handle(request: wherry.SentRequest) -> wherry.Response:
        seen.append((threading.get_ident(), here.get()))
        return wherry.Response(200)

    way = make(transport=wherry.MockTransport(handle), cache=False)
    if isinstance(way.client, wherry.Client):
        here.set("sync")
        way.get(URL)
        assert seen == [(threading.get_ident(), "sync")]
        return

    async def handle_later(request: wherry.SentRequest) -> wherry.Response:
        await asyncio.sleep(0)
        return handle(request)

    async def ask(client: wherry.AsyncClient, name: str) -> None:
        here.set(name)
        await client.get(URL)

    async def main() -> None:
        async with wherry.AsyncClient(transport=wherry.MockTransport(handle_later)) as later:
            for client in (way.client, later):
                await asyncio.gather(ask(client, "a"), ask(client, "b"))

    way.done(main())
    assert sorted(name for _, name in seen) == ["a", "a", "b", "b"]
    assert {thread for thread, _ in seen} == {threading.get_ident()}


def test_a_function_may_send_requests_with_the_same_client(make: Make) -> None:
    def handle(request: wherry.SentRequest) -> Any:
        if request.url.endswith("/inner"):
            return wherry.Response(200, text="inner")
        return outer(request)

    mock = wherry.MockTransport(handle)
    way = make(transport=mock, cache=False)

    def outer(request: wherry.SentRequest) -> Any:
        if isinstance(way.client, wherry.Client):
            return wherry.Response(200, text="outer " + way.client.get(URL + "/inner").text)
        return outer_later()

    async def outer_later() -> wherry.Response:
        return wherry.Response(200, text="outer " + (await way.client.get(URL + "/inner")).text)

    assert way.get(URL).text == "outer inner"


def test_a_timeout_ends_the_wait_for_a_coroutine() -> None:
    async def never(request: wherry.SentRequest) -> wherry.Response:
        await asyncio.Event().wait()
        raise AssertionError

    async def main() -> None:
        async with wherry.AsyncClient(transport=wherry.MockTransport(never)) as client:
            with pytest.raises(wherry.TimeoutError):
                await client.get(URL, timeout=wherry.Timeout(total=0.05))
            task = asyncio.ensure_future(client.get(URL, timeout=None))
            while client.count() == 0:
                await asyncio.sleep(0)
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task

    asyncio.run(main())


def test_M12_a_client_with_a_function_works_in_a_forked_child() -> None:
    forked("""
import wherry
def handle(request):
    return wherry.Response(200, text=request.url)
client = wherry.Client(transport=wherry.MockTransport(handle))
mounted = wherry.Client(mounts={"all://api.test": wherry.MockTransport(handle)}, event_hooks={"response": [print]})
mounted.event_hooks["response"].clear()
def child():
    assert client.get("http://api.test/a").text == "http://api.test/a"
    assert mounted.get("http://api.test/b").text == "http://api.test/b"
    fork(lambda: client.get("http://api.test/c").raise_for_status())
child()
fork(child)
client.close()
mounted.close()
""")


class Counting(wherry.BaseTransport):
    """Responds with its name, and counts."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.urls: List[str] = []
        self.closed = 0

    def handle_request(self, request: wherry.SentRequest) -> wherry.Response:
        self.urls.append(request.url)
        return wherry.Response(200, text=self.name)

    def close(self) -> None:
        self.closed += 1


class Later(wherry.AsyncBaseTransport):
    """The same in an event loop."""

    def __init__(self) -> None:
        self.closed = 0

    async def handle_async_request(self, request: wherry.SentRequest) -> wherry.Response:
        return wherry.Response(200, text="later")

    async def aclose(self) -> None:
        self.closed += 1


class Duck:
    def handle_request(self, request: wherry.SentRequest) -> wherry.Response:
        return wherry.Response(200, text="duck")


def test_an_object_with_handle_request_is_a_transport(make: Make) -> None:
    transport = Counting("mine")
    way = make(transport=transport, cache=False)
    assert way.get(URL).text == "mine" and transport.urls == [URL]
    way.close()
    assert transport.closed == 1
    assert make(transport=Duck(), cache=False).get(URL).text == "duck"


def test_an_async_transport_requires_an_async_client() -> None:
    later = Later()

    async def main() -> str:
        async with wherry.AsyncClient(transport=later) as client:
            return (await client.get(URL)).text

    assert asyncio.run(main()) == "later" and later.closed == 1
    with pytest.raises(TypeError, match="AsyncClient"):
        wherry.Client(transport=later)
    for wrong in (5, object(), echo):
        with pytest.raises(TypeError, match="handle_request"):
            wherry.Client(transport=wrong)
    with pytest.raises(TypeError, match="takes a function"):
        wherry.MockTransport(5)  # type: ignore[arg-type]


#: httpx's own table of patterns, and additional cases.
MATCHES = [
    ("http://example.com", "http://example.com/", True), ("http://example.com", "https://example.com/", False),
    ("http://example.com", "http://other.com/", False), ("http://example.com:123", "http://example.com:123/", True),
    ("http://example.com:123", "http://example.com:456/", False), ("http://example.com:123", "http://example.com/", False),
    ("all://example.com", "http://example.com/", True), ("all://example.com", "https://example.com/", True),
    ("http://", "http://example.com/", True), ("http://", "https://example.com/", False),
    ("all://", "https://example.com:123/", True), ("http://example.com", "http://example.com:123/", True),
    ("all://*.example.com", "https://www.example.com/", True), ("all://*.example.com", "https://example.com/", False),
    ("all://*example.com", "https://example.com/", True), ("all://*example.com", "https://www.example.com/", True),
    ("all://*example.com", "https://notexample.com/", False), ("all://*", "http://h/", True),
    ("all://*.example.com", "http://evil.test/x.example.com/", False), ("http://h:80", "http://h/", True),
    ("http://H", "http://h/a", True), ("all://*:8080", "http://h:8080/", True), ("all://*:8080", "http://h/", False),
    ("all://*:8080", "http://h/:8080/", False), ("all://bücher.test", "http://bücher.test/", True),
    ("http://[::1]:8080", "http://[::1]:8080/", True),
]  # fmt: skip


@pytest.mark.parametrize(("pattern", "url", "matches"), MATCHES)
def test_a_mount_matches_as_in_httpx(make: Make, pattern: str, url: str, matches: bool) -> None:
    mounted, other = Counting("mounted"), Counting("other")
    way = make(mounts={pattern: mounted}, transport=other, cache=False)
    assert way.get(url).text == ("mounted" if matches else "other")
    # None is the network, which refuses such URLs here; the other one is used for URLs that do not
    # match.
    way = make(
        mounts={pattern: None, "all://": mounted},
        cache=False,
        deny_addresses="loopback",
        resolve={
            f"{host}:{port}": "127.0.0.1"
            for host in ("example.com", "www.example.com", "h", "evil.test")
            for port in (80, 443, 123, 8080)
        },
    )
    if not matches:
        if pattern != "all://":
            assert way.get(url).text == "mounted"
        return
    if pattern != "all://":
        with pytest.raises(wherry.WherryError):
            way.get(url)


def test_the_most_specific_mount_is_used(make: Make) -> None:
    names = [
        "all://",
        "http://",
        "all://*.test",
        "http://*.test",
        "http://api.test",
        "http://api.test:81",
        "all://*:81",
    ]
    way = make(mounts={name: Counting(name) for name in names}, cache=False)
    expected = {
        "https://h/": "all://", "http://h/": "http://", "https://a.test/": "all://*.test",
        "http://a.test/": "http://*.test", "http://api.test/": "http://api.test",
        "http://api.test:81/": "http://api.test:81", "http://h:81/": "all://*:81",
    }  # fmt: skip
    assert {url: way.get(url).text for url in expected} == expected


def test_an_unmounted_URL_uses_the_network(make: Make, server: Server) -> None:
    mounted = Counting("mounted")
    way = make(mounts={"all://api.test": mounted, "all://*.other.test": mounted}, cache=False, headers={"X-A": "1"})
    assert way.get(URL).text == "mounted"
    report = way.request("POST", server.url("/echo"), json={"a": 1}).json()
    assert report["json"] == {"a": 1} and ["X-A", "1"] in report["headers"]
    redirected = way.get(server.url("/redirect-to", url="http://api.test/y"))
    assert redirected.text == "mounted" and len(redirected.history) == 1


def test_None_selects_the_network_in_addition_to_a_transport(make: Make, server: Server) -> None:
    other = Counting("other")
    host = server.base.partition("://")[2]
    for pattern in (f"http://{host}", "http://*.0.0.1", "all://*0.0.1", "http://*:" + host.partition(":")[2]):
        way = make(mounts={pattern: None}, transport=other, cache=False)
        assert way.get(URL).text == "other"
        answer = way.get(server.url("/gzip"))
        assert answer.status_code == 200 and answer.json()
        posted = way.request("POST", server.url("/echo"), content=b"abc").json()
        assert posted["body"] == "YWJj" and posted["method"] == "POST"
        # A path that looks like a mounted host makes no difference.
        assert way.get(server.url("/echo/x.0.0.1/")).json()["path"].endswith("/echo/x.0.0.1/")
        assert way.get("http://h/x.0.0.1/").text == "other"


@pytest.mark.parametrize("pattern", ["", "h", "ftp://h", "http://h/path", "http://a.*.b", 5, "http://u@h"])
def test_an_invalid_pattern_is_refused(pattern: Any) -> None:
    with pytest.raises((wherry.ArgumentError, TypeError), match="mount"):
        wherry.Client(mounts={pattern: None})


def test_a_mock_can_be_mounted(make: Make, mock: wherry.MockTransport) -> None:
    mock.add("GET", "http://api.test/*", json=1, times=1)
    way = make(mounts={"http://api.test": mock}, cache=False)
    assert way.get(URL).json() == 1
    with pytest.raises(wherry.NetworkError, match="No rule"):
        way.get(URL)
    way.close()
    assert [asked.url for asked in mock.requests] == [URL, URL]
    mock.add("GET", "*", delay=1)
    with pytest.raises(wherry.ArgumentError, match="delay="):
        make(mounts={"http://api.test": mock}, cache=False).get(URL)


def test_only_clients_with_a_function_leave_the_fast_path(mock: wherry.MockTransport) -> None:
    mock.add(None, "*")
    with wherry.Client() as plain, wherry.Client(transport=mock) as ruled:
        assert not plain._extras and not ruled._extras
        with wherry.Client(transport=wherry.MockTransport(echo)) as asked:
            assert asked._extras
