# Wherry: what the workers of a bulk job tell each other
# SPDX-License-Identifier: Apache-2.0
"""`Coordinator` divides the connections of each host among the workers, passes on rules of robots.txt, and collects the
counts of unfinished shards.

There is one coordinator per job: in the driver (local), in a plugin of the scheduler (Dask), or in an actor (Ray). Each
worker calls `Coordinator.exchange` about once a second.
"""

from __future__ import annotations

import threading
import time
from typing import Any, Awaitable, Callable, Dict, Tuple

from ._limits import LEASE, HostLimiter
from ._robots import RuleCache, Rules

#: The report of a worker: the connections that it wants and the pauses of hosts, for `HostLimiter.exchange`, the sites
#: whose rules of robots.txt it needs, the rules that it has downloaded, and the counts of its shard. JSON and MessagePack
#: can represent a report.
Report = Dict[str, Any]
#: The response to a report: the shares of hosts, and the rules of sites.
Reply = Dict[str, Any]
#: `Statistics.values` of a shard.
Counts = Dict[str, Any]
#: Sends the report of a worker to the coordinator: (worker, report) -> reply
Exchange = Callable[[str, Report], Awaitable[Reply]]


class Coordinator:
    """The shared state of a job's workers. Thread-safe."""

    def __init__(self, limit: int, lease: float = LEASE, clock: Callable[[], float] = time.monotonic) -> None:
        self._limiter = HostLimiter(limit, lease)
        self._rules = RuleCache()
        self._clock = clock
        self._counts: Dict[str, Tuple[float, Counts]] = {}
        self._lock = threading.Lock()

    def exchange(self, worker: str, report: Report) -> Reply:
        """Stores the report of a worker, and returns its shares and the rules that it needs."""
        now = self._clock()
        for site, (seconds, values) in report.get("rules", {}).items():
            self._rules.put(now, site, seconds, Rules.from_values(values))
        rules = {}
        for site in report.get("sites", ()):
            known = self._rules.get(now, site)
            if known is not None and known[0] > 0:
                rules[site] = [known[0], known[1].values()]
        wanted = {host: (count, used) for host, (count, used) in report.get("wanted", {}).items()}
        with self._lock:
            shares = self._limiter.exchange(now, worker, wanted, report.get("pauses", {}))
            if "counts" in report:
                self._counts.pop(report["shard"], None)
                self._counts[report["shard"]] = now, report["counts"]  # The dictionary is in the order of time.
            self._forget(now - LEASE)
        return {"shares": shares, "rules": rules}

    async def exchange_here(self, worker: str, report: Report) -> Reply:
        """Is an `Exchange` for workers in the process of the coordinator."""
        return self.exchange(worker, report)

    def running(self) -> Dict[str, Counts]:
        """Returns the counts of unfinished shards by name. Shards that have just finished may be among them."""
        with self._lock:
            self._forget(self._clock() - LEASE)
            return {shard: counts for shard, (_, counts) in self._counts.items()}

    def _forget(self, oldest: float) -> None:
        while self._counts:
            shard, (reported, _) = next(iter(self._counts.items()))
            if reported > oldest:
                return
            del self._counts[shard]

    def release(self, worker: str) -> None:
        """Gives the shares of a worker that has ended to the others."""
        self.exchange(worker, {})
