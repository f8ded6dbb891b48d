# Wherry: changes of the metadata of photographs
# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import datetime
import io
import pickle
import random
from typing import Any, Dict, List

import pytest
from test_photos import DETAILS, MAKE, MODEL, OFFSET, ORIENTATION, PLACES, TAKEN_AT, photo, pillow_degrees

import wherry

Pillow = pytest.importorskip("PIL.Image")

ARTIST, COPYRIGHT, DESCRIPTION, SOFTWARE = 0x013B, 0x8298, 0x010E, 0x0131
PARIS = {1: "N", 2: (48, 51, 29.88), 3: "E", 4: (2, 17, 40.2), 5: b"\0", 6: 35.5}
TEXTS: Dict[str, Any] = {"copyright": "© 2026 Ada", "artist": "Ada", "description": "Two\nlines", "software": "test"}
WAYS: List[Dict[str, Any]] = [
    {}, {"quality": 0.5}, {"max_width": 20, "never_larger": False}, {"format": "png"},
]  # fmt: skip


def exif_of(image: wherry.Image) -> Any:
    with Pillow.open(io.BytesIO(image.content)) as opened:
        opened.load()
        return opened.getexif()


def pillow_text(value: str) -> str:
    """Pillow reads the bytes of EXIF texts as Latin-1."""
    return value.encode("latin-1").decode()


@pytest.mark.parametrize("kind", ["none", "icc", "no_gps", "all"])
@pytest.mark.parametrize("form", ["JPEG", "PNG"])
def test_I6_Pillow_reads_the_texts_that_are_set(form: str, kind: str) -> None:
    time = datetime.datetime(2026, 11, 28, 20, 15, 30, 999, datetime.timezone(datetime.timedelta(hours=1)))
    plain = io.BytesIO()
    Pillow.new("RGB", (60, 30), "navy").save(plain, form)
    old = {MAKE: "Acme", MODEL: "One", ARTIST: "Somebody else", ORIENTATION: 6}
    for endian in "<>":
        full = photo(form, old, {TAKEN_AT: "2024:05:01 12:34:56"}, PARIS, endian, size=60)
        for data in (plain.getvalue(), full):
            for options in WAYS:
                change = wherry.Compression(**options, metadata=kind, taken_at=time, model="Two", **TEXTS)
                made = wherry.Image(data).compress(change)
                exif = exif_of(made)
                texts = {tag: pillow_text(exif[tag]) for tag in (COPYRIGHT, ARTIST, DESCRIPTION, SOFTWARE, MODEL)}
                assert texts == dict(zip(texts, ["© 2026 Ada", "Ada", "Two\nlines", "test", "Two"]))
                details = exif.get_ifd(DETAILS)
                assert (details[TAKEN_AT], details[OFFSET]) == ("2026:11:28 20:15:30", "+01:00")
                keeps = kind in ("no_gps", "all") and data is full
                assert exif.get(MAKE) == ("Acme" if keeps else None)
                assert bool(exif.get_ifd(PLACES)) == (kind == "all" and data is full)
                assert exif.get(ORIENTATION, 1) == 1
                info = made.info
                assert {name: getattr(info, name) for name in TEXTS} == TEXTS
                assert info.taken_at == "2026-11-28T20:15:30+01:00" and info.model == "Two"


def test_I6_other_values_stay_the_same() -> None:
    maker_note = bytes(range(256)) * 3
    main = {MAKE: "Acme", MODEL: "One", 0x011A: 72.5, ARTIST: "Old", 0x9C9D: "Old".encode("utf-16-le")}
    details = {TAKEN_AT: "2024:05:01 12:34:56", OFFSET: "+02:00", 0x927C: maker_note, 0x829A: 0.005}
    for endian in "<>":
        data = photo("JPEG", main, details, PARIS, endian)
        made = wherry.Image(data).compress(metadata="all", artist="A longer name than before", copyright="Ada")
        before, after = Pillow.open(io.BytesIO(data)).getexif(), exif_of(made)
        assert made.content.index(maker_note) - made.content.index(b"Exif\0\0") == (
            data.index(maker_note) - data.index(b"Exif\0\0")
        )
        changed = {ARTIST, COPYRIGHT, DETAILS, PLACES, 0x9C9D}
        assert {tag: after[tag] for tag in after if tag not in changed} == {
            tag: before[tag] for tag in before if tag not in changed
        }
        for directory in (DETAILS, PLACES):
            assert after.get_ifd(directory) == before.get_ifd(directory)
        assert after[ARTIST] == "A longer name than before" and 0x9C9D not in after


def test_I6_empty_texts_remove_fields() -> None:
    main = {MAKE: "Acme", MODEL: "One", ARTIST: "Hidden Person", COPYRIGHT: "kept"}
    details = {TAKEN_AT: "2024:05:01 12:34:56", OFFSET: "+02:00", 0x9004: "2024:05:01 12:34:56"}
    made = wherry.Image(photo("JPEG", main, details, PARIS)).compress(
        metadata="all", artist="", taken_at="", make="", model=""
    )
    exif = exif_of(made)
    assert dict(exif.get_ifd(DETAILS)) == {}
    assert [exif.get(tag) for tag in (MAKE, MODEL, ARTIST, COPYRIGHT)] == [None, None, None, "kept"]
    assert b"Hidden" not in made.content and b"2024:05:01" not in made.content
    assert made.info.way == "stripped"


@pytest.mark.parametrize(("decimals", "place"), [(0, (49, 2)), (2, (48.86, 2.29)), (4, (48.8583, 2.2945))])
def test_I6_Pillow_reads_the_rounded_location(decimals: int, place: Any) -> None:
    for form in ("JPEG", "PNG"):
        data = photo(form, {MAKE: "Acme"}, {}, {**PARIS, 29: "2024:05:01", 19: "N", 20: (48, 51, 29.88)})
        made = wherry.Image(data).compress(metadata="all", location_decimals=decimals)
        places = exif_of(made).get_ifd(PLACES)
        found = (pillow_degrees(places[2], places[1]), pillow_degrees(places[4], places[3]))
        assert found == pytest.approx(place, abs=1e-12)
        assert sorted(places) == [1, 2, 3, 4, 29]
        assert made.info.make == "Acme" and made.info.altitude is None


def test_I6_an_upload_sends_the_edits(mock: wherry.MockTransport) -> None:
    mock.add(None, "*")
    with wherry.Client(transport=mock) as client:
        client.upload("http://h/", [photo("JPEG", {}, {}, {})], compression=wherry.Compression(0.5, artist="Ada"))
    body = mock.requests[-1].content
    image = wherry.Image(body[body.index(b"\xff\xd8") : body.rindex(b"\r\n--")])
    assert image.info.artist == "Ada"


def test_I6_wrong_texts_and_numbers_raise() -> None:
    image = wherry.Image(photo("JPEG", {}, {}, {}))
    for wrong in ("a\0b", "\ud800"):
        with pytest.raises(wherry.ArgumentError):
            image.compress(artist=wrong)
    for other in (7, b"bytes"):
        with pytest.raises(TypeError, match="artist="):
            image.compress(artist=other)
    for wrong_time in (datetime.date(2024, 5, 1), datetime.time(12), 7):
        with pytest.raises(TypeError, match="taken_at= takes a datetime.datetime or a str"):
            image.compress(taken_at=wrong_time)
    with pytest.raises(wherry.ArgumentError, match="2024-05-01T12:34:56"):
        image.compress(taken_at="yesterday")
    with pytest.raises(wherry.ArgumentError, match="location_decimals"):
        image.compress(location_decimals=7)
    with pytest.raises(wherry.WherryError, match="at most 65527") as caught:
        image.compress(description="x" * 70_000)
    assert caught.value.reason == "image_too_large"
    one, same = wherry.Compression(artist="Ada"), wherry.Compression(artist="Ada")
    assert one == same and one != wherry.Compression(artist="Eve") and pickle.loads(pickle.dumps(one)) == one


def test_I6_mutated_files_are_edited_or_refused() -> None:
    data = photo("JPEG", {MAKE: "Acme", ARTIST: "Old"}, {TAKEN_AT: "2024:05:01 12:34:56"}, PARIS)
    change = wherry.Compression(metadata="all", artist="Ada", make="", taken_at="", location_decimals=1)
    generator = random.Random(3)
    end = data.index(b"\xff\xdb")
    edited = 0
    for _ in range(2_000):
        changed = bytearray(data)
        for _ in range(generator.randint(1, 5)):
            changed[generator.randrange(2, end)] = generator.choice([0, 255, generator.randrange(256)])
        try:
            info = wherry.Image(wherry.Image(bytes(changed)).compress(change).content).info
        except wherry.ImageError:
            continue
        assert (info.artist, info.make, info.taken_at) == ("Ada", None, None)
        edited += 1
    assert edited > 1_000
