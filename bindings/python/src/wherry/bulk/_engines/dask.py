# Wherry: bulk jobs on Dask
# SPDX-License-Identifier: Apache-2.0
"""`DaskEngine` runs each shard as a task of dask.distributed.

The coordinator is a plugin of the scheduler, so it lives as long as the cluster. Dask repeats the shards of lost workers:
see ``distributed.scheduler.allowed-failures``. The dashboard shows the tasks as "wherry-shard".
"""

from __future__ import annotations

import asyncio
from typing import Any, Dict, Iterator, Optional, Tuple

from ..._errors import ArgumentError, StateError
from .._coordination import Coordinator, Reply, Report
from .._items import Shard
from .._store import Receipt
from .._work import Job, process
from . import PATIENCE, Engine, Outcome, Versions, check_versions, prepared, versions

try:
    import distributed
    from distributed.diagnostics.plugin import SchedulerPlugin
except ImportError:
    raise ArgumentError('engine="dask" needs Dask. Run: pip install "wherry[dask]"', "bad_argument") from None


class _Plugin(SchedulerPlugin):  # type: ignore[misc, unused-ignore]
    """Handles the exchanges of all workers in the scheduler."""

    def __init__(self, name: str, limit: int) -> None:
        self.name = name
        self._limit = limit

    async def start(self, scheduler: Any) -> None:
        self._coordinator = Coordinator(self._limit)
        scheduler.handlers[self.name] = self._exchange
        self._scheduler = scheduler

    async def before_close(self) -> None:
        self._scheduler.handlers.pop(self.name, None)

    async def _exchange(self, source: str, report: Report) -> Reply:
        return self._coordinator.exchange(source, report)


def _process(job: Job, shard: Shard, handler: str) -> Receipt:
    """Processes a shard on a worker."""
    worker = distributed.get_worker()

    async def exchange(source: str, report: Report) -> Reply:
        call = getattr(worker.scheduler, handler)(source=source, report=report)
        reply: Reply = await asyncio.wrap_future(asyncio.run_coroutine_threadsafe(call, worker.loop.asyncio_loop))
        return reply

    return process(job, shard, exchange)


class DaskEngine(Engine):
    """Runs shards on the cluster of a Dask client: the given one, the current one, or that of DASK_SCHEDULER_ADDRESS."""

    name = "dask"

    def __init__(self, client: Optional[Any] = None, workers: Optional[int] = None) -> None:
        self._client = client
        self._owned = False
        self._wanted = workers or 1

    @property
    def workers(self) -> int:
        assert self._client is not None
        return sum(self._client.nthreads().values()) or 1

    def start(self, job: Job, limit: int) -> None:
        if self._client is None:
            self._client = self._found()
        try:
            self._client.wait_for_workers(self._wanted, timeout=PATIENCE)
        except TimeoutError:
            count = len(self._client.scheduler_info()["workers"])
            raise StateError(
                f"the cluster has {count} of {self._wanted} workers after {PATIENCE} s. Start more workers, or set workers=.",
                "wrong_state",
            ) from None
        found: Dict[str, Versions] = self._client.run(prepared, job.steps)
        found["the scheduler"] = self._client.run_on_scheduler(versions)
        check_versions(found)
        self._job = job
        self._handler = f"wherry_coordinator_{job.id}"
        self._client.register_plugin(_Plugin(self._handler, limit))

    def _found(self) -> Any:
        try:
            return distributed.get_client()
        except ValueError:
            pass
        import dask

        if not dask.config.get("scheduler-address", None):
            raise StateError(
                'engine="dask" found no cluster. Create a distributed.Client first, or set DASK_SCHEDULER_ADDRESS.',
                "wrong_state",
            )
        self._owned = True
        return distributed.Client()

    def run(self, shards: Iterator[Shard]) -> Iterator[Outcome]:
        assert self._client is not None
        running: Dict[str, Tuple[Shard, Any]] = {}
        finished = distributed.as_completed(raise_errors=False)
        while True:
            while len(running) < 2 * self.workers:
                shard = next(shards, None)
                if shard is None:
                    break
                future = self._client.submit(
                    _process,
                    self._job,
                    shard,
                    self._handler,
                    key=f"wherry-shard-{self._job.id}-{shard.name}",
                    pure=False,
                )
                running[future.key] = (shard, future)
                finished.add(future)
            if not running:
                return
            future = next(finished)
            shard, _ = running.pop(future.key)
            if future.status == "finished":
                yield shard, future.result()
            else:
                yield shard, _sentence(future)
            future.release()

    def close(self) -> None:
        if self._client is None:
            return
        if hasattr(self, "_handler"):
            self._client.run_on_scheduler(_remove, self._handler)
        if self._owned:
            self._client.close()


def _remove(name: str, dask_scheduler: Any) -> None:
    dask_scheduler.handlers.pop(name, None)
    dask_scheduler.plugins.pop(name, None)


def _sentence(future: Any) -> str:
    try:
        error = future.exception()
    except Exception as lost:  # cancelled, for example by a restart of the cluster
        error = lost
    return f"{type(error).__name__}: {error}"
