# Wherry: the command that runs bulk jobs.
# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import json
import pathlib
import sys
from typing import Any

from conftest import ROOT, Scope, wherry

PYTHON: dict[str, Any] = {"WHERRY_PYTHON": sys.executable, "PYTHONPATH": str(ROOT / "bindings/python/src")}

PLAN = """
source = "urls.txt"
workers = 1
[output]
type = "folder"
path = "out"
[[steps]]
type = "download"
deny_addresses = []
"""


def test_B1_a_plan_runs_a_job(server: Scope, tmp_path: pathlib.Path) -> None:
    (tmp_path / "urls.txt").write_text(server.url("/bytes/5") + "\n" + server.url("/status/404") + "\n")
    (tmp_path / "plan.toml").write_text(PLAN)
    done = wherry("bulk", "plan.toml", "--json-output", cwd=tmp_path, **PYTHON)

    assert done.status == 0, done
    assert done.json["succeeded"] == 1 and done.json["failures"] == {"http_status": 1}
    assert len((tmp_path / "out/00000/000000000.bin").read_bytes()) == 5
    assert json.loads((tmp_path / "out/manifest.json").read_text())["complete"] is True


def test_B1_mistakes_are_one_sentence(tmp_path: pathlib.Path) -> None:
    for arguments, more, words in (
        (("none.toml",), PYTHON, "wherry bulk: none.toml: No such file"),
        ((), PYTHON, "Missing expected argument '<plan>'"),
        (("plan.toml", "--engine", "spark"), PYTHON, "'local', 'dask' or 'ray'"),
        (("plan.toml", "--workers", "0"), PYTHON, "No such file"),
        (("plan.toml",), {**PYTHON, "WHERRY_PYTHON": str(tmp_path / "none")}, "set WHERRY_PYTHON"),
        (("plan.toml",), {**PYTHON, "PYTHONPATH": ""}, "set WHERRY_PYTHON"),
    ):
        done = wherry("bulk", *arguments, cwd=tmp_path, **more)
        assert done.status == 2 and words in done.err and "Traceback" not in done.err, (arguments, done)
    assert "--dry-run" in wherry("bulk", "--help").text


def test_B12_the_bandwidth_limits_the_estimate(server: Scope, tmp_path: pathlib.Path) -> None:
    (tmp_path / "urls.txt").write_text(server.url("/bytes/5") + "\n")
    (tmp_path / "plan.toml").write_text(PLAN)
    done = wherry("bulk", "plan.toml", "--dry-run", "--bandwidth", "1e-2", cwd=tmp_path, **PYTHON)
    assert done.status == 0 and "limited by the bandwidth" in done.text, done
    refused = wherry("bulk", "plan.toml", "--bandwidth", "1e9", cwd=tmp_path, **PYTHON)
    assert refused.status == 2 and "--bandwidth needs --dry-run" in refused.err, refused
