# Wherry: background sessions in Python, together with the command
# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import asyncio
import fcntl
import json
import os
import signal
import socket
import subprocess
import sys
from typing import Any, Iterator, List

import pytest
from conftest import PATIENCE, ROOT, Server

import wherry

SIZE = 1_060_921
BUILT = os.path.join(ROOT, ".build", "debug")
AGENT = os.environ.get("WHERRY_AGENT", os.path.join(BUILT, "wherry-agent"))
COMMAND = os.environ.get("WHERRY_CLI", os.path.join(BUILT, "wherry-cli"))

pytestmark = pytest.mark.skipif(not os.path.exists(AGENT), reason=f"{AGENT} is not built")

#: The arguments that open a test's session.
OPTIONS: Any = {
    "agent": AGENT, "agent_idle": 0.2, "stall_bytes_per_second": 0, "trust_env": False,
    "timeout": wherry.Timeout(idle=PATIENCE, connect=PATIENCE, first_byte=PATIENCE),
}  # fmt: skip


@pytest.fixture
def state(tmp_path: Any) -> Iterator[str]:
    folder = str(tmp_path / "state")
    yield folder
    if os.path.isdir(folder) and not os.path.islink(folder):
        with wherry.BackgroundSession("tests", state_directory=folder, **OPTIONS) as session:
            for job in session.jobs():
                session.cancel(job)
                session.acknowledge(job)


@pytest.fixture
def session(state: str) -> Iterator[wherry.BackgroundSession]:
    with wherry.BackgroundSession("tests", state_directory=state, **OPTIONS) as made:
        yield made


def command(state: str, *arguments: str) -> List[Any]:
    """The output of `wherry jobs`."""
    done = subprocess.run(
        [COMMAND, "jobs", *arguments, "--state-dir", state, "--json-output", "--quiet"],
        stdout=subprocess.PIPE, env={**os.environ, "WHERRY_AGENT": AGENT}, timeout=PATIENCE,
        check=False,
    )  # fmt: skip
    return [json.loads(line) for line in done.stdout.splitlines()]


def test_D14_a_job_continues_and_every_program_finds_it(
    server: Server, session: wherry.BackgroundSession, state: str, tmp_path: Any
) -> None:
    gate = server.gate()
    url = server.url(f"/bytes/{SIZE}", hold=400_000, gate=gate)
    number = session.download(url, tmp_path / "a", tag="one")
    for job in session.follow(number, PATIENCE):
        if job.done_bytes >= 400_000:
            break

    # DC-E03: another process, in another language, finds the job and its progress.
    if os.path.exists(COMMAND):
        (told,) = command(state, "list")
        assert (told["job"], told["state"], told["tag"]) == (number, "running", "one")
        assert (told["completed"], told["total"]) == (400_000, SIZE)
    found = session.job(number)
    assert found is not None and (found.kind, found.state) == ("download", "running")
    assert found.path == str(tmp_path / "a") and found.url.endswith("?...")
    assert session.download(url, tmp_path / "a") == number and len(session.jobs()) == 1  # DC-E07
    server.open_gate(gate)
    job = session.wait(found, PATIENCE)

    assert job.state == "done" and job.error is None and job.is_over
    assert os.path.getsize(job.path or "") == SIZE and job.fraction == 1.0
    session.acknowledge(job)
    with pytest.raises(wherry.ArgumentError) as caught:
        session.acknowledge(job)
    assert caught.value.reason == "not_found" and session.jobs() == []
    assert session.job(number) is None


def test_C19_jobs_use_the_proxies_and_addresses_of_their_session(server: Server, state: str, tmp_path: Any) -> None:
    def downloaded(url: str, name: str, **settings: Any) -> Any:
        options = {**OPTIONS, **settings}
        with wherry.BackgroundSession("tests", state_directory=state, **options) as session:
            job = session.wait(session.download(url, tmp_path / name), PATIENCE)
            assert job.state == "done", job
            session.acknowledge(job)
        return json.loads((tmp_path / name).read_text())

    url = server.url("/echo")
    assert downloaded(url, "direct")["target"].startswith("/")
    assert downloaded(url, "all", proxy=server.base)["target"] == url
    assert downloaded(url, "http", proxies={"http": server.base})["target"] == url
    other = {"https": "http://127.0.0.1:1"}
    assert downloaded(url, "other", proxies=other)["target"].startswith("/")
    none = {"proxies": {"http": server.base}, "no_proxy": "127.0.0.1"}
    assert downloaded(url, "excluded", **none)["target"].startswith("/")

    port = url.split(":")[2].split("/")[0]
    named = url.replace("127.0.0.1", "a.example")
    echo = downloaded(named, "named", resolve={f"a.example:{port}": "127.0.0.1"}, proxy="")
    assert ["Host", f"a.example:{port}"] in [list(pair) for pair in echo["headers"]]

    refused: List[Any] = [
        {"netrc": str(tmp_path / "netrc")}, {"proxy": server.base, "proxy_auth": ("a", "b")},
    ]  # fmt: skip
    for settings in refused:
        with pytest.raises(wherry.ArgumentError, match="background session cannot have credentials"):
            wherry.BackgroundSession("tests", state_directory=state, **settings)
    with pytest.raises(wherry.ArgumentError) as caught:
        with wherry.BackgroundSession("t", state_directory=state, https_only=True) as session:
            session.download(url, tmp_path / "refused")
    assert caught.value.reason == "https_only"


def test_DC_E01_a_job_outlives_the_program_that_started_it(
    server: Server, session: wherry.BackgroundSession, state: str, tmp_path: Any
) -> None:
    gate = server.gate()
    url = server.url(f"/bytes/{SIZE}", hold=400_000, gate=gate)
    program = (
        "import os, sys, wherry\n"
        "agent, state, url, path = sys.argv[1:]\n"
        "s = wherry.BackgroundSession('tests', agent=agent, state_directory=state, agent_idle=0.2,\n"
        "    timeout=None, stall_bytes_per_second=0)\n"
        "print(s.download(url, path), flush=True)\n"
        "os.kill(os.getpid(), 9)\n"
    )
    child = subprocess.run(
        [sys.executable, "-c", program, AGENT, state, url, str(tmp_path / "a")],
        stdout=subprocess.PIPE, timeout=PATIENCE, check=False,
        env={**os.environ, "PYTHONPATH": os.path.dirname(os.path.dirname(wherry.__file__))},
    )  # fmt: skip
    assert child.returncode == -signal.SIGKILL
    number = child.stdout.decode().strip()
    server.wait(requests=1)
    server.open_gate(gate)

    assert session.wait(number, PATIENCE).state == "done"
    assert os.path.getsize(tmp_path / "a") == SIZE


def test_DC_E04_E05_other_programs_pause_resume_and_cancel_a_job(
    server: Server, session: wherry.BackgroundSession, state: str, tmp_path: Any
) -> None:
    gate = server.gate()
    url = server.url(f"/bytes/{SIZE}", hold=400_000, gate=gate)
    files = tmp_path / "files"
    files.mkdir()
    number = session.download(url, files / "a")
    next(job for job in session.follow(number, PATIENCE) if job.done_bytes >= 400_000)
    with wherry.BackgroundSession("tests", state_directory=state, **OPTIONS) as other:
        other.pause(number)
        other.pause(number)
        assert [job.state for job in session.jobs()] == ["paused"]
        assert os.listdir(files) and not (files / "a").exists()
        session.resume(number)
        next(job for job in other.follow(number, PATIENCE) if job.state == "running")
        if os.path.exists(COMMAND):
            assert command(state, "cancel", number)[0]["state"] == "cancelled"
        else:
            other.cancel(number)

    job = session.wait(number, PATIENCE)
    assert job.state == "cancelled" and isinstance(job.error, wherry.CancelledError)
    assert os.listdir(files) == []


def test_DC_E11_DC_E12_failures_are_reported(
    server: Server, session: wherry.BackgroundSession, state: str, tmp_path: Any
) -> None:
    job = session.wait(session.download(server.url("/status/404"), tmp_path / "a"), PATIENCE)
    assert (job.state, job.reason, job.status_code) == ("failed", "http_status", 404)
    assert isinstance(job.error, wherry.HTTPStatusError) and job.error.http_status == 404
    listed = session.job(job)
    assert listed is not None and listed.error is not None and listed.error.reason == "http_status"
    assert isinstance(listed.error, wherry.HTTPStatusError)

    os.symlink(state, tmp_path / "link")
    with pytest.raises(wherry.FileError) as caught:
        wherry.BackgroundSession("tests", state_directory=tmp_path / "link", **OPTIONS)
    assert caught.value.reason == "unsafe_state_dir"
    with pytest.raises(wherry.ArgumentError):
        wherry.BackgroundSession("../x")
    with pytest.raises(TypeError):
        wherry.BackgroundSession("x", colour="red")  # type: ignore[call-arg]
    with pytest.raises(wherry.FileError) as caught:
        with wherry.BackgroundSession("tests", state_directory=tmp_path / "other", agent=tmp_path / "none") as lost:
            lost.download(server.url("/bytes/10"), tmp_path / "b")
    assert caught.value.reason == "no_agent"
    with pytest.raises(wherry.TimeoutError):
        held = session.download(server.url("/bytes/10", gate="never"), tmp_path / "c")
        session.wait(held, 0.05)
    session.close()
    with pytest.raises(wherry.StateError):
        session.jobs()


@pytest.mark.parametrize("resume", [True, False])
@pytest.mark.parametrize("background", [True, False])
def test_D2_background_downloads_can_be_resumable_or_not(
    server: Server, session: wherry.BackgroundSession, tmp_path: Any, background: bool, resume: bool
) -> None:
    url = server.url(f"/bytes/{SIZE}", cut=400_000, times=1)
    if background:
        number = session.download(url, tmp_path / "a", resume=resume)
        assert session.wait(number, PATIENCE).state == "done"
    else:
        with wherry.Client() as client:
            client.download(url, tmp_path / "a", resume=resume)
    assert os.path.getsize(tmp_path / "a") == SIZE
    ranges = [dict(map(tuple, entry["headers"])).get("Range") for entry in server.log()]
    assert ranges == [None, "bytes=400000-" if resume else None]


def kill_agent(state: str) -> None:
    """kill -9, and waits until the process is dead."""
    with socket.socket(socket.AF_UNIX) as link:
        link.connect(os.path.join(state, "agent.sock"))
        peer = link.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, 12)
    agent = int.from_bytes(peer[:4], "little")
    os.kill(agent, signal.SIGKILL)
    with open(os.path.join(state, "agent.lock"), "r+b") as lock:
        # The kernel releases its lock when it is dead.
        fcntl.lockf(lock, fcntl.LOCK_EX)


def test_D14_DR15_a_deferred_job_keeps_its_start_time(
    server: Server, session: wherry.BackgroundSession, state: str, tmp_path: Any
) -> None:
    url = server.url(f"/bytes/{SIZE}", status_first=503, status_times=1, retry_after=3600)
    number = session.download(url, tmp_path / "a")
    next(job for job in session.follow(number, PATIENCE) if job.state == "waiting")
    (before,) = session.jobs()
    assert before.retry_at is not None
    kill_agent(state)

    (after,) = session.jobs()

    assert (after.state, after.retry_at, len(server.log())) == ("waiting", before.retry_at, 1)
    session.resume(number)  # retries at once when requested
    assert session.wait(number, PATIENCE).state == "done"
    assert os.path.getsize(tmp_path / "a") == SIZE


def test_U17_an_upload_outlives_the_program_that_started_it(
    server: Server, session: wherry.BackgroundSession, state: str, tmp_path: Any
) -> None:
    from test_uploads import png

    gate = server.gate()
    url = server.url("/upload-photo", gate=gate)
    picture = tmp_path / "a.png"
    picture.write_bytes(png(64, 64))
    program = (
        "import os, sys, wherry\n"
        "agent, state, url, path = sys.argv[1:]\n"
        "s = wherry.BackgroundSession('tests', agent=agent, state_directory=state, agent_idle=0.2,\n"
        "    timeout=None, stall_bytes_per_second=0)\n"
        "print(s.upload(url, path, fields={'album': 'one'}, tag='mine'), flush=True)\n"
        "os.kill(os.getpid(), 9)\n"
    )
    child = subprocess.run(
        [sys.executable, "-c", program, AGENT, state, url, str(picture)],
        stdout=subprocess.PIPE, timeout=PATIENCE, check=False,
        env={**os.environ, "PYTHONPATH": os.path.dirname(os.path.dirname(wherry.__file__))},
    )  # fmt: skip
    assert child.returncode == -signal.SIGKILL
    picture.unlink()  # The file was read earlier.
    number = child.stdout.decode().strip()
    server.wait(requests=1)
    (job,) = session.jobs()
    assert (job.id, job.kind, job.state, job.tag) == (number, "upload", "running", "mine")
    server.open_gate(gate)

    job = session.wait(number, PATIENCE)

    assert (job.kind, job.state, job.status_code, job.path) == ("upload", "done", 200, None)
    (entry,) = server.log()
    fields = {name.lower(): value for name, value in entry["headers"]}
    assert entry["method"] == "POST" and entry["received"] == int(fields["content-length"])
    assert fields["content-type"].startswith("multipart/form-data")
    assert os.listdir(os.path.join(state, "jobs")) == [number + ".job"]


def test_U17_a_paused_upload_restarts_from_its_beginning(
    server: Server, session: wherry.BackgroundSession, state: str
) -> None:
    from test_uploads import png

    gate = server.gate()
    number = session.upload(server.url("/sink", stall=1, gate=gate), png(64, 64))
    server.wait(requests=1)
    session.pause(number)
    assert [job.state for job in session.jobs()] == ["paused"]
    session.resume(number)
    server.wait(requests=2)
    server.open_gate(gate)
    assert session.wait(number, PATIENCE).state == "done"
    # A cancelled upload leaves no files.
    other = session.upload(server.url("/sink", gate="never"), png(4, 4))
    session.cancel(other)
    assert session.wait(other, PATIENCE).state == "cancelled"
    assert sorted(os.listdir(os.path.join(state, "jobs"))) == sorted([number + ".job", other + ".job"])


def test_D14_asyncio_supports_background_jobs_too(
    server: Server,
    state: str,
    tmp_path: Any,
) -> None:
    from test_uploads import png

    async def work() -> None:
        async with wherry.AsyncBackgroundSession("tests", state_directory=state, **OPTIONS) as session:
            gate = server.gate()
            url = server.url(f"/bytes/{SIZE}", hold=400_000, gate=gate)
            number = await session.download(url, tmp_path / "a")
            seen: List[int] = []
            async for job in session.follow(number):
                seen.append(job.done_bytes)
                if job.done_bytes >= 400_000 and len(await session.jobs()) == 1:
                    break
            await session.pause(number)
            found = await session.job(number)
            assert found is not None and found.state == "paused"
            server.open_gate(gate)
            await session.resume(number)
            job = await asyncio.wait_for(session.wait(number), PATIENCE)
            assert job.state == "done" and os.path.getsize(job.path or "") == SIZE
            await session.acknowledge(job)
            other = await session.download(server.url("/bytes/10", gate="never"), tmp_path / "b")
            with pytest.raises(asyncio.TimeoutError):
                await asyncio.wait_for(session.wait(other), 0.05)
            await session.cancel(other)
            assert (await session.wait(other)).state == "cancelled"
            # U17: uploads too.
            sent = await session.upload(server.url("/sink"), png(4, 4), fields={"a": "1"})
            assert (await session.wait(sent)).status_code == 200

    asyncio.run(work())
