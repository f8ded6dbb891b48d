# Wherry: file objects as bodies: the client sends what read() returns
# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import asyncio
import contextlib
import gzip
import hashlib
import io
import os
import pathlib
import tempfile
from typing import Any, Callable, Dict, List, Optional

import pytest
from conftest import Server, body, field

import wherry

PLAIN = bytes(range(256)) * 300


class Wrapper:
    """Forwards everything except `read`, as encrypting and counting wrappers do."""

    def __init__(self, file: Any, change: Callable[[bytes], bytes]) -> None:
        self._file = file
        self._change = change

    def read(self, size: int = -1) -> bytes:
        return self._change(self._file.read(size))

    def __getattr__(self, name: str) -> Any:
        return getattr(self._file, name)


class Mirrored(io.FileIO):
    """A file subclass that changes the bytes it reads."""

    def read(self, size: Optional[int] = -1) -> bytes:
        return (super().read(-1 if size is None else size) or b"").swapcase()


class RawMirror(io.RawIOBase):
    """Has a file's descriptor but other bytes, under a buffer."""

    def __init__(self, path: pathlib.Path) -> None:
        self._file = open(path, "rb", buffering=0)
        self.name = str(path)
        self.mode = "rb"

    def readable(self) -> bool:
        return True

    def readinto(self, memory: Any) -> int:
        data = self._file.read(len(memory)).swapcase()
        memory[: len(data)] = data
        return len(data)

    def fileno(self) -> int:
        return self._file.fileno()

    def close(self) -> None:
        self._file.close()
        super().close()


def longer(data: bytes) -> bytes:
    return data + b"." * (len(data) > 0)


def compressed(path: pathlib.Path) -> Any:
    path.write_bytes(gzip.compress(path.read_bytes()))
    return gzip.open(path)


# The body was the file behind `fileno`, `name`, and `mode`: the compressed bytes of
# `gzip.open(path)`, the plain text of an encrypting wrapper, and no progress with `tqdm.wrapattr`.
OPENED: Dict[str, Any] = {
    "gzip": (compressed, PLAIN),
    "encrypting": (lambda path: Wrapper(open(path, "rb"), bytes.swapcase), PLAIN.swapcase()),
    "subclass": (lambda path: Mirrored(str(path)), PLAIN.swapcase()),
    "buffered": (lambda path: io.BufferedReader(RawMirror(path)), PLAIN.swapcase()),
    "unbuffered": (lambda path: open(path, "rb", buffering=0), PLAIN),
    "plain": (lambda path: open(path, "rb"), PLAIN),
    "both ways": (lambda path: open(path, "r+b"), PLAIN),
}


@pytest.mark.parametrize("name", OPENED)
def test_a_file_object_sends_the_bytes_that_read_returns(
    server: Server, client: wherry.Client, tmp_path: pathlib.Path, name: str
) -> None:
    opened, expected = OPENED[name]
    path = tmp_path / "file.bin"
    path.write_bytes(PLAIN)

    with contextlib.closing(opened(path)) as file:
        assert body(client.post(server.url("/echo"), data=file).json()) == expected
    path.write_bytes(PLAIN)
    with contextlib.closing(opened(path)) as file:
        answer = client.post(server.url("/echo"), files={"f": file}).json()
    assert answer["parts"][0]["size"] == len(expected)
    path.write_bytes(PLAIN)
    with contextlib.closing(opened(path)) as file:
        assert body(asyncio.run(posted(server, file)).json()) == expected


async def posted(server: Server, file: Any) -> wherry.Response:
    async with wherry.AsyncClient() as client:
        return await client.post(server.url("/echo"), content=file)


def test_a_wrapper_that_changes_the_size_is_an_error_with_both_counts(
    server: Server, client: wherry.Client, tmp_path: pathlib.Path
) -> None:
    path = tmp_path / "file.bin"
    path.write_bytes(PLAIN)
    with open(path, "rb") as file, pytest.raises(wherry.ArgumentError, match="but it has at least"):
        client.post(server.url("/echo"), data=Wrapper(file, longer))
    with open(path, "rb") as file:
        pieces = iter(lambda: Wrapper(file, longer).read(1000), b"")
        assert len(body(client.post(server.url("/echo"), data=pieces).json())) > len(PLAIN)


def test_a_wrapper_sees_every_byte_that_is_sent(server: Server, client: wherry.Client, tmp_path: pathlib.Path) -> None:
    path = tmp_path / "file.bin"
    path.write_bytes(PLAIN)
    seen = []

    def note(data: bytes) -> bytes:
        seen.append(len(data))
        return data

    with open(path, "rb") as file:
        client.post(server.url("/sink"), data=Wrapper(file, note))

    assert sum(seen) == len(PLAIN)


class Reader:
    """A file object whose `seek` returns None, as in many libraries."""

    def __init__(self, data: bytes, announced: Optional[int] = None) -> None:
        self._data = io.BytesIO(data)
        self._end = len(data) if announced is None else announced
        self._at = 0

    def read(self, size: int = -1) -> bytes:
        self._at += size
        return self._data.read(size)

    def tell(self) -> int:
        return self._at

    def seek(self, offset: int, whence: int = os.SEEK_SET) -> None:
        self._at = self._end + offset if whence == os.SEEK_END else offset
        self._data.seek(min(self._at, len(self._data.getvalue())))


def test_a_file_whose_seek_returns_None_is_still_measured(server: Server, client: wherry.Client) -> None:
    # The size came from the result of seek(), and the position stayed at the end: an empty body.
    answer = client.post(server.url("/echo"), data=Reader(PLAIN)).json()

    assert body(answer) == PLAIN and answer["chunked"] is False
    again = client.post(server.url("/redirect/1", status=307), data=Reader(PLAIN)).json()
    assert body(again) == PLAIN


@pytest.mark.parametrize(
    ("announced", "counts"),
    [(7, "7 bytes were announced, but it has only 5"), (3, "3 bytes were announced, but it has at least 5")],
)
def test_a_reader_with_a_wrong_size_is_an_error_with_both_counts(
    server: Server, client: wherry.Client, announced: int, counts: str
) -> None:
    with pytest.raises(wherry.ArgumentError, match=counts) as caught:
        client.post(server.url("/echo"), data=Reader(b"12345", announced))
    assert caught.value.reason == "bad_value"
    with pytest.raises(wherry.ArgumentError, match=counts):
        asyncio.run(posted(server, Reader(b"12345", announced)))


def test_a_temporary_file_is_sent_with_its_size(server: Server, client: wherry.Client) -> None:
    with tempfile.NamedTemporaryFile() as file:
        file.write(PLAIN)
        file.seek(100)
        answer = client.post(server.url("/echo"), data=file).json()

    assert body(answer) == PLAIN[100:] and answer["chunked"] is False


class Announced:
    """Forwards everything except `read`, as `tqdm.wrapattr` does, and counts the bytes read."""

    def __init__(self, file: Any) -> None:
        self._file = file
        self.sizes: List[int] = []

    def read(self, size: int = -1) -> Any:
        data = self._file.read(size)
        self.sizes.append(len(data))
        return data

    def __getattr__(self, name: str) -> Any:
        return getattr(self._file, name)


def test_a_counting_wrapper_is_sent_with_its_size(
    server: Server, client: wherry.Client, tmp_path: pathlib.Path
) -> None:
    # The size was read from the class of the wrapper, and the body was sent in chunks.
    path = tmp_path / "file.bin"
    path.write_bytes(PLAIN)
    with open(path, "rb") as file:
        answer = client.post(server.url("/echo"), data=Announced(file)).json()
    assert answer["chunked"] is False and field(answer, "Content-Length") == [str(len(PLAIN))]
    assert body(answer) == PLAIN


def test_tqdm_shows_the_sent_bytes_and_the_size_is_announced(
    server: Server, client: wherry.Client, tmp_path: pathlib.Path
) -> None:
    tqdm = pytest.importorskip("tqdm").tqdm
    path = tmp_path / "file.bin"
    path.write_bytes(PLAIN)
    for options in ("data", "content"):
        shown = io.StringIO()
        with (
            open(path, "rb") as file,
            tqdm.wrapattr(file, "read", total=len(PLAIN), file=shown, mininterval=0) as wrapped,
        ):
            answer = client.post(server.url("/echo"), **{options: wrapped}).json()
        assert field(answer, "Content-Length") == [str(len(PLAIN))] and body(answer) == PLAIN
        assert "100%" in shown.getvalue()


def test_a_large_reader_in_a_form_is_streamed(server: Server, client: wherry.Client, tmp_path: pathlib.Path) -> None:
    # Readers in files= were read completely before the request began.
    path = tmp_path / "file.bin"
    path.write_bytes(PLAIN * 20)
    with open(path, "rb") as file:
        reader = Announced(file)
        (part,) = client.post(server.url("/echo"), files={"f": reader}).json()["parts"]
    assert part["size"] == len(PLAIN) * 20 and part["sha256"] == hashlib.sha256(PLAIN * 20).hexdigest()
    assert max(reader.sizes) <= 256 * 1024
    with open(path, "rb") as file:
        file.seek(10)
        (part,) = asyncio.run(form(server, Announced(file))).json()["parts"]
    assert part["size"] == len(PLAIN) * 20 - 10


async def form(server: Server, file: Any) -> wherry.Response:
    async with wherry.AsyncClient() as client:
        return await client.post(server.url("/echo"), files={"f": file})
