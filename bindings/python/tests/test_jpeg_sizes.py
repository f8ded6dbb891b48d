# Wherry: the smallest JPEG of a quality, and a quality for a similarity
# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import io
from typing import Any

import pytest

import wherry

Pillow = pytest.importorskip("PIL.Image")
numpy: Any = pytest.importorskip("numpy")


def pixels(width: int, height: int) -> Any:
    """Smooth waves with noise, as RGB."""
    generator = numpy.random.default_rng(1)
    y, x = numpy.mgrid[0:height, 0:width]
    planes = [128 + 90 * numpy.sin(x / (7 + i) + y / (11 - i)) + generator.normal(0, 9, x.shape) for i in range(3)]
    return numpy.clip(numpy.stack(planes, 2), 0, 255).astype(numpy.uint8)


def saved(array: Any, quality: int, subsampling: int) -> bytes:
    file = io.BytesIO()
    image = Pillow.fromarray(array)
    image.save(file, "JPEG", quality=quality, subsampling=subsampling, optimize=True, progressive=True)
    return file.getvalue()


@pytest.mark.parametrize("subsampling", [420, 444])
@pytest.mark.parametrize("mode", ["L", "RGB"])
def test_I5_the_smallest_JPEG_has_fewer_bytes_than_that_of_Pillow(mode: str, subsampling: int) -> None:
    array = numpy.asarray(Pillow.fromarray(pixels(400, 300)).convert(mode))
    image = wherry.Image(array)
    for quality in (50, 70, 85):
        ours = image.compress(quality / 100, format="jpeg", smallest=True, subsampling=subsampling)
        wanted = image.compare(ours).ssim
        files = (saved(array, coarse, {420: 2, 444: 0}[subsampling]) for coarse in range(quality - 20, 101))
        theirs = next(file for file in files if image.compare(file).ssim >= wanted)
        assert len(ours.content) < 0.95 * len(theirs)


@pytest.mark.parametrize("size", [(1, 1), (8, 8), (17, 33), (101, 1), (1, 64), (95, 63)], ids=str)
def test_I5_Pillow_reads_the_smallest_JPEG_of_any_size(size: tuple[int, int]) -> None:
    for subsampling in (420, 422, 444):
        image = wherry.Image(pixels(*size))
        made = image.compress(0.8, format="jpeg", smallest=True, subsampling=subsampling)
        with Pillow.open(io.BytesIO(made.content)) as read:
            read.load()
            assert read.size == size and read.mode == "RGB"
        assert image.compare(made).psnr > 20
        assert image.compress(0.8, format="jpeg", smallest=True, subsampling=subsampling).content == made.content


def test_I5_a_JPEG_has_the_SSIM_that_was_asked_for() -> None:
    image = wherry.Image(pixels(400, 300))
    for target in (0.9, 0.95, 0.98):
        made = image.compress(format="jpeg", target_ssim=target)
        assert image.compare(made).ssim >= target
        # Five trials come close to the lowest quality.
        quality = made.info.quality
        assert quality is not None and 15 < quality < 100
        assert image.compare(image.compress((quality - 15) / 100, format="jpeg")).ssim < target
    for wrong in (0, 1, -0.5, 98, float("nan")):
        with pytest.raises(wherry.ArgumentError, match="target_ssim"):
            wherry.Compression(target_ssim=wrong)
    with pytest.raises(TypeError, match="target_ssim"):
        wherry.Compression(target_ssim="0.9")  # type: ignore[arg-type]
