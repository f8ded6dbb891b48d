# Wherry: bulk jobs
# SPDX-License-Identifier: Apache-2.0
"""Downloads and processes lists of any length, on this machine, on Dask, or on Ray.

    from wherry.bulk import Check, Download, Resize, WebDataset, run

    result = run("urls.parquet", [Download(), Check(types="image/"), Resize(256)], WebDataset("dataset"))
    print(result.statistics.succeeded, result.statistics.failures)

The same from a shell: ``python -m wherry.bulk plan.toml``. docs/guides/bulk-jobs.md explains both.
"""

from ._dry_run import DryRun
from ._estimate import Estimate, Workload, estimate
from ._items import Failure, Item, ItemError
from ._outputs import Folder, Output, Parquet, TFRecord, WebDataset
from ._progress import Progress
from ._run import Result, dry_run, run
from ._spark import SPARK_SCHEMA, map_in_pandas
from ._statistics import SIZES, TIMES_MS, Statistics
from ._steps import Check, Download, Map, Resize, Step, Upload

__all__ = [
    "Check", "Download", "DryRun", "Estimate", "Failure", "Folder", "Item", "ItemError", "Map", "Output", "Parquet",
    "Progress", "Resize", "Result", "SIZES", "SPARK_SCHEMA", "Statistics", "Step", "TFRecord", "TIMES_MS", "Upload",
    "WebDataset", "Workload", "dry_run", "estimate", "map_in_pandas", "run",
]  # fmt: skip
