# Wherry: tests of help, completions and the manual page.
# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import os
import pathlib
import re
import shutil
import subprocess

import pytest
from conftest import BINARY, ROOT, wherry

COMMANDS = re.findall(r"^  ([a-z]+) +\S", wherry("--help").text.split("SUBCOMMANDS:")[1], re.MULTILINE)


def test_the_version_matches_the_header() -> None:
    header = (ROOT / "include/wherry.h").read_text()
    numbers = [re.search(rf"WHERRY_VERSION_{part} (\d+)", header) for part in ("MAJOR", "MINOR", "PATCH")]
    assert all(numbers)
    assert wherry("--version").text.strip() == ".".join(number[1] for number in numbers if number)


def test_every_command_has_help_with_an_example() -> None:
    assert len(COMMANDS) >= 6
    for command in COMMANDS:
        result = wherry(command, "--help")
        assert result.status == 0 and result.err == ""
        assert f"EXAMPLES\n  wherry {command} " in result.text


def test_the_help_lists_the_exit_statuses() -> None:
    text = wherry("--help").text

    assert [int(number) for number in re.findall(r"^ +(\d+)  \w", text, re.MULTILINE)] == [
        0,
        1,
        2,
        3,
        4,
        5,
        6,
        7,
        8,
        9,
        130,
        141,
        143,
    ]


def test_manual_page_and_guide_match_the_command() -> None:
    done = subprocess.run(
        [str(ROOT / "scripts/make-manual"), "--check"],
        capture_output=True,
        text=True,
        env={**os.environ, "WHERRY_CLI": str(BINARY)},
    )

    assert done.returncode == 0, done.stderr


def test_every_option_of_a_command_is_in_its_table_or_a_common_one() -> None:
    guide = (ROOT / "docs/cli.md").read_text()
    sections = dict(re.findall(r"^### (.+?)\n(.*?)(?=^### )", guide, re.MULTILINE | re.DOTALL))
    common = "".join(
        text for title, text in sections.items() if title.endswith(" options") or title == "Options of background jobs"
    )
    for name in ("--timeout", "--bearer", "--insecure", "--quiet", "--debug"):
        assert f"{name}" in common
    for command in ("upload", "download"):
        own = next(text for title, text in sections.items() if title.startswith(f"`wherry {command} "))
        for option in set(re.findall(r"--[a-z][a-z0-9-]+", wherry(command, "--help").text)) - {"--help", "--version"}:
            assert option in own + common, (command, option)


@pytest.mark.skipif(shutil.which("groff") is None, reason="groff is not installed")
def test_the_manual_page_is_well_formed() -> None:
    done = subprocess.run(
        ["groff", "-man", "-Tutf8", "-ww", str(ROOT / "docs/man/wherry.1")], capture_output=True, text=True
    )

    assert done.returncode == 0 and done.stderr == ""
    # Bold is a letter overstruck with itself.
    assert "--max-redirects" in re.sub(".\b", "", done.stdout)


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completions_are_generated_and_parse(shell: str, tmp_path: pathlib.Path) -> None:
    result = wherry("--generate-completion-script", shell)
    assert result.status == 0 and "max-redirects" in result.text

    if shutil.which(shell):
        script = tmp_path / "completion"
        script.write_bytes(result.out)
        assert subprocess.run([shell, "-n", str(script)], capture_output=True).returncode == 0
