# Wherry: the larger programs in Examples/python, against the scripted server
# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
from typing import Any, Dict, List

import pytest
from conftest import PATIENCE, ROOT, Server, field
from test_resume import digest, sha256
from test_uploads import png

SIZE = 8_389_385


def command(name: str, *arguments: Any) -> List[str]:
    program = os.path.join(ROOT, "Examples", "python", name)
    return [sys.executable, "-W", "error", program, *map(str, arguments)]


def environment(**more: str) -> Dict[str, str]:
    source = os.path.join(ROOT, "bindings", "python", "src")
    return {**os.environ, "PYTHONPATH": source, **more}


def run(name: str, *arguments: Any, **more: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        command(name, *arguments), env=environment(**more), capture_output=True, text=True,
        timeout=PATIENCE,
    )  # fmt: skip


@pytest.fixture
def album(tmp_path: Any) -> Any:
    folder = tmp_path / "album"
    folder.mkdir()
    for number in range(5):
        (folder / f"p{number}.png").write_bytes(png(60, 40, number + 1))
    (folder / "notes.txt").write_text("no picture, and not sent")
    return folder


def test_U22_a_folder_is_uploaded_and_transient_failures_are_retried(server: Server, album: Any) -> None:
    gate = server.gate()
    # The very first attempt gets a 503; after it, no more than two run at a time.
    url = server.url("/faulty-echo", status_first=503, status_times=1, gate=gate)
    arguments = (url, album, "--parallel", 2, "--max-side", 30, "--album", "Skye")
    with subprocess.Popen(
        command("upload_images.py", *arguments), env=environment(), stdout=subprocess.PIPE,
        stderr=subprocess.PIPE, text=True,
    ) as running:  # fmt: skip
        server.wait(requests=2)
        server.open_gate(gate)
        out, err = running.communicate(timeout=PATIENCE)

    assert running.returncode == 0, err
    lines = out.splitlines()
    assert [line.partition(":")[0] for line in lines[:-1]] == [f"p{n}.png" for n in range(5)]
    assert lines[-1] == "5 of 5 sent" and err.endswith("100 %\n")
    assert len(server.log()) == 6 and server.ask("/_stats")["peak_requests"] == 2


def test_U22_each_failed_image_is_named(server: Server, album: Any) -> None:
    (album / "p1.png").write_bytes(b"no picture")
    server.script("album", [{"json": {}}, {"status": 413}, {"json": {}}, {"json": {}}])

    done = run("upload_images.py", server.url("/s/album"), album, "--parallel", 1)

    told = done.stdout.splitlines()
    assert done.returncode == 1 and told[-1] == "3 of 5 sent"
    assert told[1].startswith("p1.png: not sent: bad_image: ")
    assert told[2].startswith("p2.png: not sent: http_status: ")
    assert all(" bytes, sent as " in told[number] for number in (0, 3, 4))


def test_U2_a_folder_without_images_sends_nothing(server: Server, tmp_path: Any) -> None:
    empty = run("upload_images.py", server.url("/echo"), tmp_path)
    missing = run("upload_images.py", server.url("/echo"), tmp_path / "none")

    assert (empty.returncode, missing.returncode) == (2, 2)
    assert "no images" in empty.stderr and "none" in missing.stderr
    assert server.log() == []


def test_D23_D27_a_model_is_downloaded_over_several_connections_and_from_a_mirror(
    server: Server, tmp_path: Any
) -> None:
    target, right = tmp_path / "new" / "model.bin", digest(server, SIZE)
    gate = server.gate()
    arguments = (
        server.url("/status/404"), target, "--sha256", right, "--segments", 3,
        "--mirror", server.url(f"/bytes/{SIZE}", hold=100_000, gate=gate),
    )  # fmt: skip
    with subprocess.Popen(
        command("fetch_model.py", *arguments), env=environment(), stdout=subprocess.PIPE,
        stderr=subprocess.PIPE, text=True,
    ) as running:  # fmt: skip
        server.wait(requests=5)  # the digest, the 404, and three connections
        server.open_gate(gate)
        out, err = running.communicate(timeout=PATIENCE)

    assert (running.returncode, out) == (0, f"{target} is complete\n"), err
    assert sha256(str(target)) == right and os.listdir(target.parent) == ["model.bin"]
    assert server.ask("/_stats")["peak_requests"] == 3
    again = run("fetch_model.py", *arguments)
    assert (again.returncode, again.stdout) == (0, f"{target} already exists\n")


def test_D6_ctrl_c_keeps_the_partial_file_and_the_same_command_resumes(server: Server, tmp_path: Any) -> None:
    target, right, half = tmp_path / "model.bin", digest(server, SIZE), SIZE // 2
    gate = server.gate()
    url = server.url(f"/bytes/{SIZE}", hold_at=half, gate=gate)
    arguments = command("fetch_model.py", url, target, "--sha256", right, "--segments", 1)
    with subprocess.Popen(
        arguments, env=environment(), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as running:
        assert running.stderr is not None
        shown = ""
        while f"{half / 1e6:.1f} of" not in shown:
            piece = running.stderr.read(1)
            assert piece, shown
            shown += piece
        running.send_signal(signal.SIGINT)
        out, err = running.communicate(timeout=PATIENCE)
    server.open_gate(gate)

    assert (running.returncode, out) == (130, "")
    assert re.search(r"\n(49|50) % kept; run the same command to resume\n$", err)
    assert not target.exists()
    done = run("fetch_model.py", url, target, "--sha256", right, "--segments", 1)
    assert done.returncode == 0 and sha256(str(target)) == right
    kept = re.search(r"resuming at byte (\d+)", done.stderr)
    assert kept is not None and 0.98 * half < int(kept[1]) <= half
    assert [field(one, "Range") for one in server.log()[1:]] == [[], [f"bytes={kept[1]}-"]]


def test_D5_a_file_with_a_wrong_digest_is_not_published(server: Server, tmp_path: Any) -> None:
    done = run("fetch_model.py", server.url("/bytes/1000"), tmp_path / "a", "--sha256", "0" * 64)

    assert done.returncode == 1 and "checksum: " in done.stderr
    assert not (tmp_path / "a").exists()


def library(server: Server) -> str:
    """The base URL of an API whose first token has expired."""
    kept = [["Cache-Control", "max-age=3600"]]
    refusal = {"status": 401, "headers": [["WWW-Authenticate", "Bearer"]]}
    server.script("me", [refusal, {"json": {"name": "Skye"}, "headers": kept}])
    server.script("token", [{"json": {"access_token": "fresh"}}])
    pages = [[{"id": 1, "title": "A", "author": {"name": "Ann"}}, {"id": 2, "title": "B"}],
             [{"id": "3", "title": "C"}], [{"id": 4}]]  # fmt: skip
    server.script(
        "books",
        [{"json": {"books": page, "more": page is not pages[-1]}} for page in pages] * 2,
    )
    return f"{server.base}/@{server.key}/s"


BOOKS = "1: A, by Ann\n2: B, by unknown\n3: C, by unknown\n4: , by unknown\n"


def test_R32_K12_O19_one_token_refresh_a_cached_response_and_books_in_pages(server: Server, tmp_path: Any) -> None:
    token, base = tmp_path / "token", library(server)
    settings = {"API_ID": "me", "API_SECRET": "s3cret", "XDG_CACHE_HOME": str(tmp_path / "cache")}
    token.write_text("expired")

    first = run("api_client.py", base, "--token-file", token, **settings)
    second = run("api_client.py", base, "--token-file", token, **settings)

    assert (first.returncode, first.stderr) == (0, "")
    assert first.stdout == "signed in as Skye\n" + BOOKS
    assert (second.returncode, second.stderr) == (0, "")
    assert second.stdout == "signed in as Skye (from the cache)\n" + BOOKS
    assert token.read_text() == "fresh"
    log = server.log()
    asked = [one["target"].rpartition("/")[2] for one in log]
    pages = [f"books?page={number}" for number in (1, 2, 3)]
    assert asked == ["me", "token", "me", *pages, *pages]
    assert field(log[0], "Authorization") == ["Bearer expired"]
    assert field(log[1], "Authorization") == ["Basic bWU6czNjcmV0"]
    assert all(field(one, "Authorization") == ["Bearer fresh"] for one in log[2:])


def test_R32_the_first_run_signs_in(server: Server, tmp_path: Any) -> None:
    token, base = tmp_path / "token", library(server)
    settings = {"API_ID": "me", "API_SECRET": "s3cret", "XDG_CACHE_HOME": str(tmp_path / "cache")}

    first = run("api_client.py", base, "--token-file", token, **settings)

    assert (first.returncode, first.stdout) == (0, "signed in as Skye\n" + BOOKS)
    assert token.read_text() == "fresh" and token.stat().st_mode & 0o777 == 0o600
    assert field(server.log()[0], "Authorization") == []


def test_R32_the_error_is_reported_if_no_new_token_is_available(
    server: Server,
    tmp_path: Any,
) -> None:
    server.script("me", [{"status": 401}] * 2)
    server.script("token", [{"status": 400}])
    base = f"{server.base}/@{server.key}/s"
    settings = {"API_ID": "me", "API_SECRET": "no", "XDG_CACHE_HOME": str(tmp_path)}

    refused = run("api_client.py", base, "--token-file", tmp_path / "token", **settings)
    unset = run("api_client.py", base, "--token-file", tmp_path / "token")

    assert refused.returncode == 1 and "401" in refused.stderr
    assert not (tmp_path / "token").exists()
    assert (unset.returncode, unset.stderr) == (2, "set API_ID and API_SECRET\n")
