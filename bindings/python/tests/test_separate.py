# Wherry: uploads with one request per image, and other image handling
# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import asyncio
from typing import Any, List

import pytest
from conftest import Server
from test_uploads import png, sent

import wherry


def album(count: int) -> List[Any]:
    return [(f"p{n}.png", png(8, 8, n + 1)) for n in range(count)]


def test_U22_two_of_nine_images_fail_and_the_other_responses_remain(server: Server, client: wherry.Client) -> None:
    statuses = [200, 200, 413, 200, 200, 200, 200, 403, 201]
    server.script("nine", [{"status": status, "json": status} for status in statuses])

    answer = client.upload(server.url("/s/nine"), album(9), separate=1)

    assert answer.status_code == 413
    assert [failed.index for failed in answer.failed_images] == [2, 7]
    assert [i.response.json() for i in answer.images if i.response is not None] == statuses
    assert [image.ok for image in answer.images] == [status < 400 for status in statuses]
    assert answer.images[0].width == 8 and answer.images[0].quality is None
    assert (answer.images[0].sent_bytes or 0) > (answer.images[0].encoded_bytes or 0) > 0
    with pytest.raises(wherry.HTTPStatusError) as caught:
        answer.raise_for_status()
    assert len(caught.value.failed_images) == 2 and len(caught.value.images) == 9
    again = client.upload(server.url("/echo"), [album(9)[f.index] for f in answer.failed_images], separate=2)
    assert again.ok and [image.file_name for image in again.images] == ["p2.png", "p7.png"]


def test_U22_asyncio_sends_images_one_by_one_and_retries_failed_ones(server: Server) -> None:
    async def main() -> wherry.Response:
        async with wherry.AsyncClient() as client:
            return await client.upload(
                server.url("/faulty-echo?status_first=503&status_times=1"), album(3), separate=3,
                image_retries=1, fields={"album": "7"},
            )  # fmt: skip

    answer = asyncio.run(main())

    assert answer.ok and len(server.log()) == 4
    forms = [image.response.json()["parts"] for image in answer.images if image.response]
    assert [[part["name"] for part in form] for form in forms] == [["album", "image0"]] * 3


def test_U22_R29_an_image_is_not_sent_again_if_the_server_asks_for_too_long_a_wait(
    server: Server, client: wherry.Client
) -> None:
    url = server.url("/faulty-echo", status_first=503, status_times=1, retry_after=5)

    answer = client.upload(url, album(1), separate=1, image_retries=3, max_retry_after=4)

    assert answer.status_code == 503 and len(server.log()) == 1
    with pytest.raises(wherry.HTTPStatusError) as caught:
        answer.raise_for_status()
    assert caught.value.retry_after == 5


def test_U22_progress_covers_every_image(server: Server, client: wherry.Client) -> None:
    seen: List[wherry.Progress] = []

    answer = client.upload(server.url("/sink"), album(5), separate=2, progress=seen.append)

    assert answer.ok and seen[-1].fraction == 1
    assert [image.sent_bytes for image in seen[-1].images] == [i.sent_bytes for i in answer.images]
    # Everything was sent; the servers' last responses may still be in flight.
    assert sum(image.response is not None for image in seen[-1].images) >= 3
    assert all(image.response is not None for image in answer.images)


def test_U22_only_a_broken_image_fails(server: Server, client: wherry.Client) -> None:
    pictures = [png(4, 4), ("text.jpg", b"no picture"), png(4, 4, 2)]

    with pytest.raises(wherry.ImageError) as caught:
        client.upload(server.url("/echo"), pictures, separate=2)

    assert "Image 2 (text.jpg)" in caught.value.message
    assert [failed.file_name for failed in caught.value.failed_images] == ["text.jpg"]
    sent = [image.response.status_code if image.response else 0 for image in caught.value.images]
    assert sent == [200, 0, 200]


def test_U11_broken_images_are_omitted_if_requested_and_reported(server: Server, client: wherry.Client) -> None:
    pictures = [("text.jpg", b"no picture"), png(4, 4)]

    answer = client.upload(server.url("/echo"), pictures, unreadable="skip")

    assert [image.reason for image in answer.images] == ["bad_image", ""]
    assert [image.width for image in answer.images] == [0, 4]
    assert len(sent(answer)) == 1 and not answer.failed_images
    with pytest.raises(wherry.ImageError):
        client.upload(server.url("/echo"), pictures[:1], unreadable="skip")


def test_U11_an_error_names_images_as_the_caller_gave_them(
    server: Server, client: wherry.Client, tmp_path: Any
) -> None:
    path = tmp_path / "beach.png"
    path.write_bytes(png(4, 4))

    answer = client.upload(server.url("/status/500"), [path, ("mine.png", png(4, 4))])

    assert [failed.file_name for failed in answer.failed_images] == [str(path), "mine.png"]
    assert [image.width for image in answer.images] == [4, 4]


@pytest.mark.parametrize("separate", [0, 2])
def test_U13_a_redirect_gets_the_complete_body_again(server: Server, client: wherry.Client, separate: int) -> None:
    url = server.url("/redirect-to", url=server.url("/echo"), status=307)

    answer = client.upload(url, album(2), separate=separate, keep_auth_across_hosts=True)

    answers = [image.response for image in answer.images if image.response] or [answer]
    forms = [one.json()["parts"] for one in answers]
    assert [part["filename"] for form in forms for part in form] == ["p0.png", "p1.png"]
    lengths = [int(dict(entry["headers"])["Content-Length"]) for entry in server.log()]
    assert len(lengths) == 2 * len(answers) and len(set(lengths)) == 1
    assert all(len(one.history) == 1 for one in answers) or separate


def test_U15_an_upload_stays_under_its_rate_limit(server: Server, client: wherry.Client) -> None:
    data = ("a.bin", bytes(600_000))

    answer = client.post(server.url("/sink"), files={"f": data}, max_send_bytes_per_second=400_000)

    # Less time would violate the limit; more is a busy machine.
    assert answer.json()["bytes"] > 600_000 and answer.elapsed.total_seconds() > 0.9
