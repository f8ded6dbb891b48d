# Wherry: the outputs of a bulk job
# SPDX-License-Identifier: Apache-2.0
"""`Folder`, `WebDataset`, `Parquet`, and `TFRecord` write the items of a shard.

An output is a value. Its method `open` returns a `Writer` for one shard in one worker. A writer gets the items in the
order in which they finish. Only a writer of Parquet keeps some of them in memory, up to 32 MiB.
"""

from __future__ import annotations

import base64
import hashlib
import io
import json
import math
import os
import struct
import tarfile
from dataclasses import dataclass
from typing import IO, Any, Dict, List, Optional, Union, cast

from .._errors import ArgumentError
from ._items import Item, is_missing


class Writer:
    """Writes the items of one shard into a folder that only this writer uses."""

    def add(self, item: Item) -> None:
        """Writes an item that has not failed."""
        raise NotImplementedError

    def finish(self) -> Dict[str, Dict[str, Any]]:
        """Makes the shard durable. Returns {name: {"bytes": size, "sha256": digest}} for each file or folder."""
        raise NotImplementedError

    def abandon(self) -> None:
        """Closes the files of a shard that failed."""


@dataclass(frozen=True)
class Output:
    """The base class of outputs. ``path`` is the folder of the job, which is created if it is missing."""

    path: Union[str, os.PathLike[str]]

    name = "output"

    def check(self) -> None:
        """Raises ArgumentError if a package is missing."""

    def open(self, folder: str, shard: str) -> Writer:
        """Returns a writer that creates the files of one shard in a folder."""
        raise NotImplementedError


def _json(value: Any) -> bytes:
    return json.dumps(value, ensure_ascii=False, default=_text).encode("utf-8", "replace")


def _text(value: Any) -> str:
    """Returns a value that JSON lacks as text: bytes in Base64, and dates and others as Python prints them."""
    return base64.b64encode(value).decode() if isinstance(value, (bytes, bytearray)) else str(value)


def _data_name(item: Item, *taken: str) -> str:
    """Returns the name of the file for the data, which differs from those with the extensions ``taken``."""
    return f"{item.key}.data.{item.extension}" if item.extension in taken else f"{item.key}.{item.extension}"


def metadata(item: Item) -> Dict[str, Any]:
    """Returns the metadata that outputs store with an item: the columns of its row, and its record.

    A column with the name of a member of the record, such as "width", becomes "row_width".
    """
    record = item.record()
    columns = {str(name): value for name, value in item.row.items()}
    if columns.get("url") == item.url:
        del columns["url"]
    names = {name: f"row_{name}" if name in record else name for name in columns}
    found: Dict[str, Any] = finite({**{names[name]: value for name, value in columns.items()}, **record})
    return found


def finite(value: Any) -> Any:
    """Returns the value with None for NaN and infinity, which JSON lacks. pandas uses NaN for missing values."""
    if isinstance(value, dict):
        return {name: finite(each) for name, each in value.items()}
    if isinstance(value, (list, tuple)):
        return [finite(each) for each in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


def metadata_text(item: Item) -> str:
    """Returns the metadata of an item as JSON."""
    return _json(metadata(item)).decode()


class _Hashing(io.RawIOBase):
    """A file that computes the digest of its content."""

    def __init__(self, path: str) -> None:
        self.file: IO[bytes] = open(path, "xb", buffering=1 << 18)
        self.hash = hashlib.sha256()
        self.count = 0

    def writable(self) -> bool:
        return True

    def write(self, data: Any) -> int:
        self.hash.update(data)
        self.count += len(data)
        return self.file.write(data)

    def tell(self) -> int:
        return self.count

    def sync(self) -> Dict[str, Any]:
        """Writes the content to the disk, closes the file, and returns the entry for the receipt."""
        self.file.flush()
        os.fsync(self.file.fileno())
        self.file.close()
        return {"bytes": self.count, "sha256": self.hash.hexdigest()}

    def close(self) -> None:
        if hasattr(self, "file"):
            self.file.close()
        super().close()


@dataclass(frozen=True)
class WebDataset(Output):
    """One tar file per shard in the format of WebDataset: KEY.jpg, KEY.json, and KEY.txt for each item.

    ``caption``   the name of the column that becomes KEY.txt
    """

    caption: Optional[str] = None

    name = "webdataset"

    def open(self, folder: str, shard: str) -> Writer:
        return _TarWriter(folder, shard, self.caption)


class _TarWriter(Writer):
    def __init__(self, folder: str, shard: str, caption: Optional[str]) -> None:
        self._name = f"{shard}.tar"
        self._caption = caption
        self._file = _Hashing(os.path.join(folder, self._name))
        self._tar = tarfile.open(fileobj=cast("IO[bytes]", self._file), mode="w", format=tarfile.GNU_FORMAT)

    def add(self, item: Item) -> None:
        members = {_data_name(item, "json", *([] if self._caption is None else ["txt"])): item.data}
        members[f"{item.key}.json"] = _json(metadata(item))
        if self._caption is not None:
            caption = item.row.get(self._caption)
            members[f"{item.key}.txt"] = b"" if is_missing(caption) else str(caption).encode("utf-8", "replace")
        for name, data in members.items():
            self._member(name, data)

    def _member(self, name: str, data: bytes) -> None:
        member = tarfile.TarInfo(name)
        member.size = len(data)
        member.mode = 0o644
        self._tar.addfile(member, io.BytesIO(data))

    def finish(self) -> Dict[str, Dict[str, Any]]:
        self._tar.close()
        return {self._name: self._file.sync()}

    def abandon(self) -> None:
        self._file.close()


@dataclass(frozen=True)
class Folder(Output):
    """A folder for each shard, with a file for each item and its metadata: 00042/000420007.jpg and .json.

    ``sidecars``  whether to write the JSON files (default: True)
    """

    sidecars: bool = True

    name = "folder"

    def open(self, folder: str, shard: str) -> Writer:
        return _FolderWriter(folder, shard, self.sidecars)


class _FolderWriter(Writer):
    def __init__(self, folder: str, shard: str, sidecars: bool) -> None:
        self._name = shard
        self._folder = os.path.join(folder, shard)
        self._sidecars = sidecars
        self._files: Dict[str, str] = {}
        self._count = 0
        os.mkdir(self._folder)

    def add(self, item: Item) -> None:
        text = _json(metadata(item)) if self._sidecars else None
        self._write(_data_name(item, *(["json"] if self._sidecars else [])), item.data)
        if text is not None:
            self._write(f"{item.key}.json", text)

    def _write(self, name: str, data: bytes) -> None:
        with open(os.path.join(self._folder, name), "xb") as file:
            file.write(data)
        self._count += len(data)
        self._files[name] = hashlib.sha256(data).hexdigest()

    def finish(self) -> Dict[str, Dict[str, Any]]:
        for name in self._files:
            with open(os.path.join(self._folder, name), "rb") as file:
                os.fsync(file.fileno())
        sync_folder(self._folder)
        # The digest of a folder is the digest of the lines "SHA256  NAME", as sha256sum * prints them.
        lines = "".join(f"{digest}  {name}\n" for name, digest in sorted(self._files.items()))
        digest = hashlib.sha256(lines.encode()).hexdigest()
        entry = {"bytes": self._count, "sha256": digest, "files": len(self._files)}
        return {self._name: entry}


@dataclass(frozen=True)
class Parquet(Output):
    """A Parquet file for each shard, with the columns key, url, type, http_status, ms, data, and metadata (JSON).

    Needs pyarrow. ``group``: the maximum number of rows in a row group, which is kept in memory (default: 100). A row
    group also ends when its data reaches 32 MiB
    """

    group: int = 100

    name = "parquet"

    def check(self) -> None:
        _pyarrow()

    def open(self, folder: str, shard: str) -> Writer:
        return _ParquetWriter(folder, shard, self.group)


def _pyarrow() -> Any:
    try:
        import pyarrow
        import pyarrow.parquet
    except ImportError:
        raise ArgumentError("Parquet needs pyarrow. Run: pip install pyarrow", "bad_argument") from None
    return pyarrow


#: The size of the data in memory after which a row group is written.
_GROUP_BYTES = 32 * 1024 * 1024


def _valid(text: str) -> str:
    """Returns the text with "?" for surrogates, which Parquet refuses."""
    return text.encode("utf-8", "replace").decode()


class _ParquetWriter(Writer):
    def __init__(self, folder: str, shard: str, group: int) -> None:
        self._arrow = arrow = _pyarrow()
        self._name = f"{shard}.parquet"
        self._group = group
        self._rows: List[Dict[str, Any]] = []
        self._held = 0
        self._schema = arrow.schema([
            ("key", arrow.string()), ("url", arrow.string()), ("type", arrow.string()), ("http_status", arrow.int32()),
            ("ms", arrow.int64()), ("data", arrow.binary()), ("metadata", arrow.string()),
        ])  # fmt: skip
        self._file = _Hashing(os.path.join(folder, self._name))
        self._writer = arrow.parquet.ParquetWriter(arrow.PythonFile(self._file, mode="w"), self._schema)

    def add(self, item: Item) -> None:
        status = None if item.http_status is None else int(item.http_status)
        self._rows.append({
            "key": item.key, "url": _valid(item.url), "type": _valid(item.type), "http_status": status,
            "ms": item.record().get("ms"), "data": item.data, "metadata": metadata_text(item),
        })  # fmt: skip
        self._held += len(item.data)
        if len(self._rows) >= self._group or self._held >= _GROUP_BYTES:
            self._flush()

    def _flush(self) -> None:
        if self._rows:
            self._writer.write_table(self._arrow.Table.from_pylist(self._rows, self._schema))
            self._rows = []
            self._held = 0

    def finish(self) -> Dict[str, Dict[str, Any]]:
        self._flush()
        self._writer.close()
        return {self._name: self._file.sync()}

    def abandon(self) -> None:
        self._file.close()


@dataclass(frozen=True)
class TFRecord(Output):
    """A TFRecord file for each shard: examples with the features key, url, type, data, and metadata (JSON).

    Needs the package tfrecord, but not TensorFlow.
    """

    name = "tfrecord"

    def check(self) -> None:
        _tfrecord()

    def open(self, folder: str, shard: str) -> Writer:
        return _TFRecordWriter(folder, shard)


def _tfrecord() -> Any:
    try:
        from tfrecord import TFRecordWriter
    except ImportError:
        raise ArgumentError("TFRecord needs tfrecord. Run: pip install tfrecord", "bad_argument") from None
    return TFRecordWriter


class _TFRecordWriter(Writer):
    def __init__(self, folder: str, shard: str) -> None:
        self._format = _tfrecord()
        self._name = f"{shard}.tfrecord"
        self._file = _Hashing(os.path.join(folder, self._name))

    def add(self, item: Item) -> None:
        texts = {"key": item.key, "url": item.url, "type": item.type}
        features = {name: (text.encode("utf-8", "replace"), "byte") for name, text in texts.items()}
        features.update(data=(item.data, "byte"), metadata=(_json(metadata(item)), "byte"))
        example: bytes = self._format.serialize_tf_example(features)
        length = struct.pack("<Q", len(example))
        for piece in (length, self._format.masked_crc(length), example, self._format.masked_crc(example)):
            self._file.write(piece)

    def finish(self) -> Dict[str, Dict[str, Any]]:
        return {self._name: self._file.sync()}

    def abandon(self) -> None:
        self._file.close()


def sync_folder(path: str) -> None:
    """Makes the names in a folder durable."""
    descriptor = os.open(path, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


#: The outputs by the names that plans use.
OUTPUTS: Dict[str, Any] = {"folder": Folder, "webdataset": WebDataset, "parquet": Parquet, "tfrecord": TFRecord}
