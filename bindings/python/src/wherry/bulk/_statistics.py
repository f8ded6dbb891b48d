# Wherry: counts of a bulk job
# SPDX-License-Identifier: Apache-2.0
"""`Statistics` counts items, reasons, sizes, and times. Its size does not depend on the number of items."""

from __future__ import annotations

from bisect import bisect_left
from dataclasses import dataclass, field
from typing import Any, Dict, Iterable, List, Tuple

from ._items import Item

#: The upper bounds, inclusive, of the classes of download times in milliseconds. One more class has no bound.
TIMES_MS = (5, 10, 20, 50, 100, 200, 500, 1_000, 2_000, 5_000, 10_000, 30_000, 60_000)
#: The same for the sizes of items in bytes.
SIZES = tuple(1 << power for power in range(8, 33, 2))


@dataclass
class Statistics:
    """Counts of one shard or of a whole job. Attributes:

    ``items``       rows of the source
    ``succeeded``   items in the output
    ``dropped``     items that a Map step left out
    ``failures``    {reason: count}
    ``statuses``    {HTTP status as text: count}
    ``bytes``       bytes in the output
    ``received``    bytes of the response bodies
    ``download_seconds``   the sum of the download times
    ``times_ms``    the number of finished downloads in each class of `TIMES_MS`
    ``sizes``       the number of items of the output in each class of `SIZES`
    """

    items: int = 0
    succeeded: int = 0
    dropped: int = 0
    failures: Dict[str, int] = field(default_factory=dict)
    statuses: Dict[str, int] = field(default_factory=dict)
    bytes: int = 0
    received: int = 0
    download_seconds: float = 0
    times_ms: List[int] = field(default_factory=lambda: [0] * (len(TIMES_MS) + 1))
    sizes: List[int] = field(default_factory=lambda: [0] * (len(SIZES) + 1))

    def count(self, item: Item) -> None:
        """Counts an item that is finished."""
        self._count_download(item)
        if item.failure is not None:
            self.failures[item.failure.reason] = self.failures.get(item.failure.reason, 0) + 1
            return
        self.succeeded += 1
        self.bytes += len(item.data)
        self.sizes[_class(len(item.data), SIZES)] += 1

    def drop(self, item: Item) -> None:
        """Counts an item that a Map step left out."""
        self._count_download(item)
        self.dropped += 1

    def _count_download(self, item: Item) -> None:
        self.items += 1
        self.received += item.received
        if item.http_status is not None:
            status = str(item.http_status)
            self.statuses[status] = self.statuses.get(status, 0) + 1
        if item.seconds is not None:
            self.download_seconds += item.seconds
            self.times_ms[_class(item.seconds * 1000, TIMES_MS)] += 1

    @property
    def failed(self) -> int:
        """The number of failed items."""
        return sum(self.failures.values())

    def values(self) -> Dict[str, Any]:
        """The counts as JSON values."""
        return {**vars(self), "download_seconds": round(self.download_seconds, 3)}

    @classmethod
    def sum(cls, values: Iterable[Dict[str, Any]]) -> Statistics:
        """Returns the sum of the counts of shards."""
        total = cls()
        for each in values:
            for name in ("items", "succeeded", "dropped", "bytes", "received", "download_seconds"):
                setattr(total, name, getattr(total, name) + each.get(name, 0))
            for name in ("failures", "statuses"):
                counts = getattr(total, name)
                for key, count in each[name].items():
                    counts[key] = counts.get(key, 0) + count
            for name in ("times_ms", "sizes"):
                setattr(total, name, [a + b for a, b in zip(getattr(total, name), each[name])])
        return total


def _class(value: float, bounds: Tuple[int, ...]) -> int:
    return bisect_left(bounds, value)
