# Wherry: tests of the files that commands write.
# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import json
import os
import pathlib
import stat
import subprocess

import pytest
from conftest import BINARY, GUARD, Result, Scope, environment, wherry
from test_uploads import jpeg


# The file was replaced, because its directory may be written.
@pytest.mark.parametrize("command", ["get", "image"])
def test_a_read_only_file_is_not_replaced(server: Scope, tmp_path: pathlib.Path, command: str) -> None:
    target = tmp_path / "a.jpg"
    picture = jpeg(tmp_path / "b.jpg", 16, 16)
    arguments = {
        "get": ["get", server.url("/bytes/10"), "-o", target],
        "image": ["image", picture, target, "--overwrite"],
    }[command]
    target.write_bytes(b"old")
    target.chmod(0o444)
    # Root may write every file, unless the process gives up that right.
    drop = ["setpriv", "--bounding-set", "-dac_override"] if os.geteuid() == 0 else []
    done = subprocess.run(
        [*drop, str(BINARY), *map(str, arguments)], capture_output=True, timeout=GUARD, env=environment(), check=False
    )

    assert done.returncode == 7 and b"a.jpg cannot be written: Permission denied" in done.stderr
    assert target.read_bytes() == b"old" and server.requests() == []
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a.jpg", "b.jpg"]


def test_other_hard_links_of_a_replaced_file_keep_the_old_content(server: Scope, tmp_path: pathlib.Path) -> None:
    target, link = tmp_path / "a", tmp_path / "b"
    target.write_bytes(b"old")
    link.hardlink_to(target)

    assert wherry("get", server.url("/bytes/10"), "-o", target).status == 0
    assert target.stat().st_size == 10 and link.read_bytes() == b"old"


def to_full_disk(*arguments: object) -> Result:
    with open("/dev/full", "wb") as full:
        done = subprocess.run(
            [str(BINARY), *map(str, arguments)],
            stdin=subprocess.DEVNULL,
            stdout=full,
            stderr=subprocess.PIPE,
            timeout=GUARD,
            env=environment(),
            check=False,
        )
    return Result(done.returncode, b"", done.stderr.decode())


# Help and the version exited with 0, and JSON errors were lost without a word.
def test_a_full_standard_output_is_an_error_of_every_command(server: Scope, tmp_path: pathlib.Path) -> None:
    picture = jpeg(tmp_path / "a.jpg", 64, 64)
    store, state = ("--cache-directory", tmp_path / "cache"), ("--state-dir", tmp_path / "state")
    assert wherry("get", server.url("/bytes/10"), "--cache", 1000, *store).status == 0
    assert wherry("download", server.url("/bytes/10"), "-o", tmp_path / "d", "--background", *state).status == 0
    commands: list[tuple[int, list[object]]] = [
        (7, ["get", server.url("/bytes/10")]),
        (7, ["get", server.url("/bytes/10"), "--json-output"]),
        (7, ["head", server.url("/bytes/10")]),
        (7, ["post", server.url("/status/404?body=x")]),
        (7, ["cache", "list", *store]),
        (7, ["cache", "usage", *store]),
        (7, ["jobs", "list", *state]),
        (7, ["image", picture, "-"]),
        (7, ["image", picture, "--info"]),
        (7, ["--help"]),
        (7, ["--version"]),
        (7, ["get", "--help"]),
        (7, ["--generate-completion-script", "bash"]),
        (3, ["get", server.url("/status/404?body=x"), "--json-output"]),
        (2, ["get", "--bogus", "--json-output"]),
    ]
    for status, command in commands:
        failed = to_full_disk(*command)
        assert failed.status == status and "wherry: standard output cannot be written" in failed.err, (command, failed)


# The exit status was 0, and the message had no prefix.
@pytest.mark.skipif(os.geteuid() != 0, reason="needs root, to make a full device")
@pytest.mark.parametrize("option", ["--cookie-jar", "--log-file"])
def test_a_failed_save_of_cookies_or_of_the_log_is_an_error(server: Scope, tmp_path: pathlib.Path, option: str) -> None:
    # Not /dev/full: a command that replaces its file would damage the machine.
    file = tmp_path / "full"
    os.mknod(file, stat.S_IFCHR | 0o600, os.makedev(1, 7))
    picture = jpeg(tmp_path / "a.jpg", 64, 64)
    for arguments in (
        ["get", server.url("/bytes/10")],
        ["get", server.url("/bytes/10"), "--json-output"],
        ["upload", server.url("/sink"), picture],
        ["download", server.url("/bytes/10"), "-o", tmp_path / "a"],
        ["download", server.url("/bytes/11"), server.url("/bytes/12"), "-d", tmp_path],
    ):
        failed = wherry(*arguments, option, file, "--quiet")
        assert failed.status == 7 and failed.err.startswith("wherry: "), (arguments, failed)
        assert str(file) in failed.err and file.is_char_device()
    both = wherry("get", server.url("/status/404"), option, file)
    assert both.status == 3 and both.err.count("wherry: ") == 2


# A regular file with the cookies took the place of the device.
@pytest.mark.skipif(os.geteuid() != 0, reason="needs root, to make a device")
def test_cookies_are_written_to_a_device_without_replacing_it(server: Scope, tmp_path: pathlib.Path) -> None:
    device = tmp_path / "null"
    os.mknod(device, stat.S_IFCHR | 0o600, os.makedev(1, 3))
    told = wherry("get", server.url("/cookies/set?c=3&attributes=Path%3D/"), "-c", device)

    assert told.status == 0 and device.is_char_device()
    assert [path.name for path in tmp_path.iterdir()] == ["null"]


# Notes and errors were plain lines between the records.
def test_progress_json_prints_only_json_lines(server: Scope, tmp_path: pathlib.Path) -> None:
    (tmp_path / "text.jpg").write_text("no picture")
    picture = jpeg(tmp_path / "a.jpg", 64, 64)
    results = [
        wherry(*arguments, "--progress", "json")
        for arguments in (
            ["upload", server.url("/sink"), picture, tmp_path / "text.jpg", "--skip-broken"],
            ["download", server.url("/status/404"), server.url("/bytes/10"), "-d", tmp_path],
            ["get", server.url("/status/404")],
            ["get", server.url("/echo"), "--bogus"],
            ["jobs", "show", "x"],
            ["post", server.url("/echo"), "--data", f"@{tmp_path / 'missing'}"],
        )
    ]
    results.append(wherry("get", "--bogus", "--progress=json"))
    for result in results:
        records = [json.loads(line) for line in result.err.splitlines()]
        assert records and all(record["event"] in ("progress", "remark", "note", "error") for record in records)
        errors = [record for record in records if record["event"] == "error"]
        assert [error["exit"] for error in errors] == ([result.status] if result.status else []), result
        assert all(error["error"]["message"] for error in errors)
