# Wherry: rows O11, O12 and O19 of features.md: lists abandoned while a page loads
# SPDX-License-Identifier: Apache-2.0
"""Abandoned iterations and cancelled tasks while a page is loading.

All pages of a list share one queue and one key: the end of an unwanted page must not be taken for
the end of the next one.
"""

from __future__ import annotations

import asyncio
from typing import Any, Awaitable, Callable, List

import pytest
from conftest import Server, until
from test_models import base

import wherry


def script(server: Server, second: dict[str, Any]) -> None:
    """A first page, the given second page, and two that differ from both."""
    server.script("left", [{"json": [1, 2]}, {"json": [3, 4], **second}, {"json": [5, 6]}, {"json": [7, 8]}])


def asked(server: Server) -> List[str]:
    return [one["target"].partition("nextPage=")[2] for one in server.log()]


@pytest.mark.parametrize("held", [True, False], ids=["on its way", "here already"])
@pytest.mark.parametrize("left", [True, False], ids=["left", "still read"])
def test_O19_a_refresh_returns_its_page_and_not_the_one_loaded_ahead(
    server: Server, client: wherry.Client, held: bool, left: bool
) -> None:
    script(server, {"gate": server.gate()} if held else {})
    with client.pages(base(server) + "s/left", prefetch=1) as pages:
        walk = pages.pages()
        assert next(walk) == [1, 2]
        server.wait(requests=2)
        if not held:
            until(lambda: len(pages) == 4)
        if left:
            walk.close()  # type: ignore[attr-defined]
        pages.refresh()
        assert pages.items == [5, 6] and pages.page == 0 and not pages.is_loading
        assert pages.load_next()
        assert pages.items == [5, 6, 7, 8] and pages.page == 1
    assert asked(server) == ["0", "1", "0", "1"]


def test_O19_leaving_a_for_statement_cancels_its_page(server: Server, client: wherry.Client) -> None:
    script(server, {"gate": server.gate()})
    told: List[str] = []
    with client.pages(base(server) + "s/left", on_event=lambda word, *_: told.append(word)) as pages:
        for item in pages:
            assert item == 1
            server.wait(requests=2)
            break
        assert not pages.is_loading
        del told[:]
        assert pages.load_next()
        assert pages.items == [1, 2, 5, 6] and pages.page == 1
        assert told == ["will_load", "loaded", "finished"]


def test_O19_an_iteration_continues_after_another_call_cancelled_its_page(
    server: Server, client: wherry.Client
) -> None:
    script(server, {"gate": server.gate()})
    with client.pages(base(server) + "s/left", prefetch=1) as pages:
        walk = pages.pages()
        next(walk)
        server.wait(requests=2)
        pages.refresh()
        assert next(walk) == [7, 8]
        assert pages.items == [5, 6, 7, 8]


def test_O19_a_page_loaded_ahead_is_read_although_another_call_came_first(
    server: Server, client: wherry.Client
) -> None:
    script(server, {})
    with client.pages(base(server) + "s/left", prefetch=1) as pages:
        walk = pages.pages()
        next(walk)
        until(lambda: len(pages) == 4)
        assert pages.load_next()
        assert pages.items == [1, 2, 3, 4, 5, 6]
        assert next(walk) == [3, 4]


def test_O11_requesting_a_page_during_another_load_is_refused(server: Server, client: wherry.Client) -> None:
    script(server, {})
    caught: List[BaseException] = []

    def progress(_: wherry.Progress) -> None:
        if not caught:
            try:
                pages.load_next()
            except wherry.BusyError as error:
                caught.append(error)

    with client.pages(base(server) + "s/left", progress=progress) as pages:
        assert pages.load_next()
        assert [error.reason for error in caught] == ["busy"]  # type: ignore[attr-defined]
        assert pages.items == [1, 2]


def test_O19_closing_cancels_the_page(server: Server, client: wherry.Client) -> None:
    script(server, {"gate": server.gate()})
    pages = client.pages(base(server) + "s/left", prefetch=1)
    walk = pages.pages()
    next(walk)
    server.wait(requests=2)
    pages.close()
    until(lambda: client.count() == 0)
    assert next(walk, None) is None
    with pytest.raises(wherry.StateError):
        pages.refresh()


Lists = wherry.AsyncPages[Any]


def run(server: Server, work: Callable[[Lists], Awaitable[None]], **options: Any) -> None:
    async def main() -> None:
        async with wherry.AsyncClient() as client:
            async with client.pages(base(server) + "s/left", **options) as pages:
                await work(pages)

    asyncio.run(main())


async def requests(server: Server, count: int) -> None:
    loop = asyncio.get_running_loop()
    await loop.run_in_executor(None, lambda: server.wait(requests=count))


@pytest.mark.parametrize("prefetch", [1, 2])
def test_O19_leaving_async_for_while_a_page_loads_cancels_it(server: Server, prefetch: int) -> None:
    script(server, {"gate": server.gate()})

    async def work(pages: Lists) -> None:
        async for item in pages:
            assert item == 1
            await requests(server, 2)
            break
        # The generator ends only when the loop reaches it.
        await pages.refresh()
        assert pages.items == [5, 6] and pages.page == 0
        await asyncio.sleep(0)
        assert await pages.load_next()
        assert pages.items == [5, 6, 7, 8]

    run(server, work, prefetch=prefetch)
    assert asked(server) == ["0", "1", "0", "1"]


@pytest.mark.parametrize("knows", [True, False], ids=["has ended", "does not know yet"])
def test_O11_after_a_cancelled_task_the_next_page_is_the_requested_one(server: Server, knows: bool) -> None:
    script(server, {"gate": server.gate()})
    told: List[str] = []

    async def work(pages: Lists) -> None:
        await pages.load_next()
        task = asyncio.ensure_future(pages.load_next())
        await requests(server, 2)
        with pytest.raises(wherry.BusyError):
            await pages.refresh()
        task.cancel()
        if knows:
            with pytest.raises(asyncio.CancelledError):
                await task
        await pages.refresh()
        assert task.cancelled()
        assert pages.items == [5, 6] and pages.page == 0
        assert await pages.load_next()
        assert pages.items == [5, 6, 7, 8]

    run(server, work, on_event=lambda word, *_: told.append(word))
    assert asked(server) == ["0", "1", "0", "1"]
    assert told == [
        "will_load", "loaded", "finished", "will_load", "failed", "finished",
        "will_load", "refreshed", "finished", "will_load", "loaded", "finished",
    ]  # fmt: skip


def test_O11_a_page_that_arrived_before_the_cancel_is_in_the_list(server: Server) -> None:
    script(server, {"gate": server.gate()})

    async def work(pages: Lists) -> None:
        await pages.load_next()
        task = asyncio.ensure_future(pages.load_next())
        await requests(server, 2)
        # The loop is blocked here: the page has finished, but its event is unread.
        server.open_gate(server.gate())
        until(lambda: len(pages) == 4)
        task.cancel()
        await pages.load(0)
        assert pages.items[:2] == [5, 6]

    run(server, work)
    assert asked(server) == ["0", "1", "0"]


def test_O19_an_async_iteration_continues_after_another_call(server: Server) -> None:
    script(server, {"gate": server.gate()})

    async def work(pages: Lists) -> None:
        walk = pages.pages().__aiter__()
        assert await walk.__anext__() == [1, 2]
        await requests(server, 2)
        await pages.refresh()
        assert pages.items[:2] == [5, 6]
        assert await walk.__anext__() == [7, 8]
        await walk.aclose()  # type: ignore[attr-defined]

    run(server, work, prefetch=1)
    assert asked(server)[:4] == ["0", "1", "0", "1"]
