# Wherry: bulk jobs whose processes are killed
# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import json
import os
import random
import select
import signal
from typing import Any, List

import pytest
from bulk_jobs import left_over, logged, start_job, tar_items, workers_of
from conftest import PATIENCE, Server

import wherry
from wherry.bulk import Download, Item, WebDataset, run
from wherry.bulk import _store as stores
from wherry.bulk._items import Shard

#: WHERRY_LOOPS=full repeats more.
ROUNDS = 20 if os.environ.get("WHERRY_LOOPS") == "full" else 3

PROGRAM = """
import json
from wherry.bulk import Download, WebDataset, run
result = run({urls!r}, [Download(deny_addresses=None, timeout=600, total_timeout=3600)], WebDataset({folder!r}),
             shard_size=5, workers=2, progress=False)
print(json.dumps([result.ok, result.skipped_shards, result.statistics.items, result.statistics.succeeded]))
"""


def finish(program: Any) -> List[Any]:
    out, err = program.communicate(timeout=PATIENCE)
    assert program.returncode == 0, err
    found: List[Any] = json.loads(out)
    return found


def urls_of(server: Server, count: int, **query: Any) -> List[str]:
    return [server.url(f"/bytes/{number + 1}", **query) for number in range(count)]


def check(folder: Any, count: int) -> None:
    """Each item is in the output and in the log exactly once, and no attempt is left."""
    assert sorted(map(len, tar_items(folder).values())) == list(range(1, count + 1))
    keys = [line["key"] for line in logged(folder)]
    assert len(keys) == len(set(keys)) == count
    assert left_over(folder) == []


def test_B4_a_killed_worker_is_replaced_and_its_shard_repeated(server: Server, tmp_path: Any) -> None:
    gate = server.gate()
    program = start_job(PROGRAM.format(urls=urls_of(server, 20, gate=gate, gate_times=1), folder=str(tmp_path)))
    server.wait(requests=10)  # Both workers have begun.
    for worker in workers_of(program.pid):
        os.kill(worker, signal.SIGKILL)
    server.open_gate(gate)

    assert finish(program) == [True, 0, 20, 20]
    check(tmp_path, 20)


def test_B4_a_killed_program_continues_where_it_was(server: Server, tmp_path: Any) -> None:
    urls = urls_of(server, 5) + urls_of(server, 20, gate=server.gate(), gate_times=1)[5:]
    program = start_job(PROGRAM.format(urls=urls, folder=str(tmp_path)))
    server.wait(requests=15)  # The first shard is finished, and two others have begun.
    workers = [os.pidfd_open(worker) for worker in workers_of(program.pid)]
    os.kill(program.pid, signal.SIGKILL)
    program.communicate()
    server.open_gate(server.gate())
    again = start_job(PROGRAM.format(urls=urls, folder=str(tmp_path)))

    ok, skipped, items, succeeded = finish(again)
    assert (ok, items, succeeded) == (True, 20, 20) and skipped >= 1
    check(tmp_path, 20)
    for worker in workers:  # The workers of a killed program end too.
        assert select.select([worker], [], [], PATIENCE)[0]
        os.close(worker)


def test_B4_a_worker_that_dies_each_time_fails_its_shard_only(server: Server, tmp_path: Any) -> None:
    code = f"""
import json, os
from wherry.bulk import Download, Map, WebDataset, run
import test_bulk_kills
result = run({urls_of(server, 15)!r}, [Download(deny_addresses=None), Map("test_bulk_kills:dies")],
             WebDataset({str(tmp_path)!r}), shard_size=5, workers=2, progress=False)
print(json.dumps([result.ok, result.failed_shards, result.statistics.succeeded]))
"""
    ok, failed, succeeded = finish(start_job(code))
    assert (ok, succeeded) == (False, 10) and list(failed) == ["00001"]
    assert "exited with status 7" in failed["00001"] and "5 attempts" in failed["00001"]


def dies(items: List[Item]) -> None:
    if any(len(item.data) == 7 for item in items):
        os._exit(7)


@pytest.mark.parametrize("seed", range(ROUNDS))
def test_B4_random_kills_neither_lose_nor_repeat_an_item(server: Server, tmp_path: Any, seed: int) -> None:
    chance = random.Random(seed)
    count = 60
    source = PROGRAM.format(urls=urls_of(server, count, delay_ms=5), folder=str(tmp_path))
    for _ in range(6):
        program = start_job(source)
        for _ in range(chance.randint(1, 3)):
            requests = server.ask("/_stats")["requests"] + chance.randint(1, 12)
            try:
                server.ask("/_wait", requests=requests, timeout=5)
            except OSError:  # 408: the job is finished.
                break
            victims = [program.pid] if chance.random() < 0.3 else workers_of(program.pid)
            os.kill(chance.choice(victims or [program.pid]), signal.SIGKILL)
            if program.poll() is not None:
                break
        os.killpg(program.pid, signal.SIGKILL)
        program.communicate()
    assert finish(start_job(source))[0::2] == [True, count]
    check(tmp_path, count)


# The steps of a commit, each of which can be the last one of a process.


@pytest.mark.parametrize("calls", range(1, 14))
def test_B4_a_process_that_ends_within_a_commit_loses_nothing(
    tmp_path: Any, calls: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Killed(BaseException):
        pass

    count = 0

    def counted(name: str) -> Any:
        real = getattr(os, name)

        def call(*arguments: Any, **options: Any) -> Any:
            nonlocal count
            count += 1
            if count == calls:
                raise Killed
            return real(*arguments, **options)

        return call

    store = stores.Store(str(tmp_path))
    store.prepare({"steps": []})
    with monkeypatch.context() as patch:
        for name in ("link", "rename", "replace", "fsync"):
            patch.setattr(os, name, counted(name))
        try:
            attempt(store, b"first")
            ended = True
        except Killed:
            ended = False
    known = stores.Store(str(tmp_path)).receipt("00000")
    if known is None:
        assert not ended and not (tmp_path / "00000.tar").exists()
        known = attempt(store, b"second")
        assert (tmp_path / "00000.tar").read_bytes() == b"second"
    else:
        assert (tmp_path / "00000.tar").read_bytes() == b"first"
    assert list(known["files"]) == ["00000.tar"] and left_over(tmp_path) == []
    assert (tmp_path / "_wherry/log/00000.jsonl").exists()
    assert attempt(store, b"third") == known  # A late attempt gets the receipt of the first one.
    assert left_over(tmp_path) == []


def attempt(store: stores.Store, data: bytes) -> Any:
    made = store.begin("00000")
    for name in ("00000.tar", "00000.jsonl"):
        with open(os.path.join(made.folder, name), "wb") as file:
            file.write(data)
    return made.commit({"00000.tar": {"bytes": len(data)}}, {})


def test_B4_a_second_run_at_the_same_time_is_refused(server: Server, tmp_path: Any) -> None:
    gate = server.gate()
    program = start_job(PROGRAM.format(urls=urls_of(server, 5, gate=gate), folder=str(tmp_path)))
    server.wait(requests=1)
    with pytest.raises(wherry.BusyError, match="another process"):
        run(["http://a/"], [Download()], WebDataset(tmp_path))
    server.open_gate(gate)
    assert finish(program)[0] is True


def test_the_names_of_shards_stay_in_order() -> None:
    assert [Shard(index, []).name for index in (0, 7, 99_999, 100_000)] == ["00000", "00007", "99999", "100000"]


def test_a_worker_that_cannot_start_says_why(tmp_path: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    wherry.Client().close()  # loads the library into this process
    monkeypatch.setenv("WHERRY_LIBRARY", str(tmp_path / "none.so"))
    with pytest.raises(wherry.StateError, match="could not start: libwherry was not found"):
        run(["http://a/"], [Download()], WebDataset(tmp_path / "out"), workers=1, progress=False)


def test_B4_a_link_whose_response_was_lost_loses_nothing(tmp_path: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    store = stores.Store(str(tmp_path))
    store.prepare({"steps": []})
    real = os.link

    def twice(*arguments: Any) -> None:
        real(*arguments)
        real(*arguments)  # as a network file system repeats a request

    monkeypatch.setattr(os, "link", twice)
    attempt(store, b"first")
    assert (tmp_path / "00000.tar").read_bytes() == b"first" and left_over(tmp_path) == []


def test_B4_the_loser_moves_the_files_of_a_winner_that_was_killed(
    tmp_path: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = stores.Store(str(tmp_path))
    store.prepare({"steps": []})
    with monkeypatch.context() as patch:
        patch.setattr(stores.Store, "_publish", lambda *arguments: None)  # It is killed before it moves its files.
        attempt(store, b"first")
    attempt(store, b"second")
    assert (tmp_path / "00000.tar").read_bytes() == b"first" and left_over(tmp_path) == []


def test_B4_an_attempt_that_another_one_deleted_returns_its_receipt(server: Server, tmp_path: Any) -> None:
    # Dask and Ray sometimes run a task twice at the same time. The later attempt was reported as failed.
    import threading

    from wherry.bulk import Folder
    from wherry.bulk._coordination import Coordinator
    from wherry.bulk._work import Job, process

    stores.Store(str(tmp_path)).prepare({"steps": []})
    job = Job("job", str(tmp_path), (Download(deny_addresses=None, timeout=600),), Folder(tmp_path))
    gate = server.gate()
    exchange = Coordinator(9).exchange_here
    shard = Shard(0, [("k", server.url("/bytes/5", gate=gate, gate_times=1), {})])
    results: List[Any] = []
    late = threading.Thread(target=lambda: results.append(process(job, shard, exchange)))
    late.start()
    server.wait(requests=1)
    first = process(job, shard, exchange)  # deletes the folder of the late attempt
    server.open_gate(gate)
    late.join(PATIENCE)
    assert results == [first]
