# Wherry: pictures looked at and made smaller without an upload
# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import gc
import hashlib
import io
import struct
import subprocess
import sys
import threading
import zlib
from typing import Any, Dict, Iterator, List, Tuple

import pytest
from conftest import Server
from test_scenarios import cases

import wherry

Pillow = pytest.importorskip("PIL.Image")


def recipe(width: int, height: int, channels: int) -> memoryview:
    """The raw picture of pictures.json."""
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
def test_SEC_R8_SEC_R9_bad_pictures_are_refused_each_for_its_reason(case: Dict[str, Any]) -> None:
    with pytest.raises(wherry.ImageError) as caught:
        wherry.Image(bytes_of(case)).compress(0.5, format="jpeg")

    assert caught.value.reason == case["reason"]


def test_SEC_R8_bad_pictures_cost_no_memory_and_print_nothing() -> None:
    """Each in a process that can have 16 MiB more than it had when all was loaded."""
    program = """
import resource, sys
sys.path[:0] = sys.argv[1:]
import wherry
from test_images import bytes_of, cases, jpeg
wherry.Image(jpeg()).compress(0.5)  # Loads the library and its codecs.
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
    done = subprocess.run(
        [sys.executable, "-c", program, *sys.path], capture_output=True, timeout=600
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")


def test_U18_a_picture_tells_what_it_is(tmp_path: Any) -> None:
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


def test_U19_a_picture_is_made_smaller_and_tells_how(tmp_path: Any) -> None:
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
    with pytest.raises(TypeError):
        image.compress(wherry.Compression(0.5), max_width=3)
    with pytest.raises(wherry.ArgumentError):
        image.compress(0.5, max_width=-1)


def test_U7_what_compress_gives_is_what_an_upload_sends(
    server: Server, client: wherry.Client
) -> None:
    image = wherry.Image(jpeg(300, 200), name="beach.jpg")
    made = image.compress(0.4)

    answer = client.upload(server.url("/echo"), [image, ("other.jpg", image)], quality=0.4)

    parts = answer.json()["parts"]
    assert [part["filename"] for part in parts] == ["beach.jpg", "other.jpg"]
    assert {part["sha256"] for part in parts} == {hashlib.sha256(made.content).hexdigest()}


def test_U8_arrays_are_read_where_they_lie() -> None:
    numpy = pytest.importorskip("numpy")
    array = numpy.asarray(recipe(40, 30, 3)).copy()
    image = wherry.Image(array)
    before = image.compress(1, format="png").content
    array[:] = 255 - array  # A copy would not see this.

    after = image.compress(1, format="png").content

    assert numpy.array_equal(numpy.asarray(opened(after)), array)
    assert numpy.array_equal(numpy.asarray(opened(before)), 255 - array)


def test_U8_slices_and_flipped_arrays_are_the_pictures_they_show() -> None:
    numpy = pytest.importorskip("numpy")
    array = numpy.asarray(recipe(40, 30, 3))
    for part in (
        array[5:20, 10:30], array[::-1], array[:, ::-1], array[::2, ::2], array[:, :, 1],
        array[:, :, ::-1], array.transpose(1, 0, 2), array[:, :, :1],
    ):  # fmt: skip
        made = numpy.asarray(opened(wherry.Image(part).compress(1, format="png").content))
        assert numpy.array_equal(made, part.squeeze())


def test_U8_a_lent_array_is_let_go_of_with_its_image() -> None:
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


def test_U8_threads_compress_at_once_and_agree() -> None:
    image = wherry.Image(jpeg(640, 480))
    found: List[bytes] = []
    threads = [
        threading.Thread(target=lambda: found.append(image.compress(0.5).content))
        for _ in range(8)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert len(found) == 8 and len(set(found)) == 1


# What PNG can be, beside what Pillow makes of it.


def chunk(kind: bytes, data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))


def samples(width: int, height: int, bits: int, count: int) -> List[List[int]]:
    top = (1 << bits) - 1
    return [
        [(x * 7 + y * 13 + c * 5) * (257 if bits == 16 else 1) & top for x in range(width) for c in range(count)]
        for y in range(height)
    ]


def packed(row: List[int], bits: int) -> bytes:
    number = 0
    for value in row:
        number = number << bits | value
    spare = -len(row) * bits % 8
    return (number << spare).to_bytes((len(row) * bits + 7) // 8, "big") if row else b""


ADAM7 = [(0, 0, 8, 8), (4, 0, 8, 8), (0, 4, 4, 8), (2, 0, 4, 4), (0, 2, 2, 4), (1, 0, 2, 2), (0, 1, 1, 2)]


def png(colour: int, bits: int, interlaced: bool, *extra: bytes) -> bytes:
    width, height = 13, 9
    count = {0: 1, 2: 3, 3: 1, 4: 2, 6: 4}[colour]
    rows = samples(width, height, bits, count)
    data = b""
    for left, top, across, down in ADAM7 if interlaced else [(0, 0, 1, 1)]:
        for y in range(top, height, down):
            row = [v for x in range(left, width, across) for v in rows[y][x * count : (x + 1) * count]]
            if row:
                data += b"\0" + packed(row, bits)
    head = struct.pack(">IIBBBBB", width, height, bits, colour, 0, 0, int(interlaced))
    return (
        b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", head) + b"".join(extra)
        + chunk(b"IDAT", zlib.compress(data)) + chunk(b"IEND", b"")
    )  # fmt: skip


def kinds() -> Iterator[Tuple[str, bytes, str]]:
    """Name, file, and the mode in which Pillow has to see it."""
    for interlaced in (False, True):
        how = " interlaced" if interlaced else ""
        for bits in (1, 2, 4, 8, 16):
            yield f"gray {bits}{how}", png(0, bits, interlaced), "L"
        for bits in (8, 16):
            yield f"colours {bits}{how}", png(2, bits, interlaced), "RGB"
            yield f"gray with alpha {bits}{how}", png(4, bits, interlaced), "RGBA"
            yield f"colours with alpha {bits}{how}", png(6, bits, interlaced), "RGBA"
        for bits in (1, 2, 4, 8):
            table = bytes(n * 11 & 255 for n in range(3 << bits))
            palette = chunk(b"PLTE", table)
            yield f"palette {bits}{how}", png(3, bits, interlaced, palette), "RGB"
            clear = chunk(b"tRNS", bytes([0, 128][: 1 << bits]))
            yield f"clear palette {bits}{how}", png(3, bits, interlaced, palette, clear), "RGBA"
    yield "a clear gray", png(0, 8, False, chunk(b"tRNS", b"\0\7")), "RGBA"
    yield "a clear colour", png(2, 8, False, chunk(b"tRNS", b"\0\7\0\x0c\0\x11")), "RGBA"


@pytest.mark.parametrize("name, data, mode", list(kinds()), ids=lambda value: value if isinstance(value, str) else "")
def test_U8_every_kind_of_png_has_the_colours_that_pillow_sees(name: str, data: bytes, mode: str) -> None:
    # Lying on its head, so that it has to be decoded and does not go as it came.
    exif = b"MM\0*\0\0\0\x08\0\1\1\x12\0\3\0\0\0\1\0\3\0\0\0\0\0\0"
    made = opened(wherry.Image(data[:33] + chunk(b"eXIf", exif) + data[33:]).compress().content)
    theirs = opened(data)
    if theirs.mode.startswith("I"):  # 16 bits, which Pillow cuts at 255 when asked for 8.
        wide = memoryview(theirs.convert("I").tobytes()).cast("i")
        theirs = Pillow.frombytes("L", theirs.size, bytes((v * 255 + 32895) >> 16 for v in wide))
    wanted = theirs.convert(mode).transpose(Pillow.Transpose.ROTATE_180)

    assert made.mode == mode
    assert made.tobytes() == wanted.tobytes()


@pytest.mark.parametrize("mode", ["L", "RGB", "CMYK"])
@pytest.mark.parametrize("progressive", [False, True])
def test_U8_every_kind_of_jpeg_has_the_colours_that_pillow_sees(mode: str, progressive: bool) -> None:
    source = Pillow.frombytes("RGB", (64, 48), recipe(64, 48, 3).tobytes()).convert(mode)
    file = io.BytesIO()
    source.save(file, "JPEG", quality=95, progressive=progressive)
    theirs = opened(file.getvalue()).convert("L" if mode == "L" else "RGB").tobytes()

    made = opened(wherry.Image(file.getvalue()).compress(1, format="png").content)
    ours = made.convert("L" if mode == "L" else "RGB").tobytes()

    assert max(abs(a - b) for a, b in zip(ours, theirs)) <= (2 if mode == "CMYK" else 0)


def test_U20_SEC_R12_a_colour_profile_stays_and_places_go() -> None:
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


def test_SEC_R10_a_text_that_inflates_to_gigabytes_is_not_inflated() -> None:
    bomb = zlib.compressobj(9)
    text = b"".join(bomb.compress(bytes(1 << 20)) for _ in range(64)) + bomb.flush()
    data = png(2, 8, False, chunk(b"zTXt", b"Comment\0\0" + text), chunk(b"iTXt", b"XML:com.adobe.xmp\0\1\0\0\0" + text))

    assert len(wherry.Image(data).compress(1).content) < 1000
    assert len(wherry.Image(data).compress(0.5, format="jpeg", metadata="all").content) < 2000
