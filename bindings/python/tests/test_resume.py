# Wherry: downloads interrupted, stalled, or resumed from a changed server, with both clients
# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import asyncio
import hashlib
import os
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any, Callable, List

import pytest
from conftest import PATIENCE, Arrival, Server, field

import wherry

SIZE, CUT = 1_060_921, 400_000

Load = Callable[..., str]


@pytest.fixture(params=["blocking", "asyncio"])
def load(request: pytest.FixtureRequest) -> Load:
    """Downloads once, without retries, and returns the path or raises."""

    def blocking(url: str, path: Any = None, **options: Any) -> str:
        with wherry.Client(max_retries=0) as client:
            return client.download(url, path, **options)

    async def later(url: str, path: Any, options: Any) -> str:
        async with wherry.AsyncClient(max_retries=0) as client:
            return await client.download(url, path, **options)

    def asynchronous(url: str, path: Any = None, **options: Any) -> str:
        return asyncio.run(later(url, path, options))

    return blocking if request.param == "blocking" else asynchronous


def digest(server: Server, size: int = SIZE, seed: int = 1, algorithm: str = "sha256") -> str:
    """The expected content of the server's file of that size."""
    return wherry.get(server.url(f"/digest/{size}", seed=seed, algorithm=algorithm)).text


def sha256(path: Any) -> str:
    with open(path, "rb") as file:
        return hashlib.sha256(file.read()).hexdigest()


def asked(server: Server) -> List[List[str]]:
    """The Range headers of the requests for the file, in order."""
    return [field(told, "range") for told in server.log() if "/bytes/" in told["target"]]


def cut(load: Load, url: str, path: Any, **options: Any) -> wherry.NetworkError:
    """Downloads until the server drops the connection."""
    with pytest.raises(wherry.NetworkError) as caught:
        load(url, path, **options)
    assert caught.value.reason == "truncated"
    return caught.value


# D3, D6: existing files and server behavior


def test_D3_an_existing_target_is_kept_unless_it_is_to_be_replaced(server: Server, load: Load, tmp_path: Any) -> None:
    target = tmp_path / "file"
    target.write_text("old")
    with pytest.raises(wherry.FileError) as caught:
        load(server.url("/bytes/1000"), target)
    assert caught.value.reason == "exists" and server.log() == []
    for path in ("/status/404", f"/bytes/{SIZE}?cut={CUT}"):
        with pytest.raises(wherry.WherryError):
            load(server.url(path), target, overwrite=True)
        assert target.read_text() == "old"

    assert load(server.url("/bytes/1000"), target, rename=True) == str(tmp_path / "file (1)")
    assert target.read_text() == "old"
    assert load(server.url("/bytes/1000"), target, overwrite=True) == str(target)
    assert sha256(target) == sha256(tmp_path / "file (1)") == digest(server, 1000)


@pytest.mark.parametrize(
    ("query", "ranges"),
    [
        ("", [[], [f"bytes={CUT}-"]]),  # a correct server
        ("&ranges=0", [[], []]),  # one that ignores ranges and announces it
        ("&ranges=0&accept_ranges=bytes", [[], [f"bytes={CUT}-"]]),  # one that claims support but ignores ranges
        ("&no_validator=1", [[], []]),  # one without a validator
        ("&weak=1", [[], []]),  # one with only a weak validator
        ("&bad_range=gap&bad_times=1", [[], [f"bytes={CUT}-"], []]),  # a wrong Content-Range
        ("&bad_range=early&shift=1000", [[], [f"bytes={CUT}-"]]),  # one that starts too early
    ],
)
def test_D6_a_download_resumes_at_its_last_byte_or_restarts_if_necessary(
    server: Server, load: Load, tmp_path: Any, query: str, ranges: List[List[str]]
) -> None:
    url = server.url(f"/bytes/{SIZE}?cut={CUT}&times=1{query}")
    cut(load, url, tmp_path / "file")

    load(url, tmp_path / "file")

    assert sha256(tmp_path / "file") == digest(server)
    assert os.listdir(tmp_path) == ["file"]
    assert asked(server) == ranges


@pytest.mark.parametrize("query", ["no_if_range=1", "ranges=0&accept_ranges=bytes"])
def test_D6_DR6_a_server_that_ignores_if_range_gets_if_match(
    server: Server, load: Load, tmp_path: Any, query: str
) -> None:
    url = server.url(f"/bytes/{SIZE}?cut=700000&times=1&{query}")
    cut(load, url, tmp_path / "file")

    load(url, tmp_path / "file")

    assert sha256(tmp_path / "file") == digest(server) and os.listdir(tmp_path) == ["file"]
    assert asked(server) == [[], ["bytes=700000-"], ["bytes=700000-"]]
    told = [request for request in server.log() if "/bytes/" in request["target"]]
    assert [len(field(each, "if-range")) for each in told] == [0, 1, 0]
    assert [len(field(each, "if-match")) for each in told] == [0, 0, 1]


def test_DR6_the_partial_file_is_kept_if_another_URL_returns_nothing_better(
    server: Server, load: Load, tmp_path: Any
) -> None:
    url = server.url(f"/bytes/{SIZE}?cut={CUT}&times=1")
    partial = cut(load, url, tmp_path / "file").partial_path
    with pytest.raises(wherry.HTTPStatusError) as caught:
        load(server.url("/status/404"), tmp_path / "file")
    assert caught.value.partial_path == partial and partial and os.path.exists(partial)

    load(url, tmp_path / "file")

    assert sha256(tmp_path / "file") == digest(server) and os.listdir(tmp_path) == ["file"]
    assert asked(server) == [[], [f"bytes={CUT}-"]]


@pytest.mark.parametrize("ignored", [0, 1])
def test_D6_a_file_that_changed_meanwhile_is_downloaded_again(
    server: Server, load: Load, tmp_path: Any, ignored: int
) -> None:
    url = server.url(
        f"/bytes/{SIZE}", cut=CUT, times=1, seed=1, seed_next=2, etag_next="new", change_at=2,
        ignore_if_range=ignored,
    )  # fmt: skip
    cut(load, url, tmp_path / "file")

    load(url, tmp_path / "file")

    assert sha256(tmp_path / "file") == digest(server, seed=2)
    assert os.listdir(tmp_path) == ["file"]
    second = [told for told in server.log() if "/bytes/" in told["target"]][1]
    assert field(second, "range") == [f"bytes={CUT}-"] and field(second, "if-range") != []


# D7: error statuses


@pytest.mark.parametrize("status", [400, 401, 403, 404, 416, 500, 503])
def test_D7_any_other_status_fails_with_its_body_and_keeps_the_target(
    server: Server, load: Load, tmp_path: Any, status: int
) -> None:
    target = tmp_path / "file"
    target.write_text("old")

    with pytest.raises(wherry.HTTPStatusError) as caught:
        load(server.url(f"/status/{status}", body="why"), target, overwrite=True)

    assert caught.value.http_status == status and caught.value.reason == "http_status"
    assert caught.value.response is not None
    assert (caught.value.response.status_code, caught.value.response.text) == (status, "why")
    assert target.read_text() == "old" and os.listdir(tmp_path) == ["file"]


@pytest.mark.parametrize("status", [500, 503])
def test_D7_a_5xx_keeps_the_partial_file_and_the_next_run_resumes(
    server: Server, load: Load, tmp_path: Any, status: int
) -> None:
    target = tmp_path / "file"
    head = f'HTTP/1.1 200 OK\r\nContent-Length: {SIZE}\r\nETag: "a"\r\n\r\n'
    rest = [["ETag", '"a"'], ["Content-Range", f"bytes {CUT}-{SIZE - 1}/{SIZE}"]]
    steps = [
        {"raw": [["send", head], ["bytes", CUT, 1, 0], ["fin"]]},
        {"status": status, "body": "why"},
        {"status": 206, "headers": rest, "bytes": [SIZE - CUT, 1, CUT]},
    ]
    assert wherry.post(server.url("/_script"), json={"file": steps}).ok
    kept = cut(load, server.url("/s/file"), target).partial_path

    with pytest.raises(wherry.HTTPStatusError) as caught:
        load(server.url("/s/file"), target)

    assert caught.value.http_status == status and caught.value.partial_path == kept
    assert kept is not None and os.path.getsize(kept) >= CUT
    assert load(server.url("/s/file"), target) == str(target)
    assert sha256(target) == digest(server) and os.listdir(tmp_path) == ["file"]


@pytest.mark.parametrize("size", [300_000, CUT])
def test_D7_a_416_for_a_truncated_file_restarts_the_download(
    server: Server, load: Load, tmp_path: Any, size: int
) -> None:
    url = server.url(
        f"/bytes/{SIZE}", cut=CUT, times=1, size_next=size, etag="same", etag_next="same",
        change_at=2,
    )  # fmt: skip
    cut(load, url, tmp_path / "file")

    load(url, tmp_path / "file")

    told = [told["status"] for told in server.log() if "/bytes/" in told["target"]]
    assert told == [200, 416, 200]
    assert sha256(tmp_path / "file") == digest(server, size)
    assert os.listdir(tmp_path) == ["file"]


# D8 to D11: reports and remaining files


def test_D8_without_resume_a_failure_leaves_no_file(server: Server, load: Load, tmp_path: Any) -> None:
    url = server.url(f"/bytes/{SIZE}", cut=CUT, times=2)
    assert cut(load, url, tmp_path / "file").partial_path is not None

    again = cut(load, url, tmp_path / "file", resume=False)

    assert again.partial_path is None and os.listdir(tmp_path) == []
    assert asked(server) == [[], []]


def test_D9_progress_has_the_speed_and_the_time_left(server: Server, client: wherry.Client, tmp_path: Any) -> None:
    seen: List[wherry.Progress] = []

    client.download(server.url("/bytes/1200000", rate=400000), tmp_path / "file", progress=seen.append)

    timed = [p for p in seen if p.remaining is not None and p.bytes_per_second]
    assert timed and all(p.bytes_per_second is None or p.bytes_per_second >= 0 for p in seen)
    for p in timed:
        assert p.remaining is not None and p.bytes_per_second and p.total_bytes == 1200000
        left = (p.total_bytes - p.done_bytes) / p.bytes_per_second
        assert abs(p.remaining - left) < 0.01
    assert seen[-1].done_bytes == 1200000 and seen[-1].fraction == 1.0


@pytest.mark.parametrize("framing", ["chunked", "no_length"])
def test_D10_an_unknown_length_is_None_and_the_file_is_complete(
    server: Server, load: Load, tmp_path: Any, framing: str
) -> None:
    seen: List[wherry.Progress] = []

    def tell(progress: wherry.Progress) -> None:
        # Only the newest progress is reported: the test holds the rest back until one report
        # arrives.
        if not seen:
            server.open_gate(server.gate())
        seen.append(progress)

    load(
        server.url(f"/bytes/{SIZE}?{framing}=1", hold=CUT, gate=server.gate()), tmp_path / "file",
        progress=tell, timeout=None, stall_timeout=PATIENCE,
    )  # fmt: skip

    assert seen[0].total_bytes is None and seen[0].fraction is None and seen[0].remaining is None
    assert seen[-1].done_bytes == SIZE
    assert sha256(tmp_path / "file") == digest(server)


def test_D11_a_cut_download_reports_and_keeps_exactly_the_received_bytes(
    server: Server, load: Load, tmp_path: Any
) -> None:
    error = cut(load, server.url(f"/bytes/{SIZE}", cut=CUT), tmp_path / "file")

    (left,) = wherry.partials(tmp_path)
    assert left.partial_path == error.partial_path and left.done_bytes == CUT
    assert left.total_bytes == SIZE and left.ratio == wherry.partial_ratio(tmp_path / "file")
    assert left.ratio == CUT * 100 // SIZE / 100
    whole = wherry.get(server.url(f"/bytes/{SIZE}")).content
    with open(left.partial_path, "rb") as file:
        assert file.read(CUT) == whole[:CUT]


# D12: operations


class Watched:
    """A download awaited by a thread."""

    def __init__(self, threads: ThreadPoolExecutor, handle: wherry.Download) -> None:
        self.handle = handle
        self.end: Future[str] = threads.submit(handle.wait)


def begin(client: wherry.Client, threads: ThreadPoolExecutor, url: str, target: Any, **options: Any) -> Watched:
    """Starts a download and returns when its first bytes arrive or it has ended."""
    begun = Arrival()
    handle = client.start_download(url, target, progress=begun, **options)
    watched = Watched(threads, handle)
    watched.end.add_done_callback(lambda _: begun.give_up())
    begun.wait()
    return watched


def test_D12_a_pause_outlives_the_server_connection(
    server: Server, patient: wherry.Client, threads: ThreadPoolExecutor, tmp_path: Any
) -> None:
    target = tmp_path / "file"
    url = server.url(f"/bytes/{SIZE}", hold=CUT, gate=server.gate(), times=1)
    running = begin(patient, threads, url, target)

    with running.handle as handle:
        handle.pause()
        assert handle.state == "paused" and patient.transfers()[0].state == "paused"
        (kept,) = wherry.partials(tmp_path)
        assert 0 < kept.done_bytes <= CUT and kept.done_bytes == handle.progress.done_bytes
        server.ask("/_drop")
        server.wait(ended=1)
        handle.resume()
        assert running.end.result(PATIENCE) == str(target)

    assert sha256(target) == digest(server)
    assert asked(server) == [[], [f"bytes={kept.done_bytes}-"]]


STATES = ("running", "paused", "done", "failed", "cancelled")


@pytest.mark.parametrize("verb", ["pause", "resume", "cancel", "discard"])
@pytest.mark.parametrize("state", STATES)
def test_D12_every_operation_works_in_every_state(
    server: Server, patient: wherry.Client, threads: ThreadPoolExecutor, tmp_path: Any,
    state: str, verb: str,
) -> None:  # fmt: skip
    target = tmp_path / "file"
    fault = {"cut": CUT} if state == "failed" else {"hold": CUT, "gate": server.gate()}
    url = server.url(f"/bytes/{SIZE}", times=1, **fault)
    running = begin(patient, threads, url, target, max_retries=0)
    with running.handle as handle:
        if state == "paused":
            handle.pause()
        elif state == "cancelled":
            handle.cancel()
        elif state == "done":
            server.open_gate(server.gate())
        if state in ("done", "failed", "cancelled"):
            running.end.exception(PATIENCE)
        assert handle.state == state
        kept = wherry.partials(tmp_path)

        getattr(handle, verb)()
        getattr(handle, verb)()

        if state in ("done", "failed", "cancelled"):
            assert handle.state == state and patient.count() == 0
        elif verb == "pause":
            assert handle.state == "paused"
            handle.resume()
        server.open_gate(server.gate())
        error = running.end.exception(PATIENCE)
    is_cut_short = verb in ("cancel", "discard") and state in ("running", "paused")
    if state == "failed":
        assert isinstance(error, wherry.NetworkError)
    elif state == "cancelled" or is_cut_short:
        assert isinstance(error, wherry.CancelledError)
    else:
        assert error is None and sha256(target) == digest(server)
    if error is None:
        assert os.listdir(tmp_path) == ["file"]
    elif verb == "discard":
        assert os.listdir(tmp_path) == []
    else:
        (left,) = wherry.partials(tmp_path)
        assert 0 < left.done_bytes <= CUT
        assert state not in ("failed", "cancelled") or left.done_bytes == kept[0].done_bytes


def test_D12_operations_apply_to_one_many_and_all_downloads(
    server: Server, patient: wherry.Client, threads: ThreadPoolExecutor, tmp_path: Any
) -> None:
    urls = [server.url(f"/bytes/{SIZE}", hold=CUT, gate=server.gate(), n=n) for n in range(4)]
    running = [
        begin(patient, threads, url, tmp_path / str(n), tag="low" if n < 2 else "high") for n, url in enumerate(urls)
    ]

    def states() -> List[str]:
        return [watched.handle.state for watched in running]

    assert patient.pause(tag="low") == 2
    assert states() == ["paused", "paused", "running", "running"]
    assert patient.pause(url=urls[2]) == 1 and patient.pause(path=str(tmp_path / "3")) == 1
    assert states() == ["paused"] * 4
    assert patient.resume() == 4
    assert patient.cancel(path=str(tmp_path / "0")) == 1
    assert patient.discard(tag="high") == 2
    for watched in (running[0], *running[2:]):
        assert isinstance(watched.end.exception(PATIENCE), wherry.CancelledError)
    server.open_gate(server.gate())
    assert running[1].end.result(PATIENCE) == str(tmp_path / "1")
    for watched in running:
        watched.handle.close()

    assert sha256(tmp_path / "1") == digest(server)
    assert [os.path.basename(left.path) for left in wherry.partials(tmp_path)] == ["0"]
    assert patient.discard(path=str(tmp_path / "0")) == 1
    assert os.listdir(tmp_path) == ["1"]


# D20: digests


@pytest.mark.parametrize("algorithm", ["md5", "sha1", "sha256", "sha512"])
def test_D20_a_digest_covers_all_bytes_across_a_resume(
    server: Server, load: Load, tmp_path: Any, algorithm: str
) -> None:
    url = server.url(f"/bytes/{SIZE}", cut=CUT, times=1)
    right = {algorithm: digest(server, algorithm=algorithm)}
    cut(load, url, tmp_path / "file", **right)

    load(url, tmp_path / "file", **right)

    assert sha256(tmp_path / "file") == digest(server)
    assert asked(server) == [[], [f"bytes={CUT}-"]]


def test_D20_a_wrong_digest_after_a_resume_reports_both_and_leaves_no_file(
    server: Server, load: Load, tmp_path: Any
) -> None:
    url = server.url(f"/bytes/{SIZE}", cut=CUT, times=1)
    wrong = "0" * 64
    cut(load, url, tmp_path / "file", sha256=wrong)

    with pytest.raises(wherry.FileError) as caught:
        load(url, tmp_path / "file", sha256=wrong)

    assert caught.value.reason == "checksum"
    assert wrong in caught.value.message and digest(server) in caught.value.message
    assert os.listdir(tmp_path) == []
    assert asked(server)[1] == [f"bytes={CUT}-"]


def test_D20_with_a_digest_a_partial_file_without_a_validator_is_used(
    server: Server, load: Load, tmp_path: Any
) -> None:
    url = server.url(f"/bytes/{SIZE}", cut=CUT, times=1, no_validator=1)
    right = digest(server)
    cut(load, url, tmp_path / "file", sha256=right)

    load(url, tmp_path / "file", sha256=right)

    assert asked(server) == [[], [f"bytes={CUT}-"]]
    assert sha256(tmp_path / "file") == right
