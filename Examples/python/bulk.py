#!/usr/bin/env python3
# Wherry: an example of a bulk job
# SPDX-License-Identifier: Apache-2.0
"""usage: bulk.py [--gray] [--dask ADDRESS] URL...
       bulk.py --estimate

Downloads pictures, resizes them to at most 256 pixels per side, and writes them as a WebDataset.
"""

from __future__ import annotations

import argparse
import tempfile
from typing import Any

import wherry

# guide: begin run
from wherry.bulk import Check, Download, Resize, WebDataset, run

# guide: end run
from wherry.bulk import Item, Map


# guide: begin map
def gray(items: list[Item]) -> None:
    for item in items:
        pixels = wherry.Image(item.data).pixels("gray")
        item.data = wherry.Image(pixels).compress(0.9, format="jpeg").content
        item.fields["brightness"] = sum(pixels.tobytes()) // pixels.nbytes


# guide: end map
def main(urls: list[str], folder: str) -> None:
    # The pictures of this example are on this machine. By default, addresses of private networks are refused.
    local = Download(deny_addresses=None)
    # guide: begin run
    result = run(urls, [local, Check(types="image/"), Resize(256)], WebDataset(folder), shard_size=1000)
    print(f"{result.statistics.succeeded} of {result.statistics.items} in {result.shards} shards")
    for reason, count in result.statistics.failures.items():
        print(f"{count} failed: {reason}")
    # guide: end run


def in_gray(urls: list[str], folder: str) -> None:
    local = Download(deny_addresses=None)
    result = run(urls, [local, Resize(256), Map(gray)], WebDataset(folder))
    print(result.statistics.succeeded)


def on_dask(urls: list[str], folder: str, address: str) -> None:
    local = Download(deny_addresses=None)
    # guide: begin dask
    from distributed import Client

    with Client(address) as client:
        result = run(urls, [local, Resize(256)], WebDataset(folder), client)
    # guide: end dask
    print(result.statistics.succeeded)


def how_long() -> None:
    # guide: begin estimate
    from wherry.bulk import Workload, estimate

    work = Workload(
        100_000_000, processor_seconds=0.004, download_seconds=0.4, received_bytes=200_000, output_bytes=15_000
    )
    found = estimate(work, workers=64, shard_size=10_000, bandwidth=1.25e9)  # 10 Gbit/s
    print(f"{found.seconds / 3600:.1f} hours, limited by the {found.bottleneck}")
    # guide: end estimate


def on_spark(frame: Any) -> Any:
    local = Download(deny_addresses=None)
    # guide: begin spark
    from wherry.bulk import SPARK_SCHEMA, map_in_pandas

    result = frame.mapInPandas(map_in_pandas([local, Resize(256)]), SPARK_SCHEMA)
    # guide: end spark
    return result


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--gray", action="store_true")
    parser.add_argument("--dask", metavar="ADDRESS")
    parser.add_argument("--estimate", action="store_true")
    parser.add_argument("urls", nargs="*", metavar="URL")
    chosen = parser.parse_args()
    with tempfile.TemporaryDirectory() as place:
        if chosen.estimate:
            how_long()
        elif chosen.dask:
            on_dask(chosen.urls, place, chosen.dask)
        elif chosen.gray:
            in_gray(chosen.urls, place)
        else:
            main(chosen.urls, place)
