# Wherry: the work of a bulk job on one shard
# SPDX-License-Identifier: Apache-2.0
"""`process` runs the steps on the items of a shard, and publishes the result. The workers of all engines call it."""

from __future__ import annotations

import asyncio
import json
import os
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any, Awaitable, Callable, Dict, List, Optional, Sequence, Tuple

from .. import WherryError
from ._coordination import Exchange
from ._items import Item, ItemError, Shard
from ._limits import HostGate, HostRefused, Shares, Wanted
from ._outputs import Output, Writer, finite
from ._robots import Robots, cache_of
from ._statistics import Statistics
from ._steps import Download, Map, Step, Workbench
from ._store import Receipt, Store


@dataclass(frozen=True)
class Job:
    """The part of a job that workers need.

    ``concurrency``  the maximum number of items that a worker downloads or processes at the same time
    ``held_bytes``   the size of the items in memory above which no download starts
    """

    id: str
    folder: str
    steps: Tuple[Any, ...]
    output: Output
    concurrency: int = 64
    threads: int = 1
    held_bytes: int = 256 * 1024 * 1024


#: The errors of metadata that JSON cannot represent.
_UNWRITABLE = (TypeError, ValueError, OverflowError, RecursionError)


def process(job: Job, shard: Shard, exchange: Exchange) -> Receipt:
    """Processes a shard, and returns its receipt."""
    store = Store(job.folder)
    known = store.receipt(shard.name)
    if known is not None:
        return known
    attempt = store.begin(shard.name)
    begun = time.time()
    digest = shard.digest()  # before steps change the rows
    writer: Optional[Writer] = None
    try:
        writer = job.output.open(attempt.folder, shard.name)
        with open(attempt.log_path, "x", encoding="utf-8") as log:
            run = ShardRun(job, f"{shard.name}.{attempt.id}", exchange, writer, log)
            asyncio.run(run.run(shard.items()))
            log.flush()
            os.fsync(log.fileno())
        files = writer.finish()
        details = {
            "digest": digest,
            "begun": begun,
            "ended": time.time(),
            "statistics": run.statistics.values(),
        }
        return attempt.commit(files, details)
    except BaseException as error:
        if writer is not None:
            writer.abandon()
        attempt.abandon()
        # Another attempt may have finished, and have deleted the files of this one.
        finished = store.receipt(shard.name) if isinstance(error, Exception) else None
        if finished is None:
            raise
        return finished


class ShardRun:
    """Runs the steps on items, and writes the items and their log in the order in which the items finish."""

    def __init__(self, job: Job, worker: str, exchange: Exchange, writer: Writer, log: Any) -> None:
        self.statistics = Statistics()
        self._job = job
        self._worker = worker
        self._exchange = exchange
        self._writer = writer
        self._log = log
        self._held = 0
        self._robots = Robots(cache_of(job.id))

    async def run(self, items: Sequence[Item]) -> None:
        """Processes all items. Raises an error if the output cannot be written or the limiter is lost."""
        download: Download = self._job.steps[0]
        gate = HostGate(self._worker, self._report)
        self._room = asyncio.Event()  # Before Python 3.10, events belong to the loop in which they are created.
        self._room.set()
        async with download.client(self._job.concurrency) as client, _upload_client() as uploads:
            with ThreadPoolExecutor(self._job.threads) as threads:
                bench = Workbench(client, uploads, gate, self._robots, threads, self._job.id)
                exchanges = asyncio.ensure_future(gate.run())
                work = asyncio.ensure_future(self._segment(items, list(self._job.steps), bench))
                try:
                    await asyncio.wait([exchanges, work], return_when=asyncio.FIRST_COMPLETED)
                    if exchanges.done():
                        exchanges.result()
                    await work
                finally:
                    for task in (work, exchanges):
                        task.cancel()
                    await asyncio.gather(work, exchanges, return_exceptions=True)
                    try:
                        await self._report(self._worker, {}, {})  # releases the shares
                    except Exception:
                        pass  # The shares end with the lease.

    async def _report(self, worker: str, wanted: Wanted, pauses: Dict[str, float]) -> Shares:
        report = {
            "wanted": wanted, "pauses": pauses, **self._robots.report(),
            "shard": worker.partition(".")[0], "counts": self.statistics.values(),
        }  # fmt: skip
        reply = await self._exchange(worker, report)
        self._robots.learn(reply["rules"])
        return {host: (share, pause) for host, (share, pause) in reply["shares"].items()}

    async def _segment(self, items: Sequence[Item], steps: List[Any], bench: Workbench) -> None:
        """Runs the steps up to the next Map on each item, and then the remaining steps in batches."""
        place = next((index for index, step in enumerate(steps) if isinstance(step, Map)), len(steps))
        own, rest = steps[:place], steps[place:]
        batch: List[Item] = []
        batches = asyncio.Lock()

        async def finished(item: Item) -> None:
            if not rest or item.failure is not None:
                self._finish(item)
                return
            batch.append(item)
            # Without room in memory, no other item can complete the batch.
            if len(batch) >= rest[0].batch or not self._room.is_set():
                taken, batch[:] = list(batch), []
                async with batches:
                    await self._batch(taken, rest, bench)

        async def one(item: Item) -> None:
            for step in own:
                before = len(item.data)
                await _run(step, item, bench)
                self._hold(len(item.data) - before)
                if item.failure is not None:
                    break
            await finished(item)

        await self._each(one, items, waits_for_room=isinstance(own[0], Download) if own else False)
        if batch:
            await self._batch(batch, rest, bench)

    async def _batch(self, items: List[Item], steps: List[Any], bench: Workbench) -> None:
        held = sum(len(item.data) for item in items)
        try:
            result = await bench.in_thread(steps[0].call, list(items))
            kept = {id(item) for item in result}
            if not kept <= {id(item) for item in items}:
                raise ValueError("the function of Map() may only return items of its batch")
            for item in items:
                if not isinstance(item.data, bytes):
                    raise TypeError(f"item.data must be bytes, not {type(item.data).__name__}")
        except Exception as error:
            kept = {id(item) for item in items}
            for item in items:
                item.fail("map", "exception", _sentence(error))
        self._hold(sum(len(item.data) for item in items) - held)
        alive: List[Item] = []
        for item in items:
            if id(item) not in kept:
                self._drop(item)
            elif item.failure is not None:
                self._finish(item)
            else:
                alive.append(item)
        await self._segment(alive, steps[1:], bench)

    async def _each(
        self, function: Callable[[Item], Awaitable[None]], items: Sequence[Item], waits_for_room: bool
    ) -> None:
        """Calls a function for each item, several at a time.

        Downloads wait for room in memory. Later steps do not wait, because they free memory.
        """
        waiting: set[asyncio.Future[None]] = set()
        try:
            for item in items:
                while waits_for_room and waiting and not self._room.is_set():
                    waiting = await _settled(waiting)
                while len(waiting) >= self._job.concurrency:
                    waiting = await _settled(waiting)
                waiting.add(asyncio.ensure_future(function(item)))
            while waiting:
                waiting = await _settled(waiting)
        finally:
            for task in waiting:
                task.cancel()
            await asyncio.gather(*waiting, return_exceptions=True)

    def _hold(self, change: int) -> None:
        self._held += change
        if self._held > self._job.held_bytes:
            self._room.clear()
        else:
            self._room.set()

    def _finish(self, item: Item) -> None:
        held = len(item.data)
        if item.failure is None:
            try:
                self._writer.add(item)
            except _UNWRITABLE as error:
                item.fail("output", "exception", _sentence(error))
        self._note(item)
        self.statistics.count(item)
        self._hold(-held)
        item.data = b""

    def _note(self, item: Item, **more: Any) -> None:
        """Writes the line of an item to the log."""
        try:
            line = json.dumps({**finite(item.record()), **more}, default=str)
        except _UNWRITABLE:
            item.fields = {str(name): str(value) for name, value in item.fields.items()}
            line = json.dumps({**item.record(), **more}, default=str)
        self._log.write(line + "\n")

    def _drop(self, item: Item) -> None:
        self._note(item, dropped=True)
        self.statistics.drop(item)
        self._hold(-len(item.data))
        item.data = b""


def _upload_client() -> Any:
    from .. import AsyncClient

    return AsyncClient(cookies=False)


async def _settled(waiting: set[asyncio.Future[None]]) -> set[asyncio.Future[None]]:
    """Waits until a task has ended, raises its error, and returns the others."""
    ended, others = await asyncio.wait(waiting, return_when=asyncio.FIRST_COMPLETED)
    for task in ended:
        task.result()
    return others


async def _run(step: Step, item: Item, bench: Workbench) -> None:
    """Runs a step on an item. The item fails if the step raises an exception."""
    try:
        await step.run(item, bench)
    except (ItemError, WherryError) as error:
        item.fail(step.name, error.reason or "internal", error.message)
    except HostRefused as error:
        item.fail(step.name, "retry_later", str(error))
    except Exception as error:
        item.fail(step.name, "exception", _sentence(error))


def _sentence(error: Exception) -> str:
    return f"{type(error).__name__}: {error}" if str(error) else type(error).__name__
