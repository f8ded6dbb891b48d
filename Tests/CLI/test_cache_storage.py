# Wherry: tests of the storage of the caches: what cannot be stored, is not there, or was left behind.
# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import json
import os
import pathlib
import subprocess
import time
import urllib.request
from typing import Any

import pytest
from conftest import BINARY, GUARD, PATIENT_DOWNLOAD, Result, Scope, environment, wherry

Store = tuple[str, pathlib.Path]
PROTOCOL = ("--cache-policy", "protocol")
FRESH = "/cache?control=max-age=3600&etag=a"
ASKS = [PROTOCOL, ("--cache", 3600)]


@pytest.fixture
def store(tmp_path: pathlib.Path) -> Store:
    return ("--cache-directory", tmp_path / "store")


def entries(*store: Any) -> int:
    return int(wherry("cache", "usage", "--json-output", *store).json["entries"])


@pytest.mark.parametrize("ask", ASKS)
def test_K1_SEC_R1_a_body_larger_than_memory_allows_streams_past_the_cache(
    server: Scope, store: Store, tmp_path: pathlib.Path, ask: tuple[Any, ...]
) -> None:
    # With a cache on, a body of more than 64 MiB was an error.
    size = 70_000_000
    target = tmp_path / "out"
    result = wherry("get", server.url(f"/bytes/{size}?cache=max-age=60"), *ask, "-o", target, *store)
    assert (result.status, result.err) == (0, "") or "out" in result.err
    assert target.stat().st_size == size
    assert entries(*store) == 0
    # A smaller one is stored while it streams.
    small = server.url("/bytes/3000000?cache=max-age=60")
    first = wherry("get", small, *ask, *store).out
    assert len(first) == 3_000_000 and wherry("get", small, *ask, *store).out == first
    assert entries(*store) == 1 and len(server.requests()) == 2


@pytest.mark.parametrize("ask", ASKS)
def test_C12_a_storage_that_cannot_be_used_is_a_warning(
    server: Scope, tmp_path: pathlib.Path, ask: tuple[Any, ...]
) -> None:
    # Such a folder turned the cache off, and nobody was told.
    folder = tmp_path / "open"
    folder.mkdir()
    folder.chmod(0o755)
    store = ("--cache-directory", folder)
    url = server.url(FRESH)
    for _ in range(2):
        result = wherry("get", url, *ask, *store)
        assert result.status == 0 and result.out != b""
        assert "warning: nothing is cached: " in result.err and str(folder) in result.err
    assert wherry("get", url, *ask, "--quiet", *store).err == ""
    assert len(server.requests()) == 3 and list(folder.iterdir()) == []
    assert folder.stat().st_mode & 0o777 == 0o755
    for policy in ("only", "any-age-only"):
        refused = wherry("get", url, "--cache-policy", policy, *store)
        assert refused.status == 7 and "bad_storage" in refused.err
    for verb in ("list", "usage", "clear"):
        assert wherry("cache", verb, *store).status == 7


def test_K9_K10_a_folder_that_is_not_there_is_empty(tmp_path: pathlib.Path) -> None:
    folder = tmp_path / "gone"
    store = ("--cache-directory", folder)
    assert wherry("cache", "clear", "--json-output", *store).json == {"ok": True, "deleted": 0}
    assert wherry("cache", "clear", "http://127.0.0.1/", "--json-output", *store).json["deleted"] == 0
    assert wherry("cache", "usage", *store).text == "0 answers, 0.0000 KB\n"
    assert "Nothing is stored" in wherry("cache", "list", *store).err
    assert wherry("cache", "show", "http://127.0.0.1/", *store).status == 9
    assert not folder.exists()


@pytest.mark.skipif(os.geteuid() != 0, reason="needs root, to mount a small disk")
def test_K9_a_full_disk_can_be_cleared(server: Scope, tmp_path: pathlib.Path) -> None:
    # `cache clear` failed on a full disk, which is when it is needed.
    disk = tmp_path / "disk"
    disk.mkdir()
    url = server.url("/bytes/20000?cache=max-age=60")
    script = f"""
mount -t tmpfs -o size=2m none {disk} || exit 77
{BINARY} get {url} --cache-policy protocol --cache-directory {disk}/store -o /dev/null -q || exit 1
cat /dev/zero > {disk}/filler 2>/dev/null
{BINARY} cache clear --cache-directory {disk}/store --json-output
"""
    done = subprocess.run(
        ["unshare", "-m", "sh", "-c", script], capture_output=True, text=True, timeout=GUARD, env=environment())
    if done.returncode == 77:
        pytest.skip("no small disk can be mounted")
    assert (done.returncode, done.stderr) == (0, "")
    assert json.loads(done.stdout) == {"ok": True, "deleted": 1}


def test_K14_stale_while_revalidate_reaches_a_command_that_ends_at_once(server: Scope, store: Store) -> None:
    # Each run printed the stale response, began to validate it, and ended before the answer came: so the
    # stale one was served until the window closed.
    stale = [("Cache-Control", "max-age=60, stale-while-revalidate=86400"), ("Age", "100")]
    steps = [{"headers": stale, "body": "first"}] + [
        {"headers": [("Cache-Control", "max-age=3600")], "body": f"new {n}", "delay_ms": 700} for n in range(4)
    ]
    port, key = server.facts["port"], server.key
    request = urllib.request.Request(
        f"http://127.0.0.1:{port}/_script?key={key}", data=json.dumps({"page": steps}).encode())
    urllib.request.urlopen(request, timeout=GUARD).close()
    ask = ("get", server.url("/s/page"), *PROTOCOL, *store)
    assert wherry(*ask).text == wherry(*ask).text == "first"
    third = wherry(*ask)
    assert third.text.startswith("new ") and third.err == ""
    assert wherry(*ask).text == third.text


def test_K9_K10_partial_files_of_earlier_processes_are_counted_and_cleared(
    server: Scope, tmp_path: pathlib.Path
) -> None:
    # Only the downloads of the same process were found.
    target = tmp_path / "files" / "file.bin"
    target.parent.mkdir()
    folder = str(tmp_path / "cache")

    def cache(*words: str) -> Result:
        return wherry("cache", *words, XDG_CACHE_HOME=folder)

    def journals() -> list[pathlib.Path]:
        return [path for path in target.parent.iterdir() if path.name.endswith(".journal")]

    url = server.url("/bytes/3000000?hold=2000000&gate=never")
    sent = server.steer("/_stats")["sent"]
    command = subprocess.Popen(
        [str(BINARY), "download", url, "-o", str(target), "--progress", "none", *map(str, PATIENT_DOWNLOAD)],
        env=environment(XDG_CACHE_HOME=folder), stderr=subprocess.PIPE)
    try:
        server.steer(f"/_wait?sent={sent + 2_000_000}&timeout=600")
        limit = time.monotonic() + GUARD
        while not journals():  # until the first checkpoint
            assert time.monotonic() < limit and command.poll() is None
    finally:
        command.kill()
        command.communicate(timeout=GUARD)

    told = cache("usage", "--json-output").json
    assert told["partials"] == 1 and 0 <= told["partial_bytes"] <= 2_000_000
    assert "; 1 partial file, " in cache("usage").text
    assert cache("clear", "--json-output").json["deleted"] == 0
    assert cache("clear", "--partials", "--json-output").json["deleted"] == 1
    assert list(target.parent.iterdir()) == []
    assert cache("usage", "--json-output").json["partials"] == 0
    server.steer("/_signal?gate=never")
