# Wherry: memory and text between Python and the library
# SPDX-License-Identifier: Apache-2.0
"""All ctypes memory of the binding: out-parameters, records, rows, and errors."""

from __future__ import annotations

import ctypes
import os
import struct

from . import _codes as codes
from ._errors import CLASSES, ArgumentError, ImageResult, WherryError, shown
from ._native import Library, load

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Callable, Iterator, List, Optional, Tuple, Type, Union

    #: size, event, user data, transfer id, kind, status, detail, http code, flags, body, body size,
    #: headers, header size, done bytes, expected bytes, reason
    Record = Tuple[
        int, int, int, int, int, int, int, int, int, int, int, int, int, int, int, int
    ]
    Answer = Tuple[int, int, int, int, int, int, int, int, int, int]
    Text = Union[str, bytes]

__all__ = [
    "ANSWER", "CACHE_USAGE", "COUNTERS", "IMAGE_INFO", "JOB_ROW", "LOG_RECORD", "METRICS", "RECORD", "Cell",
    "Records", "Scratch",
    "address", "bytes_at", "check", "copy_text", "entry_rows", "error_at", "failed_images",
    "file_name_text", "filled",
    "freed", "image_results", "last_error", "lib", "made", "memory_at", "path_at", "progress_of",
    "raw_text_at",
    "rows", "scratch", "text", "text_at", "transfer_rows", "partial_rows",
]  # fmt: skip

#: wherry_record, field by field, in the header's order.
RECORD = struct.Struct("=QQQQiiqiIQQQQqqQ")
#: The fields of a record that a plain response needs: event, user data, kind, status, http code,
#: flags, body, body size, headers, header size.
ANSWER = struct.Struct("=8xQQ8xii8xiIQQQQ24x")
#: wherry_progress.
PROGRESS = struct.Struct("=Q6q2iq2i")
#: wherry_metrics.
METRICS = struct.Struct("=Q8q4i")
TRANSFER_ROW = struct.Struct("=Q6Q2q2i")
IMAGE_ROW = struct.Struct("=Q3Q2q6iq")
#: wherry_image_info.
IMAGE_INFO = struct.Struct("=Q3q8iIi")
PARTIAL_ROW = struct.Struct("=Q3Q2qd")
JOB_ROW = struct.Struct("=Q6Q4q4i")
ENTRY_ROW = struct.Struct("=Q4Q3q2i")
#: wherry_cache_usage.
CACHE_USAGE = struct.Struct("=Q5q")
#: wherry_log_record and wherry_counters.
LOG_RECORD = struct.Struct("=QqQ5Qq4i8q")
COUNTERS = struct.Struct("=Q10q")


class _Lazy:
    """A proxy that loads the native library on the first call, not on import."""

    def __getattr__(self, name: str) -> Any:
        global _library
        if _library is None:
            from ._forking import watch

            _library = load()
            watch(_library.wherry_library_restart)
        function = getattr(_library, name)
        setattr(self, name, function)
        return function


_library: Optional[Library] = None
lib: Any = _Lazy()


class Cell:
    """An out-parameter of eight bytes. Pass `address` to the library."""

    __slots__ = ("_cell", "address")

    def __init__(self) -> None:
        self._cell = ctypes.c_uint64()
        self.address = ctypes.addressof(self._cell)

    def take(self) -> int:
        """Returns the value and resets it to 0."""
        value = self._cell.value
        self._cell.value = 0
        return value


class Records:
    """A buffer of records that the library fills."""

    __slots__ = ("_memory", "address", "capacity", "view", "count")

    def __init__(self, capacity: int) -> None:
        buffer = bytearray(RECORD.size * capacity)
        struct.pack_into("=Q", buffer, 0, RECORD.size)
        self._memory = (ctypes.c_char * len(buffer)).from_buffer(buffer)
        self.address = ctypes.addressof(self._memory)
        self.capacity = capacity
        self.view = memoryview(buffer)
        self.count = Cell()

    def at(self, index: int = 0) -> Record:
        """Returns one record."""
        return RECORD.unpack_from(self.view, index * RECORD.size)

    def answers(self, count: int) -> Iterator[Answer]:
        """Iterates over the first ``count`` records in the `ANSWER` layout."""
        return ANSWER.iter_unpack(self.view[: count * RECORD.size])

    def keep(self, index: int) -> None:
        """Keeps the event of a record: releasing the records does not free it."""
        struct.pack_into("=Q", self.view, index * RECORD.size + 8, 0)


class Scratch:
    """The buffers of one blocking call: a record and the cell of its transfer."""

    __slots__ = ("record", "record_address", "transfer", "transfer_address", "freed")

    def __init__(self) -> None:
        self.record = Records(1)
        self.record_address = self.record.address
        self.transfer = Cell()
        self.transfer_address = self.transfer.address
        #: The event of the record, if it was freed already.
        self.freed = 0


#: Unused `Scratch` objects. Popping from a list is atomic, so threads and signal handlers that
#: interrupt another call each get their own, without a lock.
scratch: List[Scratch] = []
_cells: List[Cell] = []


def text(value: Text, reason: str = "bad_argument") -> bytes:
    """Encodes text for the library. Raises ArgumentError if the text contains a NUL."""
    if isinstance(value, str):
        try:
            value = value.encode()
        except UnicodeEncodeError as error:
            raise ArgumentError(f"{_told(value, reason)} is not Unicode text: {error}", reason) from None
    elif not isinstance(value, bytes):
        kind = type(value).__name__
        if reason == "bad_url" and value is not None:
            raise TypeError(f"url must be str or bytes, not {kind}. Convert a URL object with str().")
        raise TypeError(f"{'url must be' if reason == 'bad_url' else 'expected'} str or bytes, not {kind}")
    if b"\0" in value:
        raise ArgumentError(f"{_told(value, reason)} contains a NUL", reason)
    return value


def file_name_text(name: Text, reason: str = "bad_header") -> bytes:
    """Encodes a file name for the library. The bytes need not be UTF-8."""
    if isinstance(name, str):
        try:
            name = name.encode("utf-8", "surrogateescape")
        except UnicodeEncodeError:
            pass  # Surrogates that represent no bytes: `text` raises the error.
    return text(name, reason)


def _told(value: Text, reason: str) -> str:
    """Describes an invalid text for an error message, without values that may be secret."""
    if reason in ("bad_header", "bad_parameters"):
        return "a header field" if reason == "bad_header" else "a parameter"
    if isinstance(value, bytes):
        value = value.decode("utf-8", "replace")
    return repr(shown(value))


def url_text(url: bytes) -> str:
    """Decodes a URL that was passed as bytes."""
    try:
        return url.decode()
    except UnicodeDecodeError as error:
        raise ArgumentError(f"Could not decode the URL: it is not UTF-8: {error}", "bad_url") from None


def text_at(pointer: int) -> Optional[str]:
    """Returns the NUL-terminated text at an address, or None for 0."""
    return ctypes.string_at(pointer).decode("utf-8", "replace") if pointer else None


def path_at(pointer: int) -> Optional[str]:
    """Returns the path at an address, decoded by `os.fsdecode`, or None for 0."""
    return os.fsdecode(ctypes.string_at(pointer)) if pointer else None


def raw_text_at(pointer: int) -> bytes:
    """Returns the NUL-terminated bytes at an address, or b"" for 0."""
    return ctypes.string_at(pointer) if pointer else b""


#: Copies a number of bytes from an address: `ctypes.string_at` without its Python frame.
bytes_at: Callable[[int, int], bytes] = ctypes.PYFUNCTYPE(
    ctypes.py_object, ctypes.c_void_p, ctypes.c_ssize_t
)(("PyBytes_FromStringAndSize", ctypes.pythonapi))


def address(data: bytes) -> int:
    """Returns the address of the data of a bytes object. Valid while the object exists."""
    return ctypes.cast(ctypes.c_char_p(data), ctypes.c_void_p).value or 0


class _Buffer(ctypes.Structure):
    """CPython's Py_buffer. Only the address is used."""

    _fields_ = [("buf", ctypes.c_void_p), ("rest", ctypes.c_uint8 * 256)]


def memory_at(view: memoryview) -> int:
    """Returns the address of the data of a memoryview. Valid until the view is released."""
    buffer = _Buffer()
    ctypes.pythonapi.PyObject_GetBuffer(
        ctypes.py_object(view), ctypes.byref(buffer), ctypes.c_int(0x11C)  # PyBUF_FULL_RO
    )
    found = buffer.buf or 0
    ctypes.pythonapi.PyBuffer_Release(ctypes.byref(buffer))
    return found


def check(status: int) -> None:
    """Raises the error of this thread's last call, unless ``status`` is OK."""
    if status:
        raise last_error(status)


def freed(status: int) -> None:
    """Like `check`, for functions that free something.

    Ignores E_FORKED: a child may drop its parent's objects.
    """
    if status and status != codes.E_FORKED:
        raise last_error(status)


def made(function: Any, *arguments: Any) -> int:
    """Calls a function whose last parameter is an out-parameter, and returns its value."""
    try:
        cell = _cells.pop()
    except IndexError:
        cell = Cell()
    status = function(*arguments, cell.address)
    if status:
        error = last_error(status)
        _cells.append(cell)
        raise error
    value = cell.take()
    _cells.append(cell)
    return value


def last_error(status: int) -> WherryError:
    """Returns the error of this thread's last failed call."""
    handle = lib.wherry_last_error()
    if handle and lib.wherry_error_status(handle) == status:
        return error_at(handle)
    kind = CLASSES.get(status, WherryError)
    name = (lib.wherry_status_name(status) or b"E_UNKNOWN").decode()
    if status == codes.E_FORKED:
        return kind("This process was forked outside of Python. Call wherry.restart() in the child.", "forked")
    return kind(f"the library returned {name}", "")


def error_at(handle: int, depth: int = 0) -> WherryError:
    """Creates the exception for a native error, with all its details."""
    status = lib.wherry_error_status(handle)
    kind: Type[WherryError] = CLASSES.get(status, WherryError)
    message = (lib.wherry_error_message(handle) or b"").decode("utf-8", "replace")
    reason = (lib.wherry_error_reason(handle) or b"").decode("utf-8", "replace")
    if status == codes.E_FORKED:
        message = message.replace("wherry_library_restart", "wherry.restart()")
    retry = lib.wherry_error_retry_after_ms(handle)
    partial = lib.wherry_error_partial_path(handle)
    below = lib.wherry_error_underlying(handle) if depth < 4 else None
    os_code = lib.wherry_error_os_code(handle)
    error = kind(
        message,
        reason,
        http_status=lib.wherry_error_http_code(handle),
        curl_code=lib.wherry_error_curl_code(handle),
        os_code=os_code,
        retryable=lib.wherry_error_is_retryable(handle),
        retry_after=None if retry < 0 else retry / 1000,
        partial_path=None if partial is None else os.fsdecode(partial),
        underlying=error_at(below, depth + 1) if below else None,
    )
    if os_code and isinstance(error, OSError):
        error.errno = os_code
    return error


def rows(listing: int, getter: Any, layout: struct.Struct) -> Iterator[Tuple[Any, ...]]:
    """Iterates over the rows of a native list, without their size field.

    Frees the list at the end.
    """
    row = ctypes.create_string_buffer(layout.size)
    try:
        for index in range(lib.wherry_list_count(listing)):
            struct.pack_into("=Q", row, 0, layout.size)
            check(getter(listing, index, ctypes.addressof(row)))
            yield layout.unpack(row.raw)[1:]
    finally:
        lib.wherry_list_free(listing)


def transfer_rows(listing: int) -> Iterator[Tuple[Any, ...]]:
    """Iterates over running transfers: id, method, url, tag, path, done, expected, kind, state."""
    for row in rows(listing, lib.wherry_list_transfer, TRANSFER_ROW):
        number, method, url, tag, path, _, done, expected, kind, state = row
        words = (text_at(method), text_at(url), text_at(tag), path_at(path))
        yield (number, *words, done, expected, kind, state)


def partial_rows(listing: int) -> Iterator[Tuple[Any, ...]]:
    """Iterates over unfinished downloads: path, partial path, url, done, expected, ratio."""
    for path, partial, url, done, expected, ratio in rows(
        listing, lib.wherry_list_partial, PARTIAL_ROW
    ):
        yield path_at(path), path_at(partial), text_at(url), done, expected, ratio


def entry_rows(listing: int) -> Iterator[Tuple[Any, ...]]:
    """Iterates over cache entries.

    Yields id, identifier, method, url, stored at, fresh for, body size, code, store.
    """
    for row in rows(listing, lib.wherry_list_entry, ENTRY_ROW):
        number, identifier, method, url, *numbers = row
        words = (text_at(number), text_at(identifier), text_at(method), text_at(url))
        yield (*words, *numbers)


def failed_images(handle: int) -> Tuple[ImageResult, ...]:
    """Returns the images that failed, from a native error."""
    return image_results(made(lib.wherry_error_list_failed_images, handle))


def image_results(
    listing: int, answer: Optional[Callable[[int], Any]] = None
) -> Tuple[ImageResult, ...]:
    """Reads a native list of images and frees it.

    ``answer`` converts a borrowed native response.
    """
    found: List[ImageResult] = []
    for row in rows(listing, lib.wherry_list_image, IMAGE_ROW):
        name, reason, message, original, encoded, index, status, width, height, quality = row[:10]
        lent = lib.wherry_list_response(listing, len(found)) if answer else None
        found.append(
            ImageResult(
                index, path_at(name) or "", status, text_at(reason) or "", text_at(message) or "",
                None if original < 0 else original, None if encoded < 0 else encoded,
                width, height, quality or None, None if row[11] < 0 else row[11],
                answer(lent) if answer and lent else None,
            )
        )  # fmt: skip
    return tuple(found)


def filled(layout: struct.Struct, function: Any, *arguments: Any) -> Tuple[int, ...]:
    """Calls a function that fills a struct. Returns the fields after the size."""
    memory = ctypes.create_string_buffer(layout.size)
    struct.pack_into("=Q", memory, 0, layout.size)
    check(function(*arguments, ctypes.addressof(memory)))
    return layout.unpack(memory.raw)[1:]


def progress_of(function: Any, *arguments: Any) -> Tuple[int, ...]:
    """Calls a progress getter.

    Returns done, expected, resumed at, wire, speed, remaining, generation, decoded, count and ended.
    """
    values = filled(PROGRESS, function, *arguments)
    return (*values[:7], values[8], values[7], values[9])


def copy_text(function: Any, *arguments: Any) -> str:
    """Calls a function that copies text into a buffer, and returns the text."""
    count = Cell()
    capacity = 1024
    while True:
        memory = ctypes.create_string_buffer(capacity)
        check(function(*arguments, ctypes.addressof(memory), capacity, count.address))
        needed = count.take()
        if needed < capacity:
            return os.fsdecode(memory.raw[:needed])
        capacity = needed + 1
