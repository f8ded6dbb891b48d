# Wherry: helpers of the tests of bulk jobs
# SPDX-License-Identifier: Apache-2.0
"""Reads what bulk jobs have written, and runs them in separate programs."""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
import sys
import tarfile
from typing import Any, Dict, List

from conftest import ROOT


def tar_items(folder: Any) -> Dict[str, bytes]:
    """The items of all tar files of a job by key, after checking the digests of the manifest.

    Each item must be in one tar file only, with its metadata.
    """
    found: Dict[str, bytes] = {}
    metadata: Dict[str, Any] = {}
    with open(os.path.join(folder, "manifest.json")) as file:
        manifest = json.load(file)
    names = sorted(name for name in os.listdir(folder) if name.endswith(".tar"))
    assert sorted(manifest["files"]) == names
    for name in names:
        with open(os.path.join(folder, name), "rb") as tar:
            assert hashlib.sha256(tar.read()).hexdigest() == manifest["files"][name]["sha256"]
        with tarfile.open(os.path.join(folder, name)) as shard:
            for member in shard:
                key, _, extension = member.name.partition(".")
                place: Dict[str, Any] = metadata if extension == "json" else found
                reader = shard.extractfile(member)
                assert key not in place and reader is not None
                place[key] = reader.read()
    assert sorted(metadata) == sorted(found)
    return found


def logged(folder: Any) -> List[Dict[str, Any]]:
    """The lines of the log of all items."""
    place = os.path.join(folder, "_wherry", "log")
    lines: List[Dict[str, Any]] = []
    for name in sorted(os.listdir(place)):
        with open(os.path.join(place, name)) as file:
            lines += [json.loads(line) for line in file]
    return lines


def left_over(folder: Any) -> List[str]:
    """The attempts that were not deleted."""
    return os.listdir(os.path.join(folder, "_wherry", "attempts"))


def start_job(code: str) -> subprocess.Popen[str]:
    """Runs a program that imports wherry.bulk, in its own process group."""
    source = os.pathsep.join([os.path.join(ROOT, "bindings", "python", "src"), os.path.dirname(__file__)])
    return subprocess.Popen(
        [sys.executable, "-W", "error", "-c", code], env={**os.environ, "PYTHONPATH": source}, text=True,
        stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, start_new_session=True,
    )  # fmt: skip


def workers_of(driver: int) -> List[int]:
    """The worker processes of a driver."""
    with open(f"/proc/{driver}/task/{driver}/children") as file:
        return [int(number) for number in file.read().split()]
