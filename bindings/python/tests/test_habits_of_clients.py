# Wherry: habits of requests and httpx users that clients support
# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import asyncio
import io
from typing import Any, List

import pytest
from conftest import Server, field

import wherry


def test_R20_auth_of_a_request_replaces_its_header(client: wherry.Client, server: Server) -> None:
    for options in (
        {"auth": ("u", "p"), "headers": {"Authorization": "mine"}},
        {"headers": {"Authorization": "mine"}, "auth": ("u", "p")},
    ):  # fmt: skip
        echo = client.get(server.url("/echo"), **options).json()  # type: ignore[arg-type]
        assert field(echo, "authorization") == ["Basic dTpw"]


def test_a_sent_request_takes_headers_as_a_mapping(client: wherry.Client, server: Server) -> None:
    request = wherry.SentRequest("GET", server.url("/echo"), headers={"ab": "value", "X-Abc": "v"})
    echo = client.send(request).json()
    assert field(echo, "ab") == ["value"] and field(echo, "x-abc") == ["v"]
    assert wherry.SentRequest("GET", "http://h/", None).headers.multi_items() == []


def test_an_overridden_request_handles_every_method(server: Server) -> None:
    called: List[Any] = []

    class Named(wherry.Session):
        def request(self, method: Any, url: str, **options: Any) -> wherry.Response:
            called.append(method)
            return super().request(method, url, **options)

        def put(self, url: str, **options: Any) -> wherry.Response:
            called.append("own")
            return super().put(url, **options)

    with Named() as session:
        assert ["a", "1"] in session.get(server.url("/echo"), params={"a": "1"}).json()["query"]
        session.post(server.url("/echo"), json={})
        session.put(server.url("/echo"))
    assert called == ["GET", "POST", "own"]


def test_a_value_in_place_of_a_method_is_refused(client: wherry.Client, server: Server) -> None:
    with pytest.raises(AttributeError, match="client.stream\\(method, url\\)"):
        client.stream = True  # type: ignore[method-assign,assignment]
    answers: List[str] = []
    client.get = answers.append  # type: ignore[method-assign,assignment]
    client.get("as a test replaces it")
    assert answers == ["as a test replaces it"]


def test_a_hook_is_assigned_as_one_function(client: wherry.Client, server: Server) -> None:
    seen: List[int] = []
    client.hooks["response"] = lambda response: seen.append(response.status_code)  # type: ignore[assignment]
    client.get(server.url("/echo"))
    assert seen == [200]


class AsyncFile:
    """A file as aiofiles and anyio open it."""

    def __init__(self, data: bytes) -> None:
        self._file = io.BytesIO(data)

    async def read(self, count: int = -1) -> bytes:
        return self._file.read(count)

    def __aiter__(self) -> AsyncFile:
        return self

    async def __anext__(self) -> bytes:
        line = self._file.readline()
        if not line:
            raise StopAsyncIteration
        return line


def test_U13_an_asynchronous_file_is_a_body(server: Server) -> None:
    data = b"line\n" * 100_000

    async def main() -> None:
        async with wherry.AsyncClient() as client:
            for body in (AsyncFile(data), wherry.Sized(AsyncFile(data), len(data))):
                response = await client.post(server.url("/sink"), content=body)
                assert response.json()["bytes"] == len(data)

    asyncio.run(main())


def test_U12_files_of_none_are_left_out(client: wherry.Client, server: Server) -> None:
    echo = client.post(server.url("/echo"), files={"a": None, "b": ("b.txt", b"1")}).json()
    assert [part["name"] for part in echo["parts"]] == ["b"]
