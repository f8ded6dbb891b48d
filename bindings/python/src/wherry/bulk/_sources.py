# Wherry: the sources of a bulk job
# SPDX-License-Identifier: Apache-2.0
"""Reads rows from files, iterators, and datasets, and cuts them into shards. Nothing is read ahead."""

from __future__ import annotations

import csv
import gzip
import itertools
import json
import os
from typing import Any, Callable, Collection, Dict, Iterable, Iterator, Mapping, Optional, Union

from .._errors import ArgumentError, FileError, WherryError, brief
from ._items import Shard

Row = Dict[str, Any]
#: The path of a file, an iterable of URLs or of mappings, or a Dask or Ray dataset.
Source = Union[str, "os.PathLike[str]", Iterable[Union[str, Mapping[str, Any]]], Any]


def rows(source: Source, url_column: str = "url", format: Optional[str] = None) -> Iterator[Row]:
    """Yields the rows of a source.

    The extension of a path determines the format: .parquet, .csv, .tsv, .jsonl, or .ndjson. Other files are text with
    one URL per line. ``format`` overrides the extension. A folder is read file by file, in the order of the names. All
    of its files must have the same format.
    """
    if isinstance(source, (str, os.PathLike)):
        return _files(os.fspath(source), url_column, format)
    if hasattr(source, "itertuples") and hasattr(source, "columns") and not hasattr(source, "to_delayed"):  # of pandas
        names = [str(name) for name in source.columns]
        return (dict(zip(names, values)) for values in source.itertuples(index=False, name=None))
    if isinstance(source, (bytes, bytearray, Mapping)):
        raise ArgumentError(f"source= takes a path or an iterable, not {brief(source)}", "bad_argument")
    if hasattr(source, "iter_rows") and hasattr(source, "take_batch"):  # a Ray dataset
        return (dict(row) for row in source.iter_rows())
    if hasattr(source, "to_delayed") and hasattr(source, "columns"):  # a Dask data frame
        return _delayed(source.to_delayed(), lambda frame: frame.to_dict("records"))
    if hasattr(source, "to_delayed"):  # a Dask bag
        return _values(_delayed(source.to_delayed(), iter), url_column)
    try:
        values = iter(source)
    except TypeError:
        raise ArgumentError(
            f"source= takes a path, an iterable of URLs or rows, or a Dask or Ray dataset, not {brief(source)}",
            "bad_argument",
        ) from None
    return _values(values, url_column)


def shards(found: Iterable[Row], size: int, url_column: str = "url", caption: Optional[str] = None) -> Iterator[Shard]:
    """Yields shards of ``size`` rows; the last may be smaller. A key is the shard's name and four or more digits.

    Raises ArgumentError if no row of the first shard has the column of the URLs or of the captions.
    """
    digits = max(4, len(str(size - 1)))
    remaining = iter(found)
    for index in itertools.count():
        part = list(itertools.islice(remaining, size))
        if not part:
            return
        if index == 0:
            names = {name for row in part for name in row}
            check_column(names, url_column)
            if caption is not None:
                check_column(names, caption, "Set caption= of WebDataset to one of them.")
        yield Shard(index, [
            (f"{index:05d}{place:0{digits}d}", url_text(row.get(url_column)), row) for place, row in enumerate(part)
        ])  # fmt: skip


def check_column(names: Collection[Any], column: str, advice: str = "Set url_column=.") -> None:
    """Raises ArgumentError if a column is not among the names of the columns."""
    if column not in names:
        found = ", ".join(sorted(map(repr, names))[:20]) or "empty rows"
        raise ArgumentError(f"the rows of the source have no column {column!r}, only {found}. {advice}", "bad_argument")


def url_text(value: Any) -> str:
    """Returns the URL of a row. If the value is not text, returns "", which fails as an invalid URL."""
    return value.strip() if isinstance(value, str) else ""


def _values(values: Iterator[Any], url_column: str) -> Iterator[Row]:
    for value in values:
        if isinstance(value, str):
            yield {url_column: value}
        elif isinstance(value, Mapping):
            yield dict(value)
        else:
            raise ArgumentError(f"a row of the source is {brief(value)}, not a URL or a mapping", "bad_argument")


def _delayed(parts: Iterable[Any], convert: Callable[[Any], Iterable[Any]]) -> Iterator[Any]:
    """Computes the partitions of a Dask collection one after the other."""
    for part in parts:
        yield from convert(part.compute())


def _files(path: str, url_column: str, format: Optional[str]) -> Iterator[Row]:
    if not os.path.isdir(path):
        return _file(path, url_column, format or _format(path))
    names = sorted(name for name in os.listdir(path) if not name.startswith((".", "_")))
    formats = {_format(name) for name in names}
    if len(formats) != 1 and format is None:
        raise ArgumentError(
            f"the folder {path} has {'files of several formats' if formats else 'no files'}. "
            "Pass a folder with files of one format, or format=.",
            "bad_argument",
        )
    kind = format or formats.pop()
    return itertools.chain.from_iterable(_file(os.path.join(path, name), url_column, kind) for name in names)


_FORMATS = {
    ".parquet": "parquet", ".csv": "csv", ".tsv": "tsv", ".jsonl": "jsonl", ".ndjson": "jsonl",
    "": "text", ".txt": "text", ".text": "text", ".list": "text", ".lst": "text", ".urls": "text",
}  # fmt: skip


def _format(path: str) -> str:
    """Returns the format that the extension shows, also if .gz follows it."""
    extension = os.path.splitext(path.lower()[:-3] if path.lower().endswith(".gz") else path.lower())[1]
    if extension not in _FORMATS:
        raise ArgumentError(
            f"{path} has the unknown extension {extension}. Set format= to one of {', '.join(_READERS)}"
            + (". A JSON file must have one object per line (jsonl)." if extension == ".json" else "."),
            "bad_argument",
        )
    return _FORMATS[extension]


def _open(path: str, **options: Any) -> Any:
    if path.lower().endswith(".gz"):
        return gzip.open(path, "rt", **options)
    return open(path, **options)


def _file(path: str, url_column: str, format: str) -> Iterator[Row]:
    reader = _READERS.get(format)
    if reader is None:
        raise ArgumentError(f"format= must be one of {', '.join(_READERS)}, not {brief(format)}", "bad_value")
    try:
        yield from reader(path, url_column)
    except UnicodeDecodeError as error:
        raise FileError(f"{path} is not UTF-8: {error}. Convert it to UTF-8.", "bad_text") from error
    except csv.Error as error:
        raise FileError(f"{path} is not valid {format.upper()}: {error}", "bad_text") from error
    except WherryError:
        raise
    except (OSError, EOFError) as error:
        raise FileError(f"{path}: {getattr(error, 'strerror', None) or error}. Check the source.", "io") from error
    except ValueError as error:  # of pyarrow
        raise FileError(f"{path} cannot be read as {format}: {error}", "bad_text") from error


def _text(path: str, url_column: str) -> Iterator[Row]:
    with _open(path, encoding="utf-8-sig", errors="surrogateescape") as lines:
        for line in lines:
            if line.strip() and not line.startswith("#"):
                yield {url_column: line.strip()}


def _jsonl(path: str, url_column: str) -> Iterator[Row]:
    with _open(path, encoding="utf-8-sig") as lines:
        for number, line in enumerate(lines, 1):
            if not line.strip():
                continue
            try:
                row = json.loads(line)
            except ValueError as error:
                raise FileError(
                    f"{path}, line {number}: {error}. Each line must be a JSON object.", "bad_json"
                ) from None
            yield dict(row) if isinstance(row, dict) else {url_column: row}


def _delimited(delimiter: str) -> Callable[[str, str], Iterator[Row]]:
    def read(path: str, url_column: str) -> Iterator[Row]:
        with _open(path, encoding="utf-8-sig", newline="") as lines:
            csv.field_size_limit(1 << 30)  # The default is 128 KiB.
            reader = csv.DictReader(lines, delimiter=delimiter, restkey="_more")
            if url_column not in (reader.fieldnames or []):
                raise _without_column(path, url_column, list(reader.fieldnames or []))
            yield from reader

    return read


def _parquet(path: str, url_column: str) -> Iterator[Row]:
    try:
        from pyarrow import parquet
    except ImportError:
        raise ArgumentError(
            f"{path}: reading Parquet needs pyarrow. Run: pip install pyarrow", "bad_argument"
        ) from None
    with parquet.ParquetFile(path) as file:
        if url_column not in file.schema_arrow.names:
            raise _without_column(path, url_column, file.schema_arrow.names)
        for batch in file.iter_batches(10_000):
            yield from batch.to_pylist()


def _without_column(path: str, column: str, names: list[str]) -> ArgumentError:
    return ArgumentError(
        f"{path} has no column {column!r}, only {', '.join(map(repr, names)) or 'an empty first line'}. Set url_column=.",
        "bad_argument",
    )


_READERS: Dict[str, Callable[[str, str], Iterator[Row]]] = {
    "parquet": _parquet, "csv": _delimited(","), "tsv": _delimited("\t"), "jsonl": _jsonl, "text": _text,
}  # fmt: skip


def count(source: Source) -> Optional[int]:
    """Returns the number of rows, or None if only reading the source would show it."""
    if isinstance(source, (str, os.PathLike)):
        path = os.fspath(source)
        if not os.path.isfile(path) or not path.lower().endswith(".parquet"):
            return None
        try:
            from pyarrow import parquet

            return int(parquet.read_metadata(path).num_rows)
        except (ImportError, OSError, ValueError):  # Reading the rows reports the error.
            return None
    if isinstance(source, (list, tuple)):
        return len(source)
    if hasattr(source, "itertuples") and not hasattr(source, "to_delayed"):
        return len(source)  # type: ignore[arg-type]
    return None
