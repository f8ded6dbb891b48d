# Wherry: bulk jobs in processes on this machine
# SPDX-License-Identifier: Apache-2.0
"""`LocalEngine` starts worker processes, each connected by a socket pair.

The driver sends a worker one shard at a time. Meanwhile, the worker asks the driver for its shares of the hosts over
the same connection. A worker that ends is replaced, and its shard runs again.
"""

from __future__ import annotations

import os
import pickle
import socket
import subprocess
import sys
import time
from multiprocessing.connection import Connection, wait
from typing import Any, Dict, Iterator, List, Optional, cast

from ..._errors import ArgumentError, StateError
from .._items import Shard
from .._limits import HostLimiter
from .._work import Job
from . import Engine, Outcome, Versions, check_versions

#: The number of lost workers after which a shard fails.
ATTEMPTS = 5


class _Worker:
    """A worker process, and its current shard."""

    def __init__(self, job: bytes) -> None:
        own, theirs = socket.socketpair()
        with theirs:
            self.process = subprocess.Popen(
                [sys.executable, "-m", "wherry.bulk._engines.worker", str(theirs.fileno())],
                pass_fds=[theirs.fileno()], stdin=subprocess.DEVNULL,
                env={**os.environ, "PYTHONPATH": os.pathsep.join(path or os.getcwd() for path in sys.path)},
            )  # fmt: skip
        self.connection = Connection(own.detach())
        self.shard: Optional[Shard] = None
        self.connection.send_bytes(job)

    def give(self, shard: Shard) -> None:
        self.shard = shard
        self.connection.send(("shard", shard))

    def end(self) -> str:
        """Ends the process, and returns how it ended. The process exits when its connection closes."""
        self.connection.close()
        for signal in (None, self.process.terminate, self.process.kill):
            if signal is not None:
                signal()
            try:
                self.process.wait(5)
                break
            except subprocess.TimeoutExpired:
                continue
        else:
            self.process.wait()
        code = self.process.returncode
        return f"the worker was killed by signal {-code}" if code < 0 else f"the worker exited with status {code}"


class LocalEngine(Engine):
    """Runs shards in processes on this machine, by default one per core."""

    name = "local"

    def __init__(self, workers: Optional[int] = None) -> None:
        if workers is not None and workers < 1:
            raise ArgumentError(f"workers= must be 1 or more, not {workers}", "bad_value")
        self._count = workers or len(os.sched_getaffinity(0))
        self._workers: List[_Worker] = []
        self._attempts: Dict[int, int] = {}

    @property
    def workers(self) -> int:
        return self._count

    def start(self, job: Job, limit: int) -> None:
        self._limiter = HostLimiter(limit)
        try:
            import cloudpickle

            self._job: bytes = cloudpickle.dumps(job)
        except ImportError:
            self._job = _pickled(job)
        self._workers = [_Worker(self._job) for _ in range(self._count)]
        check_versions({f"process {worker.process.pid}": self._versions(worker) for worker in self._workers})

    def _versions(self, worker: _Worker) -> Versions:
        try:
            kind, value = worker.connection.recv()
        except (EOFError, OSError):
            raise StateError(f"a worker process could not start: {worker.end()}. Its messages are on standard error.",
                             "wrong_state") from None  # fmt: skip
        if kind == "failed":
            raise StateError(f"a worker process could not start: {value}", "wrong_state")
        return cast(Versions, value)

    def run(self, shards: Iterator[Shard]) -> Iterator[Outcome]:
        again: List[Shard] = []
        while True:
            for worker in self._workers:
                if worker.shard is None:
                    shard = again.pop(0) if again else next(shards, None)
                    if shard is not None:
                        yield from self._give(worker, shard, again)
            busy = [worker for worker in self._workers if worker.shard is not None]
            if not busy and not again:
                return
            ready = wait([worker.connection for worker in busy])
            for worker in busy:
                if worker.connection in ready:
                    yield from self._hear(worker, again)

    def _give(self, worker: _Worker, shard: Shard, again: List[Shard]) -> Iterator[Outcome]:
        try:
            worker.give(shard)
        except OSError:
            yield from self._replace(worker, again)

    def _hear(self, worker: _Worker, again: List[Shard]) -> Iterator[Outcome]:
        """Handles one message from a worker, or the end of the worker."""
        try:
            kind, value = worker.connection.recv()
            if kind == "exchange":
                worker.connection.send(self._limiter.exchange(time.monotonic(), *value))
                return
        except (EOFError, OSError):
            yield from self._replace(worker, again)
            return
        shard, worker.shard = cast(Shard, worker.shard), None
        self._attempts.pop(shard.index, None)
        yield shard, value

    def _replace(self, worker: _Worker, again: List[Shard]) -> Iterator[Outcome]:
        """Starts another worker, and repeats the shard of the worker that ended."""
        shard = cast(Shard, worker.shard)
        reason = worker.end()
        place = self._workers.index(worker)
        self._workers[place] = _Worker(self._job)
        self._versions(self._workers[place])
        count = self._attempts[shard.index] = self._attempts.get(shard.index, 0) + 1
        if count < ATTEMPTS:
            again.append(shard)
        else:
            yield shard, f"{reason}, after {count} attempts"

    def close(self) -> None:
        for worker in self._workers:
            worker.end()
        self._workers = []


def _pickled(job: Job) -> bytes:
    for step in job.steps:
        function: Any = getattr(step, "function", None)
        if getattr(function, "__module__", None) == "__main__":
            raise ArgumentError(
                f"the function {getattr(function, '__name__', function)} of Map() is in the main program, where workers cannot "
                "find it. Put the function into a module, or install cloudpickle.",
                "bad_argument",
            )
    return pickle.dumps(job)
