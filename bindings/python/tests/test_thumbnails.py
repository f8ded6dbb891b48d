# Wherry: images that are fitted into, cropped to, or padded to a box
# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import io
from typing import Any

import pytest

import wherry

Pillow = pytest.importorskip("PIL.Image")
Ops = pytest.importorskip("PIL.ImageOps")
numpy: Any = pytest.importorskip("numpy")

BOXES = [(64, 64), (100, 30), (30, 100), (31, 57)]


def waves(width: int, height: int) -> Any:
    """A smooth image without symmetry, as Pillow image."""
    y, x = numpy.mgrid[0:height, 0:width]
    planes = [128 + 100 * numpy.sin(x / (17 + 3 * i) + y / (29 - 4 * i)) for i in range(3)]
    return Pillow.fromarray(numpy.clip(numpy.stack(planes, 2), 0, 255).astype(numpy.uint8))


def encoded(image: Any, kind: str = "PNG", **options: Any) -> bytes:
    file = io.BytesIO()
    image.save(file, kind, **options)
    return file.getvalue()


def opened(image: wherry.Image, mode: str = "RGB") -> Any:
    return numpy.asarray(Pillow.open(io.BytesIO(image.content)).convert(mode)).astype(int)


def resized(source: Any, mode: str, box: tuple[int, int], **options: Any) -> wherry.Image:
    return wherry.Image(source).compress(0.95, resize_mode=mode, max_width=box[0], max_height=box[1], **options)


def mean_difference(a: Any, b: Any) -> float:
    assert a.shape == b.shape
    return float(numpy.abs(a - b).mean())


@pytest.mark.parametrize("size", [(200, 150), (150, 200), (211, 137)], ids=str)
@pytest.mark.parametrize("box", BOXES, ids=str)
def test_I4_crop_equals_fit_of_Pillow(size: tuple[int, int], box: tuple[int, int]) -> None:
    image = waves(*size)
    expected = numpy.asarray(Ops.fit(image, box, Pillow.Resampling.LANCZOS)).astype(int)
    found = opened(resized(encoded(image), "crop", box))
    assert mean_difference(found, expected) < 1
    # An offset of one pixel of the result would be visible.
    assert mean_difference(found[:, 1:], expected[:, :-1]) > 1.5
    # The decoder scales a JPEG to whole pixels, which can move the center by half a pixel.
    jpeg = encoded(image, "JPEG", quality=97, subsampling=0)
    assert mean_difference(opened(resized(jpeg, "crop", box)), expected) < 4


@pytest.mark.parametrize("size", [(200, 150), (150, 200), (211, 137)], ids=str)
@pytest.mark.parametrize("box", BOXES, ids=str)
def test_I4_pad_equals_pad_of_Pillow(size: tuple[int, int], box: tuple[int, int]) -> None:
    image = waves(*size)
    expected = numpy.asarray(Ops.pad(image, box, Pillow.Resampling.LANCZOS, color=(0, 80, 255))).astype(int)
    found = opened(resized(encoded(image), "pad", box, background=0x0050FF))
    assert found.shape == expected.shape == (box[1], box[0], 3)

    def edges(pixels: Any) -> list[int]:
        inside = (pixels != (0, 80, 255)).any(axis=2)
        rows, columns = numpy.nonzero(inside.any(axis=1))[0], numpy.nonzero(inside.any(axis=0))[0]
        return [int(value) for value in (rows[0], rows[-1], columns[0], columns[-1])]

    # Pillow rounds halves to even numbers.
    assert max(abs(a - b) for a, b in zip(edges(found), edges(expected))) <= 1
    assert (found[0, 0] == (0, 80, 255)).all() or edges(found)[0] == edges(found)[2] == 0


def test_I4_the_box_is_that_of_the_upright_image() -> None:
    image = waves(200, 150)
    exif = Pillow.Exif()
    exif[0x0112] = 6
    turned = encoded(image.transpose(Pillow.Transpose.ROTATE_90), exif=exif)
    for mode in ("fit", "crop", "pad"):
        for box in BOXES:
            found, expected = (opened(resized(source, mode, box)) for source in (turned, encoded(image)))
            assert mean_difference(found, expected) < 0.5


def test_I4_a_smaller_image_is_not_enlarged() -> None:
    image = waves(40, 20)
    data = encoded(image)
    assert resized(data, "fit", (100, 100)).info.width == 40
    cropped = resized(data, "crop", (100, 100))
    assert (opened(cropped) == numpy.asarray(image)[:, 10:30]).all()
    padded = opened(resized(data, "pad", (101, 60)))
    assert padded.shape == (60, 101, 3)
    assert (padded[20:40, 30:70] == numpy.asarray(image)).all() and (padded[:20] == 255).all()


def test_I4_padding_is_transparent_until_a_background_is_set() -> None:
    data = encoded(Pillow.new("RGBA", (40, 20), (10, 20, 30, 128)))
    clear = opened(resized(data, "pad", (40, 40)), "RGBA")
    assert (clear[0] == 0).all() and (clear[20] == (10, 20, 30, 128)).all()
    solid = opened(resized(data, "pad", (40, 40), background=0xFFFFFF), "RGBA")
    assert (solid[0] == 255).all() and (solid[20] == (10, 20, 30, 128)).all()
    jpeg = opened(resized(data, "pad", (40, 40), format="jpeg"))
    assert (jpeg[0] >= 254).all()


def test_I4_bad_modes_are_refused() -> None:
    data = encoded(waves(40, 20))
    with pytest.raises(wherry.ArgumentError, match="resize_mode"):
        wherry.Compression(resize_mode="cover")
    with pytest.raises(wherry.ArgumentError, match="Set both"):
        wherry.Image(data).compress(max_width=10, resize_mode="crop")
    with pytest.raises(wherry.ArgumentError, match="65500"):
        resized(data, "pad", (70000, 1))


def test_I4_several_sizes_come_from_one_call() -> None:
    image = waves(400, 300)
    settings: list[wherry.Compression | float] = [
        wherry.Compression(0.9, max_width=64, max_height=64, resize_mode="crop"),
        wherry.Compression(0.9, max_width=200),
        wherry.Compression(0.9, max_width=50, max_height=90, resize_mode="pad", format="png"),
        1,
    ]
    for data in (encoded(image), encoded(image, "JPEG", quality=95)):
        source = wherry.Image(data)
        copies = source.compress_many(iter(settings))
        for setting, copy in zip(settings, copies):
            alone = source.compress(setting)
            assert (copy.info.width, copy.info.height) == (alone.info.width, alone.info.height)
            assert copy.info.format == alone.info.format and copy.info.way == alone.info.way
            assert copy.compare(alone).ssim >= 0.98
            assert data[:1] == b"\xff" or copy.content == alone.content
        assert source.compress_many([]) == []


def test_I4_an_error_names_the_compression() -> None:
    image = wherry.Image(encoded(waves(40, 20)))
    with pytest.raises(wherry.ArgumentError, match="Compression 2 of 2: .* Set both"):
        image.compress_many([0.5, wherry.Compression(max_width=10, resize_mode="crop")])
    with pytest.raises(TypeError):
        image.compress_many(["small"])  # type: ignore[list-item]
    with pytest.raises(wherry.ImageError):
        wherry.Image(b"\xff\xd8\xff").compress_many([0.5, 0.6])


@pytest.mark.parametrize("kind", ["PNG", "JPEG"])
def test_I4_pixels_have_the_size_that_is_asked_for(kind: str) -> None:
    image = wherry.Image(encoded(waves(160, 120), kind))
    assert image.pixels(max_width=64, max_height=64).shape == (48, 64, 3)
    for mode in ("crop", "pad"):
        pixels = numpy.asarray(image.pixels("rgb", max_width=64, max_height=64, resize_mode=mode))
        copy = image.compress(1.0, format="png", max_width=64, max_height=64, resize_mode=mode)
        assert numpy.array_equal(pixels, numpy.asarray(copy.pixels("rgb")))
    with pytest.raises(wherry.ArgumentError):
        image.pixels(max_width=64, resize_mode="crop")
