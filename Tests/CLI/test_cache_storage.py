# Wherry: tests of cache storage: uncacheable responses, missing folders, and leftover files.
# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import json
import os
import pathlib
import shutil
import subprocess
import time
import urllib.request
from typing import Any, Callable

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
    # With a cache enabled, a body of more than 64 MiB was an error.
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
def test_C12_unusable_storage_is_a_warning(server: Scope, tmp_path: pathlib.Path, ask: tuple[Any, ...]) -> None:
    # Such a folder turned the cache off without a message.
    folder = tmp_path / "open"
    folder.mkdir()
    folder.chmod(0o755)
    store = ("--cache-directory", folder)
    url = server.url(FRESH)
    for _ in range(2):
        result = wherry("get", url, *ask, *store)
        assert result.status == 0 and result.out != b""
        assert "warning: the response cannot be stored: " in result.err and str(folder) in result.err
    assert wherry("get", url, *ask, "--quiet", *store).err == ""
    assert len(server.requests()) == 3 and list(folder.iterdir()) == []
    assert folder.stat().st_mode & 0o777 == 0o755
    for policy in ("only", "any-age-only"):
        refused = wherry("get", url, "--cache-policy", policy, *store)
        assert refused.status == 7 and "bad_storage" in refused.err
    for verb in ("list", "usage", "clear"):
        assert wherry("cache", verb, *store).status == 7


def test_K9_K10_a_missing_folder_is_empty(tmp_path: pathlib.Path) -> None:
    folder = tmp_path / "gone"
    store = ("--cache-directory", folder)
    assert wherry("cache", "clear", "--json-output", *store).json == {"ok": True, "deleted": 0}
    assert wherry("cache", "clear", "http://127.0.0.1/", "--json-output", *store).json["deleted"] == 0
    assert wherry("cache", "usage", *store).text == "0 responses, 0 bytes\n"
    assert "There are no stored responses" in wherry("cache", "list", *store).err
    assert wherry("cache", "show", "http://127.0.0.1/", *store).status == 9
    assert not folder.exists()


@pytest.mark.skipif(os.geteuid() != 0, reason="needs root, to mount a small disk")
def test_K9_a_full_disk_can_be_cleared(server: Scope, tmp_path: pathlib.Path) -> None:
    # `cache clear` failed on a full disk, when it is needed most.
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
        ["unshare", "-m", "sh", "-c", script], capture_output=True, text=True, timeout=GUARD, env=environment()
    )
    if done.returncode == 77:
        pytest.skip("no small disk can be mounted")
    assert (done.returncode, done.stderr) == (0, "")
    assert json.loads(done.stdout) == {"ok": True, "deleted": 1}


def test_K14_stale_while_revalidate_works_with_a_command_that_exits_at_once(
    server: Scope,
    store: Store,
) -> None:
    # Each run printed the stale response, began to validate it, and exited before the new one
    # arrived: so the stale one was served until the window closed.
    stale = [("Cache-Control", "max-age=60, stale-while-revalidate=86400"), ("Age", "100")]
    steps = [{"headers": stale, "body": "first"}] + [
        {"headers": [("Cache-Control", "max-age=3600")], "body": f"new {n}", "delay_ms": 700} for n in range(4)
    ]
    port, key = server.facts["port"], server.key
    request = urllib.request.Request(
        f"http://127.0.0.1:{port}/_script?key={key}", data=json.dumps({"page": steps}).encode()
    )
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
        env=environment(XDG_CACHE_HOME=folder),
        stderr=subprocess.PIPE,
    )
    try:
        server.steer(f"/_wait?sent={sent + 2_000_000}&timeout=600")
        limit = time.monotonic() + GUARD
        while not journals():  # until the first checkpoint
            assert time.monotonic() < limit and command.poll() is None
    finally:
        command.kill()
        command.communicate(timeout=GUARD)

    report = cache("usage", "--json-output").json
    assert report["partials"] == 1 and 0 <= report["partial_bytes"] <= 2_000_000
    assert "; 1 partial file, " in cache("usage").text
    assert cache("clear", "--json-output").json["deleted"] == 0
    assert cache("clear", "--partials", "--json-output").json["deleted"] == 1
    assert list(target.parent.iterdir()) == []
    assert cache("usage", "--json-output").json["partials"] == 0
    server.steer("/_signal?gate=never")


def records(cache: pathlib.Path) -> list[pathlib.Path]:
    """The records of directories with downloads."""
    folder = cache / "wherry" / "wherry" / "downloads"
    return sorted(path for path in folder.iterdir() if not path.name.startswith(".")) if folder.is_dir() else []


def partials(cache: pathlib.Path) -> int:
    return int(wherry("cache", "usage", "--json-output", XDG_CACHE_HOME=str(cache)).json["partials"])


def until(condition: Callable[[], object], command: "subprocess.Popen[bytes]") -> None:
    limit = time.monotonic() + GUARD
    while not condition():
        assert time.monotonic() < limit and command.poll() is None


def test_K9_K10_a_process_that_lists_keeps_the_record_of_a_download_in_another_one(
    server: Scope, tmp_path: pathlib.Path
) -> None:
    # A command that listed while another one waited for its response deleted the record of the
    # directory, because the partial file did not exist yet. The partial file was never found again.
    cache, folder = tmp_path / "cache", tmp_path / "files"
    folder.mkdir()
    steps = [
        {
            "raw": [
                ["gate", "go"],
                ["send", 'HTTP/1.1 200 OK\r\nContent-Length: 3000000\r\nETag: "a"\r\n\r\n'],
                ["bytes", 2_000_000, 1, 0],
                ["gate", "never"],
            ]
        }
    ]
    request = urllib.request.Request(
        f"http://127.0.0.1:{server.facts['port']}/_script?key={server.key}",
        data=json.dumps({"file": steps * 4}).encode(),
    )
    urllib.request.urlopen(request, timeout=GUARD).close()
    command = subprocess.Popen(
        [
            str(BINARY),
            "download",
            server.url("/s/file"),
            "-o",
            str(folder / "file"),
            "--progress",
            "none",
            "--segments",
            "1",
            *map(str, PATIENT_DOWNLOAD),
        ],
        env=environment(XDG_CACHE_HOME=str(cache)),
        stderr=subprocess.PIPE,
    )
    try:
        until(lambda: records(cache), command)
        assert partials(cache) == 0 and not [path for path in folder.iterdir() if path.name.endswith(".journal")]
        assert len(records(cache)) == 1
        server.steer("/_signal?gate=go")
        until(lambda: [path for path in folder.iterdir() if path.stat().st_size >= 2_000_000], command)
    finally:
        command.kill()
        command.communicate(timeout=GUARD)

    assert partials(cache) == 1
    report = wherry("cache", "clear", "--partials", "--json-output", XDG_CACHE_HOME=str(cache)).json
    assert report["deleted"] == 1 and list(folder.iterdir()) == []
    server.steer("/_signal?gate=never")


def test_K9_K10_only_old_records_of_directories_without_partial_files_are_deleted(
    server: Scope, tmp_path: pathlib.Path
) -> None:
    # A directory that could not be read lost its record.
    cache = tmp_path / "cache"
    folders = {name: tmp_path / name for name in ("young", "old", "gone", "unreadable")}
    for folder in folders.values():
        folder.mkdir()
        done = wherry("download", server.url("/bytes/1000"), "-o", folder / "file", XDG_CACHE_HOME=str(cache))
        assert done.status == 0, done
    found = {pathlib.Path(path.read_text()): path for path in records(cache)}
    assert set(found) == set(folders.values())
    (folders["gone"] / "file").unlink()
    folders["gone"].rmdir()
    # A file in place of a directory cannot be listed, not even by root.
    (folders["unreadable"] / "file").unlink()
    folders["unreadable"].rmdir()
    folders["unreadable"].write_text("")
    month = time.time() - 31 * 86400
    for name in ("old", "gone", "unreadable"):
        os.utime(found[folders[name]], (month, month))

    assert partials(cache) == 0
    assert {pathlib.Path(path.read_text()) for path in records(cache)} == {folders["young"], folders["unreadable"]}
    # The next download writes the record again, and updates its time.
    for name in ("old", "young"):
        os.utime(found[folders["young"]], (month, month))
        done = wherry("download", server.url("/bytes/2000"), "-o", folders[name] / "more", XDG_CACHE_HOME=str(cache))
        assert done.status == 0, done
    assert {pathlib.Path(path.read_text()) for path in records(cache)} == {
        folders["young"],
        folders["old"],
        folders["unreadable"],
    }
    assert found[folders["young"]].stat().st_mtime > month + 86400


@pytest.mark.skipif(os.geteuid() != 0, reason="needs root, to mount a folder read-only")
def test_C12_read_only_storage_is_a_warning_for_requests(
    server: Scope,
    tmp_path: pathlib.Path,
) -> None:
    store = tmp_path / "store"
    url = server.url(FRESH)
    first = wherry("get", url, *PROTOCOL, "--cache-directory", store)
    assert first.status == 0

    def read_only(*arguments: object) -> Result:
        words = " ".join(f"'{word}'" for word in (BINARY, *arguments))
        script = f"mount --bind {store} {store} && mount -o remount,bind,ro {store} || exit 77\n{words}"
        done = subprocess.run(
            ["unshare", "-m", "sh", "-c", script],
            capture_output=True,
            timeout=GUARD,
            env=environment(),
            stdin=subprocess.DEVNULL,
        )
        if done.returncode == 77:
            pytest.skip("nothing can be mounted")
        return Result(done.returncode, done.stdout, done.stderr.decode())

    directory = ("--cache-directory", store)
    served = read_only("get", url, *PROTOCOL, *directory)
    assert served.status == 0 and served.out not in (b"", first.out), served
    assert "warning: the response cannot be stored: " in served.err and "Read-only" in served.err
    for arguments in (
        ("get", url, "--cache-policy", "any-age-only"),
        ("cache", "list"),
        ("cache", "show", url),
        ("cache", "clear"),
    ):
        refused = read_only(*arguments, *directory)
        assert refused.status == 7 and "read_only: " in refused.err and str(store) in refused.err, refused
    assert wherry("cache", "show", url, *directory).out == first.out


@pytest.mark.skipif(shutil.which("cc") is None, reason="the C compiler is missing")
@pytest.mark.parametrize("ask", ASKS)
def test_K5_an_entry_from_the_future_is_not_served_by_the_timed_cache(
    server: Scope, store: Store, tmp_path: pathlib.Path, ask: tuple[Any, ...]
) -> None:
    # The clock was ahead when the response was stored, and was set back.
    (tmp_path / "ahead.c").write_text(
        "#define _GNU_SOURCE\n#include <dlfcn.h>\n#include <time.h>\n"
        "int clock_gettime(clockid_t id, struct timespec *t) {\n"
        "  static int (*real)(clockid_t, struct timespec *);\n"
        '  if (!real) real = (int (*)(clockid_t, struct timespec *))dlsym(RTLD_NEXT, "clock_gettime");\n'
        "  int status = real(id, t);\n"
        "  if (status == 0 && id == CLOCK_REALTIME) t->tv_sec += 86400;\n"
        "  return status;\n}\n"
    )
    subprocess.run(["cc", "-shared", "-fPIC", "-o", "ahead.so", "ahead.c", "-ldl"], cwd=tmp_path, check=True)
    url = server.url(FRESH)
    first = wherry("get", url, *ask, *store, LD_PRELOAD=str(tmp_path / "ahead.so"))
    assert first.status == 0 and entries(*store, "--quiet") == 1

    if ask == PROTOCOL:
        # HTTP treats a negative age as zero: the entry is fresh for no longer than its lifetime.
        assert wherry("get", url, *ask, *store).out == first.out
        return
    missed = wherry("get", url, "--cache-policy", "only", "--json-output", *store)
    assert missed.status == 9 and missed.json["error"]["reason"] == "clock", missed
    second = wherry("get", url, *ask, *store)
    assert second.status == 0 and second.out != first.out
    assert wherry("get", url, *ask, *store).out == second.out
