# Wherry: request bodies compressed with gzip or deflate
# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import base64
import hashlib
import json
import pathlib
from typing import Any, Iterator

import pytest
from conftest import Server, field

import wherry

LINES = b"".join(b'{"line": %d, "text": "as before"}\n' % number for number in range(80_000))


def check(told: Any, data: bytes) -> None:
    """The server decompressed the body, and it equals `data`."""
    assert told["whole"] is True
    assert told["inflated"] == len(data)
    assert told["inflated_sha256"] == hashlib.sha256(data).hexdigest()
    assert told["bytes"] < len(data) / 2


@pytest.mark.parametrize("coding", ["gzip", "deflate"])
def test_R37_bodies_are_sent_compressed_and_the_server_decompresses_them(
    server: Server, client: wherry.Client, tmp_path: pathlib.Path, coding: str
) -> None:
    path = tmp_path / "lines"
    path.write_bytes(LINES)
    url = server.url("/redirect-to", status=307, url=server.url("/sink"))
    for content in (LINES[:5000], LINES, path):
        data = LINES[:5000] if content == LINES[:5000] else LINES
        check(client.post(url, content=content, body_coding=coding).json(), data)

    def pieces() -> Iterator[bytes]:
        for start in range(0, len(LINES), 70_000):
            yield LINES[start : start + 70_000]

    sink = server.url("/sink")
    check(client.post(sink, content=pieces(), body_coding=coding).json(), LINES)
    value = [{"name": "the same"}] * 1000
    told = client.post(server.url("/echo"), json=value, body_coding=coding).json()
    assert field(told, "Content-Encoding") == [coding]
    assert json.loads(base64.b64decode(told["decoded"])) == value
    told = client.post(sink, data={"a": "b" * 5000}, body_coding=coding).json()
    check(told, b"a=" + b"b" * 5000)


def test_R37_the_client_setting_applies_unless_the_request_sets_its_own(server: Server) -> None:
    url = server.url("/echo")
    with wherry.Client(body_coding="gzip") as client:
        told = client.post(url, content=LINES).json()
        assert (field(told, "Content-Encoding"), told["chunked"]) == (["gzip"], True)
        told = client.post(url, content=LINES[:5000]).json()
        assert (field(told, "Content-Encoding"), told["chunked"]) == (["gzip"], False)
        told = client.post(url, content=LINES[:5000], body_coding="identity").json()
        assert field(told, "Content-Encoding") == []
        assert field(client.post(url, content=LINES[:500]).json(), "Content-Encoding") == []
        told = client.post(url, content=LINES[:500], body_coding_min_bytes=500).json()
        assert field(told, "Content-Encoding") == ["gzip"]
        told = client.post(url, files={"f": LINES[:5000]}).json()
        assert field(told, "Content-Encoding") == []


def test_R37_a_setting_decides_about_bodies_that_are_already_compressed(server: Server, client: wherry.Client) -> None:
    url = server.url("/echo")
    said = {"Content-Encoding": "identity"}
    for rule, coding in (("skip", "identity"), ("replace", "gzip")):
        told = client.put(url, content=LINES[:5000], headers=said, body_coding="gzip", coded_body=rule).json()
        assert field(told, "Content-Encoding") == [coding]
    with pytest.raises(wherry.ArgumentError) as caught:
        client.put(url, content=LINES, headers=said, body_coding="gzip", coded_body="error")
    assert caught.value.reason == "bad_header"
    for bad in ({"body_coding": "br"}, {"coded_body": "never"}, {"body_coding_min_bytes": -1}):
        with pytest.raises(wherry.ArgumentError) as caught:
            client.put(url, content=LINES, **bad)
        assert caught.value.reason == "bad_value"
