# Wherry: the progress of bulk jobs
# SPDX-License-Identifier: Apache-2.0
"""Shows the progress of a job: a `rich` progress bar, lines of text, or calls of a function."""

from __future__ import annotations

import sys
import time
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Callable, Dict, Iterator, Optional, Union

from ._statistics import Statistics
from ._store import Receipt


@dataclass(frozen=True)
class Progress:
    """The state of a running job. Attributes:

    ``statistics``   the counts of finished shards
    ``total``        rows of the source; None if unknown
    ``seconds``      seconds since the start of this run
    ``rate``         items per second in this run, without shards of earlier runs
    """

    statistics: Statistics
    total: Optional[int]
    seconds: float
    rate: float

    @property
    def remaining_seconds(self) -> Optional[float]:
        """The expected time until the end; None if unknown."""
        if self.total is None or self.rate <= 0:
            return None
        return max(0, self.total - self.statistics.items) / self.rate

    def __str__(self) -> str:
        counts = self.statistics
        of = f" of {self.total:,}" if self.total is not None else ""
        reasons = ", ".join(f"{count:,} {reason}" for reason, count in _most(counts.failures))
        failed = f", {counts.failed:,} failed ({reasons})" if counts.failed else ""
        left = self.remaining_seconds
        rest = f", {duration(left)} left" if left else ""
        return f"{counts.items:,}{of} items{failed}, {self.rate:,.0f} per second{rest}"


def _most(counts: Dict[str, int]) -> Any:
    return sorted(counts.items(), key=lambda pair: (-pair[1], pair[0]))[:4]


def duration(seconds: float) -> str:
    """Returns a readable duration, such as "2 min 5 s"."""
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours} h {minutes} min" if hours else f"{minutes} min {rest} s" if minutes else f"{rest} s"


@contextmanager
def watch(progress: Union[bool, Callable[[Progress], object], None], total: Optional[int]) -> Iterator[Any]:
    """Yields a function to call with the receipt of each finished shard."""
    statistics = Statistics()
    begun = time.time()
    early = 0  # items of shards that were finished before this run

    def state(receipt: Receipt) -> Progress:
        nonlocal statistics, early
        statistics = Statistics.sum([statistics.values(), receipt["statistics"]])
        if receipt["ended"] < begun:
            early += receipt["statistics"]["items"]
        seconds = time.time() - begun
        return Progress(statistics, total, seconds, (statistics.items - early) / max(seconds, 1e-9))

    if progress is False or (progress is None and not sys.stderr.isatty()):
        yield lambda receipt: None
    elif callable(progress):
        yield lambda receipt: progress(state(receipt))
    else:
        with _bar(total) as show:
            yield lambda receipt: show(state(receipt))


@contextmanager
def _bar(total: Optional[int]) -> Iterator[Callable[[Progress], None]]:
    """A bar on standard error, or lines if rich is missing or standard error is not a terminal."""
    try:
        from rich.console import Console
        from rich.progress import BarColumn, MofNCompleteColumn, SpinnerColumn, TextColumn, TimeRemainingColumn
        from rich.progress import Progress as Bars
    except ImportError:
        yield lambda state: print(state, file=sys.stderr)
        return
    console = Console(stderr=True)
    if not console.is_terminal:
        yield lambda state: print(state, file=sys.stderr)
        return
    columns = (
        SpinnerColumn(),
        BarColumn(),
        MofNCompleteColumn(),
        TimeRemainingColumn(),
        TextColumn("{task.description}"),
    )
    with Bars(*columns, console=console) as bars:
        task = bars.add_task("", total=total)
        yield lambda state: bars.update(task, completed=state.statistics.items, description=str(state))
