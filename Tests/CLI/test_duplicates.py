# Wherry: tests of the command that finds similar images, and of the hashes it compares.
# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import os
import pathlib
import random

import pytest
from conftest import wherry
from PIL import Image, ImageDraw


def drawing(seed: int) -> Image.Image:
    """An image of random rectangles."""
    generator = random.Random(seed)
    image = Image.new("RGB", (320, 240), "gray")
    draw = ImageDraw.Draw(image)
    for _ in range(12):
        x, y = generator.randrange(280), generator.randrange(200)
        color = tuple(generator.randrange(256) for _ in range(3))
        draw.rectangle((x, y, x + generator.randrange(20, 160), y + generator.randrange(20, 120)), fill=color)
    return image


@pytest.fixture
def album(tmp_path: pathlib.Path) -> pathlib.Path:
    """A folder with two groups of copies, two other images, and files of other kinds."""
    folder = tmp_path / "album"
    (folder / "old").mkdir(parents=True)
    for seed, names in (
        (1, ["a.png", "old/a small.jpg"]),
        (2, ["b.jpg", "c.JPEG", "old/b.png"]),
        (3, ["d.jpg"]),
        (4, ["e.png"]),
    ):
        for index, name in enumerate(names):
            drawing(seed).resize((320 // (index + 1), 240 // (index + 1))).save(folder / name)
    (folder / "broken.jpg").write_bytes((folder / "b.jpg").read_bytes()[:2000])
    (folder / "notes.txt").write_text("no picture")
    (folder / "old" / "more").mkdir()
    os.symlink(folder, folder / "old" / "loop")
    os.symlink(folder / "d.jpg", folder / "link.jpg")
    return folder


def test_I7_similar_images_in_a_folder_are_listed(album: pathlib.Path) -> None:
    result = wherry("duplicates", "album", cwd=album.parent)

    assert result.status == 0
    assert result.text == "album/a.png\nalbum/old/a small.jpg\n\nalbum/b.jpg\nalbum/c.JPEG\nalbum/old/b.png\n"
    assert result.err.startswith("album/broken.jpg: truncated_image: ") and result.err.count("\n") == 1
    assert wherry("duplicates", "album", "--quiet", cwd=album.parent).err == ""


def test_I7_similar_images_and_unreadable_files_are_listed_as_json(album: pathlib.Path) -> None:
    told = wherry(
        "duplicates", "album", "--json-output", "--hash", "difference", "--distance", "10", cwd=album.parent
    ).json

    assert told["ok"] and told["images"] == 7
    assert [[image["path"] for image in group] for group in told["groups"]] == [
        ["album/a.png", "album/old/a small.jpg"],
        ["album/b.jpg", "album/c.JPEG", "album/old/b.png"],
    ]
    assert all(len(image["hash"]) == 16 for group in told["groups"] for image in group)
    assert [(file["path"], file["reason"]) for file in told["unreadable"]] == [("album/broken.jpg", "truncated_image")]


def test_I7_files_and_folders_are_compared_together(album: pathlib.Path) -> None:
    drawing(3).save(album.parent / "new.dat", "PNG")

    found = wherry("duplicates", "new.dat", "album/d.jpg", "album/d.jpg", "album/e.png", cwd=album.parent)
    none = wherry("duplicates", "album/d.jpg", "album/e.png", cwd=album.parent)

    assert found.text == "new.dat\nalbum/d.jpg\n" and found.err == ""
    assert (none.status, none.out, none.err) == (0, b"", "No similar images among 2 images.\n")


def test_I7_a_file_with_two_paths_is_not_its_own_copy(album: pathlib.Path) -> None:
    os.link(album / "e.png", album / "hard link.png")

    found = wherry("duplicates", "./album/d.jpg", "album/link.jpg", "album/e.png", "album", cwd=album.parent)

    assert "d.jpg" not in found.text and "e.png" not in found.text and "link" not in found.text
    assert found.text.count("\n") == 6


def test_I7_the_distance_decides_what_is_similar(album: pathlib.Path) -> None:
    everything = wherry("duplicates", album, "--distance", "64").text

    assert everything.count("\n") == 7
    for wrong in ("-1", "65", "x"):
        assert wherry("duplicates", album, f"--distance={wrong}").status == 2
    assert wherry("duplicates").status == 2


def test_I7_a_missing_path_fails(album: pathlib.Path) -> None:
    result = wherry("duplicates", album, album / "gone")

    assert result.status == 7 and result.out == b"" and "gone" in result.err


def test_I7_the_hashes_of_an_image_are_printed(album: pathlib.Path) -> None:
    told = wherry("image", album / "a.png", "--hash").text.split()
    data = wherry("image", album / "a.png", "--hash", "--json-output").json

    assert told == ["difference", data["difference_hash"], "perceptual", data["perceptual_hash"]]
    assert data["ok"] and len(data["difference_hash"]) == 16
    assert wherry("image", album / "broken.jpg", "--hash").status == 8
    assert wherry("image", album / "a.png", "--hash", "--info").status == 2
    assert wherry("image", album / "a.png", "b.png", "--hash").status == 2


def test_I7_the_hashes_are_those_of_imagehash(album: pathlib.Path) -> None:
    imagehash = pytest.importorskip("imagehash")

    told = wherry("image", album / "a.png", "--hash", "--json-output").json

    with Image.open(album / "a.png") as image:
        assert told["difference_hash"] == str(imagehash.dhash(image))
        assert told["perceptual_hash"] == str(imagehash.phash(image))
