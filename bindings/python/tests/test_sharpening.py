# Wherry: images that are sharpened after scaling
# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import base64
import io
from typing import Any

import pytest
from conftest import PATIENT, Server

import wherry

Pillow = pytest.importorskip("PIL.Image")
Filter = pytest.importorskip("PIL.ImageFilter")
numpy: Any = pytest.importorskip("numpy")
ndimage: Any = pytest.importorskip("scipy.ndimage")

#: The weights of the neighborhood, of which the sum is 16.
WEIGHTS = [[1, 2, 1], [2, 4, 2], [1, 2, 1]]


def picture(mode: str, width: int = 200, height: int = 150) -> Any:
    """Noise, waves, and edges as an array."""
    generator = numpy.random.default_rng(7)
    y, x = numpy.mgrid[0:height, 0:width]
    waves = [128 + 60 * numpy.sin(x / (5 + 3 * i) + y / (9 - i)) + generator.normal(0, 25, x.shape) for i in range(3)]
    array = numpy.clip(numpy.stack(waves, 2), 0, 255).astype(numpy.uint8)
    array[20:90, 30:100] = (255, 40, 0)
    array[100:140, 20:80] = 0
    if mode == "RGBA":
        alpha = numpy.clip(255 - (x + y) // 2 + generator.integers(-40, 40, x.shape), 0, 255)
        alpha[60:, :50] = 0
        return numpy.dstack([array, alpha.astype(numpy.uint8)])
    return numpy.asarray(Pillow.fromarray(array).convert(mode))


def encoded(array: Any, kind: str = "PNG", **options: Any) -> bytes:
    file = io.BytesIO()
    Pillow.fromarray(array).save(file, kind, **options)
    return file.getvalue()


def luma(array: Any) -> Any:
    """The luma in 1/256."""
    if array.ndim == 2:
        return array.astype(int) * 256
    red, green, blue = (array[..., i].astype(int) for i in range(3))
    return (19_595 * red + 38_470 * green + 7_471 * blue + 128) >> 8


def expected(array: Any, amount: int) -> Any:
    """The documented formula, computed by SciPy."""
    light = luma(array)
    alpha = array[..., 3].astype(int) if array.shape[-1] == 4 and array.ndim == 3 else numpy.ones_like(light)
    total = ndimage.convolve(light * alpha, WEIGHTS, mode="nearest")
    weight = numpy.maximum(ndimage.convolve(alpha, WEIGHTS, mode="nearest"), 1)
    mask = amount * (light * weight - total)
    change = (2 * mask + 25_600 * weight) // (51_200 * weight)
    change[alpha == 0] = 0
    result = array.copy()
    if array.ndim == 2:
        return numpy.clip(array + change, 0, 255).astype(numpy.uint8)
    result[..., :3] = numpy.clip(array[..., :3] + change[..., None], 0, 255)
    return result


def opened(image: wherry.Image) -> Any:
    return numpy.asarray(Pillow.open(io.BytesIO(image.content)))


@pytest.mark.parametrize("amount", [1, 50, 100, 333, 500])
@pytest.mark.parametrize("mode", ["L", "RGB", "RGBA"])
def test_I4_sharpening_equals_the_formula_computed_by_SciPy(mode: str, amount: int) -> None:
    image = wherry.Image(encoded(picture(mode)))
    for options in ({"max_width": 71}, {"max_width": 64, "max_height": 64, "resize_mode": "crop"}):
        soft = opened(image.compress(format="png", **options))
        sharp = opened(image.compress(format="png", sharpen=amount, **options))
        assert (sharp == expected(soft, amount)).all()
        assert amount == 1 or (sharp != soft).any()
        assert (numpy.asarray(image.pixels(sharpen=amount, **options)) == sharp).all()


def test_I4_sharpening_equals_kernels_and_resembles_unsharp_masks_of_Pillow() -> None:
    image = wherry.Image(encoded(picture("L")))
    soft = opened(image.compress(format="png", max_width=100))
    for amount in (50, 100, 200):
        sharp = opened(image.compress(format="png", max_width=100, sharpen=amount)).astype(int)
        kernel = [100 * 16 * (i == 4) + amount * (16 * (i == 4) - w) for i, w in enumerate(sum(WEIGHTS, []))]
        theirs = numpy.asarray(Pillow.fromarray(soft).filter(Filter.Kernel((3, 3), kernel, 1600))).astype(int)
        # Pillow copies the pixels at the edges.
        assert numpy.abs(sharp - theirs)[1:-1, 1:-1].max() <= 1
        masked = Pillow.fromarray(soft).filter(Filter.UnsharpMask(0.8, amount, 0))
        mean = numpy.abs(sharp - numpy.asarray(masked).astype(int)).mean()
        assert mean < 0.2 * numpy.abs(sharp - soft).mean()


def test_I4_only_a_scaled_image_is_sharpened() -> None:
    for data in (encoded(picture("RGB")), encoded(picture("RGB"), "JPEG", quality=90)):
        image = wherry.Image(data)
        assert image.compress(sharpen=100, max_width=200).content == data
        assert (opened(image.compress(format="png", sharpen=100)) == opened(image.compress(format="png"))).all()
        copies = image.compress_many([wherry.Compression(sharpen=100, max_width=w, format="png") for w in (50, 200)])
        soft = opened(image.compress(format="png", max_width=50))
        assert (opened(copies[0]) != soft).any()
        assert (opened(copies[1]) == opened(image.compress(format="png"))).all()


def test_I4_an_uploaded_image_is_sharpened(mock: wherry.MockTransport) -> None:
    image = wherry.Image(encoded(picture("RGB")))
    settings = wherry.Compression(0.9, format="jpeg", max_width=60, sharpen=150)
    sharp, soft = image.compress(settings), image.compress(0.9, format="jpeg", max_width=60)
    assert sharp.content != soft.content
    mock.add(None, "*")
    with wherry.Client(transport=mock) as client:
        client.upload("http://h/", [image], compression=settings)
    assert sharp.content in mock.requests[-1].content


def test_I4_a_loaded_image_is_sharpened_and_found_by_its_strength(server: Server) -> None:
    data = encoded(picture("RGB"))
    body = {"status": 200, "headers": [["Cache-Control", "max-age=600"]]}
    server.script("a", [{**body, "body_base64": base64.b64encode(data).decode()}])
    url, image = server.url("/s/a"), wherry.Image(data)
    with wherry.Client(cache=True, **PATIENT) as client:
        for amount in (0, 50, 100, 50, 0):
            compression = wherry.Compression(sharpen=amount)
            loaded = numpy.asarray(client.images.load(url, (60, None), compression=compression))
            assert (loaded == numpy.asarray(image.pixels(max_width=60, sharpen=amount))).all()
        assert client.images.usage().images == 3
        assert client.images.cached(url, (60, None), compression=wherry.Compression(sharpen=60)) is None
    assert len(server.log()) == 1


def test_I4_wrong_strengths_are_refused() -> None:
    for wrong in (-1, 501):
        with pytest.raises(wherry.ArgumentError, match=f"sharpen= takes 0 to 500 percent, not {wrong}"):
            wherry.Compression(sharpen=wrong)
    # A ratio, as in other programs, would not be visible.
    for text in (0.5, "50", True):
        with pytest.raises(TypeError, match="sharpen= takes an integer from 0 to 500"):
            wherry.Compression(sharpen=text)  # type: ignore[arg-type]
    assert wherry.Compression(sharpen=numpy.int64(50)).options == wherry.Compression(sharpen=50).options
