# Wherry: uploads of pictures, row by row
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


def png(width: int, height: int, seed: int = 1) -> bytes:
    """A picture of noise, which no coder makes small."""
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
    return (
        b"\x89PNG\r\n\x1a\n"
        + chunk(b"IHDR", head)
        + chunk(b"IDAT", zlib.compress(rows))
        + chunk(b"IEND", b"")
    )


def pixels(width: int, height: int) -> bytes:
    """RGB, a gradient."""
    places = [(x, y) for y in range(height) for x in range(width)]
    return bytes((x * 7 + y * 3 + c * 50) & 0xFF for x, y in places for c in range(3))


def sent(answer: wherry.Response) -> List[Dict[str, Any]]:
    return [part for part in answer.json()["parts"] if part["filename"] is not None]


def test_U1_one_picture_or_many_make_one_form(server: Server, client: wherry.Client) -> None:
    one = sent(client.upload(server.url("/echo"), png(8, 8), name="color"))
    many = sent(client.upload(server.url("/echo"), [png(8, 8, n) for n in range(1, 4)]))

    assert [part["name"] for part in one] == ["color0"]
    assert len(many) == 3
    entry = server.log()[0]
    kind = [v for n, v in entry["headers"] if n.lower() == "content-type"][0]
    assert entry["method"] == "POST" and kind.startswith("multipart/form-data; boundary=")


def test_U2_no_pictures_is_an_error_at_once(server: Server, client: wherry.Client) -> None:
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


def test_U4_file_names_differ_or_are_the_callers(server: Server, client: wherry.Client) -> None:
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
def test_U5_the_type_is_spelled_as_of_old(
    server: Server, client: wherry.Client, word: str, extension: str, kind: str
) -> None:
    small = wherry.Compression(type=word)
    (part,) = sent(client.upload(server.url("/echo"), png(8, 8), compression=small))

    assert part["type"] == kind
    assert part["filename"].rpartition(".")[2] == extension


def test_U6_quality_makes_jpegs_smaller_and_odd_values_are_one(
    server: Server, client: wherry.Client
) -> None:
    def size(quality: float) -> int:
        small = wherry.Compression(quality, type="jpg")
        (part,) = sent(client.upload(server.url("/echo"), png(64, 64), compression=small))
        return int(part["size"])

    whole = size(1)
    assert size(0.5) < whole
    assert size(7) == whole and size(-1) == whole


def test_U7_an_original_that_fits_is_sent_untouched(
    server: Server, client: wherry.Client, tmp_path: Any
) -> None:
    picture = png(16, 16)
    path = tmp_path / "picture.png"
    path.write_bytes(picture)

    for given in (picture, bytearray(picture), memoryview(picture), str(path), path):
        (part,) = sent(client.upload(server.url("/echo"), [given]))
        assert part["sha256"] == hashlib.sha256(picture).hexdigest()


class Pillow:
    """What the binding knows a Pillow image by."""

    def __init__(self, mode: str, size: Tuple[int, int], data: bytes) -> None:
        self.mode, self.size, self._data = mode, size, data
        self.info: Dict[str, Any] = {}

    def tobytes(self) -> bytes:
        return self._data

    def convert(self, mode: str) -> "Pillow":
        assert self.mode == "CMYK" and mode == "RGB"
        return Pillow("RGB", self.size, pixels(*self.size))


def test_U8_the_same_picture_by_any_road_is_the_same(
    server: Server, client: wherry.Client
) -> None:
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


def test_U8_a_real_pillow_image_is_a_picture(server: Server, client: wherry.Client) -> None:
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
    (by_hand,) = sent(
        client.upload(
            server.url("/echo"), [memoryview(raw).cast("B", (10, 20, 3))], compression=as_png
        )
    )
    assert parts[0]["sha256"] == by_hand["sha256"]


@pytest.mark.parametrize(
    "picture", [memoryview(bytes(24)).cast("B", (2, 2, 2, 3)), memoryview(bytes(32)).cast("f")]
)
def test_U8_an_array_that_is_no_picture_is_refused(client: wherry.Client, picture: Any) -> None:
    with pytest.raises(wherry.ArgumentError):
        client.upload("http://127.0.0.1:1/", [picture])


def test_U8_a_file_that_is_no_picture_fails_alone(
    server: Server, client: wherry.Client
) -> None:
    small = wherry.Compression(0.5, type="jpg")
    with pytest.raises(wherry.WherryError) as caught:
        client.upload(server.url("/echo"), [png(4, 4), b"not a picture"], compression=small)

    assert isinstance(caught.value, wherry.ImageError)
    assert 1 in [failed.index for failed in caught.value.failed_images]


def test_U9_fields_lie_beside_the_pictures(server: Server) -> None:
    with wherry.Client(parameters={"app": "demo"}) as client:
        answer = client.upload(
            server.url("/echo"), png(4, 4),
            fields={"title": "Grüße", "nested": {"a": [1]}, "empty": None, "raw": b"\x01\x02"},
        )  # fmt: skip

    plain = {p["name"]: p["text"] for p in answer.json()["parts"] if p["filename"] is None}
    assert plain["title"] == "Grüße" and plain["app"] == "demo"
    assert plain["nested[a][]"] == "1" and plain["empty"] == "" and plain["raw"] == "\x01\x02"


def test_U10_progress_ends_at_the_whole(server: Server, client: wherry.Client) -> None:
    seen: List[wherry.Progress] = []

    client.upload(server.url("/sink"), [png(60, 60, n) for n in (1, 2, 3)], progress=seen.append)

    done = [p.done_bytes for p in seen]
    assert done == sorted(done)
    assert seen[-1].done_bytes == seen[-1].total_bytes and seen[-1].fraction == 1.0


def test_U11_a_refused_upload_lists_every_picture(
    server: Server, client: wherry.Client
) -> None:
    answer = client.upload(server.url("/sink", status=500), [png(4, 4), png(4, 4)])

    assert answer.status_code == 500
    assert [failed.index for failed in answer.failed_images] == [0, 1]
    with pytest.raises(wherry.HTTPStatusError) as caught:
        answer.raise_for_status()
    assert len(caught.value.failed_images) == 2


def test_U11_an_upload_that_fails_lists_every_picture(
    server: Server, client: wherry.Client
) -> None:
    with pytest.raises(wherry.NetworkError) as caught:
        client.upload(server.url("/sink", reset_body=0), [png(4, 4), png(4, 4)])
    assert len(caught.value.failed_images) == 2


def test_U12_a_file_part_is_read_while_it_is_sent(server: Server, tmp_path: Any) -> None:
    path = tmp_path / "large"
    size = 256 << 20
    with open(path, "wb") as file:
        file.truncate(size)  # sparse: nothing of it is on the disk
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


def test_U12_a_file_part_that_is_missing_fails_before_connecting(
    server: Server, client: wherry.Client, tmp_path: Any
) -> None:
    with pytest.raises((wherry.FileError, FileNotFoundError)):
        client.post(server.url("/sink"), files={"a": tmp_path / "none"})
    assert server.log() == []


def test_uploads_from_asyncio(server: Server) -> None:
    async def main() -> Tuple[int, List[float]]:
        seen: List[float] = []
        async with wherry.AsyncClient() as client:
            plain = await client.upload(server.url("/echo"), [png(8, 8)], fields={"a": "b"})
            await client.upload(
                server.url("/sink"), png(30, 30), progress=lambda p: seen.append(p.fraction or 0)
            )
        return len(plain.json()["parts"]), seen

    parts, seen = asyncio.run(main())
    assert parts == 2 and seen[-1] == 1.0
