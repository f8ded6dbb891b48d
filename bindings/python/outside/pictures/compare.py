# Wherry: decodes the test images of other projects, and compares the pixels with Pillow and libvips
# SPDX-License-Identifier: Apache-2.0
"""usage: compare.py FOLDER [--mutations COUNT]

Decodes each image in FOLDER with Wherry, Pillow, and libvips (pyvips), upright and as RGBA. Every difference must be
explained in differences.txt, and every line of that file must explain one. With --mutations, also runs mutations.py for
COUNT images, in child processes.
"""

from __future__ import annotations

import argparse
import fnmatch
import pathlib
import subprocess
import sys
import warnings
from typing import Any, Dict, Iterator, List, NamedTuple, Optional, Tuple

import numpy
import pyvips
from mutations import pictures
from PIL import Image, ImageOps

import wherry

HERE = pathlib.Path(__file__).parent
#: The largest difference of a sample that rounding in other versions of the codecs explains.
ROUNDING = 3
#: The number of mutated images in a child process.
BATCH = 2_000
Pixels = Any


class Difference(NamedTuple):
    """A difference. Its kind is "pixels", "size", "refused" by Wherry, or "accepted" only by Wherry."""

    path: str
    program: str
    kind: str
    detail: str


class Explanation(NamedTuple):
    pattern: str
    program: str
    kind: str
    reason: str

    def explains(self, found: Difference) -> bool:
        return (
            self.kind == found.kind
            and self.program in (found.program, "*")
            and fnmatch.fnmatch(found.path, self.pattern)
        )


def explanations() -> Iterator[Explanation]:
    for line in (HERE / "differences.txt").read_text().splitlines():
        if line and not line.startswith("#"):
            pattern, program, kind, reason = line.split(maxsplit=3)
            yield Explanation(pattern, program, kind, reason)


def of_wherry(path: pathlib.Path) -> Tuple[Optional[Pixels], str]:
    try:
        return numpy.asarray(wherry.Image(path).pixels("rgba", animated="first")), ""
    except wherry.WherryError as error:
        return None, str(error)


def of_pillow(path: pathlib.Path) -> Tuple[Optional[Pixels], str]:
    try:
        with Image.open(path) as image:
            image.load()
            return numpy.asarray(ImageOps.exif_transpose(image).convert("RGBA")), ""
    except Exception as error:  # Pillow raises many types, such as SyntaxError and struct.error.
        return None, f"{type(error).__name__}: {error}"


def of_vips(path: pathlib.Path) -> Tuple[Optional[Pixels], str]:
    try:
        image = pyvips.Image.new_from_file(str(path), fail_on="error").autorot()
        if image.format == "ushort":
            image = (image / 257).rint().cast("uchar").copy(interpretation="srgb" if image.bands > 2 else "b-w")
        rows = image.colourspace("srgb").numpy()
    except pyvips.Error as error:
        return None, str(error).strip().splitlines()[-1]
    if rows.ndim == 2:
        rows = rows[:, :, None]
    if rows.shape[2] < 3:
        rows = numpy.concatenate([rows[:, :, :1]] * 3 + [rows[:, :, 1:]], 2)
    if rows.shape[2] == 3:
        rows = numpy.concatenate([rows, numpy.full_like(rows[:, :, :1], 255)], 2)
    return rows, ""


PROGRAMS = {"Pillow": of_pillow, "libvips": of_vips}


def compared(
    path: str, ours: Tuple[Optional[Pixels], str], program: str, theirs: Tuple[Optional[Pixels], str]
) -> Optional[Difference]:
    a, b = ours[0], theirs[0]
    if a is None and b is None:
        return None
    if a is None:
        return Difference(path, program, "refused", ours[1])
    if b is None:
        return Difference(path, program, "accepted", theirs[1])
    if a.shape != b.shape:
        return Difference(path, program, "size", f"{a.shape[1]}x{a.shape[0]} and {b.shape[1]}x{b.shape[0]}")
    # The colors of transparent pixels do not matter.
    visible = (a[..., 3:] > 0) | (b[..., 3:] > 0)
    worst = int((numpy.abs(a.astype(int) - b) * visible).max())
    return None if worst <= ROUNDING else Difference(path, program, "pixels", f"by up to {worst}")


def compare(folder: pathlib.Path, files: List[pathlib.Path]) -> int:
    """Prints the unexplained differences and the explanations that explain nothing, and returns their number."""
    used: Dict[Explanation, int] = {each: 0 for each in explanations()}
    faults = differences = 0
    for file in files:
        ours = of_wherry(file)
        name = file.relative_to(folder).as_posix()
        for program, decode in PROGRAMS.items():
            found = compared(name, ours, program, decode(file))
            if found is None:
                continue
            differences += 1
            matching = [each for each in used if each.explains(found)]
            for each in matching[:1]:
                used[each] += 1
            if not matching:
                faults += 1
                print(f"unexplained: {found.path} {found.program} {found.kind}: {found.detail}")
    for each, count in used.items():
        if count == 0:
            faults += 1
            print(f"explains nothing: {each.pattern} {each.program} {each.kind}")
    print(f"{len(files)} images, {differences} differences, {faults} faults")
    return faults


def mutate_all(folder: pathlib.Path, count: int) -> int:
    """Decodes mutated images in child processes. Returns the number of processes that failed."""
    faults = decoded = 0
    for seed, start in enumerate(range(0, count, BATCH)):
        size = min(BATCH, count - start)
        command = [sys.executable, str(HERE / "mutations.py"), str(folder), str(seed), str(size)]
        done = subprocess.run(command, capture_output=True, text=True, timeout=1_800)
        if done.returncode != 0:
            faults += 1
            print(f"mutations of seed {seed} ended with {done.returncode}: {done.stderr[-2_000:]}", flush=True)
        else:
            decoded += int(done.stdout)
    print(f"{count} mutated images, of which {decoded} could be decoded, {faults} faults")
    return faults


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--mutations", type=int, default=0)
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    Image.MAX_IMAGE_PIXELS = None
    faults = compare(options.folder, pictures(options.folder))
    if options.mutations:
        faults += mutate_all(options.folder, options.mutations)
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
