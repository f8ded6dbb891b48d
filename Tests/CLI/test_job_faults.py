# Wherry: tests of damaged background jobs, wrong ids, and many jobs from the shell.
# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import json
import pathlib

from conftest import Scope
from test_downloads import names
from test_jobs import Session, session  # noqa: F401
from test_uploads import jpeg


def test_D14_an_unreadable_record_is_listed_with_the_way_to_delete_it(
    server: Scope,
    session: Session,
    tmp_path: pathlib.Path,  # noqa: F811
) -> None:
    job = session.start(server.url("/bytes/1000?hold=1&gate=never"), tmp_path / "a")
    session.kill_agent()
    record = session.state / "jobs" / f"{job}.job"
    record.write_bytes(b"")

    listed = session.run("list")
    assert listed.status == 0 and listed.text.startswith(job[:12]) and "(damaged_job)" in listed.text
    assert "it is empty" in listed.err and f"wherry jobs clean {job}" in listed.err
    (told,) = session.jobs()
    assert told["state"] == "failed" and told["error"]["reason"] == "damaged_job"
    assert str(record) in session.run("show", job).text

    assert session.run("clean", job).status == 0
    assert session.jobs() == [] and names(session.state / "jobs") == []


def test_U17_a_truncated_stored_body_is_not_sent(
    server: Scope,
    session: Session,
    tmp_path: pathlib.Path,  # noqa: F811
) -> None:
    begun = session.upload(server.url("/sink?stall=1&gate=go"), jpeg(tmp_path / "a.jpg", 64, 64))
    assert begun.status == 0, begun
    job = begun.text.strip()
    server.wait("requests=1")
    assert session.run("pause", job).status == 0
    body = session.state / "jobs" / f"{job}.body"
    body.write_bytes(body.read_bytes()[:-10])
    server.steer("/_signal?gate=go")
    assert session.run("resume", job).status == 0

    followed = session.run("follow", job)

    assert followed.status != 0 and "was not sent" in followed.err
    assert len(server.requests()) == 1
    fields = {name.lower(): value for name, value in server.requests()[0]["headers"]}
    assert fields["idempotency-key"] == f'"{job}"'


# Two of eight wait for one of the six connections; three deaths of the agent ended them as well.
def test_D14_jobs_that_only_waited_for_a_connection_survive_three_deaths_of_the_agent(
    server: Scope,
    session: Session,
    tmp_path: pathlib.Path,  # noqa: F811
) -> None:
    folder = tmp_path / "files"
    folder.mkdir()
    urls = [server.url(f"/bytes/{1000 + number}?gate=go&gate_times=9999") for number in range(8)]
    jobs = session.download(*urls, "-d", folder).text.split()
    for death in range(3):
        assert len(session.jobs()) == 8  # listing starts the next agent
        server.wait(f"requests={6 * (death + 1)}")
        session.wait_for(["queued"] * 2 + ["running"] * 6)
        session.kill_agent()

    session.wait_for(["failed"] * 6 + ["running"] * 2)
    assert {each["job"] for each in session.jobs() if each["state"] == "running"} == set(jobs[6:])
    server.steer("/_signal?gate=go")
    assert session.run("follow", *jobs[6:]).status == 0
    assert [name for name in names(folder) if not name.endswith(".part")] == ["1006", "1007"]


def test_D14_jobs_are_selected_by_their_URL(
    server: Scope,
    session: Session,
    tmp_path: pathlib.Path,  # noqa: F811
) -> None:
    one = session.start(server.url("/bytes/1000?hold=1&gate=never&n=1"), tmp_path / "a")
    two = session.start(server.url("/bytes/1000?hold=1&gate=never&n=2"), tmp_path / "b")
    other = session.start(server.url("/bytes/2000?hold=1&gate=never"), tmp_path / "c")
    url = server.url("/bytes/1000")

    paused = session.run("pause", "--url", url, "--json-output")
    assert paused.status == 0
    told = [json.loads(line) for line in paused.text.splitlines()]
    assert [(each["job"], each["state"]) for each in told] == [(one, "paused"), (two, "paused")]
    states = {each["job"]: each["state"] for each in session.jobs()}
    assert states[one] == states[two] == "paused" and states[other] != "paused"
    assert session.run("cancel", "--url", url, "--url", server.url("/bytes/2000")).status == 0
    assert {each["state"] for each in session.jobs()} == {"cancelled"}
    assert session.run("clean", "--url", url).status == 0
    assert [each["job"] for each in session.jobs()] == [other]
    missing = session.run("cancel", "--url", url)
    assert missing.status == 2 and "no job of the URL" in missing.err
    assert session.run("pause", "--all", "--url", url).status == 2
    assert session.run("pause").status == 2
