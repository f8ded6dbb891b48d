# Wherry: responses and errors have what users of requests and httpx expect
# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import asyncio
import pickle
from http import HTTPStatus
from typing import Any, Dict, List

import pytest
from conftest import Server, field

import wherry


def both(server: Server, method: str, path: str, **options: Any) -> List[wherry.Response]:
    """The responses of a blocking and an asyncio client with the same settings."""
    settings: Dict[str, Any] = {"headers": {"X-Client": "1"}, "auth": ("me", "secret")}

    async def main() -> wherry.Response:
        async with wherry.AsyncClient(**settings) as client:
            return await client.request(method, server.url(path), **options)

    with wherry.Client(**settings) as client:
        return [client.request(method, server.url(path), **options), asyncio.run(main())]


def test_a_response_knows_its_request(server: Server) -> None:
    for answer in both(server, "GET", "/echo"):
        assert (answer.request.method, answer.request.url) == ("GET", answer.url)
        assert answer.request.headers["x-client"] == "1" and answer.request.content is None
        assert answer.request.headers["Authorization"].startswith("Basic ")
    options: Dict[str, Any] = {"json": {"a": 1}, "headers": {"X-Client": "2"}, "params": {"q": "ä"}}
    for answer in both(server, "post", "/echo", **options):
        request = answer.request
        assert request.method == "POST" and request.url == answer.url and "q=%C3%A4" in request.url
        assert request.headers["X-Client"] == "2" and request.body == b'{"a":1}'
        assert request.headers["Content-Type"] == "application/json"
        assert "secret" not in repr(request) and "q=" not in repr(request)
    for data, content in (({"a": "b c"}, b"a=b%20c"), ("text", b"text"), (iter([b"1"]), None)):
        with wherry.Client() as client:
            assert client.post(server.url("/echo"), data=data).request.content == content


def test_history_has_responses_with_their_headers_and_requests(server: Server) -> None:
    for answer in both(server, "POST", "/redirect/2", data={"a": "b"}):
        first, second = answer.history
        assert first.status_code == 302 and first.is_redirect and first.headers["Location"]
        assert (first.request.method, first.request.content) == ("POST", b"a=b")
        assert (second.request.method, second.request.content) == ("GET", None)
        assert second.history == [first] and first.history == []
        assert answer.request.method == "GET" and "content-type" not in answer.request.headers
        assert not answer.is_redirect and answer.next_request is None
    for answer in both(server, "POST", "/redirect/1?status=308", data={"a": "b"}):
        assert answer.request.method == "POST" and answer.request.content == b"a=b"


def test_an_unfollowed_redirect_has_its_next_request(server: Server, client: wherry.Client) -> None:
    answer = client.post(server.url("/redirect/2"), data={"a": "b"}, auth=("me", "x"), follow_redirects=False)
    seen = []
    while answer.next_request is not None:
        assert answer.is_redirect and answer.next_request.url == answer.next.url  # type: ignore
        seen.append(answer.next_request.method)
        assert "Authorization" in answer.next_request.headers
        answer = client.send(answer.next_request, follow_redirects=False)
    assert seen == ["GET", "GET"] and answer.status_code == 200

    async def main() -> wherry.Response:
        async with wherry.AsyncClient() as other:
            first = await other.get(server.url("/redirect/1"), follow_redirects=False)
            assert first.next_request is not None
            return await other.send(first.next_request)

    assert asyncio.run(main()).status_code == 200
    other = server.url("/echo").replace("127.0.0.1", "localhost")
    answer = client.get(server.url("/redirect/1"), params={"to": other}, auth=("me", "x"), follow_redirects=False)
    assert answer.next_request is not None and "Authorization" not in answer.next_request.headers


def test_an_error_knows_its_request(server: Server, client: wherry.Client) -> None:
    calls: List[Any] = [
        lambda: client.get("http://127.0.0.1:1/a"),
        lambda: client.post("http://127.0.0.1:1/a", json=1),
        lambda: client.post("http://127.0.0.1:1/a", data=iter([b"1"])),
        lambda: asyncio.run(failed("http://127.0.0.1:1/a")),
        lambda: client.stream("GET", "http://127.0.0.1:1/a").__enter__(),
        lambda: asyncio.run(streamed("http://127.0.0.1:1/a")),
        lambda: client.upload("http://127.0.0.1:1/a", memoryview(bytes(3)).cast("B", (1, 1, 3))),
    ]
    for call in calls:
        with pytest.raises(wherry.NetworkError) as caught:
            call()
        error = caught.value
        assert error.request is not None and error.request.url == "http://127.0.0.1:1/a"
        assert error.response is None
        again = pickle.loads(pickle.dumps(error))
        assert again.request.method == error.request.method
    with pytest.raises(wherry.HTTPStatusError) as refused:
        client.get(server.url("/status/404")).raise_for_status()
    assert refused.value.request is not None and refused.value.response is not None
    assert refused.value.request.url == refused.value.response.url
    with wherry.Client(base_url="http://127.0.0.1:1/v1/") as based, pytest.raises(wherry.NetworkError) as caught:
        based.get("items", params={"a": "b"}, tag="t")
    assert caught.value.request is not None
    assert caught.value.request.url == "http://127.0.0.1:1/v1/items?a=b"
    with pytest.raises(wherry.NetworkError) as caught:
        client.get("http://127.0.0.1:1/a?x=1", params="q=%E4")
    assert caught.value.request is not None
    assert caught.value.request.url == "http://127.0.0.1:1/a?x=1&q=%E4"


async def streamed(url: str) -> None:
    async with wherry.AsyncClient() as client, client.stream("GET", url):
        pass


async def failed(url: str) -> None:
    async with wherry.AsyncClient() as client:
        await client.get(url)


def test_a_response_is_true_if_it_is_ok(server: Server, client: wherry.Client) -> None:
    assert client.get(server.url("/status/204"))
    assert not client.get(server.url("/status/404"))
    assert client.get(server.url("/status/404"), accept_status=[404])
    with pytest.raises(wherry.StateError):
        wherry.Response().request


def test_cookies_and_links_belong_to_the_response(server: Server, client: wherry.Client) -> None:
    fields = [
        ["Set-Cookie", "a=1; Path=/"], ["Set-Cookie", "b=x=y; HttpOnly"], ["Set-Cookie", "bad"],
        ["Set-Cookie", "c=gone; Max-Age=0"], ["Set-Cookie", "d=old; Expires=Thu, 01-Jan-1970 00:00:00 GMT"],
        ["Link", '<https://h/?page=2>; rel="next"; title="a \\"b\\", c", </first>; rel=first'],
        ["Link", "<https://h/nameless>"],
    ]  # fmt: skip
    server.script("made", [{"headers": fields, "body": ""}])
    answer = client.get(server.url("/s/made"))

    assert dict(answer.cookies) == {"a": "1", "b": "x=y"} and answer.cookies.get("c") is None
    assert answer.links["next"] == {"url": "https://h/?page=2", "rel": "next", "title": 'a "b", c'}
    assert answer.links["first"]["url"] == "/first"
    assert answer.links["https://h/nameless"] == {"url": "https://h/nameless"}
    plain = client.get(server.url("/status/200"))
    assert plain.links == {} and dict(plain.cookies) == {}


def test_a_response_has_a_version_and_a_reason(server: Server, client: wherry.Client) -> None:
    for answer in both(server, "GET", "/status/404"):
        assert answer.http_version == "HTTP/1.1"
        assert answer.reason_phrase == answer.reason == "Not Found"
    head = "HTTP/1.0 200 OK\r\nContent-Length: 1\r\n\r\na"
    server.script("old", [{"raw": [["send", head], ["fin"]]}] * 2)
    assert client.get(server.url("/s/old")).http_version == "HTTP/1.0"
    assert client.get(server.url("/s/old"), tag="t").http_version == "HTTP/1.0"


def test_chunk_iterators_are_named_as_in_requests(server: Server, client: wherry.Client) -> None:
    server.script("text", [{"headers": [["Content-Type", "text/plain; charset=utf-8"]], "body": "aäö€z"}] * 2)
    answer = client.get(server.url("/s/text"))
    expected = "aäö€z".encode()
    assert list(answer.iter_content(4)) == [expected[:4], expected[4:8], expected[8:]]
    assert list(answer.iter_content()) == [bytes([byte]) for byte in expected]
    assert "".join(answer.iter_content(1, decode_unicode=True)) == "aäö€z"
    with client.stream("GET", server.url("/s/text")) as stream:
        assert b"".join(stream.iter_content(4)) == expected


def test_a_response_can_be_closed(server: Server, client: wherry.Client) -> None:
    with client.get(server.url("/echo")) as answer:
        pass
    answer.close()
    assert answer.json()["method"] == "GET"
    with client.stream("GET", server.url("/bytes/1000000")) as stream:
        assert stream.request.method == "GET" and stream.http_version == "HTTP/1.1"
        stream.close()
        stream.close()
        with pytest.raises(wherry.StateError):
            stream.read()
    with client.stream("GET", server.url("/bytes/10")) as stream, stream:
        assert len(stream.read()) == 10

    async def main() -> None:
        async with wherry.AsyncClient() as other:
            async with other.stream("GET", server.url("/bytes/1000000")) as stream, stream:
                assert stream.request.method == "GET"
                await stream.aclose()
                await stream.aclose()
                with pytest.raises(wherry.StateError):
                    await stream.aread()

    asyncio.run(main())


@pytest.mark.parametrize("auth", [("me", "secret"), wherry.Bearer("t"), wherry.DigestAuth("me", "s")])
def test_auth_None_sends_no_client_credentials(server: Server, auth: Any) -> None:
    url = server.url("/echo")
    with wherry.Client(auth=auth) as client:
        assert field(client.get(url, auth=None).json(), "Authorization") == []
        own = client.get(url, auth=None, headers={"Authorization": "own"})
        assert field(own.json(), "Authorization") == ["own"]
        assert "Authorization" not in client.get(url, auth=None).request.headers
        if not isinstance(auth, wherry.DigestAuth):
            assert field(client.get(url).json(), "Authorization") != []

    async def main() -> Any:
        async with wherry.AsyncClient(auth=auth) as client:
            return (await client.get(url, auth=None)).json()

    assert field(asyncio.run(main()), "Authorization") == []


def test_the_module_has_the_names_that_requests_has(server: Server) -> None:
    assert wherry.options(server.url("/echo")).status_code == 200
    assert server.log()[-1]["method"] == "OPTIONS"
    with wherry.Session() as session:
        assert isinstance(session, wherry.Client)
    assert wherry.codes.ok == wherry.codes.OK == 200 and wherry.codes["not_found"] == 404
    assert wherry.codes.im_a_teapot == 418 and wherry.codes.too_many_requests == 429
    assert wherry.codes(503) is HTTPStatus.SERVICE_UNAVAILABLE
    assert all(wherry.codes[status.name.lower()] == status for status in HTTPStatus)
    with pytest.raises(AttributeError):
        wherry.codes.nothing
    with pytest.raises(KeyError):
        wherry.codes["nothing"]


#: The names in requests 2.32 and httpx 0.28 in addition to those of `http.HTTPStatus`.
NAMES = {
    "checkpoint": 103, "okay": 200, "\\o/": 200, "✓": 200, "non_authoritative_info": 203, "reset": 205,
    "partial": 206, "multi_stati": 207, "multiple_stati": 207, "multiple_status": 207, "\\o-": 301,
    "switch_proxy": 306, "temporary": 307, "temporary_moved": 307, "resume": 308, "resume_incomplete": 308,
    "-o-": 404, "proxy_auth": 407, "proxy_authentication": 407, "request_uri_too_large": 414, "uri_too_long": 414,
    "media_type": 415, "unsupported_media": 415, "range_not_satisfiable": 416, "requested_range": 416,
    "i_am_a_teapot": 418, "dependency": 424, "unordered_collection": 425, "upgrade": 426, "precondition": 428,
    "fields_too_large": 431, "header_fields_too_large": 431, "no_response": 444, "none": 444, "retry": 449,
    "retry_with": 449, "blocked_by_windows_parental_controls": 450, "parental_controls": 450,
    "legal_reasons": 451, "client_closed_request": 499, "/o\\": 500, "✗": 500, "http_version": 505,
    "bandwidth": 509, "bandwidth_limit_exceeded": 509, "network_auth": 511, "network_authentication": 511,
}  # fmt: skip


def test_codes_has_the_names_of_requests_and_httpx() -> None:
    found = {name: wherry.codes.get(name) for name in NAMES}
    assert found == NAMES
    assert all(wherry.codes[name.upper()] == number for name, number in NAMES.items())
    assert wherry.codes.get("nothing") is None and wherry.codes.get("nothing", 7) == 7
    assert wherry.codes.get_reason_phrase(404) == "Not Found" and wherry.codes.get_reason_phrase(599) == ""
    names = ("informational", "success", "redirect", "client_error", "server_error")
    for hundreds, name in enumerate(names, 1):
        for other in names:
            assert getattr(wherry.codes, f"is_{other}")(hundreds * 100 + 1) is (other == name)
    assert wherry.codes.is_error(400) and wherry.codes.is_error(599) and not wherry.codes.is_error(399)
    assert "get" in dir(wherry.codes) and "partial" in dir(wherry.codes)
    with pytest.raises(ValueError):
        wherry.codes(799)


def test_a_response_classifies_its_status_as_httpx_does() -> None:
    for status in (102, 204, 301, 404, 500, 799):
        made = wherry.Response(status, headers={"Location": "/"})
        told = (made.is_informational, made.is_success, made.is_client_error, made.is_server_error)
        assert told == tuple(status // 100 == hundreds for hundreds in (1, 2, 4, 5))
        assert made.is_error == (status in (404, 500))
        assert made.has_redirect_location == made.is_permanent_redirect == (status == 301)
    assert wherry.Response(799).reason_phrase == "" == wherry.Response(799).reason
    assert not wherry.Response(301).is_redirect


def test_history_and_cookies_have_the_types_of_requests(
    server: Server,
    client: wherry.Client,
) -> None:
    answer = client.get(server.url("/cookies/set?a=1"))
    assert answer.history == [] and isinstance(answer.history, list)
    assert answer.cookies.get_dict() == {"a": "1"} and list(answer.cookies.items()) == [("a", "1")]
    assert answer.cookies.get("a") == "1" and answer.cookies.get("b") is None


def test_a_response_survives_pickling(server: Server, client: wherry.Client) -> None:
    answer = client.post(server.url("/redirect/1"), json=1, progress=lambda _: None)
    again = pickle.loads(pickle.dumps(answer))
    assert again.request.method == "GET" and again.history[0].request.content == b"1"
    assert again.content == answer.content and again.url == answer.url
