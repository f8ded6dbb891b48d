# Wherry: tests of the command that compresses images, with unusual and with bad images.
# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import base64
import io
import json
import pathlib
import struct
import zlib
from typing import Any

import pytest
from conftest import ROOT, wherry
from PIL import Image
from test_uploads import jpeg


def scenario(file: str) -> list[dict[str, Any]]:
    return list(json.loads((ROOT / "Tests/Scenarios" / file).read_text())["cases"])


def decoded(path: pathlib.Path) -> Image.Image:
    with Image.open(io.BytesIO(path.read_bytes())) as picture:
        picture.load()
        return picture.copy()


def segment(code: int, payload: bytes) -> bytes:
    return struct.pack(">BBH", 0xFF, code, len(payload) + 2) + payload


def chunk(kind: bytes, data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))


@pytest.mark.parametrize("how", ["sequential", "progressive"])
def test_U20_an_arithmetic_coded_JPEG_becomes_one_that_browsers_show(
    tmp_path: pathlib.Path,
    how: str,
) -> None:
    [case] = [case for case in scenario("picture-colours.json") if case["name"] == f"JPEG arithmetic {how} to jpeg"]
    (tmp_path / "in.jpg").write_bytes(base64.b64decode(case["file"]))

    for name, options in (("same.jpg", []), ("half.jpg", ["--quality", "0.5"])):
        done = wherry("image", "in.jpg", name, *options, cwd=tmp_path)
        assert done.status == 0, done
        picture = decoded(tmp_path / name)
        info = wherry("image", name, "--info", "--json-output", cwd=tmp_path).json
        assert picture.size == (info["upright_width"], info["upright_height"]) and picture.format in ("JPEG", None)
        # 0xC9 and 0xCA are the frames of arithmetic coding.
        data = (tmp_path / name).read_bytes()
        assert not any(bytes([0xFF, code]) in data[:600] for code in (0xC9, 0xCA))


def test_bytes_between_the_segments_of_a_JPEG_are_accepted(tmp_path: pathlib.Path) -> None:
    plain = jpeg(tmp_path / "plain.jpg", 64, 48).read_bytes()
    place = plain.index(b"\xff\xdb", 4)
    (tmp_path / "padded.jpg").write_bytes(plain[:place] + b"secret\x00\xff\x00" + plain[place:])

    for options in (["--quality", "0.5"], []):
        for name in ("plain", "padded"):
            done = wherry("image", f"{name}.jpg", f"{name}-out.jpg", *options, "--overwrite", cwd=tmp_path)
            assert done.status == 0, done
        out = (tmp_path / "padded-out.jpg").read_bytes()
        assert out == (tmp_path / "plain-out.jpg").read_bytes() and b"secret" not in out


def test_U20_the_XMP_orientation_turns_an_image_upright(tmp_path: pathlib.Path) -> None:
    packet = (
        b"http://ns.adobe.com/xap/1.0/\0<rdf:Description xmlns:tiff='http://ns.adobe.com/tiff/1.0/'"
        b" tiff:Orientation='6'/>"
    )
    plain = jpeg(tmp_path / "in.jpg", 64, 48).read_bytes()
    (tmp_path / "in.jpg").write_bytes(plain[:2] + segment(0xE1, packet) + plain[2:])

    info = wherry("image", "in.jpg", "--info", "--json-output", cwd=tmp_path).json
    assert info["orientation"] == 6 and (info["upright_width"], info["upright_height"]) == (48, 64)
    assert wherry("image", "in.jpg", "out.jpg", "--quality", "0.8", cwd=tmp_path).status == 0
    assert decoded(tmp_path / "out.jpg").size == (48, 64)
    assert wherry("image", "in.jpg", "kept.jpg", "--keep-orientation", cwd=tmp_path).status == 0
    kept = wherry("image", "kept.jpg", "--info", "--json-output", cwd=tmp_path).json
    assert kept["orientation"] == 6 and kept["width"] == 64


def test_an_animated_PNG_is_refused_unless_its_first_image_is_requested(
    tmp_path: pathlib.Path,
) -> None:
    Image.new("RGB", (8, 6), (200, 10, 10)).save(tmp_path / "still.png")
    still = (tmp_path / "still.png").read_bytes()
    moving = still[:33] + chunk(b"acTL", struct.pack(">II", 2, 0)) + still[33:]
    (tmp_path / "moving.png").write_bytes(moving)

    for options in ([], ["--animated", "refuse"]):
        refused = wherry("image", "moving.png", "out.jpg", *options, cwd=tmp_path)
        assert refused.status == 8 and "animat" in refused.err and not (tmp_path / "out.jpg").exists()
    assert wherry("image", "moving.png", "--info", "--json-output", cwd=tmp_path).json["animated"] is True
    done = wherry("image", "moving.png", "out.jpg", "--animated", "first", cwd=tmp_path)
    assert done.status == 0, done
    assert decoded(tmp_path / "out.jpg").size == (8, 6)
    red, green, blue = decoded(tmp_path / "out.jpg").convert("RGB").getpixel((4, 3))  # type: ignore[misc]
    assert red > 180 and green < 40 and blue < 40
    assert wherry("image", "moving.png", "same.png", cwd=tmp_path).status == 0
    assert (tmp_path / "same.png").read_bytes() == moving


@pytest.mark.parametrize(
    "case",
    [
        pytest.param(case, id=case["name"])
        for case in scenario("bad-pictures.json")
        if "does not exist" in case["name"] or "wrong checksum of its header" in case["name"]
    ],
)
def test_a_PNG_with_a_bad_header_is_refused(tmp_path: pathlib.Path, case: dict[str, Any]) -> None:
    (tmp_path / "bad.png").write_bytes(bytes.fromhex(case["head"]))

    # At quality 1 such a file could be copied unchanged.
    for arguments in (["out.png"], ["out.jpg", "--quality", "0.5"], ["out.png", "--max-width", "4"], ["--info"]):
        refused = wherry("image", "bad.png", *arguments, cwd=tmp_path)
        assert refused.status == 8 and f"{case['reason']}: bad.png" in refused.err, (arguments, refused)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["bad.png"]


def test_there_are_four_bad_headers() -> None:
    cases = [case["name"] for case in scenario("bad-pictures.json")]

    assert sum("does not exist" in name or "wrong checksum of its header" in name for name in cases) == 4
