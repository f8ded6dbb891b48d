# Wherry: bodies that are streamed to the server
# SPDX-License-Identifier: Apache-2.0
"""Files, iterators and generators as request bodies: who asks is the library, by WANT_BODY."""

from __future__ import annotations

import os
import stat

from . import _codes as codes
from ._bridge import Cell, address, check, last_error, lib
from ._errors import ArgumentError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, AsyncIterator, Iterator, Optional, Tuple, Union

    Piece = Union[bytes, bytearray, memoryview, str]

CHUNK = 256 * 1024
#: States in which a transfer takes no more bytes.
ENDED = frozenset(("done", "failed", "cancelled"))


class Source:
    """The bytes of one streamed body, handed on as the library has room for them."""

    __slots__ = ("count", "asynchronous", "_pieces", "_piece", "_at", "_sent", "_taken")

    def __init__(
        self,
        pieces: Union[Iterator[Piece], AsyncIterator[Piece]],
        count: int = -1,
    ) -> None:
        #: How many bytes there will be, or -1; what the pieces have beyond is left out.
        self.count = count
        self.asynchronous = hasattr(pieces, "__anext__")
        self._pieces: Any = pieces
        self._piece = b""
        self._at = 0
        self._sent = 0
        self._taken = Cell()

    def give(self, transfer: int) -> None:
        """Answers one WANT_BODY; an exception of the iterator passes through."""
        while self._send(transfer):
            piece = next(self._pieces, None)
            if not self._next(transfer, piece):
                return

    async def give_async(self, transfer: int) -> None:
        """The same for an asynchronous iterator."""
        while self._send(transfer):
            try:
                piece = await self._pieces.__anext__()
            except StopAsyncIteration:
                piece = None
            if not self._next(transfer, piece):
                return

    def _next(self, transfer: int, piece: Optional[Piece]) -> bool:
        left = self.count - self._sent
        if piece is None or left == 0:
            _goes_on(transfer, lib.wherry_transfer_finish(transfer))
            return False
        if isinstance(piece, str):
            piece = piece.encode()
        elif not isinstance(piece, (bytes, bytearray, memoryview)):
            raise TypeError(f"a piece of a body is bytes or str, not {type(piece).__name__}")
        data = bytes(piece)
        self._piece, self._at = data[:left] if 0 < left < len(data) else data, 0
        return True

    def _send(self, transfer: int) -> bool:
        """Whether the piece at hand has gone whole and there is room for more."""
        size = len(self._piece)
        base = address(self._piece)
        while self._at < size:
            status = lib.wherry_transfer_write(
                transfer, base + self._at, size - self._at, self._taken.address
            )
            if status == codes.E_BUSY or not _goes_on(transfer, status):
                return False  # Full, or over: either way the next event says what comes.
            taken = self._taken.take()
            self._at += taken
            self._sent += taken
        return True


def _goes_on(transfer: int, status: int) -> bool:
    """Whether a call that answered this found the transfer running; raises what else it says."""
    if status == codes.E_STATE:
        error = last_error(status)
        if codes.STATES.get(lib.wherry_transfer_state(transfer)) in ENDED:
            return False
        raise error
    check(status)
    return True


def of_object(data: Any) -> Union[bytes, str, Source]:
    """What a body is: bytes, the path of a plain file, or a source to be streamed."""
    if isinstance(data, bytes):
        return data
    if isinstance(data, str):
        return data.encode()
    if isinstance(data, os.PathLike):
        return os.path.abspath(os.fsdecode(data))
    if hasattr(data, "read"):
        return bytes(data.read()) if hasattr(data, "getbuffer") else of_file(data)
    try:
        return bytes(memoryview(data))  # Before iteration: the items of an array are numbers.
    except TypeError:
        pass
    if hasattr(data, "__aiter__"):
        return Source(data.__aiter__())
    if hasattr(data, "__iter__"):
        return Source(iter(data))
    raise TypeError(f"{type(data).__name__} cannot be a body")


def of_file(file: Any) -> Union[str, Source]:
    """A plain binary file at its start goes by its path; any other is read piece by piece."""
    path, start, size = plain(file)
    if path is not None and start == 0:
        return path

    def read() -> Iterator[Piece]:
        return iter(lambda: file.read(CHUNK) or None, None)

    return Source(read(), -1 if start is None or size is None else max(0, size - start))


def plain(file: Any) -> Tuple[Optional[str], Optional[int], Optional[int]]:
    """The path of the plain file behind a file object, its position and its size, as far as they
    can be known."""
    if hasattr(file, "encoding"):
        return None, None, None  # A text file: its positions do not count bytes.
    try:
        start = int(file.tell())
    except (OSError, AttributeError, ValueError):
        return None, None, None
    try:
        about = os.fstat(file.fileno())
    except (OSError, AttributeError, ValueError):
        try:
            size = int(file.seek(0, os.SEEK_END))
            file.seek(start)
        except (OSError, AttributeError, ValueError, TypeError):
            return None, None, None
        return None, start, size
    if not stat.S_ISREG(about.st_mode):
        return None, None, None
    name = getattr(file, "name", None)
    if isinstance(name, (str, bytes)) and getattr(file, "mode", "") == "rb":
        path = os.path.abspath(os.fsdecode(name))
        try:
            if os.path.samestat(os.stat(path), about):
                return path, start, about.st_size
        except OSError:
            pass  # It has another name by now: read it through the object.
    return None, start, about.st_size


def parts(files: Any) -> Iterator[Tuple[str, Optional[str], Any, Optional[str]]]:
    """What ``files=`` lists: field, file name, bytes or a path in a `Path`, content type."""
    from ._options import pairs

    for field, item in pairs(files):
        name: Optional[str] = None
        kind: Optional[str] = None
        content = item
        if isinstance(item, tuple):
            if not 2 <= len(item) <= 4:
                raise ArgumentError(
                    f"files= wants (name, content[, type]) for {field!r}", "bad_argument"
                )
            name, content = item[:2]
            kind = item[2] if len(item) > 2 else None
            if len(item) == 4 and item[3]:
                raise ArgumentError("a part has no header fields of its own", "bad_argument")
        elif not isinstance(item, (bytes, bytearray, str)):
            found = getattr(item, "name", None) if not isinstance(item, os.PathLike) else item
            if isinstance(found, (str, bytes, os.PathLike)):
                name = os.path.basename(os.fsdecode(found))
        if name is None and not isinstance(item, tuple):
            name = field
        yield field, name, part_content(content), kind


class Path(str):
    """A path, where bytes could stand as well."""

    __slots__ = ()


def part_content(content: Any) -> Union[bytes, Path]:
    """The content of one part: bytes, or the path of a plain file at its start."""
    if isinstance(content, bytes):
        return content
    if isinstance(content, str):
        return content.encode()
    if isinstance(content, os.PathLike):
        return Path(os.path.abspath(os.fsdecode(content)))
    if hasattr(content, "read"):
        path, start, _ = plain(content)
        if path is not None and start == 0:
            return Path(path)
        data = content.read()
        return data.encode() if isinstance(data, str) else bytes(data)
    return bytes(memoryview(content))
