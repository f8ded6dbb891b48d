# Wherry: bulk jobs on clusters of Dask and Ray
# SPDX-License-Identifier: Apache-2.0
"""Real clusters on loopback. The tests of a package that is not installed are skipped."""

from __future__ import annotations

import importlib.util
import os
import signal
import subprocess
import sys
import threading
from typing import Any, Iterator, List

import pytest
from bulk_jobs import left_over, logged, tar_items
from conftest import PATIENCE, ROOT, Server

import wherry
from wherry.bulk import Download, Progress, WebDataset, run

HERE = Download(deny_addresses=None, timeout=600, total_timeout=3600)
SOURCE = os.path.join(ROOT, "bindings", "python", "src")

needs_dask = pytest.mark.skipif(importlib.util.find_spec("distributed") is None, reason="Dask is not installed")
needs_ray = pytest.mark.skipif(importlib.util.find_spec("ray") is None, reason="Ray is not installed")


class DaskCluster:
    """A scheduler and its workers, as ``dask scheduler`` and ``dask worker`` start them."""

    def __init__(self, folder: Any, workers: int) -> None:
        self.folder = folder
        self.processes: List[subprocess.Popen[bytes]] = []
        place = os.path.join(folder, "scheduler.json")
        self._start("scheduler", "--host", "127.0.0.1", "--port", "0", "--no-dashboard", "--scheduler-file", place)
        self.workers = [self.worker(place) for _ in range(workers)]
        self.place = place

    def worker(self, place: str) -> subprocess.Popen[bytes]:
        return self._start(
            "worker", "--scheduler-file", place, "--host", "127.0.0.1", "--nthreads", "1", "--no-nanny", "--no-dashboard",
            "--local-directory", str(self.folder),
        )  # fmt: skip

    def _start(self, *arguments: str) -> subprocess.Popen[bytes]:
        process = subprocess.Popen(
            [sys.executable, "-W", "ignore", "-m", "dask", *arguments], env={**os.environ, "PYTHONPATH": SOURCE},
            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
        )  # fmt: skip
        self.processes.append(process)
        return process

    def stop(self) -> None:
        for process in reversed(self.processes):
            process.kill()
            process.wait()


@pytest.fixture
def dask_client(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    import distributed

    cluster = DaskCluster(tmp_path_factory.mktemp("dask"), 2)
    try:
        with distributed.Client(scheduler_file=cluster.place, timeout=PATIENCE) as client:
            client.wait_for_workers(2)
            client.cluster_of_test = cluster
            yield client
    finally:
        cluster.stop()


def urls_of(server: Server, count: int, **query: Any) -> List[str]:
    return [server.url(f"/bytes/{number + 1}", **query) for number in range(count)]


def check(folder: Any, count: int) -> None:
    assert sorted(map(len, tar_items(folder).values())) == list(range(1, count + 1))
    assert len({line["key"] for line in logged(folder)}) == len(logged(folder)) == count
    assert left_over(folder) == []


@needs_dask
@pytest.mark.filterwarnings("ignore")
def test_B8_a_job_runs_on_Dask(dask_client: Any, server: Server, tmp_path: Any) -> None:
    urls = urls_of(server, 40, delay_ms=10)
    result = run(
        urls, [HERE], WebDataset(tmp_path), dask_client, shard_size=4, max_per_host=3, workers=2, progress=False
    )

    assert result.ok and result.shards == 10
    check(tmp_path, 40)
    assert server.ask("/_stats")["peak_requests"] <= 3  # B5: of both workers
    again = run(urls, [HERE], WebDataset(tmp_path), dask_client, shard_size=4, progress=False, report=False)
    assert again.skipped_shards == 10


@needs_dask
@pytest.mark.filterwarnings("ignore")
def test_B4_a_killed_Dask_worker_loses_and_repeats_nothing(dask_client: Any, server: Server, tmp_path: Any) -> None:
    gate = server.gate()
    urls = urls_of(server, 20, gate=gate, gate_times=1)

    def kill() -> None:
        server.wait(requests=10)
        cluster = dask_client.cluster_of_test
        cluster.workers[0].send_signal(signal.SIGKILL)
        cluster.worker(cluster.place)
        server.open_gate(gate)

    killer = threading.Thread(target=kill)
    killer.start()
    result = run(urls, [HERE], WebDataset(tmp_path), dask_client, shard_size=5, progress=False, report=False)
    killer.join()
    assert result.ok, result.failed_shards
    check(tmp_path, 20)


def count_unfinished(server: Server, folder: Any, engine: Any) -> None:
    gate = server.gate()
    urls = urls_of(server, 6) + [server.url("/bytes/7", gate=gate)]
    items: List[int] = []

    def show(state: Progress) -> None:
        items.append(state.statistics.items)
        if items[-1] == 6:
            server.open_gate(gate)

    assert run(urls, [HERE], WebDataset(folder), engine, progress=show).ok
    assert items[-1] == max(items) == 7


@needs_dask
@pytest.mark.filterwarnings("ignore")
def test_B7_progress_counts_items_of_an_unfinished_shard_on_Dask(
    dask_client: Any, server: Server, tmp_path: Any
) -> None:
    count_unfinished(server, tmp_path, dask_client)


@needs_ray
@pytest.mark.filterwarnings("ignore")
def test_B7_progress_counts_items_of_an_unfinished_shard_on_Ray(
    ray_cluster: Any, server: Server, tmp_path: Any
) -> None:
    count_unfinished(server, tmp_path, "ray")


@needs_dask
@pytest.mark.filterwarnings("ignore")
def test_B10_a_worker_with_another_version_is_named(
    dask_client: Any, tmp_path: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(wherry, "__version__", "9.9.9")
    with pytest.raises(wherry.StateError, match="has .* but this process has 9.9.9 .* Install the same version"):
        run(["http://a/"], [HERE], WebDataset(tmp_path), dask_client, progress=False)


@needs_dask
@pytest.mark.filterwarnings("ignore")
def test_B1_a_Dask_bag_is_a_source(server: Server, tmp_path: Any) -> None:
    bag = pytest.importorskip("dask.bag")
    rows = bag.from_sequence(urls_of(server, 6), npartitions=3)
    result = run(rows, [HERE], WebDataset(tmp_path), workers=1, progress=False)
    assert result.statistics.succeeded == 6


@needs_dask
@pytest.mark.filterwarnings("ignore")
def test_B8_the_example_of_the_guide_runs_on_Dask(dask_client: Any, server: Server) -> None:
    from test_bulk import example, pictures

    assert example("--dask", dask_client.scheduler.address, *pictures(server, 2)) == "2\n"


@needs_dask
def test_B8_without_a_cluster_the_error_says_what_to_do(tmp_path: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("DASK_SCHEDULER_ADDRESS", raising=False)
    with pytest.raises(wherry.StateError, match="DASK_SCHEDULER_ADDRESS"):
        run(["http://a/"], [HERE], WebDataset(tmp_path), "dask", progress=False)


@pytest.mark.parametrize("engine, package", [("dask", "distributed"), ("ray", "ray")])
def test_B8_a_missing_package_is_named(
    tmp_path: Any, monkeypatch: pytest.MonkeyPatch, engine: str, package: str
) -> None:
    monkeypatch.delitem(sys.modules, f"wherry.bulk._engines.{engine}", raising=False)
    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(wherry.ArgumentError, match=rf"pip install {package} \["):
        run(["http://a/"], [HERE], WebDataset(tmp_path), engine, progress=False)


@pytest.fixture(scope="module")
def ray_cluster() -> Iterator[Any]:
    """A head and a second node, each with one processor."""
    import ray
    from ray.cluster_utils import Cluster

    os.environ["RAY_USAGE_STATS_ENABLED"] = "0"
    os.environ["PYTHONPATH"] = os.pathsep.join([SOURCE, os.environ.get("PYTHONPATH", "")])
    node = {"num_cpus": 1, "object_store_memory": 100 * 1024 * 1024}
    cluster = Cluster(initialize_head=True, head_node_args={**node, "include_dashboard": False})
    cluster.second = cluster.add_node(**node)
    ray.init(address=cluster.address, log_to_driver=False)
    try:
        yield cluster
    finally:
        ray.shutdown()
        cluster.shutdown()


@needs_ray
@pytest.mark.filterwarnings("ignore")
def test_B8_a_job_runs_on_Ray(ray_cluster: Any, server: Server, tmp_path: Any) -> None:
    urls = urls_of(server, 40, delay_ms=10)
    result = run(urls, [HERE], WebDataset(tmp_path), "ray", shard_size=4, max_per_host=3, progress=False)

    assert result.ok and result.shards == 10, result.failed_shards
    check(tmp_path, 40)
    assert server.ask("/_stats")["peak_requests"] <= 3


@needs_ray
@pytest.mark.filterwarnings("ignore")
def test_B4_a_killed_Ray_node_loses_and_repeats_nothing(ray_cluster: Any, server: Server, tmp_path: Any) -> None:
    gate = server.gate()
    urls = urls_of(server, 20, gate=gate, gate_times=1)

    def kill() -> None:
        server.wait(requests=10)
        ray_cluster.remove_node(ray_cluster.second, allow_graceful=False)
        server.open_gate(gate)  # The head finishes the job alone.

    killer = threading.Thread(target=kill)
    killer.start()
    result = run(urls, [HERE], WebDataset(tmp_path), "ray", shard_size=5, progress=False)
    killer.join()
    assert result.ok, result.failed_shards
    check(tmp_path, 20)
