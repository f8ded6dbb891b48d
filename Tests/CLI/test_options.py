# Wherry: tests of the table of options and of what scripts/make-options writes.
# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import pathlib
import shutil
import subprocess
import sys

import pytest
from conftest import ROOT

TABLE = "Sources/WherryRequests/Options/options.toml"
COPIED = (
    "scripts/make-options",
    "scripts/options",
    "include",
    "docs",
    "Sources",
    "bindings/python/src",
    "bindings/python/README.md",
)
#: An option of each kind of value that needs no Swift enumeration.
NEW = """
[[option]]
name = "pause_ms"
number = 900
type = "ms"
scope = "BLR"
default = 2_500
range = [0, 60_000]
help = "The pause between two requests, besides {rate_limit}."
feature = "C6"

[[option.flags]]
name = "pause"
in = "connection"
value = "seconds"
help = "Pause this long between two requests. (default: 2.5)"

[[option.flags]]
name = "wait"
short = "w"
also = "delay"
in = "download"
value = "seconds"
help = "Pause this long before each file. (default: 2.5)"

[[option]]
name = "trim"
number = 901
type = "switch"
scope = "BL"
default = 1
help = "Whether to trim answers."
feature = "C6"

[[text]]
name = "greeting"
number = 900
type = "text"
scope = "BL"
help = "The greeting of a session."
feature = "C6"
"""


def unrelated(folder: str, names: list[str]) -> set[str]:
    """The names that the copy leaves out."""
    sources = {
        name
        for name in names
        if name.endswith((".swift", ".c", ".h")) and "ption" not in name and not name.endswith("Command.swift")
    }
    return {"__pycache__", "_lib", "hooks", "man"} | (sources if "/Sources/" in folder else set())


@pytest.fixture
def tree(tmp_path: pathlib.Path) -> pathlib.Path:
    """A copy of the table, its script, and the files that the script writes."""
    for name in COPIED:
        place = tmp_path / name
        place.parent.mkdir(parents=True, exist_ok=True)
        if (ROOT / name).is_dir():
            shutil.copytree(ROOT / name, place, ignore=unrelated)
        else:
            shutil.copy(ROOT / name, place)
    return tmp_path


def make_options(tree: pathlib.Path, *words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-B", str(tree / "scripts/make-options"), *words], capture_output=True, text=True
    )


def changed(tree: pathlib.Path, before: str, after: str) -> None:
    table = tree / TABLE
    text = table.read_text()
    assert before in text
    table.write_text(text.replace(before, after, 1))


def test_all_generated_files_match_the_table(tree: pathlib.Path) -> None:
    done = make_options(tree, "--check")
    assert (done.returncode, done.stderr) == (0, "")


def test_a_new_option_is_declared_in_every_language(tree: pathlib.Path) -> None:
    (tree / TABLE).write_text((tree / TABLE).read_text() + NEW)
    stale = make_options(tree, "--check")
    assert stale.returncode == 1 and "run scripts/make-options" in stale.stderr

    assert make_options(tree).stderr == ""

    header = (tree / "include/wherry.h").read_text()
    assert (
        "  /* BLR 2500 (0 to 60000); the pause between two requests, besides RATE_LIMIT */\n  WHERRY_OPTION_PAUSE_MS = 900"
        in header
    )
    assert "  WHERRY_OPTION_TRIM = 901                  /* BL 1; whether to trim answers */\n" in header
    assert "  WHERRY_TEXT_GREETING = 900      /* BL; the greeting of a session */\n" in header
    subprocess.run(["cc", "-fsyntax-only", "-x", "c", str(tree / "include/wherry.h")], check=True)
    core, api = tree / "Sources/WherryRequests/Options", tree / "Sources/WherryAsync"
    assert 'Declaration("pause_ms", [.build, .live, .request], 2500, 0...60_000)' in (core / "Option.swift").read_text()
    assert "    case greeting = 900\n" in (core / "TextOption.swift").read_text()
    client, request = (
        (api / f"{name}+Options.swift").read_text().replace("\n    /// ", " ") for name in ("Configuration", "Request")
    )
    assert "besides ``rateLimit``. Range: 0 s to 60 s. Default: 2.5 s.\n    public var pause: Duration {" in client
    assert "public var trim: Bool {" in client and "public var greeting: String? {" in client
    assert "public var pause: Duration? {" in request and "trim" not in request
    cli = tree / "Sources/WherryCLI/Options"
    assert 'name: .customLong("pause"),' in (cli / "ConnectionOptions.swift").read_text()
    command = (cli.parent / "Commands/DownloadCommand.swift").read_text()
    assert 'name: [.customShort("w"), .customLong("wait"), .customLong("delay")],' in command
    setters = (cli / "OptionFlags.swift").read_text()
    assert "options[.pause] = pause.duration.settingMilliseconds" in setters
    assert "if let pause { request.set(.pause, pause.duration.settingMilliseconds) }" in setters
    python = tree / "bindings/python/src/wherry"
    assert "OPTION_PAUSE_MS = 900\n" in (python / "_native/codes.py").read_text()
    keywords = (python / "_core/option_table.py").read_text()
    assert keywords.count('"pause": (codes.OPTION_PAUSE_MS, "milliseconds"),') == 2  # of requests and clients
    assert '"trim": (codes.OPTION_TRIM, "whole"),' in keywords and '"greeting": codes.TEXT_GREETING,' in keywords
    types = (python / "_core/option_keywords.py").read_text()
    assert types.count("    pause: float\n") == 2 and "    trim: bool\n" in types and "greeting: Optional[str]" in types
    assert "\npause | 2.5 | The pause between two requests, besides rate_limit. From 0 to 60. In seconds\n" in types
    for module in (keywords, types):
        compile(module, "generated", "exec")
    readme = (tree / "bindings/python/README.md").read_text()
    assert (
        "| `pause` | 2.5 | The pause between two requests, besides rate_limit. From 0 to 60. In seconds |\n" in readme
    )
    page = (tree / "docs/configuration.md").read_text()
    assert (
        "| `pause_ms` | BLR | ms, 0 to 60,000 | 2,500 | The pause between two requests, besides `rate_limit`. |"
        " [C6](features.md) |\n"
    ) in page
    assert make_options(tree, "--check").returncode == 0


@pytest.mark.parametrize(
    ("before", "after", "message"),
    [
        ("number = 2\n", "number = 1\n", "two of [[option]] have the number 1"),
        ('name = "max_redirects"', 'name = "MaxRedirects"', "not in lower case"),
        ('feature = "C6"', 'feature = "Z9"', "docs/features.md has no row Z9"),
        ('scope = "BLR"', 'scope = "RL"', "the scope is not"),
        ("range = [0, 100]\n", "range = [20, 100]\n", "max_redirects: the default is not in the range"),
        ("{rate_interval_ms}", "{rate_intervals}", "there is no option rate_intervals"),
        ('type = "switch"', 'type = "boolean"', "the type is not one of"),
        ('swift_type = "HTTPVersion"\n', "", "http_version: there is no swift_type"),
        ('\nin = "tls"', '\nin = "ssl"', "is in none of the groups"),
        ('python_in = ["collected"]', 'python_in = ["gathered"]', "coalesce: python_in is not"),
        ("accepts_bool = true", "accepts_bools = true", "unknown key accepts_bools"),
        ('swift = "keepsAuthAcrossHosts"\n', "", "names keepsAuthAcrossHosts for keep_auth_across_hosts"),
    ],
)
def test_a_mistake_in_the_table_is_named(tree: pathlib.Path, before: str, after: str, message: str) -> None:
    changed(tree, before, after)
    done = make_options(tree)
    assert done.returncode == 1 and message in done.stderr
    assert make_options(ROOT, "--check").returncode == 0


def test_a_file_without_its_markers_is_named(tree: pathlib.Path) -> None:
    page = tree / "docs/configuration.md"
    page.write_text(page.read_text().replace("<!-- options: end -->", ""))
    done = make_options(tree)
    assert done.returncode == 1 and "docs/configuration.md has no line with" in done.stderr
