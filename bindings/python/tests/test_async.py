# Wherry: the asyncio client
# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import asyncio
import functools
import gc
import os
import threading
from typing import (
    Any, AsyncIterator, Awaitable, Callable, Coroutine, Dict, Iterator, List, TypeVar,
)  # fmt: skip

import pytest
from conftest import PATIENCE, PATIENT, Server
from test_uploads import png

import wherry
from wherry._native import codes
from wherry._native.library import lib
from wherry._waiting.pump import pumps

T = TypeVar("T")


async def later(function: Callable[..., T], *arguments: Any, **options: Any) -> T:
    """Runs a blocking call in another thread."""
    call = functools.partial(function, *arguments, **options)
    return await asyncio.get_running_loop().run_in_executor(None, call)


async def is_over(server: Server, client: wherry.AsyncClient, ended: int = 1) -> None:
    """Waits until nothing runs and the server has seen that number of ends, while the client is
    open.
    """
    assert not client.is_closed
    wait = lib.wherry_client_wait
    assert await later(wait, client._handle, codes.MATCH_ALL, None, PATIENCE * 1000) == codes.OK
    assert client.count() == 0
    await later(server.wait, ended=ended)


def run(body: Callable[[wherry.AsyncClient], Awaitable[T]], **settings: Any) -> T:
    """Runs a coroutine with a client in a separate loop."""

    async def main() -> T:
        async with wherry.AsyncClient(**{**PATIENT, **settings}) as client:
            return await body(client)

    return asyncio.run(main())


def test_R1_each_method_has_a_coroutine(server: Server) -> None:
    async def body(client: wherry.AsyncClient) -> List[str]:
        names = ["get", "post", "put", "patch", "delete", "options"]
        answers = [await getattr(client, name)(server.url("/echo")) for name in names]
        return [answer.json()["method"] for answer in answers]

    assert run(body) == ["GET", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"]


def test_concurrent_requests_each_get_their_own_response(server: Server) -> None:
    async def body(client: wherry.AsyncClient) -> List[Any]:
        answers = await asyncio.gather(*[client.get(server.url("/echo"), params={"n": n}) for n in range(500)])
        return [answer.json()["query"][-1] for answer in answers]

    assert run(body) == [["n", str(n)] for n in range(500)]


def test_R15_a_422_keeps_its_status_and_body(server: Server) -> None:
    async def body(client: wherry.AsyncClient) -> wherry.Response:
        return await client.get(server.url("/status/422", body='{"a":1}'))

    answer = run(body)

    assert answer.status_code == 422 and answer.json() == {"a": 1}
    with pytest.raises(wherry.HTTPStatusError):
        answer.raise_for_status()


def test_R16_failures_are_raised_at_the_await(server: Server) -> None:
    async def body(client: wherry.AsyncClient) -> None:
        with pytest.raises(wherry.NetworkError):
            await client.get(server.url("/bytes/10000", cut=500))
        with pytest.raises(wherry.ArgumentError):
            await client.get("ftp://127.0.0.1/")
        with pytest.raises(wherry.TimeoutError):
            await client.get(server.url("/silent"), timeout=0.2)

    run(body)


def test_M11_cancelling_a_task_cancels_only_its_transfer(server: Server) -> None:
    async def body(client: wherry.AsyncClient) -> None:
        task = asyncio.ensure_future(client.get(server.url("/silent", seconds=3600)))
        kept = server.url("/json", gate=server.gate())
        other = asyncio.ensure_future(client.get(kept))
        await later(server.wait, requests=2)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        await later(server.wait, ended=1)
        assert [info.url for info in client.transfers()] == [kept]
        await later(server.open_gate, server.gate())
        assert (await other).ok

    run(body, timeout=None)


@pytest.mark.parametrize("kind", ["plain", "progress", "body", "upload", "stream", "download"])
def test_M11_a_cancelled_task_leaves_no_transfer_of_any_kind(server: Server, tmp_path: Any, kind: str) -> None:
    url = server.url("/silent", seconds=3600)

    async def pieces() -> AsyncIterator[bytes]:
        yield b"x"

    async def streamed(client: wherry.AsyncClient) -> None:
        async with client.stream("GET", url):
            raise AssertionError("no answer comes")

    async def body(client: wherry.AsyncClient) -> None:
        ways: Dict[str, Callable[[], Coroutine[Any, Any, Any]]] = {
            "plain": lambda: client.get(url),
            "progress": lambda: client.get(url, progress=print),
            "body": lambda: client.post(url, data=pieces()),
            "upload": lambda: client.upload(url, png(4, 4)),
            "stream": lambda: streamed(client),
            "download": lambda: client.download(url, tmp_path / "file"),
        }
        task = asyncio.ensure_future(ways[kind]())
        await later(server.wait, requests=1)
        assert client.count() == 1
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        await is_over(server, client)

    run(body, timeout=None)


def test_M11_wait_for_ends_the_transfer_too(server: Server) -> None:
    async def body(client: wherry.AsyncClient) -> None:
        task = asyncio.ensure_future(client.get(server.url("/silent", seconds=3600)))
        await later(server.wait, requests=1)
        with pytest.raises(asyncio.TimeoutError):
            await asyncio.wait_for(task, 0.05)
        await is_over(server, client)

    run(body, timeout=None)


def test_M7_closing_cancels_requests_in_flight(server: Server) -> None:
    async def body(client: wherry.AsyncClient) -> None:
        task = asyncio.ensure_future(client.get(server.url("/silent")))
        await asyncio.get_running_loop().run_in_executor(None, lambda: server.wait(requests=1))
        await client.aclose()
        with pytest.raises(wherry.CancelledError):
            await task
        with pytest.raises(wherry.StateError):
            await client.get(server.url("/json"))

    run(body)


def test_one_client_serves_several_loops_in_succession(server: Server) -> None:
    client = wherry.AsyncClient()

    async def once() -> int:
        return (await client.get(server.url("/json"))).status_code

    assert [asyncio.run(once()), asyncio.run(once())] == [200, 200]
    asyncio.run(client.aclose())


def test_two_clients_share_the_queue_of_their_loop(server: Server) -> None:
    async def main() -> None:
        async with wherry.AsyncClient() as one:
            async with wherry.AsyncClient() as two:
                assert (await one.get(server.url("/json"))).ok
                assert (await two.get(server.url("/json"))).ok
                loop = asyncio.get_running_loop()
                assert one._pump(loop) is two._pump(loop)
            assert (await one.get(server.url("/json"))).ok

    asyncio.run(main())


def test_C16_progress_runs_in_the_event_loop(server: Server) -> None:
    async def body(client: wherry.AsyncClient) -> List[Any]:
        loops: List[Any] = []
        await client.get(
            server.url("/bytes/200000"),
            progress=lambda _: loops.append(asyncio.get_running_loop()),
        )
        return [loop is asyncio.get_running_loop() for loop in loops]

    assert set(run(body)) == {True}


def test_R23_an_exception_in_a_progress_function_is_raised_and_cancels(server: Server) -> None:
    def stop(_: wherry.Progress) -> None:
        raise ZeroDivisionError("enough")

    async def body(client: wherry.AsyncClient) -> None:
        with pytest.raises(ZeroDivisionError, match="enough"):
            await client.get(server.url("/bytes/1000000", hold=500000, gate=server.gate()), progress=stop)
        await is_over(server, client)
        assert (await client.get(server.url("/json"))).ok

    run(body, timeout=None)


def test_R22_a_streamed_body_is_complete(server: Server) -> None:
    async def body(client: wherry.AsyncClient) -> None:
        whole = (await client.get(server.url("/bytes/3000000"))).content
        async with client.stream("GET", server.url("/bytes/3000000")) as answer:
            assert answer.status_code == 200
            pieces = [piece async for piece in answer.aiter_bytes(1 << 16)]
        assert b"".join(pieces) == whole
        assert {len(piece) for piece in pieces[:-1]} == {1 << 16}
        async with client.stream("GET", server.url("/sse", count=3)) as answer:
            lines = [line async for line in answer.aiter_lines()]
        assert len([line for line in lines if line.startswith("id: ")]) == 3
        async with client.stream("GET", server.url("/json")) as answer:
            assert await answer.aread() == answer.content
            assert answer.json()["code"] == 0

    run(body)


def test_R22_a_slow_reader_slows_the_sender(server: Server) -> None:
    size = 64 << 20

    async def body(client: wherry.AsyncClient) -> None:
        async with client.stream("GET", server.url(f"/bytes/{size}")) as answer:
            pieces = answer.aiter_bytes()
            first = len(await pieces.__anext__())
            sent = server.log()[0]["sent"]
            rest = sum([len(piece) async for piece in pieces])
        assert sent < size
        assert first + rest == size

    run(body)


def test_R22_leaving_a_stream_ends_the_transfer(server: Server) -> None:
    async def body(client: wherry.AsyncClient) -> None:
        url = server.url("/bytes/1000000", hold=500000, gate=server.gate())
        async with client.stream("GET", url) as answer:
            async for _ in answer.aiter_bytes():
                break
        await is_over(server, client)
        with pytest.raises(wherry.StateError):
            await answer.aread()

    run(body, timeout=None)


def test_R22_a_stream_that_is_cut_raises_at_the_cut(server: Server) -> None:
    async def body(client: wherry.AsyncClient) -> int:
        found = 0
        async with client.stream("GET", server.url("/bytes/100000", cut=60000)) as answer:
            with pytest.raises(wherry.NetworkError):
                async for piece in answer.aiter_bytes():
                    found += len(piece)
        return found

    assert run(body) == 60000


def test_R9_sync_and_async_generators_are_streamed(server: Server) -> None:
    def plain() -> Iterator[bytes]:
        for _ in range(100):
            yield b"x" * 10000

    async def later() -> AsyncIterator[bytes]:
        for _ in range(100):
            await asyncio.sleep(0)
            yield b"y" * 10000

    async def broken() -> AsyncIterator[bytes]:
        yield b"z"
        raise KeyError("broken")

    async def body(client: wherry.AsyncClient) -> None:
        for pieces in (plain(), later()):
            assert (await client.post(server.url("/sink"), data=pieces)).json()["bytes"] == 1000000
        with pytest.raises(KeyError, match="broken"):
            await client.post(server.url("/sink"), data=broken())

    run(body)


def test_D1_a_download_can_be_awaited(server: Server, tmp_path: Any) -> None:
    target = tmp_path / "file"
    seen: List[int] = []

    async def body(client: wherry.AsyncClient) -> str:
        return await client.download(server.url("/bytes/300000"), target, progress=lambda p: seen.append(p.done_bytes))

    assert run(body) == str(target)
    assert target.stat().st_size == 300000
    assert seen == sorted(seen) and seen[-1] == 300000


def test_D12_a_handle_pauses_resumes_and_cancels(server: Server, tmp_path: Any) -> None:
    async def body(client: wherry.AsyncClient) -> None:
        url = server.url("/bytes/2000000", hold=1000000, gate=server.gate())
        handle = client.start_download(url, tmp_path / "one")
        await handle.pause()
        assert handle.state == "paused"
        other = client.start_download(url + "&other", tmp_path / "two")
        other.cancel()
        with pytest.raises(wherry.CancelledError):
            await other.wait()
        assert not os.path.exists(tmp_path / "two")

        await asyncio.get_running_loop().run_in_executor(None, server.open_gate, server.gate())
        handle.resume()
        assert await handle == str(tmp_path / "one")
        assert handle.state == "done"

    run(body)


def test_no_descriptor_leaks(server: Server) -> None:
    async def body(client: wherry.AsyncClient) -> None:
        await asyncio.gather(*[client.get(server.url("/json")) for _ in range(10)])

    run(body)
    gc.collect()
    before = len(os.listdir("/proc/self/fd"))
    for _ in range(20):
        run(body)
    gc.collect()

    assert len(os.listdir("/proc/self/fd")) <= before


def test_an_unclosed_client_warns() -> None:
    client = wherry.AsyncClient()
    with pytest.warns(ResourceWarning, match="unclosed <AsyncClient"):
        del client


def test_M7_closing_ends_any_number_of_waits(server: Server) -> None:
    async def body(client: wherry.AsyncClient) -> List[Any]:
        url = server.url("/silent")
        tasks = [asyncio.ensure_future(client.get(url)) for _ in range(1000)]
        await asyncio.get_running_loop().run_in_executor(None, lambda: server.wait(requests=1))
        await client.aclose()
        done, waiting = await asyncio.wait(tasks, timeout=600)
        assert not waiting
        return [task.exception() for task in done]

    assert {type(error) for error in run(body)} == {wherry.CancelledError}


def test_M7_closing_ends_a_wait_for_an_event_that_never_comes(server: Server) -> None:
    async def body(client: wherry.AsyncClient) -> None:
        loop = asyncio.get_running_loop()
        assert (await client.get(server.url("/json"))).ok
        pump = client._pump(loop)
        url = server.url("/bytes/2000000", hold=1000000, gate=server.gate())
        lost: asyncio.Future[wherry.Response] = loop.create_future()
        pump.waiting[pump.key()] = lost, "", 0.0, True, None
        stream = await client.stream("GET", url).__aenter__()
        (sink,) = pump.sinks.values()
        pump.sinks = {pump.key(): sink}
        await client.aclose()
        with pytest.raises(wherry.CancelledError):
            await lost
        with pytest.raises(wherry.CancelledError):
            await stream.aread()

    run(body)


def test_M7_the_loop_keeps_running_while_a_client_closes(monkeypatch: pytest.MonkeyPatch) -> None:
    opened = threading.Event()
    free = lib.wherry_client_free

    def slow(handle: int) -> int:
        assert opened.wait(600)
        return int(free(handle))

    async def body(client: wherry.AsyncClient) -> None:
        monkeypatch.setattr(lib, "wherry_client_free", slow)
        closing = asyncio.ensure_future(client.aclose())
        await asyncio.sleep(0)
        assert client.is_closed and not closing.done()
        opened.set()
        await closing

    run(body)


def test_closing_completes_although_its_task_is_cancelled(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    opened = threading.Event()
    free = lib.wherry_client_free

    def slow(handle: int) -> int:
        assert opened.wait(600)
        return int(free(handle))

    async def body(client: wherry.AsyncClient) -> None:
        request = asyncio.ensure_future(client.get(server.url("/silent")))
        await asyncio.get_running_loop().run_in_executor(None, lambda: server.wait(requests=1))
        monkeypatch.setattr(lib, "wherry_client_free", slow)
        closing = asyncio.ensure_future(client.aclose())
        await asyncio.sleep(0)
        closing.cancel()
        opened.set()
        with pytest.raises(asyncio.CancelledError):
            await closing
        with pytest.raises(wherry.CancelledError):
            await request

    run(body)


def test_collecting_a_client_while_events_are_read_loses_none(server: Server) -> None:
    async def body(client: wherry.AsyncClient) -> None:
        loop = asyncio.get_running_loop()
        pump = client._pump(loop)
        other: List[wherry.AsyncClient] = [wherry.AsyncClient()]
        assert (await other[0].get(server.url("/json"))).ok
        counts: List[int] = []

        def collect(_: wherry.Progress) -> None:
            if other:
                with pytest.warns(ResourceWarning):
                    other.clear()
                    gc.collect()
            assert not pump.read()
            counts.append(len(pump.clients))

        answers = await asyncio.gather(
            client.get(server.url("/bytes/300000"), progress=collect),
            *[client.get(server.url("/echo"), params={"n": n}) for n in range(50)],
        )
        assert [a.json()["query"][-1] for a in answers[1:]] == [["n", str(n)] for n in range(50)]
        assert counts and counts[0] == 2 and len(pump.clients) == 1

    run(body)


def test_collecting_a_client_in_another_thread_leaves_the_pump_to_its_loop(server: Server) -> None:
    async def main() -> None:
        loop = asyncio.get_running_loop()
        clients = [wherry.AsyncClient()]
        assert (await clients[0].get(server.url("/json"))).ok
        pump = clients[0]._pump(loop)
        readers: List[int] = []
        release = pump.release

        def released(client: object) -> None:
            readers.append(threading.get_ident())
            release(client)

        pump.release = released  # type: ignore[method-assign]
        with pytest.warns(ResourceWarning):
            await loop.run_in_executor(None, clients.clear)
            await asyncio.sleep(0)
        assert readers == [threading.get_ident()] and not pump.queue

    asyncio.run(main())


def test_a_closed_client_creates_no_queue(server: Server) -> None:
    async def body(client: wherry.AsyncClient) -> None:
        await client.get(server.url("/json"))
        await client.aclose()
        with pytest.raises(wherry.StateError):
            await client.get(server.url("/json"))
        assert asyncio.get_running_loop() not in pumps

    run(body)
