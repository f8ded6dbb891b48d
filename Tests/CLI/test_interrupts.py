# Wherry: tests of Ctrl-C.
# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import signal
import subprocess

import pytest
from conftest import GUARD, Scope, start


@pytest.mark.parametrize(("number", "status"), [(signal.SIGINT, 130), (signal.SIGTERM, 143), (signal.SIGHUP, 129)])
def test_a_signal_ends_a_request_at_once(server: Scope, number: signal.Signals, status: int) -> None:
    command = start("get", server.url("/silent?seconds=600"), stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    server.wait("requests=1")

    command.send_signal(number)
    out, err = command.communicate(timeout=GUARD)

    assert command.returncode == status and out == b""
    assert err == b"wherry: interrupted\n"


def test_ctrl_c_in_the_middle_of_a_body(server: Scope, tmp_path: object) -> None:
    command = start("get", server.url("/bytes/2000000?hold=1000000&gate=never"),
                    stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    assert command.stdout
    came = command.stdout.read(1_000_000)

    command.send_signal(signal.SIGINT)
    rest, err = command.communicate(timeout=GUARD)

    assert len(came) == 1_000_000 and rest == b""
    assert command.returncode == 130 and b"interrupted" in err
