# Wherry: estimates of bulk jobs
# SPDX-License-Identifier: Apache-2.0
"""`estimate` calculates how long a job takes, what limits it, and what it writes, from measurements of a few items."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Dict, Mapping, Optional

from .._errors import ArgumentError, brief

#: Measured sizes of the files of a job, in bytes: the manifest's entry and the receipt of a shard, and the line of an
#: item in the log without its URL.
ENTRY, RECEIPT, LINE = 135, 750, 130
#: Bytes that Parquet and tar files take for an item in addition to its data. Tar files have two headers, and pad files.
OVERHEAD = 2_048


@dataclass(frozen=True)
class Workload:
    """The items of a job, and what the average item needs. `dry_run` measures these values.

    ``items``               rows of the source
    ``processor_seconds``   processor time for an item
    ``download_seconds``    time from the request to the end of the response
    ``received_bytes``      size of the response body
    ``output_bytes``        size of the item in the output
    ``url_bytes``           length of a URL (default: 80)
    ``hosts``               {host: rows}; {} if no host has many rows
    """

    items: int
    processor_seconds: float
    download_seconds: float
    received_bytes: float = 0
    output_bytes: float = 0
    url_bytes: float = 80
    hosts: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True)
class Estimate:
    """The expected course of a job. Attributes:

    ``seconds``          the duration: the longest time of ``limits``, which do not add up, because they overlap
    ``bottleneck``       the name of this limit
    ``limits``           the time that each limit alone would permit: "processor", "connections", "host", and "bandwidth"
    ``rate``             items per second
    ``connections``      the maximum number of requests of all workers at the same time
    ``bytes_per_second`` the average download rate
    ``shards``           the number of shards, each with a file in the output, a receipt, and a log
    ``output_bytes``, ``log_bytes``, ``receipt_bytes``, ``manifest_bytes``   the sizes of these files together
    ``lookups``          the maximum number of name lookups, and of requests for robots.txt; None without ``hosts``
    """

    seconds: float
    bottleneck: str
    limits: Mapping[str, float]
    rate: float
    connections: int
    bytes_per_second: float
    shards: int
    output_bytes: int
    log_bytes: int
    receipt_bytes: int
    manifest_bytes: int
    lookups: Optional[int]


def estimate(
    workload: Workload, *, workers: int, shard_size: int = 1000, concurrency: int = 64, max_per_host: int = 16,
    bandwidth: Optional[float] = None, cores: Optional[int] = None,
) -> Estimate:  # fmt: skip
    """Returns the expected course of a job, without its start and end.

        from wherry.bulk import Workload, estimate
        found = estimate(Workload(10_000_000, 0.004, 0.4, received_bytes=200_000), workers=16, bandwidth=125e6)
        print(found.seconds, found.bottleneck)

    ``workers``     worker processes, each of which uses one core
    ``bandwidth``   bytes per second that all workers together can receive; None does not limit the job
    ``cores``       cores of all machines, if there are fewer cores than workers

    The other arguments are those of `run`. The real duration is longer: the limits of servers and networks are unknown, and
    the last items of each shard leave connections unused. With two and four workers, it was 13 to 23 % longer.
    Raises ArgumentError if a number is out of range.
    """
    _check(workload, workers, shard_size, concurrency, max_per_host, bandwidth, cores)
    size = min(shard_size, workload.items)
    shards = math.ceil(workload.items / shard_size)
    busy = max(1, min(workers, shards))
    rounds = math.ceil(shards / busy)  # shards of the worker that ends last
    longest = min(rounds * size, workload.items)  # its items
    processors = min(busy, cores or busy)
    open_at_once = busy * min(concurrency, max(size, 1))
    if workload.hosts:
        open_at_once = min(open_at_once, sum(min(max_per_host, count) for count in workload.hosts.values()))
    open_at_once = max(open_at_once, 1)
    limits: Dict[str, float] = {}
    if workload.hosts:
        at_host = min(max_per_host, busy * concurrency)
        limits["host"] = max(workload.hosts.values()) * workload.download_seconds / at_host
    limits["processor"] = longest * workload.processor_seconds * busy / processors
    limits["connections"] = longest * busy * workload.download_seconds / open_at_once
    if bandwidth is not None:
        limits["bandwidth"] = workload.items * workload.received_bytes / bandwidth
    bottleneck = max(limits, key=lambda name: limits[name])
    seconds = limits[bottleneck]
    return Estimate(
        seconds, bottleneck, limits, workload.items / max(seconds, 1e-9), open_at_once,
        workload.items * workload.received_bytes / max(seconds, 1e-9), shards,
        int(workload.items * (workload.output_bytes + OVERHEAD)), int(workload.items * (workload.url_bytes + LINE)),
        shards * RECEIPT, shards * ENTRY,
        min(len(workload.hosts) * busy, workload.items) if workload.hosts else None,
    )  # fmt: skip


def _check(
    workload: Workload, workers: int, shard_size: int, concurrency: int, max_per_host: int, bandwidth: Optional[float],
    cores: Optional[int],
) -> None:  # fmt: skip
    """Raises ArgumentError if a number is out of range."""
    for name in ("items", "processor_seconds", "download_seconds", "received_bytes", "output_bytes", "url_bytes"):
        value = getattr(workload, name)
        if not 0 <= value < math.inf:
            raise ArgumentError(f"{name}= of Workload must be 0 or more, not {brief(value)}", "bad_value")
    for host, rows in workload.hosts.items():
        if not 0 <= rows < math.inf:
            raise ArgumentError(
                f"hosts= of Workload must have 0 or more rows for {host}, not {brief(rows)}", "bad_value"
            )
    counts = {
        "workers": workers, "shard_size": shard_size, "concurrency": concurrency, "max_per_host": max_per_host,
        "cores": cores,
    }  # fmt: skip
    for name, count in counts.items():
        if count is not None and not 1 <= count < math.inf:
            raise ArgumentError(f"{name}= must be 1 or more, not {brief(count)}", "bad_value")
    if bandwidth is not None and not bandwidth > 0:
        raise ArgumentError(f"bandwidth= must be greater than 0, not {brief(bandwidth)}", "bad_value")


def described(found: Estimate, hosts: Mapping[str, int]) -> str:
    """Returns a sentence about the bottleneck."""
    if found.bottleneck == "host":
        host = max(hosts, key=lambda name: hosts[name])
        return f"limited by the connections to {host}, with {hosts[host]:,} rows"
    return {
        "processor": "limited by the processors: more workers make it faster",
        "connections": f"limited by {found.connections:,} connections: more workers or a higher concurrency make it faster",
        "bandwidth": "limited by the bandwidth",
    }[found.bottleneck]


def named(found: Estimate) -> Dict[str, object]:
    """The estimate as JSON values."""
    return {**vars(found), "limits": dict(found.limits)}
