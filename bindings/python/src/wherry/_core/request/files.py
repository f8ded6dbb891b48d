# Wherry: files as request bodies and form parts
# SPDX-License-Identifier: Apache-2.0
"""Files, paths, and other objects as request bodies, and the parts of ``files=``."""

from __future__ import annotations

import io
import os
import stat
import sys

from ..._errors import ArgumentError, brief
from .body import CHUNK_NAME, Source, as_bytes

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, AsyncIterator, Iterator, Optional, Tuple, Union

    from .body import Piece

CHUNK = 256 * 1024
#: File objects in ``files=`` up to this size are read into memory, so that they can be resent.
SMALL = 1 << 20
#: The exceptions of `seek` and `tell` on files that do not support them.
UNMEASURED = (OSError, AttributeError, ValueError, TypeError, EOFError, NotImplementedError)


def body_of(data: Any) -> Union[bytes, str, Source]:
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
        return bytes(data.read()) if hasattr(data, "getbuffer") else file_body(data)
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


def file_body(file: Any) -> Union[str, Source]:
    """Returns the path of a regular binary file at its start, or a source for other files."""
    path, start, size = plain_file(file)
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


def plain_file(file: Any) -> Tuple[Optional[str], Optional[int], Optional[int]]:
    """Returns the path, position, and size of the file behind a file object. Each may be None.

    Only an `io.FileIO` (not a subclass), alone or in an `io.BufferedReader` (not a subclass), is
    known to read the bytes of the file. Other objects may decompress, decrypt, or count its bytes
    and still report its `fileno`, `name`, and `mode`.
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

    A wrapper may report the position and size of the file that it reads, as `tqdm.wrapattr` does.
    If the wrapper reads more or fewer bytes than the file has, sending the body fails with an error
    that names both counts.
    """
    if hasattr(file, "encoding") or not (hasattr(file, "seek") and hasattr(file, "tell")):
        return None, None  # Positions in a text file do not count bytes.
    try:
        start = int(file.tell())
    except UNMEASURED:
        return None, None
    size: Optional[int] = None
    try:
        file.seek(0, os.SEEK_END)  # Some files return None from `seek`.
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
    its length. If the total size differs, the request fails with ArgumentError, perhaps after a part was
    sent. The body cannot be resent after a redirect.
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


def parts(files: Any) -> Iterator[Tuple[Union[str, bytes], Optional[str], Any, Optional[str], Any]]:
    """Iterates over the parts of ``files=``.

    Yields the field name, file name, content (bytes, `Path`, or `Source`), content type, and further
    headers of each part.
    """
    from ..forms import pairs

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
                fields = pairs(headers, "part headers in files")
                types = [field for field in fields if str(field[0]).lower() == "content-type"]
                kind = types[-1][1] if types else kind
                headers = [field for field in fields if field not in types]
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
        path, start, size = plain_file(content)
        if path is not None and start == 0:
            return Path(path)
        if start is not None and size is not None and size - start > SMALL:
            return Source(iter(lambda: content.read(CHUNK) or None, None), size - start)
        return as_bytes(content.read())
    return bytes(memoryview(content))
