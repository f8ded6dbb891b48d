# Wherry: the similarity of two images
# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import io
import math
import pathlib
from typing import Any

import pytest

import wherry

Pillow = pytest.importorskip("PIL.Image")
numpy: Any = pytest.importorskip("numpy")


def pixels(width: int, height: int, seed: int = 1) -> Any:
    """Smooth waves with noise, as RGB."""
    generator = numpy.random.default_rng(seed)
    y, x = numpy.mgrid[0:height, 0:width]
    planes = [128 + 90 * numpy.sin(x / (7 + i) + y / (11 - i)) + generator.normal(0, 9, x.shape) for i in range(3)]
    return numpy.clip(numpy.stack(planes, 2), 0, 255).astype(numpy.uint8)


def encoded(array: Any, kind: str, **options: Any) -> bytes:
    file = io.BytesIO()
    Pillow.fromarray(array).save(file, kind, **options)
    return file.getvalue()


def gray(data: bytes) -> Any:
    return numpy.asarray(Pillow.open(io.BytesIO(data)).convert("L"))


@pytest.mark.parametrize("size", [(11, 11), (12, 40), (160, 120), (301, 97)], ids=str)
def test_I5_SSIM_and_PSNR_equal_those_of_scikit_image(size: tuple[int, int]) -> None:
    metrics: Any = pytest.importorskip("skimage.metrics")
    original = encoded(pixels(*size), "PNG")
    for quality in (5, 40, 90):
        copy = encoded(pixels(*size), "JPEG", quality=quality)
        found = wherry.Image(original).compare(copy)
        expected = metrics.structural_similarity(
            gray(original), gray(copy), gaussian_weights=True, sigma=1.5, use_sample_covariance=False, data_range=255
        )
        assert abs(found.ssim - expected) < 1e-4
        colors = [numpy.asarray(Pillow.open(io.BytesIO(data)).convert("RGB")) for data in (original, copy)]
        assert abs(found.psnr - metrics.peak_signal_noise_ratio(*colors)) < 1e-9
    other = encoded(pixels(*size, seed=2), "PNG")
    expected = metrics.structural_similarity(
        gray(original), gray(other), gaussian_weights=True, sigma=1.5, use_sample_covariance=False, data_range=255
    )
    assert abs(wherry.Image(original).compare(other).ssim - expected) < 1e-4


def test_I5_a_compressed_copy_is_compared_with_its_original(tmp_path: pathlib.Path) -> None:
    path = tmp_path / "a.png"
    path.write_bytes(encoded(pixels(200, 150), "PNG"))
    image = wherry.Image(path)
    fine, coarse = (image.compare(image.compress(quality, format="jpeg")) for quality in (0.95, 0.1))

    assert coarse.ssim < fine.ssim < 1 and coarse.psnr < fine.psnr < math.inf
    assert repr(fine).startswith("<ImageComparison ssim=0.9")
    assert image.compare(path).ssim == 1 and image.compare(str(path)).psnr == math.inf
    assert image.compare(pixels(200, 150)).psnr == math.inf
    assert image.compare(image).ssim == 1


def test_I5_images_of_different_sizes_and_damaged_images_fail() -> None:
    image = wherry.Image(encoded(pixels(40, 30), "PNG"))

    with pytest.raises(wherry.ArgumentError, match="40x30 and 30x40 pixels. Resize"):
        image.compare(pixels(30, 40))
    with pytest.raises(wherry.ImageError, match="Second image: "):
        image.compare(encoded(pixels(40, 30), "PNG")[:900])
    with pytest.raises(wherry.ImageError, match="First image: "):
        image.compare(image, max_pixels=100)
    with pytest.raises(wherry.FileError):
        image.compare("gone.jpg")
    with pytest.raises(TypeError):
        image.compare(7)


def test_I5_upright_images_are_compared_and_alpha_is_blended() -> None:
    array = pixels(50, 30)
    exif = Pillow.Exif()
    exif[0x0112] = 6
    turned = encoded(numpy.rot90(array), "PNG", exif=exif)
    assert wherry.Image(array).compare(turned).psnr == math.inf
    with pytest.raises(wherry.ArgumentError):
        wherry.Image(array).compare(turned, keep_orientation=True)

    clear = numpy.zeros((20, 20, 4), numpy.uint8)
    assert wherry.Image(clear).compare(numpy.full((20, 20), 255, numpy.uint8)).ssim == 1
    green = numpy.zeros((20, 20, 3), numpy.uint8)
    green[:, :, 1] = 255
    assert wherry.Image(clear).compare(green, background=0x00FF00).psnr == math.inf
