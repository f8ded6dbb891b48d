# Wherry: images inspected and compressed without an upload
# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import base64
import gc
import hashlib
import io
import struct
import subprocess
import sys
import threading
import zlib
from random import Random
from typing import Any, Dict, List

import pytest
from conftest import Server, most_memory
from test_scenarios import cases

import wherry

Pillow = pytest.importorskip("PIL.Image")


def recipe(width: int, height: int, channels: int) -> memoryview:
    """The raw image of pictures.json."""
    raw = bytes(
        3 * x + 5 * y + 40 * c + (x * y >> 4) & 255
        for y in range(height) for x in range(width) for c in range(channels)
    )  # fmt: skip
    return memoryview(raw).cast("B", (height, width, channels))


def jpeg(width: int = 120, height: int = 80, **options: Any) -> bytes:
    picture = Pillow.frombytes("RGB", (width, height), recipe(width, height, 3).tobytes())
    file = io.BytesIO()
    picture.save(file, "JPEG", **{"quality": 95, **options})
    return file.getvalue()


def bytes_of(case: Dict[str, Any]) -> bytes:
    again: bytes = bytes.fromhex(case.get("again", "")) * int(case.get("times", 0))
    head, tail = bytes.fromhex(case["head"]), bytes.fromhex(case.get("tail", ""))
    return head + again + tail


def opened(data: bytes) -> Any:
    return Pillow.open(io.BytesIO(data))


@pytest.mark.parametrize("case", cases("pictures.json"), ids=lambda case: str(case["name"]))
def test_U8_equal_options_give_equal_bytes_in_every_language(case: Dict[str, Any]) -> None:
    channels = {"gray8": 1, "rgb8": 3, "rgba8": 4, "bgra8": 4}[case["pixels"]]
    width, height = case["size"]
    view: Any = recipe(width, height, channels)
    if case["pixels"] == "bgra8":
        numpy = pytest.importorskip("numpy")
        view = numpy.ascontiguousarray(numpy.asarray(view)[:, :, [2, 1, 0, 3]])
    image = wherry.Image(view)
    for step in case["steps"]:
        image = image.compress(**step)

    assert hashlib.sha256(image.content).hexdigest() == case["sha256"]


@pytest.mark.parametrize("case", cases("bad-pictures.json"), ids=lambda case: str(case["name"]))
def test_SEC_R8_SEC_R9_each_bad_image_is_refused_with_its_reason(case: Dict[str, Any]) -> None:
    with pytest.raises(wherry.ImageError) as caught:
        wherry.Image(bytes_of(case)).compress(0.5, format="jpeg")

    assert caught.value.reason == case["reason"]


def test_SEC_R8_bad_images_cost_no_memory_and_print_nothing() -> None:
    """Each runs in a process that may use 16 MiB more than after loading."""
    program = """
import resource, sys
sys.path[:0] = sys.argv[1:]
import wherry
from test_images import base64, bytes_of, cases, jpeg
wherry.Image(jpeg()).compress(0.5)  # Loads the library and its codecs.
for case in cases("formats.json"):
    wherry.Image(base64.b64decode(case["file"])).compress(0.5, animated="first")
with open("/proc/self/statm") as file:
    now = int(file.read().split()[0]) * resource.getpagesize()
resource.setrlimit(resource.RLIMIT_AS, (now + (16 << 20),) * 2)
for case in cases("bad-pictures.json"):
    try:
        wherry.Image(bytes_of(case)).compress(0.5, format="jpeg")
    except wherry.ImageError as error:
        assert error.reason == case["reason"], (case["name"], error.reason)
    else:
        raise AssertionError(case["name"])
"""
    done = subprocess.run([sys.executable, "-c", program, *sys.path], capture_output=True, timeout=600)
    assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")


def test_U18_an_image_reports_its_properties(tmp_path: Any) -> None:
    data = jpeg(progressive=True, comment=b"hello")
    info = wherry.Image(data).info

    assert (info.format, info.width, info.height) == ("jpeg", 120, 80)
    assert info.upright_size == (120, 80) and info.orientation == 1
    assert (info.components, info.bit_depth, info.pixel_bytes) == (3, 8, 120 * 80 * 3)
    assert info.is_progressive and not info.has_alpha and not info.has_gps
    assert info.byte_count == len(data) and info.way is None and info.quality is None
    path = tmp_path / "picture.jpg"
    path.write_bytes(data)
    assert wherry.Image(path).info.byte_count == len(data)
    assert wherry.Image(recipe(9, 5, 4)).info.has_alpha
    with pytest.raises(wherry.ImageError):
        wherry.Image(b"text, no picture").info
    with pytest.raises(wherry.FileError):
        wherry.Image(tmp_path / "missing.jpg")


def test_U19_an_image_is_compressed_and_reports_how(tmp_path: Any) -> None:
    image = wherry.Image(jpeg(640, 480))

    half = image.compress(0.5)
    assert half.info.quality == 50 and half.info.way == "recoded"
    assert half.info.original_bytes == image.info.byte_count
    little = image.compress(0.5, max_width=160, optimize=False)
    assert opened(little.content).size == (160, 120) and little.info.way == "streamed"
    least = image.compress(wherry.Compression(max_bytes=3000))
    assert len(least.content) <= 3000
    assert image.compress().content == image.content
    least.save(tmp_path / "least.jpg")
    assert (tmp_path / "least.jpg").read_bytes() == least.content
    for unencoded in (wherry.Image(tmp_path / "least.jpg"), wherry.Image(recipe(9, 5, 4))):
        with pytest.raises(wherry.ArgumentError, match="compress"):
            unencoded.save(tmp_path / "empty.jpg")
    assert not (tmp_path / "empty.jpg").exists()
    with pytest.raises(TypeError):
        image.compress(wherry.Compression(0.5), max_width=3)
    with pytest.raises(wherry.ArgumentError):
        image.compress(0.5, max_width=-1)


def test_U7_compress_produces_the_same_bytes_as_an_upload(server: Server, client: wherry.Client) -> None:
    image = wherry.Image(jpeg(300, 200), name="beach.jpg")
    made = image.compress(0.4)

    answer = client.upload(server.url("/echo"), [image, ("other.jpg", image)], quality=0.4)

    parts = answer.json()["parts"]
    assert [part["filename"] for part in parts] == ["beach.jpg", "other.jpg"]
    assert {part["sha256"] for part in parts} == {hashlib.sha256(made.content).hexdigest()}


def test_U8_arrays_are_read_in_place() -> None:
    numpy = pytest.importorskip("numpy")
    array = numpy.asarray(recipe(40, 30, 3)).copy()
    image = wherry.Image(array)
    before = image.compress(1, format="png").content
    array[:] = 255 - array  # A copy would not see this change.

    after = image.compress(1, format="png").content

    assert numpy.array_equal(numpy.asarray(opened(after)), array)
    assert numpy.array_equal(numpy.asarray(opened(before)), 255 - array)


def test_U8_slices_and_flipped_arrays_are_read_as_the_images_they_show() -> None:
    numpy = pytest.importorskip("numpy")
    array = numpy.asarray(recipe(40, 30, 3))
    for part in (
        array[5:20, 10:30], array[::-1], array[:, ::-1], array[::2, ::2], array[:, :, 1],
        array[:, :, ::-1], array.transpose(1, 0, 2), array[:, :, :1],
    ):  # fmt: skip
        made = numpy.asarray(opened(wherry.Image(part).compress(1, format="png").content))
        assert numpy.array_equal(made, part.squeeze())


def test_U8_a_borrowed_array_is_released_with_its_image() -> None:
    data = bytearray(40 * 30 * 3)
    view = memoryview(data).cast("B", (30, 40, 3))
    image = wherry.Image(view)
    with pytest.raises(BufferError):
        data.append(1)
    image.compress(0.5)
    del image
    gc.collect()
    view.release()

    data.append(1)


def test_U8_threads_compress_at_the_same_time_with_equal_results() -> None:
    image = wherry.Image(jpeg(640, 480))
    found: List[bytes] = []
    threads = [threading.Thread(target=lambda: found.append(image.compress(0.5).content)) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert len(found) == 8 and len(set(found)) == 1


@pytest.mark.parametrize("case", cases("picture-colours.json"), ids=lambda case: str(case["name"]))
def test_U8_SEC_R10_every_kind_of_image_has_the_same_colors_as_in_another_program(
    case: Dict[str, Any],
) -> None:
    options = {name: case[name] for name in ("format", "background", "animated") if name in case}
    image = wherry.Image(base64.b64decode(case["file"])).compress(1, subsampling=444, **options)
    made = opened(image.content)

    assert list(made.size) == case["size"]
    assert image.info.components == case["components"]
    wanted = base64.b64decode(case["rgba"])
    worst = max(abs(a - b) for a, b in zip(made.convert("RGBA").tobytes(), wanted))
    assert worst <= case["tolerance"]


def chunk(kind: bytes, data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))


def test_U20_SEC_R12_a_color_profile_is_kept_and_locations_are_removed() -> None:
    from PIL import ImageCms

    profile = ImageCms.ImageCmsProfile(ImageCms.createProfile("sRGB")).tobytes()
    exif = Pillow.Exif()
    exif[0x0112] = 6
    exif.get_ifd(0x8825)[1] = "N"
    data = jpeg(icc_profile=profile, exif=exif)
    info = wherry.Image(data).info
    assert info.has_icc and info.has_exif and info.has_gps and info.orientation == 6
    assert info.upright_size == (80, 120)

    made = wherry.Image(data).compress(0.5)

    assert opened(made.content).info["icc_profile"] == profile
    assert made.info.upright_size == (80, 120) and made.info.orientation == 1
    assert not made.info.has_exif
    kept = wherry.Image(data).compress(0.5, metadata="all", keep_orientation=True)
    assert kept.info.has_gps and kept.info.orientation == 6
    assert not wherry.Image(data).compress(0.5, metadata="none").info.has_icc


def test_SEC_R10_a_text_that_decompresses_to_gigabytes_is_not_decompressed() -> None:
    bomb = zlib.compressobj(9)
    text = b"".join(bomb.compress(bytes(1 << 20)) for _ in range(64)) + bomb.flush()
    file = io.BytesIO()
    Pillow.frombytes("RGB", (13, 9), recipe(13, 9, 3).tobytes()).save(file, "PNG")
    plain = file.getvalue()
    bombs = chunk(b"zTXt", b"Comment\0\0" + text) + chunk(b"iTXt", b"XML:com.adobe.xmp\0\1\0\0\0" + text)
    data = plain[:33] + bombs + plain[33:]

    assert len(wherry.Image(data).compress(1).content) < 1000
    assert len(wherry.Image(data).compress(0.5, format="jpeg", metadata="all").content) < 2000


@pytest.mark.parametrize("orientation", range(1, 9))
def test_U20_SEC_R12_every_orientation_becomes_upright(orientation: int) -> None:
    from PIL import ImageOps

    exif = Pillow.Exif()
    exif[0x0112] = orientation
    exif.get_ifd(0x8825)[1] = "N"
    data = jpeg(96, 64, exif=exif, subsampling=0)
    wanted = ImageOps.exif_transpose(opened(data)).convert("RGB")

    for quality in (1, 0.95):
        made = wherry.Image(data).compress(quality, subsampling=444)
        assert made.info.orientation == 1 and not made.info.has_gps and not made.info.has_exif
        seen = opened(made.content)
        assert seen.size == wanted.size
        worst = max(abs(a - b) for a, b in zip(seen.tobytes(), wanted.tobytes()))
        assert worst <= (4 if quality == 1 else 16)


def test_U19_a_12_megapixel_photo_is_compressed_to_200_KB_and_1280_pixels() -> None:
    noise = Pillow.effect_noise((400, 300), 40).convert("RGB").resize((4000, 3000))
    file = io.BytesIO()
    noise.save(file, "JPEG", quality=95)
    assert file.tell() > 500_000

    made = wherry.Image(file.getvalue()).compress(max_width=1280, max_height=1280, max_bytes=200_000)

    assert len(made.content) <= 200_000 and opened(made.content).size == (1280, 960)


def test_U21_SEC_R9_a_100_megapixel_JPEG_takes_a_few_rows_of_memory_and_no_extra_time(
    tmp_path: Any,
) -> None:
    path = tmp_path / "large.jpg"
    Pillow.linear_gradient("L").resize((10_000, 10_000), 0).save(path, "JPEG", quality=80)
    before = f"client = wherry.Client(); wherry.Image({jpeg()!r}).compress(0.3)"

    used = most_memory(before, f"assert wherry.Image({str(path)!r}).compress(0.3).info.width == 10_000")

    assert used < 60 << 20
    with pytest.raises(wherry.ImageError) as caught:
        wherry.Image(path).compress(0.3, max_pixels=99_999_999)
    assert caught.value.reason == "image_too_large"
    with pytest.raises(wherry.ImageError, match="The deadline for this image has passed") as caught:
        wherry.Image(path).compress(0.3, deadline=0.001)
    assert caught.value.reason == "image_too_large"
    for wrong in (0, -1, float("nan")):
        with pytest.raises(wherry.ArgumentError, match="deadline= must be more than 0"):
            wherry.Compression(deadline=wrong)
    with pytest.raises(TypeError, match="deadline= must be a number of seconds, not '1'"):
        wherry.Compression(deadline="1")  # type: ignore[arg-type]


def test_SEC_R11_randomly_changed_bytes_give_an_image_or_an_error() -> None:
    """libjpeg and libpng report errors with longjmp, which must not cross a Swift frame."""
    file = io.BytesIO()
    opened(jpeg(24, 17)).save(file, "PNG")
    sources = [jpeg(24, 17), jpeg(24, 17, progressive=True), file.getvalue()]
    random = Random(7)
    sound = 0
    for number in range(1500):
        data = bytearray(sources[number % 3])
        for _ in range(1 + number % 8):
            data[random.randrange(len(data))] = random.randrange(256)
        try:
            wherry.Image(bytes(data)).compress(
                0.5 if number % 2 else 1, max_width=9 if number % 5 == 0 else None, max_pixels=1 << 20
            )
            sound += 1
        except wherry.ImageError:
            pass
    assert 0 < sound < 1500


def test_U20_a_cmyk_jpeg_without_an_adobe_marker_is_turned_with_its_colors() -> None:
    file = io.BytesIO()
    Pillow.merge("CMYK", [Pillow.linear_gradient("L").resize((64, 64)) for _ in range(4)]).save(
        file, "JPEG", quality=95
    )
    data = file.getvalue()
    place = data.index(b"\xff\xee")
    size = int.from_bytes(data[place + 2 : place + 4], "big") + 2
    turned = data[:place] + data[place + size :]
    exif = Pillow.Exif()
    exif[0x0112] = 6
    block = b"Exif\0\0" + exif.tobytes().removeprefix(b"Exif\0\0")
    turned = turned[:2] + b"\xff\xe1" + (len(block) + 2).to_bytes(2, "big") + block + turned[2:]

    image = wherry.Image(turned)
    result = image.compress()

    assert image.info.orientation == 6 and result.info.orientation == 1
    assert result.compare(image).psnr > 40


def test_U20_a_jpeg_whose_coefficients_need_more_memory_than_its_pixels_is_turned() -> None:
    exif = Pillow.Exif()
    exif[0x0112] = 6
    file = io.BytesIO()
    Pillow.linear_gradient("L").resize((1200, 800)).convert("RGB").save(file, "JPEG", quality=90, exif=exif)
    result = wherry.Image(file.getvalue()).compress(max_memory_bytes=5_000_000)
    assert result.info.upright_size == (800, 1200) and result.info.orientation == 1
