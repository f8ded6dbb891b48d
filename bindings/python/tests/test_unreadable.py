# Wherry: uploads with unreadable images
# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

from typing import Any, List

import pytest
from conftest import Server
from test_uploads import png

import wherry

GIF = b"GIF89a\1\0\1\0\0\0\0;"
WEBP = b"RIFF\x1a\0\0\0WEBPVP8L\x0d\0\0\0\x2f\0\0\0\x10\7\x10\x11\x11\x88"  # truncated
HEIC = b"\0\0\0\x18ftypheic\0\0\0\0mif1heic" + bytes(16)
AVIF = b"\0\0\0\x18ftypavif\0\0\0\0mif1avif" + bytes(16)


def test_U11_by_default_every_unreadable_image_is_named_before_a_byte_is_sent(
    server: Server, client: wherry.Client
) -> None:
    # The message named only the first one.
    pictures = [("a.gif", GIF), png(4, 4), ("b.heic", HEIC), ("c.png", png(4, 4)[:50])]

    with pytest.raises(wherry.ImageError) as caught:
        client.upload(server.url("/echo"), pictures)

    assert "3 of 4 images cannot be sent" in caught.value.message
    for name in ("Image 1 (a.gif)", "Image 3 (b.heic)", "Image 4 (c.png)"):
        assert name in caught.value.message
    assert [failed.index for failed in caught.value.failed_images] == [0, 2, 3]
    assert server.log() == []


@pytest.mark.parametrize(
    "data, ending, kind",
    [(GIF, "gif", "image/gif"), (WEBP, "webp", "image/webp"), (HEIC, "heic", "image/heic"),
     (AVIF, "avif", "image/avif"), (png(4, 4)[:50], "png", "image/png"),
     (b"no picture", "bin", "application/octet-stream")],
    ids=["gif", "webp", "heic", "avif", "cut", "text"],
)  # fmt: skip
@pytest.mark.parametrize("separate", [0, 2])
def test_U11_an_unreadable_image_is_sent_unchanged_on_request(
    server: Server, client: wherry.Client, data: bytes, ending: str, kind: str, separate: int
) -> None:
    answer = client.upload(server.url("/echo"), [data], unreadable="send", quality=0.5, separate=separate)

    (part,) = answer.json()["parts"]
    assert part["type"] == kind and part["filename"].endswith("." + ending)
    assert part["size"] == len(data)
    (row,) = answer.images
    assert row.encoded_bytes == row.original_bytes == len(data) and row.reason == ""


def test_U11_max_bytes_and_missing_files_still_apply(server: Server, client: wherry.Client, tmp_path: Any) -> None:
    limited = wherry.Compression(0.5, max_bytes=len(GIF) - 1)
    with pytest.raises(wherry.ImageError):
        client.upload(server.url("/echo"), [GIF], unreadable="send", compression=limited)
    path = tmp_path / "gone.gif"
    path.write_bytes(GIF)
    image = wherry.Image(path)
    path.unlink()
    with pytest.raises(wherry.FileError):
        client.upload(server.url("/echo"), [image], unreadable="send")

    assert server.log() == []


def test_U11_an_image_has_the_same_name_in_success_and_failure(
    server: Server, client: wherry.Client, tmp_path: Any
) -> None:
    # A success had the form name, derived from the time; a failure had the path.
    path = tmp_path / "beach.png"
    path.write_bytes(png(4, 4))
    pictures: List[Any] = [path, ("mine.png", png(4, 4))]
    names = [str(path), "mine.png"]

    answer = client.upload(server.url("/echo"), pictures)
    refused = client.upload(server.url("/status/500"), pictures)
    path.write_bytes(png(4, 4)[:50])
    with pytest.raises(wherry.ImageError) as caught:
        client.upload(server.url("/echo"), pictures)

    assert [image.file_name for image in answer.images] == names
    assert [image.file_name for image in refused.failed_images] == names
    assert [image.file_name for image in caught.value.failed_images] == names[:1]


def test_an_unknown_value_of_unreadable_is_refused(client: wherry.Client) -> None:
    with pytest.raises(wherry.ArgumentError, match="fail, skip, send"):
        client.upload("http://localhost/", [GIF], unreadable="keep")
    old: Any = {"skip_broken": True}
    with pytest.raises(wherry.ArgumentError, match="unreadable='skip'"):
        client.upload("http://localhost/", [GIF], **old)


def test_U11_the_client_sets_the_mode_for_its_uploads(server: Server) -> None:
    # Only an upload could choose.
    with wherry.Client(unreadable="send") as client:
        answer = client.upload(server.url("/echo"), [GIF])
        assert [part["type"] for part in answer.json()["parts"]] == ["image/gif"]
        with pytest.raises(wherry.ImageError):
            client.upload(server.url("/echo"), [GIF], unreadable="fail")
        client.configure(unreadable="fail")
        with pytest.raises(wherry.ImageError):
            client.upload(server.url("/echo"), [GIF])
    assert len(server.log()) == 1
    options: Any = {"unreadable": "ignore"}
    with pytest.raises(wherry.ArgumentError, match="unreadable= must be one of fail, skip, send"):
        wherry.Client(**options)


def test_U11_U22_of_separate_requests_only_the_unreadable_image_fails(server: Server, client: wherry.Client) -> None:
    with pytest.raises(wherry.ImageError) as caught:
        client.upload(server.url("/echo"), [("a.gif", GIF), png(4, 4)], separate=1)
    assert [failed.index for failed in caught.value.failed_images] == [0]
    assert len(server.log()) == 1
