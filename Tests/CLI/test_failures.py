# Wherry: tests of exit statuses and error messages.
# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import json
import pathlib
import socket

import pytest
from conftest import GUARD, Scope, wherry


@pytest.mark.parametrize(
    "arguments",
    [
        ["fetch"],
        ["get"],
        ["get", "--nonsense", "http://127.0.0.1/"],
        ["get", "http://127.0.0.1/", "more"],
        ["get", "http://127.0.0.1/", "--param", "novalue"],
        ["get", "http://127.0.0.1/", "--param", "=x"],
        ["get", "http://127.0.0.1/", "--header", "no colon"],
        ["get", "http://127.0.0.1/", "--header", "X-A: a\r\nX-B: b"],
        ["get", "http://127.0.0.1/", "--header", "X A: a"],
        ["get", "http://127.0.0.1/", "--timeout", "-1"],
        ["get", "http://127.0.0.1/", "--timeout", "soon"],
        ["get", "http://127.0.0.1/", "--timeout", "nan"],
        ["get", "http://127.0.0.1/", "--timeout", "1e300"],
        ["get", "http://127.0.0.1/", "--max-redirects", "101"],
        ["get", "http://127.0.0.1/", "--progress", "loud"],
        ["get", "/127.0.0.1/"],
        ["get", ""],
        ["get", "ftp://127.0.0.1/"],
        ["get", "http://"],
        ["post", "http://127.0.0.1/", "--json", "{bad"],
        ["post", "http://127.0.0.1/", "--json", ""],
        ["post", "http://127.0.0.1/", "--json", "1", "--data", "2"],
        ["post", "http://127.0.0.1/", "--data", "1", "--field", "a=b"],
    ],
)
def test_invalid_usage_exits_with_2_and_a_message(arguments: list[str]) -> None:
    result = wherry(*arguments)

    assert result.status == 2, result
    assert result.err.strip() and result.out == b"" and "Fatal" not in result.err


def test_an_error_status_exits_with_3_and_prints_the_text_of_the_server(server: Scope) -> None:
    result = wherry("get", server.url("/status/404?body=no+such+note&type=text/plain"))

    assert result.status == 3 and result.text == "no such note"
    assert result.err.startswith("wherry: http_status: ") and "404" in result.err


def test_an_error_status_creates_no_file_and_prints_the_text_of_the_server(
    server: Scope,
    tmp_path: pathlib.Path,
) -> None:
    result = wherry("get", server.url("/status/500?body=out%1B%5B31m+of+order"), "-o", tmp_path / "a")

    assert result.status == 3 and list(tmp_path.iterdir()) == []
    assert "out\\x1b[31m of order" in result.err, "a server may not steer the terminal"


def test_error_statuses_are_JSON_objects_too(server: Scope) -> None:
    result = wherry("get", server.url("/status/503?body=later&header=Retry-After:7"), "--json-output")

    assert result.status == 3 and result.err == ""
    assert result.json["ok"] is False and result.json["exit"] == 3 and result.json["status"] == 503
    assert result.json["error"]["reason"] == "http_status" and result.json["error"]["retryable"] is True
    assert result.json["error"]["retry_after"] == 7 and result.json["text"] == "later"


def test_a_failed_connection_exits_with_4() -> None:
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        result = wherry("get", f"http://127.0.0.1:{unused.getsockname()[1]}/")

    assert result.status == 4 and "connect: " in result.err


def test_a_cut_response_exits_with_4_after_the_received_bytes(server: Scope) -> None:
    result = wherry("get", server.url("/bytes/1000?cut=400"))

    assert result.status == 4 and len(result.out) == 400


def test_a_silent_server_exits_with_6(server: Scope) -> None:
    result = wherry("get", server.url("/silent"), "--timeout", "0.2")
    assert result.status == 6 and "idle_timeout" in result.err

    result = wherry("get", server.url("/drip?bytes=6000&interval_ms=50"), "--total-timeout", "0.3")
    assert result.status == 6 and "total_timeout" in result.err


def test_a_connection_timeout_exits_with_6() -> None:
    with socket.socket() as full:
        full.bind(("127.0.0.1", 0))
        full.listen(0)
        others = []
        # The listener's queue is full, so that the next connection gets no reply.
        for _ in range(8):
            other = socket.socket()
            other.setblocking(False)
            other.connect_ex(full.getsockname())
            others.append(other)
        result = wherry("get", f"http://127.0.0.1:{full.getsockname()[1]}/", "--connect-timeout", "0.3")
        for other in others:
            other.close()

    assert result.status == 6 and "connect_timeout" in result.err


def test_unreadable_and_unwritable_files_exit_with_7(server: Scope, tmp_path: pathlib.Path) -> None:
    missing = tmp_path / "missing"
    for arguments in (
        ["post", server.url("/echo"), "--json", f"@{missing}"],
        ["post", server.url("/echo"), "--data", f"@{missing}"],
        ["get", server.url("/echo"), "-o", missing / "file"],
        ["get", server.url("/echo"), "-o", tmp_path],
        ["get", server.url("/echo"), "-o", "/dev/full", "--quiet"],
        ["get", server.tls("/echo"), "--cacert", missing],
    ):
        result = wherry(*arguments)
        assert result.status == 7, (arguments, result)
        assert result.err.startswith("wherry: ")

    # The first four were detected before anything was sent.
    assert [request["method"] for request in server.requests()] == ["GET"]


def test_a_closed_pipe_ends_the_command_silently(server: Scope) -> None:
    from conftest import start
    import subprocess

    command = start("get", server.url("/bytes/100000000"), stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    assert command.stdout and command.stderr
    command.stdout.read(1000)
    command.stdout.close()

    assert command.wait(GUARD) == 141 and command.stderr.read() == b""
    command.stderr.close()


def test_no_message_contains_a_secret(server: Scope) -> None:
    result = wherry(
        "get", server.url("/status/401?token=hunter2"), "--bearer", "hunter3", "-H", "X-Api-Key: hunter4", "--debug"
    )

    assert result.status == 3
    assert not any(secret in result.err for secret in ("hunter2", "hunter3", "hunter4")), result.err


def test_errors_as_JSON_are_one_line(server: Scope) -> None:
    result = wherry("get", "ftp://nonsense", "--json-output")

    assert result.status == 2
    assert json.loads(result.text)["error"]["reason"] == "bad_url"
