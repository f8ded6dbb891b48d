# Wherry: rows O10 to O14, O18 and O19 of features.md
# SPDX-License-Identifier: Apache-2.0
"""Lists in pages, blocking and with asyncio."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from typing import Any, Dict, List, Optional, Tuple

import pytest
from conftest import Server
from test_models import base
from test_scenarios import cases

import wherry
from wherry._core.calls import check
from wherry._core.forms import json_bytes
from wherry._native.library import lib


@dataclass
class Book:
    id: int


def options(case: Dict[str, Any]) -> Dict[str, Any]:
    """The keywords of a case."""
    names = {
        "items": "items", "end": "end", "path": "end_path", "parameter": "parameter",
        "first": "first_page", "size": "size", "size_parameter": "size_parameter", "key": "key",
        "newest_wins": "newest_wins",
    }  # fmt: skip
    found = {ours: case[theirs] for theirs, ours in names.items() if theirs in case}
    found["by_items"] = case.get("unit") == "items"
    return found


def rules(case: Dict[str, Any]) -> wherry.MockTransport:
    mock = wherry.MockTransport()
    for answer in case["answers"]:
        headers = {"Link": answer["link"]} if "link" in answer else {}
        body = answer["body"]
        mock.add(None, "http://h/list*", content=json_bytes(body), headers=headers, times=1)
    return mock


def asked(mock: wherry.MockTransport) -> List[str]:
    return [one.url.partition("?")[2] for one in mock.requests]


@pytest.mark.parametrize("case", cases("page-ends.json"), ids=lambda case: case["about"])
def test_O10_O14_O18_every_way_to_end_a_list_matches_the_table(case: Dict[str, Any]) -> None:
    mock = rules(case)
    with wherry.Client(transport=mock) as client:
        with client.pages("http://h/list", **options(case)) as pages:
            while pages.load_next():
                pass
            assert not pages.has_next
            assert pages.items == case["finds"]
    assert asked(mock) == case["asks"]


@pytest.mark.parametrize(
    "case",
    # An item already delivered is not replaced by a newer one.
    [case for case in cases("page-ends.json") if not case.get("newest_wins")],
    ids=lambda case: case["about"],
)
def test_O19_iterating_finds_the_same_items(case: Dict[str, Any]) -> None:
    mock = rules(case)
    with wherry.Client(transport=mock) as client:
        with client.pages("http://h/list", **options(case)) as pages:
            assert list(pages) == case["finds"]
    assert asked(mock) == case["asks"]
    mock = rules(case)

    async def work() -> List[Any]:
        async with wherry.AsyncClient(transport=mock) as client:
            async with client.pages("http://h/list", **options(case)) as pages:
                return [item async for item in pages]

    assert asyncio.run(work()) == case["finds"]
    assert asked(mock) == case["asks"]


@pytest.mark.parametrize("case", cases("link-fields.json"), ids=str)
def test_O18_link_headers_match_the_table(case: Dict[str, Any]) -> None:
    mock = wherry.MockTransport()
    head = "".join(f"Link: {value}\n" for value in case["fields"]).encode()
    first = b"http://h/list?page=1"
    check(lib.wherry_stub_add_response(mock._handle, None, first, -1, 200, head, b"[1]", 3))
    mock.add(None, "http://h/list?page=2", content=b"[2]")
    with wherry.Client(transport=mock) as client:
        with client.pages("http://h/list?page=1", end="link") as pages:
            assert pages.load_next()
            if "error" in case:
                with pytest.raises(wherry.HTTPStatusError) as caught:
                    pages.load_next()
                assert caught.value.reason == case["error"]
            else:
                assert pages.load_next() is (case["next"] is not None)
    assert [one.url for one in mock.requests[1:]] == ([case["next"]] if case.get("next") else [])


def books(server: Server, pages: int = 10) -> None:
    """Ten pages of two numbers."""
    server.script(
        "books",
        [{"json": {"list": [{"id": page * 2}, {"id": page * 2 + 1}], "last": pages - 1}} for page in range(pages)],
    )


PAGING: Dict[str, Any] = {"items": "list", "end": "last_page", "end_path": "last"}


def numbers(server: Server) -> List[str]:
    return [one["target"].partition("?")[2].replace("nextPage=", "") for one in server.log()]


def test_O11_O12_a_failed_page_is_requested_again(server: Server, client: wherry.Client) -> None:
    server.script(
        "books",
        [
            {"json": {"list": [{"id": 0}], "last": 2}}, {"json": {"list": [{"id": 1}], "last": 2}},
            {"status": 503}, {"json": {"oops": 1}}, {"json": {"list": [{"id": 2}], "last": 2}},
            {"json": {"list": [{"id": 7}], "last": 2}},
        ],
    )  # fmt: skip
    told: List[Tuple[str, Optional[int]]] = []
    pages = client.pages(
        base(server) + "s/books", type=Book, on_event=lambda word, page, _: told.append((word, page)),
        **PAGING,
    )  # fmt: skip
    with pages:
        assert pages.page is None and pages.has_next and not pages.has_previous
        pages.refresh()
        assert pages.load_next()
        for reason in ("http_status", "bad_json_body"):
            with pytest.raises(wherry.HTTPStatusError) as caught:
                pages.load_next()
            assert caught.value.reason == reason
            assert caught.value.response is not None
            assert pages.page == 1 and pages.items == [Book(0), Book(1)] and not pages.is_loading
        assert pages.load_next()
        assert pages.items == [Book(0), Book(1), Book(2)]
        assert pages.load_next() is False
        pages.load(0)
        pages.cancel()
        assert pages.items[0] == Book(7)
    assert numbers(server) == ["0", "1", "2", "2", "2", "0"]
    assert told == [
        ("will_load", 0), ("refreshed", 0), ("finished", 0),
        ("will_load", 1), ("loaded", 1), ("finished", 1),
        ("will_load", 2), ("failed", 2), ("finished", 2),
        ("will_load", 2), ("failed", 2), ("finished", 2),
        ("will_load", 2), ("loaded", 2), ("finished", 2),
        ("last_page", 2),
        ("will_load", 0), ("loaded", 0), ("finished", 0),
    ]  # fmt: skip
    with pytest.raises(wherry.StateError):
        pages.load_next()


def unreadable(server: Server, name: str = "books") -> None:
    """Three pages of two items; the second page at first has one without its number."""
    pages: List[Any] = [[{"id": page * 2}, {"id": page * 2 + 1}] for page in range(3)]
    found = [pages[0], [{"id": 2}, {"title": "without"}], *pages[1:], [{"no": "id"}]]
    server.script(name, [{"json": {"list": one, "last": 2}} for one in found])


def test_O11_a_page_with_unreadable_items_is_not_added_to_the_list(server: Server, client: wherry.Client) -> None:
    unreadable(server)
    told: List[str] = []
    with client.pages(
        base(server) + "s/books", type=Book, on_event=lambda word, *_: told.append(word), **PAGING
    ) as pages:
        assert pages.load_next()
        with pytest.raises(wherry.DecodeError):
            pages.load_next()
        assert pages.page == 0 and pages.items == [Book(0), Book(1)] and pages.has_next
        assert pages.load_next() and pages.items == [Book(number) for number in range(4)]
        assert pages.load_next() and len(pages) == 6
        with pytest.raises(wherry.DecodeError):
            pages.refresh()
        assert pages.page == 2 and pages.items == [Book(number) for number in range(6)]
    assert [word for word in told if word not in ("will_load", "finished")] == [
        "loaded", "failed", "loaded", "loaded", "failed",
    ]  # fmt: skip
    assert numbers(server) == ["0", "1", "1", "2", "0"]


def test_O19_an_iteration_stops_at_unreadable_items_and_continues_there(server: Server, client: wherry.Client) -> None:
    unreadable(server)
    found: List[Book] = []
    with client.pages(base(server) + "s/books", type=Book, **PAGING) as pages:
        with pytest.raises(wherry.DecodeError):
            for book in pages:
                found.append(book)
        assert found == [Book(0), Book(1)]
        assert list(pages) == [Book(number) for number in range(2, 6)]

    async def work() -> List[Book]:
        async with wherry.AsyncClient() as other:
            async with other.pages(base(server) + "s/others", type=Book, **PAGING) as pages:
                with pytest.raises(wherry.DecodeError):
                    async for _ in pages:
                        pass
                return [book async for book in pages]

    unreadable(server, "others")
    assert asyncio.run(work()) == [Book(number) for number in range(2, 6)]


def test_O11_previous_on_the_first_page_refreshes(server: Server, client: wherry.Client) -> None:
    books(server, 4)
    told: List[str] = []
    with client.pages(base(server) + "s/books", on_event=lambda word, *_: told.append(word), **PAGING) as pages:
        pages.load_next()
        pages.load_next()
        pages.load_previous()
        assert pages.page == 0
        del told[:]
        pages.load_previous()
        assert len(pages) == 2
    assert told == ["first_page", "will_load", "refreshed", "finished"]


def test_O13_a_cached_page_sends_no_request(server: Server, client: wherry.Client) -> None:
    books(server)
    with client.pages(base(server) + "s/books", kept_pages=3, **PAGING) as pages:
        for page in (0, 5, 0, 5, 0):
            pages.load(page)
            assert pages.page == page
        assert numbers(server) == ["0", "5"]
        pages.refresh()
    assert numbers(server) == ["0", "5", "0"]


def test_O19_ten_pages_are_read_with_two_loaded_ahead(
    server: Server,
    client: wherry.Client,
) -> None:
    books(server)
    found: List[List[Any]] = []
    with client.pages(base(server) + "s/books", prefetch=2, type=Book, **PAGING) as pages:
        for page in pages.pages():
            found.append(page)
            assert len(server.log()) <= len(found) + 2
            if len(found) == 1:
                server.wait(requests=2)  # It loads while this page is processed.
    assert found == [[Book(page * 2), Book(page * 2 + 1)] for page in range(10)]
    assert numbers(server) == [str(page) for page in range(10)]


def test_O19_without_prefetch_a_page_is_requested_on_demand(server: Server, client: wherry.Client) -> None:
    books(server)
    count = 0
    with client.pages(base(server) + "s/books", prefetch=0, **PAGING) as pages:
        for _ in pages.pages():
            count += 1
            assert len(server.log()) == count
            if count == 3:
                break


def test_O19_items_are_yielded_one_by_one_and_a_failure_ends_the_iteration(
    server: Server, client: wherry.Client
) -> None:
    server.script(
        "books",
        [{"json": [{"id": 1}, {"id": 2}]}, {"json": [{"id": 2}, {"id": 3}]}, {"status": 500}],
    )
    found: List[int] = []
    with client.pages(base(server) + "s/books", key="id", type=Book) as pages:
        with pytest.raises(wherry.HTTPStatusError) as caught:
            for book in pages:
                found.append(book.id)
    assert found == [1, 2, 3]
    assert caught.value.http_status == 500


def test_O19_async_pages_are_loaded_ahead(server: Server) -> None:
    books(server)

    async def work() -> None:
        async with wherry.AsyncClient() as client:
            pages = client.pages(base(server) + "s/books", prefetch=2, type=Book, **PAGING)
            async with pages:
                found = []
                async for page in pages.pages():
                    found.append(page)
                    assert len(server.log()) <= len(found) + 2
                    if len(found) == 1:
                        loop = asyncio.get_running_loop()
                        await loop.run_in_executor(None, lambda: server.wait(requests=3))
                assert found == [[Book(page * 2), Book(page * 2 + 1)] for page in range(10)]
                assert await pages.load_next() is False
                await pages.refresh()
                await pages.load_previous()
                assert pages.page == 0
            with pytest.raises(wherry.StateError):
                await pages.load_next()

    server_pages = 12  # Two more for the refreshes.
    server.script(
        "books",
        [{"json": {"list": [{"id": page * 2}, {"id": page * 2 + 1}], "last": 9}} for page in range(server_pages)],
    )
    asyncio.run(work())


def test_O19_leaving_an_async_iteration_ends_its_load(server: Server) -> None:
    server.script("books", [{"json": [1, 2]}, {"json": [3], "gate": "never"}])

    async def work() -> None:
        async with wherry.AsyncClient() as client:
            async with client.pages(base(server) + "s/books") as pages:
                async for item in pages:
                    assert item == 1
                    break
                with pytest.raises(wherry.WherryError):
                    async with client.pages(base(server) + "status/500") as wrong:
                        async for _ in wrong:
                            pass

    asyncio.run(work())


@pytest.mark.parametrize(("end", "next"), [("has_next", "http://h/list?page=2"), ("link", 2)])
def test_O18_a_marker_of_the_wrong_type_is_an_error(end: str, next: object) -> None:
    mock = wherry.MockTransport()
    mock.add(None, "*", json={"list": [1], "next": next})
    with wherry.Client(transport=mock) as client:
        with client.pages("http://h/list", items="list", end=end, end_path="next") as pages:
            with pytest.raises(wherry.HTTPStatusError) as caught:
                pages.load_next()

    assert caught.value.reason == "bad_json_body" and '"next"' in caught.value.message


def test_O18_conflicting_settings_are_refused(client: wherry.Client) -> None:
    with pytest.raises(ValueError, match="end="):
        client.pages("http://h/", end="never")
    for wrong in ({"size": 0}, {"by_items": True}, {"kept_pages": -1}, {"parameter": ""}):
        with client.pages("http://h/", **wrong) as pages:
            with pytest.raises(wherry.ArgumentError) as caught:
                pages.load_next()
            assert caught.value.reason == "bad_value"
    with pytest.raises(TypeError, match="nonsense"):
        client.pages("http://h/", nonsense=1)  # type: ignore[call-arg]
