# Wherry: responses created by a program
# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import asyncio
import io
import pickle
from typing import Any, AsyncIterator, Dict

import pytest

import wherry


async def pieces() -> AsyncIterator[bytes]:
    yield b"a"
    yield b"b"


@pytest.mark.parametrize(
    ("options", "body", "kind"),
    [
        ({}, b"", None), ({"content": b"\x00"}, b"\x00", None), ({"content": "ä"}, "ä".encode(), None),
        ({"content": bytearray(b"ab")}, b"ab", None), ({"text": "ä"}, "ä".encode(), "text/plain; charset=utf-8"),
        ({"html": "<p>"}, b"<p>", "text/html; charset=utf-8"), ({"json": {"a": [1]}}, b'{"a":[1]}', "application/json"),
        ({"stream": [b"a", "b"]}, b"ab", None), ({"content": (p for p in (b"a", b"b"))}, b"ab", None),
        ({"content": io.BytesIO(b"ab")}, b"ab", None),
    ],
    ids=lambda one: ",".join(one) if isinstance(one, dict) else "",
)  # fmt: skip
def test_a_response_is_created_from_keywords_as_in_httpx(options: Dict[str, Any], body: bytes, kind: Any) -> None:
    made = wherry.Response(201, **options)
    assert (made.status_code, made.headers.get("content-type")) == (201, kind)
    assert made.content == made.read() == body == made.content
    assert made.text == body.decode() and b"".join(made.iter_bytes(1)) == body
    assert pickle.loads(pickle.dumps(made)).content == body
    assert asyncio.run(wherry.Response(201, content=body).aread()) == body
    assert (made.url, made.history, made.ok) == ("", [], True)


def test_explicit_headers_of_a_created_response_override_those_derived_from_its_body() -> None:
    made = wherry.Response(200, headers={"content-type": "text/x"}, text="abc")
    assert made.headers.multi_items() == [("content-type", "text/x"), ("Content-Length", "3")]
    twice = wherry.Response(headers=[("Set-Cookie", "a=1"), ("Set-Cookie", "b=2")])
    assert twice.cookies.get_dict() == {"a": "1", "b": "2"} and twice.status_code == 200
    again = wherry.Response(404, headers=twice.headers)
    assert again.headers.get_list("set-cookie") == ["a=1", "b=2"]
    with pytest.raises(wherry.HTTPStatusError):
        again.raise_for_status()


def test_asynchronous_chunks_need_a_coroutine() -> None:
    made = wherry.Response(200, content=pieces())
    with pytest.raises(wherry.StateError, match="aread"):
        made.content
    assert asyncio.run(made.aread()) == b"ab" == made.content


@pytest.mark.parametrize(
    ("options", "kind"),
    [
        ({"text": "a", "json": 1}, wherry.ArgumentError), ({"content": 5}, TypeError), ({"content": {}}, TypeError),
        ({"headers": {"A": "b\nc"}}, wherry.ArgumentError), ({"headers": {"": "b"}}, wherry.ArgumentError),
        ({"headers": {"A": 5}}, TypeError), ({"json": object()}, wherry.ArgumentError), ({"headers": 5}, TypeError),
    ],
    ids=lambda one: ",".join(one) if isinstance(one, dict) else "",
)  # fmt: skip
def test_an_invalid_response_is_refused(options: Dict[str, Any], kind: Any) -> None:
    with pytest.raises(kind):
        wherry.Response(200, **options)


def test_an_unknown_encoding_is_refused_when_it_is_set() -> None:
    # It was a LookupError of `text`, later.
    answer = wherry.Response(200, content="é".encode("latin-1"), headers={"Content-Type": "text/plain"})
    answer.encoding = "latin-1"
    assert answer.text == "é"
    wrong: Any
    for wrong in ("nope", "hex", "a\0"):
        with pytest.raises(wherry.ArgumentError, match="encoding is not a known charset"):
            answer.encoding = wrong
    wrong = 5
    with pytest.raises(TypeError, match="encoding takes the name of a charset or None, not 5"):
        answer.encoding = wrong
    assert answer.encoding == "latin-1"
    nothing: Any = None
    answer.encoding = nothing
    assert answer.encoding == "utf-8" and answer.text == "\ufffd"


def test_a_status_that_is_no_number_is_an_error_with_a_name() -> None:
    wrong: Any
    for wrong in ("abc", None, 200.5):
        with pytest.raises((wherry.ArgumentError, TypeError), match="status_code="):
            wherry.Response(wrong)


def test_an_error_status_without_a_URL_ends_its_message_with_the_reason() -> None:
    with pytest.raises(wherry.HTTPStatusError) as caught:
        wherry.Response(500).raise_for_status()
    assert caught.value.message == "500 Internal Server Error"
