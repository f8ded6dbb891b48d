# Wherry: downloads from a server with small ranges, killed repeatedly
# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import http.server
import os
import re
import subprocess
import sys
import threading
import time
from typing import Any, Iterator

import pytest
from conftest import PATIENCE

import wherry

SIZE = 24 << 20
PIECE = 256 << 10


class Slices(http.server.BaseHTTPRequestHandler):
    """Responds with at most 256 KiB per request, at 2.5 MiB per second."""

    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        asked = re.fullmatch(r"bytes=(\d+)-(\d*)", self.headers.get("Range", ""))
        start = int(asked[1]) if asked else 0
        wanted = int(asked[2]) + 1 if asked and asked[2] else SIZE
        end = min(start + PIECE, wanted)
        self.send_response(206 if asked else 200)
        self.send_header("ETag", '"v1"')
        if asked:
            self.send_header("Content-Range", f"bytes {start}-{end - 1}/{SIZE}")
        self.send_header("Content-Length", str((end - start) if asked else SIZE))
        self.end_headers()
        try:
            self.wfile.write(bytes(end - start))
            self.wfile.flush()
            # As slow as a network; no test step waits for it.
            time.sleep(0.1)
        except OSError:
            pass
        self.close_connection = not asked

    def log_message(self, *_: Any) -> None:
        pass


@pytest.fixture
def slices() -> Iterator[str]:
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Slices)
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}/file"
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


CHILD = """
import sys, wherry
with wherry.Client(timeout=None) as client:
    client.download(sys.argv[1], sys.argv[2], segments=int(sys.argv[3]))
"""


# Each response restarted the second until the next checkpoint, so that nothing was ever saved:
# three lives of 21 MB each saved nothing.
@pytest.mark.parametrize("segments", [1, 3])
def test_DR20_every_run_of_a_download_keeps_its_bytes_although_ranges_are_small(
    slices: str, tmp_path: Any, segments: int
) -> None:
    path = tmp_path / "file"
    kept = 0.0
    for _ in range(3):
        child = subprocess.Popen(
            [sys.executable, "-c", CHILD, slices, path, str(segments)],
            env={**os.environ, "PYTHONPATH": os.path.dirname(os.path.dirname(wherry.__file__))},
        )
        try:
            limit = time.monotonic() + PATIENCE
            while child.poll() is None and time.monotonic() < limit:
                if wherry.partial_ratio(path) > kept + 0.05:
                    break
                time.sleep(0.02)
            assert child.poll() is None, "it ended before a checkpoint"
        finally:
            child.kill()
            child.wait()
        now = wherry.partial_ratio(path)
        assert now > kept + 0.05
        kept = now
