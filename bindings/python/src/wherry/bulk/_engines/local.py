# Wherry: bulk jobs in processes on this machine
# SPDX-License-Identifier: Apache-2.0
"""`LocalEngine` starts worker processes, each connected by a socket pair.

The driver sends a worker one shard at a time. While the worker processes the shard, it asks the driver for its shares
of the hosts over the same connection. A worker that ends is replaced, and another worker repeats its shard.
"""

from __future__ import annotations

import contextlib
import math
import os
import pickle
import queue
import socket
import subprocess
import sys
import threading
import time
from multiprocessing.connection import Connection
from typing import Any, Dict, Iterator, List, Optional, Tuple, cast

from ..._errors import ArgumentError, StateError
from .._items import Shard
from .._limits import HostLimiter
from .._steps import Map
from .._work import Job
from . import Engine, Outcome, Versions, check_versions

#: The number of lost workers after which a shard fails.
ATTEMPTS = 5


class _Worker:
    """A worker process, its current shard, and the thread that receives its messages."""

    def __init__(self, job: bytes) -> None:
        own, theirs = socket.socketpair()
        with theirs:
            self.process = subprocess.Popen(
                [sys.executable, "-m", "wherry.bulk._engines.worker", str(theirs.fileno())],
                pass_fds=[theirs.fileno()], stdin=subprocess.DEVNULL,
                stdout=sys.stderr.fileno() if _has_descriptor(sys.stderr) else subprocess.DEVNULL,
                env={**os.environ, "PYTHONPATH": os.pathsep.join(path or os.getcwd() for path in sys.path)},
            )  # fmt: skip
        self.connection = Connection(own.detach())
        self.shard: Optional[Shard] = None
        self.thread: Optional[threading.Thread] = None
        with contextlib.suppress(OSError):  # The worker has ended already. _started reports that.
            self.connection.send_bytes(job)

    def give(self, shard: Shard) -> None:
        self.shard = shard
        with contextlib.suppress(OSError):  # The thread notices the end of the worker.
            self.connection.send(("shard", shard))

    def hang_up(self) -> None:
        """Closes the connection, so that the process exits."""
        with contextlib.suppress(OSError):
            with socket.socket(fileno=os.dup(self.connection.fileno())) as twin:
                twin.shutdown(socket.SHUT_RDWR)
        if self.thread is not None:
            self.thread.join()
        self.connection.close()

    def end(self, until: float) -> str:
        """Waits for the process until a time, ends it if necessary, and returns how it ended."""
        for signal in (None, self.process.terminate, self.process.kill):
            if signal is not None:
                signal()
            try:
                self.process.wait(max(0.1, until - time.monotonic()))
                break
            except subprocess.TimeoutExpired:
                continue
        else:
            self.process.wait()
        code = self.process.returncode
        return f"the worker was killed by signal {-code}" if code < 0 else f"the worker exited with status {code}"


def _has_descriptor(stream: Any) -> bool:
    try:
        return bool(stream.fileno() >= 0)
    except (AttributeError, OSError, ValueError):  # such as the streams of notebooks
        return False


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
        # Without a lease: the driver notices the end of a worker.
        self._limiter = HostLimiter(limit, math.inf)
        self._limiter_lock = threading.Lock()
        self._messages: queue.SimpleQueue[Tuple[_Worker, str, Any]] = queue.SimpleQueue()
        try:
            import cloudpickle

            self._job: bytes = cloudpickle.dumps(job)
        except ImportError:
            self._job = _pickled(job)
        self._workers = [_Worker(self._job) for _ in range(self._count)]
        check_versions({f"process {worker.process.pid}": self._started(worker) for worker in self._workers})

    def _started(self, worker: _Worker) -> Versions:
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

    def _receive(self, worker: _Worker) -> None:
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
                with self._limiter_lock:
                    shares = self._limiter.exchange(time.monotonic(), *value)
                worker.connection.send(shares)
            except (EOFError, OSError):
                with self._limiter_lock:
                    self._limiter.exchange(time.monotonic(), name, {}, {})  # releases the shares
                self._messages.put((worker, "ended", None))
                return

    def run(self, shards: Iterator[Shard]) -> Iterator[Outcome]:
        again: List[Shard] = []
        while True:
            for worker in self._workers:
                if worker.shard is None:
                    shard = again.pop(0) if again else next(shards, None)
                    if shard is not None:
                        worker.give(shard)
            if all(worker.shard is None for worker in self._workers):
                return
            worker, kind, value = self._messages.get()
            shard, worker.shard = worker.shard, None
            if kind != "ended":
                assert shard is not None
                self._attempts.pop(shard.index, None)
                yield shard, value
            elif worker in self._workers:
                yield from self._replace(worker, shard, again)

    def _replace(self, worker: _Worker, shard: Optional[Shard], again: List[Shard]) -> Iterator[Outcome]:
        """Starts another worker, and repeats the shard of the worker that ended."""
        worker.hang_up()
        reason = worker.end(time.monotonic() + 5)
        place = self._workers.index(worker)
        self._workers[place] = _Worker(self._job)
        self._started(self._workers[place])
        if shard is None:
            return
        count = self._attempts[shard.index] = self._attempts.get(shard.index, 0) + 1
        if count < ATTEMPTS:
            again.append(shard)
        else:
            yield shard, f"{reason}, after {count} attempts"

    def close(self) -> None:
        until = time.monotonic() + 5
        for worker in self._workers:
            worker.hang_up()
        for worker in self._workers:
            worker.end(until)
        self._workers = []


def _pickled(job: Job) -> bytes:
    functions = [step.function for step in job.steps if isinstance(step, Map) and callable(step.function)]
    if all(getattr(function, "__module__", None) != "__main__" for function in functions):
        with contextlib.suppress(pickle.PicklingError, AttributeError, TypeError):
            return pickle.dumps(job)
    raise ArgumentError(
        f"workers cannot find {', '.join(getattr(each, '__qualname__', repr(each)) for each in functions)} of Map(). Put the "
        "function into a module, or install cloudpickle.",
        "bad_argument",
    )
