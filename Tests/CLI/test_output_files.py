# Wherry: tests of the files that commands write.
# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import os
import pathlib
import subprocess

import pytest
from conftest import BINARY, GUARD, Scope, environment, wherry
from test_uploads import jpeg


# The file was replaced, because its directory may be written.
@pytest.mark.parametrize("command", ["get", "image"])
def test_a_read_only_file_is_not_replaced(server: Scope, tmp_path: pathlib.Path, command: str) -> None:
    target = tmp_path / "a.jpg"
    picture = jpeg(tmp_path / "b.jpg", 16, 16)
    arguments = {"get": ["get", server.url("/bytes/10"), "-o", target],
                 "image": ["image", picture, target, "--overwrite"]}[command]
    target.write_bytes(b"old")
    target.chmod(0o444)
    # Root may write every file, unless the process gives up that right.
    drop = ["setpriv", "--bounding-set", "-dac_override"] if os.geteuid() == 0 else []
    done = subprocess.run(
        [*drop, str(BINARY), *map(str, arguments)], capture_output=True, timeout=GUARD, env=environment(), check=False)

    assert done.returncode == 7 and b"a.jpg cannot be written: Permission denied" in done.stderr
    assert target.read_bytes() == b"old" and server.requests() == []
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a.jpg", "b.jpg"]


def test_other_hard_links_of_a_replaced_file_keep_the_old_content(server: Scope, tmp_path: pathlib.Path) -> None:
    target, link = tmp_path / "a", tmp_path / "b"
    target.write_bytes(b"old")
    link.hardlink_to(target)

    assert wherry("get", server.url("/bytes/10"), "-o", target).status == 0
    assert target.stat().st_size == 10 and link.read_bytes() == b"old"
