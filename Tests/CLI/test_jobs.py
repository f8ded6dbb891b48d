# Wherry: tests of background jobs started and controlled from the shell.
# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import json
import os
import pathlib
import select
import signal
import socket
import stat
import subprocess
from typing import Any, Iterator

import pytest
from conftest import GUARD, PATIENT, PATIENT_DOWNLOAD, Result, Scope, start, wherry
from test_downloads import names, pattern
from test_uploads import jpeg

SIZE = 3_000_000


class Session:
    """A session in a separate folder, controlled by commands."""

    def __init__(self, state: pathlib.Path) -> None:
        self.state = state

    def download(self, *arguments: object) -> Result:
        return wherry("download", *arguments, *PATIENT_DOWNLOAD, "--background", "--state-dir", self.state)

    def upload(self, *arguments: object) -> Result:
        return wherry("upload", *arguments, *PATIENT, "--detach", "--state-dir", self.state)

    def run(self, verb: str, *arguments: object) -> Result:
        return wherry("jobs", verb, *arguments, "--state-dir", self.state)

    def jobs(self) -> list[dict[str, Any]]:
        listed = self.run("list", "--json-output", "--quiet")
        assert listed.status == 0, listed
        return [json.loads(line) for line in listed.text.splitlines()]

    def start(self, url: str, target: pathlib.Path, *more: object) -> str:
        begun = self.download(url, "-o", target, *more)
        assert begun.status == 0 and begun.err == "", begun
        return begun.text.strip()

    def follow(self, job: str, least: int) -> None:
        """Until this many bytes of a job have arrived."""
        command = start("jobs", "follow", job, "--state-dir", self.state, "--progress", "json", stderr=subprocess.PIPE)
        assert command.stderr
        for line in command.stderr:
            record = json.loads(line)
            if record["event"] == "progress" and record["completed"] >= least:
                break
        else:
            raise AssertionError("it ended before")
        command.send_signal(signal.SIGINT)
        command.communicate(timeout=GUARD)
        assert command.returncode == 130

    def wait_for(self, states: list[str]) -> None:
        """Until the jobs have these states, sorted."""
        listed: list[str] = []
        for _ in range(200):
            listed = sorted(each["state"] for each in self.jobs())
            if listed == states:
                return
        raise AssertionError(listed)

    def kill_agent(self) -> None:
        """kill -9, and waits until the process is dead."""
        agent = self.agent()
        assert agent is not None
        gone = os.pidfd_open(agent)
        os.kill(agent, signal.SIGKILL)
        assert select.select([gone], [], [], GUARD)[0]
        os.close(gone)

    def agent(self) -> int | None:
        """The process that runs the jobs, found through its socket."""
        with socket.socket(socket.AF_UNIX) as link:
            try:
                link.connect(str(self.state / "agent.sock"))
            except OSError:
                return None
            peer = link.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, 12)
        return int.from_bytes(peer[:4], "little")


@pytest.fixture
def session(tmp_path: pathlib.Path) -> Iterator[Session]:
    made = Session(tmp_path / "state")
    yield made
    if made.state.is_dir() and not made.state.is_symlink():
        made.run("cancel", "--all")
        made.run("clean")


def test_DC_E01_a_job_outlives_the_command_and_its_group(
    server: Scope,
    session: Session,
    tmp_path: pathlib.Path,
) -> None:
    url = server.url(f"/bytes/{SIZE}?hold=1000000&gate=go")
    command = start(
        "download",
        url,
        "-o",
        tmp_path / "a",
        *PATIENT_DOWNLOAD,
        "--detach",
        "--state-dir",
        session.state,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        start_new_session=True,
    )
    # Both ends of its output are closed when it exits: the agent has none of them (DC-E02).
    out, err = command.communicate(timeout=GUARD)
    assert command.returncode == 0 and err == b""
    server.wait("requests=1")
    with pytest.raises(ProcessLookupError):
        os.killpg(command.pid, signal.SIGKILL)  # the process group is empty
    job = out.decode().strip()

    server.steer("/_signal?gate=go")
    followed = session.run("follow", job)

    assert followed.status == 0 and (tmp_path / "a").read_bytes() == pattern(1, SIZE)
    assert session.jobs()[0]["state"] == "done"


def test_followed_speed_counts_only_bytes_that_arrive_meanwhile(
    server: Scope, session: Session, tmp_path: pathlib.Path
) -> None:
    # All bytes of the job were divided by the seconds since the follower started.
    job = session.start(server.url(f"/bytes/{SIZE}?hold=2000000&gate=go&times=1"), tmp_path / "a", "--segments", 1)
    session.follow(job, 2_000_000)
    command = start("jobs", "follow", job, "--state-dir", session.state, "--progress", "lines", stderr=subprocess.PIPE)
    assert command.stderr
    first = command.stderr.readline()  # it has received the two million by now
    server.steer("/_signal?gate=go")
    rest = command.stderr.read().decode()

    assert command.wait(GUARD) == 0 and first.startswith(b"a: 1.9 of 2.9 MiB")
    assert "a: 2.9 MiB in " in rest and rest.rstrip().endswith(", 1.9 MiB were already there"), rest
    command.stderr.close()


def test_DC_E03_E04_another_process_lists_a_job_and_cancels_it(
    server: Scope, session: Session, tmp_path: pathlib.Path
) -> None:
    folder = tmp_path / "files"
    folder.mkdir()
    job = session.start(
        server.url(f"/bytes/{SIZE}?hold=1000000&gate=never&secret=1"), folder / "a.bin", "--segments", 1
    )
    session.follow(job, 1_000_000)

    listed = session.jobs()
    assert [(each["job"], each["state"], each["total"]) for each in listed] == [(job, "running", SIZE)]
    assert listed[0]["completed"] == 1_000_000 and listed[0]["file"] == str(folder / "a.bin")
    assert "secret" not in session.run("list").text + session.run("show", job).text
    plain = session.run("list").text
    assert plain.startswith(job[:12]) and "running" in plain and "33 %" in plain and "a.bin" in plain
    shown = session.run("show", folder / "a.bin", "--json-output").json  # by its file
    assert shown["job"] == job

    cancelled = session.run("cancel", job[:6], "--json-output")  # by the prefix of its id
    assert cancelled.status == 0 and cancelled.json["state"] == "cancelled"
    assert names(folder) == []
    assert session.run("clean", job).status == 0 and session.jobs() == []
    assert session.run("cancel", job).status == 2 and session.run("show", job).status == 2


def test_DC_E05_one_process_pauses_and_another_resumes(
    server: Scope,
    session: Session,
    tmp_path: pathlib.Path,
) -> None:
    job = session.start(server.url(f"/bytes/{SIZE}?hold=1000000&gate=go&times=1"), tmp_path / "a")
    session.follow(job, 1_000_000)

    assert session.run("pause", "--all").status == 0
    assert session.jobs()[0]["state"] == "paused"
    assert (tmp_path / "a").exists() is False and any(".part" in name for name in names(tmp_path))
    assert session.run("resume", job).status == 0
    assert session.run("follow", job).status == 0

    assert (tmp_path / "a").read_bytes() == pattern(1, SIZE)
    assert ["range" in {name.lower() for name, _ in told["headers"]} for told in server.requests()] == [False, True]


def test_DC_E06_a_job_continues_after_its_agent_was_killed(
    server: Scope,
    session: Session,
    tmp_path: pathlib.Path,
) -> None:
    job = session.start(server.url(f"/bytes/{SIZE}?hold=1000000&gate=go&times=1"), tmp_path / "a")
    session.follow(job, 1_000_000)
    session.kill_agent()

    # Listing the jobs is enough to continue it.
    assert session.run("follow", job).status == 0

    assert (tmp_path / "a").read_bytes() == pattern(1, SIZE)
    assert session.jobs()[0]["state"] == "done"


def test_DC_E07_the_same_job_started_twice_is_one(
    server: Scope,
    session: Session,
    tmp_path: pathlib.Path,
) -> None:
    url = server.url(f"/bytes/{SIZE}?hold=1000000&gate=go")
    first = session.start(url, tmp_path / "a")
    assert session.start(url, tmp_path / "a") == first and len(session.jobs()) == 1
    other = session.download(server.url("/bytes/10"), "-o", tmp_path / "a")
    assert other.status != 0 and "busy" in other.err
    server.steer("/_signal?gate=go")
    assert session.run("follow", first).status == 0
    assert len(server.requests()) == 1


# The finished job was returned, and nothing was downloaded.
def test_D14_a_finished_job_does_not_prevent_a_new_download_of_its_file(
    server: Scope,
    session: Session,
    tmp_path: pathlib.Path,
) -> None:
    url = server.url(f"/bytes/{SIZE}")
    job = session.start(url, tmp_path / "a")
    assert session.run("follow", job).status == 0

    refused = session.download(url, "-o", tmp_path / "a")
    assert refused.status == 7 and "exists" in refused.err
    assert [each["job"] for each in session.jobs()] == [job] and len(server.requests()) == 1
    for more in (["--overwrite"], []):
        (tmp_path / "a").write_bytes(b"old")
        if not more:
            (tmp_path / "a").unlink()
        assert session.start(url, tmp_path / "a", *more) == job
        assert session.run("follow", job).status == 0
        assert (tmp_path / "a").read_bytes() == pattern(1, SIZE)
    assert len(server.requests()) == 3

    # Without -o, the response names the file.
    folder = tmp_path / "files"
    folder.mkdir()
    for wanted in (0, 7):
        named = session.download(url, "-d", folder).text.strip()
        followed = session.run("follow", named)
        assert followed.status == wanted, followed
    assert names(folder) == [str(SIZE)]


def test_DC_E09_records_are_private_and_contain_the_secrets(
    server: Scope,
    session: Session,
    tmp_path: pathlib.Path,
) -> None:
    job = session.start(server.url(f"/bytes/{SIZE}?gate=never"), tmp_path / "a", "-H", "X-Secret: hush")
    server.wait("requests=1")

    assert stat.S_IMODE(session.state.stat().st_mode) == 0o700
    for entry in session.state.rglob("*"):
        wanted = 0o700 if entry.is_dir() else 0o600
        assert entry.is_socket() or stat.S_IMODE(entry.stat().st_mode) == wanted, entry
    assert ["X-Secret", "hush"] in server.requests()[0]["headers"]
    assert b"hush" not in (session.state / "log").read_bytes()
    agent = session.agent()
    assert b"hush" not in pathlib.Path(f"/proc/{agent}/cmdline").read_bytes()
    assert "hush" not in session.run("show", job, "--json-output").text


def test_DC_E10_no_process_remains_when_the_jobs_are_done(
    server: Scope,
    session: Session,
    tmp_path: pathlib.Path,
) -> None:
    job = session.start(server.url("/bytes/1000?gate=go"), tmp_path / "a")
    agent = session.agent()
    assert agent is not None
    leaving = os.pidfd_open(agent)
    server.steer("/_signal?gate=go")
    assert session.run("follow", job).status == 0

    assert select.select([leaving], [], [], GUARD)[0]  # it exits without help
    os.close(leaving)

    assert session.agent() is None
    # The list exists without it, and reading it starts none.
    assert [each["state"] for each in session.jobs()] == ["done"] and session.agent() is None
    assert job[:12] in session.run("clean").text and session.jobs() == []
    assert names(tmp_path) == ["a", "state"]


def test_DC_E11_a_state_directory_owned_by_others_is_refused(
    server: Scope,
    session: Session,
    tmp_path: pathlib.Path,
) -> None:
    real = tmp_path / "real"
    real.mkdir(mode=0o700)
    session.state.symlink_to(real)
    refused = session.download(server.url("/bytes/10"), "-o", tmp_path / "a")
    assert refused.status == 7 and "unsafe_state_dir" in refused.err
    session.state.unlink()
    session.state.mkdir()
    session.state.chmod(0o777)
    assert "unsafe_state_dir" in session.run("list").err
    session.state.rmdir()
    assert list(real.iterdir()) == [] and server.requests() == []


def test_DC_E12_a_background_failure_is_reported_later(server: Scope, session: Session, tmp_path: pathlib.Path) -> None:
    job = session.start(server.url("/status/404?body=gone"), tmp_path / "a")
    followed = session.run("follow", job)
    assert followed.status == 3 and "http_status" in followed.err

    told = session.jobs()[0]
    assert told["state"] == "failed" and told["error"]["reason"] == "http_status" and told["error"]["status"] == 404
    assert "(http_status)" in session.run("list").text
    assert session.run("follow", job, "--json-output").json["error"]["reason"] == "http_status"
    assert session.run("clean", "--json-output").json["job"] == job and session.jobs() == []


# `jobs follow` found no unfinished job, and exited with 0.
def test_D14_follow_without_names_reports_a_job_that_has_already_failed(
    server: Scope, session: Session, tmp_path: pathlib.Path
) -> None:
    job = session.start(server.url("/status/404"), tmp_path / "a")
    session.wait_for(["failed"])
    held = session.start(server.url("/bytes/10?gate=go"), tmp_path / "b")
    server.steer("/_signal?gate=go")

    followed = session.run("follow")
    assert followed.status == 3 and "wherry: a: http_status" in followed.err
    assert (tmp_path / "b").stat().st_size == 10

    assert session.run("clean", job).status == 0 and session.run("follow").status == 0
    assert [each["job"] for each in session.jobs()] == [held]


def test_U17_an_upload_outlives_the_command_and_its_images(
    server: Scope, session: Session, tmp_path: pathlib.Path
) -> None:
    picture = jpeg(tmp_path / "one.jpg")
    command = start(
        "upload",
        server.url("/upload-photo?gate=go"),
        picture,
        "--field",
        "album=Ferien",
        "--quality",
        "0.5",
        *PATIENT,
        "--detach",
        "--state-dir",
        session.state,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        start_new_session=True,
    )
    out, err = command.communicate(timeout=GUARD)
    assert command.returncode == 0 and err == b""
    with pytest.raises(ProcessLookupError):
        os.killpg(command.pid, signal.SIGKILL)  # the process group is empty
    size = picture.stat().st_size
    picture.unlink()
    job = out.decode().strip()
    server.wait("requests=1")
    told = session.jobs()
    assert [(each["job"], each["kind"], each["state"]) for each in told] == [(job, "upload", "running")]

    server.steer("/_signal?gate=go")
    assert session.run("follow", job).status == 0

    done = session.jobs()[0]
    assert done["state"] == "done" and done["status"] == 200
    sent = server.requests()
    assert len(sent) == 1 and sent[0]["method"] == "POST"
    kept = [path for path in pathlib.Path(server.facts["saved"]).rglob("*one.jpg*") if path.is_file()]
    assert any(1000 < path.stat().st_size < size / 2 for path in kept)


def test_U17_an_upload_is_sent_again_after_its_agent_was_killed(
    server: Scope, session: Session, tmp_path: pathlib.Path
) -> None:
    begun = session.upload(server.url("/sink?stall=1&gate=go"), jpeg(tmp_path / "one.jpg"), "--json-output")
    assert begun.status == 0 and begun.json["ok"] is True
    job = begun.json["job"]
    server.wait("requests=1")
    session.kill_agent()

    assert [each["job"] for each in session.jobs()] == [job]  # listing is enough to continue it
    server.wait("requests=2")
    server.steer("/_signal?gate=go")
    assert session.run("follow", job).status == 0

    assert [(each["state"], each["status"]) for each in session.jobs()] == [("done", 200)]
    assert list((session.state / "jobs").iterdir()) == [session.state / "jobs" / f"{job}.job"]


def test_U17_an_invalid_upload_is_refused_at_once(server: Scope, session: Session, tmp_path: pathlib.Path) -> None:
    (tmp_path / "text.jpg").write_text("no picture")
    broken = session.upload(server.url("/sink"), tmp_path / "text.jpg")
    assert broken.status != 0 and "text.jpg" in broken.err
    for arguments in (["--separate", "2", "--detach"], ["--session", "x"]):
        refused = wherry("upload", server.url("/sink"), jpeg(tmp_path / "one.jpg"), *arguments)
        assert refused.status == 2 and "--detach" in refused.err
    assert server.requests() == [] and session.jobs() == []


@pytest.mark.parametrize("background", [False, True])
@pytest.mark.parametrize("resumable", [False, True])
def test_D2_downloads_can_be_resumable_or_not_in_foreground_and_background(
    server: Scope, session: Session, tmp_path: pathlib.Path, background: bool, resumable: bool
) -> None:
    """D14 too: later programs find background jobs again."""
    url = server.url(f"/bytes/{SIZE}?cut=1000000&times=1")
    first = wherry("download", url, "-o", tmp_path / "a", "--retries", "0")
    assert first.status == 4  # its partial file exists

    options = [url, "-o", tmp_path / "a", *([] if resumable else ["--no-resume"])]
    if background:
        assert session.run("follow", session.download(*options).text.strip()).status == 0
    else:
        assert wherry("download", *options).status == 0

    assert (tmp_path / "a").read_bytes() == pattern(1, SIZE)
    asked = [{n.lower(): v for n, v in told["headers"]}.get("range") for told in server.requests()]
    # A background job resumes the partial file of the foreground download.
    assert asked == [None, "bytes=1000000-" if resumable else None]


def test_D25_twenty_queued_jobs_keep_their_order_after_the_agent_was_killed(
    server: Scope, session: Session, tmp_path: pathlib.Path
) -> None:
    folder = tmp_path / "files"
    folder.mkdir()
    urls = [server.url(f"/bytes/{1000 + number}?gate=go&gate_times=9999") for number in range(20)]
    begun = session.download(*urls, "-d", folder)
    jobs = begun.text.split()
    assert begun.status == 0 and len(jobs) == 20
    server.wait("active=6")  # the agent starts 8 jobs, and a host has 6 connections
    assert [each["job"] for each in session.jobs()] == jobs
    session.wait_for(["queued"] * 14 + ["running"] * 6)
    session.kill_agent()

    assert [each["job"] for each in session.jobs()] == jobs  # and a new agent continues them
    server.wait("requests=12")
    again = {told["target"].split("/bytes/")[1][:4] for told in server.requests()[6:12]}
    assert again <= {str(1000 + number) for number in range(8)}
    server.steer("/_signal?gate=go")
    assert session.run("follow", *jobs).status == 0
    assert names(folder) == sorted(str(1000 + number) for number in range(20))


def test_conflicting_options_and_unknown_jobs_are_refused(
    session: Session,
    tmp_path: pathlib.Path,
) -> None:
    for arguments in (
        ["download", "http://127.0.0.1:1/", "--session", "x"],
        ["download", "http://127.0.0.1:1/", "--background", "--max-active", "2"],
        ["jobs", "pause", "--state-dir", session.state],
        ["jobs", "pause", "a", "--all", "--state-dir", session.state],
        ["jobs", "show", "abc", "--state-dir", session.state],
        ["jobs", "follow", "abc", "--state-dir", session.state],
        ["jobs", "list", "--session", "../x"],
    ):
        refused = wherry(*arguments)
        assert refused.status == 2 and refused.err != "", arguments
    for arguments in (["list"], []):  # without a subcommand, it lists the jobs
        empty = wherry("jobs", *arguments, "--state-dir", session.state)
        assert empty.status == 0 and empty.out == b"" and empty.err == "There are no jobs.\n"


def test_C12_the_agent_stores_jobs_in_the_xdg_folders(server: Scope, tmp_path: pathlib.Path) -> None:
    """The agent too uses XDG_STATE_HOME and XDG_CACHE_HOME, and writes nothing to HOME."""
    folders: dict[str, Any] = {name: str(tmp_path / name) for name in ("HOME", "XDG_STATE_HOME", "XDG_CACHE_HOME")}
    for folder in folders.values():
        os.mkdir(folder)
    url, target = server.url("/bytes/1000"), tmp_path / "file"
    begun = wherry("download", url, "-o", target, *PATIENT_DOWNLOAD, "--background", **folders)
    assert begun.status == 0, begun
    followed = wherry("jobs", "follow", begun.text.strip(), **folders)
    assert followed.status == 0, followed
    assert target.stat().st_size == 1000
    assert os.listdir(folders["HOME"]) == []
    assert os.listdir(folders["XDG_STATE_HOME"]) == ["wherry"]
