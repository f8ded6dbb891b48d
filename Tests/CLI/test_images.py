# Wherry: tests of the command that compresses images.
# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import base64
import io
import json
import pathlib

import pytest
from conftest import ROOT, wherry
from PIL import Image
from test_uploads import jpeg


@pytest.fixture
def picture(tmp_path: pathlib.Path) -> pathlib.Path:
    return jpeg(tmp_path / "beach.jpg")


def test_an_image_is_compressed(picture: pathlib.Path) -> None:
    result = wherry("image", "beach.jpg", "small.jpg", "--quality", "0.5", "--max-width", "160", cwd=picture.parent)

    assert (result.status, result.out) == (0, b"")
    assert result.err.startswith("small.jpg: 160 x 120, ") and "→" in result.err
    with Image.open(picture.parent / "small.jpg") as small:
        assert small.size == (160, 120) and small.format == "JPEG"


def test_size_format_and_color_follow_the_options(tmp_path: pathlib.Path) -> None:
    Image.new("RGBA", (64, 64), (255, 0, 0, 0)).save(tmp_path / "clear.png")

    done = wherry(
        "image",
        "clear.png",
        "solid.jpg",
        "--format",
        "jpeg",
        "--background",
        "00ff00",
        "--max-bytes",
        "2000",
        "--json-output",
        cwd=tmp_path,
    )

    assert done.json["ok"] and done.json["format"] == "jpg" and done.json["bytes"] <= 2000
    with Image.open(tmp_path / "solid.jpg") as solid:
        red, green, blue = solid.convert("RGB").getpixel((30, 30))  # type: ignore[misc]
    assert red < 5 and green > 250 and blue < 5


def test_info_prints_the_properties_and_writes_no_file(picture: pathlib.Path) -> None:
    exif = Image.Exif()
    exif[0x0112] = 6
    exif.get_ifd(0x8825)[1] = "N"
    with Image.open(picture) as plain:
        plain.save(picture, "JPEG", exif=exif, progressive=True)
    before = sorted(picture.parent.iterdir())

    told = wherry("image", picture, "--info")
    data = wherry("image", picture, "--info", "--json-output").json

    assert told.text.startswith("JPEG, 480 x 640, ")
    assert told.text.rstrip().endswith("orientation 6, progressive, EXIF with GPS")
    assert (data["width"], data["height"], data["upright_width"]) == (640, 480, 480)
    assert data["orientation"] == 6 and data["gps"] and data["progressive"] and not data["alpha"]
    assert data["bytes"] == picture.stat().st_size and data["pixel_bytes"] == 640 * 480 * 3
    assert sorted(picture.parent.iterdir()) == before


def test_metadata_is_kept_on_request(picture: pathlib.Path) -> None:
    exif = Image.Exif()
    exif[0x010F] = "Cam"
    exif.get_ifd(0x8825)[1] = "N"
    with Image.open(picture) as plain:
        plain.save(picture, "JPEG", exif=exif)
    out = picture.parent / "out.jpg"

    for kind, has_exif, has_gps in (("none", 0, 0), ("icc", 0, 0), ("no-gps", 1, 0), ("all", 1, 1)):
        assert wherry("image", picture, out, "--metadata", kind, "--overwrite").status == 0
        with Image.open(io.BytesIO(out.read_bytes())) as made:
            assert (bool(made.getexif()), bool(made.getexif().get_ifd(0x8825))) == (has_exif, has_gps)


def test_a_failure_keeps_the_existing_file(tmp_path: pathlib.Path) -> None:
    (tmp_path / "text.jpg").write_text("no picture")
    (tmp_path / "out.jpg").write_text("precious")

    broken = wherry("image", "text.jpg", "out.jpg", "--overwrite", cwd=tmp_path)
    missing = wherry("image", "gone.jpg", "out.jpg", "--overwrite", cwd=tmp_path)
    refused = wherry("image", "gone.jpg", "out.jpg", cwd=tmp_path)

    assert broken.status == 8 and "bad_image: text.jpg cannot be used" in broken.err
    assert missing.status == 7 and "gone.jpg" in missing.err
    assert refused.status == 7 and "exists" in refused.err and "--overwrite" in refused.err
    assert (tmp_path / "out.jpg").read_text() == "precious"
    assert sorted(p.name for p in tmp_path.iterdir()) == ["out.jpg", "text.jpg"]


def test_subsampling_and_limits_follow_the_options(picture: pathlib.Path) -> None:
    layers = {"420": (2, 2), "422": (2, 1), "444": (1, 1)}
    for kind, sampling in layers.items():
        source, out = picture.parent / "fine.jpg", picture.parent / "out.jpg"
        with Image.open(picture) as plain:
            plain.save(source, "JPEG", quality=95, subsampling=0)
        assert wherry("image", source, out, "--quality", "0.5", "--subsampling", kind, "--overwrite").status == 0
        with Image.open(out) as made:
            assert made.layer[0][1:3] == sampling  # type: ignore[attr-defined]

    for limit in (["--max-pixels", "307199"], ["--max-memory", "1000", "--progressive"]):
        refused = wherry("image", picture, picture.parent / "no.jpg", "--quality", "0.5", *limit)
        assert refused.status == 8 and "image_too_large" in refused.err
    assert not (picture.parent / "no.jpg").exists()
    allowed = ["--max-pixels", "307200", "--max-memory", "99999999", "--deadline", "0", "--progressive"]
    assert wherry("image", picture, picture.parent / "yes.jpg", "--quality", "0.5", *allowed).status == 0


def test_I4_an_image_fills_a_box(picture: pathlib.Path) -> None:
    sizes = {"fit": (64, 48), "crop": (64, 64), "pad": (64, 64)}
    for mode, size in sizes.items():
        done = wherry(
            "image", picture, picture.parent / f"{mode}.jpg", "--quality", "0.9", "--resize-mode", mode,
            "--max-width", "64", "--max-height", "64", "--background", "0000ff",
        )  # fmt: skip
        assert done.status == 0
        with Image.open(picture.parent / f"{mode}.jpg") as made:
            assert made.size == size
            red, green, blue = made.convert("RGB").getpixel((0, 0))  # type: ignore[misc]
        assert (red < 5 and green < 5 and blue > 250) == (mode == "pad")

    half = wherry("image", picture, "no.jpg", "--resize-mode", "crop", "--max-width", "64")
    assert half.status == 2 and "--max-height" in half.err


def test_I4_a_scaled_image_is_sharpened(picture: pathlib.Path) -> None:
    folder = picture.parent
    for name, more in {"soft.png": [], "sharp.png": ["--sharpen", "150"]}.items():
        assert wherry("image", picture, folder / name, "--max-width", "60", *more).status == 0
    with Image.open(folder / "soft.png") as soft, Image.open(folder / "sharp.png") as sharp:
        assert sharp.size == soft.size == (60, 45) and sharp.tobytes() != soft.tobytes()
    same = wherry("image", picture, folder / "same.jpg", "--max-width", "640", "--sharpen", "150", "--json-output")
    assert same.json["way"] == "untouched"
    for wrong in ("-1", "501", "0.5"):
        refused = wherry("image", picture, "no.png", f"--sharpen={wrong}")
        assert refused.status == 2 and "--sharpen" in refused.err


def test_I4_several_sizes_are_made_in_one_call(picture: pathlib.Path) -> None:
    folder = picture.parent
    sizes = ["--sizes", "320,64x64,x30,9999", "--quality", "0.8", "--sharpen", "50"]

    done = wherry("image", "beach.jpg", "beach-{size}.jpg", *sizes, cwd=folder)
    told = wherry("image", "beach.jpg", "{size}.png", *sizes, "--json-output", cwd=folder)

    assert done.status == 0 and done.out == b""
    names = ["320", "64x64", "x30", "9999"]
    assert [line.split(":")[0] for line in done.err.splitlines()] == [f"beach-{name}.jpg" for name in names]
    lines = [json.loads(line) for line in told.text.splitlines()]
    expected = {"320": (320, 240), "64x64": (64, 48), "x30": (40, 30), "9999": (640, 480)}
    for name, line in zip(names, lines):
        assert line["ok"] and line["path"] == f"{name}.png" and line["format"] == "png"
        assert line["original_bytes"] == picture.stat().st_size
        assert (line["width"], line["height"]) == expected[name]
        for path in (folder / f"beach-{name}.jpg", folder / f"{name}.png"):
            with Image.open(path) as made:
                assert made.size == expected[name]
    alone = wherry("image", "beach.jpg", "alone.jpg", "--max-width", "320", *sizes[2:], cwd=folder)
    assert alone.status == 0
    similar = wherry("image", "alone.jpg", "--compare", "beach-320.jpg", "--json-output", cwd=folder).json
    assert similar["ssim"] > 0.98

    boxes = ["--sizes", "64x64,32x48", "--resize-mode", "crop"]
    assert wherry("image", "-", "{width}.{height}.jpg", *boxes, cwd=folder, input=picture.read_bytes()).status == 0
    for name, size in {"64.64.jpg": (64, 64), "32.48.jpg": (32, 48)}.items():
        with Image.open(folder / name) as made:
            assert made.size == size
    assert wherry("image", "beach.jpg", "one.jpg", "--sizes", "100", cwd=folder).status == 0


def test_I4_either_all_sizes_are_written_or_none(picture: pathlib.Path) -> None:
    folder = picture.parent
    (folder / "a-64.jpg").write_text("precious")
    (folder / "broken.jpg").write_bytes(picture.read_bytes()[:9000])
    (folder / "b-64.jpg").mkdir()
    before = sorted(folder.iterdir())

    exists = wherry("image", "beach.jpg", "a-{width}.jpg", "--sizes", "32,64", cwd=folder)
    broken = wherry("image", "broken.jpg", "a-{width}.jpg", "--sizes", "32,64", "--overwrite", cwd=folder)
    blocked = wherry("image", "beach.jpg", "b-{width}.jpg", "--sizes", "32,64", cwd=folder)
    tight = wherry("image", "beach.jpg", "c-{width}.jpg", "--sizes", "32,64", "--max-bytes", "50", cwd=folder)

    assert exists.status == 7 and "a-64.jpg exists. Use --overwrite" in exists.err
    assert broken.status == 8 and "broken.jpg cannot be used" in broken.err
    assert blocked.status == 7 and "b-64.jpg cannot be written" in blocked.err
    assert tight.status == 8 and "does not fit into 50 bytes" in tight.err
    assert sorted(folder.iterdir()) == before and (folder / "a-64.jpg").read_text() == "precious"
    assert wherry("image", "beach.jpg", "a-{width}.jpg", "--sizes", "32,64", "--overwrite", cwd=folder).status == 0
    with Image.open(folder / "a-64.jpg") as made:
        assert made.size == (64, 48)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["small.jpg", "--sizes", "32,64"], "have the same result small.jpg. Put {width}, {height}, or {size}"),
        (["{width}.jpg", "--sizes", "32,64,32"], "The sizes 32 and 32 have the same result 32.jpg."),
        (["{width}.jpg", "--sizes", "64x64,64x32"], "put {size} into the name"),
        (["{width}.jpg", "--sizes", "64,x32"], "The size x32 has no width for {width}. Use {size}"),
        (["{height}.jpg", "--sizes", "64"], "The size 64 has no height for {height}."),
        (["{width}.jpg", "--sizes", "64", "--max-width", "9"], "--sizes and --max-width cannot be combined"),
        (["{width}.jpg", "--sizes", "64", "--max-height", "9"], "--sizes and --max-height cannot be combined"),
        (["--info", "--sizes", "64"], "--sizes needs a name for the results"),
        (["-", "--sizes", "64"], "--sizes writes files"),
        (["{width}.jpg", "--sizes", "64", "--resize-mode", "crop"], "needs sizes with a width and a height"),
        (["{width}.webp", "--sizes", "64"], "writes JPEG and PNG"),
        *[(["{size}.jpg", "--sizes", wrong], "--sizes") for wrong in ("", "0", "x", "32,", "3x4x5", "-3", "1e3", "x0")],
    ],
)
def test_I4_wrong_sizes_are_refused(picture: pathlib.Path, arguments: list[str], message: str) -> None:
    refused = wherry("image", "beach.jpg", *arguments, cwd=picture.parent)
    assert refused.status == 2 and message in refused.err, refused.err
    assert [path.name for path in picture.parent.iterdir()] == ["beach.jpg"]


@pytest.mark.parametrize(
    "arguments",
    [
        ["a.jpg", "b.jpg", "--subsampling", "411"],
        ["a.jpg", "b.jpg", "--resize-mode", "cover", "--max-width", "9", "--max-height", "9"],
        ["a.jpg", "b.jpg", "--max-pixels", "0"],
        ["a.jpg", "b.jpg", "--max-memory", "-1"],
        ["a.jpg", "b.jpg", "--deadline", "x"],
        [],
        ["a.jpg"],
        ["a.jpg", "b.jpg", "--info"],
        ["a.jpg", "b.jpg", "--quality", "50"],
        ["a.jpg", "b.jpg", "--max-bytes", "0"],
        ["a.jpg", "b.jpg", "--background", "red"],
        ["a.jpg", "b.jpg", "--metadata", "some"],
    ],
)
def test_bad_options_exit_with_2(arguments: list[str]) -> None:
    assert wherry("image", *arguments).status == 2


# ImageMagick takes 50, and `jpg` is the usual extension. The result said 50, the option 0.5.
def test_the_quality_is_a_ratio_and_formats_have_their_usual_names(picture: pathlib.Path) -> None:
    folder = picture.parent
    for given, right in (("50", "0.5"), ("85%", "0.85"), ("1%", "0.01")):
        refused = wherry("image", picture, folder / "no.jpg", "--quality", given)
        assert refused.status == 2 and f"write {right}." in refused.err, refused
    for given in ("-1", "101", "x", "nan"):
        assert "takes 0 to 1" in wherry("image", picture, folder / "no.jpg", f"--quality={given}").err
    for index, kind in enumerate(["jpg", "jpeg", "JPG", "png"]):
        told = wherry("image", picture, folder / f"{index}", "--format", kind, "--quality", "0.5", "--json-output")
        assert told.json["format"] == ("png" if kind == "png" else "jpg"), told
        assert told.json.get("quality") == (None if kind == "png" else 0.5)


def test_the_extension_of_the_result_selects_its_format(picture: pathlib.Path) -> None:
    # A JPEG was written into z.png.
    folder = picture.parent
    for name, kind in (("a.png", "PNG"), ("b.JPG", "JPEG"), ("c.jpeg", "JPEG"), ("d", "JPEG"), ("e.bin", "JPEG")):
        assert wherry("image", picture, folder / name).status == 0
        with Image.open(folder / name) as made:
            assert made.format == kind, name
    assert wherry("image", folder / "a.png", folder / "f.jpg").status == 0
    with Image.open(folder / "f.jpg") as made:
        assert made.format == "JPEG"
    assert wherry("image", picture, folder / "g", "--format", "png").status == 0
    with Image.open(folder / "g") as made:
        assert made.format == "PNG"
    for arguments in (["h.webp"], ["h.gif"], ["h.png", "--format", "jpeg"]):
        refused = wherry("image", picture, *arguments, cwd=folder)
        assert refused.status == 2 and refused.err
    assert sorted(p.name for p in folder.iterdir()) == [
        "a.png",
        "b.JPG",
        "beach.jpg",
        "c.jpeg",
        "d",
        "e.bin",
        "f.jpg",
        "g",
    ]


def test_I5_an_image_is_compared_with_another_one(picture: pathlib.Path) -> None:
    folder = picture.parent
    for name, quality in (("fine.jpg", "0.9"), ("coarse.jpg", "0.1")):
        assert wherry("image", picture, folder / name, "--quality", quality, "--allow-larger").status == 0

    same = wherry("image", picture, "--compare", picture)
    fine = wherry("image", "fine.jpg", "--compare", picture, "--json-output", cwd=folder).json
    coarse = wherry("image", "coarse.jpg", "--compare", picture, "--json-output", cwd=folder).json
    text = wherry("image", "coarse.jpg", "--compare", picture, cwd=folder).text

    assert same.text == "SSIM 1.0000, PSNR infinite\n"
    assert wherry("image", picture, "--compare", picture, "--json-output").json["psnr"] is None
    assert coarse["ssim"] < fine["ssim"] < 1 and coarse["psnr"] < fine["psnr"]
    assert text == f"SSIM {coarse['ssim']:.4f}, PSNR {coarse['psnr']:.2f} dB\n"


def test_I5_a_JPEG_has_a_target_similarity_and_few_bytes(picture: pathlib.Path) -> None:
    folder = picture.parent
    for name, options in {"plain.jpg": ["--best", "--progressive"], "small.jpg": ["--smallest"]}.items():
        assert wherry("image", picture, name, "--target-ssim", "0.9", *options, cwd=folder).status == 0
        found = wherry("image", name, "--compare", picture, "--json-output", cwd=folder).json
        assert 0.9 <= found["ssim"] < 0.95
    assert (folder / "small.jpg").stat().st_size < (folder / "plain.jpg").stat().st_size
    for wrong in ("1", "0", "98"):
        refused = wherry("image", picture, "no.jpg", "--target-ssim", wrong)
        assert refused.status == 2 and "--target-ssim takes a number between 0 and 1" in refused.err


def test_I5_images_that_cannot_be_compared_are_named(picture: pathlib.Path) -> None:
    folder = picture.parent
    Image.new("RGB", (10, 20)).save(folder / "small.png")
    (folder / "text.jpg").write_text("no picture")

    sizes = wherry("image", "beach.jpg", "--compare", "small.png", cwd=folder)
    broken = wherry("image", "beach.jpg", "--compare", "text.jpg", cwd=folder)

    assert sizes.status == 2 and "beach.jpg and small.png cannot be compared. " in sizes.err
    assert "640x480 and 10x20 pixels" in sizes.err
    assert broken.status == 8 and "cannot be compared. Second image: " in broken.err
    for arguments in (["out.jpg", "--compare", "a.jpg"], ["--compare", "a.jpg", "--info"]):
        assert wherry("image", picture, *arguments).status == 2
    assert wherry("image", "-", "--compare", "-").status == 2


def test_I6_texts_are_set_and_removed(picture: pathlib.Path) -> None:
    folder = picture.parent
    made = wherry(
        "image", picture, "a.jpg", "--set-metadata", "copyright=© 2026 Ada = me", "--set-metadata", "artist=Ada",
        "--set-metadata", "description=Line 1\nLine 2", "--set-metadata", "taken-at=2026-11-28T20:15:30+01:00", cwd=folder,
    )  # fmt: skip
    assert made.status == 0, made
    with Image.open(folder / "a.jpg") as image:
        exif = image.getexif()
        assert exif[0x8298].encode("latin-1").decode() == "© 2026 Ada = me" and exif[0x013B] == "Ada"
        assert exif.get_ifd(0x8769)[0x9011] == "+01:00"
    told = wherry("image", "a.jpg", "--info", cwd=folder).text.splitlines()
    assert told[1:3] == ["taken 2026-11-28T20:15:30+01:00", "copyright: © 2026 Ada = me"]
    assert told[3] == "artist: Ada" and told[4].startswith("description: Line 1") and len(told) == 5
    data = wherry("image", "a.jpg", "--info", "--json-output", cwd=folder).json
    assert data["description"] == "Line 1\nLine 2" and "software" not in data

    options = ["--metadata", "all", "--remove-metadata", "artist", "--remove-metadata", "taken-at"]
    assert wherry("image", "a.jpg", "b.jpg", *options, cwd=folder).status == 0
    left = wherry("image", "b.jpg", "--info", "--json-output", cwd=folder).json
    assert left["copyright"] == "© 2026 Ada = me" and not {"artist", "taken_at"} & set(left)


def test_I6_a_location_is_rounded(picture: pathlib.Path) -> None:
    exif = Image.Exif()
    exif.get_ifd(0x8825).update({1: "N", 2: (48, 51, 29.88), 3: "W", 4: (2, 17, 40.2), 6: 35.5})
    with Image.open(picture) as plain:
        plain.save(picture, "JPEG", exif=exif)
    made = wherry("image", picture, "-", "--metadata", "all", "--location-decimals", "1")
    data = wherry("image", "-", "--info", "--json-output", input=made.out).json
    assert (data["latitude"], data["longitude"]) == (pytest.approx(48.9), pytest.approx(-2.3))
    assert "altitude" not in data


def test_I6_wrong_edits_are_refused(picture: pathlib.Path) -> None:
    for arguments, message in [
        (["--set-metadata", "title=x"], "title"),
        (["--set-metadata", "artist"], "artist"),
        (["--set-metadata", "taken-at=today"], "2024-05-01T12:34:56"),
        (["--set-metadata", "artist=a", "--remove-metadata", "artist"], "twice"),
        (["--set-metadata", "artist=a", "--set-metadata", "artist=b"], "twice"),
        (["--remove-metadata", "gps"], "gps"),
        (["--location-decimals", "7"], "0 to 6"),
    ]:
        result = wherry("image", picture, "out.jpg", *arguments, cwd=picture.parent)
        assert result.status == 2 and message in result.err, result
    long = wherry("image", picture, "out.jpg", "--set-metadata", "artist=" + "x" * 70_000, cwd=picture.parent)
    assert long.status == 8 and "at most 65527" in long.err
    assert not (picture.parent / "out.jpg").exists()


def test_I6_info_prints_time_camera_and_place(picture: pathlib.Path) -> None:
    exif = Image.Exif()
    exif[0x010F], exif[0x0110] = "Acme", "One"
    exif.get_ifd(0x8769).update({0x9003: "2024:05:01 12:34:56", 0x9011: "+02:00"})
    exif.get_ifd(0x8825).update({1: "N", 2: (48, 51, 29.88), 3: "W", 4: (2, 17, 40.2), 6: 35.5})
    with Image.open(picture) as plain:
        plain.save(picture, "JPEG", exif=exif)

    told = wherry("image", picture, "--info").text.splitlines()
    data = wherry("image", picture, "--info", "--json-output").json

    assert told[0].endswith("EXIF with GPS")
    assert told[1:] == ["taken 2024-05-01T12:34:56+02:00 with Acme One at 48.85830, -2.29450, 36 m"]
    assert (data["taken_at"], data["make"], data["model"]) == ("2024-05-01T12:34:56+02:00", "Acme", "One")
    assert (data["latitude"], data["longitude"]) == (pytest.approx(48.8583), pytest.approx(-2.2945))
    assert data["altitude"] == 35.5


def test_I6_info_leaves_out_what_is_not_known(picture: pathlib.Path) -> None:
    exif = Image.Exif()
    exif[0x010F], exif[0x0110] = "Acme", "Acme One"
    with Image.open(picture) as plain:
        plain.save(picture, "JPEG", exif=exif)

    data = wherry("image", picture, "--info", "--json-output").json

    assert wherry("image", picture, "--info").text.splitlines()[1:] == ["with Acme One"]
    assert not {"taken_at", "latitude", "longitude", "altitude"} & set(data)


def test_I3_other_formats_are_converted(tmp_path: pathlib.Path) -> None:
    table = json.loads((ROOT / "Tests/Scenarios/formats.json").read_text())
    for case in table["cases"]:
        name = "image." + case["format"]
        (tmp_path / name).write_bytes(base64.b64decode(case["file"]))
        info = wherry("image", name, "--info", "--json-output", cwd=tmp_path).json
        assert info["format"] == case["format"], case["name"]
        assert (info["upright_width"], info["upright_height"]) == (case["width"], case["height"])
        options = ["--overwrite"]
        if case["animated"]:
            refused = wherry("image", name, "made.png", *options, cwd=tmp_path)
            assert refused.status == 8 and 'animated to "first"' in refused.err, refused
            options += ["--animated", "first"]
        made = wherry("image", name, "made.png", *options, cwd=tmp_path)
        assert made.status == 0, made
        with Image.open(tmp_path / "made.png") as image:
            assert image.format == "PNG" and image.size == (case["width"], case["height"])
