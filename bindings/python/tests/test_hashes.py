# Wherry: perceptual hashes of images
# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import base64
import io
import random
from typing import Any, Dict, Iterator, List, Tuple

import pytest
from test_scenarios import cases

import wherry

Pillow = pytest.importorskip("PIL.Image")
imagehash: Any = pytest.importorskip("imagehash")
pytest.importorskip("scipy")
if int(Pillow.__version__.split(".")[0]) < 13:
    pytest.skip("Pillow before 13 resizes tall images differently", allow_module_level=True)

pytestmark = pytest.mark.filterwarnings("ignore:Palette images with Transparency")

MODES = ("L", "RGB", "RGBA", "LA", "P", "1")
#: Sizes around those of the thumbnails, and on both sides of the limit at which Pillow resizes columns first.
SIZES = (
    (1, 1), (1, 2), (2, 1), (1, 300), (300, 1), (8, 9), (9, 8), (10, 9), (9, 10), (31, 33), (32, 32), (33, 34), (33, 35),
    (5, 211), (211, 5), (64, 96), (64, 97), (64, 98), (120, 80), (80, 120), (75, 160), (400, 301), (301, 400), (1000, 30),
)  # fmt: skip


def waves(mode: str, width: int, height: int, seed: int) -> Any:
    """A smooth image with some noise, as photographs have."""
    numpy = pytest.importorskip("numpy")
    generator = numpy.random.default_rng(seed)
    y, x = numpy.mgrid[0:height, 0:width]
    planes = []
    for _ in range(4):
        a, b, c, d = generator.uniform(-9, 9, 4)
        plane = numpy.sin(a * x / width + b * y / height) + numpy.cos(c * x * y / (width * height) + d)
        planes.append(numpy.clip(128 + 60 * plane + generator.normal(0, 8, plane.shape), 0, 255))
    image = Pillow.fromarray(numpy.stack(planes, 2).astype(numpy.uint8), "RGBA")
    return image if mode == "RGBA" else image.convert(mode)


def shapes(mode: str, width: int, height: int) -> Iterator[Any]:
    """Flat, symmetric, and antisymmetric images: rounding decides on most bits of their hashes."""
    for shape in ("black", "white", "gray", "ramp", "rows", "checks", "ring"):
        image = Pillow.new("L", (width, height), {"black": 0, "white": 255}.get(shape, 77))
        if shape in ("ramp", "rows", "checks", "ring"):
            for y in range(height):
                for x in range(width):
                    value = {
                        "ramp": 255 * x // max(1, width - 1),
                        "rows": 255 * y // max(1, height - 1),
                        "checks": 255 * ((x // 3 + y // 3) % 2),
                        "ring": 255
                        * (abs(2 * x + 1 - width) * height + abs(2 * y + 1 - height) * width < width * height),
                    }[shape]
                    image.putpixel((x, y), int(value))
        yield image.convert(mode)


def encoded(image: Any, kind: str, **options: Any) -> bytes:
    file = io.BytesIO()
    image.save(file, kind, **options)
    return file.getvalue()


def check(data: bytes, name: str) -> None:
    """Compares both hashes of the image as stored."""
    with Pillow.open(io.BytesIO(data)) as image:
        expected = str(imagehash.dhash(image)), str(imagehash.phash(image))
    image = wherry.Image(data)
    found = tuple(str(image.hash(kind, keep_orientation=True)) for kind in ("difference", "perceptual"))
    assert found == expected, name


@pytest.mark.parametrize("size", SIZES, ids=lambda size: "x".join(map(str, size)))
def test_I7_hashes_equal_those_of_imagehash(size: Tuple[int, int]) -> None:
    for mode in MODES:
        for index, image in enumerate([waves(mode, *size, seed=seed) for seed in range(3)]):
            check(encoded(image, "PNG"), f"{mode} {index}")
        if size[0] * size[1] < 20_000:
            for index, image in enumerate(shapes(mode, *size)):
                check(encoded(image, "PNG"), f"{mode} shape {index}")
    for subsampling in (0, 1, 2):
        for progressive in (False, True):
            for quality in (15, 80, 98):
                data = encoded(
                    waves("RGB", *size, seed=quality), "JPEG", quality=quality, subsampling=subsampling,
                    progressive=progressive,
                )  # fmt: skip
                check(data, f"JPEG {subsampling} {progressive} {quality}")
    for mode in ("L", "CMYK"):
        check(encoded(waves("RGB", *size, seed=9).convert(mode), "JPEG", quality=90), f"JPEG {mode}")


@pytest.mark.parametrize("case", cases("picture-colours.json"), ids=lambda case: str(case["name"]))
def test_I7_hashes_of_all_kinds_of_images_equal_those_of_imagehash(case: Dict[str, Any]) -> None:
    data = base64.b64decode(case["file"])
    try:
        with Pillow.open(io.BytesIO(data)) as image:
            if image.mode.startswith("I"):
                pytest.skip("Pillow clips 16-bit gray images")
    except ValueError as error:
        pytest.skip(f"Pillow refuses the image: {error}")
    check(data, str(case["name"]))


def test_I7_random_images_have_the_hashes_of_imagehash() -> None:
    generator = random.Random(7)
    for index in range(60):
        size = generator.randint(1, 120), generator.randint(1, 240)
        image = waves(generator.choice(MODES), *size, seed=index)
        check(encoded(image, "PNG"), f"{index} {size}")
        check(encoded(image.convert("RGB"), "JPEG", quality=generator.randint(1, 100)), f"JPEG {index} {size}")


def test_I7_16_bit_colors_have_the_hash_of_imagehash_and_16_bit_gray_that_of_its_high_bytes() -> None:
    numpy = pytest.importorskip("numpy")
    for color_type, channels in ((0, 1), (2, 3), (4, 2), (6, 4)):
        samples = numpy.random.default_rng(channels).integers(0, 65536, (40, 50, channels)).astype(">u2")
        data = png16(samples, color_type)
        if color_type:
            check(data, str(color_type))
        else:
            high = encoded(Pillow.fromarray((samples[:, :, 0] >> 8).astype(numpy.uint8)), "PNG")
            assert wherry.Image(data).hash() == wherry.Image(high).hash()


def png16(samples: Any, color_type: int) -> bytes:
    import struct
    import zlib

    def chunk(name: bytes, content: bytes) -> bytes:
        return struct.pack(">I", len(content)) + name + content + struct.pack(">I", zlib.crc32(name + content))

    height, width = samples.shape[:2]
    rows = b"".join(b"\0" + row.tobytes() for row in samples)
    head = struct.pack(">IIBBBBB", width, height, 16, color_type, 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", head) + chunk(b"IDAT", zlib.compress(rows)) + chunk(b"IEND", b"")


def test_I7_the_upright_image_is_hashed_unless_the_orientation_is_kept() -> None:
    from PIL import ImageOps

    for orientation in range(1, 9):
        exif = Pillow.Exif()
        exif[0x0112] = orientation
        data = encoded(waves("RGB", 90, 61, seed=3), "PNG", exif=exif)
        with Pillow.open(io.BytesIO(data)) as stored:
            upright = ImageOps.exif_transpose(stored)
            assert str(wherry.Image(data).hash()) == str(imagehash.phash(upright)), orientation
            assert str(wherry.Image(data).hash("difference")) == str(imagehash.dhash(upright)), orientation
        check(data, str(orientation))


def test_I7_pixels_have_the_hash_of_their_file() -> None:
    numpy = pytest.importorskip("numpy")
    for mode in ("L", "RGB", "RGBA"):
        image = waves(mode, 70, 50, seed=5)
        expected = wherry.Image(encoded(image, "PNG")).hash()
        assert wherry.Image(numpy.asarray(image)).hash() == expected
        assert wherry.Image(image).hash() == expected


def rectangles(seed: int) -> Any:
    from PIL import ImageDraw

    generator = random.Random(seed)
    image = Pillow.new("RGB", (400, 300), "gray")
    draw = ImageDraw.Draw(image)
    for _ in range(12):
        x, y = generator.randrange(320), generator.randrange(240)
        color = tuple(generator.randrange(256) for _ in range(3))
        draw.rectangle((x, y, x + generator.randrange(20, 200), y + generator.randrange(20, 150)), fill=color)
    return image


def test_I7_copies_have_similar_hashes_and_others_do_not() -> None:
    images = [rectangles(seed) for seed in range(6)]
    for kind in ("difference", "perceptual"):
        originals = [wherry.Image(encoded(image, "PNG")).hash(kind) for image in images]
        for image, original in zip(images, originals):
            copy = encoded(image.resize((200, 150)), "JPEG", quality=60)
            assert original - wherry.Image(copy).hash(kind) <= 6
        distances: List[int] = [a - b for i, a in enumerate(originals) for b in originals[:i]]
        assert min(distances) > 8, kind


def test_I7_a_hash_is_a_value() -> None:
    value = wherry.Image(encoded(waves("RGB", 40, 30, seed=1), "PNG")).hash()

    assert wherry.ImageHash(str(value)) == value == wherry.ImageHash(int(value))
    assert {value: 1}[wherry.ImageHash(int(value))] == 1
    assert value - value == 0 and wherry.ImageHash(0) - wherry.ImageHash("ffffffffffffffff") == 64
    assert value != str(value) and repr(value) == f"ImageHash('{value}')"
    assert str(wherry.ImageHash(255)) == "00000000000000ff"
    for wrong in ("", "ff", "x" * 16, -1, 1 << 64, "+" + "f" * 15):
        with pytest.raises(wherry.ArgumentError):
            wherry.ImageHash(wrong)
    with pytest.raises(TypeError):
        value - "ff"  # type: ignore[operator]


def test_I7_bad_arguments_and_images_fail() -> None:
    image = wherry.Image(encoded(waves("RGB", 40, 30, seed=1), "JPEG"))
    with pytest.raises(wherry.ArgumentError, match="difference, perceptual, not 'average'"):
        image.hash("average")
    with pytest.raises(wherry.ImageError):
        image.hash(max_pixels=100)
    data = encoded(waves("RGB", 40, 30, seed=1), "JPEG")
    for end in range(0, len(data), 101):
        with pytest.raises(wherry.ImageError):
            wherry.Image(data[:end]).hash()
