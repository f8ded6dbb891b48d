# Wherry: compresses and uploads an album of images
# SPDX-License-Identifier: Apache-2.0
"""python3 album.py URL IMAGE..."""

import sys
from typing import List

import wherry


def main(url: str, images: List[str]) -> int:
    small = wherry.Compression(0.8, type="jpg", max_width=1600)
    try:
        with wherry.Client() as client:
            response = client.upload(
                url,
                images,
                name="photo",
                compression=small,
                fields={"album": "Ferien"},
                progress=lambda p: print(f"\r{100 * (p.fraction or 0):3.0f} %", end=""),
            )
    except wherry.WherryError as error:  # one failure fails the upload
        print(f"{error.reason}: {error}", file=sys.stderr)
        for failed in error.failed_images:
            print(f"{failed.file_name}: {failed.message}", file=sys.stderr)
        return 1
    print()
    if not response.ok:  # the body of an error may not be JSON
        print(f"refused with {response.status_code}: {response.text}", file=sys.stderr)
        return 1
    print(response.status_code, len(response.json()["files"]), "images")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], sys.argv[2:]))
