# Wherry: tests of how a command line names background jobs.
# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import pathlib

import pytest
from conftest import Scope
from test_downloads import names
from test_jobs import Session, session  # noqa: F401


# An empty argument, such as an unset variable of a script, was the beginning of every id: `jobs cancel ""`
# cancelled the only job and deleted its partial file.
@pytest.mark.parametrize("name", ["", " ", "\n", "one digit", "three digits", "not hexadecimal", "upper case"])
def test_D14_a_text_that_names_no_job_touches_none(
    server: Scope, session: Session, tmp_path: pathlib.Path, name: str  # noqa: F811
) -> None:
    folder = tmp_path / "files"
    folder.mkdir()
    job = session.start(server.url("/bytes/1000000?hold=500000&gate=never"), folder / "a")
    session.follow(job, 1)
    given = {"one digit": job[:1], "three digits": job[:3], "not hexadecimal": job[:6] + "*",
             "upper case": "ABCDEF"}.get(name, name)

    for verb in ("cancel", "pause", "resume", "show", "follow", "clean"):
        refused = session.run(verb, given)
        assert refused.status == 2 and refused.err.strip(), (verb, refused)
        assert session.run(verb, given, "--json-output").json["ok"] is False
        both = session.run(verb, job, given) if verb != "show" else refused
        assert both.status == 2
    assert [(each["job"], each["state"]) for each in session.jobs()] == [(job, "running")]
    assert any(name.endswith(".part") for name in names(folder))

    assert session.run("show", job[:4], "--json-output").json["job"] == job
    assert session.run("cancel", job[:4]).status == 0
    server.steer("/_signal?gate=never")


def test_D14_a_file_with_the_name_of_few_digits_names_its_job(
    server: Scope, session: Session, tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch  # noqa: F811
) -> None:
    monkeypatch.chdir(tmp_path)
    job = session.start(server.url("/bytes/1000?hold=1&gate=never"), pathlib.Path("abc"))

    assert session.run("show", "abc", "--json-output").json["job"] == job
    assert session.run("cancel", "./abc").status == 0
    server.steer("/_signal?gate=never")
