# Wherry: sources of bodies and parts, and replaying them
# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import asyncio
import base64
import hashlib
import io
import pathlib
from time import monotonic
from typing import Any, AsyncIterator, Dict, Iterator, List

import pytest
from conftest import Server, body, field, most_memory

import wherry

HOSTILE = 'a"b\r\n天.jpg'
#: A black pixel.
PNG = base64.b64decode("iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAAAAAA6fptVAAAACklEQVR4nGNgAAAAAgABSK+kcQAAAABJRU5ErkJggg==")


def some_bytes(count: int) -> bytes:
    return bytes(range(251)) * (count // 251) + bytes(count % 251)


def pieces(data: bytes, size: int = 70_001) -> Iterator[bytes]:
    for start in range(0, len(data), size):
        yield data[start : start + size]


async def pieces_async(data: bytes) -> AsyncIterator[bytes]:
    for piece in pieces(data):
        await asyncio.sleep(0)
        yield piece


def parts_of(answer: wherry.Response) -> List[Dict[str, Any]]:
    parts: List[Dict[str, Any]] = answer.json()["parts"]
    return parts


def sha256(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def test_U12_all_parts_have_headers_and_images_too(server: Server, client: wherry.Client) -> None:
    files = {
        "a": ("a.txt", b"1", None, {"X-First": "1", "Content-Language": "de"}),
        "b": ("b.txt", b"2", "x/y", [("X-Second", "2")]),
    }
    first, second = parts_of(client.post(server.url("/echo"), files=files))
    (picture,) = parts_of(client.upload(server.url("/echo"), PNG, part_headers={"X-Picture": "yes"}))

    assert field(first, "X-First") == ["1"] and field(first, "Content-Language") == ["de"]
    assert field(second, "X-Second") == ["2"] and second["type"] == "x/y"
    assert field(picture, "X-Picture") == ["yes"]


def test_U12_a_content_type_among_the_headers_of_a_part_is_that_of_the_part(
    server: Server, client: wherry.Client
) -> None:
    files = {"a": ("a", b"1", None, {"content-type": "x/y", "X-A": "b"})}
    (part,) = client.post(server.url("/echo"), files=files).json()["parts"]
    assert part["type"] == "x/y" and field(part, "X-A") == ["b"]
    with pytest.raises(wherry.ArgumentError):
        client.upload(server.url("/echo"), PNG, part_headers={"content-type": "x/y"})


@pytest.mark.parametrize("headers", [{"X-A": "b\r\nX-C: d"}, {"X A": "b"}, {"": "b"}])
def test_U12_a_part_header_that_would_break_the_form_is_refused(
    server: Server, client: wherry.Client, headers: Dict[str, str]
) -> None:
    with pytest.raises(wherry.ArgumentError) as caught:
        client.post(server.url("/echo"), files={"a": ("a", b"1", None, headers)})
    assert caught.value.reason == "bad_header"
    with pytest.raises(wherry.ArgumentError):
        client.upload(server.url("/echo"), PNG, part_headers=headers)
    assert server.log() == []


def test_U12_parts_of_known_size_are_written_while_the_form_is_sent(
    server: Server, client: wherry.Client, tmp_path: pathlib.Path
) -> None:
    (tmp_path / "f.txt").write_bytes(b"from a file")
    first, second = some_bytes(900_001), b"second"
    files = {
        "before": b"1",
        "s": ("a.bin", wherry.Sized(pieces(first), len(first)), "x/first"),
        "none": wherry.Sized([], 0),
        "f": tmp_path / "f.txt",
        "t": wherry.Sized(io.BytesIO(second), len(second)),
        "after": b"2",
    }

    answer = client.post(server.url("/echo"), data={"field": "1"}, files=files)

    parts = {part["name"]: part for part in parts_of(answer)}
    assert list(parts) == ["field", "before", "s", "none", "f", "t", "after"]
    assert parts["s"]["sha256"] == sha256(first) and parts["s"]["type"] == "x/first"
    assert parts["none"]["size"] == 0 and parts["t"]["sha256"] == sha256(second)
    assert answer.json()["chunked"] is False


def test_U12_asyncio_writes_parts_too(server: Server) -> None:
    first, second = some_bytes(500_000), b"second"

    async def main() -> List[Dict[str, Any]]:
        async with wherry.AsyncClient() as client:
            answer = await client.post(
                server.url("/echo"),
                files={
                    "s": wherry.Sized(pieces_async(first), len(first)),
                    "t": wherry.Sized([second], len(second)),
                },
            )
            return parts_of(answer)

    assert [part["sha256"] for part in asyncio.run(main())] == [sha256(first), sha256(second)]


def test_U12_a_streamed_part_uses_no_memory(server: Server) -> None:
    before = f"""
client = wherry.Client()
def post(count):
    pieces = (bytes(65536) for _ in range(count))
    files = {{"f": wherry.Sized(pieces, count * 65536)}}
    return client.post({server.url("/sink")!r}, files=files).json()["bytes"]
post(10)
"""

    used = most_memory(before, "assert post(2000) > 2000 * 65536")

    assert used < 8 << 20


def test_U12_a_wrong_size_is_an_error_that_names_both_counts(server: Server, client: wherry.Client) -> None:
    url = server.url("/sink")
    for pieces, counts in (
        ([b"123"], "5 bytes were announced, but it has only 3"),
        ([b"12345", b"", b"6"], "5 bytes were announced, but it has at least 6"),
        ([b"123456"], "5 bytes were announced, but it has at least 6"),
    ):
        with pytest.raises(wherry.ArgumentError, match=counts):
            client.put(url, content=wherry.Sized(pieces, 5))
        for files in ({"a": wherry.Sized(pieces, 5)}, {"a": wherry.Sized(pieces, 5), "b": b"after"}):
            with pytest.raises(wherry.ArgumentError, match=counts):
                client.post(url, files=files)
    assert client.put(url, content=wherry.Sized([b"12", b"", "345", b""], 5)).json()["bytes"] == 5
    with pytest.raises(wherry.ArgumentError):
        wherry.Sized([b"1"], -1)
    with pytest.raises(TypeError):
        client.post(url, files={"a": wherry.Sized([5], 5)})


def test_U12_asyncio_checks_sizes_too(server: Server) -> None:
    async def main() -> None:
        async with wherry.AsyncClient() as client:
            for data in (b"1234", b"123456"):
                for keywords in (
                    {"content": wherry.Sized(pieces_async(data), 5)},
                    {"files": {"a": wherry.Sized(pieces_async(data), 5)}},
                ):
                    with pytest.raises(wherry.ArgumentError, match=f"5 bytes .* {len(data)}[.]"):
                        await client.post(server.url("/sink"), **keywords)

    asyncio.run(main())


# The other half of U13, a body replayed after a Digest 401, is in the tests of credentials; that of
# images is in test_separate.py.
@pytest.mark.parametrize("status", [307, 308])
def test_U13_a_redirect_gets_the_complete_body_again_from_any_source(
    server: Server, client: wherry.Client, tmp_path: pathlib.Path, status: int
) -> None:
    data = some_bytes(300_000)
    path = tmp_path / "body.bin"
    path.write_bytes(data)
    url = server.url("/redirect/2", status=status)

    assert body(client.post(url, data=data).json()) == data
    assert body(client.post(url, data=path).json()) == data
    parts = parts_of(client.post(url, files={"b": data, "f": path}))
    assert [part["sha256"] for part in parts] == [sha256(data)] * 2
    for files in ({"s": wherry.Sized([data], len(data))}, None):
        content = None if files else iter([b"once"])
        with pytest.raises(wherry.HTTPStatusError) as caught:
            client.post(url, files=files, content=content)
        assert caught.value.reason == "redirect_refused" and caught.value.http_status == status


@pytest.mark.parametrize("method", ["PUT", "POST"])
def test_U14_a_file_bytes_and_a_generator_arrive_byte_for_byte(
    server: Server, client: wherry.Client, tmp_path: pathlib.Path, method: str
) -> None:
    data = some_bytes(700_001)
    path = tmp_path / "up.bin"
    path.write_bytes(data)
    url = server.url("/sink")
    with open(path, "rb") as file:
        bodies = [data, path, file, pieces(data), wherry.Sized(pieces(data), len(data))]
        for one in bodies:
            report = client.request(method, url, content=one).json()
            assert (report["bytes"], report["sha256"]) == (len(data), sha256(data))


@pytest.mark.parametrize("by_client", [True, False])
def test_U15_client_and_request_rate_limits_are_kept(server: Server, by_client: bool) -> None:
    limit: Any = {"max_send_bytes_per_second": 400_000}
    with wherry.Client(**limit if by_client else {}) as client:
        start = monotonic()
        client.put(server.url("/sink"), data=bytes(600_000), **{} if by_client else limit)
        # Less time would violate the limit; more is a busy machine.
        assert monotonic() - start > 0.9


@pytest.mark.parametrize("extended", [False, True])
def test_U24_hostile_names_stay_in_one_part_and_are_returned_on_request(
    server: Server, client: wherry.Client, tmp_path: pathlib.Path, extended: bool
) -> None:
    (tmp_path / "x").write_bytes(b"1")
    files = {'n"\r\nX: y': (HOSTILE, b"1"), "f": ("plain.txt", tmp_path / "x")}

    parts = parts_of(client.post(server.url("/echo"), files=files, extended_names=extended))
    parts += parts_of(client.upload(server.url("/echo"), (HOSTILE, PNG), extended_names=extended))
    with wherry.Client(extended_names=extended) as other:
        parts += parts_of(other.post(server.url("/echo"), files=files))

    assert [part["filename"] for part in parts] == [
        HOSTILE, "plain.txt", HOSTILE, HOSTILE, "plain.txt",
    ]  # fmt: skip
    shown = [field(part, "Content-Disposition")[0] for part in parts]
    assert 'filename="a%22b%0D%0A天.jpg"' in shown[0]
    has = ["filename*=UTF-8''a%22b%0D%0A%E5%A4%A9.jpg" in text for text in shown]
    assert has == [extended, False, extended, extended, False]
    assert all(len(part["headers"]) == 2 for part in parts)


def digest(kind: str, data: bytes) -> str:
    text = base64.b64encode(hashlib.new(kind, data).digest()).decode()
    return text if kind == "md5" else f"{kind[:3]}-{kind[3:]}=:{text}:"


@pytest.mark.parametrize("kind", ["md5", "sha256", "sha512"])
def test_U24_digests_precede_bodies_and_parts(
    server: Server, client: wherry.Client, tmp_path: pathlib.Path, kind: str
) -> None:
    name = "Content-MD5" if kind == "md5" else "Content-Digest"
    data = some_bytes(300_000)
    path = tmp_path / "body.bin"
    path.write_bytes(data)
    url = server.url("/redirect/1", status=308)

    for content in (data, path):
        report = client.put(url, content=content, body_digest=kind).json()
        assert field(report, name) == [digest(kind, data)]
    with wherry.Client(body_digest=kind) as other:
        report = other.post(url, files={"f": path}).json()
        assert field(report, name) == [digest(kind, body(report))]
        assert field(other.post(url, data=b"1", body_digest="none").json(), name) == []
    plain, part = parts_of(client.post(url, data={"a": "1"}, files={"f": path}, part_digests=kind))
    assert field(plain, name) == [] and field(part, name) == [digest(kind, data)]
    for separate in (0, 1):
        (part,) = parts_of(client.upload(url, PNG, part_digests=kind, separate=separate))
        assert field(part, name) == [digest(kind, PNG)]


def test_U24_streamed_data_has_no_digest(server: Server, client: wherry.Client) -> None:
    with pytest.raises(wherry.ArgumentError) as caught:
        client.put(server.url("/sink"), content=iter([b"1"]), body_digest="sha256")
    assert caught.value.reason == "bad_option"
    with pytest.raises(wherry.ArgumentError):
        client.put(server.url("/sink"), content=b"1", body_digest="sha1")
    assert server.log() == []
