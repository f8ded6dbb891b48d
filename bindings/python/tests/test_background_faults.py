# Wherry: background sessions in Python with damaged files, wrong ids, and many jobs
# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import asyncio
import os
import signal
import threading
import time
from typing import Any, Callable, Dict, List, cast

import pytest
from conftest import PATIENCE, Server
from test_background import AGENT, OPTIONS, session, state  # noqa: F401

import wherry
from wherry._background.jobs import JobEvents

pytestmark = pytest.mark.skipif(not os.path.exists(AGENT), reason=f"{AGENT} is not built")


def kill_agent(folder: str) -> None:
    """kill -9 of the most recent agent; returns when it is dead."""
    with open(os.path.join(folder, "log"), encoding="utf-8") as log:
        lines = [line for line in log if line.rstrip().endswith("started")]
    number = int(lines[-1].split("[")[1].split("]")[0])
    try:
        gone = os.pidfd_open(number)
        os.kill(number, signal.SIGKILL)
    except ProcessLookupError:
        return
    import select

    assert select.select([gone], [], [], PATIENCE)[0]
    os.close(gone)


def keys(server: Server) -> List[Any]:
    """The Idempotency-Key of each request."""
    fields: List[Dict[str, str]] = [{name.lower(): value for name, value in entry["headers"]} for entry in server.log()]
    return [each.get("idempotency-key") for each in fields]


def within(seconds: float, work: Callable[[], Any]) -> Any:
    """The result of `work`, which must not take longer: the bug was the wait."""
    start = time.perf_counter()
    try:
        return work()
    finally:
        assert time.perf_counter() - start < seconds


# Each of these calls waited for 30 s.
@pytest.mark.parametrize("number", ["", "x", "../x", "F" * 32, "0" * 32])
def test_D14_an_unknown_job_id_fails_at_once(
    session: wherry.BackgroundSession,
    number: str,  # noqa: F811
) -> None:
    for verb in (session.pause, session.resume, session.cancel, session.acknowledge):
        with pytest.raises(wherry.ArgumentError) as caught:
            within(5, lambda verb=verb: verb(number))  # type: ignore[misc]
        assert caught.value.reason == "not_found"
    with pytest.raises(wherry.ArgumentError) as caught:
        within(5, lambda: session.wait(number))
    assert caught.value.reason == "not_found"
    assert session.job(number) is None


def test_D14_an_unknown_job_id_fails_at_once_with_an_agent_too(
    server: Server,
    session: wherry.BackgroundSession,
    tmp_path: Any,  # noqa: F811
) -> None:
    session.download(server.url("/bytes/10", gate="never"), tmp_path / "a")
    for number in ("", "x", "0" * 32):
        with pytest.raises(wherry.ArgumentError) as caught:
            within(5, lambda number=number: session.cancel(number))  # type: ignore[misc]
        assert caught.value.reason == "not_found"


# The losing programs waited 2 s for a lock that the winner keeps for its lifetime.
def test_D14_programs_that_start_an_agent_together_do_not_wait_for_each_other(
    server: Server,
    state: str,
    tmp_path: Any,  # noqa: F811
) -> None:
    times: List[float] = []
    ready = threading.Barrier(4)

    def work(index: int) -> None:
        with wherry.BackgroundSession("tests", state_directory=state, **OPTIONS) as own:
            ready.wait()
            start = time.perf_counter()
            own.download(server.url("/bytes/10", gate="never"), tmp_path / str(index))
            times.append(time.perf_counter() - start)

    threads = [threading.Thread(target=work, args=(index,)) for index in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    # Each took 2.05 s. The limit leaves room for a busy machine.
    assert len(times) == 4 and max(times) < 1.5


def test_U17_a_stored_body_that_has_changed_is_not_sent(server: Server, state: str) -> None:  # noqa: F811
    from test_uploads import png

    gate = server.gate()
    with wherry.BackgroundSession("tests", state_directory=state, autostart=False, **OPTIONS) as own:
        number = own.upload(server.url("/sink", stall=1, gate=gate), png(64, 64))
        server.wait(requests=1)
        kill_agent(state)
        path = os.path.join(state, "jobs", number + ".body")
        with open(path, "r+b") as body:
            body.seek(-1, os.SEEK_END)
            last = body.read(1)
            body.seek(-1, os.SEEK_END)
            body.write(bytes([last[0] ^ 1]))
        server.open_gate(gate)
        own.resume(number)
        job = own.wait(number, PATIENCE)
        assert job.state == "failed" and isinstance(job.error, wherry.FileError)
        assert job.error.reason == "damaged_job" and "digest" in str(job.error)
        assert len(server.log()) == 1
        own.acknowledge(job)


def test_D14_an_unreadable_record_is_listed_and_acknowledging_deletes_it(
    server: Server,
    session: wherry.BackgroundSession,
    state: str,
    tmp_path: Any,  # noqa: F811
) -> None:
    number = session.download(server.url("/bytes/10", gate="never"), tmp_path / "a")
    kill_agent(state)
    path = os.path.join(state, "jobs", number + ".job")
    with open(path, "wb") as record:
        record.write(b'{"version": 1, "job": {')

    (job,) = session.jobs()

    assert (job.id, job.state, job.is_over, job.reason) == (number, "failed", True, "damaged_job")
    assert isinstance(job.error, wherry.FileError) and job.error.reason == "damaged_job"
    assert path in str(job.error) and f"jobs clean {number}" in str(job.error)
    assert "damaged_job" in job.describe()
    session.cancel(number)  # A finished job never changes.
    session.acknowledge(job)
    assert session.jobs() == [] and os.listdir(os.path.join(state, "jobs")) == []


def test_U17_each_attempt_sends_the_job_id_as_its_idempotency_key(
    server: Server,
    session: wherry.BackgroundSession,
    state: str,  # noqa: F811
) -> None:
    from test_uploads import png

    gate = server.gate()
    number = session.upload(server.url("/sink", stall=1, gate=gate), png(64, 64))
    server.wait(requests=1)
    kill_agent(state)
    assert session.job(number) is not None  # Any look at the jobs starts the next agent.
    server.wait(requests=2)
    server.open_gate(gate)
    assert session.wait(number, PATIENCE).state == "done"
    assert keys(server) == [f'"{number}"'] * 2

    own = session.upload(server.url("/sink"), png(4, 4), headers={"Idempotency-Key": "mine"})
    assert session.wait(own, PATIENCE).state == "done"
    assert keys(server)[2:] == ["mine"]


def test_D14_commands_apply_to_all_jobs_or_to_those_of_a_URL_a_tag_or_a_path(
    server: Server,
    session: wherry.BackgroundSession,
    tmp_path: Any,  # noqa: F811
) -> None:
    one = server.url("/bytes/1000", hold=1, gate="never")
    two = server.url("/bytes/2000", hold=1, gate="never")
    first = session.download(one, tmp_path / "a", tag="mine")
    second = session.download(one + "&n=2", tmp_path / "b")
    third = session.download(two, tmp_path / "c")

    def states() -> List[str]:
        found = {job.id: job.state for job in session.jobs()}
        return [found[number] for number in (first, second, third)]

    assert session.pause_all(url=one.split("?")[0]) == 2
    assert states()[:2] == ["paused", "paused"] and states()[2] != "paused"
    assert session.pause_all() == 3 and states() == ["paused"] * 3
    assert session.resume_all(tag="mine") == 1 and states()[1:] == ["paused"] * 2
    assert session.cancel_all(path=tmp_path / "b") == 1
    assert session.cancel_all(url=[two, "http://127.0.0.1:1/none"]) == 1
    assert states()[1:] == ["cancelled"] * 2
    assert session.acknowledge_all() == 2 and [job.id for job in session.jobs()] == [first]
    assert session.pause_all(url="http://127.0.0.1:1/none") == 0
    with pytest.raises(wherry.ArgumentError):
        session.cancel_all(identifier="x")
    with pytest.raises(wherry.ArgumentError):
        session.cancel_all(url=cast(str, None))

    async def work() -> None:
        async with wherry.AsyncBackgroundSession("tests", state_directory=session_state, **OPTIONS) as other:
            assert await other.pause_all() == 1
            assert await other.resume_all() == 1
            assert await other.cancel_all() == 1
            assert await other.acknowledge_all() == 1

    session_state = os.path.join(str(tmp_path), "state")
    asyncio.run(work())
    assert session.jobs() == []


def test_L4_a_background_job_describes_itself(
    server: Server,
    session: wherry.BackgroundSession,
    tmp_path: Any,  # noqa: F811
) -> None:
    number = session.download(server.url("/bytes/10", secret=1), tmp_path / "a", tag="mine")
    job = session.wait(number, PATIENCE)
    assert job.describe(full=False) == f"<Download job: {number[:12]}>"
    text = job.describe()
    for word in ("background download", str(tmp_path / "a"), "mine", "done", number, "10 of 10"):
        assert word in text
    assert "secret" not in text


def test_D14_a_job_that_ends_before_it_is_followed_has_its_size(
    server: Server,
    session: wherry.BackgroundSession,
    tmp_path: Any,  # noqa: F811
) -> None:
    number = session.download(server.url("/bytes/10"), tmp_path / "a")
    finished = session.wait(number, PATIENCE)
    events = JobEvents(session, number)
    known = events._known[number]
    # As if the job had started after the reader listed the jobs.
    known.state, known.done_bytes, known.total_bytes = "queued", 0, None
    found = []
    while not events.is_over:  # The progress may arrive before the end.
        read = events.read(PATIENCE * 1000)
        assert read
        found += [job for job in read if job.is_over]
    events.close()
    for job in (finished, *found):
        assert (job.state, job.done_bytes, job.total_bytes) == ("done", 10, 10)
    assert len(found) == 1
