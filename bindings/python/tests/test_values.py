# Wherry: the parts that do not need the library
# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import ctypes
import io
import json
import os
import pickle
import random
import re
import subprocess
import sys
import tempfile
from typing import Any, Optional

import pytest
from conftest import ROOT, Server, run_python

import wherry
from wherry._client.cache import CacheEntry
from wherry._core.forms import flat
from wherry._core.progress import TransferInfo
from wherry._core.request import files
from wherry._core.request.body import Source
from wherry._core.response.chunks import Chunks, Lines
from wherry._core.response.response import Response, charset
from wherry._errors import CLASSES
from wherry._native import codes, library, prototypes
from wherry._transports.mock import MockRequest

HEADER = os.path.join(ROOT, "include", "wherry.h")


def header_text() -> str:
    with open(HEADER, encoding="utf-8") as file:
        return re.sub(r"/\*.*?\*/", " ", file.read(), flags=re.S)


def test_every_number_matches_the_header() -> None:
    found = re.findall(r"WHERRY_(\w+) = (-?\d+)", header_text())
    known = {name: int(value) for name, value in found}
    ours = {n: v for n, v in vars(codes).items() if n.isupper() and isinstance(v, int)}

    assert len(ours) > 60
    assert {name: known.get(name) for name in ours} == ours


def test_every_declaration_matches_the_header() -> None:
    known = " ".join(header_text().split()).replace(" )", ")")
    lines = " ".join(re.sub(r"//.*", "", prototypes.DECLARATIONS).split()).split(";")
    ours = [line.strip() for line in lines if line.strip()]

    assert len(ours) > 150
    assert [line for line in ours if f" {line};" not in known] == []


def test_prototypes_are_parsed_from_declarations() -> None:
    line = (
        "wherry_status wherry_client_perform_for(wherry_client *client, "
        "const wherry_request *request, int64_t timeout_ms, wherry_transfer **out_transfer, "
        "wherry_record *out_record)"
    )
    pointer = ctypes.c_void_p

    assert library.prototype(line) == [
        ctypes.c_int, pointer, pointer, ctypes.c_int64, pointer, pointer,
    ]  # fmt: skip
    assert library.prototype("const char *wherry_status_name(wherry_status status)") == [
        ctypes.c_char_p, ctypes.c_int,
    ]  # fmt: skip


def test_each_function_has_its_own_declaration() -> None:
    lines = " ".join(re.sub(r"//.*", "", prototypes.DECLARATIONS).split()).split(";")
    by_name = {line[: line.index("(")].split()[-1].lstrip("*"): line.strip() for line in lines if line}

    assert len(by_name) > 300
    assert {name: library.declaration(name) for name in by_name} == by_name
    assert library.declaration("wherry_client") is None
    assert library.declaration("client_free") is None
    assert library.declaration("") is None


def test_each_error_class_represents_one_status() -> None:
    statuses = re.findall(r"WHERRY_(E_\w+) = (-\d+)", header_text())

    assert sorted(CLASSES) == sorted(int(value) for _, value in statuses)
    assert issubclass(wherry.TimeoutError, TimeoutError)
    assert issubclass(wherry.NetworkError, ConnectionError)
    assert issubclass(wherry.TLSError, ConnectionError)
    assert issubclass(wherry.FileError, OSError)
    assert issubclass(wherry.ArgumentError, ValueError)


def test_errors_survive_pickling() -> None:
    error = wherry.NetworkError("It broke.", "truncated", http_status=200, curl_code=18)
    back = pickle.loads(pickle.dumps(error))

    assert type(back) is wherry.NetworkError
    assert (back.message, back.reason, back.http_status, back.curl_code) == (
        "It broke.", "truncated", 200, 18,
    )  # fmt: skip
    assert str(back) == "It broke. [truncated]"


def test_headers_are_case_insensitive_and_may_repeat() -> None:
    fields = wherry.Headers.parse(b"Content-Type: text/plain\nset-cookie: a=1\nSet-Cookie: b=2\n")

    assert fields["CONTENT-type"] == "text/plain"
    assert fields.get_list("Set-Cookie") == ["a=1", "b=2"]
    assert fields["Set-Cookie"] == "a=1, b=2"
    assert len(fields) == 2
    assert "nothing" not in fields
    assert fields.get("nothing") is None
    assert fields == {"content-type": "text/plain", "set-cookie": "a=1, b=2"}
    assert pickle.loads(pickle.dumps(fields)) == fields


def test_header_bytes_that_are_not_UTF8_are_latin1() -> None:
    assert wherry.Headers.parse(b"x: gr\xf6\xdfer\n")["x"] == "größer"
    assert wherry.Headers.parse("x: größer\n".encode())["x"] == "größer"
    mixed = wherry.Headers.parse(b"x: gr\xf6\xdfer\n" + "y: größer\n".encode())
    assert mixed == {"x": "größer", "y": "größer"}


@pytest.mark.parametrize("cut", range(1, 12))
def test_lines_are_the_same_for_any_chunk_boundaries(cut: int) -> None:
    data = "eins\r\nzwei\rdrei\n\nvier größer\r\n\rfünf".encode()
    splitter = Lines("utf-8")
    lines = []
    for start in range(0, len(data), cut):
        lines += splitter.feed(data[start : start + cut])

    assert lines + splitter.end() == ["eins", "zwei", "drei", "", "vier größer", "", "fünf"]


def test_chunks_have_the_requested_size() -> None:
    pieces = Chunks(4)
    found = pieces.feed(b"abcde") + pieces.feed(b"fghij") + pieces.end()

    assert found == [b"abcd", b"efgh", b"ij"]


@pytest.mark.parametrize(
    ("kind", "expected"),
    [
        ("text/plain", None),
        ("text/plain; charset=latin-1", "latin-1"),
        ('text/html; a=b; Charset="UTF-8"', "UTF-8"),
        ("text/plain; charset=klingon", None),
        ("text/plain; charset=idna", None),
        ("text/plain; charset=unicode_escape", None),
        ("text/plain; charset=undefined", None),
        ('text/plain; a="b;charset=latin-1"; charset=utf-8', "utf-8"),
        ("text/plain; charset=zlib", None),
        ("text/plain; charset=", None),
    ],
)
def test_a_charset_unknown_to_python_counts_as_None(kind: str, expected: str) -> None:
    assert charset(kind) == expected


def test_R12_an_empty_body_or_a_single_space_is_None() -> None:
    assert Response(204).json() is None
    assert Response(200, content=b" ").json() is None
    assert Response(200, content=b'{"a":null}').json() == {"a": None}
    page = Response(200, content=b"<html>")
    with pytest.raises(wherry.DecodeError) as caught:
        page.json()
    assert caught.value.reason == "bad_json_body"
    assert (caught.value.http_status, caught.value.response) == (200, page)
    assert isinstance(caught.value, ValueError) and isinstance(caught.value, wherry.HTTPStatusError)


def test_messages_never_contain_a_query() -> None:
    url = "http://h/x?api_key=SECRET"
    with pytest.raises(wherry.HTTPStatusError) as refused:
        Response(403, url=url).raise_for_status()
    assert str(refused.value) == "403 Forbidden for http://h/x?... [http_status]"
    with pytest.raises(wherry.ArgumentError) as cut:
        wherry.get(url + "\0")
    with pytest.raises(wherry.ArgumentError) as field:
        wherry.get("http://h/x", headers={"X-Key": "SECRET\0"})
    entry = CacheEntry(("", "", "GET", url, 0, 0, 0, 200, 1))
    running = TransferInfo((1, "GET", url, None, None, 0, 0, 1, 1))
    sent = MockRequest("GET", url, wherry.Headers([]), b"")
    for told in (cut.value, field.value, Response(403, url=url), entry, running, sent):
        assert "SECRET" not in repr(told) + str(told)
    assert "http://h/x?..." in str(cut.value) and "http://h/x?..." in repr(running)


def test_raise_for_status_ignores_good_responses() -> None:
    good = Response(204)

    assert good.raise_for_status() is good
    with pytest.raises(wherry.HTTPStatusError) as caught:
        Response(404, url="http://h/x").raise_for_status()
    assert caught.value.http_status == 404
    assert caught.value.response is not None


def test_timeouts_contain_only_the_given_values() -> None:
    assert list(wherry.Timeout(total=3).options()) == [(codes.OPTION_TOTAL_TIMEOUT_MS, 3000)]
    assert dict(wherry.Timeout.of(None).options())[codes.OPTION_IDLE_TIMEOUT_MS] == 0
    assert dict(wherry.Timeout.of((1, 2)).options()) == {
        codes.OPTION_CONNECT_TIMEOUT_MS: 1000,
        codes.OPTION_IDLE_TIMEOUT_MS: 2000,
        codes.OPTION_FIRST_BYTE_TIMEOUT_MS: 2000,
    }
    assert dict(wherry.Timeout(3).options()) == dict(wherry.Timeout.of(3).options())
    assert dict(wherry.Timeout(None).options()) == dict(wherry.Timeout.of(None).options())
    assert wherry.Timeout(3, connect=9).connect == 9
    for mistake in (0, -1, "x", (1, 2)):
        with pytest.raises((wherry.ArgumentError, TypeError), match="timeout="):
            wherry.Timeout(mistake)  # type: ignore[arg-type]
    assert dict(wherry.Timeout(idle=0.0001).options()) == {codes.OPTION_IDLE_TIMEOUT_MS: 1}
    for wrong in (0, -1, float("nan"), float("inf")):
        with pytest.raises(wherry.ArgumentError, match="or None for no limit"):
            wherry.Timeout(idle=wrong)
    limits = wherry.Timeout(idle=1, total=None)
    assert pickle.loads(pickle.dumps(limits)) == limits


def test_lists_repeat_their_name_and_None_is_empty_as_in_httpx() -> None:
    values = {"a": [1, 2.5], "b": None, "c": True, "d": "x"}

    assert list(flat(values)) == [
        ("a", "1"),
        ("a", "2.5"),
        ("b", ""),
        ("c", "true"),
        ("d", "x"),
    ]
    assert list(flat([("a", 1), ("a", 2)])) == [("a", "1"), ("a", "2")]


def test_views_and_generators_repeat_their_name_and_lists_of_lists_are_forms_as_in_requests() -> None:
    # The text of the object was sent, such as "<generator object ...>".
    several: Any
    for several in ({1: 0, 2: 0}.keys(), {0: 1, 5: 2}.values(), range(1, 3), map(int, "12"), (i for i in (1, 2))):
        assert list(flat({"a": several})) == [("a", "1"), ("a", "2")]
    with wherry.MockTransport() as mock, wherry.Client(transport=mock) as client:
        mock.add(None, "http://api.test/*")
        client.post("http://api.test/", data=[["a", "1"], ["a", "2"]])
        client.params = {"p": (i for i in (1, 2))}
        for _ in range(2):
            client.get("http://api.test/")
        assert [request.content for request in mock.requests] == [b"a=1&a=2", b"", b""]
        assert [request.url[15:] for request in mock.requests] == ["/", "/?p=1&p=2", "/?p=1&p=2"]


def test_a_plain_file_at_its_start_is_passed_as_a_path() -> None:
    with tempfile.NamedTemporaryFile() as made:
        made.write(b"0123456789")
        made.flush()
        with open(made.name, "rb") as file:
            assert files.body_of(file) == made.name
            file.seek(4)
            rest = files.body_of(file)
        with open(made.name, encoding="ascii") as text:
            assert isinstance(files.body_of(text), Source)

    assert isinstance(rest, Source)
    assert rest.count == 6


def test_bodies_in_memory_are_bytes() -> None:
    for body in (b"abc", bytearray(b"abc"), memoryview(b"abc"), "abc", io.BytesIO(b"abc")):
        assert files.body_of(body) == b"abc"
    with pytest.raises(TypeError):
        files.body_of(7)


def test_files_are_named_as_in_requests() -> None:
    listed = {
        "plain": b"1",
        "named": ("n.txt", b"2"),
        "typed": ("n.png", io.BytesIO(b"3"), "image/png"),
        "nameless": (None, "4"),
        "headed": ("h", b"5", None, {"X-A": "b"}),
    }

    assert list(files.parts(listed)) == [
        ("plain", "plain", b"1", None, None),
        ("named", "n.txt", b"2", None, None),
        ("typed", "n.png", b"3", "image/png", None),
        ("nameless", None, b"4", None, None),
        ("headed", "h", b"5", None, [("X-A", "b")]),
    ]


def test_importing_wherry_loads_neither_the_library_nor_asyncio() -> None:
    code = (
        "import sys, json; before = set(sys.modules); import wherry; "
        "print(json.dumps(sorted(set(sys.modules) - before)))"
    )
    done = run_python(code)

    assert done.stderr == ""
    assert json.loads(done.stdout) == ["wherry"]


#: Modules that a program should not pay for when it creates a client and sends a plain request. Each takes
#: longer to import than the modules of wherry that this needs.
HEAVY = (
    "asyncio", "collections", "concurrent.futures", "contextvars", "dataclasses", "datetime", "enum", "functools",
    "importlib", "inspect", "json", "logging", "pathlib", "re", "threading", "typing", "urllib", "weakref",
)  # fmt: skip


def test_a_client_and_a_plain_request_import_no_heavy_modules(server: Server) -> None:
    code = f"""
import sys
before = set(sys.modules)
def new():
    return sorted(set(sys.modules) - before)
import wherry
client = wherry.Client()
print([name for name in new() if name in {HEAVY}])
print([name for name in new() if name.startswith(("wherry._core.", "wherry._waiting", "wherry._models"))])
for url in {[server.url("/bytes/10"), server.url("/bytes/20")]}:
    client.get(url).content
print([name for name in new() if name in {HEAVY}])
print([name for name in new() if name.startswith("wherry._core.exchange")])
client.close()
"""
    site = {"PYTHONPATH": os.path.join(ROOT, "bindings", "python", "src")}
    done = subprocess.run(
        [sys.executable, "-S", "-W", "error", "-c", code],
        env={**os.environ, **site}, capture_output=True, text=True, timeout=600,
    )  # fmt: skip

    assert done.stderr == ""
    assert done.stdout.splitlines() == [
        "[]", "['wherry._core.calls', 'wherry._core.options', 'wherry._core.values']", "[]", "[]",
    ]  # fmt: skip


def test_threads_may_use_a_function_for_the_first_time_together() -> None:
    code = """
import sys, threading
from wherry._native.library import lib
lib.wherry_library_version()
sys.setswitchinterval(1e-6)
names = [f"wherry_{kind}_free" for kind in ("config", "client", "request", "queue", "list", "json", "image")]
ready, failures = threading.Barrier(8), []
def use():
    ready.wait()
    for name in names:
        try:
            function = getattr(lib, name)
            # Without its types, the function would get an int of 32 bits, and not raise an error for a str.
            assert len(function.argtypes) == 1, name
            function(1 << 40)
        except BaseException as error:
            failures.append(repr(error))
threads = [threading.Thread(target=use) for _ in range(8)]
for thread in threads: thread.start()
for thread in threads: thread.join()
print(failures)
"""
    done = run_python(code)

    assert (done.stderr, done.stdout) == ("", "[]\n")


#: A URL that the library sends unchanged.
CLEAN = re.compile(
    r"https?://(?:[a-z][a-z0-9-]*(?:\.[a-z0-9-]+)*|127\.0\.0\.1)(?::[1-9][0-9]*)?"
    r"/X*(?:\.[A-Za-z0-9_]X*)*(?<!\?)\Z".replace("X", "[A-Za-z0-9_~?=&+,;!$()*'/%:@-]")
)
PARTS = (
    "http", "https", "HTTP", "://", "/", "//", "?", "#", ".", "..", "/./", "/.a", "a", "b1", "-", "A", "x.y", "_", "~",
    "@", "|", "[", "%2e", "é", "٣", "\n", " ", "\0", "127.0.0.1", "127.0.0.2", ":", "80", "0", "localhost",
    "http://a/", "https://a.b:80/", "http://127.0.0.1:80/x",
)  # fmt: skip


def test_clean_urls_are_those_of_the_expression() -> None:
    chosen = random.Random(7)
    with wherry.Client() as client:
        clean = 0
        for turn in range(50_000):
            url = "".join(chosen.choices(PARTS, k=chosen.randrange(1, 9)))
            url = chosen.choice(("http://", "https://")) + url if turn % 2 else url
            assert client._is_clean(url) == (CLEAN.match(url) is not None), url
            clean += client._clean_url == url
        assert clean > 500


@pytest.mark.parametrize(
    ("kind", "name"),
    [
        ("text/html", None),
        ("text/html; charset=latin-1", "latin-1"),
        ("text/html;charset = 'utf-16' ", "utf-16"),
        ("text/html; a b=c; charset=ascii", "ascii"),
        ("text/html; char set=ascii", None),
        ("text/html; charset", None),
        ("text/html; charset=none; charset=ascii", None),
        ('text/html; title="; charset=ascii"; charset="latin-1"', "latin-1"),
        ("charset=ascii", None),
        ("text/html; CHARSET=ascii;", "ascii"),
        ("text/html; =ascii; charset=", None),
    ],
)
def test_the_charset_is_a_parameter_of_the_content_type(kind: str, name: Optional[str]) -> None:
    assert charset(kind) == name


def test_a_missing_library_is_reported_with_every_searched_path() -> None:
    code = "import wherry; wherry.Client()"
    done = run_python(code, {"WHERRY_LIBRARY": "/nowhere/libwherry.so.0"})

    assert "ImportError: libwherry was not found" in done.stderr
    assert "/nowhere/libwherry.so.0: not found" in done.stderr


def test_the_package_is_strictly_typed() -> None:
    pytest.importorskip("mypy")
    done = subprocess.run(
        [sys.executable, "-m", "mypy"], cwd=os.path.join(ROOT, "bindings", "python"),
        capture_output=True, text=True, timeout=900,
    )  # fmt: skip

    assert done.returncode == 0, done.stdout


def test_type_checkers_see_the_names_of_the_module() -> None:
    pytest.importorskip("mypy")
    done = subprocess.run(
        [sys.executable, "-m", "mypy", "--config-file", os.devnull, "--cache-dir", os.devnull,
         "-c", "import wherry\nwherry.Client\nwherry.Clinet"],
        env={**os.environ, "MYPYPATH": os.path.join(ROOT, "bindings", "python", "src")},
        capture_output=True, text=True, timeout=900,
    )  # fmt: skip

    assert "Clinet" in done.stdout and "1 error" in done.stdout
    with pytest.raises(AttributeError, match="Clinet"):
        getattr(wherry, "Clinet")


def test_each_header_name_is_listed_once_whatever_its_case() -> None:
    headers = wherry.Headers([("Set-Cookie", "a"), ("X", "1"), ("set-cookie", "b")])

    assert list(headers) == ["Set-Cookie", "X"] and len(headers) == 2
    assert dict(headers) == {"Set-Cookie": "a, b", "X": "1"}


def test_an_error_made_from_another_error_has_its_message() -> None:
    # "object of type 'ValueError' has no len()"
    cause: Any = ValueError("cause")
    assert str(wherry.NetworkError(cause, "connect")) == "cause [connect]"
