# Wherry: bulk jobs on Ray
# SPDX-License-Identifier: Apache-2.0
"""`RayEngine` runs each shard as a Ray task.

The coordinator is an actor, which may lose its state when its node dies. Workers then report to the new actor.
The engine repeats the shards of lost workers and nodes. The dashboard shows the tasks as "wherry-shard NAME".
"""

from __future__ import annotations

import asyncio
import time
from typing import Any, Dict, Iterator, Optional, Tuple, Union

from ..._errors import ArgumentError, StateError, WherryError
from .._coordination import Coordinator, Counts, Reply, Report
from .._items import Shard
from .._store import Receipt
from .._work import Job, process
from . import PATIENCE, TICK, Engine, Outcome, check_versions, prepared

try:
    import ray
    from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy
except ImportError:
    raise ArgumentError('engine="ray" needs Ray. Run: pip install ray', "bad_argument") from None

#: The number of lost workers after which a shard fails.
ATTEMPTS = 5


def _process(job: Job, shard: Shard, coordinator: Any) -> Receipt:
    """Processes a shard in a worker process."""

    async def exchange(source: str, report: Report) -> Reply:
        loop = asyncio.get_running_loop()
        found = await loop.run_in_executor(None, lambda: ray.get(coordinator.exchange.remote(source, report)))
        reply: Reply = found
        return reply

    return process(job, shard, exchange)


class RayEngine(Engine):
    """Runs shards on the cluster to which ray.init connects, or on a new cluster on this machine."""

    name = "ray"

    def __init__(self, workers: Optional[int] = None) -> None:
        self._wanted = workers or 1
        self._owned = False

    @property
    def workers(self) -> int:
        return max(1, int(ray.cluster_resources().get("CPU", 1)))

    def start(self, job: Job, limit: int) -> None:
        if not ray.is_initialized():
            ray.init(log_to_driver=False)
            self._owned = True
        until = time.monotonic() + PATIENCE
        while self.workers < self._wanted:  # Nodes are still joining.
            if time.monotonic() > until:
                raise StateError(
                    f"the cluster has {self.workers} of {self._wanted} CPUs after {PATIENCE} s. Add nodes, or set workers=.",
                    "wrong_state",
                )
            time.sleep(0.2)
        self._job = job
        asked = {
            node["NodeManagerAddress"] + " " + node["NodeID"][:8]:
                ray.remote(prepared).options(
                    num_cpus=0, scheduling_strategy=NodeAffinitySchedulingStrategy(node["NodeID"], soft=False)
                ).remote(job.steps)
            for node in ray.nodes() if node["Alive"]
        }  # fmt: skip
        try:
            check_versions({name: ray.get(found) for name, found in asked.items()})
        except ray.exceptions.RayTaskError as error:
            raise error.cause if isinstance(error.cause, WherryError) else error from None
        self._coordinator = (
            ray.remote(Coordinator).options(num_cpus=0, max_restarts=-1, max_task_retries=-1).remote(limit)
        )
        self._task = ray.remote(_process)

    def run(self, shards: Iterator[Shard]) -> Iterator[Optional[Outcome]]:
        running: Dict[Any, Tuple[Shard, int]] = {}
        while True:
            while len(running) < 2 * self.workers:
                shard = next(shards, None)
                if shard is None:
                    break
                running[self._submit(shard)] = (shard, 1)
            if not running:
                return
            ended = ray.wait(list(running), num_returns=1, timeout=TICK)[0]
            if not ended:
                yield None
            for found in ended:
                shard, count = running.pop(found)
                outcome: Union[Receipt, str]
                try:
                    outcome = ray.get(found)
                except ray.exceptions.RayTaskError as error:
                    outcome = _sentence(error.cause or error)
                except ray.exceptions.RayError as error:
                    if count < ATTEMPTS:
                        running[self._submit(shard)] = (shard, count + 1)
                        continue
                    outcome = f"{_sentence(error)}, after {count} attempts"
                yield shard, outcome

    def _submit(self, shard: Shard) -> Any:
        # The engine repeats shards itself, because Ray would also count nodes that left the cluster on purpose.
        return self._task.options(name=f"wherry-shard {shard.name}", max_retries=0).remote(
            self._job, shard, self._coordinator
        )

    def running(self) -> Dict[str, Counts]:
        try:
            found: Dict[str, Counts] = ray.get(self._coordinator.running.remote(), timeout=TICK)
            return found
        except (ray.exceptions.RayError, ray.exceptions.GetTimeoutError):  # The actor is moving to another node.
            return {}

    def close(self) -> None:
        if hasattr(self, "_coordinator"):
            ray.kill(self._coordinator)
        if self._owned:
            ray.shutdown()


def _sentence(error: BaseException) -> str:
    lines = str(error).strip().splitlines()
    return f"{type(error).__name__}: {lines[0] if lines else ''}"
