# Wherry: tests of output on a terminal.
# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import fcntl
import json
import os
import pathlib
import pty
import re
import struct
import subprocess
import termios
from typing import Callable

from conftest import BINARY, GUARD, PATIENT_DOWNLOAD, Scope, environment, start, wherry


def on_terminal(
    *arguments: object, columns: int = 100, look: Callable[[str], None] = lambda _: None, **more: str
) -> tuple[int, str]:
    """Runs the command with a terminal for both outputs; returns its status and output.

    `look` is called with the output so far.
    """
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
    command = subprocess.Popen(
        [str(BINARY), *map(str, arguments)], stdin=theirs, stdout=theirs, stderr=theirs, env=environment(**more)
    )
    os.close(theirs)
    came = b""
    while True:
        try:
            piece = os.read(ours, 65536)
        except OSError:  # the other end has closed
            break
        if not piece:
            break
        came += piece
        look(came.decode(errors="replace"))
    os.close(ours)
    return command.wait(GUARD), came.decode().replace("\r\n", "\n")


def test_JSON_is_formatted_and_colored(server: Scope) -> None:
    status, text = on_terminal("get", server.url("/json?value=%7B%22a%22%3A%22b%22%7D"))

    assert status == 0
    assert text == '{\n  \x1b[34m"a"\x1b[0m: \x1b[32m"b"\x1b[0m\n}\n'


def test_no_color_and_dumb_terminals_are_respected(server: Scope) -> None:
    url = server.url("/json?value=%7B%22a%22%3A%22b%22%7D")
    for _, text in (on_terminal("get", url, NO_COLOR="1"), on_terminal("get", url, TERM="dumb")):
        assert text == '{\n  "a": "b"\n}\n'


def test_JSON_can_be_printed_unchanged(server: Scope) -> None:
    _, text = on_terminal("get", server.url("/json?value=%7B%22a%22%3A%22b%22%7D"), "--no-pretty")

    assert text == '{"a":"b"}'


def test_a_bar_grows_in_one_line_and_leaves_a_summary(
    server: Scope,
    tmp_path: pathlib.Path,
) -> None:
    def drawn_in(text: str) -> list[str]:
        return [re.sub(r"\x1b\[[0-9;]*[mK]", "", line) for line in text.split("\r\x1b[2K")]

    def is_full(bar: str) -> bool:
        return "━" in bar and "%" in bar and "iB/s" in bar

    def look(text: str) -> None:
        if len(drawn_in(text)) >= 4 and any(map(is_full, drawn_in(text)[:-1])):
            server.steer("/_signal?gate=fast")

    # The file is slow until there were some bars; the first ones show no speed.
    url = server.url("/bytes/4000000?rate=100000&hold_at=3999999&gate=fast")
    status, text = on_terminal("get", url, "-o", tmp_path / "file.bin", columns=90, look=look)
    assert status == 0
    drawn = drawn_in(text)
    bars = [line for line in drawn if " of 3.8 MiB" in line]
    assert len(bars) >= 3 and all(len(line) < 90 for line in bars)
    assert any(map(is_full, bars))
    assert drawn[-1].startswith("✓ ") and "3.8 MiB in " in drawn[-1]


def test_a_narrow_terminal_gets_a_narrow_line(server: Scope, tmp_path: pathlib.Path) -> None:
    _, text = on_terminal("get", server.url("/bytes/2000000?rate=8000000"), "-o", tmp_path / "b", columns=20)

    drawn = [re.sub(r"\x1b\[[0-9;]*[mK]", "", line) for line in text.split("\r\x1b[2K")]
    assert all(len(line) < 20 for line in drawn[:-1])


def test_programs_get_lines_and_records(server: Scope, tmp_path: pathlib.Path) -> None:
    # The file is slow until there was a line about a part of it.
    slow = server.url("/bytes/1000000?rate=100000&hold_at=999999&gate=fast")
    command = start("get", slow, "-o", tmp_path / "c", "--progress", "lines", stderr=subprocess.PIPE)
    assert command.stderr
    first = command.stderr.readline().decode()
    server.steer("/_signal?gate=fast")
    lines = [first, *command.communicate(timeout=GUARD)[1].decode().splitlines()]
    assert command.returncode == 0
    assert 2 <= len(lines) <= 12 and "\x1b" not in "".join(lines)
    assert "976.6 KiB in " in lines[-1]

    url = server.url("/bytes/1000000?rate=4000000")
    records = [
        json.loads(line) for line in wherry("get", url, "-o", tmp_path / "d", "--progress", "json").err.splitlines()
    ]
    assert all(record["event"] == "progress" and record["total"] == 1_000_000 for record in records)
    counts = [record["completed"] for record in records]
    assert counts == sorted(counts) and counts[-1] == 1_000_000


def test_control_characters_of_a_header_do_not_reach_the_terminal(server: Scope) -> None:
    _, text = on_terminal("head", server.url("/bytes/1?header=X-Odd:a%C2%9Bb"), TERM="dumb")

    assert "X-Odd: a\\x9bb" in text


def test_each_of_several_downloads_has_a_bar(server: Scope, tmp_path: pathlib.Path) -> None:
    def look(text: str) -> None:
        if has_both(text):
            server.steer("/_signal?gate=fast")

    def has_both(text: str) -> bool:
        """Whether two bars were on adjacent lines."""
        screens = re.split(r"\r\x1b\[\d+A\x1b\[J|\r\x1b\[2K", text)
        return any("4000001" in s and "4000002" in s and s.count("%") == 2 for s in screens)

    urls = [server.url(f"/bytes/{size}?rate=100000&hold_at=3999999&gate=fast") for size in (4000001, 4000002)]
    status, text = on_terminal("download", *urls, "-d", tmp_path, *PATIENT_DOWNLOAD, columns=90, look=look)

    assert status == 0 and has_both(text)
    plain = re.sub(r"\x1b\[[0-9;]*[mKAJ]", "", text).splitlines()
    assert [line for line in plain if line.startswith("\u2713")] or "\u2713 " in text
    assert text.endswith("\n") and text.count("\u2713") == 2


def test_D25_bars_are_in_the_order_of_the_command(server: Scope, tmp_path: pathlib.Path) -> None:
    sizes = ("4000003", "4000001", "4000004", "4000002")

    def screens(text: str) -> list[list[str]]:
        """The names of the bars on adjacent lines, each time."""
        plain = re.sub(r"\x1b\[[0-9;]*m", "", text)
        return [
            re.findall(r"^(\d{7})  .*%", screen, re.MULTILINE)
            for screen in re.split(r"\r\x1b\[\d+A\x1b\[J|\r\x1b\[2K", plain)
        ]

    def look(text: str) -> None:
        if list(sizes) in screens(text.replace("\r\n", "\n")):
            server.steer("/_signal?gate=fast")

    urls = [server.url(f"/bytes/{size}?rate=100000&hold_at=3999999&gate=fast") for size in sizes]
    status, text = on_terminal("download", *urls, "-d", tmp_path, *PATIENT_DOWNLOAD, columns=90, look=look)

    assert status == 0 and list(sizes) in screens(text)
    for shown in screens(text):
        assert shown == [size for size in sizes if size in shown]
