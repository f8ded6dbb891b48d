# Wherry: the storage folder of a client
# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import errno
import os
import stat
import subprocess
import sys
from typing import Any, List, Optional

import pytest
from conftest import Server, run_python

import wherry


def test_C12_storage_is_created_on_request_and_is_private(tmp_path: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = os.path.join(tmp_path, "own")
    with wherry.Client(storage_directory=folder) as client:
        assert not os.path.exists(folder)
        assert client.storage == folder
        assert stat.S_IMODE(os.stat(folder).st_mode) == 0o700


@pytest.mark.parametrize(
    ("path", "command", "name"),
    [
        ("list-books.py", ["list-books.py"], "list-books"), ("pack/__main__.py", ["-m", "pack"], "pack"),
        ("pack/__main__.py", ["pack"], "pack"), ("pack/__main__.py", ["./pack/__main__.py"], "pack"),
        ("list-books.py", ["-c", "exec(open('list-books.py').read())"], None),
    ],
)  # fmt: skip
def test_C12_the_default_folder_has_the_name_of_the_script(
    tmp_path: Any, path: str, command: List[str], name: Optional[str]
) -> None:
    script = tmp_path / path
    script.parent.mkdir(exist_ok=True)
    script.write_text("import wherry\nwith wherry.Client() as client: print(client.storage)\n")
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path), "XDG_CACHE_HOME": str(tmp_path / "cache")}

    done = subprocess.run(
        [sys.executable, *command], cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=60
    )

    found = os.path.basename(done.stdout.strip())
    assert done.stderr == "" and (found == name if name else found.startswith("python"))


def test_C12_a_folder_can_be_the_program(tmp_path: Any) -> None:
    (tmp_path / "__main__.py").write_text("import wherry\nwith wherry.Client() as client: print(client.storage)\n")
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path), "XDG_CACHE_HOME": str(tmp_path / "cache")}

    done = subprocess.run(
        [sys.executable, "."], cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=60
    )

    assert done.stderr == "" and done.stdout.startswith(f"{tmp_path}/cache/wherry/")


def test_C12_without_a_home_folder_storage_is_a_clear_error(tmp_path: Any) -> None:
    code = f"""
import os, wherry
def storage(**settings):
    with wherry.Client(**settings) as client:
        try:
            return client.storage
        except wherry.FileError as error:
            return error.reason
for name in ("HOME", "XDG_CACHE_HOME"):
    os.environ.pop(name, None)
print(storage())
os.environ["XDG_CACHE_HOME"] = "relative/is/ignored"
print(storage())
os.environ["XDG_CACHE_HOME"] = {str(tmp_path)!r}
print(storage(storage_name="one"))
print(storage(storage_name="two"))
del os.environ["XDG_CACHE_HOME"]
os.environ["HOME"] = {str(tmp_path)!r}
print(storage(storage_name="one"))
"""
    done = run_python(code)

    assert done.stderr == ""
    lines = done.stdout.splitlines()
    assert lines[:2] == ["bad_storage"] * 2
    assert lines[2:4] == [f"{tmp_path}/wherry/one", f"{tmp_path}/wherry/two"]
    assert lines[4] == f"{tmp_path}/.cache/wherry/one"
    for path in lines[2:]:
        assert stat.S_IMODE(os.stat(path).st_mode) == 0o700
    for name in ("../../evil", "a/b", "..", ""):
        with pytest.raises(wherry.ArgumentError):
            wherry.Client(storage_name=name)


@pytest.mark.parametrize("mode", [0o755, 0o770, 0o700])
def test_C12_a_folder_that_others_may_enter_is_refused_and_kept(tmp_path: Any, mode: int) -> None:
    folder = os.path.join(tmp_path, "shared")
    os.mkdir(folder)
    os.chmod(folder, mode)
    if mode == 0o700:
        with wherry.Client(storage_directory=folder, cache=True) as client:
            assert client.storage == folder
    else:
        # Such a folder silently left the cache empty.
        for cache in (False, True):
            with pytest.raises(wherry.FileError) as caught:
                wherry.Client(storage_directory=folder, cache=cache)
            assert caught.value.reason == "bad_storage" and folder in caught.value.message
    assert stat.S_IMODE(os.stat(folder).st_mode) == mode


@pytest.mark.skipif(os.geteuid() != 0, reason="needs root, to mount a small disk")
@pytest.mark.parametrize("name", ["present", "missing"])
def test_C12_creating_a_client_with_storage_on_a_read_only_disk_is_an_error(tmp_path: Any, name: str) -> None:
    # The cache stayed empty, and only the log said so.
    code = f"""
import wherry
for cache in (False, True):
    try:
        wherry.Client(storage_directory={str(tmp_path / name)!r}, cache=cache)
    except wherry.FileError as error:
        print(error.os_code, {str(tmp_path)!r} in error.message)
"""
    script = f"""
mount -t tmpfs -o size=1m none {tmp_path} || exit 77
mkdir -m 700 {tmp_path}/present && mount -o remount,ro {tmp_path} || exit 77
exec "$@"
"""
    source = os.path.dirname(os.path.dirname(wherry.__file__))
    done = subprocess.run(
        ["unshare", "-m", "sh", "-c", script, "sh", sys.executable, "-c", code],
        capture_output=True, text=True, timeout=600, env={**os.environ, "PYTHONPATH": source},
    )  # fmt: skip
    if done.returncode == 77:
        pytest.skip("no small disk can be mounted")
    assert done.stderr == ""
    assert done.stdout.split() == [str(errno.EROFS), "True"] * 2


def test_C12_a_file_in_its_place_is_an_error_and_is_kept(tmp_path: Any) -> None:
    folder = os.path.join(tmp_path, "taken")
    with open(folder, "w") as file:
        file.write("mine")
    with pytest.raises(wherry.FileError) as caught:
        wherry.Client(storage_directory=folder)
    assert caught.value.reason == "bad_storage"

    with open(folder) as file:
        assert file.read() == "mine"


def test_a_program_outlives_a_truncated_counter_file_of_its_cache(
    server: Server,
    tmp_path: Any,
) -> None:
    # The file was mapped into memory, so the next cached request ended the program with SIGBUS.
    folder = os.path.join(tmp_path, "own")
    code = f"""
import os, pathlib, wherry
url = {server.url("/cache")!r}
with wherry.Client(storage_directory={folder!r}, cache=True) as client:
    for size in (0, 8, 4096, 16000):
        bodies = [client.get(url, cache=86400).text for _ in range(3)]
        assert bodies[1] == bodies[2]
        files = list(pathlib.Path({folder!r}).rglob("counters"))
        assert files
        for file in files:
            os.truncate(file, size)
        for _ in range(3):
            assert client.get(url, cache=86400).status_code == 200
        client.get(url + "?more=1", cache=86400)
        assert all(file.stat().st_size > 16000 for file in files), size
print("alive")
"""
    done = run_python(code)
    assert done.stdout.strip() == "alive", (done.returncode, done.stderr)
