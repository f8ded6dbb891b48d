# Wherry: tests of messages: names of options, and values of any length.
# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import json
import pathlib
import re
import subprocess
import tomllib

import pytest
from conftest import GUARD, PATIENT_DOWNLOAD, ROOT, Result, Scope, start, wherry
from test_uploads import jpeg

TABLE = tomllib.loads((ROOT / "Sources/WherryRequests/Options/options.toml").read_text())
OPTIONS = {row["name"] for kind in ("option", "text") for row in TABLE[kind] if "_" in row["name"]}
ADVICE = "Sources/WherryHTTP/Errors/OptionAdvice.swift"


def names_of_the_library(text: str) -> set[str]:
    """The options of the library that a text names; words before a colon are error reasons."""
    return {word for word in re.findall(r"(?<![\w.])[a-z0-9]+(?:_[a-z0-9]+)+(?![\w:])", text) if word in OPTIONS}


def test_no_message_names_an_option_that_the_command_does_not_have(
    server: Scope,
    tmp_path: pathlib.Path,
) -> None:
    # Messages suggested keep_auth_across_hosts, https_only, and make_directories.
    assert len(OPTIONS) > 60
    port = server.facts["port"]
    elsewhere = server.url("/redirect-to?status=307&url=" + server.url("/echo").replace("127.0.0.1", "localhost"))
    missing = tmp_path / "no" / "file"
    existing = tmp_path / "existing"
    existing.touch()
    state = ("--state-dir", tmp_path / "state")
    results: list[tuple[Result, str]] = [
        (wherry("post", elsewhere, "--data", "x"), f"localhost:{port}"),
        (wherry("get", server.url("/echo"), "--https-only"), "--https-only"),
        (wherry("get", server.url("/echo"), "-H", "Connection: close"), "Leave it out"),
        (wherry("download", server.url("/echo"), "--https-only", "-o", tmp_path / "x"), "--https-only"),
        (wherry("download", server.url("/bytes/1"), "-o", missing), "--create-dirs"),
        (wherry("download", server.url("/bytes/1"), server.url("/bytes/2"), "-d", missing), "--create-dirs"),
        (wherry("download", server.url("/bytes/1"), "-o", missing, "--background", *state), "--create-dirs"),
        (wherry("upload", elsewhere, jpeg(tmp_path / "a.jpg", 64, 64)), f"localhost:{port}"),
        (wherry("download", server.url("/bytes/1"), "-o", existing), "--overwrite"),
        (wherry("get", server.url("/status/401")), "--user"),
        (wherry("get", server.url("/redirect/3"), "--max-redirects", 2), "--max-redirects"),
        (wherry("get", server.url("/bytes/9?hold=1&gate=never"), "--total-timeout", 0.2), "--total-timeout"),
        (wherry("get", server.tls("/echo"), "--pinnedpubkey", "sha256//x"), "--pinnedpubkey"),
        (wherry("get", server.tls("/echo"), "--cacert", server.ca, "--cert", server.facts["client_cert"]), "--key"),
    ]
    for result, words in results:
        assert result.status != 0 and words in result.err, result
        assert names_of_the_library(result.err) == set(), result.err
    told = wherry("get", server.url("/echo"), "--https-only", "--json-output")
    assert names_of_the_library(told.json["error"]["message"]) == set() and "--https-only" in told.text
    listed = wherry("jobs", "list", "--json-output", *state)
    assert names_of_the_library(listed.text) == set()


# The message said that the same command resumes, although it would fail again.
def test_a_file_that_appears_during_a_download_needs_overwrite(server: Scope, tmp_path: pathlib.Path) -> None:
    url = server.url("/bytes/1000?hold=500&gate=go")
    command = start("download", url, "-o", tmp_path / "a", *PATIENT_DOWNLOAD, stderr=subprocess.PIPE)
    server.wait("requests=1")
    while not list(tmp_path.glob(".a.*")):
        pass
    (tmp_path / "a").touch()
    server.steer("/_signal?gate=go")
    _, err = command.communicate(timeout=GUARD)

    text = err.decode()
    assert (
        command.returncode == 7
        and "exists" in text
        and "is kept, and the same command with --overwrite resumes if the server supports it." in text
    )
    assert wherry("download", url, "-o", tmp_path / "a", "--overwrite").status == 0
    assert (tmp_path / "a").stat().st_size == 1000


def test_the_error_of_a_job_names_options_of_the_command(
    server: Scope,
    tmp_path: pathlib.Path,
) -> None:
    # jobs show and jobs list printed the message of the library.
    state = ("--state-dir", tmp_path / "state")
    folder = tmp_path / "files"
    folder.mkdir()
    held = server.url("/bytes/1000?gate=go")
    job = wherry("download", held, "-o", folder / "a", *PATIENT_DOWNLOAD, "--background", *state).text.strip()
    server.wait("requests=1")
    assert wherry("jobs", "pause", job, *state).status == 0
    for path in folder.iterdir():
        path.unlink()
    folder.rmdir()
    server.steer("/_signal?gate=go")
    assert wherry("jobs", "resume", job, *state).status == 0
    followed = wherry("jobs", "follow", job, *state)
    assert followed.status == 7 and "--create-dirs" in followed.err and names_of_the_library(followed.err) == set()
    shown = wherry("jobs", "show", job, "--json-output", *state)
    assert "--create-dirs" in shown.json["error"]["message"] and names_of_the_library(shown.text) == set()
    assert "--create-dirs" in wherry("jobs", "show", job, *state).text
    assert wherry("jobs", "clean", *state).status == 0


def test_errors_of_the_library_name_options_in_one_place() -> None:
    # A front end can replace only the sentences that it knows.
    found = []
    for path in sorted((ROOT / "Sources").rglob("*.swift")):
        for number, line in enumerate(path.read_text().splitlines(), 1):
            code = line.split("//")[0] if line.lstrip().startswith("//") else line
            texts = [text for text in re.findall(r'"((?:[^"\\]|\\.)*)"', code) if " " in text]
            names = {name for text in texts for name in names_of_the_library(text)}
            if names and str(path.relative_to(ROOT)) != ADVICE:
                found.append(f"{path.relative_to(ROOT)}:{number}: {names}")

    assert found == []
    assert names_of_the_library((ROOT / ADVICE).read_text())


# A long argument was repeated in full.
@pytest.mark.parametrize(
    "arguments",
    [
        ["get", "http://127.0.0.1:1/", "LONG"],
        ["get", "http://127.0.0.1:1/", "--LONG"],
        ["get", "http://127.0.0.1:1/", "--LONG=1"],
        ["get", "http://127.0.0.1:1/", "--timeout", "LONG"],
        ["LONG"],
        ["http://LONG"],
        ["get", "http:/LONG"],
        ["get", "http://127.0.0.1:1/", "-ZLONG"],
        ["image", "a.jpg", "b.jpg", "--background", "LONG"],
        ["jobs", "show", "LONG"],
    ],
)
def test_a_long_argument_is_shortened_in_errors(arguments: list[str]) -> None:
    long = "x" * 20_000
    result = wherry(*[argument.replace("LONG", long) for argument in arguments])
    assert result.status == 2 and 0 < len(result.err) < 5000 and "x" * 210 not in result.err
    told = wherry(*[argument.replace("LONG", long) for argument in arguments], "--json-output")
    assert told.status == 2 and len(told.text) < 5000 and json.loads(told.text)["error"]["message"]


def test_an_argument_cannot_control_the_terminal() -> None:
    result = wherry("get", "http://127.0.0.1:1/", "--\x1b[31mred")

    assert result.status == 2 and "\x1b" not in result.err and "\\x1b[31mred" in result.err
