# Wherry: the programs in Examples/python work as described
# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import hashlib
import os
import subprocess
import sys
from typing import Any

from conftest import ROOT, Server
from test_uploads import png

import wherry


def run(name: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    program = os.path.join(ROOT, "Examples", "python", name)
    env = {**os.environ, "PYTHONPATH": os.path.join(ROOT, "bindings", "python", "src")}
    command = [sys.executable, "-W", "error", program, *arguments]
    return subprocess.run(command, env=env, capture_output=True, text=True, timeout=600)


def test_the_get_example_works(server: Server) -> None:
    good = run("get.py", server.url("/bytes/100"))
    bad = run("get.py", "http://127.0.0.1:1/")

    assert (good.returncode, good.stdout) == (0, "200 application/octet-stream 100\n")
    assert bad.returncode == 1 and bad.stderr.startswith("connect: ")


def test_the_post_json_example_works(server: Server) -> None:
    good = run("post_json.py", server.base, "echo")
    bad = run("post_json.py", server.base, "status/422?body=no")

    assert (good.returncode, good.stdout) == (0, "POST ['meer', 'sand']\n")
    assert (bad.returncode, bad.stderr) == (1, "refused with 422: no\n")


def test_the_many_example_works(server: Server) -> None:
    done = run("many.py", server.base, "50")

    assert (done.returncode, done.stdout, done.stderr) == (0, "50 of 50\n", "")


def test_the_album_example_works(server: Server, tmp_path: Any) -> None:
    for number in (1, 2):
        (tmp_path / f"{number}.png").write_bytes(png(40, 30, number))
    done = run("album.py", server.url("/upload-photo"), str(tmp_path / "1.png"), str(tmp_path / "2.png"))

    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.endswith("\n200 2 images\n")


def test_the_album_example_reports_failures(server: Server, tmp_path: Any) -> None:
    (tmp_path / "good.png").write_bytes(png(40, 30, 1))
    (tmp_path / "bad.png").write_bytes(b"no picture")
    pictures = [str(tmp_path / "good.png"), str(tmp_path / "bad.png")]

    broken = run("album.py", server.url("/upload-photo"), *pictures)
    refused = run("album.py", server.url("/status/500?body=overloaded"), pictures[0])

    assert broken.returncode == 1 and "Traceback" not in broken.stderr
    assert broken.stderr.startswith("bad_image: ") and "bad.png: " in broken.stderr
    assert (refused.returncode, refused.stderr) == (1, "refused with 500: overloaded\n")


def test_the_download_example_works(server: Server, tmp_path: Any) -> None:
    digest = wherry.get(server.url("/digest/100000")).text
    target = tmp_path / "file"
    good = run("download.py", server.url("/bytes/100000"), str(target), digest)
    again = run("download.py", server.url("/bytes/100000"), str(target), digest)

    assert (good.returncode, good.stdout) == (0, f"\n{target}\n")
    assert hashlib.sha256(target.read_bytes()).hexdigest() == digest
    assert again.returncode in (0, 1)
