# Wherry: the items of a bulk job
# SPDX-License-Identifier: Apache-2.0
"""`Item` is one row of the source on its way through the steps; `Failure` says why an item failed."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass, field
from typing import Any, Dict, List, Optional, Tuple

#: Extensions by content type. Other types get "bin".
EXTENSIONS = {
    "image/jpeg": "jpg", "image/png": "png", "image/gif": "gif", "image/webp": "webp", "image/avif": "avif",
    "image/heic": "heic", "image/jpg": "jpg", "image/pjpeg": "jpg", "image/bmp": "bmp", "image/x-icon": "ico",
    "image/vnd.microsoft.icon": "ico", "video/webm": "webm", "audio/wav": "wav", "image/tiff": "tiff", "image/svg+xml": "svg", "application/pdf": "pdf",
    "application/json": "json", "text/html": "html", "text/plain": "txt", "text/css": "css",
    "application/xml": "xml", "text/xml": "xml", "application/zip": "zip", "application/gzip": "gz",
    "video/mp4": "mp4", "audio/mpeg": "mp3", "application/octet-stream": "bin",
}  # fmt: skip


@dataclass
class Failure:
    """The cause of an item's failure.

    ``step`` is the name of the step, such as "download". ``reason`` is a stable word from docs/errors.md, or
    "robots_denied", "robots_unreachable", "opted_out", or "exception".
    """

    step: str
    reason: str
    message: str


class ItemError(Exception):
    """The error that a step raises to fail an item with a reason. A `WherryError` fails the item with its own reason, and
    any other exception with "exception"."""

    def __init__(self, reason: str, message: str) -> None:
        super().__init__(message)
        self.reason = reason
        self.message = message


def is_missing(value: Any) -> bool:
    """Whether a row has no value in a column: None, empty text, NaN, or another missing value of pandas."""
    try:
        return value is None or bool(value != value or value == "")
    except TypeError:  # pandas.NA
        return True
    except ValueError:  # an array
        return False


def has_address(value: Any) -> bool:
    """Whether repr() of a value contains its address, so that it differs in each run."""
    default: Any = object
    return type(value).__repr__ is default.__repr__


def _stable(value: Any) -> str:
    """Returns a value that JSON lacks as text that is the same in each run."""
    return type(value).__qualname__ if has_address(value) else str(value)


@dataclass
class Item:
    """One row of the source. Steps change it in place.

    ``key``          the name of the item in the output, unique in a job
    ``url``          the URL of the row
    ``row``          all columns of the row, by name
    ``data``         the bytes: the response body, and later the result of the steps
    ``type``         the content type of ``data``, without parameters; "" if unknown
    ``http_status``  the status of the response; None if there was none
    ``fields``       results of steps, such as "width" and "height", which outputs store with the item
    ``seconds``      the time of the download
    ``received``     the size of the response body in bytes
    ``failure``      the failure of the item; None if the item has not failed
    ``uploads``      the number of `Upload` steps that have begun
    """

    key: str
    url: str
    row: Dict[str, Any]
    data: bytes = b""
    type: str = ""
    http_status: Optional[int] = None
    fields: Dict[str, Any] = field(default_factory=dict)
    seconds: Optional[float] = None
    received: int = 0
    failure: Optional[Failure] = None
    uploads: int = 0

    @property
    def extension(self) -> str:
        """The file name extension for ``data``, without the dot."""
        return EXTENSIONS.get(self.type, "bin")

    def fail(self, step: str, reason: str, message: str) -> None:
        """Marks the item as failed, and drops its data."""
        self.failure = Failure(step, reason, message)
        self.data = b""

    def record(self) -> Dict[str, Any]:
        """Returns the metadata for outputs and for the log, without the data."""
        found: Dict[str, Any] = {"key": self.key, "url": self.url, "http_status": self.http_status}
        if self.failure is None:
            found = {**self.fields, **found, "type": self.type, "bytes": len(self.data)}
        else:
            found.update(dataclasses.asdict(self.failure))
        if isinstance(self.seconds, (int, float)):
            found["ms"] = round(self.seconds * 1000)
        return found


@dataclass(frozen=True)
class Shard:
    """Consecutive rows of the source that one task processes into one file of the output.

    ``index`` counts from 0. Each row of ``rows`` has the key of the item, its URL, and all columns.
    """

    index: int
    rows: List[Tuple[str, str, Dict[str, Any]]]

    @property
    def name(self) -> str:
        """The name of the shard's files, such as "00042"."""
        return f"{self.index:05d}"

    def items(self) -> List[Item]:
        """Returns the rows as items."""
        return [Item(key, url, row) for key, url, row in self.rows]

    def digest(self) -> str:
        """Returns a digest of the keys and rows, which detects a changed source."""
        import hashlib
        import json

        found = hashlib.sha256()
        for row in self.rows:
            try:
                text = json.dumps(row, default=_stable, skipkeys=True)
            except (ValueError, RecursionError):  # The row contains itself.
                text = json.dumps(row[:2])
            found.update(text.encode())
        return found.hexdigest()
