# Wherry: runs bulk jobs
# SPDX-License-Identifier: Apache-2.0
"""`run` reads the source, gives shards to the workers of an engine, and writes the manifest and the report."""

from __future__ import annotations

import functools
import hashlib
import itertools
import os
import time
import uuid
from dataclasses import dataclass, field
from typing import Any, Callable, Dict, Iterator, List, Optional, Sequence, Union

from .. import __version__
from .._errors import ArgumentError, StateError, brief, check_plain_function
from . import _engines, _sources, _steps
from ._dry_run import DryRun, sampled, try_sample
from ._items import Shard, has_address
from ._outputs import Output
from ._progress import Progress, Watch, counted, watch
from ._report import write_report
from ._sources import Source
from ._statistics import Statistics
from ._steps import Check, Download, Resize, Upload
from ._store import Store
from ._work import Job


@dataclass
class Result:
    """The result of a job. Attributes:

    ``statistics``      the counts of all finished shards, of this run and of earlier ones
    ``shards``          the number of finished shards
    ``skipped_shards``  how many of them were finished before this run
    ``failed_shards``   {shard name: error message}; the next run repeats these shards
    ``seconds``         the duration of this run
    ``manifest_path``, ``report_path``   the files with the details; None if not written
    """

    statistics: Statistics
    shards: int = 0
    skipped_shards: int = 0
    failed_shards: Dict[str, str] = field(default_factory=dict)
    seconds: float = 0
    manifest_path: Optional[str] = None
    report_path: Optional[str] = None

    @property
    def ok(self) -> bool:
        """Whether all shards are finished. Items can still have failed: see ``statistics.failures``."""
        return not self.failed_shards

    @property
    def _had_no_work(self) -> bool:
        """Whether earlier runs had finished all shards."""
        return 0 < self.shards == self.skipped_shards and not self.failed_shards


def run(
    source: Source,
    steps: Sequence[Any],
    output: Output,
    engine: Any = "local",
    *,
    url_column: str = "url",
    format: Optional[str] = None,
    shard_size: int = 1000,
    workers: Optional[int] = None,
    concurrency: int = 64,
    threads: int = 1,
    max_per_host: int = 16,
    progress: Union[bool, Callable[[Progress], object], None] = None,
    report: bool = True,
) -> Result:
    """Downloads and processes all rows of a source, and writes them as shards.

        from wherry.bulk import Download, Resize, WebDataset, run
        run("urls.parquet", [Download(), Resize(256)], WebDataset("dataset"))

    If the output folder contains part of the same job, the call processes only the missing shards. If workers or the
    program are killed, no item is lost or repeated in the output.

    ``source``        a path (Parquet, CSV, JSON lines, or text), an iterable of URLs or rows, or a Dask or Ray dataset
    ``steps``         `Download`, and then any of `Check`, `Resize`, `Map`, and `Upload`
    ``output``        `WebDataset`, `Folder`, `Parquet`, or `TFRecord`
    ``engine``        "local" for processes on this machine, "dask", a Dask client, or "ray"
    ``url_column``    the name of the column with the URLs
    ``format``        the format of the source, if its extension does not show it
    ``shard_size``    the number of rows of a shard (default: 1000)
    ``workers``       the number of worker processes of the local engine (default: 1 per core), or the number of workers
                      to wait for in a cluster: worker processes of Dask, or CPUs of Ray (default: 1)
    ``concurrency``   the maximum number of items that a worker downloads at the same time (default: 64)
    ``threads``       the number of threads in a worker for images and `Map` (default: 1)
    ``max_per_host``  the maximum number of requests of all workers to the host of a URL at the same time (default: 16)
    ``progress``      True, False, or a function that is called with a `Progress` after each shard and every second; None
                      shows a bar if standard error is a terminal
    ``report``        whether to write report.html (default: True)

    Raises ArgumentError for invalid arguments, and BusyError if another process runs the job. Raises StateError if the
    folder has another job, or a worker has another version. Failed items and shards raise no error: see `Result`.
    """
    checked = _steps.checked(steps)
    _check(output, shard_size=shard_size, concurrency=concurrency, threads=threads, max_per_host=max_per_host)
    if callable(progress):
        check_plain_function("progress", progress)
    store = Store(os.fspath(output.path))
    found = _sources.shards(
        _sources.rows(source, url_column, format), shard_size, url_column, _caption(output, checked)
    )
    chosen = _engines.create(engine, workers)
    # A source that cannot be used leaves no output folder.
    first = next(found, None)
    found = itertools.chain([] if first is None else [first], found)
    begun = time.time()
    with store.locked():
        identity = store.prepare({"shard_size": shard_size, "output": _identity(output), "steps": _identities(checked)})
        job = Job(identity, store.folder, checked, output, concurrency, threads)
        result = Result(Statistics())
        seconds = store.seconds()
        try:
            with watch(progress, _sources.count(source)) as shown:
                _process(job, store, chosen, found, max_per_host, result, shown)
        finally:
            result.seconds = time.time() - begun
            seconds += result.seconds
            store.write_seconds(seconds)
        result.statistics = Statistics.sum(receipt["statistics"] for receipt in store.receipts())
        result.manifest_path = store.write_manifest(_manifest(job, store, result, chosen.name, seconds))
        if report:
            result.report_path = write_report(store, result, chosen.name, seconds)
    return result


def dry_run(
    source: Source,
    steps: Sequence[Any],
    output: Output,
    engine: Any = "local",
    *,
    url_column: str = "url",
    format: Optional[str] = None,
    shard_size: int = 1000,
    workers: Optional[int] = None,
    concurrency: int = 64,
    threads: int = 1,
    max_per_host: int = 16,
    report: bool = True,
    sample: int = 100,
    bandwidth: Optional[float] = None,
) -> DryRun:
    """Counts the rows of a source, and runs the steps on a random sample in this process. Writes nothing.

    The arguments are those of `run`; ``sample`` is the number of items to try, and
    ``bandwidth`` the bytes per second that all workers together can receive. `Upload` steps are skipped.
    """
    checked = [step for step in _steps.checked(steps) if not isinstance(step, Upload)]
    _check(output, shard_size=shard_size, concurrency=concurrency, threads=threads, max_per_host=max_per_host)
    found = _sources.shards(
        _sources.rows(source, url_column, format), shard_size, url_column, _caption(output, checked)
    )
    result, items = sampled(found, sample)
    count = _engines.create(engine, workers).workers if engine == "local" else workers or 1
    job = Job(f"dry-run-{uuid.uuid4().hex}", os.fspath(output.path), tuple(checked), output, concurrency, threads)
    try_sample(result, items, job, max_per_host)
    if items:
        result.expect(
            workers=count, shard_size=shard_size, concurrency=concurrency, max_per_host=max_per_host,
            bandwidth=bandwidth, cores=len(os.sched_getaffinity(0)) if engine == "local" else None,
        )  # fmt: skip
    return result


def _check(output: Any, **numbers: Any) -> None:
    """Raises ArgumentError if the output or a number is invalid."""
    if not isinstance(output, Output):
        raise ArgumentError(
            f"output= must be WebDataset, Folder, Parquet, or TFRecord, not {brief(output)}", "bad_argument"
        )
    for name, value in numbers.items():
        if not isinstance(value, int) or value < 1:
            raise ArgumentError(f"{name}= must be 1 or more, not {brief(value)}", "bad_value")
    output.check()


def _caption(output: Output, steps: Sequence[Any]) -> Optional[str]:
    """Returns the column that the source must have for the captions; None if a step may add the captions."""
    adds_none = all(type(step) in (Check, Download, Resize, Upload) for step in steps)
    return getattr(output, "caption", None) if adds_none else None


def _process(
    job: Job, store: Store, engine: _engines.Engine, found: Iterator[Shard], limit: int, result: Result,
    shown: Watch,
) -> None:  # fmt: skip
    """Runs the missing shards on the engine. Starts the engine only if a shard is missing."""

    def missing(source: Iterator[Shard]) -> Iterator[Shard]:
        for shard in source:
            known = store.receipt(shard.name)
            if known is None:
                yield shard
                continue
            if known["digest"] != shard.digest():
                raise StateError(
                    f"the source has changed: the rows of shard {shard.name} differ from those of the earlier run. "
                    "Choose another output folder, or use the original source.",
                    "changed",
                )
            result.shards += 1
            result.skipped_shards += 1
            shown.finished(known)

    seen = 0

    def numbered() -> Iterator[Shard]:
        nonlocal seen
        for shard in found:
            seen = shard.index + 1
            yield shard

    shards = missing(numbered())
    first = next(shards, None)
    if first is None:
        _check_count(store, seen)
        return
    try:
        engine.start(job, limit)
        for ended in engine.run(itertools.chain([first], shards)):
            if ended is None:
                shown.tick(engine.running)
                continue
            shard, outcome = ended
            if isinstance(outcome, str):
                # The last worker may have ended after it had published the shard.
                outcome = store.receipt(shard.name) or outcome
            if isinstance(outcome, str):
                result.failed_shards[shard.name] = outcome
            else:
                result.shards += 1
                shown.finished(outcome, engine.running)
    finally:
        engine.close()
    _check_count(store, seen)


def _check_count(store: Store, seen: int) -> None:
    """Raises StateError if an earlier run had more shards."""
    more = [receipt["shard"] for receipt in store.receipts() if int(receipt["shard"]) >= seen]
    if more:
        raise StateError(
            f"the source has changed: it has {counted(seen, 'shard')}, but the folder also has shard {more[0]}. Choose another output "
            "folder, or use the original source.",
            "changed",
        )


def _identity(value: Any) -> str:
    """Returns a text that is the same for equal steps or outputs, whatever the path of the output."""
    values = {name: each for name, each in vars(value).items() if name not in ("path", "headers", "retries")}
    if isinstance(value, Upload):
        values["fields"] = _hidden(repr(value.fields))
    return f"{type(value).__name__}({', '.join(f'{name}={_named(each)}' for name, each in values.items())})"


def _named(value: Any) -> str:
    """Returns a text that is the same in each run, without addresses of objects and secrets of URLs."""
    if isinstance(value, functools.partial):
        return f"partial({_named(value.func)}, {_named(value.args)}, {_named(value.keywords)})"
    if isinstance(value, (list, tuple)):
        return f"{type(value).__name__}({', '.join(map(_named, value))})"
    if isinstance(value, dict):
        return f"{{{', '.join(f'{_named(name)}: {_named(each)}' for name, each in value.items())}}}"
    if isinstance(value, str) and "://" in value:
        scheme, _, rest = value.partition("://")
        rest, mark, query = rest.partition("?")
        host, slash, path = rest.partition("/")
        return repr(f"{scheme}://{host.rpartition('@')[2]}{slash}{path}{mark}{query and _hidden(query)}")
    if callable(value) and hasattr(value, "__qualname__"):
        return f"{getattr(value, '__module__', '')}:{value.__qualname__}"
    if has_address(value):
        return f"{type(value).__module__}:{type(value).__qualname__}"
    return repr(value)


def _hidden(secret: str) -> str:
    """Returns a digest in place of a text that may be secret."""
    return hashlib.sha256(secret.encode("utf-8", "surrogatepass")).hexdigest()[:16]


def _identities(steps: Sequence[Any]) -> List[str]:
    """Returns the steps that determine the output. The settings of `Download` may change between runs."""
    return [step.name if isinstance(step, Download) else _identity(step) for step in steps]


def _manifest(job: Job, store: Store, result: Result, engine: str, seconds: float) -> Dict[str, Any]:
    files = {name: entry for receipt in store.receipts() for name, entry in receipt["files"].items()}
    return {
        "job": job.id, "wherry": __version__, "engine": engine, "complete": result.ok,
        "shards": result.shards, "failed_shards": result.failed_shards, "seconds": round(seconds, 1),
        **result.statistics.values(), "files": files,
    }  # fmt: skip
