# Wherry: defects found by the tests of requests and httpx
# SPDX-License-Identifier: Apache-2.0
"""scripts/test-suites runs the public tests of requests and httpx. These tests cover the defects
that it found.
"""

from __future__ import annotations

import asyncio
import decimal
import http.cookiejar
import io
import json
import pickle
import uuid
from typing import Any, AsyncIterator, Iterator, List

import pytest
from conftest import Server

import wherry


def pieces() -> Iterator[bytes]:
    yield b"Hello, "
    yield b""
    yield b"w\xc3"
    yield b"\xb6rld!"


async def async_pieces() -> AsyncIterator[bytes]:
    for piece in pieces():
        yield piece


def cookie(name: str, domain: str, path: str = "/", secure: bool = False) -> http.cookiejar.Cookie:
    return http.cookiejar.Cookie(
        0, name, "1", None, False, domain, bool(domain), domain.startswith("."), path, True, secure,
        None, True, None, None, {},
    )  # fmt: skip


# The body had a random boundary, whatever the Content-Type, so that no server could parse the form.
@pytest.mark.parametrize("kind", ["multipart/form-data; boundary=+++", 'multipart/form-data; boundary="+++" ;'])
@pytest.mark.parametrize("is_of_client", [False, True])
def test_U12_a_form_has_the_boundary_of_its_content_type(kind: str, is_of_client: bool) -> None:
    fields = {"Content-Type": kind}
    with wherry.MockTransport() as transport:
        transport.add(None, "*")
        with wherry.Client(transport=transport, headers=fields if is_of_client else None) as client:
            own = None if is_of_client else fields
            client.post("http://a.test/", files={"f": io.BytesIO(b"abc")}, headers=own)
        (request,) = transport.requests
    assert request.headers["content-type"] == kind
    assert request.content.startswith(b"--+++\r\n") and request.content.endswith(b"\r\n--+++--\r\n")


def test_U12_an_invalid_boundary_is_refused(server: Server, client: wherry.Client) -> None:
    fields = {"Content-Type": 'multipart/form-data; boundary="a;b"'}
    with pytest.raises(wherry.ArgumentError) as caught:
        client.post(server.url("/echo"), files={"f": b"abc"}, headers=fields)
    assert caught.value.reason == "bad_header"


# requests and httpx raise json.JSONDecodeError, and programs catch it.
@pytest.mark.parametrize("body", [b"{", b"\xff\xfe\x00", b"[" * 100_000])
def test_R12_an_invalid_JSON_body_raises_the_error_of_json_too(body: bytes) -> None:
    with pytest.raises(json.JSONDecodeError) as caught:
        wherry.Response(200, content=body).json()
    error = caught.value
    assert isinstance(error, wherry.DecodeError) and error.reason == "bad_json_body"
    assert isinstance(error.doc, str) and error.pos >= 0
    again = pickle.loads(pickle.dumps(error))
    assert type(again) is type(error) and again.doc == error.doc and str(again) == str(error)


def test_R13_a_chunked_response_is_read_once() -> None:
    assert list(wherry.Response(200, content=pieces()).iter_bytes()) == [b"Hello, ", b"w\xc3", b"\xb6rld!"]
    assert list(wherry.Response(200, content=pieces()).iter_bytes(6)) == [b"Hello,", b" w\xc3\xb6rl", b"d!"]
    assert list(wherry.Response(200, content=pieces()).iter_text()) == ["Hello, ", "w", "örld!"]
    assert list(wherry.Response(200, content=pieces()).iter_text(8)) == ["Hello, w", "örld!"]
    assert list(wherry.Response(200, content=[b"a\r", b"\nb"]).iter_lines()) == ["a", "b"]

    response = wherry.Response(200, content=pieces())
    assert not response.is_closed and list(response.iter_bytes()) and response.is_closed
    with pytest.raises(wherry.StateError):
        response.read()

    response = wherry.Response(200, content=pieces())
    response.close()
    with pytest.raises(wherry.StateError):
        response.read()

    response = wherry.Response(200, content=pieces())
    assert response.read() == b"Hello, w\xc3\xb6rld!" and response.read() and response.is_closed
    assert list(response.iter_text(4)) == ["Hell", "o, w", "örld", "!"]


def test_R13_asyncio_reads_any_response_in_chunks() -> None:
    async def run() -> None:
        async def all_of(items: Any) -> List[Any]:
            return [item async for item in items]

        whole = wherry.Response(200, text="a\nbc")
        assert await all_of(whole.aiter_bytes(2)) == [b"a\n", b"bc"]
        assert await all_of(whole.aiter_text(3)) == ["a\nb", "c"]
        assert await all_of(whole.aiter_lines()) == ["a", "bc"]
        parted = wherry.Response(200, content=async_pieces())
        assert await all_of(parted.aiter_text()) == ["Hello, ", "w", "örld!"]
        with pytest.raises(wherry.StateError):
            await parted.aread()
        with pytest.raises(wherry.StateError):
            list(wherry.Response(200, content=async_pieces()).iter_bytes())
        closed = wherry.Response(200, content=async_pieces())
        await closed.aclose()
        with pytest.raises(wherry.StateError):
            await closed.aread()

    asyncio.run(run())


def test_R13_a_stream_reports_whether_it_is_closed(server: Server, client: wherry.Client) -> None:
    with client.stream("GET", server.url("/echo")) as response:
        assert not response.is_closed and not response.is_stream_consumed
        assert "".join(response.iter_text(5)).startswith("{")
        assert response.is_closed and response.is_stream_consumed

    async def run() -> None:
        async with wherry.AsyncClient() as other:
            async with other.stream("GET", server.url("/echo")) as response:
                assert not response.is_closed
                assert [line async for line in response.aiter_lines()]
                assert response.is_closed

    asyncio.run(run())


def test_R12_links_may_have_single_quotes() -> None:
    response = wherry.Response(200, headers={"Link": "<https://a.test>; rel='preload'"})
    assert response.links == {"preload": {"url": "https://a.test", "rel": "preload"}}


def test_a_request_can_be_assigned_to_a_response() -> None:
    response = wherry.Response(200)
    response.request = wherry.SentRequest("GET", "http://a.test/")
    assert response.request.method == "GET" and response.url == "http://a.test/"


# Authorization and cookies were printed whenever a program printed headers.
def test_SEC_headers_do_not_print_secrets() -> None:
    headers = wherry.Headers({"Authorization": "s3kr3t", "Proxy-Authorization": "s3kr3t", "Cookie": "s3kr3t"})
    assert "s3kr3t" not in repr(headers) and "'Authorization': '[secure]'" in str(headers)
    assert repr(wherry.Headers([("a", "1"), ("A", "2")])) == "Headers([('a', '1'), ('A', '2')])"
    assert headers["authorization"] == "s3kr3t"


def test_headers_are_created_from_mappings_and_pairs_of_str_or_bytes() -> None:
    assert not wherry.Headers() and not wherry.Headers(None)
    headers = wherry.Headers([(b"Vary", b"a, b"), ("vary", "c")])
    assert headers == wherry.Headers(headers) == headers.copy() == [("vary", "a, b"), ("VARY", "c")]
    assert headers == {"Vary": "a, b", "vary": "c"} and headers == {"VARY": "a, b, c"}
    assert headers != "vary" and headers != [1] and headers != {"vary": 1}
    assert headers.get_list("vary") == ["a, b", "c"]
    assert headers.get_list("vary", split_commas=True) == ["a", "b", "c"]
    assert headers.raw == [(b"Vary", b"a, b"), (b"vary", b"c")]
    assert wherry.Headers({"a": "1"}) == {"A": "1"}
    with pytest.raises(TypeError):
        wherry.Headers({"a": 1})  # type: ignore[arg-type]


def test_K_cookies_are_found_and_removed_by_domain_and_path(client: wherry.Client) -> None:
    cookies = client.cookies
    cookies.set("a", "1", domain="a.test")
    cookies.set("a", "2", domain="b.test", path="/x")
    cookies["a"] = "3"
    assert cookies.get("a", domain="a.test") == "1"
    assert cookies.get("a", domain="b.test", path="/x") == "2"
    assert cookies.get("a", "none", domain="c.test") == "none"
    cookies.delete("a", domain="a.test")
    assert cookies.get("a", domain="a.test") is None
    with pytest.raises(KeyError):
        cookies.delete("a", domain="a.test")
    cookies.clear(domain="b.test", path="/x")
    assert [each.value for each in cookies] == ["3"]
    cookies.delete("a")
    assert not cookies


# The cookies of a jar that has keys() were sent to every host, whatever their domains.
def test_K_a_jar_keeps_the_domains_of_its_cookies() -> None:
    class Jar(http.cookiejar.CookieJar):  # As the jar of requests.
        def keys(self) -> List[str]:
            return [each.name for each in self]

        def __getitem__(self, name: str) -> str:
            return next(each.value or "" for each in self if each.name == name)

    jar = Jar()
    jar.set_cookie(cookie("a", "a.test"))
    with wherry.MockTransport() as transport, wherry.Client() as first:
        transport.add(None, "*")
        first.cookies.update(jar)
        with wherry.Client(transport=transport) as client:
            client.cookies.update(first.cookies)
            for each in (None, jar, first.cookies):
                client.get("http://a.test/", cookies=each)
                client.get("http://b.test/", cookies=each)
                sent = [request.headers.get("cookie") or None for request in transport.requests[-2:]]
                assert sent == ["a=1", None]


# A jar as cookies= of a request was a TypeError about unpacking.
def test_K_a_request_sends_the_cookies_of_a_jar_that_belong_to_its_URL() -> None:
    jar = http.cookiejar.CookieJar()
    for each in (
        cookie("everywhere", ""), cookie("here", "a.test"), cookie("below", ".test"), cookie("there", "b.test"),
        cookie("wide", "www.a.test"), cookie("path", "a.test", "/x"), cookie("secure", "a.test", "/", True),
    ):  # fmt: skip
        jar.set_cookie(each)
    with wherry.MockTransport() as transport:
        transport.add(None, "*")
        with wherry.Client(transport=transport) as client:
            response = client.get("http://a.test/y", cookies=jar)
            sent = transport.requests[-1].headers["cookie"]
            assert sorted(sent.split("; ")) == ["below=1", "everywhere=1", "here=1"]
            assert response.request.headers["cookie"] == sent
            client.cookies.update(jar)
            client.get("https://a.test/x/y", cookies=client.cookies)
            assert "secure=1" in transport.requests[-1].headers["cookie"]
            assert "path=1" in transport.requests[-1].headers["cookie"]
        with wherry.Client(transport=transport, base_url="http://a.test") as client:
            with pytest.raises(wherry.ArgumentError):
                client.get("y", cookies=jar)


def test_R11_an_invalid_timeout_error_lists_the_valid_forms(client: wherry.Client) -> None:
    for bad in ((1, 2, 3), "foo"):
        with pytest.raises(TypeError, match=r"\(connect, idle\)"):
            client.get("http://127.0.0.1:1/", timeout=bad)  # type: ignore[arg-type]


# The request was sent, and then a TypeError about patterns was raised.
def test_R1_a_URL_may_be_bytes(server: Server, client: wherry.Client) -> None:
    url: Any = server.url("/echo").encode()
    response = client.get(url)
    assert response.url == url.decode() == response.request.url
    assert client.post(url, json={}).request.url == url.decode()
    with client.stream("GET", url) as stream:
        assert stream.url == url.decode()
    with pytest.raises(wherry.ArgumentError) as caught:
        client.get(url + b"&a=\xff")
    assert caught.value.reason == "bad_url"

    async def run() -> None:
        async with wherry.AsyncClient() as other:
            assert (await other.get(url)).url == url.decode()

    asyncio.run(run())


# A fragment was lost, so that a program did not know the referenced part of a page.
def test_R8_the_URL_of_a_response_keeps_its_fragment(server: Server, client: wherry.Client) -> None:
    url = server.url("/echo")
    for response in (client.get(url + "#part"), client.post(url + "#part", data={"a": "1"})):
        assert response.url == response.request.url == url + "#part"
    assert "#" not in client.get(url).url
    assert "#" not in json.dumps(client.get(url + "#part").json())
    with client.stream("GET", url + "#part") as stream:
        stream.read()
        assert stream.url == url + "#part"

    for location, final in (("/echo", "#part"), ("/echo#other", "#other")):
        server.script("to", [{"status": 302, "headers": [["Location", location]]}])
        for keywords in ({}, {"metrics": True}):
            start = server.url("/s/to") + "#part"
            response = client.get(start, **keywords)  # type: ignore[arg-type]
            assert [hop.url for hop in response.history] == [start]
            assert response.history[0].request.url == start
            assert response.url.endswith("/echo" + final) and response.request.url == response.url
        with client.stream("GET", start) as stream:
            stream.read()
            assert stream.history[0].url == start and stream.url.endswith("/echo" + final)

    async def run() -> None:
        async with wherry.AsyncClient() as other:
            assert (await other.get(url + "#part")).url == url + "#part"

    asyncio.run(run())


# The names of the dictionary were sent as the body, and its values were dropped.
def test_R6_a_dictionary_is_refused_as_content(mock: wherry.MockTransport) -> None:
    mock.add(None, "*")
    with wherry.Client(transport=mock) as client:
        with pytest.raises(TypeError, match="a form as data="):
            client.post("http://a.test/", content={"a": "b"})
        assert not mock.requests


# The repr of the value was sent: "{'b': 1}", "<object object at 0x7fa3a0da4a60>".
@pytest.mark.parametrize("value", [{"b": 1}, object(), [{"b": 1}]])
@pytest.mark.parametrize("keyword", ["params", "data", "cookies"])
def test_R6_a_value_without_text_is_refused(
    mock: wherry.MockTransport,
    keyword: str,
    value: Any,
) -> None:
    mock.add(None, "*")
    with wherry.Client(transport=mock) as client:
        if keyword != "cookies" or not isinstance(value, list):
            options: Any = {keyword: {"a": value}}
            with pytest.raises(TypeError, match="json="):
                client.post("http://a.test/", **options)
            assert not mock.requests
        client.post("http://a.test/", data={"a": uuid.UUID(int=1), "b": decimal.Decimal("1.5"), "c": 2.5})
        assert b"b=1.5&c=2.5" in mock.requests[0].content


def test_R13_a_text_without_charset_has_the_default_encoding() -> None:
    def find(body: bytes) -> str:
        return "cp1252" if b"\x80" in body else ""

    assert wherry.Response(200, content=b"\xe4", default_encoding="latin-1").text == "ä"
    assert wherry.Response(200, content=b"\x80", default_encoding=find).text == "€"
    assert wherry.Response(200, content="ä".encode(), default_encoding=find).text == "ä"
    typed = wherry.Response(
        200, headers={"Content-Type": "text/plain; charset=utf-8"}, content="ä".encode(), default_encoding="latin-1"
    )
    assert typed.text == "ä" and typed.charset_encoding == "utf-8"
    with pytest.raises(wherry.ArgumentError):
        wherry.Response(200, default_encoding="no-such-charset")
    with pytest.raises(wherry.ArgumentError):
        wherry.Client(default_encoding="no-such-charset")

    with wherry.MockTransport() as transport:
        transport.add(None, "*", content=b"\xe4")
        with wherry.Client(transport=transport, default_encoding="latin-1") as client:
            assert client.get("http://a.test/").text == "ä"
            with client.stream("GET", "http://a.test/") as stream:
                assert "".join(stream.iter_text()) == "ä"
            client.configure(default_encoding=None)
            assert client.get("http://a.test/").text == "\ufffd"

        async def run() -> None:
            async with wherry.AsyncClient(transport=transport, default_encoding="latin-1") as client:
                assert (await client.get("http://a.test/")).text == "ä"

        asyncio.run(run())


# Only close() was called, so that a transport could not prepare anything.
def test_a_client_enters_its_transports() -> None:
    class Transport(wherry.BaseTransport, wherry.AsyncBaseTransport):
        def __init__(self) -> None:
            self.events: List[str] = []

        def __enter__(self) -> wherry.BaseTransport:
            self.events.append("enter")
            return self

        def __exit__(self, *_: object) -> None:
            self.events.append("exit")

        async def __aenter__(self) -> wherry.AsyncBaseTransport:
            self.events.append("aenter")
            return self

        async def __aexit__(self, *_: object) -> None:
            self.events.append("aexit")

        def close(self) -> None:
            self.events.append("close")

    transport, mounted = Transport(), Transport()
    with wherry.Client(transport=transport, mounts={"http://a.test": mounted}):
        assert transport.events == mounted.events == ["enter"]
    assert transport.events == mounted.events == ["enter", "exit"]
    wherry.Client(transport=transport).close()
    assert transport.events == ["enter", "exit", "close"]

    async def run() -> None:
        async with wherry.AsyncClient(transport=transport):
            pass

    asyncio.run(run())
    assert transport.events[3:] == ["aenter", "aexit"]


def test_U12_the_type_of_a_part_may_be_among_its_headers(mock: wherry.MockTransport) -> None:
    mock.add(None, "*")
    with wherry.Client(transport=mock) as client:
        files = {"f": ("a.txt", b"x", "text/plain", {"content-type": "image/png", "Expires": "0"})}
        client.post("http://a.test/", files=files)
    assert mock.requests[0].content.count(b"ontent-") == 2
    assert b"Content-Type: image/png\r\nExpires: 0\r\n" in mock.requests[0].content


def test_U14_a_client_without_asyncio_refuses_asynchronous_chunks(
    server: Server,
    client: wherry.Client,
) -> None:
    with pytest.raises(wherry.StateError, match="AsyncClient"):
        client.post(server.url("/echo"), content=async_pieces())


def test_a_client_reports_whether_it_trusts_the_environment() -> None:
    with wherry.Client() as client, wherry.Client(trust_env=False) as other:
        assert client.trust_env and not other.trust_env
        with pytest.raises(AttributeError):
            client.trust_env = False  # type: ignore[misc]
