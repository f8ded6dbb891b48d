# Wherry: tests that the shell samples in the documentation work as described.
# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import hashlib
import json
import os
import pathlib
import re
import subprocess
from typing import Any

import pytest
from conftest import BINARY, GUARD, ROOT, Scope, environment
from test_downloads import pattern
from test_quickstarts import script
from test_uploads import jpeg

SIZE = 300_000


@pytest.fixture
def settings(tmp_path: pathlib.Path) -> dict[str, str]:
    """An environment with `wherry` in PATH."""
    programs = tmp_path / "bin"
    programs.mkdir()
    (programs / "wherry").symlink_to(BINARY)
    return environment(
        PATH=f"{programs}:{os.environ['PATH']}",
        XDG_CACHE_HOME=str(tmp_path / "cache"),
        XDG_STATE_HOME=str(tmp_path / "state"),
        WHERRY_AGENT=str(BINARY.parent / "wherry-agent"),
    )


def run(name: str, settings: dict[str, str], *arguments: object) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [str(ROOT / "Examples/shell" / name), *map(str, arguments)],
        env=settings,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=GUARD,
    )


def test_the_tutorial_works(server: Scope, settings: dict[str, str], tmp_path: pathlib.Path) -> None:
    done = run("tutorial.sh", settings, server.url(""), jpeg(tmp_path / "a.jpg"), tmp_path)

    assert done.returncode == 0, done.stderr
    assert "no such noteexit status 3" in done.stdout.replace("\n", "") and "exit status 4" in done.stdout
    stored = [json.loads(line) for line in re.findall('{"ok":.*', done.stdout)]
    assert [one.get("from_cache") for one in stored] == [None, True]
    assert '"fields": {"album": "Skye"}' in done.stdout
    assert (tmp_path / "big.bin").stat().st_size == 20_000_000 and "SHA-256 matches" in done.stderr
    paths = [one["path"].rpartition("/")[2] for one in server.requests()]
    assert paths.count("faulty-echo") == 2 and paths.count("json") == 1


def test_the_guide_for_users_of_aria2_works(
    server: Scope,
    settings: dict[str, str],
    tmp_path: pathlib.Path,
) -> None:
    steps: dict[str, list[Any]] = {
        "large.bin": [{"bytes": [SIZE, 1, 0]}] * 3,
        "small.bin": [{"bytes": [3000, 1, 0]}],
        "next.bin": [{"bytes": [4000, 1, 0]}],
        "missing.bin": [{"status": 404}],
    }

    done = run(
        "from_aria2.sh", settings, script(server, **steps), tmp_path, hashlib.sha256(pattern(1, SIZE)).hexdigest()
    )

    assert done.returncode == 0, done.stderr
    sizes = {
        name: (tmp_path / name).stat().st_size
        for name in ("large.bin", "mirrored.bin", "files/small.bin", "files/next.bin", "later.bin")
    }
    assert list(sizes.values()) == [SIZE, SIZE, 3000, 4000, SIZE]
    assert done.stderr.count("SHA-256 matches") == 2
    assert list((tmp_path / "state/wherry/wherry/jobs").iterdir()) == []
