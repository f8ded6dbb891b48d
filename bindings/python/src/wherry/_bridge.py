# Wherry: memory and text between Python and the library
# SPDX-License-Identifier: Apache-2.0
"""All ctypes memory of the binding: out-parameters, records, rows, and errors read back."""

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

    #: size, event, user data, transfer id, kind, status, detail, http code, flags, body, its
    #: count, head, its count, done bytes, expected bytes, reason
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
#: What a plain answer needs of it: event, user data, kind, status, http code, flags, body, its
#: count, head, its count.
ANSWER = struct.Struct("=8xQQ8xii8xiIQQQQ24x")
#: wherry_progress behind its size.
PROGRESS = struct.Struct("=Q6q2iq2i")
#: wherry_metrics behind its size.
METRICS = struct.Struct("=Q8q4i")
TRANSFER_ROW = struct.Struct("=Q6Q2q2i")
IMAGE_ROW = struct.Struct("=Q3Q2q6iq")
#: wherry_image_info behind its size.
IMAGE_INFO = struct.Struct("=Q3q8iIi")
PARTIAL_ROW = struct.Struct("=Q3Q2qd")
JOB_ROW = struct.Struct("=Q6Q4q4i")
ENTRY_ROW = struct.Struct("=Q4Q3q2i")
#: wherry_cache_usage behind its size.
CACHE_USAGE = struct.Struct("=Q5q")
#: wherry_log_record and wherry_counters behind their sizes.
LOG_RECORD = struct.Struct("=QqQ5Qq4i8q")
COUNTERS = struct.Struct("=Q10q")


class _Lazy:
    """Stands for the library until the first call, so that importing loads nothing."""

    def __getattr__(self, name: str) -> Any:
        global _library
        if _library is None:
            from ._forking import watch

            _library = load()
            watch()
        function = getattr(_library, name)
        setattr(self, name, function)
        return function


_library: Optional[Library] = None
lib: Any = _Lazy()


class Cell:
    """One out-parameter of eight bytes; its address is what the library is given."""

    __slots__ = ("_cell", "address")

    def __init__(self) -> None:
        self._cell = ctypes.c_uint64()
        self.address = ctypes.addressof(self._cell)

    def take(self) -> int:
        """The value, which is 0 afterwards."""
        value = self._cell.value
        self._cell.value = 0
        return value


class Records:
    """Room for records, to be filled by the library and unpacked by one call."""

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
        """One record."""
        return RECORD.unpack_from(self.view, index * RECORD.size)

    def answers(self, count: int) -> Iterator[Answer]:
        """The first ``count`` records, as `ANSWER` reads them."""
        return ANSWER.iter_unpack(self.view[: count * RECORD.size])

    def keep(self, index: int) -> None:
        """Takes the event out of this record, so that a release passes it over."""
        struct.pack_into("=Q", self.view, index * RECORD.size + 8, 0)


class Scratch:
    """What one blocking call needs: a record and two cells."""

    __slots__ = ("record", "record_address", "transfer", "transfer_address", "freed")

    def __init__(self) -> None:
        self.record = Records(1)
        self.record_address = self.record.address
        self.transfer = Cell()
        self.transfer_address = self.transfer.address
        #: The event in the record, if it is not ours any more.
        self.freed = 0


#: Unused scratches. Taking one from a list is atomic, so threads and signal handlers that call in
#: the middle of another call each have their own, without a lock.
scratch: List[Scratch] = []
_cells: List[Cell] = []


def text(value: Text, reason: str = "bad_argument") -> bytes:
    """Text as the library takes it; a NUL would cut it short and is refused."""
    if isinstance(value, str):
        try:
            value = value.encode()
        except UnicodeEncodeError as error:
            raise ArgumentError(f"{_told(value, reason)} is not Unicode text: {error}", reason) from None
    elif not isinstance(value, bytes):
        what = "url has to be" if reason == "bad_url" else "expected"
        raise TypeError(f"{what} str or bytes, not {type(value).__name__}")
    if b"\0" in value:
        raise ArgumentError(f"{_told(value, reason)} holds a NUL", reason)
    return value


def file_name_text(name: Text, reason: str = "bad_header") -> bytes:
    """The name of a file as the library takes it: its bytes, UTF-8 or not."""
    if isinstance(name, str):
        try:
            name = name.encode("utf-8", "surrogateescape")
        except UnicodeEncodeError:
            pass  # Surrogates that stand for no bytes: `text` refuses them.
    return text(name, reason)


def _told(value: Text, reason: str) -> str:
    """A refused text as a message shows it; what may be secret stays out of messages."""
    if reason in ("bad_header", "bad_parameters"):
        return "a header field" if reason == "bad_header" else "a parameter"
    if isinstance(value, bytes):
        value = value.decode("utf-8", "replace")
    return repr(shown(value))


def url_text(url: bytes) -> str:
    """A URL that a program gave as bytes."""
    try:
        return url.decode()
    except UnicodeDecodeError as error:
        raise ArgumentError(f"Could not read the URL: it is not UTF-8: {error}", "bad_url") from None


def text_at(pointer: int) -> Optional[str]:
    """The NUL-terminated text at that address, None for 0."""
    return ctypes.string_at(pointer).decode("utf-8", "replace") if pointer else None


def path_at(pointer: int) -> Optional[str]:
    """The path at that address as `os.fsdecode` reads it, None for 0."""
    return os.fsdecode(ctypes.string_at(pointer)) if pointer else None


def raw_text_at(pointer: int) -> bytes:
    """The NUL-terminated bytes at that address, b"" for 0."""
    return ctypes.string_at(pointer) if pointer else b""


#: A copy of so many bytes at that address: `ctypes.string_at` without its Python frame.
bytes_at: Callable[[int, int], bytes] = ctypes.PYFUNCTYPE(
    ctypes.py_object, ctypes.c_void_p, ctypes.c_ssize_t
)(("PyBytes_FromStringAndSize", ctypes.pythonapi))


def address(data: bytes) -> int:
    """Where the bytes object keeps its bytes; good for as long as the object."""
    return ctypes.cast(ctypes.c_char_p(data), ctypes.c_void_p).value or 0


class _Buffer(ctypes.Structure):
    """CPython's Py_buffer, of which only the address is looked at."""

    _fields_ = [("buf", ctypes.c_void_p), ("rest", ctypes.c_uint8 * 256)]


def memory_at(view: memoryview) -> int:
    """Where a memoryview keeps its bytes; good until the view is released."""
    buffer = _Buffer()
    ctypes.pythonapi.PyObject_GetBuffer(
        ctypes.py_object(view), ctypes.byref(buffer), ctypes.c_int(0x11C)  # PyBUF_FULL_RO
    )
    found = buffer.buf or 0
    ctypes.pythonapi.PyBuffer_Release(ctypes.byref(buffer))
    return found


def check(status: int) -> None:
    """Raises the error of this thread's last call unless it went well."""
    if status:
        raise last_error(status)


def freed(status: int) -> None:
    """The same after letting go of something; a forked child lets go of its parent's in peace."""
    if status and status != codes.E_FORKED:
        raise last_error(status)


def made(function: Any, *arguments: Any) -> int:
    """Calls a function whose last parameter is an out-parameter and returns what it gave."""
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
    """The error behind the last failing call of this thread."""
    handle = lib.wherry_last_error()
    if handle and lib.wherry_error_status(handle) == status:
        return error_at(handle)
    kind = CLASSES.get(status, WherryError)
    name = (lib.wherry_status_name(status) or b"E_UNKNOWN").decode()
    if status == codes.E_FORKED:
        return kind("This process was forked by code that does not tell Python. Call wherry.restart() in the child.", "forked")
    return kind(f"the library answered {name}", "")


def error_at(handle: int, depth: int = 0) -> WherryError:
    """The error object behind a handle, with all it has to say."""
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
    """The rows of a list without their size; frees the list at the end."""
    row = ctypes.create_string_buffer(layout.size)
    try:
        for index in range(lib.wherry_list_count(listing)):
            struct.pack_into("=Q", row, 0, layout.size)
            check(getter(listing, index, ctypes.addressof(row)))
            yield layout.unpack(row.raw)[1:]
    finally:
        lib.wherry_list_free(listing)


def transfer_rows(listing: int) -> Iterator[Tuple[Any, ...]]:
    """Rows of running transfers: id, method, url, tag, path, done, expected, kind, state."""
    for row in rows(listing, lib.wherry_list_transfer, TRANSFER_ROW):
        number, method, url, tag, path, _, done, expected, kind, state = row
        words = (text_at(method), text_at(url), text_at(tag), path_at(path))
        yield (number, *words, done, expected, kind, state)


def partial_rows(listing: int) -> Iterator[Tuple[Any, ...]]:
    """Rows of unfinished downloads: path, partial path, url, done, expected, ratio."""
    for path, partial, url, done, expected, ratio in rows(
        listing, lib.wherry_list_partial, PARTIAL_ROW
    ):
        yield path_at(path), path_at(partial), text_at(url), done, expected, ratio


def entry_rows(listing: int) -> Iterator[Tuple[Any, ...]]:
    """Rows of stored answers: id, identifier, method, url, stored at, fresh for, body, code,
    store."""
    for row in rows(listing, lib.wherry_list_entry, ENTRY_ROW):
        number, identifier, method, url, *numbers = row
        words = (text_at(number), text_at(identifier), text_at(method), text_at(url))
        yield (*words, *numbers)


def failed_images(handle: int) -> Tuple[ImageResult, ...]:
    """The pictures that did not get through, from an error."""
    return image_results(made(lib.wherry_error_list_failed_images, handle))


def image_results(
    listing: int, answer: Optional[Callable[[int], Any]] = None
) -> Tuple[ImageResult, ...]:
    """The rows of a list of pictures, which is freed; ``answer`` makes a response of a lent one."""
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
    """Calls a function that fills a struct; what stands behind its size."""
    memory = ctypes.create_string_buffer(layout.size)
    struct.pack_into("=Q", memory, 0, layout.size)
    check(function(*arguments, ctypes.addressof(memory)))
    return layout.unpack(memory.raw)[1:]


def progress_of(function: Any, *arguments: Any) -> Tuple[int, ...]:
    """Calls a progress getter: done, expected, resumed at, wire, speed, remaining, generation,
    decoded, count and ended."""
    values = filled(PROGRESS, function, *arguments)
    return (*values[:7], values[8], values[7], values[9])


def copy_text(function: Any, *arguments: Any) -> str:
    """Calls a function that copies text out into a buffer."""
    count = Cell()
    capacity = 1024
    while True:
        memory = ctypes.create_string_buffer(capacity)
        check(function(*arguments, ctypes.addressof(memory), capacity, count.address))
        needed = count.take()
        if needed < capacity:
            return os.fsdecode(memory.raw[:needed])
        capacity = needed + 1
