# Wherry: tests of the test server's /bytes route.
# SPDX-License-Identifier: Apache-2.0
"""Tests of validators, ranges and their faults."""

from __future__ import annotations

import base64
import gzip
import hashlib
import os
import shutil
import subprocess
import tempfile
import unittest
from typing import Any, Tuple

from test_testserver import HERE, ServerCase
from wherry_testserver import pattern


class Files(ServerCase):
    size = 200_000

    def whole(self, seed: int = 1) -> bytes:
        return pattern.data(seed, 0, self.size)

    def ranged(self, query: str, first: int = 1000, **headers: str) -> Tuple[Any, bytes]:
        fields = {"Range": f"bytes={first}-"}
        fields.update({name.replace("_", "-"): value for name, value in headers.items()})
        return self.ask(f"/bytes/{self.size}?{query}", headers=fields)

    def test_bytes_match_the_digest_route(self) -> None:
        _, body = self.ask("/bytes/1060921?seed=7")
        _, digest = self.ask("/digest/1060921?seed=7")

        self.assertEqual(len(body), 1060921)
        self.assertEqual(hashlib.sha256(body).hexdigest(), digest.decode())

    def test_the_C_header_produces_the_same_bytes(self) -> None:
        compiler = shutil.which("cc") or shutil.which("clang")
        self.assertIsNotNone(compiler, "no C compiler: run scripts/setup")
        with tempfile.TemporaryDirectory() as folder:
            program = os.path.join(folder, "pattern")
            code = (
                '#include <stdio.h>\n#include "pattern.h"\nint main(void) {\n'
                "  for (uint64_t i = 0; i < 140000; i++) putchar(test_pattern_byte(9, i));\n"
                "  return 0;\n}\n"
            )
            command = [str(compiler), "-x", "c", "-", "-o", program]
            include = os.path.join(HERE, "wherry_testserver")
            subprocess.run([*command, "-I", include], input=code.encode(), check=True)
            made = subprocess.run([program], capture_output=True, check=True).stdout

        self.assertEqual(made, pattern.data(9, 0, 140_000))

    def test_ranges_are_honored(self) -> None:
        response, body = self.ranged("")
        suffix = self.ask(f"/bytes/{self.size}", headers={"Range": "bytes=-5"})[1]

        self.assertEqual(response.status, 206)
        self.assertEqual(response.getheader("Content-Range"), "bytes 1000-199999/200000")
        self.assertEqual(body, self.whole()[1000:])
        self.assertEqual(suffix, self.whole()[-5:])

    def test_if_range_decides_between_a_range_and_the_complete_file(self) -> None:
        same, _ = self.ranged("etag=x", If_Range='"x"')
        other, _ = self.ranged("etag=x", If_Range='"y"')
        weak, _ = self.ranged("etag=x&weak=1", If_Range='W/"x"')
        ignored, _ = self.ranged("etag=x&ignore_if_range=1", If_Range='"y"')
        date, _ = self.ranged("etag=none", If_Range="Mon, 01 Jan 2024 00:00:00 GMT")
        whole, _ = self.ranged("etag=x&no_if_range=1", If_Range='"x"')
        match, _ = self.ranged("etag=x&no_if_range=1", If_Match='"x"')

        statuses = [r.status for r in (same, other, weak, ignored, date, whole, match)]
        self.assertEqual(statuses, [206, 200, 200, 206, 206, 200, 206])

    def test_the_server_sends_416_and_412_and_304(self) -> None:
        beyond, _ = self.ranged("", first=self.size)
        changed, _ = self.ranged("etag=x", If_Match='"y"')
        same, _ = self.ask(f"/bytes/{self.size}?etag=x", headers={"If-None-Match": 'W/"x"'})

        self.assertEqual(beyond.status, 416)
        self.assertEqual(beyond.getheader("Content-Range"), "bytes */200000")
        self.assertEqual((changed.status, same.status), (412, 304))

    def test_content_changes_between_attempts(self) -> None:
        target = f"/@changes/bytes/{self.size}?etag=a&etag_next=b&seed_next=2&size_next=1000"

        first, one = self.ask(target)
        second, two = self.ask(target)

        self.assertEqual((first.getheader("ETag"), one), ('"a"', self.whole()))
        self.assertEqual((second.getheader("ETag"), two), ('"b"', pattern.data(2, 0, 1000)))

    def test_every_invalid_range_has_its_own_fault(self) -> None:
        expected = {
            "gap": ("bytes 2000-199999/200000", self.whole()[2000:]),
            "early": ("bytes 0-199999/200000", self.whole()),
            "zero": ("bytes 0-199999/200000", self.whole()),
            "missing": (None, self.whole()),
            "total": ("bytes 1000-199999/204096", self.whole()[1000:]),
            "unknown": ("bytes 1000-199999/*", self.whole()[1000:]),
            "garbage": ("bytes from here to there", self.whole()[1000:]),
        }
        for kind, (field, content) in expected.items():
            response, body = self.ranged(f"bad_range={kind}")
            self.assertEqual(response.status, 206, kind)
            self.assertEqual(response.getheader("Content-Range"), field, kind)
            self.assertEqual(body, content, kind)
        packed, body = self.ranged("bad_range=encoding")
        self.assertEqual(packed.getheader("Content-Encoding"), "gzip")
        self.assertEqual(gzip.decompress(body), self.whole()[1000:])
        several, _ = self.ranged("bad_range=multipart")
        self.assertIn("multipart/byteranges", several.getheader("Content-Type"))
        ignored, body = self.ranged("ranges=0")
        self.assertEqual((ignored.status, body), (200, self.whole()))

    def test_bad_times_counts_only_range_requests(self) -> None:
        query = "bad_range=gap&bad_times=1&key=bad-times"
        self.ask(f"/bytes/{self.size}?{query}")

        shifted, _ = self.ranged(query)
        right, _ = self.ranged(query)

        self.assertEqual(shifted.getheader("Content-Range"), "bytes 2000-199999/200000")
        self.assertEqual(right.getheader("Content-Range"), "bytes 1000-199999/200000")

    def test_digests_are_right_or_wrong_as_requested(self) -> None:
        digest = base64.b64encode(pattern.digest(1, 1000)).decode()

        right, _ = self.ask("/bytes/1000?repr_digest=right&content_md5=wrong")
        wrong, body = self.ask("/bytes/1000?repr_digest=wrong&flip=500")

        self.assertEqual(right.getheader("Repr-Digest"), f"sha-256=:{digest}:")
        self.assertNotEqual(wrong.getheader("Repr-Digest"), f"sha-256=:{digest}:")
        plain = pattern.data(1, 0, 1000)
        self.assertEqual([i for i in range(1000) if body[i] != plain[i]], [500])

    def test_every_framing_delivers_the_body(self) -> None:
        chunked = self.raw(b"GET /bytes/10?chunked=1&chunk=4&close=1&trailer=X-T:v HTTP/1.1\r\nHost: x\r\n\r\n")
        cut = self.raw(b"GET /bytes/10?chunked_cut=1 HTTP/1.1\r\nHost: x\r\n\r\n")
        closed = self.raw(b"GET /bytes/10?no_length=1 HTTP/1.1\r\nHost: x\r\n\r\n")
        more = self.raw(b"GET /bytes/10?more=3 HTTP/1.1\r\nHost: x\r\n\r\n")
        wrong = self.raw(b"GET /bytes/10?length=99 HTTP/1.1\r\nHost: x\r\n\r\n")

        self.assertTrue(chunked.endswith(b"0\r\nX-T: v\r\n\r\n"))
        self.assertNotIn(b"\r\n0\r\n", cut)
        self.assertNotIn(b"Content-Length", closed)
        self.assertTrue(closed.endswith(pattern.data(1, 0, 10)))
        self.assertTrue(more.endswith(pattern.data(1, 0, 10) + b"+++"))
        self.assertIn(b"Content-Length: 99\r\n", wrong)

    def test_gzip_bytes_unpack(self) -> None:
        _, packed = self.ask("/bytes/100000?gzip=1")

        self.assertEqual(gzip.decompress(packed), self.whole()[:100000])


if __name__ == "__main__":
    unittest.main()
