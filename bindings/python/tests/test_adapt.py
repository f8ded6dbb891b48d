# Wherry: row R31 of features.md, from Python: requests edited or refused before they are sent
# SPDX-License-Identifier: Apache-2.0

from __future__ import annotations

import asyncio
import base64
import hashlib
import hmac
import json
from typing import Any, List, Tuple

import pytest
from conftest import Make, Server, field
from test_uploads import png

import wherry

KEY = b"key of the signer"


def signature(*parts: Any) -> str:
    return hmac.new(KEY, repr(parts).encode(), hashlib.sha256).hexdigest()


def test_R31_a_function_edits_a_request_before_it_is_sent(
    make: Make,
    mock: wherry.MockTransport,
) -> None:
    mock.add(None, "*", content=b"ok")
    way = make(transport=mock, cache=False)
    seen: List[Tuple[Any, ...]] = []

    def edit(request: wherry.Request) -> None:
        seen.append((request.method, request.url, request.params, request.context))
        request.url = "http://h/moved?own=1"
        request.add_params({"page": 2, "tag": ["a", "b"]})
        request.add_params("more=x%20y")
        request.headers["X-Signature"] = "abc"
        del request.headers["x-mine"]
        request.content = "edited"

    answer = way.request(
        "POST", "http://h/here", params={"first": 1}, headers={"X-Mine": "1"}, content=b"as given",
        context="mine", adapt=edit,
    )  # fmt: skip
    assert answer.content == b"ok"
    assert seen == [("POST", "http://h/here?first=1", [("first", "1")], "mine")]
    (sent,) = mock.requests
    # A new URL is complete: only later additions extend its query.
    assert sent.url == "http://h/moved?own=1&page=2&tag=a&tag=b&more=x%20y"
    assert sent.headers["X-Signature"] == "abc" and "X-Mine" not in sent.headers
    assert sent.content == b"edited"


def test_R31_a_request_omits_a_header_that_only_the_client_has(make: Make, mock: wherry.MockTransport) -> None:
    mock.add(None, "*")
    way = make(transport=mock, cache=False, headers={"X-Client": "1", "X-Both": "client"})
    seen: List[Any] = []

    def edit(request: wherry.Request) -> None:
        headers = request.headers
        seen.append(dict(headers))
        for name in ("x-client", "X-BOTH", "X-Nobody"):
            del headers[name]
        seen.append((dict(headers), dict(request.headers), repr(headers)))

    way.get("http://h/", headers={"X-Both": "own", "X-Own": "1"}, adapt=edit)
    own = {"X-Own": "1"}
    assert seen == [
        {"X-Both": "own", "X-Client": "1", **own}, (own, own, "RequestHeaders(['x-own'])"),
    ]  # fmt: skip
    (sent,) = mock.requests
    assert sent.headers["X-Own"] == "1"
    assert not {"X-Client", "X-Both", "X-Nobody"} & set(sent.headers)
    # The next request has the headers.
    way.get("http://h/")
    assert mock.requests[1].headers["X-Client"] == "1"


def test_R31_a_function_reads_and_changes_parameters_and_bodies(make: Make, mock: wherry.MockTransport) -> None:
    mock.add(None, "*")
    way = make(transport=mock, cache=False)
    seen: List[Any] = []

    def change(request: wherry.Request) -> None:
        seen.append((dict(request.parameters), request.content))
        if request.parameters:
            request.set_parameter("b", None)
            request.set_parameter("c", {"d": [True, None]})
        else:
            request.set_json({"as": ["json", 1.5]})

    given = {"a": 1, "b": ["x"]}
    way.request("POST", "http://h/", parameters=given, adapt=change)
    way.request("GET", "http://h/", parameters={"a": "é", "b": 1}, adapt=change, member_style="dots")
    way.request("POST", "http://h/", json=[1, None], adapt=change)
    way.request("POST", "http://h/", data={"form": "1"}, adapt=change)
    assert seen == [
        (given, b'{"a":1,"b":["x"]}'), ({"a": "é", "b": 1}, None), ({}, b"[1,null]"),
        ({}, b"form=1"),
    ]  # fmt: skip
    assert [one.content for one in mock.requests] == [
        b'{"a":1,"c":{"d":[true,null]}}', b"", b'{"as":["json",1.5]}', b'{"as":["json",1.5]}',
    ]  # fmt: skip
    assert mock.requests[1].url.startswith("http://h/?a=%C3%A9&c.d")
    assert all(one.headers["Content-Type"] == "application/json" for one in mock.requests[2:])


@pytest.mark.parametrize("kind", ["sync", "async", "coroutine"])
def test_R31_a_signer_signs_each_request_that_follows_a_redirect(server: Server, kind: str) -> None:
    shown: List[Tuple[str, str]] = []

    def sign(request: wherry.Request) -> wherry.Request:
        shown.append((request.method, request.url))
        parts = request.method, request.params, dict(request.parameters), request.content
        request.headers["X-Signature"] = signature(*parts)
        return request

    async def later(request: wherry.Request) -> wherry.Request:
        await asyncio.sleep(0)
        return sign(request)

    target = server.url("/echo")
    url = server.url("/status/302?location=" + target)
    options: Any = {"params": {"page": "3"}, "json": {"n": 1}}

    def blocking() -> wherry.Response:
        with wherry.Client(adapt=sign) as client:
            assert client.post(target, **options).json()["json"] == {"n": 1}
            return client.post(url, **options)

    async def waiting() -> wherry.Response:
        async with wherry.AsyncClient(adapt=later if kind == "coroutine" else sign) as client:
            assert (await client.post(target, **options)).json()["json"] == {"n": 1}
            return await client.post(url, **options)

    answer = blocking() if kind == "sync" else asyncio.run(waiting())
    first, second, last = server.log()
    assert shown == [("POST", target + "&page=3"), ("POST", url + "&page=3"), ("GET", target)]
    signed = signature("POST", [("page", "3")], {}, b'{"n":1}')
    assert field(first, "X-Signature") == field(second, "X-Signature") == [signed]
    assert field(last, "X-Signature") == [signature("GET", [], {}, None)]
    assert answer.json()["method"] == "GET"


SIGNED = ("X-Client", "X-Both", "Content-Type")


def test_R31_a_signer_sees_the_final_request(server: Server) -> None:
    # The URL was relative, and headers and parameters of the client were missing.
    def sign(request: wherry.Request) -> None:
        assert "Authorization" not in request.headers
        headers = [request.headers.get(name) for name in SIGNED]
        request.headers["X-Signature"] = signature(request.method, request.url, headers, request.content or b"")
        del request.headers["X-Dropped"]

    with wherry.Client(
        base_url=server.base, parameters={"token": "t", "page": 1}, auth=wherry.Bearer("secret"),
        headers={"X-Client": "c", "X-Both": "client", "X-Dropped": "1"}, adapt=sign,
    ) as client:  # fmt: skip
        path = f"/echo?key={server.key}"
        answers = [
            client.get(path, params={"a b": "c"}, parameters={"page": 2}, headers={"X-Both": "own"}),
            client.post(path, parameters={"list": [1, 2]}),
            client.post(path, data={"field": "ä b"}, parameters={"list": [True]}, array_style="repeat"),
            client.put(path, json=[1], parameters={"page": 2}),
            client.put(path, data=b"raw", headers={"Content-Type": "text/plain"}),
        ]
        # A new request has the client's header again.
        assert field(client.get(path, adapt=None).json(), "X-Dropped") == ["1"]
    for answer in answers:
        echo = answer.json()
        headers = [next(iter(field(echo, name)), None) for name in SIGNED]
        body = base64.b64decode(echo["body"])
        # The server computes the signature again from what it received.
        expected = signature(echo["method"], server.base + echo["target"], headers, body)
        assert field(echo, "X-Signature") == [expected]
        assert field(echo, "Authorization") == ["Bearer secret"] and not field(echo, "X-Dropped")
        assert (echo["target"].encode() + body).count(b"token") == 1


def test_R31_a_signature_in_the_URL_is_not_added_twice(make: Make, mock: wherry.MockTransport) -> None:
    # A second attempt began with the URL that the first one had signed.
    mock.add(None, "*", times=2, status=503, headers={"Retry-After": "0"})
    mock.add(None, "*")
    count = iter(range(1, 9))

    def sign(request: wherry.Request) -> None:
        request.url += f"&signature={next(count)}"

    way = make(transport=mock, cache=False, adapt=sign, parameters={"a": 1})
    assert way.get("http://h/", max_retries=2).status_code == 200
    assert [one.url for one in mock.requests] == [f"http://h/?a=1&signature={number}" for number in (1, 2, 3)]


def test_R31_an_exception_or_an_invalid_result_refuses_the_request(make: Make, mock: wherry.MockTransport) -> None:
    mock.add(None, "*")
    way = make(transport=mock, cache=False)

    def fails(request: wherry.Request) -> None:
        raise KeyError("no key for this one")

    with pytest.raises(KeyError, match="no key for this one"):
        way.get("http://h/", adapt=fails)
    with pytest.raises(TypeError, match="adapt="):
        way.get("http://h/", adapt=lambda request: False)
    with pytest.raises(TypeError, match="adapt="):
        way.get("http://h/", adapt="function")
    for wrong in ("X\r\nY", "X\0"):

        def breaks(request: wherry.Request, value: str = wrong) -> None:
            request.headers["X-Signature"] = value

        with pytest.raises(wherry.ArgumentError) as caught:
            way.get("http://h/", adapt=breaks)
        assert caught.value.reason == "bad_header"

    def elsewhere(request: wherry.Request) -> None:
        request.url = "ftp://h/"

    with pytest.raises(wherry.ArgumentError):
        way.get("http://h/", adapt=elsewhere)
    assert mock.requests == []


def test_R31_the_function_sees_every_attempt_and_a_request_may_disable_the_client_function(
    make: Make, mock: wherry.MockTransport
) -> None:
    mock.add(None, "*", times=1, status=503, headers={"Retry-After": "0"})
    mock.add(None, "*")
    kept: List[wherry.Request] = []

    def count(request: wherry.Request) -> None:
        kept.append(request)
        request.headers["X-Attempt"] = str(len(kept))

    way = make(transport=mock, cache=False, adapt=count)
    assert way.get("http://h/", max_retries=1).status_code == 200
    assert way.get("http://h/", adapt=None).status_code == 200
    way.client.configure(adapt=None)
    assert way.get("http://h/").status_code == 200
    told = [one.headers.get("X-Attempt") for one in mock.requests]
    assert told == ["1", "2", None, None]
    with pytest.raises(TypeError, match="adapt="):
        way.client.configure(adapt=7)
    # A request that has been sent no longer changes.
    for act in (lambda: kept[0].url, lambda: kept[0].headers, lambda: kept[0].set_json(1)):
        with pytest.raises(wherry.StateError):
            act()
    assert "sent" in repr(kept[0])


@pytest.mark.parametrize("way", ["request", "stream", "pages", "endpoint", "upload", "group"])
@pytest.mark.parametrize("kind", ["sync", "async", "coroutine"])
def test_R31_the_function_sees_requests_of_every_kind(mock: wherry.MockTransport, way: str, kind: str) -> None:
    mock.add(None, "http://h/*", json=[1])

    def plain(request: wherry.Request) -> None:
        request.headers["X-Seen"] = request.method

    async def later(request: wherry.Request) -> None:
        await asyncio.sleep(0)
        plain(request)

    def blocking() -> Any:
        with wherry.Client(transport=mock, adapt=plain) as client:
            if way == "request":
                return client.get("http://h/a").json()
            if way == "upload":
                return client.upload("http://h/a", png(8, 8)).json()
            if way == "stream":
                with client.stream("GET", "http://h/a") as stream:
                    return json.loads(stream.read())
            if way == "pages":
                with client.pages("http://h/a") as pages:
                    pages.load_next()
                    return pages.items
            if way == "group":
                group = client.group()
                group.get("http://h/a")
                return group.run()[0].json()
            with wherry.Endpoint(client, "http://h", "a", "GET") as endpoint:
                return endpoint.access().json()

    async def waiting() -> Any:
        function = later if kind == "coroutine" else plain
        async with wherry.AsyncClient(transport=mock, adapt=function) as client:
            if way == "request":
                return (await client.get("http://h/a")).json()
            if way == "upload":
                return (await client.upload("http://h/a", png(8, 8))).json()
            if way == "stream":
                async with client.stream("GET", "http://h/a") as stream:
                    return json.loads(await stream.aread())
            if way == "pages":
                async with client.pages("http://h/a") as pages:
                    await pages.load_next()
                    return pages.items
            if way == "group":
                group = client.group()
                group.get("http://h/a")
                return (await group.run())[0].json()
            async with wherry.AsyncEndpoint(client, "http://h", "a", "GET") as endpoint:
                return (await endpoint.access()).json()

    assert (blocking() if kind == "sync" else asyncio.run(waiting())) == [1]
    (sent,) = mock.requests
    assert sent.headers["X-Seen"] == ("POST" if way == "upload" else "GET")


def test_R31_the_function_sees_the_request_of_each_image(
    make: Make,
    mock: wherry.MockTransport,
) -> None:
    mock.add(None, "*")
    way = make(transport=mock, cache=False)

    def mark(request: wherry.Request) -> None:
        assert request.content is None
        request.headers["X-Seen"] = "1"

    pictures = [("a.png", png(8, 8)), ("b.png", png(8, 8))]
    answer = way.done(way.client.upload("http://h/", pictures, separate=1, adapt=mark))
    assert answer.status_code == 200
    assert [one.headers.get("X-Seen") for one in mock.requests] == ["1", "1"]


def test_R31_coroutine_functions_and_downloads_get_an_error_for_unsupported_edits(
    mock: wherry.MockTransport,
) -> None:
    mock.add(None, "*")

    async def edit(request: wherry.Request) -> None:
        raise AssertionError("it is never awaited")

    with wherry.Client(transport=mock) as client:
        with pytest.raises(TypeError, match="AsyncClient"):
            client.get("http://h/", adapt=edit)
        options: Any = {"adapt": edit}
        with pytest.raises(TypeError, match="adapt"):
            client.download("http://h/", "/nowhere", **options)
    assert mock.requests == []


def test_R31_an_edit_that_arrives_too_late_is_not_sent(mock: wherry.MockTransport) -> None:
    mock.add(None, "*")
    mock.advance(0)

    def slow(request: wherry.Request) -> None:
        request.headers["X-Late"] = "1"
        mock.advance(31)

    with wherry.Client(transport=mock, adapt=slow) as client:
        assert client.get("http://h/").status_code == 200
        assert client.get("http://h/", hook_timeout=32).status_code == 200
    assert ["X-Late" in one.headers for one in mock.requests] == [False, True]


def test_R31_the_function_receives_a_request_and_cannot_construct_one() -> None:
    make: Any = wherry.Request
    for arguments in ((), (1, None)):
        with pytest.raises(TypeError, match="only for adapt= and on_redirect=. Use client.request"):
            make(*arguments)
    public = {name for name in dir(wherry.Request) if not name.startswith("_")}
    assert public == {
        "add_params", "content", "context", "headers", "method", "parameters", "params", "set_json",
        "set_parameter", "url",
    }  # fmt: skip
