# Wherry: bulk jobs in Spark
# SPDX-License-Identifier: Apache-2.0
"""`map_in_pandas` creates a function for `DataFrame.mapInPandas`: Spark reads the source and writes the output."""

from __future__ import annotations

import asyncio
import io
import itertools
import uuid
from typing import Any, Callable, Dict, Iterator, List, Sequence

from ._coordination import Coordinator
from ._items import Item
from ._outputs import Output, Writer, metadata_text
from ._sources import check_column, url_text
from ._steps import checked
from ._work import Job, ShardRun

#: The schema of the rows that the function yields.
SPARK_SCHEMA = (
    "key string, url string, type string, http_status int, ms long, data binary, metadata string, reason string, "
    "message string"
)


def map_in_pandas(
    steps: Sequence[Any], *, url_column: str = "url", concurrency: int = 64, threads: int = 1, max_per_host: int = 16
) -> Callable[[Iterator[Any]], Iterator[Any]]:
    """Returns a function that runs the steps on the rows of a Spark data frame.

        from wherry.bulk import SPARK_SCHEMA, Download, Resize, map_in_pandas
        frame.mapInPandas(map_in_pandas([Download(), Resize(256)]), SPARK_SCHEMA)

    The function yields one row per item, with ``data`` and ``metadata`` (JSON), or the ``reason`` and ``message``
    of the failure. ``key`` is unique in a partition. Items that `Map` leaves out have no row. Raises ArgumentError if
    the data frame has no column ``url_column``.

    Spark repeats lost partitions. ``max_per_host`` limits the connections of each Spark task, not of the cluster. With
    10 tasks and ``max_per_host=2``, a host has at most 20 connections. Each process of Spark reads robots.txt itself.

    The other arguments are those of `run`.
    """
    chosen = checked(steps)

    def function(batches: Iterator[Any]) -> Iterator[Any]:
        coordinator = Coordinator(max_per_host)
        job = Job(uuid.uuid4().hex[:12], "", chosen, Output(""), concurrency, threads)
        numbers = itertools.count()
        for batch in batches:
            check_column(list(batch.columns), url_column)
            rows = batch.to_dict("records")
            items = [Item(f"{next(numbers):09d}", url_text(row.get(url_column)), row) for row in rows]
            found = _Rows()
            asyncio.run(ShardRun(job, "spark", coordinator.exchange_here, found, io.StringIO()).run(items))
            failed = [_row(item) for item in items if item.failure is not None]
            yield type(batch)([*found.rows, *failed], columns=_COLUMNS, dtype=object)

    return function


_COLUMNS = [part.split()[0] for part in SPARK_SCHEMA.split(", ")]


class _Rows(Writer):
    """Collects the rows of items that have not failed."""

    def __init__(self) -> None:
        self.rows: List[Dict[str, Any]] = []

    def add(self, item: Item) -> None:
        self.rows.append(_row(item))

    def finish(self) -> Dict[str, Dict[str, Any]]:
        return {}


def _row(item: Item) -> Dict[str, Any]:
    record = item.record()
    common = {"key": item.key, "url": item.url, "http_status": item.http_status, "ms": record.get("ms")}
    if item.failure is not None:
        return {**common, "reason": item.failure.reason, "message": item.failure.message}
    return {**common, "type": item.type, "data": item.data, "metadata": metadata_text(item)}
