# Wherry: tests of the command that uploads images.
# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import base64
import hashlib
import io
import json
import pathlib
import subprocess
from typing import Any

import pytest
from conftest import GUARD, PATIENT, Scope, start, wherry
from PIL import Image


def jpeg(path: pathlib.Path, width: int = 640, height: int = 480) -> pathlib.Path:
    """An image with some content, at a high quality."""
    picture = Image.effect_noise((width, height), 60).convert("RGB")
    picture.save(path, "JPEG", quality=95)
    return path


@pytest.fixture
def pictures(tmp_path: pathlib.Path) -> list[pathlib.Path]:
    return [jpeg(tmp_path / "one.jpg"), jpeg(tmp_path / "two.jpg")]


def saved(server: Scope, file: dict[str, Any]) -> Image.Image:
    """The image as the server received it, found by its digest."""
    for path in pathlib.Path(server.facts["saved"]).rglob("*"):
        if path.is_file():
            data = path.read_bytes()
            if hashlib.sha256(data).hexdigest() == file["sha256"]:
                return Image.open(io.BytesIO(data))
    raise AssertionError("the server has not kept the picture")


def test_images_arrive_compressed_and_named(server: Scope, pictures: list[pathlib.Path]) -> None:
    result = wherry("upload", server.url("/upload-photo"), *pictures, "--quality", "0.5")

    assert result.status == 0
    files = result.json["files"]
    assert [(f["field"], f["name"], f["type"]) for f in files] == [
        ("image0", "one.jpg", "image/jpeg"),
        ("image1", "two.jpg", "image/jpeg"),
    ]
    for file, path in zip(files, pictures):
        assert 1000 < file["size"] < path.stat().st_size / 2
    assert "one.jpg: " in result.err and "→" in result.err and "%)" in result.err
    assert "2 images: " in result.err


def test_names_fields_and_sizes_follow_the_options(
    server: Scope,
    pictures: list[pathlib.Path],
) -> None:
    result = wherry(
        "upload",
        server.url("/upload-photo"),
        *pictures,
        "--name",
        "photo",
        "--names",
        "brackets",
        "--field",
        "album=Ferien=1",
        "--max-width",
        "64",
        "--max-height",
        "100",
        "--format",
        "png",
    )

    files = result.json["files"]
    assert [(f["field"], f["name"], f["type"]) for f in files] == [
        ("photo[]", "one.png", "image/png"),
        ("photo[]", "two.png", "image/png"),
    ]
    assert result.json["fields"] == {"album": "Ferien=1"}
    assert saved(server, files[0]).size == (64, 48)


def test_a_limit_in_bytes_is_kept(server: Scope, pictures: list[pathlib.Path]) -> None:
    result = wherry("upload", server.url("/upload-photo"), pictures[0], "--max-bytes", "9000")

    assert result.status == 0 and result.json["files"][0]["size"] <= 9000


def test_JSON_output_lists_every_image(server: Scope, pictures: list[pathlib.Path]) -> None:
    result = wherry("upload", server.url("/upload-photo"), *pictures, "--quality", "0.4", "--json-output", "-q")

    assert result.err == "" and result.json["status"] == 200 and len(result.json["json"]["files"]) == 2
    told = {picture["name"]: picture for picture in result.json["images"]}
    assert told["one.jpg"]["original_bytes"] == pictures[0].stat().st_size
    assert {picture["sent_bytes"] for picture in told.values()} == {f["size"] for f in result.json["json"]["files"]}


def test_broken_images_send_nothing(
    server: Scope,
    pictures: list[pathlib.Path],
    tmp_path: pathlib.Path,
) -> None:
    (tmp_path / "text.jpg").write_text("no picture")
    (tmp_path / "cut.jpg").write_bytes(pictures[0].read_bytes()[:3000])

    result = wherry("upload", server.url("/upload-photo"), pictures[0], tmp_path / "text.jpg", tmp_path / "cut.jpg")

    assert result.status == 8 and server.requests() == []
    assert "text.jpg" in result.err and "cut.jpg" in result.err


def test_a_missing_image_is_a_file_error(server: Scope, tmp_path: pathlib.Path) -> None:
    result = wherry("upload", server.url("/upload-photo"), tmp_path / "missing.jpg")

    assert result.status == 7 and "missing.jpg" in result.err and server.requests() == []


def test_an_error_status_prints_the_text_of_the_server(
    server: Scope,
    pictures: list[pathlib.Path],
) -> None:
    result = wherry("upload", server.url("/status/413?body=too+big"), pictures[0])

    assert result.status == 3 and result.text == "too big"


@pytest.mark.parametrize(
    "arguments",
    [
        ["--quality", "1.5"],
        ["--quality", "nan"],
        ["--quality", "-0.1"],
        ["--max-width", "0"],
        ["--max-bytes", "x"],
        ["--separate", "0"],
        ["--retries", "2"],
        ["--format", "gif"],
        ["--names", "odd"],
        ["--field", "x"],
    ],
)
def test_bad_options_exit_with_2(
    server: Scope,
    pictures: list[pathlib.Path],
    arguments: list[str],
) -> None:
    assert wherry("upload", server.url("/upload-photo"), pictures[0], *arguments).status == 2
    assert server.requests() == []


def test_a_missing_image_argument_exits_with_2(server: Scope) -> None:
    assert wherry("upload", server.url("/upload-photo")).status == 2


def test_images_are_sent_one_by_one_and_fail_separately(
    server: Scope, pictures: list[pathlib.Path], tmp_path: pathlib.Path
) -> None:
    (tmp_path / "text.jpg").write_text("no picture")

    result = wherry(
        "upload",
        server.url("/upload-photo"),
        pictures[0],
        tmp_path / "text.jpg",
        pictures[1],
        "--separate",
        "2",
        "--retries",
        "1",
    )
    skipped = wherry(
        "upload", server.url("/upload-photo"), tmp_path / "text.jpg", pictures[1], "--skip-broken", "--json-output"
    )

    assert result.status == 8 and "Image 2 (text.jpg) cannot be sent" in result.err
    assert [request["method"] for request in server.requests()] == ["POST"] * 3
    assert skipped.status == 0
    assert [picture.get("error") for picture in skipped.json["images"]].count("bad_image") == 1
    assert len(skipped.json["json"]["files"]) == 1


def test_U11_an_unreadable_file_is_sent_unchanged_on_request(
    server: Scope, pictures: list[pathlib.Path], tmp_path: pathlib.Path
) -> None:
    (tmp_path / "a.gif").write_bytes(b"GIF89a\1\0\1\0\0\0\0;")
    (tmp_path / "text.jpg").write_text("no picture")
    names = [tmp_path / "a.gif", pictures[0], tmp_path / "text.jpg"]

    refused = wherry("upload", server.url("/echo"), *names)
    sent = wherry("upload", server.url("/echo"), *names, "--unreadable", "send", "--quality", "0.5")
    skipped = wherry("upload", server.url("/echo"), *names, "--unreadable", "skip")
    both = wherry("upload", server.url("/echo"), *names, "--unreadable", "send", "--skip-broken")

    assert refused.status == 8 and "2 of 3 images cannot be sent" in refused.err
    assert "Image 1 (a.gif)" in refused.err and "Image 3 (text.jpg)" in refused.err
    assert [(part["type"], part["filename"]) for part in sent.json["parts"]] == [
        ("image/gif", "a.gif"),
        ("image/jpeg", pictures[0].name),
        ("image/jpeg", "text.jpg"),
    ]
    assert sent.json["parts"][0]["size"] == 14
    assert [part["filename"] for part in skipped.json["parts"]] == [pictures[0].name]
    assert both.status == 2
    assert len(server.requests()) == 2


def test_rows_of_sent_images_are_printed_if_another_one_fails(
    server: Scope, pictures: list[pathlib.Path], tmp_path: pathlib.Path
) -> None:
    # The rows were dropped with the first failure, so it was unknown which images had arrived.
    (tmp_path / "text.jpg").write_text("no picture")

    result = wherry(
        "upload",
        server.url("/upload-photo"),
        pictures[0],
        tmp_path / "text.jpg",
        pictures[1],
        "--separate",
        "1",
        "--json-output",
    )

    assert result.status == 8 and result.json["ok"] is False and result.json["error"]["reason"] == "bad_image"
    rows = {row["name"]: row for row in result.json["images"]}
    assert sorted(rows) == sorted([pictures[0].name, "text.jpg", pictures[1].name])
    assert rows["text.jpg"]["error"] == "bad_image" and rows[pictures[0].name]["status"] == 200


# Only the first response was printed, and the rows had the order of the ends.
@pytest.mark.parametrize("status", [200, 400])
def test_all_responses_of_separate_requests_are_printed_in_order(
    server: Scope, tmp_path: pathlib.Path, status: int
) -> None:
    pictures = [jpeg(tmp_path / "large.jpg"), jpeg(tmp_path / "small.jpg", 64, 64)]
    text, told = (
        start(
            "upload",
            server.url(f"/sink?status={status}&run={run}&gate=last{run}&gate_times=1"),
            *pictures,
            "--separate",
            "2",
            *PATIENT,
            *more,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
        )
        for run, more in enumerate([[], ["--json-output"]])
    )
    server.wait("requests=4")
    for run in range(2):
        server.steer(f"/_signal?gate=last{run}")
    out, line = text.communicate(timeout=GUARD)[0], told.communicate(timeout=GUARD)[0]
    wanted = 0 if status == 200 else 3

    assert text.returncode == told.returncode == wanted
    large, small = (json.loads(body)["bytes"] for body in out.splitlines())
    assert large > 10_000 + small
    rows = json.loads(line)["images"]
    assert [row["name"] for row in rows] == ["large.jpg", "small.jpg"]
    assert [row["status"] for row in rows] == [status] * 2
    assert [row["json"]["bytes"] for row in rows] == [large, small]
    hidden = wherry("upload", server.url(f"/sink?status={status}"), *pictures, "--separate", "2", "--fail")
    assert (hidden.out == b"") == (status == 400)


def test_skipped_images_are_not_counted_as_sent(
    server: Scope, pictures: list[pathlib.Path], tmp_path: pathlib.Path
) -> None:
    (tmp_path / "text.jpg").write_text("no picture")

    result = wherry("upload", server.url("/upload-photo"), tmp_path / "text.jpg", *pictures[:2], "--skip-broken")

    assert result.status == 0
    last = result.err.splitlines()[-1]
    assert last.startswith("2 images: ") and last.endswith(", 1 skipped"), result.err


def test_U12_U24_part_headers_names_and_digests_follow_the_options(server: Scope, pictures: list[pathlib.Path]) -> None:
    named = pictures[0].rename(pictures[0].with_name('a"b 天.jpg'))

    result = wherry(
        "upload",
        server.url("/echo"),
        named,
        "--part-header",
        "X-Album: Ferien",
        "--extended-names",
        "--part-digests",
        "sha256",
        "--body-digest",
        "md5",
    )

    told = result.json
    (part,) = told["parts"]
    fields = dict(part["headers"])
    digest = base64.b64encode(bytes.fromhex(part["sha256"])).decode()
    assert fields["X-Album"] == "Ferien" and fields["Content-Digest"] == f"sha-256=:{digest}:"
    assert "filename*=UTF-8''a%22b%20%E5%A4%A9.jpg" in fields["Content-Disposition"]
    body = base64.b64decode(told["body"])
    assert dict(told["headers"])["Content-MD5"] == base64.b64encode(hashlib.md5(body).digest()).decode()

    sent = wherry("post", server.url("/echo"), "--data", "@" + str(named), "--body-digest", "sha512").json
    whole = base64.b64encode(hashlib.sha512(named.read_bytes()).digest()).decode()
    assert dict(sent["headers"])["Content-Digest"] == f"sha-512=:{whole}:"


def test_image_limits_apply_to_uploads_too(server: Scope, pictures: list[pathlib.Path]) -> None:
    result = wherry("upload", server.url("/upload-photo"), pictures[0], "--max-pixels", "1000")

    assert result.status == 8 and "image_too_large" in result.err and server.requests() == []
