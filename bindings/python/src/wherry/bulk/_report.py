# Wherry: the report of a bulk job
# SPDX-License-Identifier: Apache-2.0
"""Writes report.html: the counts of a job, its errors by reason, and plots if matplotlib is installed."""

from __future__ import annotations

import html
import io
import os
from typing import TYPE_CHECKING, Any, Dict, List, Sequence, Tuple

from ._statistics import SIZES, TIMES_MS, Statistics
from ._store import Store

if TYPE_CHECKING:
    from ._run import Result

_STYLE = """
body { font: 16px/1.5 system-ui, sans-serif; max-width: 60rem; margin: 2rem auto; padding: 0 1rem; color: #222; }
table { border-collapse: collapse; margin: 1rem 0; } td, th { padding: .2rem 1.2rem .2rem 0; text-align: left; }
td.n { text-align: right; font-variant-numeric: tabular-nums; } svg { max-width: 100%; height: auto; }
"""


def write_report(store: Store, result: Result, engine: str, seconds: float) -> str:
    """Writes the report into the output folder, and returns its path. ``seconds`` is the time of all runs."""
    path = os.path.join(store.folder, "report.html")
    receipts = [(each["begun"], each["ended"], each["statistics"]["items"]) for each in store.receipts()]
    text = _page(store.folder, result, engine, seconds, receipts)
    temporary = f"{path}.part"
    with open(temporary, "w", encoding="utf-8") as file:
        file.write(text)
    os.replace(temporary, path)
    return path


def _page(
    folder: str, result: Result, engine: str, seconds: float, receipts: Sequence[Tuple[float, float, int]]
) -> str:  # fmt: skip
    counts = result.statistics
    facts = [
        ("items", counts.items), ("succeeded", counts.succeeded), ("failed", counts.failed), ("dropped", counts.dropped),
        ("bytes", counts.bytes), ("bytes received", counts.received),
        ("shards", result.shards), ("failed shards", len(result.failed_shards)),
        ("shards of earlier runs", result.skipped_shards), ("seconds of this run", round(result.seconds, 1)),
        ("seconds of all runs", round(seconds, 1)),
    ]  # fmt: skip
    parts = [
        "<!doctype html>", '<html lang="en"><meta charset="utf-8">', f"<title>Bulk job {html.escape(folder)}</title>",
        f"<style>{_STYLE}</style>", f"<h1>Bulk job</h1><p>{html.escape(folder)}, engine {html.escape(engine)}</p>",
        "<p>Nothing was left to do: earlier runs finished all shards.</p>" if result._had_no_work else "",
        _table("Counts", facts), _table("Failures by reason", _sorted(counts.failures)),
        _table("Responses by status", _sorted(counts.statuses)),
        _table("Failed shards", sorted(result.failed_shards.items())), *_plots(counts, receipts), "</html>",
    ]  # fmt: skip
    return "\n".join(part for part in parts if part)


def _sorted(counts: Dict[str, int]) -> List[Tuple[str, int]]:
    return sorted(counts.items(), key=lambda pair: (-pair[1], pair[0]))


def _table(title: str, rows: Sequence[Tuple[str, Any]]) -> str:
    if not rows:
        return ""
    lines = []
    for name, value in rows:
        cell = (
            f'<td class="n">{value:,}</td>'
            if isinstance(value, (int, float))
            else f"<td>{html.escape(str(value))}</td>"
        )
        lines.append(f"<tr><td>{html.escape(name)}</td>{cell}</tr>")
    return f"<h2>{title}</h2><table>{''.join(lines)}</table>"


def _plots(counts: Statistics, receipts: Sequence[Tuple[float, float, int]]) -> List[str]:
    try:
        from matplotlib.figure import Figure
    except ImportError:
        return ["<p>Install matplotlib for plots: pip install matplotlib</p>"]
    figure = Figure(figsize=(11, 7))
    axes = figure.subplots(2, 2)
    _throughput(axes[0][0], receipts)
    _bars(axes[0][1], "download time in ms", [f"{n:,}" for n in TIMES_MS], counts.times_ms)
    _bars(axes[1][0], "item size in the output", [_size(n) for n in SIZES], counts.sizes)
    failures = _sorted(counts.failures)[:8]
    axes[1][1].barh([name.replace("$", r"\$") for name, _ in failures][::-1], [count for _, count in failures][::-1])
    axes[1][1].set_title("failures by reason")
    figure.tight_layout()
    picture = io.StringIO()
    figure.savefig(picture, format="svg")
    return ["<h2>Plots</h2>", picture.getvalue().partition("<svg")[1] + picture.getvalue().partition("<svg")[2]]


def _throughput(axis: Any, receipts: Sequence[Tuple[float, float, int]]) -> None:
    """Plots items per second over time. The items of a shard count evenly from its start to its end."""
    axis.set_title("items per second")
    axis.set_xlabel("seconds")
    if not receipts:
        return
    first = min(begun for begun, _, _ in receipts)
    last = max(ended for _, ended, _ in receipts)
    width = max((last - first) / 60, 1e-3)
    rates = [0.0] * 61
    for begun, ended, items in receipts:
        span = max(ended - begun, 1e-3)
        low, high = int((begun - first) / width), min(60, int((ended - first) / width))
        for place in range(low, high + 1):
            overlap = min(ended, first + (place + 1) * width) - max(begun, first + place * width)
            rates[place] += items * max(overlap, 0) / span / width
    axis.plot([place * width for place in range(61)], rates)


def _bars(axis: Any, title: str, bounds: Sequence[str], counts: Sequence[int]) -> None:
    axis.set_title(title)
    axis.bar([*(f"≤ {bound}" for bound in bounds), "more"], counts)
    axis.tick_params("x", rotation=60)


def _size(count: int) -> str:
    for unit in ("B", "KiB", "MiB"):
        if count < 1024:
            return f"{count} {unit}"
        count //= 1024
    return f"{count} GiB"
