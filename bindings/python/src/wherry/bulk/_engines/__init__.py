# Wherry: the engines of bulk jobs
# SPDX-License-Identifier: Apache-2.0
"""An engine runs shards on workers: processes on this machine, Dask, or Ray.

Each engine has one module here. No other code depends on the engine's package.
"""

from __future__ import annotations

from typing import Any, Dict, Iterator, List, Optional, Sequence, Tuple, Union

from ..._errors import ArgumentError, brief
from .._coordination import Counts
from .._items import Shard
from .._steps import Map
from .._store import Receipt
from .._work import Job

#: Seconds to wait for the workers of a cluster.
PATIENCE = 300
#: Seconds without a finished shard after which `Engine.run` yields None.
TICK = 1.0

#: A shard, and its receipt or an error message.
Outcome = Tuple[Shard, Union[Receipt, str]]
#: The versions of the package and of the library, which must be the same on all workers.
Versions = Tuple[str, str]


class Engine:
    """The base class of engines. Call ``start``, ``run``, and ``close``, in this order."""

    name = "engine"

    def start(self, job: Job, limit: int) -> None:
        """Connects to the workers, compares versions, and creates the coordinator with ``limit`` connections per host.

        Raises StateError if a worker has another version.
        """
        raise NotImplementedError

    def run(self, shards: Iterator[Shard]) -> Iterator[Optional[Outcome]]:
        """Processes shards, at most two per worker at a time, and yields their outcomes as they finish.

        Yields None after a second in which no shard finished.

        A shard whose worker dies runs on another worker. Takes the next shard only when a worker can start it.
        """
        raise NotImplementedError

    def running(self) -> Dict[str, Counts]:
        """Returns the counts of unfinished shards by name: see `Coordinator.running`."""
        raise NotImplementedError

    def close(self) -> None:
        """Releases the resources that ``start`` created."""
        raise NotImplementedError

    @property
    def workers(self) -> int:
        """The number of shards that can run at the same time."""
        raise NotImplementedError


def versions() -> Versions:
    """Returns the versions of the package and of its library in this process."""
    from ... import __version__
    from ..._native.library import lib

    return __version__, lib.wherry_library_version_text().decode()


def prepared(steps: Sequence[Any]) -> Versions:
    """Imports the functions of the steps, and returns the versions. Runs in each worker before the first shard.

    Raises ArgumentError if a function cannot be imported.
    """
    for step in steps:
        if isinstance(step, Map):
            try:
                step.resolved()
            except Exception as error:
                raise ArgumentError(
                    f"Map({step.function!r}) cannot be imported in a worker: {type(error).__name__}: {error}. Correct the "
                    "name, or put the function into a module that workers can import.",
                    "bad_argument",
                ) from None
    return versions()


def check_versions(workers: Dict[str, Versions]) -> None:
    """Raises StateError if a worker has another version than this process."""
    from ..._errors import StateError

    own = versions()
    others = {name: found for name, found in workers.items() if tuple(found) != own}
    if others:
        name, found = sorted(others.items())[0]
        raise StateError(
            f"{len(others)} of {len(workers)} workers have another version of Wherry: {name} has {found[0]} (library "
            f"{found[1]}), but this process has {own[0]} (library {own[1]}). Install the same version everywhere.",
            "wrong_state",
        )


def create(engine: Any, workers: Optional[int]) -> Engine:
    """Returns the engine for a name ("local", "dask", or "ray") or for a Dask client."""
    if isinstance(engine, Engine):
        return engine
    if engine == "local":
        from .local import LocalEngine

        return LocalEngine(workers)
    if engine == "dask" or type(engine).__module__.partition(".")[0] == "distributed":
        from .dask import DaskEngine

        return DaskEngine(None if engine == "dask" else engine, workers)
    if engine == "ray":
        from .ray import RayEngine

        return RayEngine(workers)
    raise ArgumentError(f'engine= must be "local", "dask", "ray", or a Dask client, not {brief(engine)}', "bad_value")


__all__: List[str] = ["Engine", "Outcome", "check_versions", "create", "prepared", "versions"]
