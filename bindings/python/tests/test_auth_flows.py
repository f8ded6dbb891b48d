# Wherry: authentication flows written by a program
# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import asyncio
import hashlib
import pathlib
from typing import Any, AsyncGenerator, Generator, List

import pytest
from conftest import Make, Server, field

import wherry

Flow = Generator[wherry.SentRequest, wherry.Response, None]


class Token(wherry.Auth):
    """Gets a new token for each 401."""

    requires_response_body = True

    def __init__(self, server: Server) -> None:
        self._server = server
        self.token = "old"
        self.seen: List[int] = []

    def auth_flow(self, request: wherry.SentRequest) -> Flow:
        request.headers["Authorization"] = f"Bearer {self.token}"
        response = yield request
        self.seen.append(response.status_code)
        if response.status_code == 401:
            got = yield wherry.SentRequest("POST", self._server.url("/token"))
            self.token = got.json()["access_token"]
            request.headers["Authorization"] = f"Bearer {self.token}"
            yield request


def test_a_flow_sends_the_requests_it_yields_and_returns_the_last_response(
    make: Make,
    server: Server,
) -> None:
    flow = Token(server)
    way = make(auth=flow, cache=False)
    answer = way.request("POST", server.url("/protected"), json={"a": 1})
    assert answer.status_code == 200 and flow.seen == [401]
    assert [told["path"].rpartition("/")[2] for told in server.log()] == ["protected", "token", "protected"]
    assert [hop.status_code for hop in answer.history] == [401, 200]
    assert answer.request.headers["Authorization"] == f"Bearer {flow.token}"
    assert answer.request.content == b'{"a":1}'
    assert way.get(server.url("/protected")).status_code == 200 and flow.seen == [401, 200]
    # Requests without credentials, or with others, do not use it.
    assert way.get(server.url("/protected"), auth=None).status_code == 401
    assert way.get(server.url("/protected"), auth=wherry.Bearer(flow.token)).status_code == 200
    assert way.get(server.url("/protected"), auth=("a", "b")).status_code == 401
    assert len(flow.seen) == 2
    plain = make(cache=False)
    assert plain.get(server.url("/protected"), auth=Token(server)).status_code == 200


class Signing(wherry.Auth):
    requires_request_body = True

    def auth_flow(self, request: wherry.SentRequest) -> Flow:
        request.headers["X-Signature"] = hashlib.sha256(request.url.encode() + request.read()).hexdigest()
        request.headers["X-Method"] = request.method
        yield request


def test_a_flow_sees_the_request_as_it_is_sent(
    make: Make,
    server: Server,
    tmp_path: pathlib.Path,
) -> None:
    (tmp_path / "f").write_bytes(b"file")
    way = make(
        auth=Signing(), cache=False, base_url=server.base, params={"key": server.key}, headers={"X-A": "1"},
        parameters={"all": "1"})  # fmt: skip
    for options, body in (
        ({"json": {"a": 1}}, b'{"a":1}'), ({"data": {"a": "b c"}}, b"a=b%20c"), ({"content": iter([b"a", b"b"])}, b"ab"),
        ({"data": tmp_path / "f"}, b"file"), ({"content": open(tmp_path / "f", "rb")}, b"file"), ({}, b""),
    ):  # fmt: skip
        answer = way.request("POST", "echo", params={"q": "ä"}, headers=iter([("X-B", "2")]), **options)
        told = answer.json()
        assert field(told, "X-Signature") == [hashlib.sha256(answer.url.encode() + body).hexdigest()], body
        assert field(told, "X-A") == ["1"] and field(told, "X-B") == ["2"] and answer.url.count("key=") == 1
        if "content" in options:
            options["content"].close() if hasattr(options["content"], "close") else None
    told = way.get("echo", parameters={"z": 1}).json()
    assert ["z", "1"] in told["query"] and ["all", "1"] in told["query"] and field(told, "X-Method") == ["GET"]
    assert len(told["query"]) == 3
    with pytest.raises(wherry.ArgumentError, match="the flow needs the body"):
        way.request("POST", "echo", files={"f": b"x"})


def test_a_flow_may_change_the_complete_request(make: Make, server: Server) -> None:
    class Changing(wherry.Auth):
        def auth_flow(self, request: wherry.SentRequest) -> Flow:
            request.method = "PUT"
            request.url += "&signed=1"
            request.content = request.read() + b"!"
            del request.headers["X-A"]
            request.headers.add("X-B", "3")
            yield request

    way = make(auth=Changing(), cache=False, headers={"X-A": "1", "X-B": "2"})
    told = way.request("POST", server.url("/echo"), content=b"abc").json()
    assert told["method"] == "PUT" and told["body"] == "YWJjIQ==" and ["signed", "1"] in told["query"]
    assert field(told, "X-A") == [] and field(told, "X-B") == ["2", "3"]


def test_unread_bodies_are_sent_again(make: Make, server: Server, tmp_path: pathlib.Path) -> None:
    (tmp_path / "f").write_bytes(b"file")
    with open(tmp_path / "f", "rb") as file:
        way = make(auth=Token(server), cache=False)
        form = {"files": {"f": file, "g": b"x"}, "data": {"a": "b"}}
        answer = way.request("POST", server.url("/protected"), **form)
        assert answer.status_code == 200
        received = [told["received"] for told in server.log() if told["target"].startswith("/protected")]
        assert received[0] == received[1] > 0
    way = make(auth=Token(server), cache=False)
    assert way.request("POST", server.url("/protected"), data=tmp_path / "f").status_code == 200
    picture = memoryview(bytes(12)).cast("B", (2, 2, 3))
    way = make(auth=Token(server), cache=False)
    assert way.done(way.client.upload(server.url("/protected"), iter([picture]))).status_code == 200


def test_redirects_are_followed_within_each_send(make: Make, server: Server) -> None:
    seen: List[List[int]] = []

    class Watching(wherry.Auth):
        def auth_flow(self, request: wherry.SentRequest) -> Flow:
            request.headers["Authorization"] = "mine"
            response = yield request
            seen.append([hop.status_code for hop in response.history])

    way = make(auth=Watching(), cache=False)
    other = server.url("/echo").replace("127.0.0.1", "localhost")
    answer = way.get(server.url("/redirect-to", url=other))
    assert seen == [[302]] and answer.status_code == 200
    assert field(answer.json(), "Authorization") == []  # Credentials stay with their origin.
    assert field(server.log()[0], "Authorization") == ["mine"]


def test_auth_may_be_a_function_as_in_requests(make: Make, server: Server) -> None:
    def sign(request: wherry.SentRequest) -> wherry.SentRequest:
        request.headers["X-Signed"] = f"{request.method} {request.body!r}"
        return request

    way = make(auth=sign, cache=False)
    assert field(way.request("POST", server.url("/echo"), data="abc").json(), "X-Signed") == ["POST b'abc'"]
    assert way.client.auth is sign
    way.client.auth = None
    assert field(way.get(server.url("/echo")).json(), "X-Signed") == []
    assert field(way.get(server.url("/echo"), auth=sign).json(), "X-Signed") == ["GET None"]
    way.client.auth = ("me", "x")
    assert field(way.get(server.url("/echo")).json(), "Authorization") == ["Basic bWU6eA=="]
    told = way.get(server.url("/echo"), auth=sign).json()
    assert field(told, "Authorization") == [] and field(told, "X-Signed") == ["GET None"]
    for wrong in (lambda request: None, lambda request: 5):
        with pytest.raises(TypeError, match="auth= must return"):
            way.get(server.url("/echo"), auth=wrong)


def test_a_coroutine_function_requires_an_async_client(server: Server) -> None:
    async def sign(request: wherry.SentRequest) -> wherry.SentRequest:
        await asyncio.sleep(0)
        request.headers["X-Signed"] = "1"
        return request

    class Slow(wherry.Auth):
        async def async_auth_flow(
            self, request: wherry.SentRequest
        ) -> AsyncGenerator[wherry.SentRequest, wherry.Response]:
            await asyncio.sleep(0)
            request.headers["X-Signed"] = "2"
            response = yield request
            assert response.status_code == 200

    async def main() -> List[Any]:
        async with wherry.AsyncClient() as client:
            return [(await client.get(server.url("/echo"), auth=auth)).json() for auth in (sign, Slow())]

    assert [field(told, "X-Signed") for told in asyncio.run(main())] == [["1"], ["2"]]
    with wherry.Client() as client, pytest.raises(TypeError, match="needs an AsyncClient"):
        client.get(server.url("/echo"), auth=sign)


def test_an_exception_in_a_flow_reaches_the_caller(make: Make, server: Server) -> None:
    closed: List[int] = []

    class Raising(wherry.Auth):
        def auth_flow(self, request: wherry.SentRequest) -> Flow:
            try:
                yield request
                raise KeyError("mine")
            finally:
                closed.append(1)

    way = make(auth=Raising(), cache=False)
    with pytest.raises(KeyError, match="mine"):
        way.get(server.url("/echo"))
    with pytest.raises(wherry.NetworkError) as caught:
        way.get("http://127.0.0.1:1/a")
    assert closed == [1, 1] and caught.value.request is not None
    assert caught.value.request.url == "http://127.0.0.1:1/a"

    class Wrong(wherry.Auth):
        def auth_flow(self, request: wherry.SentRequest) -> Flow:
            yield 5  # type: ignore[misc]

    with pytest.raises(TypeError, match="must yield the request"):
        way.get(server.url("/echo"), auth=Wrong())


def test_a_flow_authenticates_a_stream(server: Server) -> None:
    flow = Token(server)
    with wherry.Client(auth=flow) as client:
        with client.stream("GET", server.url("/protected")) as stream:
            assert stream.status_code == 200 and [hop.status_code for hop in stream.history] == [401, 200]
            stream.read()

    class Reading(wherry.Auth):
        requires_response_body = True
        bodies: List[bytes] = []

        def auth_flow(self, request: wherry.SentRequest) -> Flow:
            response = yield request
            self.bodies.append(response.content)

    async def main() -> None:
        async with wherry.AsyncClient(auth=Token(server)) as client:
            async with client.stream("GET", server.url("/protected")) as stream:
                assert stream.status_code == 200
                await stream.aread()
            async with client.stream("GET", server.url("/json"), auth=Reading()) as stream:
                assert [stream.content] == Reading.bodies

    asyncio.run(main())


def test_downloads_and_groups_send_the_first_step_of_a_flow(
    make: Make,
    server: Server,
    tmp_path: pathlib.Path,
) -> None:
    flow = Token(server)
    way = make(auth=flow, cache=False, params={"key": server.key})
    way.done(way.client.download(server.base + "/bytes/10", tmp_path / "a"))
    group = way.client.group()
    group.get(server.base + "/echo")
    way.done(group.run())
    told = server.log()
    assert [field(one, "Authorization") for one in told] == [["Bearer old"]] * 2
    assert all(one["target"].count("key=") == 1 for one in told)
    with pytest.raises(TypeError, match="auth flow"):
        way.client.pages(server.url("/json"))


def test_hooks_get_the_last_response_of_a_flow(make: Make, server: Server) -> None:
    seen: List[int] = []
    way = make(auth=Token(server), cache=False, event_hooks={"response": lambda r: seen.append(r.status_code)})
    way.get(server.url("/protected"))
    assert seen == [200]


def test_a_flow_works_with_a_function_as_the_transport(make: Make) -> None:
    def handle(request: wherry.SentRequest) -> wherry.Response:
        return wherry.Response(200 if "X-Signature" in request.headers else 401)

    way = make(transport=wherry.MockTransport(handle), auth=Signing(), cache=False)
    assert way.get("http://api.test/").status_code == 200
    assert way.get("http://api.test/", auth=None).status_code == 401


def test_Basic_has_the_name_of_httpx_too() -> None:
    assert wherry.BasicAuth is wherry.Basic


def test_an_invalid_auth_value_is_refused(server: Server) -> None:
    for wrong in (5, "text", ("a", "b", "c")):
        auth: Any = wrong
        with wherry.Client() as client, pytest.raises(TypeError, match="auth="):
            client.get(server.url("/echo"), auth=auth)
        with pytest.raises(TypeError, match="auth="):
            wherry.Client(auth=auth)


def test_a_request_is_built_edited_and_sent_as_in_httpx(server: Server) -> None:
    with wherry.Client(params={"key": server.key}, headers={"X-A": "1"}, auth=("me", "x")) as client:
        request = client.build_request("post", server.base + "/echo", json={"a": 1}, params={"q": "2"})
        assert (request.method, request.content) == ("POST", b'{"a":1}') and "q=2" in request.url
        request.headers["X-B"] = "2"
        told = client.send(request).json()
        assert told["json"] == {"a": 1} and len(told["query"]) == 2
        names = ("X-A", "X-B", "Authorization", "Content-Type")
        assert [len(field(told, name)) for name in names] == [1, 1, 1, 1]
        streamed = client.build_request("POST", server.base + "/echo", content=iter([b"a"]))
        with pytest.raises(wherry.StateError, match="Pass the body again"):
            client.send(streamed)
        assert client.send(streamed, content=b"b").json()["body"] == "Yg=="


def test_a_built_request_keeps_its_other_keywords(server: Server, client: wherry.Client) -> None:
    gate = server.gate()
    request = client.build_request("GET", server.url("/bytes/10", gate=gate), timeout=wherry.Timeout(total=0.05))
    with pytest.raises(wherry.TimeoutError) as caught:
        client.send(request)
    assert caught.value.reason == "total_timeout"
    server.open_gate(gate)
    assert client.send(request, timeout=60).content  # The keyword of send() takes precedence.

    seen: List[wherry.Response] = []
    request = client.build_request(
        "GET", server.url("/redirect", to="/echo"), follow_redirects=False, hooks={"response": seen.append}
    )
    assert client.send(request).status_code == 302
    assert [response.status_code for response in seen] == [302]
