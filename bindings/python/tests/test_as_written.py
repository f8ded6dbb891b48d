# Wherry: forms, headers, queries, and credentials are sent in the caller's order and as written
# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import asyncio
import io
import pickle
from typing import Any, Dict, List

import pytest
from conftest import Server, field

import wherry

PIXEL: Any = memoryview(bytes(3)).cast("B", (1, 1, 3))


def names(answer: wherry.Response) -> List[str]:
    return [part["name"] for part in answer.json()["parts"]]


# S3 ignores form fields after a file. They were sent in keyword order, and sorted.
@pytest.mark.parametrize("fields_first", [True, False])
def test_form_fields_precede_files_in_the_order_of_the_caller(
    server: Server, client: wherry.Client, fields_first: bool
) -> None:
    data: Dict[str, Any] = {"key": "k", "policy": "p", "acl": ["a", "b"]}
    files: List[Any] = [("file", ("f", b"1")), ("caption", (None, "c")), ("a", io.BytesIO(b"2"))]
    keywords: Dict[str, Any] = {"data": data, "files": files}
    if not fields_first:
        keywords = {"files": files, "data": data}

    answer = client.post(server.url("/echo"), **keywords)

    assert names(answer) == ["key", "policy", "acl", "acl", "file", "caption", "a"]
    assert names(asyncio.run(posted(server, keywords))) == names(answer)


async def posted(server: Server, keywords: Dict[str, Any]) -> wherry.Response:
    async with wherry.AsyncClient() as client:
        return await client.post(server.url("/echo"), **keywords)


def test_upload_fields_precede_images_in_the_order_of_the_caller(server: Server, client: wherry.Client) -> None:
    fields = {"z": "1", "y": {"d": 1, "c": 2}, "raw": b"\xff", "b": "2", "a": "3"}

    answer = client.upload(server.url("/echo"), PIXEL, fields=fields)

    assert names(answer) == ["z", "y[d]", "y[c]", "raw", "b", "a", "image0"]


@pytest.mark.parametrize("data", ["text", b"bytes", io.BytesIO(b"file"), iter([b"pieces"])])
def test_a_text_body_together_with_files_is_refused(server: Server, client: wherry.Client, data: Any) -> None:
    # The text was dropped silently.
    with pytest.raises(wherry.ArgumentError, match="data= with files= must be a form") as caught:
        client.post(server.url("/echo"), data=data, files={"a": b"1"})
    assert caught.value.reason == "bad_argument" and server.log() == []
    assert client.post(server.url("/echo"), data="text", files={}).json()["size"] == 4


def test_repeated_headers_are_all_sent(server: Server, client: wherry.Client) -> None:
    own = [("X-Own", "1"), ("x-own", "2"), ("X-Other", "3")]
    with wherry.Client(headers=[("X-Client", "1"), ("X-Client", "2")]) as twice:
        told = twice.get(server.url("/echo"), headers=own).json()
        assert field(told, "X-Client") == ["1", "2"] and field(told, "X-Own") == ["1", "2"]
        assert twice.headers["x-client"] == "1, 2" and twice.headers.get_list("X-Client") == ["1", "2"]
        twice.headers.add("X-Client", "3")
        twice.headers["X-New"] = "4"
        copy = pickle.loads(pickle.dumps(twice))
        with copy:
            assert copy.headers == twice.headers
            told = copy.get(server.url("/echo")).json()
        assert field(told, "X-Client") == ["1", "2", "3"] and field(told, "X-New") == ["4"]
        twice.headers["X-Client"] = "one"
        told = twice.get(server.url("/echo"), headers={"X-New": "request"}).json()
        assert field(told, "X-Client") == ["one"] and field(told, "X-New") == ["request"]


def test_a_request_function_sees_and_adds_repeated_headers(server: Server, client: wherry.Client) -> None:
    def sign(request: wherry.Request) -> None:
        assert request.headers.get_list("X-Own") == ["1", "2"]
        request.headers.add("X-Own", "3")
        request.add_params("a+b")

    answer = client.get(server.url("/echo"), headers=[("X-Own", "1"), ("X-Own", "2")], params="q=%E4", adapt=sign)

    assert field(answer.json(), "X-Own") == ["1", "2", "3"]
    assert answer.json()["target"].endswith("q=%E4&a+b")


@pytest.mark.parametrize(
    ("of_client", "of_request", "query"),
    [
        ("a=b", None, "a=b"), (b"a+b&q=%E4", None, "a+b&q=%E4"), ("a=1&b=2", {"a": 3}, "b=2&a=3"),
        ({"a": 1, "b": None}, "a=%E4", "b=&a=%E4"), ([("a", 1), ("a", 2)], "b", "a=1&a=2&b"),
    ],
)  # fmt: skip
def test_a_client_accepts_params_in_every_form(server: Server, of_client: Any, of_request: Any, query: str) -> None:
    with wherry.Client(params=of_client) as client:
        told = client.get(server.url("/echo"), params=of_request).json()
        with pickle.loads(pickle.dumps(client)) as copy:
            again = copy.get(server.url("/echo"), params=of_request).json()

    assert told["target"].partition("&")[2] == query == again["target"].partition("&")[2]


def test_params_given_as_text_are_part_of_the_cache_key_and_can_be_ignored(
    server: Server, client: wherry.Client
) -> None:
    for params in ("a=1&time=1", "a=1&time=2", "a=%31&time=2"):
        client.get(server.url("/echo"), params=params, cache=60, cache_ignore=["time"])

    assert len(server.log()) == 2


def test_credentials_are_encoded_by_RFC_7617(server: Server, client: wherry.Client) -> None:
    for auth, sent in (
        (("test", "123£"), "Basic dGVzdDoxMjPCow=="),  # The example in the RFC.
        ((b"test", b"123\xa3"), "Basic dGVzdDoxMjOj"),
        (("Aladdin", "open:sesame"), "Basic QWxhZGRpbjpvcGVuOnNlc2FtZQ=="),
        (("", ""), "Basic Og=="),
    ):
        assert field(client.get(server.url("/echo"), auth=auth).json(), "Authorization") == [sent]


@pytest.mark.parametrize("auth", [("a:b", "c"), ("a\n", "c"), ("a", "c\x7f"), ("\ud800", "c")])
def test_credentials_that_Basic_cannot_encode_are_refused(auth: Any, client: wherry.Client) -> None:
    for use in (
        lambda: wherry.Basic(*auth), lambda: wherry.Client(auth=auth),
        lambda: client.get("http://h/", auth=auth), lambda: client.configure(auth=auth),
    ):  # fmt: skip
        with pytest.raises(wherry.ArgumentError, match="auth=") as caught:
            use()
        assert caught.value.reason == "bad_value"


def test_None_is_not_a_valid_credential(client: wherry.Client) -> None:
    # Bearer(None) was sent as "Bearer None".
    nothing: Any = None
    wrongs: List[Any] = [
        lambda: wherry.Bearer(nothing),
        lambda: wherry.Basic("a", nothing),
        lambda: client.get("http://h/", auth=(nothing, "b")),
        lambda: wherry.Bearer(nothing),
    ]
    for wrong in wrongs:
        with pytest.raises(TypeError, match="auth="):
            wrong()
    for token in ("", "a b", "a\r\nb"):
        with pytest.raises(wherry.ArgumentError):
            wherry.Bearer(token)
