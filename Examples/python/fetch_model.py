# Wherry: downloads one large file over several connections, and resumes after Ctrl-C
# SPDX-License-Identifier: Apache-2.0
"""Downloads one large file, such as a model, and checks its digest.

Ctrl-C keeps the partial file. Run the same command again to resume.

    python3 fetch_model.py https://example.org/model.bin model.bin --sha256 9f86d0... \\
        --mirror https://mirror.example.org/model.bin
"""

import argparse
import os
import sys

import wherry


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("url")
    parser.add_argument("path", help="target file; missing folders are created")
    parser.add_argument("--sha256", required=True, help="expected digest of the file")
    parser.add_argument("--mirror", action="append", default=[], help="mirror URL of the file")
    parser.add_argument("--segments", type=int, default=4, help="connections (1 to 16)")
    parser.add_argument("--retries", type=int, default=5, help="in a row (default: %(default)s)")
    return parser.parse_args()


class Progress:
    """Prints the progress on one line."""

    def __init__(self) -> None:
        self.began = False

    def __call__(self, progress: wherry.Progress) -> None:
        if not self.began and progress.resumed_at_bytes:
            print(f"resuming at byte {progress.resumed_at_bytes}", file=sys.stderr)
        self.began = True
        total = "?" if progress.total_bytes is None else f"{progress.total_bytes / 1e6:.1f}"
        speed = (progress.bytes_per_second or 0) / 1e6
        line = f"{progress.done_bytes / 1e6:.1f} of {total} MB, {speed:.1f} MB/s"
        if progress.remaining is not None:
            line += f", {progress.remaining:.0f} s left"
        print(f"\r{line:50}", end="", file=sys.stderr, flush=True)


def main() -> int:
    options = arguments()
    if os.path.exists(options.path):  # the file appears only when it is complete and verified
        print(f"{options.path} already exists")
        return 0
    try:
        # guide: begin download
        with wherry.Client() as client:
            path = client.download(
                options.url,
                options.path,
                sha256=options.sha256,
                mirrors=options.mirror,  # tried in order; each resumes the partial file
                segments=options.segments,
                max_retries=options.retries,
                make_directories=True,
                progress=Progress(),
            )
        # guide: end download
    except KeyboardInterrupt:
        kept = 100 * wherry.partial_ratio(options.path)
        print(f"\n{kept:.0f} % kept; run the same command to resume", file=sys.stderr)
        return 130
    except wherry.WherryError as error:
        print(f"\n{error.reason}: {error.message}", file=sys.stderr)
        if error.partial_path is not None:
            print("partial file kept; run the same command to resume", file=sys.stderr)
        return 1
    print(file=sys.stderr)
    print(f"{path} is complete")
    return 0


if __name__ == "__main__":
    sys.exit(main())
