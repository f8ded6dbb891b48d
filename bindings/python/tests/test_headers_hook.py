# Wherry: rows R21 and R19 of features.md, from Python: functions for response headers and redirects
# SPDX-License-Identifier: Apache-2.0

from __future__ import annotations

import asyncio
import os
from pathlib import Path
from typing import Any, List, Optional

import pytest
from conftest import PATIENT, Server, field

import wherry


@pytest.fixture
def client() -> Any:
    with wherry.Client(trust_env=False, **PATIENT) as client:
        yield client


def test_R21_a_headers_function_turns_a_request_into_a_file(client: Any, server: Server, tmp_path: Path) -> None:
    asked: List[Any] = []

    def save(head: wherry.Response) -> Path:
        asked.append((head.status_code, head.headers["Content-Length"], head.content))
        return tmp_path / "file.bin"

    answer = client.get(server.url("/bytes/1000003?seed=7"), on_headers=save)
    assert answer.status_code == 200 and answer.content == b""
    assert answer.saved_path == str(tmp_path / "file.bin")
    assert asked == [(200, "1000003", b"")]
    whole = client.get(server.url("/bytes/1000003?seed=7")).content
    assert (tmp_path / "file.bin").read_bytes() == whole
    assert [one.name for one in tmp_path.iterdir()] == ["file.bin"]


def test_R25_the_functions_of_a_request_are_called_in_the_order_of_its_steps(client: Any, server: Server) -> None:
    steps: List[str] = []
    answer = client.get(
        server.url("/redirect/1"),
        adapt=lambda request: steps.append("adapt"),
        on_redirect=lambda redirect, request: steps.append("redirect"),
        on_headers=lambda head: steps.append("head"),
    )
    assert answer.status_code == 200
    assert steps == ["adapt", "redirect", "adapt", "head"]


def test_R21_the_client_function_continues_or_ends_the_response(server: Server) -> None:
    def judge(head: wherry.Response) -> Optional[bool]:
        return None if head.headers["Content-Type"].startswith("application/json") else False

    with wherry.Client(trust_env=False, **PATIENT, on_headers=judge) as client:
        assert client.get(server.url("/json?value=1")).json() == 1
        with pytest.raises(wherry.CancelledError) as ended:
            client.get(server.url("/bytes/1000"))
        assert ended.value.reason == "refused"
        assert server.url("/bytes/1000").split("?")[0] in str(ended.value)
        assert ended.value.response is not None and ended.value.response.status_code == 200
        assert len(client.get(server.url("/bytes/1000"), on_headers=None).content) == 1000


def test_R21_an_existing_file_is_kept_replaced_or_joined_by_a_second_one(
    client: Any, server: Server, tmp_path: Path
) -> None:
    target = tmp_path / "a.bin"
    target.write_bytes(b"old")
    url = server.url("/bytes/10")
    with pytest.raises(wherry.FileError) as there:
        client.get(url, on_headers=lambda head: target)
    assert there.value.reason == "exists" and target.read_bytes() == b"old"
    beside = client.get(url, on_headers=lambda head: str(target), rename=True)
    assert beside.saved_path == str(tmp_path / "a (1).bin") and target.read_bytes() == b"old"
    client.get(url, on_headers=lambda head: target, overwrite=True)
    with pytest.raises(wherry.ArgumentError, match="overwrite= and rename= cannot be combined"):
        client.get(url, on_headers=lambda head: target, overwrite=True, rename=True)
    assert len(target.read_bytes()) == 10
    deep = tmp_path / "not" / "yet" / "there"
    client.get(url, on_headers=lambda head: deep, make_directories=True)
    assert len(deep.read_bytes()) == 10


def test_R21_a_path_may_be_any_bytes(client: Any, server: Server, tmp_path: Path) -> None:
    target = os.fsencode(tmp_path) + b"/\xff"
    answer = client.get(server.url("/bytes/10"), on_headers=lambda head: target)
    assert os.fsencode(answer.saved_path) == target and os.listdir(os.fsencode(tmp_path)) == [b"\xff"]


def test_R21_a_streamed_response_becomes_a_file(
    client: Any,
    server: Server,
    tmp_path: Path,
) -> None:
    url = server.url("/bytes/300000")
    with client.stream("GET", url, on_headers=lambda head: tmp_path / "a") as answer:
        assert answer.status_code == 200
        assert b"".join(answer.iter_bytes()) == b""
        assert answer.saved_path == str(tmp_path / "a")
    assert (tmp_path / "a").stat().st_size == 300000
    with client.stream("GET", url, on_headers=lambda head: True) as answer:
        assert len(b"".join(answer.iter_bytes())) == 300000


@pytest.mark.parametrize("answer", [5, b"a\0b", "a\0b"])
def test_R21_an_invalid_decision_ends_the_request(client: Any, server: Server, answer: Any) -> None:
    with pytest.raises((TypeError, wherry.WherryError)):
        client.get(server.url("/bytes/10"), on_headers=lambda head: answer)


def test_R21_an_exception_in_the_function_ends_the_request_and_is_raised(client: Any, server: Server) -> None:
    def fail(head: wherry.Response) -> None:
        raise KeyError("mine")

    with pytest.raises(KeyError, match="mine"):
        client.get(server.url("/bytes/10"), on_headers=fail)


def test_R21_a_coroutine_function_decides_while_other_requests_continue(server: Server, tmp_path: Path) -> None:
    async def main() -> None:
        async with wherry.AsyncClient(trust_env=False, **PATIENT) as client:

            async def save(head: wherry.Response) -> Path:
                # Another request of the same client, while the body of the first waits.
                name = (await client.get(server.url("/text/name"))).status_code
                return tmp_path / str(name)

            answer = await client.get(server.url("/bytes/200000"), on_headers=save)
            assert answer.saved_path == str(tmp_path / "200")
            ended = await asyncio.gather(
                client.get(server.url("/bytes/10"), on_headers=lambda head: False),
                return_exceptions=True,
            )
            assert isinstance(ended[0], wherry.CancelledError)

    asyncio.run(main())
    assert (tmp_path / "200").stat().st_size == 200000


def test_R21_R19_downloads_do_not_call_the_functions(
    client: Any,
    server: Server,
    tmp_path: Path,
) -> None:
    for name in ("on_headers", "on_redirect"):
        options: Any = {name: lambda *_: None}
        with pytest.raises(TypeError, match=name):
            client.download(server.url("/bytes/10"), tmp_path / "a", **options)


def test_R19_the_function_follows_a_redirect_or_returns_it(client: Any, server: Server) -> None:
    asked: List[Any] = []

    def judge(answer: wherry.Response, request: wherry.Request) -> bool:
        asked.append((answer.status_code, request.method, request.url.split("?")[0].split("/")[-1]))
        return len(asked) == 1

    answer = client.get(server.url("/redirect/2"), on_redirect=judge)
    assert answer.status_code == 302 and len(answer.history) == 1
    assert asked == [(302, "GET", "1"), (302, "GET", "echo")]
    assert client.get(server.url("/redirect/2"), on_redirect=lambda *_: None).status_code == 200
    answers: List[Any] = ["no answer", 5, wherry.Response()]
    for answer in answers:
        with pytest.raises(TypeError, match="on_redirect="):
            client.get(server.url("/redirect/1"), on_redirect=lambda *_, answer=answer: answer)


def test_R19_the_function_rewrites_a_redirect(server: Server) -> None:
    kept: List[wherry.Request] = []

    def rewrite(answer: wherry.Response, request: wherry.Request) -> wherry.Request:
        kept.append(request)
        request.url = server.url("/echo/b")
        request.method = "put"
        request.headers["X-Why"] = "moved"
        del request.headers["X-Old"]
        request.set_json([answer.status_code])
        return request

    with wherry.Client(trust_env=False, on_redirect=rewrite, **PATIENT) as client:
        url = server.url("/redirect/1?status=307")
        told = client.post(url, json=1, headers={"X-Old": "1"}).json()
    assert told["path"].endswith("/echo/b") and told["method"] == "PUT" and told["json"] == [307]
    assert field(told, "X-Why") == ["moved"] and field(told, "X-Old") == []
    with pytest.raises(wherry.StateError):
        kept[0].url = "/late"


def test_R19_a_rewritten_redirect_obeys_the_rules(client: Any, server: Server) -> None:
    away = server.url("/echo").replace("127.0.0.1", "localhost")

    def leading(url: str, why: Optional[str] = None) -> Any:
        def rewrite(answer: wherry.Response, request: wherry.Request) -> None:
            request.url = url
            if why is not None:
                request.headers["X-Why"] = why

        return rewrite

    auth = {"Authorization": "Bearer t", "X-Secret": "s"}
    told = client.get(server.url("/redirect/1"), headers=auth, on_redirect=leading(away, "a")).json()
    assert field(told, "Authorization") == [] and field(told, "X-Secret") == []
    assert field(told, "X-Why") == ["a"]
    for url, reason in ((away, "redirect_refused"), ("ftp://h.invalid/", "bad_url")):
        with pytest.raises(wherry.WherryError) as refused:
            client.post(server.url("/redirect/1?status=307"), json=1, on_redirect=leading(url))
        assert refused.value.reason == reason


def test_R19_a_coroutine_function_rewrites_a_redirect(server: Server) -> None:
    async def main() -> None:
        async with wherry.AsyncClient(trust_env=False, **PATIENT) as client:

            async def elsewhere(answer: wherry.Response, request: wherry.Request) -> None:
                found = (await client.get(server.url("/echo"))).url
                request.url = found.replace("/echo", "/echo/there")

            answer = await client.get(server.url("/redirect/1"), on_redirect=elsewhere)
            assert answer.json()["path"].endswith("/echo/there")

    asyncio.run(main())
