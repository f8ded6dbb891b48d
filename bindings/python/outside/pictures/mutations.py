# Wherry: decodes images of which bytes were changed at random
# SPDX-License-Identifier: Apache-2.0
"""usage: mutations.py FOLDER SEED COUNT

Changes COUNT small images of FOLDER at random, decodes each one, and passes it to two other functions that decode. No
call may crash, hang, or raise an error that is not about an image, and decoded images must have the size of their
header. Prints how many images could be decoded.
"""

from __future__ import annotations

import pathlib
import random
import sys
from typing import Any, Callable, Dict, List

import wherry

SUFFIXES = {".png", ".apng", ".jpg", ".jpeg", ".jpe", ".jfif", ".mpo", ".webp", ".gif", ".avif", ".heic", ".heif"}
#: The largest original in bytes.
SMALL = 40_000
#: Every image must be decoded within these limits.
LIMITS: Dict[str, Any] = {"animated": "first", "max_pixels": 4_000_000, "max_memory_bytes": 128 << 20, "deadline": 10}
#: Each takes another path through the decoder and the encoder.
COMPRESSIONS = [
    wherry.Compression(1, **LIMITS),
    wherry.Compression(1, max_width=64, format="png", **LIMITS),
    wherry.Compression(0.5, never_larger=False, **LIMITS),
    wherry.Compression(0.7, format="jpeg", progressive=True, metadata="all", keep_orientation=True, **LIMITS),
    wherry.Compression(0.8, max_width=30, max_height=30, resize_mode="crop", sharpen=100, **LIMITS),
    wherry.Compression(0.8, max_width=90, max_height=70, resize_mode="pad", format="jpeg", **LIMITS),
    wherry.Compression(0.9, max_bytes=2_000, **LIMITS),
    wherry.Compression(0.6, smallest=True, format="jpeg", metadata="no_gps", **LIMITS),
]
#: The errors that a damaged image may cause.
EXPECTED = (wherry.ImageError, wherry.LimitError)


def pictures(folder: pathlib.Path) -> List[pathlib.Path]:
    """The image files in a folder and its subfolders, in a fixed order."""
    return sorted(file for file in folder.rglob("*") if file.suffix.lower() in SUFFIXES and file.is_file())


def mutated(original: bytes, generator: random.Random) -> bytes:
    """Changes up to eight bytes, cuts the end off, or repeats or removes a part."""
    data = bytearray(original)
    for _ in range(generator.randint(1, 8)):
        data[generator.randrange(len(data))] = generator.choice((0, 1, 0x7F, 0x80, 0xFF, generator.randrange(256)))
    way = generator.randrange(8)
    start = generator.randrange(len(data))
    end = min(len(data), start + generator.randrange(1, 400))
    if way == 0:
        del data[start:]
    elif way == 1:
        del data[start:end]
    elif way == 2:
        data[start:start] = data[start:end]
    return bytes(data)


def decode(data: bytes, generator: random.Random) -> bool:
    """Decodes an image, and passes it to two other functions; returns whether its pixels could be decoded."""
    image = wherry.Image(data)
    try:
        width, height = image.info.upright_size
        shape = image.pixels("rgba", **LIMITS).shape
        assert shape == (height, width, 4), (shape, width, height)
        is_decoded = True
    except EXPECTED:
        is_decoded = False
    uses: List[Callable[[], object]] = [
        lambda: image.compress(generator.choice(COMPRESSIONS)),
        lambda: image.compress_many(generator.sample(COMPRESSIONS, 2)),
        lambda: image.pixels(max_width=20, sharpen=50, **LIMITS),
        lambda: image.hash(max_pixels=4_000_000, deadline=10),
        lambda: image.compare(data, max_pixels=4_000_000, deadline=10),
    ]
    for use in generator.sample(uses, 2):
        try:
            use()
        except EXPECTED:
            pass
    return is_decoded


def main() -> int:
    folder, seed, count = pathlib.Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3])
    originals = [file.read_bytes() for file in pictures(folder) if 0 < file.stat().st_size <= SMALL]
    generator = random.Random(seed)
    decoded = sum(decode(mutated(generator.choice(originals), generator), generator) for _ in range(count))
    print(decoded)
    return 0


if __name__ == "__main__":
    sys.exit(main())
