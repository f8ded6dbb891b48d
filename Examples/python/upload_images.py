# Wherry: uploads the images of a folder, one request per image
# SPDX-License-Identifier: Apache-2.0
"""Compresses and uploads the images of a folder, and prints the result for each.

python3 upload_images.py https://api.example.org/photos ~/Pictures/Skye --retries 2
"""

import argparse
import pathlib
import sys
from typing import List, Optional

import wherry

KINDS = {".jpg", ".jpeg", ".png"}


def arguments(given: Optional[List[str]] = None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("url", help="URL that receives one form per image")
    parser.add_argument("folder", type=pathlib.Path, help="folder of JPEG and PNG files")
    parser.add_argument("--album", default="", help="form field sent with each image")
    parser.add_argument("--quality", type=float, default=0.8, help="0 to 1 (default: %(default)s)")
    parser.add_argument("--max-side", type=int, default=2048, help="pixels (default: %(default)s)")
    parser.add_argument("--parallel", type=int, default=4, help="at once (default: %(default)s)")
    parser.add_argument("--retries", type=int, default=2, help="per image (default: %(default)s)")
    return parser.parse_args(given)


def show(progress: wherry.Progress) -> None:
    if progress.fraction is not None:
        print(f"\r{100 * progress.fraction:3.0f} %", end="", file=sys.stderr, flush=True)


def describe(name: str, image: wherry.ImageResult) -> str:
    if not image.ok:
        return f"{name}: not sent: {image.reason}: {image.message}"
    return f"{name}: {image.original_bytes} bytes, sent as {image.encoded_bytes}"


def main() -> int:
    options = arguments()
    try:
        paths = sorted(p for p in options.folder.iterdir() if p.suffix.lower() in KINDS)
    except OSError as error:
        print(error, file=sys.stderr)
        return 2
    if not paths:
        print(f"no images in {options.folder}", file=sys.stderr)
        return 2
    try:
        # guide: begin upload
        small = wherry.Compression(options.quality, type="jpg", max_width=options.max_side, max_height=options.max_side)
        with wherry.Client() as client:
            response = client.upload(
                options.url,
                paths,
                name="photo",
                compression=small,
                fields={"album": options.album},
                separate=options.parallel,  # one request per image, this many at once
                image_retries=options.retries,  # retries per image after transient failures
                progress=show,
            )
        images = response.images
        # guide: end upload
    except KeyboardInterrupt:
        print("\ninterrupted; images sent so far stay on the server", file=sys.stderr)
        return 130
    except wherry.WherryError as error:  # the other images are still sent
        images = error.images
        if not images:
            print(f"{error.reason}: {error.message}", file=sys.stderr)
            return 1
    print(file=sys.stderr)
    for path, image in zip(paths, images):
        print(describe(path.name, image))
    sent = sum(image.ok for image in images)
    print(f"{sent} of {len(paths)} sent")
    return 0 if sent == len(paths) else 1


if __name__ == "__main__":
    sys.exit(main())
