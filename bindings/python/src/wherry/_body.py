# Wherry: streamed request bodies
# SPDX-License-Identifier: Apache-2.0
"""Files, iterators and generators as request bodies.

The library requests data by WANT_BODY events.
"""

from __future__ import annotations

import io
import os
import stat
import sys

from ._core.calls import check, last_error
from ._core.errors import ArgumentError, StateError, brief
from ._native import codes
from ._native.library import lib
from ._native.memory import Cell, address

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import (
        Any, AsyncIterator, Callable, Generator, Iterator, Optional, Sequence, Tuple, Union,
    )  # fmt: skip

    Piece = Union[bytes, bytearray, memoryview, str]

CHUNK = 256 * 1024
#: File objects in ``files=`` up to this size are read into memory, so that they can be resent.
SMALL = 1 << 20
#: The exceptions of `seek` and `tell` on files that do not support them.
UNMEASURED = (OSError, AttributeError, ValueError, TypeError, EOFError, NotImplementedError)
#: The name of a chunk in errors.
CHUNK_NAME = "a chunk of a body"
#: The end of an iterator. None is not: it would silently end a body that continues.
END: Any = type("End", (), {})()
#: States in which a transfer accepts no more bytes.
ENDED = frozenset(("done", "failed", "cancelled"))


class Source:
    """One streamed body. It is passed on as the library has room for more bytes."""

    __slots__ = (
        "count", "asynchronous", "restart", "what", "_pieces", "_piece", "_at", "_read", "_taken",
    )  # fmt: skip

    def __init__(
        self,
        pieces: Union[Iterator[Piece], AsyncIterator[Piece]],
        count: int = -1,
        restart: Optional[Callable[[], Union[Iterator[Piece], AsyncIterator[Piece]]]] = None,
    ) -> None:
        #: Returns a new iterator from the first byte; None if the body can be sent only once.
        self.restart = restart
        #: The announced number of bytes, or -1. The chunks must have exactly that size in total.
        self.count = count
        self.asynchronous = hasattr(pieces, "__anext__")
        #: The name of a chunk in errors.
        self.what = CHUNK_NAME
        self._pieces: Any = pieces
        self._piece = b""
        self._at = 0
        #: The number of bytes read from the iterator.
        self._read = 0
        self._taken = Cell()

    def give(self, transfer: int) -> None:
        """Writes data for one WANT_BODY event. Exceptions of the iterator propagate."""
        if self.asynchronous:
            raise StateError("Could not send the body: its chunks are asynchronous. Use AsyncClient.", "wrong_state")
        feed = self._feed(transfer)
        try:
            next(feed)
            while True:
                feed.send(next(self._pieces, END))
        except StopIteration:
            pass

    async def give_async(self, transfer: int) -> None:
        """Like `give`, for an asynchronous iterator."""
        feed = self._feed(transfer)
        try:
            next(feed)
            while True:
                try:
                    piece = await self._pieces.__anext__()
                except StopAsyncIteration:
                    piece = END
                feed.send(piece)
        except StopIteration:
            pass

    def _feed(self, transfer: int) -> Generator[None, Piece, None]:
        """Writes until the transfer has no room.

        The caller sends each chunk in, and `END` at the end.
        """
        self._begins_again(transfer)
        while self._send(transfer):
            piece = yield
            data = b"" if piece is END else as_bytes(piece, self.what)
            self._count(data)
            # Read one chunk ahead: the body is complete only if nothing follows its last byte.
            while data and self._read == self.count:
                piece = yield
                if piece is END:
                    break
                self._count(as_bytes(piece, self.what))
            if piece is not END or data:
                self._piece, self._at = data, 0
                continue
            if self._read < self.count:
                raise wrong_size(self.count, self._read)
            _goes_on(transfer, lib.wherry_transfer_finish(transfer))
            if not self._begins_again(transfer):
                return

    def _count(self, data: bytes) -> None:
        """Counts bytes that were read. Raises an error if there are more than announced."""
        self._read += len(data)
        if 0 <= self.count < self._read:
            raise wrong_size(self.count, self._read)

    def _begins_again(self, transfer: int) -> bool:
        """Restarts the iterator if the server needs the body again. Returns whether it did."""
        if self.restart is None or not lib.wherry_transfer_wants_rewind(transfer):
            return False
        self._pieces = self.restart()
        self._piece, self._at, self._read = b"", 0, 0
        return _goes_on(transfer, lib.wherry_transfer_rewind(transfer))

    def _send(self, transfer: int) -> bool:
        """Sends the current chunk.

        Returns whether all of it was sent and there is room for more.
        """
        size = len(self._piece)
        base = address(self._piece)
        while self._at < size:
            status = lib.wherry_transfer_write(
                transfer, base + self._at, size - self._at, self._taken.address
            )
            if status == codes.E_BUSY and self._begins_again(transfer):
                return True
            if status == codes.E_BUSY or not _goes_on(transfer, status):
                return False  # The transfer is full or has ended; the next event tells which.
            self._at += self._taken.take()
        return True


def wrong_size(announced: int, read: int) -> ArgumentError:
    """Returns the error for a body whose size differs from the announced size."""
    found = f"at least {read}" if read > announced else f"only {read}"
    return ArgumentError(
        f"Could not send the body: {announced} bytes were announced, but it has {found}. "
        "Announce the exact size, or no size.", "bad_value",
    )  # fmt: skip


def _goes_on(transfer: int, status: int) -> bool:
    """Whether the transfer is still running, from the status of a call. Raises other errors."""
    if status == codes.E_STATE:
        error = last_error(status)
        if codes.STATES.get(lib.wherry_transfer_state(transfer)) in ENDED:
            return False
        raise error
    check(status)
    return True


def of_object(data: Any) -> Union[bytes, str, Source]:
    """Converts a body to bytes, the path of a regular file, or a source that is streamed."""
    if isinstance(data, bytes):
        return data
    if isinstance(data, str):
        return data.encode()
    if isinstance(data, Sized):
        return data._source()
    if isinstance(data, os.PathLike):
        return os.path.abspath(os.fsdecode(data))
    if _is_async_file(data):
        return Source(_read_async(data))
    if hasattr(data, "read"):
        return bytes(data.read()) if hasattr(data, "getbuffer") else of_file(data)
    try:
        return bytes(memoryview(data))  # Try this before iterating: the items of an array are numbers.
    except TypeError:
        pass
    if hasattr(data, "__aiter__"):
        pieces = data.__aiter__()
        return Source(pieces, restart=None if pieces is data else data.__aiter__)
    if hasattr(data, "keys"):  # Iterating a mapping would send only its keys.
        raise TypeError(f"{type(data).__name__} cannot be a body. Pass a form as data=, or any value as json=.")
    if isinstance(data, (list, tuple)):
        for piece in data:
            if not isinstance(piece, (str, bytes, bytearray, memoryview)):
                raise TypeError(f"{CHUNK_NAME} must be bytes or str, not {type(piece).__name__}")
    if hasattr(data, "__iter__") and not isinstance(data, (set, frozenset)):  # A set has no order.
        pieces = iter(data)
        return Source(pieces, restart=None if pieces is data else data.__iter__)
    raise TypeError(
        f"{type(data).__name__} cannot be a body. Pass bytes, str, a file, a path, or an iterator of bytes."
    )


def _is_async_file(data: Any) -> bool:
    """Whether ``data`` is a file of aiofiles, anyio, or a similar library."""
    if not (hasattr(data, "__aiter__") and hasattr(data, "read")):
        return False
    from inspect import iscoroutinefunction

    return iscoroutinefunction(data.read)


async def _read_async(file: Any) -> AsyncIterator[Piece]:
    while True:
        piece = await file.read(CHUNK)
        if not piece:
            return
        yield piece


def of_file(file: Any) -> Union[str, Source]:
    """Returns the path of a regular binary file at its start, or a source for other files."""
    path, start, size = plain(file)
    if path is not None and start == 0:
        return path

    def read() -> Iterator[Piece]:
        return iter(lambda: file.read(CHUNK) or None, None)

    def restart() -> Iterator[Piece]:
        file.seek(start)
        return read()

    return Source(
        read(), -1 if start is None or size is None else max(0, size - start),
        None if start is None else restart,
    )  # fmt: skip


def plain(file: Any) -> Tuple[Optional[str], Optional[int], Optional[int]]:
    """Returns the path, position, and size of the file behind a file object. Each may be None.

    Only an exact `io.FileIO`, alone or in an exact `io.BufferedReader`, is known to read the bytes of
    the file. Other objects may decompress, decrypt, or count a file and still report its `fileno`,
    `name`, and `mode`.
    """
    temporary = getattr(sys.modules.get("tempfile"), "_TemporaryFileWrapper", None)
    if temporary is not None and type(file) is temporary:
        file = file.file  # The wrapper only adds deletion.
    raw = file.raw if type(file) is io.BufferedReader else file
    if type(raw) is not io.FileIO:
        return None, *measured(file)
    try:
        start, about = int(file.tell()), os.fstat(file.fileno())
    except (OSError, ValueError):
        return None, None, None
    if not stat.S_ISREG(about.st_mode):
        return None, None, None
    name = raw.name
    if isinstance(name, (str, bytes)) and raw.mode == "rb":
        path = os.path.abspath(os.fsdecode(name))
        try:
            if os.path.samestat(os.stat(path), about):
                return path, start, about.st_size
        except OSError:
            pass  # The file was renamed or deleted: read it through the object.
    return None, start, about.st_size


def measured(file: Any) -> Tuple[Optional[int], Optional[int]]:
    """Returns the position and size of a file object with `seek` and `tell`. Each may be None.

    A wrapper may take both from the file that it reads, as `tqdm.wrapattr` does. If the wrapper reads
    more or fewer bytes than the file has, sending the body fails with an error that names both counts.
    """
    if hasattr(file, "encoding") or not (hasattr(file, "seek") and hasattr(file, "tell")):
        return None, None  # Positions in a text file do not count bytes.
    try:
        start = int(file.tell())
    except UNMEASURED:
        return None, None
    size: Optional[int] = None
    try:
        file.seek(0, os.SEEK_END)  # Some return None.
        size = int(file.tell())
    except UNMEASURED:
        pass
    try:
        file.seek(start)
    except UNMEASURED as error:
        if size is None:
            return None, None  # The file cannot seek, and its position is unchanged.
        # The file is now at its end: reading it would send an empty body.
        raise ArgumentError(
            f"Could not read the file of the body: seek({start}) failed after its size was read: {error}. "
            "Pass an iterator of its bytes instead.", "bad_argument",
        ) from error  # fmt: skip
    return start, size


class Sized:
    """A streamed body, or the content of a part, with a known size in bytes.

    ``pieces`` is an iterable of bytes or a file; for `AsyncClient` also an asynchronous iterable. The
    chunks are read while they are sent, so the body is never in memory as a whole. ``size`` is sent as
    its length. If the total size differs, the request fails with ArgumentError. The body cannot be
    resent after a redirect.
    """

    __slots__ = ("pieces", "size")

    def __init__(self, pieces: Any, size: int) -> None:
        if isinstance(size, bool) or not isinstance(size, int) or size < 0:
            raise ArgumentError(f"a size must be a number of bytes, not {brief(size)}", "bad_value")
        #: An iterable, an asynchronous iterable, or a file.
        self.pieces = pieces
        #: The total size in bytes.
        self.size = size

    def _source(self) -> Source:
        pieces = self.pieces
        if _is_async_file(pieces):
            return Source(_read_async(pieces), self.size)
        if hasattr(pieces, "read"):
            return Source(iter(lambda: pieces.read(CHUNK) or None, None), self.size)
        if hasattr(pieces, "__aiter__"):
            return Source(pieces.__aiter__(), self.size)
        return Source(iter(pieces), self.size)


def joined(sources: Sequence[Source]) -> Source:
    """Concatenates sources. Each must have exactly its announced size."""
    count = sum(source.count for source in sources)
    if any(source.asynchronous for source in sources):
        return Source(_one_by_one_async(sources), count)
    return Source(_one_by_one(sources), count)


def _one_by_one(sources: Sequence[Source]) -> Iterator[bytes]:
    for source in sources:
        feed = _exactly(source)
        try:
            next(feed)
            while True:
                data = feed.send(next(source._pieces, END))
                if data:
                    yield data
        except StopIteration as end:
            yield end.value


async def _one_by_one_async(sources: Sequence[Source]) -> AsyncIterator[bytes]:
    for source in sources:
        feed = _exactly(source)
        last = b""
        try:
            next(feed)
            while True:
                if source.asynchronous:
                    try:
                        piece = await source._pieces.__anext__()
                    except StopAsyncIteration:
                        piece = END
                else:
                    piece = next(source._pieces, END)
                data = feed.send(piece)
                if data:
                    yield data
        except StopIteration as end:
            last = end.value
        yield last


def _exactly(source: Source) -> Generator[bytes, Piece, bytes]:
    """Checks the size of a part while it is sent.

    The caller sends each chunk in, and `END` at the end. Yields the bytes to send. The last chunk is
    yielded only when no more bytes follow.
    """
    held = b""
    while True:
        piece = yield held
        if piece is END:
            if source._read < source.count:
                raise wrong_size(source.count, source._read)
            return b""
        held = as_bytes(piece)
        source._count(held)
        if source._read < source.count:
            continue
        while True:
            piece = yield b""
            if piece is END:
                return held
            source._count(as_bytes(piece))


def as_bytes(piece: Any, what: str = CHUNK_NAME) -> bytes:
    """Converts one chunk of a body to bytes."""
    if isinstance(piece, str):
        return piece.encode()
    if not isinstance(piece, (bytes, bytearray, memoryview)):
        raise TypeError(f"{what} must be bytes or str, not {type(piece).__name__}")
    return bytes(piece)


def parts(files: Any) -> Iterator[Tuple[Union[str, bytes], Optional[str], Any, Optional[str], Any]]:
    """Iterates over the parts of ``files=``.

    Yields the field name, file name, content (bytes, `Path`, or `Source`), content type, and further
    headers of each part.
    """
    from ._options import pairs

    for field, item in pairs(files, "files"):
        if not isinstance(field, (str, bytes)):
            raise TypeError(f"files= takes str for the name of a field, not {brief(field)}")
        if item is None:
            continue  # As in requests.
        name: Optional[str] = None
        kind: Optional[str] = None
        content = item
        headers: Any = None
        if isinstance(item, tuple):
            if not 2 <= len(item) <= 4:
                raise ArgumentError(
                    f"files= takes (name, content[, type[, headers]]) for {brief(field)}, not a tuple "
                    f"of length {len(item)}", "bad_argument",
                )  # fmt: skip
            name, content = item[:2]
            if content is None:
                continue  # As in requests.
            for word in (name, *item[2:3]):
                if word is not None and not isinstance(word, (str, bytes)):
                    raise TypeError(
                        f"files= takes (name, content[, type[, headers]]) for {brief(field)}, with str for "
                        f"name and type, not {brief(word)}"
                    )
            kind = item[2] if len(item) > 2 else None
            headers = item[3] if len(item) == 4 else None
            if headers:
                given = pairs(headers, "part headers in files")
                named = [field for field in given if str(field[0]).lower() == "content-type"]
                kind = named[-1][1] if named else kind
                headers = [field for field in given if field not in named]
        elif not isinstance(item, (bytes, bytearray, str)):
            found = getattr(item, "name", None) if not isinstance(item, os.PathLike) else item
            if isinstance(found, (str, bytes, os.PathLike)):
                name = os.path.basename(os.fsdecode(found))
                if name[:1] == "<" and name[-1:] == ">":
                    name = None  # Such as "<stdin>".
        if name is None and not isinstance(item, tuple):
            name = os.fsdecode(field)
        try:
            sent = part_content(content)
        except TypeError:
            raise TypeError(
                f"files= takes bytes, str, a path, a file, or a tuple for {brief(field)}, not {type(content).__name__}"
            ) from None
        yield field, name, sent, kind, headers


class Path(str):
    """The path of a file, as distinct from content."""

    __slots__ = ()


def part_content(content: Any) -> Union[bytes, Path, Source]:
    """Converts the content of one part to bytes, the path of a regular file, or a source.

    The size of a part must be known before it is sent. A file object of unknown size is therefore read
    into memory.
    """
    if isinstance(content, bytes):
        return content
    if isinstance(content, Sized):
        return content._source()
    if isinstance(content, str):
        return content.encode()
    if isinstance(content, os.PathLike):
        return Path(os.path.abspath(os.fsdecode(content)))
    if hasattr(content, "read"):
        path, start, size = plain(content)
        if path is not None and start == 0:
            return Path(path)
        if start is not None and size is not None and size - start > SMALL:
            return Source(iter(lambda: content.read(CHUNK) or None, None), size - start)
        return as_bytes(content.read())
    return bytes(memoryview(content))
