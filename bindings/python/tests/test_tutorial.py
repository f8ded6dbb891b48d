# Wherry: the Python samples of the tutorial work as described
# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import os
from typing import Any

from conftest import Server, field
from test_example_programs import run
from test_uploads import png


def test_the_tutorial_works(server: Server, tmp_path: Any) -> None:
    picture = tmp_path / "a.png"
    picture.write_bytes(png(60, 40, 1))

    done = run("tutorial.py", f"{server.base}/@{server.key}", picture, tmp_path)

    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    assert lines[:7] == [
        "200 [['page', '2']]", "404 False no such note", "connect True", "{'text': 'hello'}", "200", "False", "True",
    ]  # fmt: skip
    assert " bytes, sent as " in lines[7]
    assert lines[8:] == ["complete: 20000000", "20 {200}"]
    assert os.path.getsize(tmp_path / "big.bin") == 20_000_000
    paths = [one["path"].rpartition("/")[2] for one in server.log()]
    assert paths.count("faulty-echo") == 2 and paths.count("json") == 1 and paths.count("100") == 20
    posted = next(one for one in server.log() if one["method"] == "POST")
    assert field(posted, "X-App") == ["tutorial"]
