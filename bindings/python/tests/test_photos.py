# Wherry: what EXIF says about photographs
# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import datetime
import io
import random
import struct
from typing import Any, Dict, Optional

import pytest

import wherry

Pillow = pytest.importorskip("PIL.Image")

MAKE, MODEL, ORIENTATION, DETAILS, PLACES = 0x010F, 0x0110, 0x0112, 0x8769, 0x8825
TAKEN_AT, OFFSET = 0x9003, 0x9011


def photo(
    kind: str, main: Dict[int, Any], details: Dict[int, Any], places: Dict[int, Any], endian: str = "<", size: int = 40
) -> bytes:
    exif = Pillow.Exif()
    exif.endian = endian
    exif.update(main)
    exif.get_ifd(DETAILS).update(details)
    exif.get_ifd(PLACES).update(places)
    file = io.BytesIO()
    Pillow.new("RGB", (size, 30), "navy").save(file, kind, exif=exif)
    return file.getvalue()


def pillow_degrees(values: Any, letter: str) -> float:
    degrees, minutes, seconds = (float(value) for value in values)
    return (degrees + minutes / 60 + seconds / 3600) * (-1 if letter in "SW" else 1)


def check(data: bytes) -> None:
    """Compares the values with those that Pillow reads."""
    info = wherry.Image(data).info
    with Pillow.open(io.BytesIO(data)) as image:
        exif = image.getexif()
        details, places = exif.get_ifd(DETAILS), exif.get_ifd(PLACES)
        assert (info.width, info.height) == image.size
    assert info.orientation == exif.get(ORIENTATION, 1)
    assert (info.make, info.model) == (exif.get(MAKE), exif.get(MODEL))
    taken_at: Optional[str] = None
    if TAKEN_AT in details:
        time = datetime.datetime.strptime(details[TAKEN_AT], "%Y:%m:%d %H:%M:%S")
        taken_at = time.isoformat() + details.get(OFFSET, "")
        assert info.taken_at and datetime.datetime.fromisoformat(info.taken_at).replace(tzinfo=None) == time
    assert info.taken_at == taken_at
    if 2 in places:
        assert info.latitude == pytest.approx(pillow_degrees(places[2], places[1]), abs=1e-9)
        assert info.longitude == pytest.approx(pillow_degrees(places[4], places[3]), abs=1e-9)
    else:
        assert info.latitude is None and info.longitude is None
    if 6 in places:
        height = float(places[6]) * (-1 if places.get(5, b"\0") == b"\1" else 1)
        assert info.altitude == pytest.approx(height, abs=1e-9)
    else:
        assert info.altitude is None


def test_I6_values_equal_those_of_Pillow() -> None:
    generator = random.Random(6)
    for _ in range(200):
        main: Dict[int, Any] = {}
        details: Dict[int, Any] = {}
        places: Dict[int, Any] = {}
        if generator.random() < 0.8:
            main[MAKE] = generator.choice(["Canon", "NIKON CORPORATION", "X"])
            main[MODEL] = generator.choice(["Canon EOS R5", "D850", "Pixel 9 Pro"])
        if generator.random() < 0.8:
            main[ORIENTATION] = generator.randint(1, 8)
        if generator.random() < 0.8:
            time = datetime.datetime(1970, 1, 1) + datetime.timedelta(seconds=generator.randrange(2_000_000_000))
            details[TAKEN_AT] = time.strftime("%Y:%m:%d %H:%M:%S")
        if TAKEN_AT in details and generator.random() < 0.5:
            details[OFFSET] = generator.choice(["+02:00", "-11:30", "+00:00"])
        if generator.random() < 0.8:
            places.update({1: generator.choice("NS"), 3: generator.choice("EW")})
            for tag, most in ((2, 89), (4, 179)):
                places[tag] = (generator.randint(0, most), generator.randint(0, 59), generator.randint(0, 5999) / 100)
        if generator.random() < 0.5:
            places[6] = generator.randint(0, 900_000) / 100
            places[5] = generator.choice([b"\0", b"\1"])
        check(photo(generator.choice(["JPEG", "PNG"]), main, details, places, generator.choice("<>")))


def test_I6_an_image_without_exif_has_no_values() -> None:
    for image in (photo("PNG", {}, {}, {}), Pillow.new("RGB", (3, 2))):
        info = wherry.Image(image).info
        assert [info.taken_at, info.make, info.model, info.latitude, info.longitude, info.altitude] == [None] * 6


def test_I6_values_are_read_from_the_header_alone() -> None:
    data = photo("JPEG", {MAKE: "Acme"}, {TAKEN_AT: "2024:05:01 12:34:56"}, {})
    info = wherry.Image(data[: data.index(b"\xff\xda") + 20]).info

    assert (info.make, info.taken_at) == ("Acme", "2024-05-01T12:34:56")


def test_I6_compression_keeps_or_removes_the_values() -> None:
    places = {1: "N", 2: (48, 51, 29.88), 3: "E", 4: (2, 17, 40.2)}
    image = wherry.Image(photo("JPEG", {MAKE: "Acme"}, {TAKEN_AT: "2024:05:01 12:34:56"}, places, size=60))
    found = {kind: image.compress(0.5, metadata=kind).info for kind in ("icc", "no_gps", "all")}

    assert (found["icc"].make, found["icc"].taken_at, found["icc"].latitude) == (None, None, None)
    assert (found["no_gps"].make, found["no_gps"].latitude) == ("Acme", None)
    assert found["all"].latitude == pytest.approx(48.8583) and found["all"].taken_at == "2024-05-01T12:34:56"


def test_I6_malformed_values_are_missing_and_mutated_files_never_crash() -> None:
    places = {1: "N", 2: (48, 51, 29.88), 3: "E", 4: (2, 17, 40.2), 6: 35.5}
    details = {TAKEN_AT: "2024:05:01 12:34:56", OFFSET: "+02:00"}
    data = photo("JPEG", {MAKE: "Acme", MODEL: "One"}, details, places)
    assert wherry.Image(data.replace(b"2024:05:01", b"2024:99:01")).info.taken_at is None
    assert wherry.Image(data.replace(b"+02:00", b"+xx:00")).info.taken_at == "2024-05-01T12:34:56"
    degrees = struct.pack("<2I", 48, 1)
    assert wherry.Image(data.replace(degrees, struct.pack("<2I", 48, 0))).info.latitude is None
    assert wherry.Image(data.replace(degrees, struct.pack("<2I", 91, 1))).info.latitude is None

    generator = random.Random(1)
    end = data.index(b"\xff\xdb")
    for _ in range(3_000):
        changed = bytearray(data)
        for _ in range(generator.randint(1, 5)):
            changed[generator.randrange(end)] = generator.choice([0, 255, generator.randrange(256)])
        try:
            wherry.Image(bytes(changed)).info
        except wherry.ImageError as error:
            assert str(error)
