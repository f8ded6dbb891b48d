# Wherry: row R35 of features.md
# SPDX-License-Identifier: Apache-2.0
"""Chains of requests, blocking and with asyncio."""

from __future__ import annotations

import asyncio
import threading
import urllib.request
from typing import Any, Callable, Iterator, List, Tuple

import pytest
from conftest import PATIENCE, PATIENT, Server, Way

import wherry


@pytest.fixture(params=["sync", "async", "coroutine"])
def way(request: pytest.FixtureRequest) -> Iterator[Way]:
    loop = asyncio.new_event_loop()
    kind = wherry.Client if request.param == "sync" else wherry.AsyncClient
    made = Way(kind(**PATIENT), loop)
    made.is_coroutine = request.param == "coroutine"  # type: ignore[attr-defined]
    try:
        yield made
        made.close()
    finally:
        loop.close()


def chain_of(way: Any, function: Callable[[Any, Any], None], **options: Any) -> Any:
    """A chain whose function is a coroutine function if the test needs one."""
    if not way.is_coroutine:
        return way.client.chain(function, **options)

    async def awaited(chain: Any, previous: Any) -> None:
        await asyncio.sleep(0)
        function(chain, previous)

    return way.client.chain(awaited, **options)


def asked(server: Server) -> List[str]:
    return [told["path"] for told in server.log()]


def test_R35_a_chain_runs_login_then_profile_then_bind(way: Way, server: Server) -> None:
    told: List[Tuple[int, int]] = []

    def steps(chain: Any, previous: Any) -> None:
        if previous is None:
            chain.post(server.url("/token"))
        elif "token" in previous.url:
            token = previous.json()["access_token"]
            chain.get(server.url("/protected"), auth=wherry.Bearer(token))
        elif "protected" in previous.url:
            chain.post(server.url("/echo"), json={"status": previous.status_code})

    chain = chain_of(way, steps, progress=lambda p: told.append((p.ended, p.count)))
    login, profile, bind = way.done(chain.run())

    assert (login.status_code, profile.status_code) == (200, 200)
    assert bind.json()["json"] == {"status": 200}
    assert asked(server) == ["/token", "/protected", "/echo"]
    assert told[-1][0] == 3 and told == sorted(told)
    assert way.client.count() == 0
    with pytest.raises(wherry.StateError):
        way.done(chain.run())


def test_R35_a_branch_runs_in_addition_to_earlier_steps(way: Way, server: Server) -> None:
    def steps(chain: Any, previous: Any) -> None:
        if previous is not None and previous.status_code == 204:
            chain.get(server.url("/text/old"))

    for status, expected in ((204, ["/status/204", "/text/old"]), (200, ["/status/200"])):
        before = len(server.log())
        chain = chain_of(way, steps)
        chain.get(server.url(f"/status/{status}"))
        assert len(way.done(chain.run())) == len(expected)
        assert asked(server)[before:] == expected


def test_R35_stop_skips_the_remaining_steps(way: Way, server: Server) -> None:
    def steps(chain: Any, previous: Any) -> None:
        if previous is not None:
            chain.stop()

    chain = chain_of(way, steps)
    for name in "abc":
        chain.get(server.url(f"/text/{name}"))
    assert len(way.done(chain.run())) == 1
    assert asked(server) == ["/text/a"]


def test_R35_a_failure_ends_the_chain_and_names_the_step(way: Way, server: Server) -> None:
    chain = chain_of(way, lambda chain, previous: None)
    for path in ("/text/a", "/status/503", "/text/c"):
        chain.get(server.url(path))
    with pytest.raises(wherry.HTTPStatusError) as caught:
        way.done(chain.run())
    assert str(caught.value).startswith("Step 2, GET ") and caught.value.http_status == 503
    assert caught.value.response is not None and caught.value.response.status_code == 503
    assert chain.failed == 1
    assert asked(server) == ["/text/a", "/status/503"]


def test_R35_chains_contain_groups_and_groups_contain_chains(way: Way, server: Server) -> None:
    def batched(chain: Any, previous: Any) -> None:
        if previous is None:
            batch = way.client.group(all_settled=True)
            batch.get(server.url("/text/a"))
            batch.get(server.url("/status/404"))
            chain.add(batch)
        elif isinstance(previous, list):
            codes = "-".join(str(one.status_code) for one in previous)
            chain.get(server.url(f"/text/{codes}"))

    group = way.client.group()
    group.get(server.url("/text/first"))
    group.add(chain_of(way, batched))
    group.add(chain_of(way, batched))

    first, one, two = way.done(group.run())

    assert first.status_code == 200
    for steps in (one, two):
        assert [[a.status_code for a in steps[0]], steps[1].status_code] == [[200, 404], 200]
    assert sorted(asked(server))[-5:] == ["/text/200-404"] * 2 + ["/text/a"] * 2 + ["/text/first"]
    twice = chain_of(way, batched)
    group = way.client.group()
    group.add(twice)
    group.add(twice)
    with pytest.raises(wherry.StateError):
        way.done(group.run())


def test_R35_an_exception_in_the_function_ends_the_chain(way: Way, server: Server) -> None:
    def broken(chain: Any, previous: Any) -> None:
        if previous is not None:
            raise LookupError("mine")
        chain.get(server.url("/text/a"))

    with pytest.raises(LookupError, match="mine"):
        way.done(chain_of(way, broken).run())
    assert way.client.count() == 0
    assert asked(server) == ["/text/a"]


def test_R35_a_coroutine_function_needs_an_async_client(server: Server) -> None:
    async def steps(chain: Any, previous: Any) -> None:
        raise AssertionError("never awaited")

    with wherry.Client(**PATIENT) as client:
        with pytest.raises(TypeError, match="AsyncClient"):
            client.chain(steps).run()
    assert server.log() == []


def test_R35_another_thread_cancels_the_complete_chain(
    client: wherry.Client,
    server: Server,
) -> None:
    chain = client.chain(lambda chain, previous: None)
    chain.get(server.url("/text/a", gate=server.gate()))
    chain.get(server.url("/text/b"))

    def cancel() -> None:
        server.wait(requests=1)
        chain.cancel()

    canceller = threading.Thread(target=cancel)
    canceller.start()
    with pytest.raises(wherry.CancelledError):
        chain.run()
    canceller.join()
    assert client.count() == 0 and asked(server) == ["/text/a"]


def test_R35_cancelling_the_task_cancels_the_function_too(server: Server) -> None:
    async def main() -> None:
        thinking, cancelled = asyncio.Event(), asyncio.Event()

        async def steps(chain: Any, previous: Any) -> None:
            thinking.set()
            try:
                await asyncio.Event().wait()
            except asyncio.CancelledError:
                cancelled.set()
                raise

        async with wherry.AsyncClient(**PATIENT) as client:
            task = asyncio.ensure_future(client.chain(steps).run())
            await thinking.wait()
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
            await cancelled.wait()
            while client.count():
                await asyncio.sleep(0)

    asyncio.run(main())
    assert server.log() == []


def test_R35_an_exception_ends_only_its_chain_in_an_all_settled_group(
    way: Way,
    server: Server,
) -> None:
    def broken(chain: Any, previous: Any) -> None:
        if previous is not None:
            raise RuntimeError("no")
        chain.get(server.url("/json"))

    inner = chain_of(way, broken)
    group = way.client.group(all_settled=True)
    group.add(inner)
    group.get(server.url("/echo"))
    failed, answer = way.done(group.run())
    assert isinstance(failed, RuntimeError) and answer.status_code == 200
    with pytest.raises(wherry.StateError) as caught:
        way.done(inner.run())
    assert caught.value.reason == "already_started"

    fast = way.client.group()
    fast.add(chain_of(way, broken))
    with pytest.raises(RuntimeError):
        way.done(fast.run())


def test_R35_a_function_that_takes_too_long_is_an_error(way: Way, server: Server) -> None:
    def slow(chain: Any, previous: Any) -> None:
        urllib.request.urlopen(server.url("/delay/2000"), timeout=PATIENCE).close()
        chain.get(server.url("/json"))

    way.client.configure(hook_timeout=0.05)
    with pytest.raises(wherry.WherryError) as caught:
        way.done(chain_of(way, slow).run())
    assert caught.value.reason == "hook_expired"
    assert not any("json" in path for path in asked(server))
