# Wherry: estimates of bulk jobs
# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import threading
from typing import Any, Dict, List

import pytest
from conftest import PATIENCE, ROOT, Server

import wherry
from wherry.bulk import Download, Folder, Workload, estimate, run

HERE = Download(deny_addresses=None, timeout=600, total_timeout=3600)
GUIDE = os.path.join(ROOT, "docs", "guides", "bulk-jobs.md")


def test_B12_the_slowest_limit_decides() -> None:
    settings: Dict[str, Any] = {"workers": 4, "shard_size": 100, "concurrency": 10, "max_per_host": 1000}
    for hosts, change, name, seconds in (
        (1, {"max_per_host": 8}, "host", 10_000 * 0.2 / 8),
        (2, {}, "connections", 10_000 * 0.2 / 40),
        (2, {"concurrency": 100}, "processor", 10_000 * 0.01 / 4),
        (2, {"concurrency": 100, "cores": 2}, "processor", 10_000 * 0.01 / 2),
        (2, {"bandwidth": 1e6}, "bandwidth", 1000),
    ):
        work = Workload(10_000, 0.01, 0.2, 100_000, hosts={str(place): 10_000 // hosts for place in range(hosts)})
        found = estimate(work, **{**settings, **change})
        assert found.bottleneck == name, found
        assert found.seconds == pytest.approx(seconds) and found.rate == pytest.approx(10_000 / seconds)
        assert found.bytes_per_second == pytest.approx(1e9 / seconds)


@pytest.mark.parametrize("name", ["items", "processor_seconds", "download_seconds", "received_bytes", "output_bytes"])
def test_B12_a_negative_measurement_is_refused(name: str) -> None:
    values: Dict[str, Any] = {"items": 10, "processor_seconds": 1, "download_seconds": 1}
    for wrong in (-1, float("nan"), float("inf")):
        with pytest.raises(wherry.ArgumentError, match=f"{name}= of Workload must be 0 or more, not {wrong}"):
            estimate(Workload(**{**values, name: wrong}), workers=1)


@pytest.mark.parametrize("name", ["workers", "shard_size", "concurrency", "max_per_host", "cores", "bandwidth"])
def test_B12_a_setting_out_of_range_is_refused(name: str) -> None:
    for wrong in (0, -1, float("nan")):
        settings: Dict[str, Any] = {"workers": 1, name: wrong}
        with pytest.raises(ValueError, match=f"{name}= must be"):
            estimate(Workload(10, 1, 1), **settings)


def test_B12_negative_rows_of_a_host_are_refused() -> None:
    with pytest.raises(wherry.ArgumentError, match="hosts= of Workload must have 0 or more rows for a, not -1"):
        estimate(Workload(10, 1, 1, hosts={"b": 11, "a": -1}), workers=1)


def test_B12_a_worker_without_a_shard_does_not_count() -> None:
    assert estimate(Workload(1000, 0.01, 0), workers=8).seconds == pytest.approx(10)
    # Three shards on two workers: one of them has two.
    assert estimate(Workload(3000, 0.01, 0), workers=2).seconds == pytest.approx(20)
    assert estimate(Workload(0, 0.01, 0.1, hosts={}), workers=2).seconds == 0


def test_B12_few_hosts_limit_the_connections() -> None:
    hosts = {str(number): 1 for number in range(20)}
    found = estimate(Workload(1000, 0, 1, hosts={"a": 980, **hosts}), workers=4, shard_size=100, max_per_host=10)
    assert found.connections == 30 and found.bottleneck == "host" and found.lookups == 84


@pytest.mark.parametrize("workers", [2, 4])
@pytest.mark.parametrize("concurrency, max_per_host", [(3, 100), (16, 5)])
def test_B12_as_many_connections_are_open_as_estimated(
    server: Server, tmp_path: Any, workers: int, concurrency: int, max_per_host: int
) -> None:
    gate = server.gate()
    urls = [server.url(f"/bytes/{size}", gate=gate) for size in range(80)]
    settings: Dict[str, Any] = {
        "workers": workers, "shard_size": 10, "concurrency": concurrency, "max_per_host": max_per_host
    }  # fmt: skip
    expected = estimate(Workload(80, 0.001, 1, hosts={"a": 80}), **settings)

    def open_gate() -> None:
        server.wait(requests=expected.connections)
        server.open_gate(gate)

    opener = threading.Thread(target=open_gate)
    opener.start()
    assert run(urls, [HERE], Folder(tmp_path), progress=False, report=False, **settings).ok
    opener.join()
    assert server.ask("/_stats")["peak_requests"] == expected.connections


def test_B12_the_files_of_a_job_are_as_large_as_estimated(server: Server, tmp_path: Any) -> None:
    urls = [server.url(f"/bytes/{size}") for size in range(200)]
    assert run(urls, [HERE], Folder(tmp_path), workers=2, shard_size=10, progress=False, report=False).ok
    url_bytes = sum(map(len, urls)) / 200
    expected = estimate(Workload(200, 0, 0, url_bytes=url_bytes), workers=2, shard_size=10)

    def size(folder: str) -> int:
        return sum(entry.stat().st_size for entry in os.scandir(tmp_path / folder))

    assert expected.log_bytes == pytest.approx(size("_wherry/log"), rel=0.15)
    assert expected.receipt_bytes == pytest.approx(size("_wherry/receipts"), rel=0.15)
    manifest = json.loads((tmp_path / "manifest.json").read_text())["files"]
    assert expected.manifest_bytes == pytest.approx(len(json.dumps(manifest, indent=1)), rel=0.15)
    assert expected.shards == len(manifest)


def rows_of_guide() -> List[List[str]]:
    with open(GUIDE, encoding="utf-8") as file:
        table = file.read().partition("<!-- estimates -->\n")[2].partition("\n\n")[0]
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in table.splitlines()[2:]]


def number(text: str) -> float:
    value, unit = re.fullmatch(r"([\d.,]+) ?(.*)", text).groups()  # type: ignore[union-attr]
    factors = {"": 1, "s": 1, "min": 60, "h": 3600, "days": 86400, "kB": 1e3, "MB": 1e6, "GB": 1e9, "TB": 1e12,
               "MB/s": 1e6, "GB/s": 1e9, "million": 1e6, "billion": 1e9}  # fmt: skip
    return float(value.replace(",", "")) * factors[unit]


def test_B12_the_table_of_the_guide_is_calculated() -> None:
    rows = rows_of_guide()
    assert len(rows) == 4
    for row in rows:
        items, workers, size, seconds, rate, received, connections, shards, output, log, manifest = map(number, row)
        found = estimate(
            Workload(int(items), 0.004, 0.4, received_bytes=200_000, output_bytes=15_000),
            workers=int(workers), shard_size=int(size),
        )  # fmt: skip
        assert [found.seconds, found.rate, found.bytes_per_second, found.connections, found.shards, found.output_bytes,
                found.log_bytes, found.manifest_bytes] == pytest.approx(
            [seconds, rate, received, connections, shards, output, log, manifest], rel=0.06
        ), row  # fmt: skip


def test_B12_the_example_of_the_guide_runs() -> None:
    from test_bulk import example

    assert example("--estimate") == "4.4 hours, limited by the bandwidth\n"


def test_B12_the_code_of_the_notebook_runs() -> None:
    for package in ("matplotlib", "PIL"):
        pytest.importorskip(package)
    folder = os.path.join(ROOT, "Examples", "python")
    if not os.path.isdir("/usr/share/backgrounds/mate/nature"):
        pytest.skip("the package mate-backgrounds is not installed")
    with open(os.path.join(folder, "bulk.ipynb"), encoding="utf-8") as file:
        cells = [cell for cell in json.load(file)["cells"] if cell["cell_type"] == "code"]
    assert all(cell["outputs"] for cell in cells if "alt" in cell["metadata"]), "run scripts/make-notebook"
    done = subprocess.run(
        [sys.executable, "-c", "\n".join("".join(cell["source"]) for cell in cells)], cwd=folder, text=True,
        env={**os.environ, "MPLBACKEND": "Agg", "PYTHONPATH": os.path.join(ROOT, "bindings", "python", "src")},
        capture_output=True, timeout=PATIENCE,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    counts = "{'http_status': 22, 'content_type': 22, 'truncated_image': 22}"
    assert done.stdout.splitlines()[-1].startswith("534 of 600 in 4 shards") and len(
        done.stdout.splitlines()[-1]
    ) == len(f"534 of 600 in 4 shards: {counts}")


@pytest.mark.skipif(os.environ.get("WHERRY_LOOPS") != "full", reason="measures times: set WHERRY_LOOPS=full")
@pytest.mark.parametrize("workers", [2, 4])
@pytest.mark.parametrize("concurrency, max_per_host", [(8, 1000), (64, 8)])
def test_B12_a_job_takes_as_long_as_estimated(
    server: Server, tmp_path: Any, workers: int, concurrency: int, max_per_host: int
) -> None:
    # The delay of the server dominates, so that the speed of the machine hardly matters.
    count, delay = 240 * workers, 0.5
    urls = [server.url(f"/bytes/{place}", delay_ms=int(delay * 1000)) for place in range(count)]
    settings: Dict[str, Any] = {
        "workers": workers, "shard_size": 120, "concurrency": concurrency, "max_per_host": max_per_host
    }  # fmt: skip
    expected = estimate(Workload(count, 0.005, delay, hosts={"a": count}), **settings)
    assert run(urls, [HERE], Folder(tmp_path), progress=False, report=False, **settings).statistics.succeeded == count

    times = []
    for entry in os.scandir(tmp_path / "_wherry/receipts"):
        with open(entry.path) as file:
            receipt = json.load(file)
        times.append((receipt["begun"], receipt["ended"]))
    measured = max(end for _, end in times) - min(begin for begin, _ in times)
    print(f"{workers} workers, {expected.bottleneck}: expected {expected.seconds:.1f} s, measured {measured:.1f} s")
    assert 0.95 <= measured / expected.seconds <= 2
