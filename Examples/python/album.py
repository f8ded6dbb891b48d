# Wherry: an album of pictures, made smaller on the way
# SPDX-License-Identifier: Apache-2.0
"""python3 album.py URL PICTURE..."""

import sys
from typing import List

import wherry


def main(url: str, pictures: List[str]) -> int:
    small = wherry.Compression(0.8, type="jpg", max_width=1600)
    with wherry.Client() as client:
        answer = client.upload(
            url,
            pictures,
            name="photo",
            compression=small,
            fields={"album": "Ferien"},
            progress=lambda p: print(f"\r{100 * (p.fraction or 0):3.0f} %", end=""),
        )
    print()
    for failed in answer.failed_images:
        print(f"{failed.file_name}: {failed.message}", file=sys.stderr)
    print(answer.status_code, len(answer.json()["files"]), "pictures")
    return 0 if answer.ok else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], sys.argv[2:]))
