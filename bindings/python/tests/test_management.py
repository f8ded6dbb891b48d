# Wherry: management of running transfers, by row
# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import asyncio
import multiprocessing
import random
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any, List

import pytest
from conftest import PATIENCE, PATIENT, Arrival, Server, run_python
from test_uploads import png

import wherry


def held(
    server: Server, client: wherry.Client, threads: ThreadPoolExecutor, count: int, **options: Any
) -> List["Future[wherry.Response]"]:
    """Requests that wait at the server's gate."""
    url = server.url("/json", gate=server.gate())
    started = server.ask("/_stats")["requests"]
    futures = [threads.submit(client.get, url, **options) for _ in range(count)]
    server.wait(requests=started + count)
    return futures


def test_M1_every_transfer_has_a_number_and_leaves_the_list_at_its_end(
    server: Server, client: wherry.Client, threads: ThreadPoolExecutor
) -> None:
    futures = held(server, client, threads, 5)

    numbers = {info.id for info in client.transfers()}
    assert len(numbers) == 5 and 0 not in numbers
    server.open_gate(server.gate())
    assert all(future.result(120).ok for future in futures)
    client.wait(timeout=120)
    assert client.count() == 0 and client.transfers() == []


def test_M2_the_list_shows_running_transfers(
    server: Server, client: wherry.Client, threads: ThreadPoolExecutor
) -> None:
    futures = held(server, client, threads, 2, tag="screen")

    infos = client.transfers(tag="screen")
    assert [info.method for info in infos] == ["GET", "GET"]
    assert {info.kind for info in infos} == {"request"}
    assert {info.tag for info in infos} == {"screen"}
    assert {info.state for info in infos} == {"running"}
    assert all(info.url.startswith(server.base + "/json") for info in infos)
    assert client.progress(tag="screen").done_bytes >= 0
    server.open_gate(server.gate())
    assert all(future.result(120).ok for future in futures)


def test_M2_the_list_shows_the_progress_of_every_kind(
    server: Server, patient: wherry.Client, threads: ThreadPoolExecutor, tmp_path: Any
) -> None:
    size, there = 100_000, 40_000
    url = server.url(f"/bytes/{size}", hold=there, gate=server.gate())
    arrivals = Arrival(there), Arrival(there)
    request = threads.submit(patient.put, url, tag="a", progress=arrivals[0])
    handle = patient.start_download(url, tmp_path / "file", tag="b", progress=arrivals[1])
    download = threads.submit(handle.wait)
    sink = server.url("/sink", stall=1, gate=server.gate())
    upload = threads.submit(patient.upload, sink, png(4, 4), tag="c")
    server.wait(requests=3)
    for arrival in arrivals:
        arrival.wait()

    infos = {info.tag: info for info in patient.transfers()}
    assert {tag: (info.kind, info.method) for tag, info in infos.items()} == {
        "a": ("request", "PUT"), "b": ("download", "GET"), "c": ("upload", "POST"),
    }  # fmt: skip
    assert [infos[tag].url for tag in "abc"] == [url, url, sink]
    assert infos["b"].path == str(tmp_path / "file") and infos["a"].path is None
    for tag in "ab":
        assert (infos[tag].done_bytes, infos[tag].total_bytes) == (there, size)
        assert patient.progress(tag=tag).fraction == 0.4
    assert {info.state for info in infos.values()} == {"running"}
    assert infos["b"].id == handle.id and len({info.id for info in infos.values()}) == 3
    server.open_gate(server.gate())
    assert request.result(PATIENCE).ok and upload.result(PATIENCE).ok
    assert download.result(PATIENCE) == str(tmp_path / "file")
    handle.close()
    patient.wait(timeout=PATIENCE)
    assert patient.transfers() == []


def test_M3_cancelling_by_address_leaves_other_transfers_running(
    server: Server, client: wherry.Client, threads: ThreadPoolExecutor
) -> None:
    kept = held(server, client, threads, 2)
    other = threads.submit(client.get, server.url("/silent"))
    server.wait(requests=3)

    assert client.cancel(url=server.url("/silent")) == 1
    with pytest.raises(wherry.CancelledError):
        other.result(120)
    server.open_gate(server.gate())
    assert all(future.result(120).ok for future in kept)


def test_M3_cancelling_by_identifier_is_exact(
    server: Server, client: wherry.Client, threads: ThreadPoolExecutor
) -> None:
    url = server.url("/silent")
    first = threads.submit(client.get, url, parameters={"a": 1})
    second = threads.submit(client.get, url, parameters={"a": 2})
    server.wait(requests=2)

    name = client.identifier("GET", url, parameters={"a": 1})
    assert client.cancel(identifier=name) == 1
    with pytest.raises(wherry.CancelledError):
        first.result(120)
    client.wait(identifier=name, timeout=120)
    assert client.count() == 1
    assert client.cancel() == 1
    with pytest.raises(wherry.CancelledError):
        second.result(120)


def test_M4_each_cancelled_request_ends_exactly_once(server: Server) -> None:
    # The gate holds the first six, which use all connections. Without it, all thousand sometimes
    # finished before the cancel.
    url = server.url("/json", gate=server.gate(), gate_times=6)

    async def main() -> List[str]:
        ends: List[str] = []
        async with wherry.AsyncClient(**PATIENT) as client:

            async def one(number: int) -> None:
                try:
                    await client.get(url, tag=str(number % 7))
                    ends.append("done")
                except wherry.CancelledError:
                    ends.append("cancelled")

            tasks = [asyncio.ensure_future(one(number)) for number in range(1000)]
            loop = asyncio.get_running_loop()
            await loop.run_in_executor(None, lambda: server.wait(requests=6))
            assert client.cancel(tag="6") == 142
            await loop.run_in_executor(None, server.open_gate, server.gate())
            dice = random.Random(4)
            for _ in range(60):
                await asyncio.sleep(0)
                client.cancel(tag=str(dice.randrange(1, 7)))
            await asyncio.gather(*tasks)
        return ends

    ends = asyncio.run(main())
    assert len(ends) == 1000
    assert ends.count("cancelled") >= 142 and ends.count("done") >= 143


def test_M5_states_have_names(server: Server, client: wherry.Client, tmp_path: Any) -> None:
    with client.start_download(server.url("/bytes/1000"), tmp_path / "file") as handle:
        assert handle.state in ("queued", "running", "verifying", "done")
        handle.wait()
        assert handle.state == "done"


def test_M6_a_request_can_be_paused(server: Server, client: wherry.Client, threads: ThreadPoolExecutor) -> None:
    futures = held(server, client, threads, 1)

    assert client.pause() == 1
    assert client.transfers()[0].state == "paused"
    server.open_gate(server.gate())
    assert client.resume() == 1
    assert futures[0].result(120).ok


@pytest.mark.parametrize("kind", ["bytes", "file", "pieces"])
def test_M6_a_paused_upload_sends_nothing_and_resumes_at_the_same_byte(
    server: Server, patient: wherry.Client, threads: ThreadPoolExecutor, tmp_path: Any, kind: str
) -> None:
    size = 64 << 20  # More than the buffers of any socket.
    path = tmp_path / "large"
    with open(path, "wb") as file:
        file.truncate(size)
    data: Any = path
    if kind == "bytes":
        data = bytes(size)
    elif kind == "pieces":
        data = (bytes(1 << 20) for _ in range(size >> 20))
    # The server reads nothing yet: sent bytes stay in the socket buffers.
    url = server.url("/sink", stall=1, gate=server.gate())
    begun = Arrival()
    upload = threads.submit(patient.post, url, data=data, tag="up", progress=begun)
    begun.wait()
    assert patient.pause(tag="up") == 1
    for _ in range(2):  # Round trips through the loop: the pause has taken effect.
        patient.get(server.url("/json"))
    sent = patient.progress(tag="up").done_bytes
    assert 0 < sent < size

    server.open_gate(server.gate())
    server.wait(received=sent)
    for _ in range(3):
        patient.get(server.url("/json"))
    assert patient.progress(tag="up").done_bytes == sent
    assert server.ask("/_stats")["received"] == sent
    assert patient.transfers(tag="up")[0].state == "paused"
    assert patient.resume(tag="up") == 1
    assert upload.result(PATIENCE).json()["bytes"] == size


def test_M7_a_thousand_clients_leak_nothing(server: Server) -> None:
    code = f"""
import os, threading, wherry
def use(count):
    for _ in range(count):
        with wherry.Client() as client:
            client.get({server.url("/json")!r})
            with client.stream("GET", {server.url("/bytes/100000")!r}) as answer:
                next(answer.iter_bytes())
def standing():
    with open("/proc/self/statm") as file:
        memory = int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    return len(os.listdir("/proc/self/task")), len(os.listdir("/proc/self/fd")), memory
use(200)
before = standing()
use(800)
for _ in range({PATIENCE} * 100):  # What was closed last may still be on its way.
    after = standing()
    if after[0] <= before[0] and after[1] <= before[1]:
        break
    threading.Event().wait(0.01)
print(after[0] <= before[0], after[1] <= before[1], after[2] - before[2] < 4 << 20, *after)
"""
    done = run_python(code)

    assert done.stderr == ""
    assert done.stdout.startswith("True True True "), done.stdout


def test_M7_closing_cancels_transfers_and_draining_waits_for_them(server: Server, threads: ThreadPoolExecutor) -> None:
    client = wherry.Client(**PATIENT)
    futures = held(server, client, threads, 2)
    with pytest.raises(wherry.TimeoutError):
        client.drain(0.1)
    with pytest.raises(wherry.StateError):
        client.get(server.url("/json"))
    server.open_gate(server.gate())
    client.drain(120)
    assert all(future.result(120).ok for future in futures)
    client.close()

    client = wherry.Client(**PATIENT)
    futures = [threads.submit(client.get, server.url("/silent")) for _ in range(3)]
    server.wait(requests=5)
    client.close()
    for future in futures:
        with pytest.raises(wherry.CancelledError):
            future.result(120)


def test_M8_equal_requests_are_each_sent(server: Server, client: wherry.Client) -> None:
    for _ in range(3):
        client.get(server.url("/json"))
    assert server.ask("/_stats")["requests"] == 3


def test_M9_a_failed_request_may_be_sent_again_from_its_callback(server: Server, client: wherry.Client) -> None:
    async def main() -> int:
        async with wherry.AsyncClient() as client:

            async def again(left: int) -> int:
                try:
                    await client.get(server.url("/bytes/100", cut=10))
                except wherry.NetworkError:
                    return 0 if left == 0 else 1 + await again(left - 1)
                raise AssertionError("a cut body came whole")

            return await again(100)

    assert asyncio.run(main()) == 100


def test_M10_a_tag_names_a_group_of_transfers(
    server: Server, client: wherry.Client, threads: ThreadPoolExecutor
) -> None:
    mine = held(server, client, threads, 2, tag="mine")
    others = held(server, client, threads, 2, tag="others")

    assert (client.count(tag="mine"), client.count(tag="others"), client.count()) == (2, 2, 4)
    assert client.cancel(tag="mine") == 2
    for future in mine:
        with pytest.raises(wherry.CancelledError):
            future.result(120)
    server.open_gate(server.gate())
    assert all(future.result(120).ok for future in others)


def test_M10_a_tag_pauses_resumes_and_awaits_only_its_transfers(
    server: Server, patient: wherry.Client, threads: ThreadPoolExecutor
) -> None:
    mine = held(server, patient, threads, 2, tag="mine")
    others = held(server, patient, threads, 2, tag="others")

    def states(tag: str) -> List[str]:
        return [info.state for info in patient.transfers(tag=tag)]

    assert patient.pause(tag="mine") == 2
    assert states("mine") == ["paused"] * 2 and states("others") == ["running"] * 2
    assert patient.pause(tag="nobody") == 0
    server.open_gate(server.gate())
    patient.wait(tag="others", timeout=PATIENCE)
    assert all(future.result(PATIENCE).ok for future in others)
    assert patient.count() == 2 and states("mine") == ["paused"] * 2
    assert not any(future.done() for future in mine)
    assert patient.resume(tag="others") == 0 and patient.resume(tag="mine") == 2
    assert all(future.result(PATIENCE).ok for future in mine)


def test_M11_waiting_has_a_timeout(server: Server, client: wherry.Client, threads: ThreadPoolExecutor) -> None:
    futures = held(server, client, threads, 2, tag="mine")

    with pytest.raises(wherry.TimeoutError) as caught:
        client.wait(tag="mine", timeout=0.05)
    assert caught.value.reason == "timeout"
    server.open_gate(server.gate())
    client.wait(tag="mine", timeout=120)
    client.wait()
    assert all(future.result(120).ok for future in futures)


def _in_child(url: str) -> int:
    with wherry.Client() as client:
        return client.get(url).status_code


def test_M12_spawned_processes_have_separate_clients(server: Server, client: wherry.Client) -> None:
    assert client.get(server.url("/json")).ok
    with multiprocessing.get_context("spawn").Pool(2) as pool:
        assert pool.map(_in_child, [server.url("/json")] * 4) == [200] * 4


def test_a_call_accepts_only_one_way_to_select_transfers(client: wherry.Client) -> None:
    with pytest.raises(wherry.ArgumentError):
        client.cancel(url="http://h/", tag="t")
    with pytest.raises(TypeError):
        client.cancel(colour="red")


def test_ctrl_c_ends_any_wait(server: Server) -> None:
    code = f"""
import os, signal, threading, wherry, tempfile
def stop():
    import urllib.request
    urllib.request.urlopen({server.base + "/_wait?requests=1&timeout=600&key=" + server.key!r}).close()
    os.kill(os.getpid(), signal.SIGINT)
with wherry.Client(timeout=None) as client:
    threading.Thread(target=stop).start()
    with tempfile.TemporaryDirectory() as folder:
        try:
            client.download({server.url("/silent")!r}, folder + "/file")
        except KeyboardInterrupt:
            client.wait(timeout=120)
            print("stopped", client.count())
"""
    done = run_python(code)

    assert (done.stdout, done.stderr) == ("stopped 0\n", "")


def test_M4_None_selects_no_transfer(server: Server, client: wherry.Client, tmp_path: Any) -> None:
    url = server.url("/bytes/2000000", hold=1000000, gate=server.gate())
    with client.start_download(url, tmp_path / "kept") as handle:
        nothing: Any = None
        for verb in (client.cancel, client.discard, client.pause, client.resume, client.count):
            for name in ("url", "tag", "identifier", "path"):
                with pytest.raises(wherry.ArgumentError, match=f"{name}=None"):
                    verb(**{name: nothing})
        with pytest.raises(wherry.ArgumentError):
            client.wait(tag=nothing)
        assert client.count() == 1
        server.open_gate(server.gate())
        assert handle.wait() == str(tmp_path / "kept")
