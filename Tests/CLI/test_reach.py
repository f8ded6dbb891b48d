# Wherry: tests of the command that checks network reachability.
# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import json
import os
import signal
import subprocess

import pytest
from conftest import BINARY, GUARD, Scope, environment, wherry

can_leave = os.geteuid() == 0 and subprocess.run(["unshare", "-n", "true"], check=False).returncode == 0
needs_namespace = pytest.mark.skipif(not can_leave, reason="a network namespace needs root")
LINK = (
    "ip link add cable type veth peer name peer && ip address add 10.9.0.1/24 dev cable && ip link set peer up"
    " && ip link set cable up && ip route add default via 10.9.0.2"
)


def apart(script: str) -> subprocess.CompletedProcess[str]:
    """Runs a shell script without a network; $WHERRY is the command."""
    return subprocess.run(
        ["unshare", "-n", "sh", "-c", script],
        env=environment(WHERRY=str(BINARY)),
        capture_output=True,
        text=True,
        timeout=GUARD,
    )


def test_this_machine_is_reachable_over_the_loopback() -> None:
    told = wherry("reach", "127.0.0.1")
    data = wherry("reach", "::1", "--json-output")

    assert (told.status, told.text, told.err) == (0, "Reachable on this machine (loopback lo)\n", "")
    assert data.json == {
        "ok": True,
        "reachable": True,
        "status": 2,
        "text": "Reachable on this machine",
        "interface": "loopback",
        "name": "lo",
        "target": "::1",
    }


def test_a_silent_server_is_not_reachable(server: Scope) -> None:
    assert wherry("reach", "127.0.0.1", "--probe", server.url("/echo")).status == 0
    broken = wherry("reach", "127.0.0.1", "--probe", server.url("/status/500"))
    assert (broken.status, broken.text, broken.err) == (4, "Not Reachable\n", "")


@pytest.mark.parametrize(
    "arguments",
    [["http://example.org/"], ["--watch", "--wait", "1"], ["--raw"], ["--probe", "gopher://h/"], ["--wait", "-1"]],
)
def test_an_invalid_target_is_a_usage_error(arguments: list[str]) -> None:
    assert wherry("reach", *arguments).status == 2


@needs_namespace
def test_without_a_network_the_status_is_4_until_there_is_one() -> None:
    """N2 and N13."""
    done = apart(
        f'"$WHERRY" reach; echo $?; "$WHERRY" reach --wait 0.05 --json-output; echo $?; {LINK}; "$WHERRY" reach'
    )

    lines = done.stdout.splitlines()
    assert lines[:2] == ["Not Reachable", "4"], done.stderr
    assert json.loads(lines[2])["reachable"] is False and lines[3] == "4"
    assert lines[4:] == ["Reachable via Ethernet (wired cable)"]


@needs_namespace
def test_a_watch_prints_changes_until_ctrl_c() -> None:
    """N2, N7 and N9."""
    watching = subprocess.Popen(
        [
            "unshare",
            "-n",
            "sh",
            "-c",
            f'"$WHERRY" reach --watch --json-output & echo $! >&2; read go; {LINK};'
            " read go; ip link set peer down; read go; wait",
        ],
        env=environment(WHERRY=str(BINARY)),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    assert watching.stdin and watching.stdout and watching.stderr
    command = int(watching.stderr.readline())

    def told() -> tuple[int, int, str]:
        assert watching.stdout
        line = json.loads(watching.stdout.readline())
        return line["old"], line["status"], line["interface"]

    def go() -> None:
        assert watching.stdin
        watching.stdin.write(b"\n")
        watching.stdin.flush()

    assert told() == (-1, 0, "none")
    go()
    assert told() == (0, 2, "wired")
    go()
    assert told() == (2, 0, "none")
    os.kill(command, signal.SIGTERM)
    rest = json.loads(watching.stdout.readline())
    assert rest["exit"] == 143 and rest["error"]["reason"] == "cancelled"
    watching.stdin.close()
    watching.wait(GUARD)
