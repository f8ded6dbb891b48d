# Wherry: the coordinator of bulk jobs on Dask
# SPDX-License-Identifier: Apache-2.0
"""`CoordinatorPlugin` runs the coordinator of a job in the scheduler of a cluster."""

from __future__ import annotations

from typing import Any, Dict, Optional

from distributed.diagnostics.plugin import SchedulerPlugin

from .._coordination import Coordinator, Counts, Reply, Report


class CoordinatorPlugin(SchedulerPlugin):  # type: ignore[misc, unused-ignore]
    """Handles the exchanges of all workers in the scheduler."""

    def __init__(self, name: str, limit: int) -> None:
        self.name = name
        self._limit = limit

    async def start(self, scheduler: Any) -> None:
        self._coordinator = Coordinator(self._limit)
        scheduler.handlers[self.name] = self._exchange
        self._scheduler = scheduler

    def running(self) -> Dict[str, Counts]:
        return self._coordinator.running()

    async def before_close(self) -> None:
        self._scheduler.handlers.pop(self.name, None)

    async def _exchange(self, source: str, report: Report) -> Reply:
        return self._coordinator.exchange(source, report)


def running(name: str, dask_scheduler: Any) -> Dict[str, Counts]:
    """Returns the counts of unfinished shards. Runs on the scheduler."""
    plugin: Optional[CoordinatorPlugin] = dask_scheduler.plugins.get(name)
    return plugin.running() if plugin is not None else {}


def remove(name: str, dask_scheduler: Any) -> None:
    """Removes the plugin. Runs on the scheduler."""
    dask_scheduler.handlers.pop(name, None)
    dask_scheduler.plugins.pop(name, None)
