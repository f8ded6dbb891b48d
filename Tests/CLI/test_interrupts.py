# Wherry: tests of Ctrl-C.
# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import json
import os
import pathlib
import re
import signal
import subprocess
import time

import pytest
from conftest import BINARY, GUARD, PATIENT, Scope, environment, start
from test_uploads import jpeg


@pytest.mark.parametrize(("number", "status"), [(signal.SIGINT, 130), (signal.SIGTERM, 143), (signal.SIGHUP, 129)])
def test_a_signal_ends_a_request_at_once(
    server: Scope,
    number: signal.Signals,
    status: int,
) -> None:
    command = start("get", server.url("/silent?seconds=600"), stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    server.wait("requests=1")

    command.send_signal(number)
    out, err = command.communicate(timeout=GUARD)

    assert command.returncode == status and out == b""
    assert err == b"wherry: interrupted\n"


def test_ctrl_c_ends_a_request_during_its_body(server: Scope, tmp_path: object) -> None:
    command = start(
        "get",
        server.url("/bytes/2000000?hold=1000000&gate=never"),
        *PATIENT,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    assert command.stdout
    came = command.stdout.read(1_000_000)

    command.send_signal(signal.SIGINT)
    rest, err = command.communicate(timeout=GUARD)

    assert len(came) == 1_000_000 and rest == b""
    assert command.returncode == 130 and b"interrupted" in err


@pytest.mark.parametrize(("number", "status"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_ctrl_c_ends_an_upload(server: Scope, tmp_path: pathlib.Path, number: signal.Signals, status: int) -> None:
    # The server reads nothing, and the socket buffers hold little of this.
    body = tmp_path / "body"
    with open(body, "wb") as file:
        file.truncate(64 << 20)
    command = start(
        "put",
        server.url("/sink?stall=1&gate=never"),
        "--data",
        f"@{body}",
        "--timeout",
        "0",
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    server.wait("requests=1")

    command.send_signal(number)
    out, err = command.communicate(timeout=GUARD)

    assert command.returncode == status and out == b""
    assert err == b"wherry: interrupted\n"


def test_ctrl_c_ends_an_upload_of_images(server: Scope, tmp_path: pathlib.Path) -> None:
    paths = [jpeg(tmp_path / name) for name in ("one.jpg", "two.jpg")]
    command = start(
        "upload",
        server.url("/sink?stall=1&gate=never"),
        *paths,
        "--timeout",
        "0",
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    server.wait("requests=1")

    command.send_signal(signal.SIGINT)
    out, err = command.communicate(timeout=GUARD)

    assert command.returncode == 130 and out == b""
    lines = err.decode().splitlines()
    # They are encoded in any order; that both failed is reported once.
    assert sorted(line.split(": ")[0] for line in lines if "→" in line) == ["one.jpg", "two.jpg"]
    assert lines[-1] == "wherry: interrupted" and not any("cancel" in line for line in lines)
    # No image is reported as sent that was not.
    report = start(
        "upload",
        server.url("/sink?stall=1&gate=never&n=2"),
        *paths,
        "--timeout",
        "0",
        "--json-output",
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    server.wait("requests=2")
    report.send_signal(signal.SIGINT)
    out, err = report.communicate(timeout=GUARD)
    assert report.returncode == 130
    told = json.loads(out)
    assert told["error"]["reason"] == "cancelled" and "images" not in told


def test_a_hang_up_does_not_end_a_command_under_nohup(server: Scope) -> None:
    command = subprocess.Popen(
        ["nohup", str(BINARY), "get", server.url("/bytes/1000?gate=g")],
        env=environment(),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    server.wait("requests=1")

    command.send_signal(signal.SIGHUP)
    server.steer("/_signal?gate=g")
    out, _ = command.communicate(timeout=GUARD)

    assert command.returncode == 0 and len(out) == 1000


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_an_ignored_signal_stays_ignored_and_the_others_work(server: Scope, number: signal.Signals) -> None:
    command = start(
        "get",
        server.url("/bytes/1000?gate=never"),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        preexec_fn=lambda: signal.signal(number, signal.SIG_IGN),
    )
    server.wait("requests=1")
    # A thread blocks all signals while it starts another one.
    limit = time.monotonic() + GUARD
    blocked = ignored = 1 << (number - 1)
    while blocked >> (number - 1) & 1 and time.monotonic() < limit:
        facts = pathlib.Path(f"/proc/{command.pid}/status").read_text()
        blocked, ignored = (int(re.findall(rf"{name}:\s*(\w+)", facts)[0], 16) for name in ("SigBlk", "SigIgn"))

    assert ignored >> (number - 1) & 1 and not blocked >> (number - 1) & 1
    command.send_signal(number)
    other = signal.SIGTERM if number != signal.SIGTERM else signal.SIGINT
    command.send_signal(other)
    command.communicate(timeout=GUARD)
    assert command.returncode == 128 + other


def test_ctrl_c_works_while_standard_input_is_read(server: Scope) -> None:
    command = start(
        "post",
        server.url("/echo"),
        "--json",
        "@-",
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    assert command.stdin and command.stderr
    # More than a pipe holds: once it is written, the command is reading.
    command.stdin.write(b"[" + b" " * 500_000)
    command.stdin.flush()

    command.send_signal(signal.SIGINT)
    err = command.stderr.read()  # the input stays open

    assert command.wait(GUARD) == 130 and err == b"wherry: interrupted\n"
    assert server.requests() == []
    command.stdin.close()


def test_a_named_pipe_is_read_and_can_be_interrupted(server: Scope, tmp_path: pathlib.Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    command = start("post", server.url("/echo"), "--json", f"@{pipe}", stdout=subprocess.PIPE)
    with open(pipe, "wb", buffering=0) as end:  # waits for the reader
        end.write(b'{"half": ')
        end.write(b"2}")
    out, _ = command.communicate(timeout=GUARD)
    assert command.returncode == 0 and b'"half": 2' in out

    command = start("post", server.url("/echo"), "--json", f"@{pipe}", stderr=subprocess.PIPE)
    with open(pipe, "wb", buffering=0) as end:
        end.write(b"[")
        command.send_signal(signal.SIGINT)
        _, err = command.communicate(timeout=GUARD)
    assert command.returncode == 130 and err == b"wherry: interrupted\n"
