# Wherry: calls of the library
# SPDX-License-Identifier: Apache-2.0
"""Calls native functions: converts errors to exceptions, and fills structs and lists."""

from __future__ import annotations

import os

from .._errors import CLASSES, ImageResult, WherryError
from .._native import codes
from .._native.library import lib
from .._native.memory import (
    ENTRY_ROW, IMAGE_ROW, PARTIAL_ROW, PROGRESS, TRANSFER_ROW, Buffer, Cell, StructBuffer, path_at,
    text_at,
)  # fmt: skip

TYPE_CHECKING = False
if TYPE_CHECKING:
    import struct
    from typing import Any, Callable, Iterator, List, Optional, Tuple, Type

#: The maximum duration of one native wait, so that Ctrl-C is handled soon.
SLICE_MS = 100

_cells: List[Cell] = []


def check(status: int) -> None:
    """Raises the error of this thread's last call, unless ``status`` is OK."""
    if status:
        raise last_error(status)


def check_freed(status: int) -> None:
    """Like `check`, for functions that free something.

    Ignores E_FORKED: a child may drop its parent's objects.
    """
    if status and status != codes.E_FORKED:
        raise last_error(status)


def create(function: Any, *arguments: Any) -> int:
    """Calls a function whose last parameter is an out-parameter, and returns the value of the
    out-parameter."""
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
    underlying = lib.wherry_error_underlying(handle) if depth < 4 else None
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
        underlying=error_at(underlying, depth + 1) if underlying else None,
    )
    if os_code and isinstance(error, OSError):
        error.errno = os_code
    return error


def rows(listing: int, getter: Any, layout: struct.Struct) -> Iterator[Tuple[Any, ...]]:
    """Iterates over the rows of a native list, without their size field.

    Frees the list at the end.
    """
    row = StructBuffer(layout)
    try:
        for index in range(lib.wherry_list_count(listing)):
            check(getter(listing, index, row.prepared()))
            yield row.fields()
    finally:
        lib.wherry_list_free(listing)


def transfer_rows(listing: int) -> Iterator[Tuple[Any, ...]]:
    """Iterates over running transfers: id, method, url, tag, path, done, expected, kind, state."""
    for row in rows(listing, lib.wherry_list_transfer, TRANSFER_ROW):
        number, method, url, tag, path, _, done, expected, kind, state, _ = row
        words = (text_at(method), text_at(url), text_at(tag), path_at(path))
        yield (number, *words, done, expected, kind, state)


def partial_rows(listing: int) -> Iterator[Tuple[Any, ...]]:
    """Iterates over unfinished downloads: path, partial path, url, done, expected, ratio."""
    for path, partial, url, done, expected, ratio in rows(listing, lib.wherry_list_partial, PARTIAL_ROW):
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
    return image_results(create(lib.wherry_error_list_failed_images, handle))


def image_results(listing: int, convert_response: Optional[Callable[[int], Any]] = None) -> Tuple[ImageResult, ...]:
    """Reads a native list of images and frees it.

    ``convert_response`` converts a borrowed native response.
    """
    found: List[ImageResult] = []
    for row in rows(listing, lib.wherry_list_image, IMAGE_ROW):
        name, reason, message, original, encoded, index, status, width, height, quality = row[:10]
        borrowed = lib.wherry_list_response(listing, len(found)) if convert_response else None
        found.append(
            ImageResult(
                index, path_at(name) or "", status, text_at(reason) or "", text_at(message) or "",
                None if original < 0 else original, None if encoded < 0 else encoded,
                width, height, quality or None, None if row[11] < 0 else row[11],
                convert_response(borrowed) if convert_response and borrowed else None,
            )
        )  # fmt: skip
    return tuple(found)


def read_struct(layout: struct.Struct, function: Any, *arguments: Any) -> Tuple[int, ...]:
    """Calls a function that fills a struct. Returns the fields after the size."""
    buffer = StructBuffer(layout)
    check(function(*arguments, buffer.prepared()))
    return buffer.fields()


def read_progress(function: Any, *arguments: Any) -> Tuple[int, ...]:
    """Calls a progress getter.

    Returns done, expected, resumed at, wire, speed, remaining, generation, decoded, count and ended.
    """
    values = read_struct(PROGRESS, function, *arguments)
    return (*values[:7], values[8], values[7], values[9])


def copy_text(function: Any, *arguments: Any) -> str:
    """Calls a function that copies text into a buffer, and returns the text."""
    count = Cell()
    capacity = 1024
    while True:
        buffer = Buffer(capacity)
        check(function(*arguments, buffer.address, capacity, count.address))
        needed = count.take()
        if needed < capacity:
            return os.fsdecode(buffer.content()[:needed])
        capacity = needed + 1
