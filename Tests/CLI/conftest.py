# Wherry: the built command and a test server for the tests in this folder.
# SPDX-License-Identifier: Apache-2.0
"""pytest fixtures. WHERRY_CLI selects a binary other than .build/debug/wherry-cli."""

from __future__ import annotations

import itertools
import json
import os
import pathlib
import subprocess
import sys
import urllib.parse
import urllib.request
from dataclasses import dataclass
from typing import Any, Iterator

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
BINARY = pathlib.Path(os.environ.get("WHERRY_CLI", ROOT / ".build/debug/wherry-cli"))
GUARD = 900  # seconds: only a guard against hangs
PATIENT = ("--timeout", 0)
"""For a command whose response the test's server holds: generous timeouts for busy machines."""
PATIENT_DOWNLOAD = (*PATIENT, "--stall-timeout", GUARD)
sys.path.insert(0, str(ROOT / "Tests/TestServer"))


@dataclass
class Result:
    status: int
    out: bytes
    err: str

    @property
    def text(self) -> str:
        return self.out.decode()

    @property
    def json(self) -> Any:
        return json.loads(self.out)


def environment(**more: str) -> dict[str, str]:
    kept = {name: os.environ[name] for name in ("PATH", "HOME", "LD_LIBRARY_PATH", "ASAN_OPTIONS") if name in os.environ}
    return {**kept, "LANG": "C.UTF-8", "TERM": "xterm", **more}


def wherry(*arguments: object, input: bytes = b"", cwd: pathlib.Path | None = None, **more: str) -> Result:
    """Runs the command until it exits."""
    done = subprocess.run(
        [str(BINARY), *map(str, arguments)],
        input=input,
        capture_output=True,
        timeout=GUARD,
        env=environment(**more),
        cwd=cwd,
    )
    return Result(done.returncode, done.stdout, done.stderr.decode())


def start(*arguments: object, **more: Any) -> subprocess.Popen[bytes]:
    """Starts the command; the caller waits for it."""
    more.setdefault("stdin", subprocess.DEVNULL)
    return subprocess.Popen([str(BINARY), *map(str, arguments)], env=environment(), **more)


@dataclass
class Scope:
    """One test's own scope of the server."""

    facts: dict[str, Any]
    key: str

    def url(self, path: str) -> str:
        return f"http://127.0.0.1:{self.facts['port']}/@{self.key}{path}"

    def tls(self, path: str) -> str:
        return f"https://localhost:{self.facts['tls_port']}/@{self.key}{path}"

    @property
    def ca(self) -> str:
        return str(self.facts["ca"])

    def steer(self, path: str) -> Any:
        mark = "&" if "?" in path else "?"
        base = f"http://127.0.0.1:{self.facts['port']}"
        with urllib.request.urlopen(f"{base}{path}{mark}key={self.key}", timeout=GUARD) as answer:
            return json.loads(answer.read() or b"null")

    def requests(self) -> list[dict[str, Any]]:
        return list(self.steer("/_log")["requests"])

    def wait(self, condition: str) -> None:
        self.steer(f"/_wait?{condition}&timeout=600")


@pytest.fixture(scope="session")
def facts(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, Any]]:
    saved = tmp_path_factory.mktemp("saved")
    server = subprocess.Popen(
        [sys.executable, "-m", "wherry_testserver", "--port", "0", "--tls-make", "good", "--save-dir", str(saved)],
        cwd=ROOT / "Tests/TestServer",
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    )
    assert server.stdin and server.stdout
    facts = json.loads(server.stdout.readline())
    facts["saved"] = str(saved)
    yield facts
    server.stdin.close()  # the server exits at the end of its input
    server.wait(GUARD)


_keys = itertools.count(1)


@pytest.fixture
def server(facts: dict[str, Any]) -> Scope:
    return Scope(facts, f"cli{next(_keys)}")


def field(request: dict[str, Any], name: str) -> str | None:
    """A header from the /echo response or from the log."""
    return next((v for n, v in request["headers"] if n.lower() == name.lower()), None)
