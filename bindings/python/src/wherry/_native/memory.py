# Wherry: memory that is shared with the library
# SPDX-License-Identifier: Apache-2.0
"""Buffers that the library fills, the layouts of its structs, and reads from addresses."""

from __future__ import annotations

import ctypes
import os
import struct

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Callable, Iterator, Optional, Tuple

    #: An event: the fields of wherry_record, at the positions below.
    Record = Tuple[int, int, int, int, int, int, int, int, int, int, int, int, int, int, int, int, int]
    PlainRecord = Tuple[int, int, int, int, int, int, int, int, int, int]

#: wherry_record, field by field, in the header's order.
RECORD = struct.Struct("=QQQQiiqiIQQQQqqQQ")
#: The positions of the fields in a record, after its size and without user_key, which Python does not use.
(
    EVENT, KEY, TRANSFER_ID, KIND, STATUS, DETAIL, HTTP_CODE, FLAGS, BODY, BODY_SIZE, HEADERS,
    HEADERS_SIZE, DONE_BYTES, EXPECTED_BYTES, REASON,
) = range(1, 16)  # fmt: skip
#: The fields of a record that a plain response needs: event, user data, kind, status, http code,
#: flags, body, body size, headers, header size.
PLAIN_RECORD = struct.Struct("=8xQQ8xii8xiIQQQQ32x")
#: wherry_progress.
PROGRESS = struct.Struct("=Q6q2iq2i")
#: wherry_metrics.
METRICS = struct.Struct("=Q8q4i")
TRANSFER_ROW = struct.Struct("=Q6Q2q2iQ")
IMAGE_ROW = struct.Struct("=Q3Q2q6iq")
#: wherry_image_info.
IMAGE_INFO = struct.Struct("=Q3q8iIi")
#: wherry_image_photo.
IMAGE_PHOTO = struct.Struct("=Q3dIi32s64s64s256s128s256s64s")
#: wherry_image_comparison.
IMAGE_COMPARISON = struct.Struct("=Q2d")
PARTIAL_ROW = struct.Struct("=Q3Q2qd")
JOB_ROW = struct.Struct("=Q6Q4q4i")
ENTRY_ROW = struct.Struct("=Q4Q3q2i")
#: wherry_cache_usage.
CACHE_USAGE = struct.Struct("=Q5q")
#: wherry_image_usage.
IMAGE_USAGE = struct.Struct("=Q6q")
#: wherry_log_record and wherry_counters.
LOG_RECORD = struct.Struct("=QqQ5Qq4i8q")
COUNTERS = struct.Struct("=Q10q")
#: wherry_timing.
TIMING = struct.Struct("=Q9q")


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


class Buffer:
    """A block of memory that the library fills. Pass `address` to the library."""

    __slots__ = ("_memory", "address")

    def __init__(self, size: int) -> None:
        self._memory = ctypes.create_string_buffer(size)
        self.address = ctypes.addressof(self._memory)

    def content(self) -> bytes:
        """Returns a copy of the memory."""
        return self._memory.raw


class StructBuffer(Buffer):
    """Memory for one struct of the library. The first field of each struct is its size."""

    __slots__ = ("_layout",)

    def __init__(self, layout: struct.Struct) -> None:
        super().__init__(layout.size)
        self._layout = layout

    def prepared(self) -> int:
        """Sets the size field, and returns the address for the library."""
        struct.pack_into("=Q", self._memory, 0, self._layout.size)
        return self.address

    def fields(self) -> Tuple[Any, ...]:
        """Returns the fields after the size."""
        return self._layout.unpack(self._memory.raw)[1:]


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

    def first_event(self) -> Any:
        """Returns an argument of `library.prepared` functions: the event of the first record when it is passed."""
        return ctypes.c_void_p.from_buffer(self.view, 8)

    def plain_records(self, count: int) -> Iterator[PlainRecord]:
        """Iterates over the first ``count`` records in the `PLAIN_RECORD` layout."""
        return PLAIN_RECORD.iter_unpack(self.view[: count * RECORD.size])

    def keep(self, index: int) -> None:
        """Keeps the event of a record: releasing the records does not free it."""
        struct.pack_into("=Q", self.view, index * RECORD.size + 8, 0)


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
bytes_at: Callable[[int, int], bytes] = ctypes.PYFUNCTYPE(ctypes.py_object, ctypes.c_void_p, ctypes.c_ssize_t)(
    ("PyBytes_FromStringAndSize", ctypes.pythonapi)
)


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
        ctypes.py_object(view),
        ctypes.byref(buffer),
        ctypes.c_int(0x11C),  # PyBUF_FULL_RO
    )
    found = buffer.buf or 0
    ctypes.pythonapi.PyBuffer_Release(ctypes.byref(buffer))
    return found


def lent_memory(address: int, count: int, owner: object) -> memoryview:
    """Returns a read-only view of memory that ``owner`` keeps valid. The view keeps the owner."""
    memory = (ctypes.c_ubyte * count).from_address(address)
    memory.owner = owner  # type: ignore[attr-defined]
    return memoryview(memory).toreadonly()
