# Wherry: row R36 of features.md: server-sent events
# SPDX-License-Identifier: Apache-2.0
"""Events from streams, for any chunk boundaries."""

from __future__ import annotations

import asyncio
import base64
from typing import Any, Dict, List

import pytest
from conftest import Server
from test_scenarios import cases

import wherry
from wherry._core.response.server_events import ServerEvents


def expected(case: Dict[str, Any]) -> List[wherry.ServerEvent]:
    return [wherry.ServerEvent(**event) for event in case["events"]]


@pytest.mark.parametrize("case", cases("server-events.json"), ids=lambda case: repr(case["text"]))
def test_R36_events_match_the_table_for_any_chunk_boundaries(case: Dict[str, Any]) -> None:
    text = case["text"].encode()
    for cut in range(len(text) + 1):
        parser = ServerEvents(1 << 20)
        assert [*parser.feed(text[:cut]), *parser.feed(text[cut:])] == expected(case), cut
        assert parser.retry == (case["retry"] / 1000 if "retry" in case else None)
    parser = ServerEvents(1 << 20)
    found = [event for byte in text for event in parser.feed(bytes([byte]))]
    assert found == expected(case)


def test_R36_data_may_contain_nuls() -> None:
    text = "a\0" + "b" * 1000

    found = list(ServerEvents(1 << 20).feed(f"data: {text}\n\n".encode()))

    assert found == [wherry.ServerEvent(text)]


def test_R36_5000_events_are_parsed_for_a_cut_at_every_offset() -> None:
    whole = [wherry.ServerEvent(f"number {n}\nthrée 天", "tick", str(n)) for n in range(5000)]
    text = "".join(f"event: tick\r\nid: {n}\r\ndata: number {n}\ndata: thrée 天\n\n" for n in range(5000)).encode()
    for size in range(1, 65):
        parser = ServerEvents(1 << 20)
        found: List[wherry.ServerEvent] = []
        for start in range(0, len(text), size):
            found += parser.feed(text[start : start + size])
        assert found == whole, size


def test_R36_an_event_over_the_limit_is_an_error() -> None:
    assert len(list(ServerEvents(9).feed(b"data: abc\n\n"))) == 1
    for text in (b"data: abcdefgh\n\n", b"data: abc\ndata: abc\ndata: abc\n\n", b": no end of it"):
        with pytest.raises(wherry.LimitError) as caught:
            list(ServerEvents(7).feed(text))
        assert caught.value.reason == "too_large"
    for limit in (0, -1):
        with pytest.raises(wherry.ArgumentError):
            ServerEvents(limit)


def test_R36_events_before_an_oversized_one_are_delivered_for_any_chunk_boundaries() -> None:
    text = b"data: one\n\ndata: two\n\ndata: " + b"x" * 200
    for size in (1, 10, len(text)):
        parser = ServerEvents(100)
        found: List[wherry.ServerEvent] = []
        with pytest.raises(wherry.LimitError):
            for start in range(0, len(text), size):
                for event in parser.feed(text[start : start + size]):
                    found.append(event)
        assert found == [wherry.ServerEvent("one"), wherry.ServerEvent("two")], size


def test_R36_a_retry_time_that_overflows_is_ignored() -> None:
    parser = ServerEvents(1 << 20)
    assert list(parser.feed(b"retry: " + b"9" * 5000 + b"\ndata: a\n\n")) == [wherry.ServerEvent("a")]
    assert parser.retry is None


def test_R36_a_stream_yields_events(server: Server, client: wherry.Client) -> None:
    text = "data: one\n\nevent: tick\nid: 1\ndata: thrée\n\n".encode()
    halves = [text[:31], text[31:]]
    server.script(
        "events",
        [{"raw": [
            ["send", f"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nContent-Length: {len(text)}\r\n\r\n"],
            *[["send_base64", base64.b64encode(half).decode()] for half in halves],
            ["keep"],
        ]}] * 2,
    )  # fmt: skip
    whole = [wherry.ServerEvent("one"), wherry.ServerEvent("thrée", "tick", "1")]
    with client.stream("GET", server.url("/s/events")) as answer:
        assert list(answer.iter_events()) == whole

    async def work() -> List[wherry.ServerEvent]:
        async with wherry.AsyncClient() as other:
            async with other.stream("GET", server.url("/s/events")) as answer:
                return [event async for event in answer.aiter_events()]

    assert asyncio.run(work()) == whole
