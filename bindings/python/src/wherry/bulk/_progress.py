# Wherry: the progress of bulk jobs
# SPDX-License-Identifier: Apache-2.0
"""Shows the progress of a job: a `rich` progress bar, lines of text, or calls of a function."""

from __future__ import annotations

import sys
import time
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Callable, Dict, Iterator, Optional, Set, Union

from .._errors import check_not_coroutine
from ._coordination import Counts
from ._statistics import Statistics
from ._store import Receipt


@dataclass(frozen=True)
class Progress:
    """The state of a running job. Attributes:

    ``statistics``   the counts of finished and unfinished shards. A shard whose worker dies counts from 0 again
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


def counted(count: int, noun: str) -> str:
    """Returns a number and a noun: "1 item", "2,000 items"."""
    return f"{count:,} {noun}{'' if count == 1 else 's'}"


def duration(seconds: float) -> str:
    """Returns a readable duration, such as "2 min 5 s"."""
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours} h {minutes} min" if hours else f"{minutes} min {rest} s" if minutes else f"{rest} s"


@contextmanager
def watch(progress: Union[bool, Callable[[Progress], object], None], total: Optional[int]) -> Iterator[Watch]:
    """Yields a `Watch`, which shows the progress as ``progress=`` of `run` says."""
    if progress is False or (progress is None and not sys.stderr.isatty()):
        yield Watch(None, total)
    elif callable(progress):
        yield Watch(progress, total)
    else:
        with _bar(total) as show:
            yield Watch(show, total)


class Watch:
    """Collects the counts of a job, and shows its progress."""

    def __init__(self, show: Optional[Callable[[Progress], object]], total: Optional[int]) -> None:
        self._show = show
        self._total = total
        self._finished = Statistics()
        self._names: Set[str] = set()
        self._begun = time.time()
        self._early = 0  # items of shards that were finished before this run

    def finished(self, receipt: Receipt, running: Callable[[], Dict[str, Counts]] = dict) -> None:
        """Counts a finished shard. ``running`` returns the counts of unfinished shards."""
        if self._show is None:
            return
        self._finished = Statistics.sum([self._finished.values(), receipt["statistics"]])
        self._names.add(receipt["shard"])
        if receipt["ended"] < self._begun:
            self._early += receipt["statistics"]["items"]
        self.tick(running)

    def tick(self, running: Callable[[], Dict[str, Counts]]) -> None:
        """Shows the progress while no shard finishes."""
        if self._show is None:
            return
        unfinished = [counts for shard, counts in running().items() if shard not in self._names]
        statistics = Statistics.sum([self._finished.values(), *unfinished])
        seconds = time.time() - self._begun
        rate = (statistics.items - self._early) / max(seconds, 1e-9)
        check_not_coroutine("progress", self._show(Progress(statistics, self._total, seconds, rate)))


class _Lines:
    """Prints a line at most every ``pause`` seconds, and at the end."""

    def __init__(self, pause: float = 10) -> None:
        self._pause = pause
        self._next = 0.0
        self._last: Optional[Progress] = None

    def show(self, state: Progress) -> None:
        self._last = state
        if state.seconds >= self._next:
            self.end()
            self._next = state.seconds + self._pause

    def end(self) -> None:
        if self._last is not None:
            print(self._last, file=sys.stderr)
        self._last = None


@contextmanager
def _bar(total: Optional[int]) -> Iterator[Callable[[Progress], None]]:
    """A bar on standard error, or lines if rich is missing or standard error is not a terminal."""
    try:
        from rich.console import Console
        from rich.progress import BarColumn, MofNCompleteColumn, SpinnerColumn, TextColumn, TimeRemainingColumn
        from rich.progress import Progress as Bars
    except ImportError:
        console = None
    else:
        console = Console(stderr=True)
    if console is None or not console.is_terminal:
        lines = _Lines()
        yield lines.show
        lines.end()
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
