# Wherry: tests of how a command line names background jobs.
# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import pathlib

import pytest
from conftest import Scope
from test_downloads import names
from test_jobs import Session, session  # noqa: F401


# An empty argument, such as an unset variable of a script, was a prefix of every id: `jobs cancel
# ""` cancelled the only job and deleted its partial file.
def test_D14_a_text_that_matches_no_job_changes_none(
    server: Scope,
    session: Session,
    tmp_path: pathlib.Path,  # noqa: F811
) -> None:
    folder = tmp_path / "files"
    folder.mkdir()
    job = session.start(server.url("/bytes/1000000?hold=500000&gate=never"), folder / "a")
    server.wait("requests=1")
    session.wait_for(["running"])

    for verb in ("cancel", "pause", "resume", "show", "follow", "clean"):
        refused = session.run(verb, "")
        assert refused.status == 2 and "jobs list" in refused.err, (verb, refused)
    for name in (" ", "\n", job[:1], job[:3], job[:6] + "*", "ABCDEF"):
        assert session.run("cancel", name).status == 2, name
    assert session.run("cancel", job, "").status == 2
    assert session.run("cancel", "", "--json-output").json["error"]["reason"] == "usage"
    assert [(each["job"], each["state"]) for each in session.jobs()] == [(job, "running")]
    assert any(name.endswith(".part") for name in names(folder))

    assert session.run("show", job[:4], "--json-output").json["job"] == job
    assert session.run("cancel", job[:4]).status == 0
    server.steer("/_signal?gate=never")


def test_D14_a_file_name_of_a_few_digits_selects_its_job(
    server: Scope,
    session: Session,
    tmp_path: pathlib.Path,
    monkeypatch: pytest.MonkeyPatch,  # noqa: F811
) -> None:
    monkeypatch.chdir(tmp_path)
    job = session.start(server.url("/bytes/1000?hold=1&gate=never"), pathlib.Path("abc"))

    assert session.run("show", "abc", "--json-output").json["job"] == job
    assert session.run("cancel", "./abc").status == 0
    server.steer("/_signal?gate=never")


# The list showed only the directory, and `jobs cancel FILE` found no job.
def test_D14_a_running_job_has_the_name_that_its_response_determines(
    server: Scope,
    session: Session,
    tmp_path: pathlib.Path,  # noqa: F811
) -> None:
    folder = tmp_path / "files"
    folder.mkdir()
    url = server.url('/bytes/1000000?hold=500000&gate=go&gate_times=9&disposition=attachment;filename="a.iso"')
    job = session.download(url, "-d", folder).text.strip()
    session.follow(job, 500_000)

    file = str(folder / "a.iso")
    assert [each["file"] for each in session.jobs()] == [file]
    assert file in session.run("list").text
    assert session.run("show", file, "--json-output").json["state"] == "running"
    assert session.run("pause", file).status == 0 and session.run("resume", file).status == 0
    server.steer("/_signal?gate=go")
    assert session.run("follow", file).status == 0
    assert names(folder) == ["a.iso"] and [each["file"] for each in session.jobs()] == [file]
