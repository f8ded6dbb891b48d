# Wherry: tests that the first programs of the README work as described.
# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import json
import os
import pathlib
import subprocess
import sys
import urllib.request
from typing import Any

import pytest
from conftest import GUARD, ROOT, Scope, environment
from test_uploads import jpeg

LIBRARY = next(
    (path for path in (ROOT / ".build/debug/libwherry-c.so", ROOT / "build/libwherry.so") if path.exists()), None
)


def script(server: Scope, **steps: list[Any]) -> str:
    """Responses for paths under the base URL that is returned."""
    request = urllib.request.Request(
        f"http://127.0.0.1:{server.facts['port']}/_script?key={server.key}", json.dumps(steps).encode(), method="POST"
    )
    urllib.request.urlopen(request, timeout=GUARD).close()
    return server.url("/s")


def programs_server(server: Scope) -> str:
    return script(
        server,
        notes=[{"json": {"id": 7, "text": "hello"}}],
        photos=[{"json": {"code": 0}}],
        **{"big.iso": [{"bytes": [300000, 1, 0]}]},
    )


def quickstart(*arguments: object) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [str(ROOT / ".build-examples/debug/quickstart"), *map(str, arguments)],
        capture_output=True,
        text=True,
        timeout=GUARD,
    )


def test_the_first_swift_program_works(server: Scope, tmp_path: pathlib.Path) -> None:
    done = quickstart(programs_server(server), jpeg(tmp_path / "a.jpg"), tmp_path / "big.iso")

    assert (done.returncode, done.stderr) == (0, "")
    lines = done.stdout.splitlines()
    assert lines[0] == "200 200" and lines[-2:] == ["1.0", str(tmp_path / "big.iso")]
    assert (tmp_path / "big.iso").stat().st_size == 300000
    assert [request["target"].rpartition("/")[2] for request in server.requests()] == ["notes", "photos", "big.iso"]


def test_the_first_swift_program_reports_failures() -> None:
    done = quickstart("http://127.0.0.1:1/", "a.jpg", "b")

    assert done.stdout.startswith("connect Could not connect to http://127.0.0.1:1")


@pytest.mark.skipif(LIBRARY is None, reason="the shared library is not built")
def test_the_first_python_program_works(server: Scope, tmp_path: pathlib.Path) -> None:
    base = programs_server(server)

    done = subprocess.run(
        [
            sys.executable,
            str(ROOT / "Examples/python/quickstart.py"),
            base,
            str(jpeg(tmp_path / "a.jpg")),
            str(tmp_path / "big.iso"),
        ],
        capture_output=True,
        text=True,
        timeout=GUARD,
        env=environment(PYTHONPATH=os.fspath(ROOT / "bindings/python/src"), WHERRY_LIBRARY=str(LIBRARY)),
    )

    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.splitlines()[-2:] == ["1.0", "7"]
    assert (tmp_path / "big.iso").stat().st_size == 300000
    assert [request["target"].rpartition("/")[2] for request in server.requests()] == ["notes", "photos", "big.iso"]
