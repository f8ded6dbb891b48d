# Wherry: bulk jobs in processes on this machine
# SPDX-License-Identifier: Apache-2.0
"""`LocalEngine` starts worker processes, each connected by a socket pair.

The driver sends a worker one shard at a time. While the worker processes the shard, it reports to the coordinator in the
driver over the same connection. A worker that ends is replaced, and another worker repeats its shard.
"""

from __future__ import annotations

import math
import os
import queue
import threading
import time
from typing import Any, Dict, Iterator, List, Optional, Tuple, cast

from ..._errors import ArgumentError, StateError
from .._coordination import Coordinator, Counts
from .._items import Shard
from .._work import Job
from . import TICK, Engine, Outcome, Versions, check_versions
from .process import WorkerProcess, pickled

#: The number of lost workers after which a shard fails.
ATTEMPTS = 5


class LocalEngine(Engine):
    """Runs shards in processes on this machine, by default one per core."""

    name = "local"

    def __init__(self, workers: Optional[int] = None) -> None:
        if workers is not None and workers < 1:
            raise ArgumentError(f"workers= must be 1 or more, not {workers}", "bad_value")
        self._count = workers or len(os.sched_getaffinity(0))
        self._workers: List[WorkerProcess] = []
        self._attempts: Dict[int, int] = {}

    @property
    def workers(self) -> int:
        return self._count

    def start(self, job: Job, limit: int) -> None:
        # Without a lease: the driver notices the end of a worker.
        self._coordinator = Coordinator(limit, math.inf)
        self._messages: queue.SimpleQueue[Tuple[WorkerProcess, str, Any]] = queue.SimpleQueue()
        self._job = pickled(job)
        self._workers = [WorkerProcess(self._job) for _ in range(self._count)]
        check_versions({f"process {worker.process.pid}": self._started(worker) for worker in self._workers})

    def _started(self, worker: WorkerProcess) -> Versions:
        """Returns the versions of a new worker, and starts the thread that receives its messages."""
        try:
            kind, value = worker.connection.recv()
        except (EOFError, OSError):
            ended = worker.end(time.monotonic() + 5)
            raise StateError(
                f"a worker process could not start: {ended}. Its messages are on standard error.", "wrong_state"
            ) from None
        if kind == "failed":
            raise StateError(f"a worker process could not start: {value}", "wrong_state")
        worker.thread = threading.Thread(target=self._receive, args=(worker,), name="wherry-bulk", daemon=True)
        worker.thread.start()
        return cast(Versions, value)

    def _receive(self, worker: WorkerProcess) -> None:
        """Answers the exchanges of a worker at once, and passes its other messages on.

        A thread does this, because reading the source or a progress function can take long.
        """
        name = ""
        while True:
            try:
                kind, value = worker.connection.recv()
                if kind != "exchange":
                    self._messages.put((worker, kind, value))
                    continue
                name = value[0]
                worker.connection.send(self._coordinator.exchange(*value))
            except (EOFError, OSError):
                self._coordinator.release(name)
                self._messages.put((worker, "ended", None))
                return

    def run(self, shards: Iterator[Shard]) -> Iterator[Optional[Outcome]]:
        again: List[Shard] = []
        while True:
            for worker in self._workers:
                if worker.shard is None:
                    shard = again.pop(0) if again else next(shards, None)
                    if shard is not None:
                        worker.give(shard)
            if all(worker.shard is None for worker in self._workers):
                return
            try:
                worker, kind, value = self._messages.get(timeout=TICK)
            except queue.Empty:
                yield None
                continue
            shard, worker.shard = worker.shard, None
            if kind != "ended":
                assert shard is not None
                self._attempts.pop(shard.index, None)
                yield shard, value
            elif worker in self._workers:
                yield from self._replace(worker, shard, again)

    def _replace(self, worker: WorkerProcess, shard: Optional[Shard], again: List[Shard]) -> Iterator[Outcome]:
        """Starts another worker, and repeats the shard of the worker that ended."""
        worker.hang_up()
        reason = worker.end(time.monotonic() + 5)
        place = self._workers.index(worker)
        self._workers[place] = WorkerProcess(self._job)
        self._started(self._workers[place])
        if shard is None:
            return
        count = self._attempts[shard.index] = self._attempts.get(shard.index, 0) + 1
        if count < ATTEMPTS:
            again.append(shard)
        else:
            yield shard, f"{reason}, after {count} attempts"

    def running(self) -> Dict[str, Counts]:
        return self._coordinator.running()

    def close(self) -> None:
        until = time.monotonic() + 5
        for worker in self._workers:
            worker.hang_up()
        for worker in self._workers:
            worker.end(until)
        self._workers = []
