# Wherry: bulk jobs on Dask
# SPDX-License-Identifier: Apache-2.0
"""`DaskEngine` runs each shard as a task of dask.distributed.

The coordinator is a plugin of the scheduler, so it lives as long as the cluster. Dask repeats the shards of lost workers:
see ``distributed.scheduler.allowed-failures``. The dashboard shows the tasks as "wherry-shard".
"""

from __future__ import annotations

import asyncio
import queue
from typing import Any, Dict, Iterator, Optional

from ..._errors import ArgumentError, StateError
from .._coordination import Counts, Reply, Report
from .._items import Shard
from .._store import Receipt
from .._work import Job, process
from . import PATIENCE, TICK, Engine, Outcome, Versions, check_versions, prepared, versions

try:
    import distributed

    from . import dask_plugin
except ImportError:
    raise ArgumentError('engine="dask" needs Dask. Run: pip install distributed', "bad_argument") from None


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
        self._client.register_plugin(dask_plugin.CoordinatorPlugin(self._handler, limit))

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

    def run(self, shards: Iterator[Shard]) -> Iterator[Optional[Outcome]]:
        assert self._client is not None
        shards_of: Dict[str, Shard] = {}
        ended: queue.SimpleQueue[Any] = queue.SimpleQueue()
        while True:
            while len(shards_of) < 2 * self.workers:
                shard = next(shards, None)
                if shard is None:
                    break
                key = f"wherry-shard-{self._job.id}-{shard.name}"
                future = self._client.submit(_process, self._job, shard, self._handler, key=key, pure=False)
                shards_of[key] = shard
                future.add_done_callback(ended.put)
            if not shards_of:
                return
            try:
                future = ended.get(timeout=TICK)
            except queue.Empty:
                yield None
                continue
            yield shards_of.pop(future.key), future.result() if future.status == "finished" else _sentence(future)
            future.release()

    def running(self) -> Dict[str, Counts]:
        assert self._client is not None
        found: Dict[str, Counts] = self._client.run_on_scheduler(dask_plugin.running, self._handler)
        return found

    def close(self) -> None:
        if self._client is None:
            return
        if hasattr(self, "_handler"):
            self._client.run_on_scheduler(dask_plugin.remove, self._handler)
        if self._owned:
            self._client.close()


def _sentence(future: Any) -> str:
    try:
        error = future.exception()
    except Exception as lost:  # cancelled, for example by a restart of the cluster
        error = lost
    return f"{type(error).__name__}: {error}"
