# Wherry: tests that the larger programs of Examples/swift work as described.
# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import hashlib
import pathlib
import re
import signal
import stat
import subprocess
from typing import Any

import pytest
from conftest import GUARD, ROOT, Scope, environment, field
from test_quickstarts import script
from test_uploads import jpeg

SIZE = 8_389_385


def start(name: str, *arguments: object, **more: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [str(ROOT / ".build-examples/debug" / name), *map(str, arguments)],
        env=environment(**more),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def run(name: str, *arguments: object, **more: str) -> tuple[int, str, str]:
    with start(name, *arguments, **more) as running:
        out, err = running.communicate(timeout=GUARD)
    return running.returncode, out, err


def sha256(server: Scope) -> str:
    return subprocess.run(
        ["python3", "-c", f"from wherry_testserver.pattern import digest as of; print(of(1, {SIZE}, 'sha256').hex())"],
        cwd=ROOT / "Tests/TestServer",
        capture_output=True,
        text=True,
        check=True,
    ).stdout.strip()


@pytest.fixture
def album(tmp_path: pathlib.Path) -> pathlib.Path:
    folder = tmp_path / "album"
    folder.mkdir()
    for number in range(5):
        jpeg(folder / f"p{number}.jpg", 120, 80)
    (folder / "notes.txt").write_text("no picture, and not sent")
    return folder


def test_U22_a_folder_is_uploaded_and_transient_failures_are_retried(server: Scope, album: pathlib.Path) -> None:
    url = server.url("/faulty-echo?status_first=503&status_times=1&gate=g")
    with start("upload-images", url, album, "--parallel", 2, "--max-side", 60, "--album", "Skye") as running:
        server.wait("requests=2")
        server.steer("/_signal?gate=g")
        out, err = running.communicate(timeout=GUARD)

    assert running.returncode == 0, err
    lines = out.splitlines()
    assert [line.partition(":")[0] for line in lines[:-1]] == [f"p{n}.jpg" for n in range(5)]
    assert lines[-1] == "5 of 5 sent" and err.endswith("100 %\n")
    assert len(server.requests()) == 6
    assert server.steer("/_stats")["peak_requests"] == 2


def test_U22_each_failed_image_is_named(server: Scope, album: pathlib.Path) -> None:
    (album / "p1.jpg").write_bytes(b"no picture")
    base = script(server, album=[{"json": {}}, {"status": 413}, {"json": {}}, {"json": {}}])

    status, out, _ = run("upload-images", f"{base}/album", album, "--parallel", 1)

    told = out.splitlines()
    assert status == 1 and told[-1] == "3 of 5 sent"
    assert told[1].startswith("p1.jpg: not sent: bad_image: ")
    assert told[2].startswith("p2.jpg: not sent: http_status: ")
    assert all(" bytes, sent as " in told[number] for number in (0, 3, 4))


def test_U2_a_folder_without_images_and_a_wrong_option_send_nothing(
    server: Scope, album: pathlib.Path, tmp_path: pathlib.Path
) -> None:
    (tmp_path / "empty").mkdir()
    for arguments, words in (
        ((tmp_path / "empty",), "no images"),
        ((tmp_path / "none",), "cannot be read"),
        ((album, "--parallel", "many"), "usage"),
        ((album, "--colour", 1), "usage"),
        ((), "usage"),
    ):
        status, _, err = run("upload-images", server.url("/echo"), *arguments)
        assert status == 2 and words in err
    assert server.requests() == []


def test_D23_D27_a_model_is_downloaded_over_several_connections_and_from_a_mirror(
    server: Scope, tmp_path: pathlib.Path
) -> None:
    target = tmp_path / "new" / "model.bin"
    arguments = (
        server.url("/status/404"),
        target,
        "--sha256",
        sha256(server),
        "--segments",
        3,
        "--mirror",
        server.url(f"/bytes/{SIZE}?hold=100000&gate=g"),
    )
    with start("fetch-model", *arguments) as running:
        server.wait("requests=4")
        server.steer("/_signal?gate=g")
        out, err = running.communicate(timeout=GUARD)

    assert (running.returncode, out) == (0, f"{target} is complete\n"), err
    assert hashlib.sha256(target.read_bytes()).hexdigest() == sha256(server)
    assert server.steer("/_stats")["peak_requests"] == 3
    assert run("fetch-model", *arguments)[:2] == (0, f"{target} already exists\n")


def test_D6_ctrl_c_keeps_the_partial_file_and_the_same_command_resumes(server: Scope, tmp_path: pathlib.Path) -> None:
    target, half = tmp_path / "model.bin", SIZE // 2
    url = server.url(f"/bytes/{SIZE}?hold_at={half}&gate=g")
    arguments = (url, target, "--sha256", sha256(server), "--segments", 1)
    with start("fetch-model", *arguments) as running:
        assert running.stderr is not None
        shown = ""
        while f"{half} of" not in shown:
            piece = running.stderr.read(1)
            assert piece, shown
            shown += piece
        running.send_signal(signal.SIGINT)
        out, err = running.communicate(timeout=GUARD)
    server.steer("/_signal?gate=g")

    assert (running.returncode, out) == (130, "")
    assert err.endswith("partial file kept; run the same command to resume\n")
    assert not target.exists()
    status, out, err = run("fetch-model", *arguments)
    assert status == 0 and hashlib.sha256(target.read_bytes()).hexdigest() == sha256(server)
    kept = re.search(r"resuming at byte (\d+)", err)
    assert kept is not None and int(kept[1]) == half
    assert [field(one, "Range") for one in server.requests()] == [None, f"bytes={half}-"]


def library(server: Scope) -> str:
    """The base URL of an API whose first token has expired."""
    kept = [["Cache-Control", "max-age=3600"]]
    refusal = {"status": 401, "headers": [["WWW-Authenticate", "Bearer"]]}
    pages: list[list[dict[str, Any]]] = [
        [{"id": 1, "title": "A", "author": {"name": "Ann"}}, {"id": 2, "title": "B"}],
        [{"id": "3", "title": "C"}],
        [{"id": 4, "title": "D"}],
    ]
    return script(
        server,
        me=[refusal, {"json": {"name": "Skye"}, "headers": kept}],
        token=[{"json": {"access_token": "fresh"}}],
        books=[{"json": {"books": page, "more": page is not pages[-1]}} for page in pages] * 2,
    )


BOOKS = "1: A, by Ann\n2: B, by unknown\n3: C, by unknown\n4: D, by unknown\n"


def test_R32_K12_O19_one_token_refresh_a_cached_response_and_books_in_pages(
    server: Scope, tmp_path: pathlib.Path
) -> None:
    token = tmp_path / "token"
    token.write_text("expired")
    settings = {"API_ID": "me", "API_SECRET": "s3cret", "XDG_CACHE_HOME": str(tmp_path / "cache")}
    command = ("api-client", library(server), "--token-file", token)

    first, second = run(*command, **settings), run(*command, **settings)

    assert first == (0, "signed in as Skye\n" + BOOKS, "")
    assert second == (0, "signed in as Skye (from the cache)\n" + BOOKS, "")
    assert token.read_text() == "fresh" and stat.S_IMODE(token.stat().st_mode) == 0o600
    log = server.requests()
    pages = [f"books?page={number}" for number in (1, 2, 3)]
    assert [one["target"].rpartition("/")[2] for one in log] == ["me", "token", "me", *pages, *pages]
    assert field(log[0], "Authorization") == "Bearer expired"
    assert field(log[1], "Authorization") == "Basic bWU6czNjcmV0"
    assert all(field(one, "Authorization") == "Bearer fresh" for one in log[2:])


def test_R32_the_error_is_reported_if_no_new_token_is_available(
    server: Scope,
    tmp_path: pathlib.Path,
) -> None:
    base = script(server, me=[{"status": 401}], token=[{"status": 400}])
    settings = {"API_ID": "me", "API_SECRET": "no", "XDG_CACHE_HOME": str(tmp_path)}

    status, _, err = run("api-client", base, "--token-file", tmp_path / "token", **settings)

    assert status == 1 and "/token returned status 400" in err
    assert not (tmp_path / "token").exists()
    assert run("api-client", base)[0] == 2
