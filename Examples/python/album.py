# Wherry: an album of pictures, made smaller on the way
# SPDX-License-Identifier: Apache-2.0
"""python3 album.py URL PICTURE..."""

import sys
from typing import List

import wherry


def main(url: str, pictures: List[str]) -> int:
    small = wherry.Compression(0.8, type="jpg", max_width=1600)
    try:
        with wherry.Client() as client:
            answer = client.upload(
                url,
                pictures,
                name="photo",
                compression=small,
                fields={"album": "Ferien"},
                progress=lambda p: print(f"\r{100 * (p.fraction or 0):3.0f} %", end=""),
            )
    except wherry.WherryError as error:  # a broken picture, no connection: nothing was kept
        print(f"{error.reason}: {error}", file=sys.stderr)
        for failed in error.failed_images:
            print(f"{failed.file_name}: {failed.message}", file=sys.stderr)
        return 1
    print()
    if not answer.ok:  # the server's own words, which need not be JSON
        print(f"refused with {answer.status_code}: {answer.text}", file=sys.stderr)
        return 1
    print(answer.status_code, len(answer.json()["files"]), "pictures")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], sys.argv[2:]))
