# Wherry: tests of downloads killed and run twice: DC-C and DC-D of the rules.
# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import hashlib
import json
import os
import pathlib
import random
import signal
import subprocess
import urllib.error

from conftest import GUARD, PATIENT_DOWNLOAD, Scope, field, start, wherry
from test_downloads import names, pattern

SIZE = 8_389_385


def kill(server: Scope, *arguments: object, after: int) -> None:
    """Runs the command and kills it when the server has sent this many more bytes, or it has
    exited.
    """
    sent = server.steer("/_stats")["sent"]
    command = start("download", *arguments, "--progress", "none", stderr=subprocess.PIPE)
    while after and command.poll() is None:
        try:
            server.steer(f"/_wait?sent={sent + after}&timeout=0.2")
            break
        except urllib.error.HTTPError:  # not yet
            continue
    command.kill()
    command.communicate(timeout=GUARD)


def hidden(folder: pathlib.Path) -> list[str]:
    return sorted(name.rpartition(".")[2] for name in names(folder) if name.startswith("."))


def test_DC_C01_DC_C02_a_command_killed_at_eight_points_resumes(
    server: Scope,
    tmp_path: pathlib.Path,
) -> None:
    target = tmp_path / "file.bin"
    url = server.url(f"/bytes/{SIZE}?rate=1000000&hold_at=8300000&gate=end")
    for after in (0, 1, 50_000, 300_000, 700_000, 1_100_000, 1_500_000, 2_000_000):
        kill(server, url, "-o", target, after=after)
        assert not target.exists() and hidden(tmp_path) in ([], ["part"], ["journal", "part"])
    server.steer("/_signal?gate=end")

    result = wherry("download", url, "-o", target, "--json-output")

    assert result.status == 0 and target.read_bytes() == pattern(1, SIZE) and names(tmp_path) == ["file.bin"]
    offset = (field(server.requests()[-1], "Range") or "bytes=0-").removeprefix("bytes=").removesuffix("-")
    assert result.json["resumed_at"] == int(offset)


def test_DC_C14_a_command_killed_before_it_replaces_a_file_keeps_it(
    server: Scope,
    tmp_path: pathlib.Path,
) -> None:
    target = tmp_path / "file.bin"
    target.write_text("old")
    url = server.url(f"/bytes/{SIZE}?hold_at=8000000&gate=end")

    kill(server, url, "-o", target, "--overwrite", after=8_000_000)

    assert target.read_text() == "old" and hidden(tmp_path) == ["journal", "part"]
    server.steer("/_signal?gate=end")
    assert wherry("download", url, "-o", target, "--overwrite").status == 0
    assert target.read_bytes() == pattern(1, SIZE) and names(tmp_path) == ["file.bin"]


def test_DC_D05_DR21_a_download_with_four_connections_survives_repeated_kills(
    server: Scope,
    tmp_path: pathlib.Path,
) -> None:
    target = tmp_path / "file.bin"
    url = server.url(f"/bytes/{SIZE}?rate=1000000")
    digest = hashlib.sha256(pattern(1, SIZE)).hexdigest()
    arguments = (url, "-o", target, "--segments", "4", "--stall-timeout", "600", "--sha256", digest)
    for turn in range(200 if os.environ.get("WHERRY_LOOPS") == "full" else 20):
        kill(server, *arguments, after=random.randint(0, SIZE) if turn % 4 else 0)
        if target.exists():
            assert hashlib.sha256(target.read_bytes()).hexdigest() == digest
            # The next run finds nothing to do, and removes the rest of the journal.
            assert wherry("download", *arguments).status == 0 and names(tmp_path) == ["file.bin"]
            target.unlink()
        assert hidden(tmp_path) in ([], ["part"], ["journal", "part"])

    result = wherry("download", *arguments)

    assert result.status == 0 and hashlib.sha256(target.read_bytes()).hexdigest() == digest
    assert names(tmp_path) == ["file.bin"]


def test_DC_C12_DR24_of_two_commands_for_one_target_one_downloads(
    server: Scope,
    tmp_path: pathlib.Path,
) -> None:
    target = tmp_path / "file.bin"
    url = server.url("/bytes/1060921?hold=400000&gate=end")
    first = start("download", url, "-o", target, *PATIENT_DOWNLOAD, "--progress", "none", stderr=subprocess.PIPE)
    server.wait("sent=400000")

    for other in (url, server.url("/bytes/1060921?seed=2")):
        second = wherry("download", other, "-o", target, "--overwrite", "--json-output", "--progress", "none")
        assert second.status == 1 and second.json["error"]["reason"] == "busy", second

    assert len(server.requests()) == 1
    server.steer("/_signal?gate=end")
    assert first.communicate(timeout=GUARD)[1] == b"" and first.returncode == 0
    assert target.read_bytes() == pattern(1, 1_060_921) and names(tmp_path) == ["file.bin"]


def test_DR24_of_many_commands_for_one_target_one_downloads(
    server: Scope,
    tmp_path: pathlib.Path,
) -> None:
    target = tmp_path / "file.bin"
    url = server.url("/bytes/3000000?cut=1000000&times=2")
    commands = [
        start("download", url, "-o", target, "--json-output", "--progress", "none", stdout=subprocess.PIPE)
        for _ in range(6)
    ]
    ends = [json.loads(command.communicate(timeout=GUARD)[0]) for command in commands]

    # Late commands found the file or got busy.
    reasons = [end["error"]["reason"] for end in ends if not end["ok"]]
    assert len(reasons) == 5 and set(reasons) <= {"busy", "exists"}, ends
    assert target.read_bytes() == pattern(1, 3_000_000) and names(tmp_path) == ["file.bin"]
    assert server.steer("/_stats")["peak_requests"] == 1


def test_a_stopped_download_can_be_killed_and_discarded(
    server: Scope,
    tmp_path: pathlib.Path,
) -> None:
    # A stopped process (SIGSTOP) holds the lock like a running one; SIGKILL releases it.
    target = tmp_path / "file.bin"
    url = server.url("/bytes/1060921?hold=400000&gate=end")
    first = start("download", url, "-o", target, *PATIENT_DOWNLOAD, "--progress", "none", stderr=subprocess.PIPE)
    server.wait("sent=400000")
    first.send_signal(signal.SIGSTOP)
    assert "busy: " in wherry("download", url, "-o", target).err
    first.kill()
    first.communicate(timeout=GUARD)
    server.steer("/_signal?gate=end")

    assert wherry("download", url, "-o", target).status == 0
    assert target.read_bytes() == pattern(1, 1_060_921) and names(tmp_path) == ["file.bin"]
