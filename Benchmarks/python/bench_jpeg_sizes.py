#!/usr/bin/env python3
# Wherry: the sizes of JPEGs of equal similarity
# SPDX-License-Identifier: Apache-2.0
"""usage: bench_jpeg_sizes.py [--mate FOLDER] [--lomiri FOLDER] [--count N] [--side N] [--mozjpeg] [--444]

Compares `smallest` with `optimize=True, progressive=True` of Pillow. Fits N photographs (default: 24) into 1024x1024
pixels, and encodes each one with several qualities. For each of Wherry's JPEGs, interpolates the bytes that Pillow needs
for the same SSIM. Prints the median saving of the photographs, by quality and over all, and the CPU time per megapixel.
With --mozjpeg, also converts Pillow's JPEGs with mozjpeg's lossless optimization.

The default photographs are those of Debian's packages mate-backgrounds, lomiri-wallpapers-16.04, and
lomiri-wallpapers-20.04, without drawings; --mate and --lomiri are other folders of their files. Needs numpy and Pillow,
and for --mozjpeg mozjpeg-lossless-optimization. WHERRY_LIBRARY is the path of a release build of the library.
"""

from __future__ import annotations

import argparse
import io
import math
import pathlib
import statistics
import sys
import time
from typing import Any, Callable, Dict, List, Tuple

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "bindings/python/src"))

import numpy  # noqa: E402
from PIL import Image  # noqa: E402

import wherry  # noqa: E402

MATE = "/usr/share/backgrounds/mate/nature"
LOMIRI = "/usr/share/backgrounds"
DRAWINGS = ("Fossa", "Infinite-Sea", "Painting", "analogpattern", "umang")
THEIRS = [30, 40, 50, 55, 60, 65, 70, 75, 80, 85, 88, 90, 92, 94, 96, 98]
OURS = [60, 65, 70, 75, 80, 85, 90]

Encoder = Callable[[int], bytes]


def photographs(mate: str, lomiri: str, count: int) -> List[pathlib.Path]:
    found = sorted(pathlib.Path(mate).glob("*.jpg"))
    found += sorted(path for path in pathlib.Path(lomiri).glob("*_by_*.jpg") if not path.name.startswith(DRAWINGS))
    if len(found) < count:
        raise SystemExit(f"bench_jpeg_sizes: {mate} and {lomiri} have {len(found)} photographs, not {count}")
    return found[:count]


def curve(picture: Any, encode: Encoder, qualities: List[int]) -> Tuple[List[Tuple[float, float, float]], float]:
    """Returns -log(1 - SSIM), log(bytes), and PSNR for each quality, and the CPU time of encoding."""
    source = wherry.Image(numpy.asarray(picture))
    points, spent = [], 0.0
    for quality in qualities:
        begun = time.process_time()
        data = encode(quality)
        spent += time.process_time() - begun
        found = source.compare(data)
        points.append((-math.log(1 - found.ssim), math.log(len(data)), found.psnr))
    return points, spent


def main() -> None:
    parser = argparse.ArgumentParser(usage=__doc__)
    parser.add_argument("--mate", default=MATE)
    parser.add_argument("--lomiri", default=LOMIRI)
    parser.add_argument("--count", type=int, default=24)
    parser.add_argument("--side", type=int, default=1024)
    parser.add_argument("--mozjpeg", action="store_true")
    parser.add_argument("--444", dest="full", action="store_true")
    chosen = parser.parse_args()
    savings: Dict[str, List[List[float]]] = {}
    times: Dict[str, float] = {}
    psnr: List[List[float]] = []
    pixels = 0
    for path in photographs(chosen.mate, chosen.lomiri, chosen.count):
        with Image.open(path) as file:
            picture = file.convert("RGB")
        picture.thumbnail((chosen.side, chosen.side), Image.Resampling.LANCZOS)
        pixels += picture.width * picture.height

        def pillow(quality: int, picture: Any = picture) -> bytes:
            out = io.BytesIO()
            sampling = 0 if chosen.full else 2
            picture.save(out, "JPEG", quality=quality, optimize=True, progressive=True, subsampling=sampling)
            return out.getvalue()

        source = wherry.Image(numpy.asarray(picture))

        def ours(quality: int, source: wherry.Image = source) -> bytes:
            sampling = 444 if chosen.full else 420
            made = source.compress(quality / 100, format="jpeg", smallest=True, subsampling=sampling)
            return bytes(made.content)

        base, base_time = curve(picture, pillow, THEIRS)
        similar, size, noise = (numpy.array(column) for column in zip(*base))
        times["Pillow"] = times.get("Pillow", 0) + base_time / len(THEIRS)
        encoders: Dict[str, Encoder] = {"Wherry": ours}
        if chosen.mozjpeg:
            import mozjpeg_lossless_optimization  # type: ignore[import-not-found, unused-ignore]

            def lossless(quality: int, pillow: Encoder = pillow) -> bytes:
                return bytes(mozjpeg_lossless_optimization.optimize(pillow(quality)))

            encoders["mozjpeg, lossless"] = lossless
        for name, encode in encoders.items():
            points, spent = curve(picture, encode, OURS)
            times[name] = times.get(name, 0) + spent / len(OURS)
            saved = [100 * (1 - math.exp(bits - float(numpy.interp(at, similar, size)))) for at, bits, _ in points]
            savings.setdefault(name, []).append(saved)
            if name == "Wherry":
                psnr.append(
                    [100 * (1 - math.exp(bits - float(numpy.interp(db, noise, size)))) for _, bits, db in points]
                )
    print(f"{chosen.count} photographs, {pixels / 1e6 / chosen.count:.2f} megapixels on average")
    for name, rows in savings.items():
        by_quality = [f"{quality}: {statistics.median(row[i] for row in rows):.1f}" for i, quality in enumerate(OURS)]
        means = [statistics.mean(row) for row in rows]
        print(
            f"{name}: saves {statistics.median(means):.1f} % at equal SSIM (from {min(means):.1f} to {max(means):.1f})"
        )
        print(f"  by quality: {', '.join(by_quality)}")
    print(f"Wherry: saves {statistics.median(statistics.mean(row) for row in psnr):.1f} % at equal PSNR of RGB")
    for name, spent in times.items():
        print(f"{name}: {spent * 1e9 / pixels:.0f} ms of CPU time per megapixel")


if __name__ == "__main__":
    main()
