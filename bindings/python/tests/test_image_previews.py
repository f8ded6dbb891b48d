# Wherry: row I2 of features.md
# SPDX-License-Identifier: Apache-2.0
"""Previews of images that are loading."""

from __future__ import annotations

import asyncio
import base64
import functools
import gc
import io
import struct
import warnings
import zlib
from typing import Any, List, Tuple

import pytest
from conftest import PATIENT, Server

import wherry

Pillow = pytest.importorskip("PIL.Image")
numpy: Any = pytest.importorskip("numpy")


def pixels(width: int = 160, height: int = 120) -> Any:
    y, x = numpy.mgrid[0:height, 0:width]
    planes = [128 + 100 * numpy.sin(x / (17 + 3 * i) + y / (29 - 4 * i)) for i in range(3)]
    return numpy.clip(numpy.stack(planes, 2), 0, 255).astype(numpy.uint8)


def jpeg_scans(**options: Any) -> List[bytes]:
    """A progressive JPEG in pieces. Each one completes a scan: it ends after the header of the next scan."""
    file = io.BytesIO()
    Pillow.fromarray(pixels()).save(file, "JPEG", progressive=True, quality=90, **options)
    data = file.getvalue()
    starts = [i for i in range(len(data) - 1) if data[i : i + 2] == b"\xff\xda"]
    ends = [i + 2 + data[i + 3] for i in starts[1:]] + [len(data)]
    return [data[start:end] for start, end in zip([0, *ends], ends)]


def png_passes(array: Any) -> List[bytes]:
    """An interlaced PNG of RGB pixels in seven pieces. Each one completes a pass."""

    def chunk(kind: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    height, width = array.shape[:2]
    packer = zlib.compressobj()
    pieces = []
    steps = ((0, 0, 8, 8), (4, 0, 8, 8), (0, 4, 4, 8), (2, 0, 4, 4), (0, 2, 2, 4), (1, 0, 2, 2), (0, 1, 1, 2))
    for left, top, across, down in steps:
        rows = array[top::down, left::across]
        data = packer.compress(b"".join(b"\0" + row.tobytes() for row in rows))
        pieces.append(data + packer.flush(zlib.Z_SYNC_FLUSH))
    pieces[-1] += packer.flush()
    chunks = [chunk(b"IDAT", piece) for piece in pieces]
    header = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 1)
    chunks[0] = b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunks[0]
    chunks[-1] += chunk(b"IEND", b"")
    return chunks


def serve(server: Server, name: str, pieces: List[bytes]) -> Tuple[str, List[str]]:
    """Serves the pieces. Returns the URL, and the gates that the server waits for after each piece but the last."""
    gates = [f"{server.key}-{name}-{number}" for number in range(1, len(pieces))]
    steps: List[List[str]] = [
        ["send", f"HTTP/1.1 200 OK\r\nContent-Length: {sum(map(len, pieces))}\r\n\r\n"],
    ]
    for piece, gate in zip(pieces, [*gates, ""]):
        steps.append(["send_base64", base64.b64encode(piece).decode()])
        if gate:
            steps.append(["gate", gate])
    server.script(name, [{"raw": [*steps, ["fin"]]}])
    return server.url(f"/s/{name}"), gates


def test_I2_each_scan_of_a_progressive_JPEG_is_shown(server: Server) -> None:
    pieces = jpeg_scans()
    assert len(pieces) > 5
    url, gates = serve(server, "a", pieces)
    shown: List[Any] = []

    def show(preview: memoryview) -> None:
        shown.append(numpy.asarray(preview))
        # The server sends the next scan only now.
        server.open_gate(gates[len(shown) - 1])

    with wherry.Client(**PATIENT) as client:
        image = numpy.asarray(client.images.load(url, (80, 80), on_preview=show))
        assert client.images.usage().images == 1
        assert client.images.load(url, (80, 80), on_preview=shown.append) is not None
    assert len(shown) == len(gates) == len(pieces) - 1
    assert all(preview.shape == image.shape == (60, 80, 3) for preview in shown)
    errors = [numpy.abs(preview.astype(int) - image).mean() for preview in shown]
    assert errors[0] > errors[-1] and errors[0] < 40
    expected = wherry.Image(b"".join(pieces)).pixels(max_width=80, max_height=80)
    assert numpy.array_equal(image, numpy.asarray(expected))


def test_I2_each_pass_of_an_interlaced_PNG_is_shown(server: Server) -> None:
    array = pixels(61, 47)
    url, gates = serve(server, "a", png_passes(array))
    shown: List[Any] = []

    def show(preview: memoryview) -> None:
        shown.append(numpy.asarray(preview))
        server.open_gate(gates[len(shown) - 1])

    with wherry.Client(**PATIENT) as client:
        image = numpy.asarray(client.images.load(url, on_preview=show))
    assert numpy.array_equal(image, array) and len(shown) == 6
    # Each pixel of a pass fills its block.
    assert numpy.array_equal(shown[0], numpy.repeat(numpy.repeat(array[::8, ::8], 8, 0), 8, 1)[:47, :61])
    assert numpy.array_equal(shown[5][::2], array[::2])


def test_I2_an_exception_cancels_the_load(server: Server) -> None:
    url, _ = serve(server, "a", jpeg_scans())

    def fail(_: memoryview) -> None:
        raise ValueError("enough")

    async def coroutine(_: object) -> None:
        raise AssertionError

    with wherry.Client(**PATIENT) as client:
        with pytest.raises(ValueError, match="enough"):
            client.images.load(url, on_preview=fail)
        server.wait(ended=1)
        wrong: Any = 5
        with pytest.raises(TypeError, match="on_preview"):
            client.images.load(url, on_preview=wrong)
        calls: List[Tuple[str, Any]] = [
            ("on_preview", client.images.load), ("progress", client.get), ("on_cached", client.get),
        ]  # fmt: skip
        for name, call in calls:
            for unawaited in (coroutine, functools.partial(coroutine, None)):
                with pytest.raises(TypeError, match=f"{name}= takes a plain function"):
                    call(url, **{name: unawaited})
        assert client.images.usage().images == 0


def test_I2_R34_a_callback_that_returns_a_coroutine_ends_the_transfer(server: Server) -> None:
    urls = [serve(server, name, jpeg_scans())[0] for name in ("a", "b")]
    text = server.url("/text/a")
    seen: List[Any] = []

    async def coroutine(value: object) -> None:
        seen.append(value)

    class Shows:
        async def __call__(self, value: object) -> None:
            seen.append(value)

    def start(value: object) -> Any:
        return asyncio.ensure_future(coroutine(value))

    async def load(client: wherry.AsyncClient) -> None:
        callbacks: List[Any] = [lambda value: coroutine(value), Shows()]
        for url, function in zip(urls, callbacks):
            with pytest.raises(TypeError, match="on_preview= takes a plain function, not one that returns a coroutine"):
                await client.images.load(url, on_preview=function)
            with pytest.raises(TypeError, match="progress= takes a plain function"):
                await client.get(text, progress=function)
            with pytest.raises(TypeError, match="on_cached= takes a plain function"):
                await client.get(text, cache=60, on_cached=function)
            group = client.group(progress=function)
            group.get(text)
            with pytest.raises(TypeError, match="progress= takes a plain function"):
                await group.run()
        with pytest.raises(TypeError, match="progress= takes a plain function"):
            client.group(progress=coroutine)
        # A task runs without an await.
        assert not seen and (await client.get(text, progress=start)).status_code == 200
        await asyncio.sleep(0)
        assert seen

    async def main() -> None:
        async with wherry.AsyncClient(**PATIENT, cache=True) as client:
            await client.get(text, cache=60)
            await load(client)

    with warnings.catch_warnings():
        warnings.simplefilter("error")  # No coroutine may be left without an await.
        asyncio.run(main())
        gc.collect()


def test_I2_previews_arrive_in_the_event_loop(server: Server) -> None:
    urls = [serve(server, name, jpeg_scans()) for name in ("a", "b")]

    async def load(client: wherry.AsyncClient, url: str, gates: List[str]) -> int:
        shown = 0

        def show(preview: memoryview) -> None:
            nonlocal shown
            asyncio.get_running_loop()
            assert preview.shape == (120, 160, 4)
            server.open_gate(gates[shown])
            shown += 1

        image = await client.images.load(url, order="rgba", on_preview=show)
        assert image.shape == (120, 160, 4)
        return shown

    async def main() -> None:
        async with wherry.AsyncClient(**PATIENT) as client:
            counts = await asyncio.gather(*(load(client, url, gates) for url, gates in urls))
            assert counts == [len(gates) for _, gates in urls]

    asyncio.run(main())


def test_I2_only_the_body_of_a_success_is_shown(server: Server) -> None:
    body = base64.b64encode(b"".join(jpeg_scans())).decode()
    server.script("gone", [{"status": 404, "body_base64": body}])
    shown: List[memoryview] = []
    with wherry.Client(**PATIENT) as client:
        with pytest.raises(wherry.HTTPStatusError):
            client.images.load(server.url("/s/gone"), on_preview=shown.append)
        with pytest.raises(wherry.ImageError):
            url, gates = serve(server, "cut", jpeg_scans()[:3])
            for gate in gates:
                server.open_gate(gate)
            client.images.load(url, on_preview=shown.append)
    assert len(shown) <= 2


def test_I2_the_sample_of_the_guide_works(server: Server) -> None:
    photo, gates = serve(server, "a", jpeg_scans())
    for gate in gates:
        server.open_gate(gate)
    with wherry.Client(**PATIENT) as client:
        # guide: begin previews
        def show(preview: memoryview) -> None:
            print(preview.shape)  # (600, 800, 3), like the result

        pixels = client.images.load(photo, (800, 600), on_preview=show)
        # guide: end previews
        assert pixels.shape == (120, 160, 3)
