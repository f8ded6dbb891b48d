# Wherry: image uploads, by row
# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import asyncio
import hashlib
import struct
import zlib
from typing import Any, Dict, List, Tuple

import pytest
from conftest import Server, most_memory

import wherry
from wherry._core.calls import check, create
from wherry._native import codes
from wherry._native.library import lib


def png(width: int, height: int, seed: int = 1) -> bytes:
    """An image of noise, which does not compress."""
    rows, state = b"", seed
    for _ in range(height):
        row = bytearray(b"\0")
        for _ in range(width * 3):
            state = (state * 1103515245 + 12345) & 0x7FFFFFFF
            row.append(state >> 16 & 0xFF)
        rows += bytes(row)

    def chunk(kind: bytes, data: bytes) -> bytes:
        body = kind + data
        return struct.pack(">I", len(data)) + body + struct.pack(">I", zlib.crc32(body))

    head = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", head) + chunk(b"IDAT", zlib.compress(rows)) + chunk(b"IEND", b"")


def pixels(width: int, height: int) -> bytes:
    """RGB, a gradient."""
    places = [(x, y) for y in range(height) for x in range(width)]
    return bytes((x * 7 + y * 3 + c * 50) & 0xFF for x, y in places for c in range(3))


def unpacked(data: bytes) -> Tuple[int, int, int, bytes]:
    """Width, height, channels, and pixels of a PNG with 8 bits per channel."""
    at, packed = 8, b""
    width = height = kind = 0
    while at < len(data):
        (length,) = struct.unpack(">I", data[at : at + 4])
        name, chunk = data[at + 4 : at + 8], data[at + 8 : at + 8 + length]
        if name == b"IHDR":
            width, height, depth, kind = struct.unpack(">IIBB", chunk[:10])
            assert depth == 8
        elif name == b"IDAT":
            packed += chunk
        at += length + 12
    channels = {0: 1, 2: 3, 6: 4}[kind]
    lines, stride = zlib.decompress(packed), width * channels
    rows, above = b"", bytes(stride)
    for start in range(0, len(lines), stride + 1):
        row = bytearray(lines[start + 1 : start + 1 + stride])
        for place in range(stride):
            left = row[place - channels] if place >= channels else 0
            corner = above[place - channels] if place >= channels else 0
            up = above[place]
            paeth = min((left, up, corner), key=lambda near: abs(left + up - corner - near))
            row[place] = (row[place] + (0, left, up, (left + up) // 2, paeth)[lines[start]]) & 255
        rows, above = rows + bytes(row), bytes(row)
    return width, height, channels, rows


def part(mock: wherry.MockTransport, picture: Any, **options: Any) -> Tuple[str, bytes]:
    """The type and bytes of the single part that contains the image."""
    mock.add(None, "*")
    with wherry.Client(transport=mock) as client:
        client.upload("http://h/", [picture], **options)
    head, _, rest = mock.requests[-1].content.partition(b"\r\n\r\n")
    return head.rpartition(b"Content-Type: ")[2].decode(), rest[: rest.rindex(b"\r\n--")]


def jpeg(mock: wherry.MockTransport, quality: float = 0.9) -> bytes:
    """An image as Wherry's own encoder writes it."""
    raw = memoryview(pixels(40, 30)).cast("B", (30, 40, 3))
    kind, data = part(mock, raw, compression=wherry.Compression(quality, type="jpg"))
    assert kind == "image/jpeg" and data.startswith(b"\xff\xd8\xff")
    return data


def sent(answer: wherry.Response) -> List[Dict[str, Any]]:
    return [part for part in answer.json()["parts"] if part["filename"] is not None]


def test_U1_one_image_or_many_make_one_form(server: Server, client: wherry.Client) -> None:
    one = sent(client.upload(server.url("/echo"), png(8, 8), name="color"))
    many = sent(client.upload(server.url("/echo"), [png(8, 8, n) for n in range(1, 4)]))

    assert [part["name"] for part in one] == ["color0"]
    assert len(many) == 3
    entry = server.log()[0]
    kind = [v for n, v in entry["headers"] if n.lower() == "content-type"][0]
    assert entry["method"] == "POST" and kind.startswith("multipart/form-data; boundary=")


def test_U2_no_images_is_an_error_at_once(server: Server, client: wherry.Client) -> None:
    with pytest.raises(wherry.ArgumentError) as caught:
        client.upload(server.url("/echo"), [])
    assert caught.value.reason == "no_images"
    assert server.log() == []


def test_U3_names_count_from_zero_in_order(server: Server, client: wherry.Client) -> None:
    pictures = [png(4, 4, n) for n in range(1, 5)]
    parts = sent(client.upload(server.url("/echo"), pictures, name="color"))
    with wherry.Client(image_names="repeat") as other:
        repeated = sent(other.upload(server.url("/echo"), pictures, name="color"))

    assert [part["name"] for part in parts] == ["color0", "color1", "color2", "color3"]
    assert [part["sha256"] for part in parts] == [hashlib.sha256(p).hexdigest() for p in pictures]
    assert [part["name"] for part in repeated] == ["color"] * 4


def test_U4_file_names_differ_or_are_set_by_the_caller(
    server: Server,
    client: wherry.Client,
) -> None:
    parts = sent(client.upload(server.url("/echo"), [png(2, 2)] * 50))
    named = sent(client.upload(server.url("/echo"), [("my own.png", png(2, 2))]))
    single = sent(client.upload(server.url("/echo"), ("single.png", png(2, 2))))

    assert len({part["filename"] for part in parts}) == 50
    assert [part["filename"] for part in named] == ["my own.png"]
    assert [part["filename"] for part in single] == ["single.png"]


@pytest.mark.parametrize(
    ("word", "extension", "kind"),
    [
        ("png", "png", "image/png"),
        ("PNG", "png", "image/png"),
        ("jpg", "jpg", "image/jpeg"),
        ("JPG", "jpg", "image/jpeg"),
        ("jpeg", "jpg", "image/jpeg"),
        ("JPEG", "jpg", "image/jpeg"),
        ("bmp", "jpg", "image/jpeg"),
    ],
)
def test_U5_the_type_keeps_its_traditional_spelling(
    server: Server, client: wherry.Client, word: str, extension: str, kind: str
) -> None:
    small = wherry.Compression(type=word)
    (part,) = sent(client.upload(server.url("/echo"), png(8, 8), compression=small))

    assert part["type"] == kind
    assert part["filename"].rpartition(".")[2] == extension


@pytest.mark.parametrize("kind", ["image/jpeg", "image/jpg"])
def test_U5_old_servers_get_image_jpg_for_JPEG(server: Server, mock: wherry.MockTransport, kind: str) -> None:
    picture = jpeg(mock)
    as_jpeg = wherry.Compression(type="jpg")
    with wherry.Client(jpeg_type=kind) as client:
        (new,) = sent(client.upload(server.url("/echo"), png(8, 8), compression=as_jpeg))
        (as_it_was,) = sent(client.upload(server.url("/echo"), picture))
        (other,) = sent(client.upload(server.url("/echo"), png(8, 8)))
    assert (new["type"], as_it_was["type"], other["type"]) == (kind, kind, "image/png")
    assert as_it_was["filename"].endswith(".jpg")


@pytest.mark.parametrize("quality", [1, 0.99, 0.5, 0.01, 0, 7, -1])
def test_U6_PNG_pixels_are_the_same_at_any_quality(mock: wherry.MockTransport, quality: float) -> None:
    raw = pixels(20, 10)
    as_png = wherry.Compression(quality, type="png", never_larger=False)
    given = png(16, 12)
    for picture, expected in (
        (memoryview(raw).cast("B", (10, 20, 3)), (20, 10, 3, raw)),
        (given, unpacked(given)),
    ):
        kind, data = part(mock, picture, compression=as_png)
        assert kind == "image/png" and unpacked(data) == expected


def test_U6_quality_makes_JPEGs_smaller_and_odd_values_become_one(server: Server, client: wherry.Client) -> None:
    def size(quality: float) -> int:
        small = wherry.Compression(quality, type="jpg")
        (part,) = sent(client.upload(server.url("/echo"), png(64, 64), compression=small))
        return int(part["size"])

    whole = size(1)
    assert size(0.5) < whole
    assert size(7) == whole and size(-1) == whole


def test_U7_an_original_that_fits_is_sent_unchanged(server: Server, client: wherry.Client, tmp_path: Any) -> None:
    picture = png(16, 16)
    path = tmp_path / "picture.png"
    path.write_bytes(picture)

    for given in (picture, bytearray(picture), memoryview(picture), str(path), path):
        (told,) = sent(client.upload(server.url("/echo"), [given]))
        assert told["sha256"] == hashlib.sha256(picture).hexdigest()


def test_U7_a_JPEG_that_fits_is_sent_unchanged_and_compressed_only_on_request(
    mock: wherry.MockTransport, tmp_path: Any
) -> None:
    picture = jpeg(mock)
    path = tmp_path / "picture.jpg"
    path.write_bytes(picture)

    for given in (picture, path):
        assert part(mock, given) == ("image/jpeg", picture)
        as_jpeg = wherry.Compression(1, type="jpg")
        assert part(mock, given, compression=as_jpeg) == ("image/jpeg", picture)
        kind, small = part(mock, given, quality=0.2)
        assert kind == "image/jpeg" and len(small) < len(picture)
        assert part(mock, given, compression=wherry.Compression(1, type="png"))[0] == "image/png"


class Pillow:
    """The attributes by which the binding recognizes a Pillow image."""

    def __init__(self, mode: str, size: Tuple[int, int], data: bytes) -> None:
        self.mode, self.size, self._data = mode, size, data
        self.info: Dict[str, Any] = {}

    def tobytes(self) -> bytes:
        return self._data

    def convert(self, mode: str) -> "Pillow":
        assert self.mode == "CMYK" and mode == "RGB"
        return Pillow("RGB", self.size, pixels(*self.size))


def test_U8_an_image_is_the_same_from_every_source(server: Server, client: wherry.Client) -> None:
    raw = pixels(20, 10)
    as_png = wherry.Compression(type="png")
    roads: List[Any] = [
        memoryview(raw).cast("B", (10, 20, 3)),
        Pillow("RGB", (20, 10), raw),
        Pillow("CMYK", (20, 10), b""),
    ]
    try:
        import numpy
    except ImportError:
        pass
    else:
        array = numpy.frombuffer(raw, dtype=numpy.uint8).reshape(10, 20, 3)
        roads += [array, numpy.pad(array, ((0, 0), (0, 4), (0, 0)))[:, :20]]

    digests = set()
    for road in roads:
        (part,) = sent(client.upload(server.url("/echo"), [road], compression=as_png))
        digests.add((part["sha256"], part["type"]))

    assert len(digests) == 1


def test_U8_a_path_bytes_and_pixels_give_the_same_image(mock: wherry.MockTransport, tmp_path: Any) -> None:
    raw = pixels(20, 10)
    array = memoryview(raw).cast("B", (10, 20, 3))
    as_png = wherry.Compression(type="png")
    _, packed = part(mock, array, compression=as_png)
    assert unpacked(packed) == (20, 10, 3, raw)
    path = tmp_path / "picture.png"
    path.write_bytes(packed)
    small = wherry.Compression(0.5, type="jpg", max_width=10)

    roads = [part(mock, road, compression=small) for road in (array, packed, path, str(path))]

    assert len(set(roads)) == 1 and roads[0][0] == "image/jpeg"


@pytest.mark.parametrize("channels", [1, 3, 4])
def test_U8_pixels_of_each_format_arrive_unchanged(mock: wherry.MockTransport, channels: int) -> None:
    width, height = 9, 5
    raw = bytes(n * 37 & 255 for n in range(width * height * channels))
    shape = (height, width) if channels == 1 else (height, width, channels)
    as_png = wherry.Compression(type="png")

    _, data = part(mock, memoryview(raw).cast("B", shape), compression=as_png)

    assert unpacked(data) == (width, height, channels, raw)


@pytest.mark.parametrize("form", [codes.PIXELS_GRAY8, codes.PIXELS_RGB8, codes.PIXELS_RGBA8, 4])
def test_U8_rows_may_have_padding_and_BGR_order(form: int) -> None:
    """What arrays cannot express is passed to the library."""
    channels = {codes.PIXELS_GRAY8: 1, codes.PIXELS_RGB8: 3}.get(form, 4)
    width, height, stride = 7, 4, 7 * channels + 5
    rows = [bytes((y * 50 + n * 11) & 255 for n in range(width * channels)) for y in range(height)]
    padded = b"".join(row + b"\xaa" * 5 for row in rows)
    with wherry.MockTransport() as mock:
        mock.add(None, "*")
        with wherry.Client(transport=mock) as client:
            request = create(lib.wherry_request_new, b"POST", b"http://h/")
            image = create(lib.wherry_image_new_pixels, padded, len(padded), form, width, height, stride)
            shape = create(lib.wherry_compression_new, 1.0)
            check(lib.wherry_compression_set_type(shape, b"png"))
            check(lib.wherry_request_add_image(request, b"a", image, shape))
            response = create(lib.wherry_client_perform, client._handle, request)
            check(lib.wherry_response_free(response))
            check(lib.wherry_request_free(request))
            check(lib.wherry_image_free(image))
            check(lib.wherry_compression_free(shape))
        data = mock.requests[0].content
    begin, end = data.index(b"\x89PNG"), data.index(b"IEND") + 8
    expected = b"".join(rows)
    if form == 4:
        expected = b"".join(expected[n : n + 4][2::-1] + expected[n + 3 : n + 4] for n in range(0, len(expected), 4))
    assert unpacked(data[begin:end]) == (width, height, channels, expected)


def test_U8_a_real_pillow_image_is_accepted(server: Server, client: wherry.Client) -> None:
    images = pytest.importorskip("PIL.Image")
    raw = pixels(20, 10)
    as_png = wherry.Compression(type="png")
    pictures = [
        images.frombytes("RGB", (20, 10), raw),
        images.frombytes("RGB", (20, 10), raw).convert("RGBA"),
        images.frombytes("RGB", (20, 10), raw).convert("P"),
        images.frombytes("RGB", (20, 10), raw).convert("L"),
    ]

    parts = sent(client.upload(server.url("/echo"), pictures, compression=as_png))

    assert [part["type"] for part in parts] == ["image/png"] * 4
    (by_hand,) = sent(client.upload(server.url("/echo"), [memoryview(raw).cast("B", (10, 20, 3))], compression=as_png))
    assert parts[0]["sha256"] == by_hand["sha256"]


@pytest.mark.parametrize("picture", [memoryview(bytes(24)).cast("B", (2, 2, 2, 3)), memoryview(bytes(32)).cast("f")])
def test_U8_an_invalid_array_is_refused(client: wherry.Client, picture: Any) -> None:
    with pytest.raises(wherry.ArgumentError):
        client.upload("http://127.0.0.1:1/", [picture])


def test_U8_only_a_file_that_is_not_an_image_fails(server: Server, client: wherry.Client) -> None:
    small = wherry.Compression(0.5, type="jpg")
    with pytest.raises(wherry.WherryError) as caught:
        client.upload(server.url("/echo"), [png(4, 4), b"not a picture"], compression=small)

    assert isinstance(caught.value, wherry.ImageError)
    assert 1 in [failed.index for failed in caught.value.failed_images]


def test_U9_fields_accompany_the_images(server: Server) -> None:
    with wherry.Client(parameters={"app": "demo"}) as client:
        answer = client.upload(
            server.url("/echo"), png(4, 4),
            fields={"title": "Grüße", "nested": {"a": [1]}, "empty": None, "raw": b"\x01\x02"},
        )  # fmt: skip

    plain = {p["name"]: p["text"] for p in answer.json()["parts"] if p["filename"] is None}
    assert plain["title"] == "Grüße" and plain["app"] == "demo"
    assert plain["nested[a][]"] == "1" and plain["empty"] == "" and plain["raw"] == "\x01\x02"


def test_U10_progress_ends_at_the_total(server: Server, client: wherry.Client) -> None:
    seen: List[wherry.Progress] = []

    client.upload(server.url("/sink"), [png(60, 60, n) for n in (1, 2, 3)], progress=seen.append)

    done = [p.done_bytes for p in seen]
    assert done == sorted(done)
    assert seen[-1].done_bytes == seen[-1].total_bytes and seen[-1].fraction == 1.0


def test_U11_a_failed_upload_lists_every_image(server: Server, client: wherry.Client) -> None:
    answer = client.upload(server.url("/sink", status=500), [png(4, 4), png(4, 4)])

    assert answer.status_code == 500
    assert [failed.index for failed in answer.failed_images] == [0, 1]
    with pytest.raises(wherry.HTTPStatusError) as caught:
        answer.raise_for_status()
    assert len(caught.value.failed_images) == 2


@pytest.mark.parametrize("route", ["/sink?status=500", "/sink?reset_body=0"])
def test_U11_asyncio_lists_every_image_too(server: Server, route: str) -> None:
    async def main() -> Any:
        async with wherry.AsyncClient() as client:
            try:
                answer = await client.upload(server.url(route), [png(4, 4), png(5, 5)])
            except wherry.NetworkError as error:
                return error
            assert answer.status_code == 500
            with pytest.raises(wherry.HTTPStatusError) as caught:
                answer.raise_for_status()
            assert caught.value.failed_images == answer.failed_images
            return answer

    ended = asyncio.run(main())
    assert [failed.index for failed in ended.failed_images] == [0, 1]
    assert isinstance(ended, wherry.NetworkError) == ("reset" in route)


def test_U11_an_upload_with_a_network_failure_lists_every_image(server: Server, client: wherry.Client) -> None:
    with pytest.raises(wherry.NetworkError) as caught:
        client.upload(server.url("/sink", reset_body=0), [png(4, 4), png(4, 4)])
    assert len(caught.value.failed_images) == 2


def test_U12_a_file_part_is_read_while_it_is_sent(server: Server, tmp_path: Any) -> None:
    path = tmp_path / "large"
    size = 256 << 20
    with open(path, "wb") as file:
        file.truncate(size)  # sparse: it takes no space on the disk
    before = f"""
import pathlib
client = wherry.Client()
def post(path):
    files = {{"f": pathlib.Path(path)}}
    return client.post({server.url("/sink")!r}, data={{"a": "b"}}, files=files).json()["bytes"]
post(wherry.__file__)
"""

    used = most_memory(before, f"assert {size} < post({str(path)!r}) < {size + 4096}")

    assert used < 8 << 20


def test_U12_a_missing_file_part_fails_before_connecting(server: Server, client: wherry.Client, tmp_path: Any) -> None:
    with pytest.raises((wherry.FileError, FileNotFoundError)):
        client.post(server.url("/sink"), files={"a": tmp_path / "none"})
    assert server.log() == []


def test_asyncio_uploads_images(server: Server) -> None:
    async def main() -> Tuple[int, List[float]]:
        seen: List[float] = []
        async with wherry.AsyncClient() as client:
            plain = await client.upload(server.url("/echo"), [png(8, 8)], fields={"a": "b"})
            await client.upload(server.url("/sink"), png(30, 30), progress=lambda p: seen.append(p.fraction or 0))
        return len(plain.json()["parts"]), seen

    parts, seen = asyncio.run(main())
    assert parts == 2 and seen[-1] == 1.0
