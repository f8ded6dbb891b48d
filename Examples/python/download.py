# Wherry: a download that can be resumed
# SPDX-License-Identifier: Apache-2.0
"""python3 download.py URL PATH [SHA256]"""

import sys
from typing import Optional

import wherry


def show(progress: wherry.Progress) -> None:
    done = progress.done_bytes / 1e6
    total = "?" if progress.total_bytes is None else f"{progress.total_bytes / 1e6:.1f}"
    print(f"\r{done:.1f} of {total} MB", end="", file=sys.stderr)


def main(url: str, path: str, sha256: Optional[str] = None) -> int:
    with wherry.Client() as client:
        try:
            target = client.download(url, path, sha256=sha256, progress=show)
        except KeyboardInterrupt:
            print(f"\n{100 * wherry.partial_ratio(path):.0f} % kept; run it again to resume")
            return 130
        except wherry.WherryError as error:
            print(f"\n{error}; kept: {error.partial_path}", file=sys.stderr)
            return 1
    print(f"\n{target}")
    return 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
