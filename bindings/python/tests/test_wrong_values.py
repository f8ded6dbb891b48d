# Wherry: an error for a wrong value names the keyword, the value, and what the keyword accepts
# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import asyncio
import io
from typing import Any, AsyncIterator, Callable, Iterator, Tuple

import pytest
from conftest import Server

import wherry

URL = "http://api.test/x"
NAN = float("nan")


class Thing:
    """An object of no use as a value."""


def chunks() -> Iterator[bytes]:
    yield b"a"


PAIRS = "a mapping or pairs"
PARTS = "(name, content[, type[, headers]])"
CONTENT = "bytes, str, a path, a file, or a tuple"
TIMEOUT = "a number of seconds, a pair (connect, idle) of them, a Timeout, or None"
LIMITS = "more than 0 and at most 9e12 seconds, or None for no limit"
AUTH = "(user, password), Basic, Bearer, DigestAuth, Auth, or a function"
JAR = "a mapping, pairs, or a jar"
VERIFY = "True, False, the path of a CA file or folder, or PEM bytes"
CERT = "a path, (certificate, key) or (certificate, key, password)"

# The functions make a new value for each test: iterators can be used only once.
WRONG: Tuple[Tuple[str, Callable[[], Any], str, str], ...] = (
    ("files", lambda: [1, 2], PAIRS, "item 0 is of type int"),
    ("files", lambda: ["ab", "cd"], PAIRS, "item 0 is of type str"),
    ("files", lambda: [None], PAIRS, "item 0 is None"),
    ("files", lambda: [{"a": b"x"}], PAIRS, "item 0 is of type dict"),
    ("files", lambda: [("a", b"x"), ("a",)], PAIRS, "item 1 has 1 value"),
    ("files", lambda: [("a", b"x", "y")], PAIRS, "item 0 has 3 values"),
    ("files", chunks, PAIRS, "item 0 is of type bytes"),
    ("files", lambda: b"abc", PAIRS, "not bytes"),
    ("files", lambda: "abc", PAIRS, "not str"),
    ("files", lambda: io.BytesIO(b"x"), PAIRS, "item 0 is of type bytes"),
    ("files", lambda: 5, PAIRS, "not int"),
    ("files", Thing, PAIRS, "not Thing"),
    ("files", lambda: {"a": 5}, CONTENT, "'a', not int"),
    ("files", lambda: {"a": [b"x"]}, CONTENT, "'a', not list"),
    ("files", lambda: {"a": chunks()}, CONTENT, "'a', not generator"),
    ("files", lambda: {"a": ("n", 5)}, CONTENT, "'a', not int"),
    ("files", lambda: {"a": ()}, PARTS, "'a', not a tuple of length 0"),
    ("files", lambda: {"a": (5, b"x")}, PARTS, "not 5"),
    ("files", lambda: {"a": ("n", b"x", 5)}, PARTS, "not 5"),
    ("files", lambda: {"a": ("n", b"x", None, 5)}, PAIRS, "not int"),
    ("files", lambda: {5: b"x"}, "str for the name of a field", "not 5"),
    ("data", lambda: 5, "bytes, str, a file, a path, or an iterator of bytes", "int cannot"),
    ("data", Thing, "bytes, str, a file, a path, or an iterator of bytes", "Thing cannot"),
    ("data", lambda: {1, 2}, "bytes, str, a file, a path, or an iterator of bytes", "set cannot"),
    ("data", lambda: [1, 2], "must be bytes or str", "not int"),
    ("data", lambda: iter([1, 2]), "must be bytes or str", "not int"),
    ("data", lambda: [("a",)], PAIRS, "item 0 has 1 value"),
    ("data", lambda: {"a": Thing()}, "must have a text form", "Thing"),
    ("data", lambda: {"a": {"b": 1}}, "must have a text form", "dict"),
    ("data", lambda: {"a": io.BytesIO()}, "must have a text form", "BytesIO"),
    ("data", lambda: {"a": len}, "must have a text form", "builtin_function"),
    ("content", lambda: 5, "bytes, str, a file, a path, or an iterator of bytes", "int cannot"),
    ("content", lambda: {"a": 1}, "as data=, or any value as json=", "dict cannot"),
    ("content", lambda: [1], "must be bytes or str", "not int"),
    ("content", lambda: iter([None]), "must be bytes or str", "not NoneType"),
    ("json", Thing, "as JSON", "Thing"),
    ("headers", lambda: 5, PAIRS, "not int"),
    ("headers", lambda: "X: y", PAIRS, "not str"),
    ("headers", lambda: ["X: y"], PAIRS, "item 0 is of type str"),
    ("headers", lambda: [("X", "y", "z")], PAIRS, "item 0 has 3 values"),
    ("headers", chunks, PAIRS, "item 0 is of type bytes"),
    ("headers", lambda: {"X": ["a"]}, "str", "'X', not list"),
    ("headers", lambda: {5: "x"}, "must be str", "not int"),
    ("headers", lambda: {"": "x"}, "", "has no name"),
    ("headers", lambda: {"X": b"\xff"}, "UTF-8", "not"),
    ("params", lambda: 5, PAIRS, "not int"),
    ("params", lambda: ["ab", "cd"], PAIRS, "item 0 is of type str"),
    ("params", lambda: {"ab"}, PAIRS, "not set"),
    ("params", lambda: bytearray(b"a=b"), PAIRS, "not bytearray"),
    ("params", chunks, PAIRS, "item 0 is of type bytes"),
    ("params", lambda: {"a": [{"b": 1}]}, "must have a text form", "dict"),
    ("parameters", lambda: [("a",)], PAIRS, "item 0 has 1 value"),
    ("auth", lambda: "user:password", AUTH, "not str"),
    ("auth", lambda: ["u", "p"], AUTH, "not list"),
    ("auth", lambda: ("u",), AUTH, "not a tuple of 1 value"),
    ("auth", lambda: ("u", "p", "x"), AUTH, "not a tuple of 3 values"),
    ("auth", lambda: ("u", None), "must be str or bytes", "not NoneType"),
    ("auth", lambda: wherry.Bearer, AUTH, "not the class Bearer"),
    ("auth", Thing, AUTH, "not Thing"),
    ("timeout", lambda: "5", TIMEOUT, "not '5'"),
    ("timeout", lambda: True, TIMEOUT, "not True"),
    ("timeout", lambda: (1,), TIMEOUT, "not (1,)"),
    ("timeout", lambda: (1, 2, 3, 4), TIMEOUT, "not (1, 2, 3, 4)"),
    ("timeout", lambda: [1, 2], TIMEOUT, "not [1, 2]"),
    ("timeout", lambda: (1, "x"), TIMEOUT, "not 'x'"),
    ("timeout", lambda: (True, 1), TIMEOUT, "not True"),
    ("timeout", lambda: 0, LIMITS, "not 0"),
    ("timeout", lambda: -1, LIMITS, "not -1"),
    ("timeout", lambda: (1, -2), LIMITS, "not -2"),
    ("timeout", lambda: NAN, LIMITS, "not nan"),
    ("timeout", lambda: float("inf"), LIMITS, "not inf"),
    ("cookies", lambda: 5, JAR, "not int"),
    ("cookies", lambda: "a=b", JAR, "not str"),
    ("cookies", lambda: ["ab"], PAIRS, "item 0 is of type str"),
    ("cookies", lambda: [("a", "b", "c")], PAIRS, "item 0 has 3 values"),
    ("cookies", lambda: [{"name": "a", "value": "b"}], PAIRS, "item 0 is of type dict"),
    ("cookies", lambda: {"a": ["x"]}, "text", "not list"),
    ("cookies", lambda: {"a": {"b": 1}}, "text", "not dict"),
    ("cookies", lambda: {"a": "x;y"}, "", "semicolon"),
    ("hooks", lambda: 5, "a dictionary of functions", "not int"),
    ("hooks", lambda: {"response": 5}, "functions for 'response'", "not int"),
    ("max_retries", Thing, "a whole number", "Thing object"),
    ("max_retries", lambda: 1.5, "a whole number", "not 1.5"),
    ("accept_status", lambda: 404, "statuses such as (404, 410)", "not 404"),
    ("accept_status", lambda: ["404"], "statuses such as (404, 410)", "not ['404']"),
    ("accept_status_range", lambda: ("a", "b"), "(lowest, highest) or a range", "not ('a', 'b')"),
    ("progress", lambda: 5, "a function", "not int"),
    ("on_cached", lambda: 5, "a function", "not int"),
    ("cache", lambda: "5", "a number of seconds", "not '5'"),
    ("cache_policy", lambda: ["use"], "one of off, use", "not ['use']"),
    ("cache_ignore", lambda: 5, "a name or several names", "not 5"),
    ("cache_version", lambda: "x", "a whole number", "not 'x'"),
    ("base", lambda: [5], "a name or several names", "not [5]"),
    ("http_version", lambda: ["2"], "'1.1' or '2'", "not ['2']"),
    ("body_digest", lambda: [], "one of none, md5", "not []"),
    ("wait_for_network", lambda: "x", "a number", "not 'x'"),
)


def kinds(row: Any) -> str:
    return f"{row[0]}-{row[3]}"


@pytest.mark.parametrize(("name", "make", "accepted", "given"), WRONG, ids=map(kinds, WRONG))
def test_an_error_for_a_wrong_value_of_a_request_names_keyword_value_and_what_is_accepted(
    mock: wherry.MockTransport, name: str, make: Callable[[], Any], accepted: str, given: str
) -> None:
    # Many were errors from deep inside, such as "not enough values to unpack", or the value was sent.
    mock.add(None, "http://api.test/*")

    with wherry.Client(transport=mock) as client:
        with pytest.raises((wherry.ArgumentError, TypeError)) as caught:
            client.post(URL, **{name: make()})
    for told in (f"{name}=", accepted, given):
        assert told in str(caught.value)
    assert hasattr(make(), "__next__") or not mock.requests  # An iterator is read while the request runs.

    async def main() -> None:
        async with wherry.AsyncClient(transport=mock) as client:
            with pytest.raises(type(caught.value)) as again:
                await client.post(URL, **{name: make()})
        assert f"{name}=" in str(again.value)

    asyncio.run(main())


CLIENTS: Tuple[Tuple[str, Any, str, str], ...] = (
    ("verify", None, VERIFY, "not None"), ("verify", 1, VERIFY, "not 1"), ("verify", [1], VERIFY, "not [1]"),
    ("verify", "/tmp/a\0b", "", "a NUL"),
    ("cert", 5, CERT, "not int"), ("cert", ("a",), CERT, "a tuple of length 1"),
    ("cert", ["a", "b"], CERT, "not list"), ("cert", (1, 2), "str, bytes or os.PathLike", "not int"),
    ("cert", {5: "a"}, "str or bytes", "not int"), ("cert", "/a.pem", "a base URL", "has no origin"),
    ("proxies", 5, "a mapping such as", "not int"), ("proxies", "http://p", "a mapping such as", "not str"),
    ("proxies", ["http://p"], "a mapping such as", "not list"),
    ("proxies", {5: "http://p"}, "schemes such as", "not 5"),
    ("proxies", {"http": 5}, "the URL of a proxy", "'http', not int"),
    ("proxies", {"http": "a b"}, "http://host:8080", '"a b"'), ("proxies", {"ftp": "http://p"}, "by scheme", "'ftp'"),
    ("proxy", 5, "str or bytes", "not int"), ("proxy_auth", 5, "(user, password)", "not int"),
    ("proxy_auth", (None, "x"), "(user, password)", "not tuple"), ("no_proxy", [5], "several names", "not [5]"),
    ("resolve", "a:b", "a mapping", "not str"), ("unix_socket", 5, "str, bytes or os.PathLike", "not int"),
    ("netrc", 5, "str, bytes or os.PathLike", "not int"),
    ("headers", "X: y", PAIRS, "not str"), ("headers", {"X": 5}, "str", "'X', not int"),
    ("headers", {5: "x"}, "str", "not int"), ("headers", ["X"], PAIRS, "item 0 is of type str"),
    ("params", ["ab"], PAIRS, "item 0 is of type str"), ("parameters", [1], PAIRS, "item 0 is of type int"),
    ("auth", "u:p", AUTH, "not str"), ("auth", wherry.Basic, AUTH, "the class Basic"),
    ("timeout", "5", TIMEOUT, "not '5'"), ("timeout", NAN, LIMITS, "not nan"),
    ("cookies", "a=b", 'True, False, "isolated", or a mapping', "not 'a=b'"),
    ("cookies", 5, 'True, False, "isolated", or a mapping', "not 5"), ("cookies", 1.5, JAR, "not float"),
    ("cookies", ["ab"], PAIRS, "item 0 is of type str"), ("cookies", {"a": 5}, "must be str", "'a' and int"),
    ("base_url", 5, "str or bytes", "not int"), ("bases", [1], "a mapping", "not list"),
    ("mounts", 5, "a mapping", "not int"), ("event_hooks", {"response": 5}, "functions", "not int"),
    ("transport", wherry.MockTransport, "handle_request(request)", "the class MockTransport"),
    ("pins", "x", "a mapping", "not str"), ("pins", {"a": 5}, "str, bytes or os.PathLike", "not int"),
    ("max_redirects", [], "a whole number", "not []"), ("https_only", "x", "a whole number", "not 'x'"),
    ("secret_names", 5, "several names", "not 5"), ("deny_addresses", 5, "several names", "not 5"),
    ("default_encoding", 5, "a charset or a function", "not 5"), ("config", 5, "str, bytes or os.PathLike", "not int"),
    ("user_agent", 5, "str or bytes", "not int"),
)  # fmt: skip


@pytest.mark.parametrize(("name", "value", "accepted", "given"), CLIENTS, ids=map(kinds, CLIENTS))
def test_an_error_for_a_wrong_value_of_a_client_names_keyword_value_and_what_is_accepted(
    name: str, value: Any, accepted: str, given: str
) -> None:
    with pytest.raises((wherry.ArgumentError, TypeError)) as caught:
        wherry.Client(**{name: value})
    message = str(caught.value)
    assert f"{name}=" in message or name == "event_hooks" and "hooks=" in message
    assert accepted in message and given in message


def test_a_wrong_value_of_a_live_setting_is_an_error_that_changes_nothing(client: wherry.Client) -> None:
    client.headers["X-A"] = "1"
    client.cookies["a"] = "b"
    wrong: Any
    for name, wrong, told in (
        ("headers", {"X": 5}, "headers= takes str for 'X', not int"), ("headers", "X: y", "not str"),
        ("cookies", ["ab"], "item 0 is of type str"), ("cookies", "a=b", "not str"),
        ("timeout", "5", "not '5'"), ("auth", "u:p", "not str"), ("params", 5, "not int"),
    ):  # fmt: skip
        with pytest.raises((TypeError, wherry.ArgumentError), match=told):
            setattr(client, name, wrong)
    with pytest.raises(TypeError, match="headers= takes str for 'X-B', not int"):
        client.headers["X-B"] = wrong
    assert dict(client.headers) == {"X-A": "1"} and client.cookies.get_dict() == {"a": "b"}


@pytest.mark.parametrize("name", ["files", "headers", "params", "cookies", "data"])
def test_an_item_that_is_no_pair_is_a_ValueError_as_in_requests(client: wherry.Client, name: str) -> None:
    options: Any = {name: [("a", "b", "c")]}
    with pytest.raises(ValueError) as caught:
        client.post(URL, **options)
    assert isinstance(caught.value, wherry.ArgumentError) and caught.value.reason == "bad_argument"


def test_an_error_that_names_a_keyword_keeps_its_reason_and_its_details() -> None:
    with pytest.raises(wherry.ArgumentError) as caught:
        wherry.Client(headers={"": "x"})
    error = caught.value
    assert error.reason == "bad_header" and error.message.startswith("headers=: ") and error.args == (error.message,)


def test_None_among_the_chunks_of_a_body_is_an_error_and_does_not_end_the_body(
    server: Server, client: wherry.Client
) -> None:
    # None was the mark of the end: the rest of the body was left out without an error.
    def some() -> Iterator[Any]:
        yield from (b"one", None, b"two")

    async def others() -> AsyncIterator[Any]:
        for piece in (b"one", None, b"two"):
            yield piece

    async def main() -> None:
        async with wherry.AsyncClient() as other:
            for wrong in (some(), others(), wherry.Sized(others(), 6)):
                with pytest.raises(TypeError, match="must be bytes or str, not NoneType"):
                    await other.post(server.url("/echo"), content=wrong)

    for wrong in (some(), [b"one", None, b"two"], wherry.Sized(some(), 6), wherry.Sized(some(), 3)):
        with pytest.raises(TypeError, match="must be bytes or str, not NoneType"):
            client.post(server.url("/echo"), content=wrong)
    with pytest.raises(TypeError, match="must be bytes or str, not NoneType"):
        client.post(server.url("/echo"), files={"a": wherry.Sized(some(), 6)})
    asyncio.run(main())


def mocked(**options: Any) -> None:
    with wherry.MockTransport() as mock:
        mock.add(**{"method": "GET", "url": URL, **options})


def failing(**options: Any) -> None:
    with wherry.MockTransport() as mock:
        mock.fail(**{"method": "GET", "url": URL, **options})


CALLS: Tuple[Tuple[str, Callable[[wherry.Client], Any]], ...] = (
    ("times= must be a whole number, not 'x'", lambda _: mocked(times="x")),
    ("status_code= must be a whole number, not 'x'", lambda _: mocked(status="x")),
    ("delay= must be a number of seconds, not 'x'", lambda _: mocked(delay="x")),
    ("url=: expected str or bytes, not int", lambda _: mocked(url=5)),
    ("method=: expected str or bytes, not int", lambda _: mocked(method=5)),
    ("reason=: expected str or bytes, not ValueError", lambda _: failing(reason=ValueError())),
    ("after_bytes= must be a whole number, not 'x'", lambda _: failing(after_bytes="x")),
    ("method must be a str such as 'GET', not 5", lambda client: client.request(5, URL)),  # type: ignore[arg-type]
    ("sha256=: expected str or bytes, not int", lambda client: client.download(URL, "/a", sha256=5)),  # type: ignore[arg-type]
    ("digest= must be one of", lambda client: client.download(URL, "/a", digest=[])),  # type: ignore[arg-type]
    ("partial_of= must be one of", lambda client: client.download(URL, "/a", partial_of=[])),  # type: ignore[arg-type]
    ("mirrors= takes a list of URLs, not 5", lambda client: client.download(URL, "/a", mirrors=5)),  # type: ignore[arg-type]
    ("mirrors=: expected str or bytes, not int", lambda client: client.download(URL, "/a", mirrors=[5])),  # type: ignore[list-item]
    ("server_time= must be a whole number", lambda client: client.download(URL, "/a", server_time="x")),  # type: ignore[arg-type]
    ("quality= takes a number from 0 to 1, not 'x'", lambda client: client.upload(URL, b"x", quality="x")),  # type: ignore[arg-type]
    ("compression= takes a Compression, not 5", lambda client: client.upload(URL, b"x", compression=5)),  # type: ignore[arg-type]
    ("name=: expected str or bytes, not int", lambda client: client.upload(URL, b"x", name=5)),  # type: ignore[arg-type]
    ("separate= must be a whole number", lambda client: client.upload(URL, b"x", separate="x")),  # type: ignore[arg-type]
    ("timeout= takes a number of seconds or None, not 'x'", lambda client: client.wait(timeout="x")),  # type: ignore[arg-type]
    ("timeout= takes a number of seconds or None, not 'x'", lambda client: client.drain("x")),  # type: ignore[arg-type]
    ("text= takes str, not bytes. Use content=", lambda _: wherry.Response(text=b"x")),  # type: ignore[arg-type]
    ("html= takes str, not int. Use content=", lambda _: wherry.Response(html=5)),  # type: ignore[arg-type]
    ("request= takes a SentRequest, not int", lambda _: wherry.Response(request=5)),  # type: ignore[arg-type]
    ("Headers takes a mapping or pairs, not int", lambda _: wherry.Headers(5)),  # type: ignore[arg-type]
    ("Headers takes a mapping or pairs, not list", lambda _: wherry.Headers(["a"])),  # type: ignore[list-item]
)


@pytest.mark.parametrize(("told", "call"), CALLS, ids=[told for told, _ in CALLS])
def test_an_error_of_another_method_names_the_argument(
    client: wherry.Client, told: str, call: Callable[[wherry.Client], Any]
) -> None:
    # Some were ctypes.ArgumentError, which is neither a TypeError nor ours.
    with pytest.raises((TypeError, wherry.ArgumentError)) as caught:
        call(client)
    assert told in str(caught.value)


def test_a_hook_that_is_no_function_is_an_error_before_the_request(mock: wherry.MockTransport) -> None:
    mock.add(None, "http://api.test/*")
    wrong: Any = 5
    with wherry.Client(transport=mock) as client:
        client.event_hooks["response"].append(wrong)
        with pytest.raises(TypeError, match="hooks= takes functions, not int"):
            client.get(URL)
    assert not mock.requests


def test_the_digest_authentication_of_requests_is_refused_with_ours(client: wherry.Client) -> None:
    class HTTPDigestAuth:
        def handle_401(self) -> None: ...

        def __call__(self, request: Any) -> Any:
            return request

    with pytest.raises(TypeError, match="auth= cannot use HTTPDigestAuth of requests. Use wherry.DigestAuth"):
        client.get(URL, auth=HTTPDigestAuth())
