# Wherry: tests of help, completions, and the manual pages.
# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import gzip
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
        assert re.search(rf"EXAMPLES\n  wherry {command}\b", result.text)


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


def test_manual_pages_and_guide_match_the_command() -> None:
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


def test_every_command_has_a_manual_page() -> None:
    pages = {path.name for path in (ROOT / "docs/man").iterdir()}
    assert pages == {"wherry.1"} | {f"wherry-{command}.1" for command in COMMANDS}
    overview = (ROOT / "docs/man/wherry.1").read_text()
    for command in COMMANDS:
        text = (ROOT / f"docs/man/wherry-{command}.1").read_text()
        headings = re.findall(r"^\.SH (.*)", text, re.MULTILINE)
        assert headings[:3] == ["NAME", "SYNOPSIS", "DESCRIPTION"]
        assert headings[-4:] == ["OPTIONS", "EXIT STATUS", "EXAMPLES", "SEE ALSO"]
        assert rf"\fBwherry {command}" in text and rf".BR wherry\-{command} (1)" in overview


@pytest.fixture(scope="module")
def manuals(tmp_path_factory: pytest.TempPathFactory) -> list[pathlib.Path]:
    """The manual pages of the command and of the C functions."""
    folder = tmp_path_factory.mktemp("man")
    subprocess.run([str(ROOT / "scripts/make-man3"), str(folder)], check=True)
    for packed in folder.glob("*.gz"):
        if not packed.is_symlink():
            packed.with_suffix("").write_bytes(gzip.decompress(packed.read_bytes()))
    return [*(ROOT / "docs/man").glob("*.1"), *folder.glob("*.3")]


@pytest.mark.skipif(shutil.which("groff") is None, reason="groff is not installed")
def test_groff_accepts_the_manual_pages(manuals: list[pathlib.Path]) -> None:
    done = subprocess.run(["groff", "-man", "-Tutf8", "-ww", *manuals], capture_output=True, text=True)

    assert done.returncode == 0 and done.stderr == ""
    # Bold is a letter overstruck with itself.
    text = re.sub(".\b", "", done.stdout)
    assert "--max-redirects" in text and "wherry_client_send(wherry_client *client" in text


@pytest.mark.skipif(shutil.which("mandoc") is None, reason="mandoc is not installed")
def test_mandoc_accepts_the_manual_pages(manuals: list[pathlib.Path]) -> None:
    done = subprocess.run(["mandoc", "-Tlint", "-Wwarning", *manuals], capture_output=True, text=True)

    # A version that is not released has no date.
    assert [line for line in done.stdout.splitlines() if "missing date" not in line] == []


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completions_are_generated_and_parse(shell: str, tmp_path: pathlib.Path) -> None:
    result = wherry("--generate-completion-script", shell)
    assert result.status == 0 and "max-redirects" in result.text

    if shutil.which(shell):
        script = tmp_path / "completion"
        script.write_bytes(result.out)
        assert subprocess.run([shell, "-n", str(script)], capture_output=True).returncode == 0
