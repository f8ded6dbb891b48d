# Wherry: the command for bulk jobs
# SPDX-License-Identifier: Apache-2.0
"""Runs the plan of a bulk job: ``python -m wherry.bulk plan.toml``, or ``wherry bulk plan.toml``."""

from __future__ import annotations

import argparse
import json
import math
import os
import signal
import sys
from typing import Any, Dict, List, Optional

from .. import WherryError
from . import dry_run, run
from ._estimate import described, named
from ._plan import read_plan
from ._progress import counted, duration


def main(arguments: Optional[List[str]] = None) -> int:
    """Returns the exit status: 0, 1 if shards failed, 2 for invalid arguments, or 130 after Ctrl-C."""
    parser = argparse.ArgumentParser(
        prog=os.environ.get("WHERRY_PROGRAM", "python -m wherry.bulk"),
        description="Download and process a list of URLs of any length. If the output folder contains part of the same "
        "job, the command processes only the missing shards.",
        epilog="docs/guides/bulk-jobs.md describes plans.",
    )
    parser.add_argument("plan", help="a TOML file with the source, the steps, and the output")
    parser.add_argument(
        "--dry-run", action="store_true", help="count the rows and try a sample, without writing anything"
    )
    parser.add_argument("--engine", choices=["local", "dask", "ray"], help="override the engine of the plan")
    parser.add_argument("--workers", type=int, metavar="N", help="override the number of workers of the plan")
    parser.add_argument(
        "--bandwidth", type=float, metavar="BYTES",
        help="with --dry-run: the bytes per second that all workers together can receive, such as 1.25e9",
    )  # fmt: skip
    parser.add_argument("--json-output", action="store_true", help="print the result as JSON on standard output")
    parser.add_argument("-q", "--quiet", action="store_true", help="show no progress")
    chosen = parser.parse_args(arguments)
    if chosen.bandwidth is not None and not chosen.dry_run:
        parser.error("--bandwidth needs --dry-run: it changes only the estimated time")
    if chosen.bandwidth is not None and not 0 < chosen.bandwidth < math.inf:
        parser.error("--bandwidth must be a positive number of bytes per second")
    signal.signal(signal.SIGTERM, _terminate)
    try:
        values = read_plan(chosen.plan)
        for name in ("engine", "workers"):
            if getattr(chosen, name) is not None:
                values[name] = getattr(chosen, name)
        if chosen.dry_run:
            return _dry_run(values, chosen.json_output, chosen.bandwidth)
        return _run(values, chosen.json_output, False if chosen.quiet else None)
    except WherryError as error:
        print(f"{parser.prog}: {error.message}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print(f"{parser.prog}: interrupted. Run the same command again to continue.", file=sys.stderr)
        return 130


def _terminate(number: int, frame: Any) -> None:
    raise KeyboardInterrupt


def _run(values: Dict[str, Any], as_json: bool, progress: Optional[bool]) -> int:
    result = run(**values, progress=progress)
    counts = result.statistics
    if as_json:
        found = {"ok": result.ok, "shards": result.shards, "failed_shards": result.failed_shards,
                 "seconds": round(result.seconds, 1), "manifest": result.manifest_path, **counts.values()}  # fmt: skip
        print(json.dumps(found))
    else:
        rest = "nothing was left to do" if result._had_no_work else duration(result.seconds)
        items, shards = counted(counts.items, "item"), counted(result.shards, "shard")
        print(f"{counts.succeeded:,} of {items} in {shards}, {rest}")
        for reason, count in sorted(counts.failures.items(), key=lambda pair: -pair[1]):
            print(f"  {count:,} failed: {reason}")
        for name, why in sorted(result.failed_shards.items()):
            print(f"  shard {name} failed: {why}")
        print(f"report: {result.report_path}" if result.report_path else f"manifest: {result.manifest_path}")
    return 0 if result.ok else 1


def _dry_run(values: Dict[str, Any], as_json: bool, bandwidth: Optional[float]) -> int:
    found = dry_run(**values, bandwidth=bandwidth)
    if as_json:
        expectation = None if found.estimate is None else named(found.estimate)
        print(json.dumps({**vars(found), "sample": found.sample.values(), "estimate": expectation,
                          "errors": {url: vars(failure) for url, failure in found.errors.items()}}))  # fmt: skip
        return 0
    items, shards, hosts = (
        counted(found.items, "item"), counted(found.shards, "shard"), counted(len(found.hosts), "host")
    )  # fmt: skip
    print(f"{items} in {shards}, {hosts}, {counted(found.invalid_urls, 'invalid URL')}")
    for host, count in list(found.hosts.items())[:10]:
        print(f"  {count:,} {host}")
    sample = found.sample
    print(f"sample: {sample.succeeded:,} of {sample.items:,} succeeded")
    for url, failure in found.errors.items():
        print(f"  {url}: {failure.reason}: {failure.message}")
    if found.estimate is not None:
        expected = found.estimate
        print(f"expected: {duration(expected.seconds)}, {described(expected, found.hosts)}")
        print(
            f"  {expected.rate:,.0f} items and {expected.bytes_per_second:,.0f} bytes per second, "
            f"{counted(expected.connections, 'connection')}, {expected.output_bytes:,} bytes in "
            f"{counted(expected.shards, 'shard')}"
        )
    return 0


if __name__ == "__main__":
    sys.exit(main())
