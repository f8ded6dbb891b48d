# Wherry: row R13 of features.md, from Python: conversions of a body
# SPDX-License-Identifier: Apache-2.0

from __future__ import annotations

import base64
import xml.etree.ElementTree as ElementTree
from typing import Any, Dict, List

import pytest
from conftest import Server
from test_scenarios import cases

import wherry


def answer_of(server: Server, client: wherry.Client, kind: str, body: bytes) -> wherry.Response:
    coded = base64.b64encode(body).decode()
    server.script("form", [{"headers": [["Content-Type", kind]], "body_base64": coded}])
    return client.get(server.url("/s/form"))


@pytest.mark.parametrize("case", cases("charsets.json"), ids=lambda case: str(case["type"]))
def test_R13_text_uses_the_charset_that_the_table_expects(
    server: Server, client: wherry.Client, case: Dict[str, Any]
) -> None:
    body = base64.b64decode(case["base64"])
    answer = answer_of(server, client, case["type"], body)
    assert answer.text == case["text"]
    assert answer.content == body


@pytest.mark.parametrize("case", cases("picture-colours.json"), ids=lambda case: str(case["name"]))
def test_R13_an_image_has_the_same_pixels_as_in_another_program(
    server: Server, client: wherry.Client, case: Dict[str, Any]
) -> None:
    image = answer_of(server, client, "image/any", base64.b64decode(case["file"])).image()
    wanted = base64.b64decode(case["rgba"])
    moving = {"animated": case["animated"]} if "animated" in case else {}
    width, height = case["size"]
    if case["format"] == "jpeg":  # Its alpha channel is dropped.
        ground = {"background": case["background"]} if "background" in case else {}
        found = image.pixels("rgb", **ground)
        assert found.shape == (height, width, 3)
        wanted = bytes(value for at, value in enumerate(wanted) if at % 4 < 3)
    else:
        found = image.pixels("rgba", **moving)
        assert found.shape == (height, width, 4)
    assert found.format == "B" and len(found.tobytes()) == len(wanted)
    worst = max(abs(a - b) for a, b in zip(found.tobytes(), wanted))
    assert worst <= case["tolerance"]
    channels = {1: (), 3: (3,), 4: (4,)}[case["components"]]
    if case["format"] == "png":  # Otherwise the table describes the image without alpha.
        assert image.pixels(**moving).shape == (height, width, *channels)


def test_R13_pixels_are_upright_in_any_order_and_convert_back_to_an_image() -> None:
    raw: Any = memoryview(bytes(range(24))).cast("B", (2, 4, 3))
    png = wherry.Image(raw).compress(format="png")
    rgb: Any = png.pixels()
    assert rgb.tolist() == raw.tolist()
    bgra: Any = png.pixels("bgra").tolist()
    assert bgra == [[[b, g, r, 255] for r, g, b in row] for row in raw.tolist()]
    gray: Any = png.pixels("gray")
    assert gray.shape == (2, 4)
    assert gray.tolist()[0][0] == round(0.299 * 0 + 0.587 * 1 + 0.114 * 2)
    assert wherry.Image(rgb).compress(format="png").content == png.content
    with pytest.raises(wherry.ArgumentError) as caught:
        png.pixels("cmyk")
    assert caught.value.reason == "bad_value"
    with pytest.raises(wherry.ImageError) as refused:
        png.pixels(max_pixels=7)
    assert refused.value.reason == "image_too_large"


@pytest.mark.parametrize("body", [b"", b"no picture", b"\x89PNG\r\n\x1a\n", b"\xff\xd8\xff"])
def test_R13_an_invalid_image_is_an_image_error(server: Server, client: wherry.Client, body: bytes) -> None:
    image = answer_of(server, client, "image/png", body).image("a.png")
    with pytest.raises(wherry.ImageError):
        image.pixels()


def xml(answer: wherry.Response) -> Any:
    return ElementTree.fromstring(answer.content).tag


def test_R13_a_compound_format_tries_its_formats_in_order(
    server: Server,
    client: wherry.Client,
) -> None:
    tried: List[str] = []

    def json(answer: wherry.Response) -> Any:
        tried.append("json")
        return answer.json()

    def pixels(answer: wherry.Response) -> Any:
        tried.append("pixels")
        return answer.image().pixels().shape

    def markup(answer: wherry.Response) -> Any:
        tried.append("xml")
        return xml(answer)

    picture = wherry.Image(memoryview(bytes(12)).cast("B", (2, 2, 3))).compress(format="png")
    for body, expected, count in (
        (b'{"a": 1}', {"a": 1}, 1), (picture.content, (2, 2, 3), 2), (b"<b/>", "b", 3),
    ):  # fmt: skip
        del tried[:]
        answer = answer_of(server, client, "application/octet-stream", body)
        assert answer.first_of(json, pixels, markup) == expected
        assert tried == ["json", "pixels", "xml"][:count]
    with pytest.raises(ElementTree.ParseError):
        answer_of(server, client, "text/plain", b"nothing").first_of(json, pixels, markup)
    with pytest.raises(wherry.DecodeError):
        answer_of(server, client, "text/plain", b"nothing").first_of(wherry.Response.json)


def test_bytes_of_a_form_or_query_are_sent_unchanged(server: Server, client: wherry.Client) -> None:
    # They were decoded, and bytes that are not UTF-8 were a UnicodeDecodeError.
    odd: Any = {"k": b"\xff\x00 &", "t": "a b", b"n\xfe": b"ok"}
    answer = client.post(server.url("/echo"), data=odd)
    assert base64.b64decode(answer.json()["body"]) == b"k=%FF%00%20%26&t=a%20b&n%FE=ok"
    assert answer.request.content == base64.b64decode(answer.json()["body"])
    assert answer.json()["form"][1] == ["t", "a b"]
    del odd[b"n\xfe"]
    multipart = client.post(server.url("/echo"), data=odd, files={"f": b"x"}).json()
    assert [(part["name"], part["size"]) for part in multipart["parts"]] == [("k", 4), ("t", 3), ("f", 1)]
    query = client.get(server.url("/echo"), params={"k": b"\xff", "t": b"a b", "u": ["\xe4"]}).json()
    assert query["target"].endswith("k=%FF&t=a%20b&u=%C3%A4")
