# Wherry: request bodies from memory, files, and iterators
# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import array
import base64
import ctypes
import hashlib
import io
import os
import pathlib
from typing import Any, BinaryIO, Iterator

import pytest
from conftest import Server, body, most_memory

import wherry
from wherry._core.request.body import Source


def test_R9_bytes_text_and_files_are_valid_bodies(server: Server, client: wherry.Client, tmp_path: Any) -> None:
    path = tmp_path / "body.bin"
    path.write_bytes(b"0123456789")
    url = server.url("/echo")

    assert body(client.post(url, data=b"\x00\xff").json()) == b"\x00\xff"
    assert body(client.post(url, content="grün").json()) == "grün".encode()
    assert body(client.post(url, data=path).json()) == b"0123456789"
    with open(path, "rb") as file:
        assert body(client.post(url, data=file).json()) == b"0123456789"
    with open(path, "rb") as file:
        file.seek(4)
        report = client.post(url, data=file).json()
        assert (body(report), report["chunked"]) == (b"456789", False)


def test_R9_a_missing_file_fails_before_connecting(server: Server, client: wherry.Client, tmp_path: Any) -> None:
    with pytest.raises(wherry.FileError):
        client.post(server.url("/echo"), data=tmp_path / "nothing")
    assert server.log() == []


def test_R9_a_generator_is_streamed(server: Server, client: wherry.Client) -> None:
    def pieces() -> Iterator[bytes]:
        for number in range(300):
            yield b"%08d" % number * 1000

    report = client.post(server.url("/sink"), data=pieces()).json()

    assert report["bytes"] == 300 * 8000
    assert server.log()[0]["headers"]


def test_R9_an_exception_in_a_generator_is_raised_and_cancels(server: Server, client: wherry.Client) -> None:
    def pieces() -> Iterator[bytes]:
        yield b"first"
        raise KeyError("broken")

    with pytest.raises(KeyError, match="broken"):
        client.post(server.url("/sink"), data=pieces())
    assert client.get(server.url("/json")).ok


def test_R9_a_large_file_is_not_held_in_memory(server: Server, tmp_path: Any) -> None:
    path = tmp_path / "large"
    with open(path, "wb") as file:
        file.truncate(100 << 20)
    before = f"""
import pathlib
client = wherry.Client()
url, large = {server.url("/sink")!r}, pathlib.Path({str(path)!r})
client.put(url, data=pathlib.Path(wherry.__file__))
"""

    used = most_memory(before, 'assert client.put(url, data=large).json()["bytes"] == 100 << 20')
    held = most_memory(before, "client.put(url, data=large.read_bytes())")

    assert used < 8 << 20
    assert held > 100 << 20  # Memory use is measured.


def test_files_create_a_multipart_form(server: Server, client: wherry.Client, tmp_path: Any) -> None:
    path = tmp_path / "note.txt"
    path.write_bytes(b"on disk")
    with open(path, "rb") as file:
        report = client.post(
            server.url("/echo"),
            data={"title": "Ferien"},
            files={
                "a": file,
                "b": ("b.bin", b"\x00\x01", "application/x-b"),
                "c": ("c.txt", io.BytesIO(b"memory")),
            },
        ).json()

    parts = {part["name"]: part for part in report["parts"]}
    assert list(parts) == ["title", "a", "b", "c"]
    assert parts["a"]["filename"] == "note.txt" and parts["b"]["type"] == "application/x-b"
    assert parts["title"]["text"] == "Ferien"
    for name, content in (("a", b"on disk"), ("b", b"\x00\x01"), ("c", b"memory")):
        assert parts[name]["sha256"] == hashlib.sha256(content).hexdigest()


def test_R9_buffers_are_valid_bodies_and_numbers_are_not(
    server: Server,
    client: wherry.Client,
) -> None:
    words = array.array("B", b"abc")
    text = ctypes.create_string_buffer(b"abc", 3)
    for buffer in (words, text, memoryview(b"abc"), bytearray(b"abc")):
        assert body(client.post(server.url("/echo"), content=buffer).json()) == b"abc"

    with pytest.raises(TypeError, match="not int"):
        client.post(server.url("/echo"), data=[1, 2, 3])
    with pytest.raises(TypeError, match="not int"):
        client.post(server.url("/echo"), content=iter([4]))
    with pytest.raises(TypeError, match="cannot be a body"):
        client.post(server.url("/echo"), content=7)


def test_R9_a_file_that_grows_during_the_upload_is_an_error_with_both_counts(
    server: Server, client: wherry.Client, tmp_path: Any
) -> None:
    path = tmp_path / "growing"
    path.write_bytes(b"x" * 600_001)

    class Growing:
        """A file that grows once, after its size was announced."""

        def __init__(self, file: BinaryIO) -> None:
            self._file = file
            self._has_grown = False

        def tell(self) -> int:
            return self._file.tell()

        def seek(self, offset: int, whence: int = 0) -> int:
            return self._file.seek(offset, whence)

        def read(self, size: int) -> bytes:
            if not self._has_grown:
                self._has_grown = True
                with open(path, "ab") as more:
                    more.write(b"y" * 200_000)
            return self._file.read(size)

    with open(path, "rb") as file:
        file.seek(1)
        with pytest.raises(wherry.ArgumentError, match="600000 bytes were announced, but it has at least"):
            client.post(server.url("/sink"), data=Growing(file))


def test_R9_a_library_error_in_a_body_is_not_taken_for_its_end(
    server: Server, client: wherry.Client, tmp_path: Any
) -> None:
    """A transfer without a streamed body takes no bytes and keeps running."""
    with client.start_download(
        server.url("/bytes/2000000", hold=1000000, gate=server.gate()), tmp_path / "file"
    ) as handle:
        with pytest.raises(wherry.StateError):
            Source(iter([b"x"])).write(handle._exchange.transfer)
        with pytest.raises(wherry.StateError):
            Source(iter([])).write(handle._exchange.transfer)
        handle.discard()
        with pytest.raises(wherry.CancelledError):
            handle.wait()
        Source(iter([b"x"])).write(handle._exchange.transfer)


def test_paths_may_be_bytes(server: Server, client: wherry.Client, tmp_path: Any) -> None:
    path = os.fsdecode(os.fsencode(tmp_path) + b"/\xff")

    client.download(server.url("/bytes/100"), path)
    answer = client.post(server.url("/echo"), data=pathlib.Path(path))

    assert os.listdir(os.fsencode(tmp_path)) == [b"\xff"]
    content = pathlib.Path(path).read_bytes()
    assert len(content) == 100 and base64.b64decode(answer.json()["body"]) == content
