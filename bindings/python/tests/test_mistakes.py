# Wherry: invalid calls are refused, with the name and value of the invalid argument
# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import asyncio
import inspect
import io
import os
import re
from typing import Any, Callable, Dict, Iterator

import pytest
from conftest import ROOT

import wherry
from wherry._core import keywords as _keywords
from wherry._core.exchange.draft import KEYWORDS

URL = "http://api.test/x"


@pytest.fixture
def mock() -> Iterator[wherry.MockTransport]:
    with wherry.MockTransport() as made:
        for method in ("GET", "POST"):
            made.add(method, "http://api.test/*", json={})
        yield made


@pytest.mark.parametrize(
    "options",
    [
        {"timeout": -1}, {"timeout": 0}, {"timeout": 1e30}, {"timeout": float("nan")},
        {"http_version": 3}, {"array_style": "nope"}, {"cache_policy": "nope"},
        {"cache": float("nan")},
    ],
    ids=str,
)  # fmt: skip
def test_an_unsupported_option_value_is_bad_value(mock: wherry.MockTransport, options: Dict[str, Any]) -> None:
    with wherry.Client(transport=mock) as client:
        with pytest.raises(wherry.ArgumentError) as caught:
            client.get(URL, **options)
        assert caught.value.reason == "bad_value" and not mock.requests
        with pytest.raises(wherry.ArgumentError) as caught:
            client.cancel(tag="a", url=URL)
        assert caught.value.reason == "bad_argument"


@pytest.mark.parametrize(
    "call",
    [
        lambda: wherry.Compression(format="gif"),
        lambda: wherry.Compression(metadata="nope"),
        lambda: wherry.Compression(deadline=0),
    ],
)  # fmt: skip
def test_an_unknown_compression_is_bad_value(call: Callable[[], object]) -> None:
    with pytest.raises(wherry.ArgumentError) as caught:
        call()
    assert caught.value.reason == "bad_value"


KINDS = ("RequestOptions", "StreamOptions", "PageOptions", "UploadOptions", "DownloadOptions", "Settings")


@pytest.mark.parametrize("name", KINDS)
def test_help_and_the_manual_list_every_keyword(name: str) -> None:
    kind = getattr(wherry, name)
    told = re.findall(r"^``(\w+)`` \(default [^)]*\): .", inspect.getdoc(kind) or "", re.M)
    with open(os.path.join(ROOT, "bindings", "python", "README.md"), encoding="utf-8") as file:
        manual = set(re.findall(r"^\| `(\w+)` \|", file.read(), re.M))

    assert len(told) == len(set(told)) and set(told) == set(kind.__annotations__)
    assert manual >= set(told)


def test_keywords_of_requests_and_their_types_match() -> None:
    typed = set(_keywords.RequestOptions.__annotations__)

    assert typed - set(KEYWORDS) == {"follow_redirects", "hooks"} and set(KEYWORDS) <= typed
    assert "RequestOptions" in (wherry.get.__doc__ or "")
    assert wherry.Which is _keywords.Which


@pytest.mark.parametrize(
    ("options", "names"),
    [
        ({"timeout": "5"}, "timeout="), ({"timeout": (1, 2, 3)}, "timeout="),
        ({"params": 5}, "params="), ({"headers": 5}, "headers="), ({"headers": {"X-A": 5}}, "X-A"),
        ({"headers": {5: "a"}}, "headers="), ({"parameters": 5}, "parameters="),
        ({"cache": "5"}, "cache="), ({"accept_status": 404}, "accept_status="),
        ({"tag": 5}, "tag="), ({"max_redirects": []}, "max_redirects="), ({"data": 5}, "data="),
    ],
    ids=str,
)  # fmt: skip
def test_a_type_error_names_the_argument(mock: wherry.MockTransport, options: Dict[str, Any], names: str) -> None:
    with wherry.Client(transport=mock) as client:
        with pytest.raises(TypeError, match=names):
            client.get(URL, **options)
        assert not mock.requests


def test_a_URL_or_CA_file_of_a_wrong_type_is_named() -> None:
    nothing: Any = None
    with pytest.raises(TypeError, match="url"):
        wherry.get(nothing)
    number: Any = 5
    for name in ("headers", "params", "parameters"):
        with pytest.raises(TypeError, match=f"{name}="):
            wherry.Client(**{name: number})
    wrongs: Any = ("", nothing, 5)
    for wrong in wrongs:
        with pytest.raises(TypeError, match="verify="):
            wherry.Client(verify=wrong)


@pytest.mark.parametrize(
    "options",
    [{"json": {}, "data": b"a"}, {"json": 1, "content": b"a"}, {"json": 1, "files": {"a": b"b"}},
     {"data": b"a", "content": b"a"}],
    ids=str,
)  # fmt: skip
def test_two_bodies_exclude_each_other(mock: wherry.MockTransport, options: Dict[str, Any]) -> None:
    with wherry.Client(transport=mock) as client:
        with pytest.raises(wherry.ArgumentError) as caught:
            client.post(URL, **options)
        assert caught.value.reason == "bad_argument" and not mock.requests
        assert all(f"{name}=" in str(caught.value) for name in options)
        client.post(URL, data={"a": "b"}, files={"c": b"d"})
        assert len(mock.requests) == 1


def test_quality_and_compression_exclude_each_other(mock: wherry.MockTransport) -> None:
    with wherry.Client(transport=mock) as client:
        with pytest.raises(wherry.ArgumentError, match="compression=") as caught:
            client.upload(URL, [b"x"], quality=0.5, compression=wherry.Compression(0.5))
        assert caught.value.reason == "bad_argument" and not mock.requests


LONG = "x" * 5_000_000


class Broken:
    def __repr__(self) -> str:
        raise RuntimeError


@pytest.mark.parametrize(
    "call",
    [
        lambda client: wherry.Client(verify={LONG: 1}),  # type: ignore[arg-type]
        lambda client: wherry.Client(verify=Broken()),  # type: ignore[arg-type]
        lambda client: wherry.Client(pins={LONG: []}),
        lambda client: wherry.Client(pin_mode=LONG),
        lambda client: wherry.Client(deny_addresses=[LONG]),
        lambda client: wherry.Client(max_retries=LONG),  # type: ignore[arg-type]
        lambda client: wherry.Client(**{LONG: 1}),  # type: ignore[arg-type]
        lambda client: wherry.Timeout(idle=10**6000).options().__next__(),
        lambda client: wherry.Sized([], LONG),  # type: ignore[arg-type]
        lambda client: wherry.Compression(format=LONG),
        lambda client: wherry.codes.__getattr__(LONG),
        lambda client: client.get(URL, **{LONG: 1}),
        lambda client: client.get(URL, cache_policy=LONG),
        lambda client: client.get(URL, http_version=LONG),
        lambda client: client.get(URL, json_shape={"a": Broken()}),
        lambda client: client.get(URL, json_shape=bytearray(5_000_000)),
        lambda client: client.get(URL, accept_status_range=LONG),
        lambda client: client.get(URL, headers={"A": [LONG]}),
        lambda client: client.get(URL, headers={LONG: 1}),
        lambda client: client.post(URL, files={LONG: (1,)}),
        lambda client: client.cancel(**{LONG: "a"}),
        lambda client: client.cookies.update({LONG: 1}),
        lambda client: client.download(URL, "/tmp/x", partial_of=LONG),
        lambda client: client.download(URL, "/tmp/x", digest=LONG),
        lambda client: client.download(URL, "/tmp/x\0" + LONG),
    ],
)  # fmt: skip
def test_a_message_shows_the_first_200_characters_of_a_value(call: Callable[[Any], object]) -> None:
    # TypeErrors, and errors that contain a list, repeated the complete value.
    with wherry.Client() as client, pytest.raises((TypeError, ValueError, AttributeError)) as caught:
        call(client)
    assert len(str(caught.value)) < 600


@pytest.mark.parametrize(
    ("name", "value", "way"),
    [
        ("allow_redirects", False, "follow_redirects="), ("verify", False, "pass verify= to a new client"),
        ("cert", "a.pem", "pass cert= to a new client"), ("proxies", {}, "pass proxies= to a new client"),
        ("netrc", True, "pass netrc= to a new client"),
        ("stream", True, "client.stream(method, url)"), ("http2", True, 'http_version="2"'),
        ("http1", False, 'http_version="2"'), ("limits", None, "max_connections= and max_per_host="),
        ("transport", None, "pass transport= to a new client"), ("mounts", {}, "pass mounts= to a new client"),
        ("app", None, "WSGITransport(app)"),
        ("trust_env", True, "pass trust_env= to a new client"), ("extensions", {}, "timeout="),
        ("event_hooks", {}, "pass event_hooks= to a new client"), ("raise_for_status", True, "response.raise_for_status()"),
        ("paramz", {}, "did you mean params=?"),
    ],
)  # fmt: skip
def test_a_keyword_with_another_name_here_is_an_error_that_suggests_it(
    mock: wherry.MockTransport, name: str, value: Any, way: str
) -> None:
    options: Any = {name: value}
    with wherry.Client(transport=mock) as client:
        with pytest.raises(TypeError) as caught:
            client.get(URL, **options)
        assert f"{name!r}" in str(caught.value) and way in str(caught.value)
        with pytest.raises(TypeError), client.stream("GET", URL, **options):
            pass
        with pytest.raises(TypeError, match=re.escape(way)):  # build_request() ignored the keyword.
            client.build_request("GET", URL, **options)
    assert not mock.requests


@pytest.mark.parametrize(
    ("name", "value", "way"),
    [
        ("allow_redirects", False, "follow_redirects="), ("http2", True, 'http_version="2"'),
        ("limits", None, "max_connections= and max_per_host="), ("app", None, "WSGITransport(app)"),
        ("retries", 3, "max_retries="), ("stream", True, "client.stream(method, url)"),
        ("max_retrys", 3, "did you mean max_retries=?"),
    ],
)  # fmt: skip
def test_a_setting_with_another_name_here_is_an_error_that_suggests_it(name: str, value: Any, way: str) -> None:
    options: Any = {name: value}
    with pytest.raises(TypeError) as caught:
        wherry.Client(**options)
    assert f"{name!r}" in str(caught.value) and way in str(caught.value)
    with wherry.Client() as client, pytest.raises(TypeError) as caught:
        client.configure(**options)
    assert way in str(caught.value)


@pytest.mark.parametrize(
    ("name", "way"),
    [
        ("mount", "pass mounts= to a new client"), ("get_adapter", "pass transport= to a new client"),
        ("prepare_request", "use client.build_request(method, url)"), ("verify", "pass verify= to a new client"),
        ("proxies", "pass proxies= to a new client"), ("max_redirects", "use client.configure(max_redirects=...)"),
        ("user_agent", "use client.configure(user_agent=...)"), ("storage_name", "pass storage_name= to a new client"),
    ],
)  # fmt: skip
def test_a_missing_attribute_of_a_client_is_an_error_that_names_the_supported_way(
    client: wherry.Client, name: str, way: str
) -> None:
    async def main() -> None:
        async with wherry.AsyncClient() as other:
            with pytest.raises(AttributeError) as caught:
                getattr(other, name)
            assert f"'AsyncClient' object has no attribute '{name}': {way}" in str(caught.value)
            with pytest.raises(AttributeError, match="use await client.aclose()"):
                other.close  # type: ignore[attr-defined]

    with pytest.raises(AttributeError) as caught:
        getattr(client, name)
    assert f"'Client' object has no attribute '{name}': {way}" in str(caught.value)
    asyncio.run(main())
    assert not hasattr(client, name) and not hasattr(client, "_nothing") and not hasattr(client, "nothing")
    with pytest.raises(AttributeError, match="use client.close()"):
        client.aclose  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    ("name", "way"),
    [
        ("raw", "use client.stream(method, url) and iter_bytes()"), ("iter_raw", "use iter_bytes()"),
        ("apparent_encoding", "set default_encoding= of a client"), ("status", "use status_code"),
        ("data", "use content"), ("num_bytes_downloaded", "use metrics=True"),
    ],
)  # fmt: skip
def test_a_missing_attribute_of_a_response_is_an_error_that_names_the_supported_way(name: str, way: str) -> None:
    answer = wherry.Response(200)
    with pytest.raises(AttributeError) as caught:
        getattr(answer, name)
    assert f"'Response' object has no attribute '{name}': {way}" in str(caught.value)
    assert not hasattr(answer, name) and not hasattr(answer, "nothing")


def test_an_error_in_a_property_keeps_its_message() -> None:
    def find(body: bytes) -> str:
        raise AttributeError("mine")

    with pytest.raises(AttributeError, match="^mine$"):
        wherry.Response(200, content=b"a", default_encoding=find).text

    class Mine(wherry.Client):
        @property
        def broken(self) -> str:
            raise AttributeError("mine")

    with Mine() as client, pytest.raises(AttributeError, match="^mine$"):
        client.broken


def test_a_stream_that_is_not_open_names_the_with_statement(client: wherry.Client) -> None:
    # "'Stream' object has no attribute 'status_code'" did not say what to do.
    stream: Any = client.stream("GET", URL)
    for name in ("status_code", "headers", "iter_bytes", "iter_lines", "read", "iter_events"):
        with pytest.raises(AttributeError, match=re.escape("with `with client.stream(...) as response`")):
            getattr(stream, name)
    assert not hasattr(stream, "nothing") and not hasattr(stream, "__iter__")

    async def main() -> None:
        async with wherry.AsyncClient() as other:
            stream: Any = other.stream("GET", URL)
            with pytest.raises(AttributeError, match=re.escape("`async with client.stream(...) as response`")):
                stream.aiter_bytes

    asyncio.run(main())


@pytest.mark.parametrize(
    ("name", "way"),
    [
        ("RequestException", "use wherry.WherryError"), ("exceptions", "use wherry.WherryError and its subclasses"),
        ("HTTPError", "use wherry.HTTPStatusError"), ("ReadTimeout", "use wherry.TimeoutError"),
        ("Limits", "use max_connections="), ("session", "use wherry.Session"),
        ("PreparedRequest", "use wherry.SentRequest"),
    ],
)  # fmt: skip
def test_a_name_of_requests_or_httpx_is_an_error_that_names_ours(name: str, way: str) -> None:
    with pytest.raises(AttributeError) as caught:
        getattr(wherry, name)
    assert f"module 'wherry' has no attribute {name!r}: {way}" in str(caught.value)
    assert name not in dir(wherry) and not hasattr(wherry, "nothing")


def test_every_name_of_requests_or_httpx_leads_to_a_name_that_exists() -> None:
    for name, way in wherry._ELSEWHERE.items():
        assert not hasattr(wherry, name)
        for ours in re.findall(r"wherry\.(\w+)", way):
            assert hasattr(wherry, ours), name


def test_a_request_of_another_library_is_refused_with_the_name_of_ours(client: wherry.Client) -> None:
    # "'str' object has no attribute 'method'"
    class Other:
        method, url, headers, body = "GET", URL, {"A": "b"}, None

    wrong: Any
    for wrong in (URL, Other()):
        with pytest.raises(TypeError, match=r"send\(\) takes a wherry.SentRequest, .* not (str|Other)"):
            client.send(wrong)
    with pytest.raises(TypeError, match="wherry.SentRequest"):
        wherry.Request("GET", URL)


def test_a_URL_object_is_refused_with_the_way_to_convert_it(client: wherry.Client) -> None:
    class URLObject:
        def __str__(self) -> str:
            return URL

    wrong: Any = URLObject()
    with pytest.raises(TypeError, match=r"url must be str or bytes, not URLObject. Convert a URL object with str\(\)"):
        client.get(wrong)


def test_an_application_must_be_callable() -> None:
    wrong: Any = 5
    for kind in (wherry.WSGITransport, wherry.ASGITransport):
        with pytest.raises(TypeError, match="app= takes the application, .* not int"):
            kind(wrong)


def test_a_download_to_a_file_object_names_the_path(client: wherry.Client) -> None:
    wrong: Any = io.BytesIO()
    with pytest.raises(TypeError, match="path=.*not BytesIO"):
        client.download(URL, wrong)
    with pytest.raises(TypeError, match="directory=.*not BytesIO"):
        client.download(URL, directory=wrong)
