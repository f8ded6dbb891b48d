# Wherry: PNG and JPEG files of all kinds, as other programs write them
# SPDX-License-Identifier: Apache-2.0
"""PNG files are written here in every variant that PngSuite has. scripts/test-pictures decodes PngSuite itself, and the
test images of libpng, libjpeg-turbo, and Pillow.
"""

from __future__ import annotations

import base64
import io
import os
import pathlib
import struct
import subprocess
import sys
import zlib
from typing import Any, Iterator, Optional

import pytest
from conftest import ROOT
from test_scenarios import cases

import wherry

Pillow = pytest.importorskip("PIL.Image")
Ops = pytest.importorskip("PIL.ImageOps")
Cms = pytest.importorskip("PIL.ImageCms")
numpy: Any = pytest.importorskip("numpy")

#: WHERRY_LOOPS=full repeats more.
MUTATIONS = 20_000 if os.environ.get("WHERRY_LOOPS") == "full" else 2_000
ADAM7 = [(0, 0, 8, 8), (4, 0, 8, 8), (0, 4, 4, 8), (2, 0, 4, 4), (0, 2, 2, 4), (1, 0, 2, 2), (0, 1, 1, 2)]
#: The color types of PNG with their channels and depths.
GRAY, RGB, PALETTE, GRAY_ALPHA, RGBA = 0, 2, 3, 4, 6
CHANNELS = {GRAY: 1, RGB: 3, PALETTE: 1, GRAY_ALPHA: 2, RGBA: 4}
DEPTHS = {GRAY: (1, 2, 4, 8, 16), RGB: (8, 16), PALETTE: (1, 2, 4, 8), GRAY_ALPHA: (8, 16), RGBA: (8, 16)}
KINDS = [(color, depth) for color, depths in DEPTHS.items() for depth in depths]
SIZES = [(1, 1), (2, 3), (3, 2), (5, 5), (7, 9), (9, 7), (8, 8), (32, 32), (33, 40)]
#: The filter of every row, or None for all in turn.
FILTERS = [0, 1, 2, 3, 4, None]


def chunk(kind: bytes, data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))


def packed(samples: Any, depth: int) -> Any:
    """The bytes of rows of samples."""
    height = samples.shape[0]
    if depth == 16:
        return samples.astype(">u2").reshape(height, -1).view(numpy.uint8)
    rows = samples.reshape(height, -1).astype(numpy.uint8)
    if depth == 8:
        return rows
    bits = numpy.unpackbits(rows[..., None], axis=2)[..., 8 - depth :]
    return numpy.packbits(bits.reshape(height, -1), axis=1)


def filtered(rows: Any, pixel: int, kind: Optional[int]) -> bytes:
    """Rows with their filter bytes. ``pixel`` is the number of bytes of a pixel, at least 1."""
    out = b""
    above = numpy.zeros(rows.shape[1], int)
    for y, row in enumerate(rows.astype(int)):
        left, corner = (numpy.concatenate([numpy.zeros(pixel, int), line])[: row.size] for line in (row, above))
        guess = left + above - corner
        distances = numpy.abs(numpy.stack([guess - left, guess - above, guess - corner]))
        paeth = numpy.choose(distances.argmin(axis=0), [left, above, corner])
        method = y % 5 if kind is None else kind
        prediction = (0, left, above, (left + above) // 2, paeth)[method]
        out += bytes([method]) + ((row - prediction) % 256).astype(numpy.uint8).tobytes()
        above = row
    return out


class Written:
    """A PNG file, and the RGBA pixels that it shows."""

    def __init__(
        self, color: int, depth: int, size: tuple[int, int], filter: Optional[int] = None, *,
        interlaced: bool = False, transparent: bool = False, level: int = 6,
    ) -> None:  # fmt: skip
        (width, height), channels, top = size, CHANNELS[color], (1 << depth) - 1
        generator = numpy.random.default_rng([color, depth, *size])
        y, x, c = numpy.mgrid[0:height, 0:width, 0:channels]
        ramp = (x * (c + 2) + y * 3) * top // (2 * (width + height) * (c + 2)) if depth > 2 else (x + y + c) % (top + 1)
        samples = numpy.where(generator.random(x.shape) < 0.2, generator.integers(0, top + 1, x.shape), ramp)
        scaled = (samples * 255 + top // 2) // top
        extra = b""
        if color == PALETTE:
            colors = generator.integers(0, 256, (top + 1, 4))
            if not transparent:
                colors[:, 3] = 255
            shown = colors[samples[..., 0]]
            extra = chunk(b"PLTE", colors[:, :3].astype(numpy.uint8).tobytes())
            if transparent:
                extra += chunk(b"tRNS", colors[:, 3].astype(numpy.uint8).tobytes())
        else:
            light = scaled[..., :1] if channels < 3 else scaled[..., :3]
            opaque = numpy.full((height, width, 1), 255)
            if transparent:
                clear = samples[height // 2, width // 2]
                opaque[(samples == clear).all(axis=2)] = 0
                extra = chunk(b"tRNS", clear.astype(">u2").tobytes())
            alpha = scaled[..., -1:] if channels in (2, 4) else opaque
            shown = numpy.concatenate([light.repeat(3 if channels < 3 else 1, axis=2), alpha], axis=2)
        self.pixels = shown.astype(int)
        lines = b""
        for left, first, dx, dy in ADAM7 if interlaced else [(0, 0, 1, 1)]:
            part = samples[first::dy, left::dx]
            if part.size:
                lines += filtered(packed(part, depth), max(1, channels * depth // 8), filter)
        header = struct.pack(">IIBBBBB", width, height, depth, color, 0, 0, int(interlaced))
        data = zlib.compress(lines, level)
        # Two chunks, as an encoder with a small buffer writes them.
        pieces = [data[: len(data) // 2], data[len(data) // 2 :]]
        self.file = b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + extra
        self.file += b"".join(chunk(b"IDAT", piece) for piece in pieces) + chunk(b"IEND", b"")


def of_wherry(file: bytes) -> Any:
    return numpy.asarray(wherry.Image(file).pixels("rgba")).astype(int)


def of_pillow(file: bytes) -> Any:
    with Pillow.open(io.BytesIO(file)) as image:
        return numpy.asarray(Ops.exif_transpose(image).convert("RGBA")).astype(int)


def difference(a: Any, b: Any) -> int:
    """The largest difference of samples; the colors of transparent pixels do not count."""
    assert a.shape == b.shape
    return int((numpy.abs(a - b) * ((a[..., 3:] > 0) | (b[..., 3:] > 0))).max())


def known_to_pillow(color: int, depth: int, transparent: bool) -> bool:
    """Whether Pillow has the right pixels.

    It clips 16-bit gray, and finds no transparent gray of 2 and 4 bits and no transparent color of 16 bits.
    """
    if depth == 16:
        return color != GRAY and not transparent
    return not (color == GRAY and transparent and depth in (2, 4))


@pytest.mark.parametrize("interlaced", [False, True], ids=["rows", "interlaced"])
@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: f"type{kind[0]}-{kind[1]}bit")
def test_I8_PNG_files_of_all_kinds_have_the_pixels_of_Pillow(kind: tuple[int, int], interlaced: bool) -> None:
    color, depth = kind
    for transparent in (False, True) if color in (GRAY, RGB, PALETTE) else (False,):
        for number, size in enumerate(SIZES):
            for filter in FILTERS:
                written = Written(
                    color, depth, size, filter, interlaced=interlaced, transparent=transparent, level=number
                )
                case = (kind, size, filter, transparent)
                assert difference(of_wherry(written.file), written.pixels) == 0, case
                if known_to_pillow(color, depth, transparent):
                    # Pillow uses the high bytes of 16 bits.
                    assert difference(of_wherry(written.file), of_pillow(written.file)) <= (depth == 16), case


def jpegs(quality: int = 90) -> Iterator[tuple[str, bytes]]:
    """JPEG files of Pillow, with names."""
    generator = numpy.random.default_rng(3)
    for number, (width, height) in enumerate([(1, 1), (7, 9), (16, 16), (33, 40), (120, 65)]):
        y, x = numpy.mgrid[0:height, 0:width]
        planes = [128 + 90 * numpy.sin(x / (4 + i) + y / 7) + generator.normal(0, 12, x.shape) for i in range(4)]
        pixels = numpy.clip(numpy.stack(planes, 2), 0, 255).astype(numpy.uint8)
        for mode in ("L", "RGB", "CMYK"):
            image = Pillow.fromarray({"L": pixels[..., 0], "RGB": pixels[..., :3], "CMYK": pixels}[mode], mode)
            for subsampling in (0, 1, 2) if mode == "RGB" else (0,):
                for progressive in (False, True):
                    exif = Pillow.Exif()
                    exif[0x0112] = orientation = 1 + (number + subsampling * 2 + 4 * progressive) % 8
                    file = io.BytesIO()
                    image.save(
                        file, "JPEG", quality=quality, subsampling=subsampling, progressive=progressive, exif=exif,
                        restart_marker_blocks=number % 3, optimize=number % 2 == 0,
                    )  # fmt: skip
                    yield f"{mode}-{width}x{height}-{subsampling}-{progressive}-{orientation}", file.getvalue()


def test_I8_JPEG_files_of_all_kinds_have_the_pixels_of_Pillow() -> None:
    for quality in (30, 90, 100):
        for name, file in jpegs(quality):
            # The versions of libjpeg-turbo may round differently.
            assert difference(of_wherry(file), of_pillow(file)) <= 3, name


def test_I8_color_profiles_are_those_that_Pillow_reads() -> None:
    profile = Cms.ImageCmsProfile(Cms.createProfile("sRGB")).tobytes()
    # A profile of several segments, which declares its size.
    large = struct.pack(">I", len(profile) + 150_000) + profile[4:] + bytes(150_000)
    image = Pillow.fromarray(numpy.arange(48 * 32 * 3, dtype=numpy.uint8).reshape(32, 48, 3))
    for given in (profile, large):
        for kind in ("JPEG", "PNG"):
            file = io.BytesIO()
            image.save(file, kind, icc_profile=given)
            source = wherry.Image(file.getvalue())
            for format in ("jpeg", "png"):
                for options in ({"quality": 0.5, "never_larger": False}, {"quality": 1, "max_width": 20}):
                    made = source.compress(format=format, **options).content
                    with Pillow.open(io.BytesIO(made)) as opened:
                        assert opened.info["icc_profile"] == given, (kind, format, options)
            bare = source.compress(0.5, metadata="none", format="jpeg").content
            with Pillow.open(io.BytesIO(bare)) as opened:
                assert "icc_profile" not in opened.info


def test_I8_mutated_images_never_crash(tmp_path: pathlib.Path) -> None:
    for color, depth in KINDS:
        for interlaced in (False, True):
            written = Written(color, depth, (33, 40), interlaced=interlaced, transparent=color in (GRAY, RGB, PALETTE))
            (tmp_path / f"{color}-{depth}-{interlaced}.png").write_bytes(written.file)
    for name, file in jpegs():
        (tmp_path / f"{name}.jpg").write_bytes(file)
    for number, case in enumerate(cases("formats.json")):
        (tmp_path / f"{number}.{case['format']}").write_bytes(base64.b64decode(case["file"]))
    program = os.path.join(ROOT, "bindings", "python", "outside", "pictures", "mutations.py")
    seed = int.from_bytes(os.urandom(4), "big")
    done = subprocess.run(
        [sys.executable, program, tmp_path, str(seed), str(MUTATIONS)],
        capture_output=True, text=True, env={**os.environ, "PYTHONPATH": os.path.dirname(wherry.__path__[0])},
    )  # fmt: skip
    assert done.returncode == 0, f"seed {seed}: {done.stderr[-2_000:]}"
    # Some mutations do not damage the pixels, and most do.
    assert MUTATIONS // 50 < int(done.stdout) < MUTATIONS
