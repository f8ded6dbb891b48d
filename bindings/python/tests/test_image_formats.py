# Wherry: images in formats that libraries of the system decode
# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import base64
import io
import os
import pathlib
import struct
import subprocess
import sys
from typing import Any, Dict

import pytest
from conftest import Server
from test_scenarios import cases

import wherry

FORMATS = cases("formats.json")
LIBRARIES = {
    "webp": ("libwebp.so.7", "libwebp7"), "gif": ("libgif.so.7", "libgif7"),
    "heic": ("libheif.so.1", "libheif1"), "avif": ("libheif.so.1", "libheif1"),
}  # fmt: skip
ENVIRONMENT = {**os.environ, "PYTHONPATH": os.path.dirname(os.path.dirname(wherry.__file__))}


def file(case: Dict[str, Any]) -> bytes:
    return base64.b64decode(case["file"])


@pytest.mark.parametrize("case", FORMATS, ids=lambda case: case["name"].replace(" ", "-"))
def test_I3_pixels_equal_those_of_another_program(case: Dict[str, Any]) -> None:
    image = wherry.Image(file(case))
    info = image.info
    assert info.format == case["format"] and info.is_animated == case["animated"]
    pixels = image.pixels("rgba", animated="first")
    wanted = base64.b64decode(case["pixels"])
    got = bytes(memoryview(pixels).cast("B"))
    assert len(got) == len(wanted)
    assert max(abs(a - b) for a, b in zip(got, wanted)) <= case["tolerance"]


def test_I3_an_animation_is_refused_unless_one_frame_is_enough() -> None:
    for case in FORMATS:
        if case["animated"]:
            with pytest.raises(wherry.ImageError, match='animated to "first"'):
                wherry.Image(file(case)).compress(0.5)
            assert wherry.Image(file(case)).compress(0.5, animated="first").info.width == case["width"]


def test_I3_a_webp_is_uploaded_as_jpeg_or_png(server: Server, client: wherry.Client) -> None:
    opened = pytest.importorskip("PIL.Image").open
    for case in FORMATS:
        if case["animated"]:
            continue
        answer = client.upload(server.url("/echo"), [file(case)], quality=0.8)
        (part,) = answer.json()["parts"]
        kind = "png" if case["alpha"] else "jpeg"
        assert part["type"] == f"image/{kind}", case["name"]
        image = opened(io.BytesIO(wherry.Image(file(case)).compress(0.8).content))
        assert image.format == kind.upper() and image.size == (case["width"], case["height"])


@pytest.mark.parametrize("format", sorted(LIBRARIES))
def test_I3_a_missing_library_is_named_with_its_package(tmp_path: pathlib.Path, format: str) -> None:
    """An empty file in front of the library prevents loading it."""
    name, package = LIBRARIES[format]
    (tmp_path / name).touch()
    path = tmp_path / "image"
    path.write_bytes(next(file(case) for case in FORMATS if case["format"] == format))
    code = "import sys, wherry\ntry: wherry.Image(sys.argv[1]).info\nexcept wherry.ImageError as e: print(e.reason, e)"
    done = subprocess.run(
        [sys.executable, "-c", code, str(path)], capture_output=True, text=True, check=True, timeout=60,
        env={**ENVIRONMENT, "LD_LIBRARY_PATH": str(tmp_path)},
    )  # fmt: skip
    assert done.stdout.startswith("unsupported_image ") and f"apt install {package}." in done.stdout


def test_I3_libraries_are_loaded_only_when_they_are_needed(tmp_path: pathlib.Path) -> None:
    path = tmp_path / "image"
    path.write_bytes(next(file(case) for case in FORMATS if case["format"] == "webp"))
    code = """if True:
        import sys, wherry
        loaded = lambda: "libwebp.so" in open("/proc/self/maps").read()
        wherry.Client().close()
        before = loaded()
        wherry.Image(sys.argv[1]).info
        print(before, loaded())
    """
    done = subprocess.run(
        [sys.executable, "-c", code, str(path)], capture_output=True, text=True, check=True, timeout=60,
        env=ENVIRONMENT,
    )  # fmt: skip
    assert done.stdout == "False True\n"


def test_I3_a_picture_larger_than_declared_is_refused_before_decoding(tmp_path: pathlib.Path) -> None:
    """An AVIF of 1 KB with 16 million pixels, which declares 64x64, would take 200 MB of memory."""
    pil = pytest.importorskip("PIL.Image")
    if not pytest.importorskip("PIL.features").check("avif"):
        pytest.skip("Pillow cannot write AVIF")
    encoded = io.BytesIO()
    pil.new("RGB", (4096, 4096), (200, 30, 30)).save(encoded, "AVIF", quality=10, speed=10)
    data = encoded.getvalue()
    size = data.index(b"ispe") + 8
    path = tmp_path / "image"
    path.write_bytes(data[:size] + struct.pack(">II", 64, 64) + data[size + 8 :])
    code = """if True:
        import resource, sys, wherry
        image = wherry.Image(sys.argv[1])
        peak = lambda: resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        before = peak()
        assert image.info.width == 64
        try: image.pixels()
        except wherry.ImageError as error: print(peak() - before, error.reason, error)
    """
    done = subprocess.run(
        [sys.executable, "-c", code, str(path)], capture_output=True, text=True, check=True, timeout=60,
        env=ENVIRONMENT,
    )  # fmt: skip
    kibibytes, reason, text = done.stdout.split(" ", 2)
    assert reason == "image_too_large" and "coded with 4096x4096 pixels, but declares 64x64" in text
    assert int(kibibytes) < 50_000


@pytest.mark.parametrize("options", [{"lossless": True}, {"quality": 90}], ids=str)
@pytest.mark.parametrize("alpha", [0, 128, 255])
def test_I3_alpha_of_an_animated_webp_counts_if_the_file_declares_it(alpha: int, options: Dict[str, Any]) -> None:
    """As in Pillow, the flag of the VP8X chunk decides. A transparent lossy frame is coded as a part of the image."""
    pil = pytest.importorskip("PIL.Image")
    frames = [pil.new("RGBA", (20, 20), color) for color in ((200, 100, 50, alpha), (9, 2, 3, 255))]
    encoded = io.BytesIO()
    frames[0].save(encoded, "WEBP", save_all=True, append_images=frames[1:], exact=True, **options)
    data = bytearray(encoded.getvalue())
    flags = data.index(b"VP8X") + 8
    for is_declared in (True, False):
        if not is_declared:
            data[flags] &= 0xEF
        shown = pil.open(io.BytesIO(data))
        image = wherry.Image(bytes(data))
        assert image.info.has_alpha == (shown.mode == "RGBA") == (is_declared and alpha < 255)
        pixels = image.pixels("rgba", animated="first")
        assert bytes(memoryview(pixels).cast("B")) == shown.convert("RGBA").tobytes()


def test_I3_an_avif_with_a_general_brand_is_no_heic() -> None:
    data = next(file(case) for case in FORMATS if case["name"] == "an AVIF")
    assert data[8:12] == b"avif" and b"mif1" in data[16:32]
    assert wherry.Image(data[:8] + b"mif1" + data[12:]).info.format == "avif"


def test_I3_an_image_of_any_dimensions_can_be_inspected() -> None:
    """A GIF of 65535x1 pixels, with a frame of one pixel."""
    frame = b",\0\0\0\0\1\0\1\0\0\2\2\x44\1\0;"
    wide = wherry.Image(b"GIF89a\xff\xff\1\0\x80\0\0\0\0\0\t\t\t" + frame)
    assert (wide.info.width, wide.info.height) == (65535, 1)
    with pytest.raises(wherry.ImageError, match="65500 per side") as caught:
        wide.pixels()
    assert caught.value.reason == "image_too_large"
