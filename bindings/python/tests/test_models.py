# Wherry: rows O1 to O9, O15 and O16 of features.md
# SPDX-License-Identifier: Apache-2.0
"""Mappings onto dataclasses, endpoints, models, and lists in sections."""

from __future__ import annotations

import asyncio
import dataclasses
import random
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any, Dict, List, Optional

import pytest
from conftest import Server
from test_scenarios import cases

import wherry

MISSING = object()


def hint(kind: Any) -> Any:
    """The Python type for a type of the tables."""
    words: Dict[str, Any] = {
        "value": Any, "text": str, "integer": int, "number": float, "bool": bool,
    }  # fmt: skip
    if isinstance(kind, str):
        return words[kind]
    if "array" in kind:
        return List[hint(kind["array"])]  # type: ignore[misc]
    return dataclass_of(kind["item"])


def dataclass_of(fields: List[Any]) -> Any:
    made = dataclasses.make_dataclass(
        "Made",
        [(name, hint(kind), field(default=MISSING, metadata=wherry.at(path))) for name, path, kind in fields],
    )
    return made


def plain(item: Any) -> Any:
    """An item in the notation of the tables."""
    if dataclasses.is_dataclass(item):
        found = {one.name: getattr(item, one.name) for one in dataclasses.fields(item)}
        return {name: plain(value) for name, value in found.items() if value is not MISSING}
    return [plain(one) for one in item] if isinstance(item, list) else item


@pytest.mark.parametrize("case", cases("conversions.json"), ids=str)
def test_O8_conversions_match_the_table(case: Dict[str, Any]) -> None:
    mapping: wherry.Mapping[Any] = wherry.Mapping(dataclass_of([["a", "a", case["type"]]]))
    item = mapping.read({"a": case["value"]})
    problems = mapping.problems({"a": case["value"]})
    if "gives" in case:
        gives = float(case["gives"]) if case["type"] == "number" else case["gives"]
        assert plain(item) == {"a": gives}
        assert problems == []
        if isinstance(case["gives"], int):  # Exact; no float equals an int.
            assert type(item.a) is (float if case["type"] == "number" else type(case["gives"]))
    else:
        assert item.a is MISSING
        assert [one.kind for one in problems] == ([case["problem"]] if "problem" in case else [])


@pytest.mark.parametrize(
    "case",
    [one for one in cases("item-mapping.json") if len({f[0] for f in one["fields"]}) == len(one["fields"])],
    ids=lambda case: case["about"],
)
def test_O7_field_mappings_match_the_table(case: Dict[str, Any]) -> None:
    mapping: wherry.Mapping[Any] = wherry.Mapping(dataclass_of(case["fields"]))
    before = mapping._type(**case.get("before", {}))
    assert plain(mapping.update(before, case["json"])) == case["record"]
    assert [[one.path, one.kind] for one in mapping.problems(case["json"])] == case["problems"]
    if case["problems"]:
        with pytest.raises(wherry.DecodeError) as caught:
            mapping.read(case["json"], strict=True)
        assert caught.value.reason == "bad_json_body"
        assert ": ".join(case["problems"][0]) in str(caught.value)
    else:
        assert plain(mapping.read(case["json"], strict=True)) == case["record"]


@dataclass
class Author:
    name: str


@dataclass
class Named:
    title: str


@dataclass
class Book(Named):
    year: int = field(default=0, metadata=wherry.at("published/year"))
    price: float = 0.0
    authors: List[Author] = field(default_factory=list)
    owner: Optional[Author] = None
    rest: Dict[str, Any] = field(default_factory=dict)


def test_O7_dataclasses_support_bases_lists_and_optional_fields() -> None:
    mapping = wherry.Mapping(Book)
    book = mapping.read(
        {
            "title": 1984, "published": {"year": "1949"}, "price": 12, "rest": {"a": [1]},
            "authors": [{"name": "Orwell"}], "owner": {"name": "Skye"},
        }
    )  # fmt: skip
    assert book == Book("1984", 1949, 12.0, [Author("Orwell")], Author("Skye"), {"a": [1]})
    assert isinstance(book.price, float)
    assert mapping.read(b'{"title": "x", "owner": ""}') == Book("x")
    assert mapping.update(book, {"price": "1.5"}).price == 1.5
    assert mapping.update(book, {"price": "1.5"}).title == "1984"


def test_O7_a_missing_field_without_a_default_is_reported() -> None:
    mapping = wherry.Mapping(Book)
    with pytest.raises(wherry.DecodeError, match="title: missing"):
        mapping.read({})
    with pytest.raises(wherry.DecodeError, match="authors/0/name: null"):
        mapping.read({"title": "x", "authors": [{"name": None}]})
    with pytest.raises(wherry.ArgumentError):
        mapping.read(b"{")


@dataclass
class Tree:
    branches: List[Tree] = field(default_factory=list)


def test_O7_types_without_a_JSON_form_are_refused() -> None:
    @dataclass
    class Wrong:
        a: bytes = b""

    with pytest.raises(TypeError, match="Wrong.a"):
        wherry.Mapping(Wrong)
    with pytest.raises(TypeError, match="Tree contains itself"):
        wherry.Mapping.of(Tree)
    with pytest.raises(TypeError, match="dataclass"):
        wherry.Mapping(int)


def base(server: Server) -> str:
    """The test's own part of the server."""
    return f"{server.base}/@{server.key}/"


def endpoint(client: wherry.Client, server: Server, path: str, method: str = "GET") -> wherry.Endpoint:
    return wherry.Endpoint(client, base(server), path, method)


@pytest.mark.parametrize("case", cases("server-urls.json"), ids=str)
def test_O1_server_URLs_match_the_table(case: Dict[str, Any]) -> None:
    mock = wherry.MockTransport()
    mock.add(None, "*")
    with wherry.Client(transport=mock) as client:
        if "error" in case:
            with pytest.raises(wherry.ArgumentError) as caught:
                wherry.Endpoint(client, case["server"], case["path"])
            assert caught.value.reason == case["error"]
        else:
            with wherry.Endpoint(client, case["server"], case["path"], "GET") as one:
                one.access()
            assert mock.requests[0].url in (case["url"], case["url"] + "/")


def test_O1_parameters_and_files_form_a_multipart_body(
    server: Server,
    client: wherry.Client,
) -> None:
    with wherry.Endpoint(client, base(server), "echo", files={"f": b"content"}) as one:
        told = one.access(a=1).json()
    assert {part["name"] for part in told["parts"]} == {"f", "a"}
    with wherry.Endpoint(client, base(server), "echo") as one:
        assert one.access({"a": 1}).json()["json"] == {"a": 1}
        assert one.refresh().json()["json"] == {"a": 1}


def test_O2_a_new_access_cancels_the_previous_one_with_reason_replaced(
    server: Server, client: wherry.Client, threads: ThreadPoolExecutor
) -> None:
    with endpoint(client, server, "faulty-echo?gate=g&gate_times=1") as one:
        assert one.state == "none"
        first = threads.submit(one.access, {"n": 1})
        server.wait(requests=1)
        assert one.state == "running"
        assert "n=2" in one.access(n=2).json()["target"]
        error = first.exception()
        assert isinstance(error, wherry.CancelledError) and error.reason == "replaced"
        assert one.state == "done"
        assert one.response is not None and "n=2" in one.response.text


def test_O2_an_access_can_be_cancelled_and_can_fail(
    server: Server, client: wherry.Client, threads: ThreadPoolExecutor
) -> None:
    with endpoint(client, server, "silent") as one:
        one.cancel()
        access = threads.submit(one.access)
        server.wait(requests=1)
        one.cancel()
        error = access.exception()
        assert isinstance(error, wherry.CancelledError) and error.reason == "cancelled"
        assert one.state == "cancelled"
    with endpoint(client, server, "status/404?body=no") as one:
        with pytest.raises(wherry.HTTPStatusError):
            one.access()
        assert one.state == "failed"
        assert one.response is not None and one.response.text == "no"
    with pytest.raises(wherry.StateError):
        one.access()


def test_O3_O4_one_body_has_three_views_and_its_times(
    server: Server,
    client: wherry.Client,
) -> None:
    with endpoint(client, server, 'json?value={"a":[1]}&delay_ms=30') as one:
        with pytest.raises(wherry.StateError):
            one.json()
        answer = one.access()
        assert one.timing.parse == 0
        assert one.json() == answer.json() == {"a": [1]}
        assert answer.content == answer.text.encode()
        times = one.timing
        assert times.started > 0 and times.first_byte >= 0.03
        assert times.total >= times.network - 0.002 and times.network >= times.first_byte
        assert times.queued + times.lookup + times.connect + times.tls <= times.first_byte + 0.002


def test_O2_async_accesses_replace_each_other(server: Server) -> None:
    async def work() -> None:
        async with wherry.AsyncClient() as client:
            url = base(server)
            async with wherry.AsyncEndpoint(client, url, "faulty-echo?gate=g&gate_times=1", "GET") as one:
                first = asyncio.ensure_future(one.access(n=1))
                await asyncio.get_running_loop().run_in_executor(None, lambda: server.wait(requests=1))
                assert "n=2" in (await one.access(n=2)).json()["target"]
                with pytest.raises(wherry.CancelledError) as caught:
                    await first
                assert caught.value.reason == "replaced"
                assert "n=2" in (await one.refresh()).json()["target"]
                assert one.json()["method"] == "GET"

    asyncio.run(work())


def test_O5_two_concurrent_loads_send_one_request(
    server: Server, client: wherry.Client, threads: ThreadPoolExecutor
) -> None:
    order: List[str] = []
    with endpoint(client, server, 'json?value={"data":{"title":"x"}}&gate=g') as one:
        model = wherry.Model(one, Book, "data", did_read=lambda book: order.append(book.title))
        first = threads.submit(model.load)
        server.wait(requests=1)
        second = threads.submit(model.load)
        while model._load is not None and not second.running():
            pass
        server.open_gate("g")
        assert first.result() == second.result() == Book("x") == model.value
        assert order[0] == "x"
        # The second request may arrive after the first got its response.
        assert len(server.log()) == len(order)


def test_O5_concurrent_async_loads_send_one_request_and_a_failure_keeps_the_value(
    server: Server,
) -> None:
    server.script("book", [{"json": {"title": "x"}}, {"json": {}}, {"status": 500}])

    async def work() -> None:
        async with wherry.AsyncClient() as client:
            async with wherry.AsyncEndpoint(client, base(server), "s/book", "GET") as one:
                model = wherry.AsyncModel(one, Book)
                both = await asyncio.gather(model.load(), model.load())
                assert list(both) == [Book("x"), Book("x")]
                assert len(server.log()) == 1
                with pytest.raises(wherry.DecodeError) as caught:
                    await model.load()
                assert caught.value.response is not None
                with pytest.raises(wherry.HTTPStatusError):
                    await model.load()
                assert model.value == Book("x")

    asyncio.run(work())


def test_O3_a_model_may_keep_raw_JSON(server: Server, client: wherry.Client) -> None:
    with endpoint(client, server, 'json?value={"a":[1,18446744073709551615]}') as one:
        model: wherry.Model[Any] = wherry.Model(one, at="a/1")
        assert model.load() == 18446744073709551615


def test_O3_a_model_may_read_any_form_of_a_response(server: Server, client: wherry.Client) -> None:
    with endpoint(client, server, "bytes/1000") as one:
        assert wherry.Model(one, read=lambda answer: len(answer.content)).load() == 1000


def test_O16_a_base_item_ignores_missing_and_unknown_fields() -> None:
    @dataclass
    class Place(wherry.BaseItem):
        identifier: str = field(default="", metadata=wherry.at("id"))
        image: Optional[str] = field(default=None, metadata=wherry.at("pictures/0"))

    json = {"id": 7, "title": "Skye", "pictures": ["https://example.org/a.jpg"]}
    place = wherry.Mapping.of(Place).read(json)
    assert place == Place("7", "Skye", image="https://example.org/a.jpg")
    assert wherry.Mapping.of(wherry.BaseItem).read([]) == wherry.BaseItem()


@pytest.mark.parametrize("case", cases("sections.json"), ids=lambda case: str(case["about"]))
def test_O15_sectioned_lists_match_the_table(case: Dict[str, Any]) -> None:
    def section(header: str, footer: str, items: List[Any]) -> wherry.Section[Any]:
        return wherry.Section(items, header, footer)

    made = wherry.SectionedList(section(*one) for one in case["start"])
    verbs: Dict[str, Any] = {
        "append": lambda at, items: made.extend(items, at),
        "insert": made.insert,
        "remove": made.remove,
        "replace": made.replace,
        "insert_section": lambda at, *rest: made.insert_section(at, section(*rest)),
        "replace_section": lambda at, *rest: made.replace_section(at, section(*rest)),
        "remove_section": made.remove_section,
        "remove_all": made.clear,
    }

    def told(change: wherry.ListChange) -> List[Any]:
        at = [] if change.section < 0 else [change.section]
        range = [] if change.kind == "reload_all" else [change.indices.start, len(change.indices)]
        return [change.kind, *at, *range]

    for step in case["steps"]:
        verb, *arguments = step["do"]
        assert [told(change) for change in verbs[verb](*arguments)] == step["changes"], step
    assert [[one.header, one.footer, one.items] for one in made.sections] == case["sections"]
    for at, (header, footer, _) in enumerate(case["sections"]):
        assert (made.header(at), made.footer(at)) == (header or None, footer or None)


def test_O15_an_index_out_of_range_is_an_error() -> None:
    items = wherry.SectionedList([wherry.Section([1, 2], header="A"), wherry.Section(footer="end")])
    assert items.item(0, 1) == 2
    for section, row in [(0, 2), (0, -1), (1, 0), (2, 0), (-1, 0)]:
        assert items.item(section, row) is None
    assert [items.row_count(section) for section in (0, 1, 2, -1)] == [2, 0, 0, 0]
    assert (items.header(0), items.footer(0)) == ("A", None)
    assert (items.header(1), items.footer(1), items.footer(9)) == (None, "end", None)
    empty: wherry.SectionedList[int] = wherry.SectionedList()
    assert [one.kind for one in empty.append(7)] == ["insert_sections", "insert_rows"]
    assert empty.item(0, 0) == 7
    assert empty.clear() == [wherry.ListChange("reload_all")]
    assert len(empty.sections) == 1 and len(empty) == 0
    assert items.insert(0, 3, [1]) == items.remove(0, 2) == items.replace(5, 0, 1) == []
    assert items.insert_section(3, wherry.Section()) == items.remove_section(-1) == []


def test_O15_the_sample_of_the_documentation_works(capsys: Any) -> None:
    # guide: begin sections
    islands = wherry.Section(["Skye", "Mull"], header="Islands")
    places = wherry.SectionedList([islands, wherry.Section(header="Towns")])
    for change in places.insert(1, 0, ["Oban", "Portree"]) + places.remove(0, 1):
        print(change.kind, change.section, list(change.indices))
    print(places.header(1), places.item(1, 0), places.row_count(0))
    # guide: end sections
    assert capsys.readouterr().out.splitlines() == [
        "insert_rows 1 [0, 1]", "remove_rows 0 [1]", "Towns Oban 1",
    ]  # fmt: skip


def test_O15_a_follower_of_the_changes_has_the_same_list() -> None:
    numbers = random.Random(42)
    items: wherry.SectionedList[int] = wherry.SectionedList()
    view: List[List[int]] = []
    for step in range(3000):
        section, row = numbers.randrange(-1, 3), numbers.randrange(-1, 5)
        changes = [
            lambda: items.append(step),
            lambda: items.extend([step, -step], section),
            lambda: items.insert(section, row, [step]),
            lambda: items.remove(section, row, 2),
            lambda: items.replace(section, row, step),
            lambda: items.insert_section(section, wherry.Section([step])),
            lambda: items.remove_section(section),
            lambda: items.replace_section(section, wherry.Section([step, step])),
            lambda: items.clear() if step % 97 == 0 else items.append_section(wherry.Section()),
        ][numbers.randrange(9)]()
        filled = {one.section for one in changes if one.kind == "insert_rows"}
        for one in changes:
            rows = items.sections[one.section].items if one.section >= 0 else []
            at = one.indices
            if one.kind == "insert_rows":
                view[one.section][at.start : at.start] = rows[at.start : at.stop]
            elif one.kind == "remove_rows":
                del view[one.section][at.start : at.stop]
            elif one.kind == "reload_rows":
                view[one.section][at.start : at.stop] = rows[at.start : at.stop]
            elif one.kind == "insert_sections":
                new = [] if at.start in filled else list(items.sections[at.start].items)
                view.insert(at.start, new)
            elif one.kind == "remove_sections":
                del view[at.start]
            elif one.kind == "reload_sections":
                view[at.start] = list(items.sections[at.start].items)
            else:
                view = [list(section.items) for section in items.sections]
        assert view == [section.items for section in items.sections], step
