# Wherry: downloads, by row
# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import asyncio
import hashlib
import os
import signal
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from typing import Any, List

import pytest
from conftest import PATIENCE, Server, most_memory

import wherry


def digest(server: Server, size: int, algorithm: str = "sha256") -> str:
    """The expected content of the server's file of that size."""
    return wherry.get(server.url(f"/digest/{size}", algorithm=algorithm)).text


def sha256(path: Any) -> str:
    with open(path, "rb") as file:
        return hashlib.sha256(file.read()).hexdigest()


def litter(folder: Any) -> List[str]:
    return sorted(name for name in os.listdir(folder) if name.startswith("."))


def test_D1_a_download_is_a_GET_without_default_parameters(server: Server, tmp_path: Any) -> None:
    target = tmp_path / "file"
    with wherry.Client(headers={"X-A": "1"}, parameters={"app": "demo"}) as client:
        path = client.download(server.url("/bytes/100000"), target)

    entry = server.log()[0]
    assert path == str(target)
    assert sha256(target) == digest(server, 100000)
    assert entry["method"] == "GET"
    assert ["app", "demo"] not in entry["query"]
    assert ["X-A", "1"] in entry["headers"]
    assert litter(tmp_path) == []


def test_D3_an_existing_target_is_an_error_before_any_traffic(
    server: Server, client: wherry.Client, tmp_path: Any
) -> None:
    target = tmp_path / "file"
    target.write_text("old")

    with pytest.raises(wherry.FileError) as caught:
        client.download(server.url("/bytes/1000"), target)

    assert caught.value.reason == "exists"
    assert target.read_text() == "old" and server.log() == []
    client.download(server.url("/bytes/1000"), target, overwrite=True)
    assert target.stat().st_size == 1000
    renamed = client.download(server.url("/bytes/1000"), target, rename=True)
    assert renamed == str(tmp_path / "file (1)")


def test_D3_a_failed_download_keeps_the_old_file(server: Server, client: wherry.Client, tmp_path: Any) -> None:
    target = tmp_path / "file"
    target.write_text("old")

    with pytest.raises(wherry.HTTPStatusError):
        client.download(server.url("/status/404"), target, overwrite=True)

    assert target.read_text() == "old"


def test_D3_a_directory_target_is_an_error_unless_it_is_declared_as_one(
    server: Server, client: wherry.Client, tmp_path: Any
) -> None:
    with pytest.raises(wherry.FileError) as caught:
        client.download(server.url("/bytes/1000"), tmp_path)
    assert caught.value.reason == "is_directory"
    with pytest.raises(wherry.FileError) as caught:
        client.download(server.url("/bytes/1000"), f"{tmp_path}/none/")
    assert caught.value.reason == "is_directory"
    with pytest.raises(wherry.WherryError):
        client.download(server.url("/bytes/1000"), tmp_path / "no" / "file")
    client.download(server.url("/bytes/10"), tmp_path / "no" / "file", make_directories=True)
    with pytest.raises(wherry.ArgumentError) as none:
        client.download(server.url("/bytes/10"), "")
    assert none.value.reason == "bad_path"
    with pytest.raises(wherry.ArgumentError):
        client.download(server.url("/bytes/10"))
    with pytest.raises(wherry.ArgumentError):
        client.download(server.url("/bytes/10"), tmp_path / "a", directory=tmp_path)


def test_D4_memory_use_stays_constant(server: Server, tmp_path: Any) -> None:
    size = 200 << 20
    before = f"""
client = wherry.Client()
client.download({server.url("/bytes/1000000")!r}, {str(tmp_path / "small")!r})
"""
    url = server.url(f"/bytes/{size}")

    used = most_memory(before, f"client.download({url!r}, {str(tmp_path / 'large')!r})")

    assert (tmp_path / "large").stat().st_size == size
    assert used < 10 << 20


def cut(server: Server, client: wherry.Client, target: Any, size: int, at: int) -> str:
    """Downloads until the cut and returns the path of the partial file."""
    url = server.url(f"/bytes/{size}", cut_at=at, times=1)
    with pytest.raises(wherry.NetworkError) as caught:
        client.download(url, target, max_retries=0)
    assert caught.value.reason == "truncated"
    assert caught.value.partial_path is not None
    return caught.value.partial_path


def test_D6_an_interrupted_download_resumes_at_its_last_byte(
    server: Server, client: wherry.Client, tmp_path: Any
) -> None:
    target = tmp_path / "file"
    cut(server, client, target, 500000, 300000)

    client.download(server.url("/bytes/500000", cut_at=300000, times=1), target)

    ranges = [value for entry in server.log() for name, value in entry["headers"] if name == "Range"]
    assert ranges == ["bytes=300000-"]
    assert sha256(target) == digest(server, 500000)
    assert litter(tmp_path) == []


@pytest.mark.parametrize("status", [400, 403, 404, 500])
def test_D7_any_other_status_fails_and_keeps_its_body(
    server: Server, client: wherry.Client, tmp_path: Any, status: int
) -> None:
    target = tmp_path / "file"

    with pytest.raises(wherry.WherryError) as caught:
        client.download(server.url(f"/status/{status}", body="why"), target, max_retries=0)

    assert caught.value.http_status == status
    assert caught.value.response is not None
    assert caught.value.response.status_code == status
    assert not target.exists()


def test_D8_without_resume_a_leftover_partial_file_is_not_used(
    server: Server, client: wherry.Client, tmp_path: Any
) -> None:
    target = tmp_path / "file"
    cut(server, client, target, 500000, 300000)

    client.download(server.url("/bytes/500000", cut_at=300000, times=1), target, resume=False)

    sent = [name for entry in server.log() for name, _ in entry["headers"]]
    assert "Range" not in sent
    assert sha256(target) == digest(server, 500000)


def test_D9_progress_after_a_resume_includes_the_partial_file(
    server: Server, client: wherry.Client, tmp_path: Any
) -> None:
    target = tmp_path / "file"
    cut(server, client, target, 500000, 300000)
    seen: List[wherry.Progress] = []

    url = server.url("/bytes/500000", cut_at=300000, times=1)
    client.download(url, target, progress=seen.append)

    done = [p.done_bytes for p in seen]
    assert done == sorted(done) and done[0] >= 300000 and done[-1] == 500000
    assert seen[-1].resumed_at_bytes == 300000
    assert seen[-1].fraction == 1.0


def test_D10_an_unknown_length_is_None(server: Server, client: wherry.Client, tmp_path: Any) -> None:
    early: List[wherry.Progress] = []

    def tell(progress: wherry.Progress) -> None:
        # Only the newest progress is reported: the test holds the rest back until one report
        # arrives.
        if not early:
            early.append(progress)
            server.open_gate(server.gate())

    client.download(
        server.url("/bytes/200000", chunked=1, hold=100000, gate=server.gate()),
        tmp_path / "file", progress=tell,
    )  # fmt: skip

    assert early[0].total_bytes is None and early[0].fraction is None


def test_D11_a_failure_reports_the_path_of_the_partial_file(
    server: Server, client: wherry.Client, tmp_path: Any
) -> None:
    partial = cut(server, client, tmp_path / "file", 500000, 250000)

    assert os.path.getsize(partial) >= 250000


def test_D12_every_operation_may_be_repeated(server: Server, client: wherry.Client, tmp_path: Any) -> None:
    url = server.url("/bytes/1000000", hold=500000, gate=server.gate())
    with client.start_download(url, tmp_path / "file", tag="mine") as handle:
        handle.pause()
        handle.pause()
        assert handle.state == "paused" and client.transfers(tag="mine")[0].kind == "download"
        server.open_gate(server.gate())
        handle.resume()
        handle.resume()
        assert handle.wait() == str(tmp_path / "file")
        handle.pause()
        handle.cancel()
        assert handle.state == "done" and handle.wait() == str(tmp_path / "file")


def test_D12_a_cancelled_download_keeps_its_partial_file_and_discard_deletes_it(
    server: Server, client: wherry.Client, tmp_path: Any
) -> None:
    target = tmp_path / "file"
    url = server.url("/bytes/9000000", hold=400000, gate=server.gate())
    told: List[int] = []

    def cancel(progress: wherry.Progress) -> None:
        if progress.done_bytes > 0:
            told.append(client.cancel(path=str(target)))

    with client.start_download(url, target, progress=cancel) as handle:
        with pytest.raises(wherry.CancelledError):
            handle.wait()
        assert told[0] == 1
        assert litter(tmp_path) != []
        handle.discard()
    assert litter(tmp_path) == [] and not target.exists()


def test_D12_waiting_for_a_download_has_a_timeout(server: Server, client: wherry.Client, tmp_path: Any) -> None:
    url = server.url("/bytes/400000", hold=200000, gate=server.gate())
    with client.start_download(url, tmp_path / "file") as handle:
        with pytest.raises(wherry.TimeoutError) as caught:
            handle.wait(timeout=0.05)
        assert caught.value.reason == "timeout" and not handle.is_done
        server.open_gate(server.gate())
        handle.wait(timeout=120)


def test_D12_several_threads_wait_for_one_download(server: Server, client: wherry.Client, tmp_path: Any) -> None:
    gate = server.gate()
    url = server.url("/bytes/400000", hold=200000, gate=gate)
    with client.start_download(url, tmp_path / "file") as handle:
        with ThreadPoolExecutor(5) as pool:
            waits = [pool.submit(handle.wait) for _ in range(4)]
            impatient = pool.submit(handle.wait, 0.01)
            with pytest.raises(wherry.TimeoutError):
                impatient.result(PATIENCE)
            server.open_gate(gate)
            paths = [wait.result(PATIENCE) for wait in waits]
    assert paths == [str(tmp_path / "file")] * 4


def test_D15_a_released_download_can_be_started_again_at_once(
    server: Server, client: wherry.Client, tmp_path: Any
) -> None:
    gate = server.gate()
    url = server.url("/bytes/400000", hold=1000, gate=gate)
    for _ in range(5):
        handle = client.start_download(url, tmp_path / "file")
        handle.close()

    async def work() -> None:
        async with wherry.AsyncClient(trust_env=False) as other:
            for _ in range(5):
                with pytest.raises(asyncio.TimeoutError):
                    await asyncio.wait_for(other.download(url, tmp_path / "file"), 0.01)
            server.open_gate(gate)
            assert await other.download(url, tmp_path / "file") == str(tmp_path / "file")

    asyncio.run(work())
    assert sha256(tmp_path / "file") == digest(server, 400000) and litter(tmp_path) == []


def test_D15_a_second_download_of_the_same_file_is_busy(server: Server, client: wherry.Client, tmp_path: Any) -> None:
    url = server.url("/bytes/400000", hold=200000, gate=server.gate())
    with client.start_download(url, tmp_path / "file"):
        with pytest.raises(wherry.BusyError) as caught:
            client.start_download(url, tmp_path / "file")
        assert caught.value.reason == "already_running"
        (tmp_path / "link").symlink_to(tmp_path)
        with pytest.raises(wherry.BusyError):
            client.start_download(url, tmp_path / "link" / "file")


def test_D1_a_header_that_resuming_needs_is_refused(server: Server, client: wherry.Client, tmp_path: Any) -> None:
    for name in ("Range", "if-range"):
        with pytest.raises(wherry.ArgumentError, match="set.* the header") as caught:
            client.download(server.url("/bytes/9"), tmp_path / "f", headers={name: "bytes=0-3"})
        assert caught.value.reason == "bad_header"


def test_D16_partial_files_can_be_inspected_without_a_download(
    server: Server, client: wherry.Client, tmp_path: Any
) -> None:
    target = tmp_path / "file"
    assert wherry.partial_ratio(target) == 0.0
    cut(server, client, target, 500000, 250000)

    assert wherry.partial_ratio(target) == 0.5
    (left,) = wherry.partials(tmp_path)
    assert (left.path, left.done_bytes, left.total_bytes) == (str(target), 250000, 500000)
    assert left.url.startswith(server.base + "/bytes/500000")
    wherry.discard_partial(target)
    wherry.discard_partial(target)
    assert wherry.partials(tmp_path) == [] and litter(tmp_path) == []


def test_D17_kill_9_loses_at_most_the_bytes_after_the_last_checkpoint(
    server: Server, client: wherry.Client, tmp_path: Any
) -> None:
    # Slow enough to inspect the download, and never complete while the program lives.
    gate = server.gate()
    url = server.url("/bytes/8000000", rate=50_000, hold_at=4_000_000, gate=gate)
    program = "import sys, wherry; wherry.Client(timeout=None).download(*sys.argv[1:])"
    with subprocess.Popen(
        [sys.executable, "-c", program, url, str(tmp_path / "file")],
        env={**os.environ, "PYTHONPATH": os.path.dirname(os.path.dirname(wherry.__file__))},
    ) as child:
        claimed = 0
        while claimed == 0:
            assert child.poll() is None
            claimed = sum(left.done_bytes for left in wherry.partials(tmp_path))
            server.wait(requests=0)
        child.kill()
    assert child.returncode == -signal.SIGKILL and not (tmp_path / "file").exists()
    server.open_gate(gate)

    client.download(url, tmp_path / "file")

    (sent,) = [value for entry in server.log() for name, value in entry["headers"] if name == "Range"]
    assert int(sent[len("bytes=") : -1]) >= claimed
    assert sha256(tmp_path / "file") == digest(server, 8_000_000)
    assert litter(tmp_path) == []


def test_D18_response_headers_decide_the_name_and_the_resume_offset_is_reported_first(
    server: Server, client: wherry.Client, tmp_path: Any
) -> None:
    url = server.url("/bytes/500000", cut_at=300000, times=1, disposition="attachment; filename=x.bin")
    with pytest.raises(wherry.NetworkError):
        client.download(url, directory=tmp_path, max_retries=0)
    told: List[wherry.Progress] = []

    path = client.download(url, directory=tmp_path, progress=told.append)

    assert path == str(tmp_path / "x.bin") and os.listdir(tmp_path) == ["x.bin"]
    assert (told[0].resumed_at_bytes, told[0].total_bytes) == (300000, 500000)


def test_D21_an_unfinished_download_has_a_path_and_a_finished_one_is_not_cached(server: Server, tmp_path: Any) -> None:
    target = tmp_path / "file"
    url = server.url("/bytes/500000", cache="max-age=600")
    with wherry.Client(cache=True) as client:
        partial = cut(server, client, target, 500000, 250000)
        assert os.path.exists(partial)
        client.download(url, target)
        # A cached copy would let a request succeed without the network.
        assert not client.get(url).from_cache and client.get(url).from_cache
        os.unlink(target)
        before = len(server.log())
        client.download(url, target)
    assert len(server.log()) == before + 1 and sha256(target) == digest(server, 500000)


@pytest.mark.parametrize(
    ("disposition", "name"),
    [
        ('attachment; filename="photo.jpg"', "photo.jpg"),
        ("attachment; filename=../../etc/passwd", "passwd"),
        ("attachment; filename*=UTF-8''%E5%A4%A9.txt", "天.txt"),
        ("attachment", "1000"),
    ],
)
def test_D19_the_file_name_in_a_directory_comes_from_the_response(
    server: Server, client: wherry.Client, tmp_path: Any, disposition: str, name: str
) -> None:
    path = client.download(server.url("/bytes/1000", disposition=disposition), directory=tmp_path)

    assert path == str(tmp_path / name)
    assert os.listdir(tmp_path) == [name]


@pytest.mark.parametrize("algorithm", ["md5", "sha1", "sha256", "sha512"])
def test_D20_a_matching_digest_publishes_the_file(
    server: Server, client: wherry.Client, tmp_path: Any, algorithm: str
) -> None:
    expected = digest(server, 100000, algorithm)
    target = tmp_path / "file"

    wanted: Any = {algorithm: expected}
    with client.start_download(server.url("/bytes/100000"), target, **wanted) as handle:
        handle.wait()

    assert target.exists()


def test_D20_a_wrong_digest_does_not_publish_the_file(server: Server, client: wherry.Client, tmp_path: Any) -> None:
    target = tmp_path / "file"

    with pytest.raises(wherry.WherryError) as caught:
        client.download(server.url("/bytes/100000"), target, sha256="0" * 64)

    assert caught.value.reason == "checksum"
    assert not target.exists()
    with pytest.raises(wherry.ArgumentError):
        client.download(server.url("/bytes/10"), target, sha256="xyz")


def test_an_exception_in_a_progress_function_is_raised_and_cancels(
    server: Server, client: wherry.Client, tmp_path: Any
) -> None:
    def stop(_: wherry.Progress) -> None:
        raise ZeroDivisionError("enough")

    with pytest.raises(ZeroDivisionError, match="enough"):
        client.download(server.url("/bytes/9000000", rate=1000000), tmp_path / "file", progress=stop)
    assert not (tmp_path / "file").exists()
    client.wait(timeout=120)
    assert client.count() == 0


def test_an_unclosed_download_warns(server: Server, client: wherry.Client, tmp_path: Any) -> None:
    url = server.url("/bytes/400000", hold=200000, gate=server.gate())
    handle = client.start_download(url, tmp_path / "file")
    with pytest.warns(ResourceWarning, match="unclosed <Download"):
        del handle
