# Wherry: row I1 of features.md
# SPDX-License-Identifier: Apache-2.0
"""Images that are loaded from URLs, decoded, and kept in memory."""

from __future__ import annotations

import asyncio
import base64
import io
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from conftest import PATIENT, Server, until

import wherry

Pillow = pytest.importorskip("PIL.Image")
numpy: Any = pytest.importorskip("numpy")


def picture(width: int = 160, height: int = 120) -> Any:
    """A smooth image as a Pillow image."""
    y, x = numpy.mgrid[0:height, 0:width]
    planes = [128 + 100 * numpy.sin(x / (17 + 3 * i) + y / (29 - 4 * i)) for i in range(3)]
    return Pillow.fromarray(numpy.clip(numpy.stack(planes, 2), 0, 255).astype(numpy.uint8))


def encoded(image: Any, kind: str = "JPEG", **options: Any) -> bytes:
    file = io.BytesIO()
    image.save(file, kind, **options)
    return file.getvalue()


def serve(server: Server, name: str, body: bytes, count: int = 1, **step: Any) -> str:
    """Serves the bytes at a URL, ``count`` times."""
    one = {"status": 200, "body_base64": base64.b64encode(body).decode(), **step}
    server.script(name, [one] * count)
    return server.url(f"/s/{name}")


def test_I1_an_image_is_loaded_once_and_stays_in_memory(server: Server) -> None:
    image = picture()
    url = serve(server, "a", encoded(image, "PNG"))
    with wherry.Client(**PATIENT) as client:
        assert client.images.cached(url) is None
        first = client.images.load(url)
        again = client.images.load(url)
        found = client.images.cached(url)
        assert found is not None
        for array in (first, again, found):
            assert array.shape == (120, 160, 3) and array.readonly
            assert numpy.array_equal(numpy.asarray(array), numpy.asarray(image))
        # The memory is shared.
        assert len({numpy.asarray(array).ctypes.data for array in (first, again, found)}) == 1
        usage = client.images.usage()
        assert (usage.images, usage.image_bytes) == (1, 120 * 160 * 3)
        assert (usage.hits, usage.misses, usage.requests) == (2, 1, 1)
        client.images.clear()
        assert client.images.cached(url) is None and client.images.usage().images == 0
    # The array outlives the memory and the client.
    assert numpy.array_equal(numpy.asarray(first), numpy.asarray(image))
    assert len(server.log()) == 1


@pytest.mark.parametrize(
    "size, mode, shape",
    [
        ((64, 64), "fit", (48, 64, 3)), ((64, 64), "crop", (64, 64, 3)), ((64, 64), "pad", (64, 64, 3)),
        ((80, None), "fit", (60, 80, 3)), ((None, 30), "fit", (30, 40, 3)), ((500, 500), "fit", (120, 160, 3)),
    ],
    ids=str,
)  # fmt: skip
def test_I1_an_image_is_decoded_at_the_size_that_is_needed(server: Server, size: Any, mode: str, shape: Any) -> None:
    image = picture()
    for kind in ("JPEG", "PNG"):
        options = {"quality": 95} if kind == "JPEG" else {}
        url = serve(server, kind, encoded(image, kind, **options))
        with wherry.Client(**PATIENT) as client:
            array = numpy.asarray(client.images.load(url, size, mode=mode)).astype(int)
            assert array.shape == shape
            assert client.images.usage().image_bytes == array.size
            # Equal to what an upload would send.
            sides = {name: side for name, side in zip(("max_width", "max_height"), size) if side is not None}
            resized = wherry.Image(encoded(image, kind, **options)).compress(
                1.0, format="png", resize_mode=mode, **sides
            )
            assert numpy.abs(array - numpy.asarray(resized.pixels("rgb")).astype(int)).mean() < 1.5


def test_I1_an_image_is_upright_and_has_the_order_and_background_asked_for(server: Server) -> None:
    exif = Pillow.Exif()
    exif[0x0112] = 6
    url = serve(server, "turned", encoded(picture(), "JPEG", exif=exif.tobytes()), count=2)
    clear = Pillow.new("RGBA", (8, 8), (0, 0, 0, 0))
    alpha = serve(server, "alpha", encoded(clear, "PNG"), count=3)
    with wherry.Client(**PATIENT) as client:
        assert client.images.load(url).shape == (160, 120, 3)
        assert client.images.load(url, (60, 60), order="gray").shape == (60, 45)
        assert client.images.load(alpha).shape == (8, 8, 4)
        blue = client.images.load(alpha, order="bgra", compression=wherry.Compression(background=0xFF))
        assert blue.shape == (8, 8, 4)
        flat = client.images.load(alpha, order="rgb", compression=wherry.Compression(background=0xFF))
        assert tuple(numpy.asarray(flat)[0, 0]) == (0, 0, 255)


def test_I1_twenty_threads_share_one_request_and_different_sizes_too(server: Server) -> None:
    url = serve(server, "a", encoded(picture())) + "&gate=" + server.gate()
    sizes = [None, (80, 80), (40, 40), (40, 40)]
    with wherry.Client(**PATIENT) as client, ThreadPoolExecutor(20) as threads:
        calls = [threads.submit(client.images.load, url, sizes[number % 4]) for number in range(20)]
        until(lambda: client.count() == 20)
        server.wait(requests=1)
        server.open_gate(server.gate())
        shapes = [call.result().shape for call in calls]
        assert shapes == [(120, 160, 3), (60, 80, 3), (30, 40, 3), (30, 40, 3)] * 5
        usage = client.images.usage()
        assert (usage.images, usage.misses, usage.requests) == (3, 20, 1)
    assert len(server.log()) == 1


def test_I1_tasks_share_a_request_and_the_last_cancel_ends_it(server: Server) -> None:
    url = serve(server, "a", encoded(picture())) + "&gate=" + server.gate()

    async def main() -> None:
        loop = asyncio.get_running_loop()
        async with wherry.AsyncClient(**PATIENT) as client:
            tasks = [asyncio.ensure_future(client.images.load(url, (80, 80))) for _ in range(5)]
            await loop.run_in_executor(None, lambda: server.wait(requests=1))
            tasks[0].cancel()
            with pytest.raises(asyncio.CancelledError):
                await tasks[0]
            await loop.run_in_executor(None, lambda: server.open_gate(server.gate()))
            assert {array.shape for array in await asyncio.gather(*tasks[1:])} == {(60, 80, 3)}
            assert (await client.images.load(url, (80, 80))).shape == (60, 80, 3)
            assert client.images.usage().requests == 1

            last = [asyncio.ensure_future(client.images.load(server.url("/silent"))) for _ in range(2)]
            await loop.run_in_executor(None, lambda: server.wait(requests=2))
            for task in last:
                task.cancel()
            await loop.run_in_executor(None, lambda: server.wait(ended=2))

    asyncio.run(main())
    assert len(server.log()) == 2


def test_I1_a_prefetched_image_needs_no_request(server: Server) -> None:
    urls = [serve(server, name, encoded(picture())) for name in "abc"]
    with wherry.Client(**PATIENT) as client:
        assert client.images.prefetch(urls, (40, 40)) == 3
        client.wait()
        assert [client.images.load(url, (40, 40)).shape for url in urls] == [(30, 40, 3)] * 3
        usage = client.images.usage()
        assert (usage.images, usage.hits, usage.requests) == (3, 3, 3)
    assert len(server.log()) == 3


def test_I1_a_load_raises_the_priority_of_a_prefetch(server: Server) -> None:
    urls = {name: serve(server, name, encoded(picture())) for name in ("first", "a", "b", "c")}
    first = urls["first"] + "&gate=" + server.gate()

    async def main() -> None:
        loop = asyncio.get_running_loop()
        async with wherry.AsyncClient(max_per_host=1, **PATIENT) as client:
            running = asyncio.ensure_future(client.images.load(first))
            await loop.run_in_executor(None, lambda: server.wait(requests=1))
            client.images.prefetch([urls["a"], urls["b"], urls["c"]], priority=-5)
            wanted = asyncio.ensure_future(client.images.load(urls["c"], priority=5))
            while client.count() < 5:
                await asyncio.sleep(0)  # Lets the task start the load.
            await loop.run_in_executor(None, lambda: server.open_gate(server.gate()))
            assert (await running).shape == (await wanted).shape == (120, 160, 3)
            for name in "ab":
                assert (await client.images.load(urls[name])).shape == (120, 160, 3)

    asyncio.run(main())
    names = [request["target"].split("?")[0] for request in server.log()]
    assert names == ["/s/first", "/s/c", "/s/a", "/s/b"]


def test_I1_the_samples_of_the_guide_work(server: Server) -> None:
    photo, *others = [serve(server, name, encoded(picture())) for name in "abc"]
    with wherry.Client(**PATIENT) as client:
        # guide: begin load
        pixels = client.images.load(photo, (100, 100), mode="crop")
        print(pixels.shape)  # (100, 100, 3): a uint8 array, for numpy.asarray(pixels)
        client.images.prefetch(others, (100, 100), mode="crop")
        # guide: end load
        assert pixels.shape == (100, 100, 3)
        client.wait()
        # guide: begin memory
        if client.images.cached(photo, (100, 100), mode="crop") is None:
            print("not in memory")
        usage = client.images.usage()
        print(f"{usage.images} images, {usage.image_bytes} bytes, {usage.hits} hits, {usage.misses} misses")
        client.images.clear()
        # guide: end memory
        assert (usage.images, usage.image_bytes) == (3, 3 * 100 * 100 * 3)


def test_I1_the_least_recently_used_image_is_removed(server: Server) -> None:
    bytes_of_one = 120 * 160 * 3
    urls = [serve(server, name, encoded(picture()), count=2) for name in "abc"]
    with wherry.Client(image_memory_bytes=2 * bytes_of_one, **PATIENT) as client:
        kept = client.images.load(urls[0])
        client.images.load(urls[1])
        client.images.load(urls[0])
        client.images.load(urls[2])
        assert [client.images.cached(url) is not None for url in urls] == [True, False, True]
        client.configure(image_memory_bytes=bytes_of_one)
        assert client.images.usage().images == 1
        client.configure(image_memory_bytes=0)
        assert client.images.usage().images == 0
        assert client.images.load(urls[0]).shape == (120, 160, 3)
        assert client.images.usage().image_bytes == 0
        assert kept[0, 0, 0] == numpy.asarray(kept)[0, 0, 0]


def test_I1_broken_images_and_error_statuses_fail_and_are_not_kept(server: Server) -> None:
    jpeg = encoded(picture(), "JPEG")
    cases: Any = [
        (serve(server, "cut", jpeg[: len(jpeg) // 2], count=2), wherry.ImageError, "truncated_image", {}),
        (serve(server, "html", b"<html>Please log in</html>", count=2), wherry.ImageError, "bad_image", {}),
        (serve(server, "tiff", encoded(picture(), "TIFF"), count=2), wherry.ImageError, "unsupported_image", {}),
        (serve(server, "no", jpeg, count=2, status=404), wherry.HTTPStatusError, "http_status", {}),
        (
            serve(server, "huge", jpeg, count=2), wherry.ImageError, "image_too_large",
            {"compression": wherry.Compression(max_pixels=1000)},
        ),
        (serve(server, "long", jpeg, count=2), wherry.LimitError, "too_large", {"max_body_bytes": 100}),
    ]  # fmt: skip
    with wherry.Client(cache=True, **PATIENT) as client:
        for url, kind, reason, options in cases:
            for _ in range(2):
                with pytest.raises(kind) as caught:
                    client.images.load(url, **options)
                assert caught.value.reason == reason, url
        assert client.images.usage().images == 0
        with pytest.raises(wherry.ArgumentError):
            client.images.load("http://")
        with pytest.raises(wherry.ArgumentError):
            client.images.load(cases[0][0], (0, 10))
        with pytest.raises(wherry.ArgumentError):
            client.images.load(cases[0][0], (10, None), mode="crop")
        with pytest.raises(wherry.ArgumentError):
            client.images.load(cases[0][0], order="cmyk")
        with pytest.raises(TypeError):
            client.images.load(cases[0][0], compression=0.5)  # type: ignore[arg-type]
    assert len(server.log()) == 2 * len(cases)


def test_I1_a_broken_image_is_removed_from_the_http_cache(server: Server) -> None:
    fresh = [["Cache-Control", "max-age=600"]]
    jpeg = encoded(picture())
    server.script(
        "a",
        [
            {"status": 200, "headers": fresh, "body_base64": base64.b64encode(jpeg[:900]).decode()},
            {"status": 200, "headers": fresh, "body_base64": base64.b64encode(jpeg).decode()},
        ],
    )
    url = server.url("/s/a")
    with wherry.Client(cache=True, **PATIENT) as client:
        with pytest.raises(wherry.ImageError):
            client.images.load(url)
        assert client.images.load(url).shape == (120, 160, 3)
        # The second response is in the HTTP cache: another size needs no request.
        assert client.images.load(url, (40, 40)).shape == (30, 40, 3)
    assert len(server.log()) == 2


def test_I1_a_response_that_must_not_be_stored_is_not_kept(server: Server) -> None:
    url = serve(server, "a", encoded(picture()), count=2, headers=[["Cache-Control", "no-store"]])
    with wherry.Client(**PATIENT) as client:
        for _ in range(2):
            assert client.images.load(url).shape == (120, 160, 3)
        assert client.images.usage().images == 0
    assert len(server.log()) == 2


def test_I1_settings_that_change_responses_remove_the_images(server: Server) -> None:
    url = serve(server, "a", encoded(picture()), count=5)
    with wherry.Client(**PATIENT) as client:
        client.images.load(url)
        client.images.load(url, headers={"X-User": "2"})
        client.images.load(url, cache_policy="reload")
        assert client.images.usage().requests == 3
        client.headers["X-User"] = "3"
        assert client.images.usage().images == 0
        client.images.load(url)
        assert client.images.usage().requests == 4
        client.configure(max_retries=1)
        assert client.images.usage().images == 1
    assert [dict(request["headers"]).get("X-User") for request in server.log()] == [None, "2", None, "3"]


def test_I1_closing_the_client_ends_the_loads(server: Server) -> None:
    client = wherry.Client(**PATIENT)
    with ThreadPoolExecutor(3) as threads:
        calls = [threads.submit(client.images.load, server.url("/silent"), (40 + n, 40)) for n in range(3)]
        server.wait(requests=1)
        until(lambda: client.count() == 3)
        client.close()
        for call in calls:
            with pytest.raises(wherry.CancelledError):
                call.result()
    with pytest.raises(wherry.StateError):
        client.images.load(server.url("/silent"))
    with pytest.raises(wherry.StateError):
        client.images.usage()


def test_I1_loads_are_cancelled_by_URL_or_tag_from_another_thread(server: Server) -> None:
    urls = [server.url("/silent", n=n) for n in range(3)]
    with wherry.Client(**PATIENT) as client, ThreadPoolExecutor(3) as threads:
        calls = [threads.submit(client.images.load, url, tag=f"t{n}") for n, url in enumerate(urls)]
        until(lambda: client.count() == 3)
        assert client.cancel(url=urls[0]) == 1 and client.cancel(tag="t1") == 1
        for call in calls[:2]:
            with pytest.raises(wherry.CancelledError):
                call.result()
        assert client.count() == 1
        assert client.images.prefetch(urls[0], tag="later") == 1
        assert client.cancel(tag="later") == 1 and client.cancel(tag="t2") == 1

    async def main() -> None:
        async with wherry.AsyncClient(**PATIENT) as client:
            task = asyncio.ensure_future(client.images.load(urls[0]))
            await asyncio.get_running_loop().run_in_executor(None, lambda: until(lambda: client.count() == 1))
            assert client.cancel(url=urls[0]) == 1
            with pytest.raises(wherry.CancelledError):
                await task

    asyncio.run(main())


def test_I1_a_load_has_the_hooks_and_the_timeout_of_its_request(server: Server) -> None:
    url = serve(server, "a", encoded(picture()), count=2)
    seen = []
    with wherry.Client(**PATIENT) as client:
        client.images.load(url, adapt=lambda request: seen.append(request.url))
        assert len(seen) == 1
        assert client.images.prefetch(url, adapt=print) == 0
        with pytest.raises(wherry.TimeoutError) as caught:
            client.images.load(server.url("/silent"), timeout=wherry.Timeout(total=0.05))
        assert caught.value.reason == "total_timeout"
        client.wait()


def test_I1_a_load_with_hooks_of_its_own_shares_nothing(server: Server) -> None:
    def adapt(request: wherry.Request) -> None:
        request.headers["X-User"] = "a"

    def refuse(response: wherry.Response) -> bool:
        return False

    url = serve(server, "a", encoded(picture()), count=9)
    with wherry.Client(**PATIENT) as client:
        client.images.load(url, adapt=adapt)
        assert client.images.cached(url) is None
        client.images.load(url)
        assert client.images.cached(url, adapt=adapt) is None
        client.images.load(url, adapt=adapt)
        with pytest.raises(wherry.CancelledError):
            client.images.load(url, on_headers=refuse)
        assert len(server.log()) == 4
        # Loads with the hooks of the client share them.
        client.configure(adapt=adapt)
        client.images.load(url)
        client.images.load(url)
        assert client.images.cached(url) is not None
        client.configure(adapt=lambda request: None)
        assert client.images.cached(url) is None
        client.images.load(url, adapt=None)
        assert len(server.log()) == 5


def test_I1_a_transport_in_python_serves_images(mock: wherry.MockTransport) -> None:
    mock.add("GET", "https://example.org/a.png", content=encoded(picture(), "PNG"))
    with wherry.Client(transport=mock) as client:
        assert client.images.load("https://example.org/a.png").shape == (120, 160, 3)
