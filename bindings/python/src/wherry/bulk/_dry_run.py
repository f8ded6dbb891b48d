# Wherry: dry runs of bulk jobs
# SPDX-License-Identifier: Apache-2.0
"""Counts the rows of a source, and runs the steps on a sample without writing anything."""

from __future__ import annotations

import asyncio
import io
import random
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any, Dict, List, Optional, Sequence

from ._coordination import Coordinator
from ._estimate import Estimate, Workload, estimate
from ._items import Failure, Item, Shard
from ._outputs import Writer
from ._statistics import Statistics
from ._steps import host_of
from ._work import Job, ShardRun

#: The maximum number of different hosts to count.
HOSTS = 100_000


@dataclass
class DryRun:
    """The result of a dry run. Attributes:

    ``items``             rows of the source
    ``shards``            the number of shards that a run would write
    ``hosts``             {host: rows}, most frequent first, at most 100,000 hosts
    ``invalid_urls``      rows without a valid http or https URL
    ``url_bytes``         the length of all URLs together
    ``sample``            the counts of the items that were tried
    ``errors``            the first failures of the sample, by URL
    ``processor_seconds`` the processor time of the sample
    ``estimate``          the expected course of a run with the same number of workers; None without items
    """

    items: int = 0
    shards: int = 0
    hosts: Dict[str, int] = field(default_factory=dict)
    invalid_urls: int = 0
    url_bytes: int = 0
    sample: Statistics = field(default_factory=Statistics)
    errors: Dict[str, Failure] = field(default_factory=dict)
    processor_seconds: float = 0
    estimate: Optional[Estimate] = None

    def expect(self, **settings: Any) -> None:
        """Estimates the run from the sample. ``settings`` are those of `estimate`."""
        sample = self.sample
        count = max(sample.items, 1)
        workload = Workload(
            self.items, self.processor_seconds / count, sample.download_seconds / count, sample.received / count,
            sample.bytes / count, self.url_bytes / max(self.items, 1), self.hosts,
        )  # fmt: skip
        self.estimate = estimate(workload, **settings)


class _Nothing(Writer):
    def add(self, item: Item) -> None:
        pass

    def finish(self) -> Dict[str, Dict[str, Any]]:
        return {}


def sampled(shards: Any, size: int) -> tuple[DryRun, List[Item]]:
    """Counts all rows, and chooses a random sample of them (reservoir sampling)."""
    found = DryRun()
    sample: List[Item] = []
    choice = random.Random(0)
    shard: Shard
    for shard in shards:
        found.shards += 1
        for item in shard.items():
            found.items += 1
            found.url_bytes += len(item.url)
            host = host_of(item.url) if item.url.lower().startswith(("http://", "https://")) else ""
            if not host:
                found.invalid_urls += 1
            elif host in found.hosts or len(found.hosts) < HOSTS:
                found.hosts[host] = found.hosts.get(host, 0) + 1
            if len(sample) < size:
                sample.append(item)
            else:
                place = choice.randrange(found.items)
                if place < size:
                    sample[place] = item
    found.hosts = dict(sorted(found.hosts.items(), key=lambda pair: (-pair[1], pair[0])))
    return found, sample


def try_sample(found: DryRun, sample: Sequence[Item], job: Job, limit: int) -> None:
    """Runs the steps on the sample in this process, and adds the results to ``found``."""
    run = ShardRun(job, "dry-run", Coordinator(limit).exchange_here, _Nothing(), io.StringIO())
    begun = time.process_time()
    with ThreadPoolExecutor(1) as thread:  # The caller's thread may have an event loop, as in notebooks.
        thread.submit(asyncio.run, run.run(sample)).result()
    found.processor_seconds = time.process_time() - begun
    found.sample = run.statistics
    for item in sample:
        if item.failure is not None and len(found.errors) < 10:
            found.errors[item.url] = item.failure
