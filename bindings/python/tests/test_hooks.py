# Wherry: functions called with each request and response
# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import asyncio
from typing import Any, Dict, List

import pytest
from conftest import Make, Server, field, script

import wherry


def test_request_hooks_edit_every_attempt(make: Make, server: Server) -> None:
    calls: List[str] = []

    def number(request: Any) -> None:
        calls.append(request.method)
        request.headers["X-Attempt"] = str(len(calls))

    way = make(event_hooks={"request": [number]}, cache=False, max_retries=2)
    script(server, busy=[{"status": 503, "headers": {"Retry-After": "0"}}, {"json": {}}])
    assert way.get(server.url("/s/busy")).status_code == 200
    assert [field(told, "X-Attempt") for told in server.log()] == [["1"], ["2"]]
    answer = way.get(server.url("/redirect/1"))
    assert answer.json()["headers"] and field(answer.json(), "X-Attempt") == ["4"]
    assert answer.request.headers["X-Attempt"] == "4"


def test_request_hooks_run_after_adapt(make: Make, server: Server) -> None:
    order: List[str] = []

    def adapt(request: Any) -> Any:
        order.append("adapt")
        return request

    way = make(event_hooks={"request": lambda request: order.append("hook")}, cache=False)
    way.get(server.url("/echo"), adapt=adapt)
    assert order == ["adapt", "hook"]


def test_response_hooks_get_the_final_response_and_may_raise(make: Make, server: Server) -> None:
    seen: List[wherry.Response] = []
    hooks = {"response": [seen.append, wherry.Response.raise_for_status]}
    way = make(event_hooks=hooks, cache=False)
    assert way.get(server.url("/redirect/2")).status_code == 200
    assert len(seen) == 1 and len(seen[0].history) == 2
    with pytest.raises(wherry.HTTPStatusError) as caught:
        way.get(server.url("/status/404"))
    assert caught.value.response is seen[1] and caught.value.request is not None
    picture = memoryview(bytes(3)).cast("B", (1, 1, 3))
    way.done(way.client.upload(server.url("/echo"), picture))
    assert len(seen) == 3


def test_hooks_of_a_request_replace_those_of_the_client(make: Make, server: Server) -> None:
    order: List[str] = []

    def note(name: str) -> Any:
        return lambda response, *_, **__: order.append(name)

    way = make(hooks={"response": note("client")}, cache=False)
    way.get(server.url("/echo"))
    way.get(server.url("/echo"), hooks={"response": note("request")})
    way.get(server.url("/echo"), hooks={"response": [note("a"), note("b")]})
    way.get(server.url("/echo"), hooks={"response": []})
    way.get(server.url("/echo"), hooks=False)
    assert order == ["client", "request", "a", "b", "client"]
    other = make(cache=False)
    other.get(server.url("/echo"), hooks={"response": note("alone")})
    assert order[-1] == "alone"


def test_a_response_hook_may_replace_the_response(make: Make, server: Server) -> None:
    other = wherry.Response(299)
    way = make(hooks={"response": lambda response: other}, cache=False)
    assert way.get(server.url("/echo")) is other


def test_hooks_can_be_changed_at_any_time(make: Make, server: Server) -> None:
    seen: List[int] = []
    way = make(cache=False)
    way.get(server.url("/echo"))
    way.client.event_hooks["response"].append(lambda response: seen.append(response.status_code))
    way.get(server.url("/echo"))
    way.client.hooks["response"].append(lambda response: seen.append(-1))
    way.get(server.url("/status/404"))
    way.client.event_hooks = {}
    way.get(server.url("/echo"))
    assert seen == [200, 404, -1] and way.client.event_hooks == {"request": [], "response": []}


def test_hooks_see_the_headers_of_a_stream(server: Server) -> None:
    seen: List[Any] = []

    def note(response: Any) -> None:
        seen.append(response.status_code)
        if response.status_code == 404:
            response.raise_for_status()

    with wherry.Client(event_hooks={"response": [note]}) as client:
        with client.stream("GET", server.url("/bytes/100")) as stream:
            assert seen == [200] and len(stream.read()) == 100
        with pytest.raises(wherry.HTTPStatusError), client.stream("GET", server.url("/status/404")):
            pass

    async def note_later(response: Any) -> None:
        await response.aread()
        note(response)

    async def main() -> None:
        async with wherry.AsyncClient(event_hooks={"response": [note_later]}) as client:
            async with client.stream("GET", server.url("/bytes/100")) as stream:
                assert len(stream.content) == 100
            with pytest.raises(wherry.HTTPStatusError):
                async with client.stream("GET", server.url("/status/404")):
                    pass

    asyncio.run(main())
    assert seen == [200, 404, 200, 404]


def test_hooks_of_an_async_client_may_be_coroutine_functions(server: Server) -> None:
    order: List[str] = []

    async def before(request: Any) -> None:
        await asyncio.sleep(0)
        request.headers["X-Hook"] = "1"
        order.append("request")

    async def after(response: Any) -> None:
        await asyncio.sleep(0)
        order.append("response")

    hooks: Dict[str, Any] = {"request": [before, lambda request: order.append("plain")], "response": [after]}

    async def main() -> Any:
        async with wherry.AsyncClient(event_hooks=hooks) as client:
            return (await client.get(server.url("/echo"))).json()

    assert field(asyncio.run(main()), "X-Hook") == ["1"] and order == ["request", "plain", "response"]
    for name in ("request", "response"):
        with wherry.Client(event_hooks={name: hooks[name][0]}) as client:
            with pytest.raises(TypeError, match="needs an AsyncClient"):
                client.get(server.url("/echo"))


def test_an_exception_in_a_request_hook_ends_the_request(make: Make, server: Server) -> None:
    def refuse(request: Any) -> None:
        raise KeyError("mine")

    way = make(event_hooks={"request": [refuse]}, cache=False)
    with pytest.raises(KeyError, match="mine"):
        way.get(server.url("/echo"))
    assert server.log() == []


@pytest.mark.parametrize("hooks", [5, {"other": []}, {"request": [5]}, {"response": 5}])
def test_an_invalid_hook_is_refused(server: Server, hooks: Any) -> None:
    with pytest.raises(TypeError):
        wherry.Client(event_hooks=hooks)
    with wherry.Client() as client, pytest.raises(TypeError):
        client.get(server.url("/echo"), hooks=hooks)


def test_groups_and_pages_run_only_the_request_hooks(make: Make, server: Server) -> None:
    seen: List[str] = []
    hooks = {
        "request": [lambda request: seen.append("request")],
        "response": [lambda response: seen.append("response")],
    }
    way = make(event_hooks=hooks, cache=False)
    group = way.client.group()
    group.get(server.url("/echo"))
    way.done(group.run())
    assert seen == ["request"]
    with pytest.raises(TypeError, match="takes no hooks="):
        way.client.pages(server.url("/json"), hooks=hooks)
    with pytest.raises(TypeError, match="takes no hooks="):
        way.client.group().get("/", hooks=hooks)


def test_a_download_refuses_hooks(server: Server, tmp_path: Any) -> None:
    seen: List[Any] = []
    with wherry.Client(event_hooks={"request": [seen.append], "response": [seen.append]}) as client:
        client.download(server.url("/bytes/10"), tmp_path / "a")
        with pytest.raises(TypeError, match="hooks"):
            client.download(server.url("/bytes/10"), tmp_path / "b", hooks={})  # type: ignore[call-arg]
    assert seen == []
