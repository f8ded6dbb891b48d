# Wherry: what a server may cost: sizes, ratios, heads, time, lies about length
# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import asyncio
from typing import Any

import pytest
from conftest import PATIENT, Server, script, start_server

import wherry


def ending(client: wherry.Client, url: str) -> str:
    """How a GET ends: "" where it succeeds, else the reason."""
    try:
        client.get(url)
    except wherry.WherryError as error:
        return str(error.reason)
    return ""


def test_SEC_R1_SEC_R2_a_body_is_bounded_by_its_decoded_size_and_by_its_ratio(
    server: Server, client: wherry.Client
) -> None:
    with wherry.Client(max_body_bytes=1_000_000) as small:
        for path in (
            "/bytes/1000001", "/bytes/1000001?chunked=1", "/bytes/1000001?no_length=1",
            "/gzip?zeros=1000001", "/deflate?zeros=1000001",
        ):  # fmt: skip
            with pytest.raises(wherry.LimitError) as caught:
                small.get(server.url(path))
            assert caught.value.reason == "too_large", path
        assert len(small.get(server.url("/gzip?zeros=1000000")).content) == 1_000_000
    with pytest.raises(wherry.LimitError) as caught:
        client.get(server.url("/gzip?zeros=60000000"))
    assert "1,000 times" in caught.value.message
    assert ending(client, server.url("/gzip?header=Content-Encoding:gzip")) == "bad_encoding"


def test_SEC_R3_a_gzip_body_that_is_cut_anywhere_is_an_error(
    server: Server, client: wherry.Client
) -> None:
    count = int(client.get(server.url("/gzip")).headers["content-length"])
    for cut in range(1, count):
        reason = ending(client, server.url(f"/gzip?no_length=1&cut={cut}"))
        assert reason in ("bad_encoding", "truncated"), cut


def test_SEC_R4_a_body_that_ends_early_is_an_error(
    server: Server, client: wherry.Client, tmp_path: Any
) -> None:
    for path in (
        "/bytes/1000?length=2000", "/bytes/1000?cut=500", "/bytes/1000?chunked=1&cut=500",
        "/bytes/1000?chunked_cut=1",
    ):  # fmt: skip
        assert ending(client, server.url(path)) == "truncated", path
    for told in start_server("--tls-make", "good"):
        # No length and no farewell: a download cannot know whether that was all.
        url = f"https://localhost:{told['tls_port']}/bytes/1000?no_length=1&cut=400&unclean=1"
        with wherry.Client(verify=told["ca"], max_retries=0) as secure:
            cut = secure.get(url)
            assert len(cut.content) == 400 and cut.is_length_unverified
            with pytest.raises(wherry.NetworkError) as refused:
                secure.get(url, require_verified_length=True)
            assert refused.value.reason == "length_unverified"
            # close_notify proves that the server ended the body: nothing is missing.
            ended = secure.get(url.split("&cut")[0], require_verified_length=True)
            assert len(ended.content) == 1000 and not ended.is_length_unverified
            secure.download(url.split("&cut")[0], tmp_path / "ended")
            with pytest.raises(wherry.NetworkError) as caught:
                secure.download(url, tmp_path / "file")
            # A body that a function of heads saved got its final name.
            for strict in (False, True):
                saving: Any = {"on_head": lambda head: tmp_path / "file"}
                with pytest.raises(wherry.NetworkError) as unsaved:
                    secure.get(url, require_verified_length=strict, **saving)
                assert unsaved.value.reason == "length_unverified"
                assert not (tmp_path / "file").exists()
        assert (tmp_path / "ended").stat().st_size == 1000
        assert caught.value.reason == "length_unverified"
    assert not (tmp_path / "file").exists()


def test_SEC_R5_a_head_is_bounded_in_fields_in_a_line_and_in_all(
    server: Server, client: wherry.Client
) -> None:
    for count, size, reason in (
        (200, 10, ""), (257, 10, "header_too_large"), (1, 16000, ""), (1, 16500, "header_too_large"),
        (100, 4000, "header_too_large"),
    ):  # fmt: skip
        assert ending(client, server.url(f"/headers?count={count}&size={size}")) == reason
    with wherry.Client(max_header_bytes=2000) as narrow:
        assert ending(narrow, server.url("/headers?count=10&size=300")) == "header_too_large"


def test_SEC_R6_what_drips_for_ever_ends_at_the_total_time(
    server: Server, client: wherry.Client
) -> None:
    for path in ("/slow-head?drip=1&interval_ms=50", "/drip?bytes=1000&interval_ms=50"):
        with pytest.raises(wherry.TimeoutError) as caught:
            client.get(server.url(path), timeout=wherry.Timeout(total=0.3))
        assert caught.value.reason == "total_timeout"


def test_SEC_R7_what_contradicts_itself_never_becomes_an_answer(
    server: Server, client: wherry.Client
) -> None:
    ok = "HTTP/1.1 200 OK\r\n"
    for number, raw in enumerate((
        ok + "Content-Length: 5\r\nContent-Length: 6\r\n\r\nhello!", ok + "Content-Length: 5, 6\r\n\r\nhello",
        ok + "Content-Length: -1\r\n\r\n", ok + "Content-Length: +5\r\n\r\nhello",
        ok + "X: a\0b\r\nContent-Length: 0\r\n\r\n", ok + " folded\r\nContent-Length: 0\r\n\r\n",
        ok + "X: a\rContent-Length: 7\r\nContent-Length: 0\r\n\r\n", "<html>hello</html>",
    )):  # fmt: skip
        name = f"raw{number}"
        script(server, **{name: [{"raw": [["send", raw], ["fin"]]}]})
        with pytest.raises(wherry.NetworkError):
            client.get(server.url(f"/s/{name}"))


def test_SEC_T12_a_handshake_that_stands_still_ends_in_time(server: Server) -> None:
    """A server that takes connections and never says a word of TLS."""
    import socket

    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        listener.listen()
        url = f"https://127.0.0.1:{listener.getsockname()[1]}/"
        with wherry.Client(proxy="", timeout=wherry.Timeout(connect=0.3)) as client:
            with pytest.raises(wherry.TimeoutError) as caught:
                client.get(url)
    assert caught.value.reason == "connect_timeout"


def test_R28_with_one_slot_high_jumps_the_queue(server: Server) -> None:
    line = {"a": 0, "low": -100, "b": 0, "high": 5, "c": 0, "highest": 100, "high2": 5}

    async def main() -> None:
        async with wherry.AsyncClient(**PATIENT, max_per_host=1) as client:
            first = asyncio.ensure_future(client.get(server.url("/text/first", gate=server.gate())))
            loop = asyncio.get_running_loop()
            await loop.run_in_executor(None, lambda: server.wait(requests=1))
            others = [
                asyncio.ensure_future(client.get(server.url(f"/text/{name}"), priority=priority))
                for name, priority in line.items()
            ]
            # Another host has a slot of its own: when it has answered, all of them wait.
            await client.get(server.url("/text/other").replace("127.0.0.1", "localhost"))
            await loop.run_in_executor(None, lambda: server.open_gate(server.gate()))
            await asyncio.gather(first, *others)
            with pytest.raises(wherry.ArgumentError) as caught:
                await client.get(server.url("/text/a"), priority=101)
            assert caught.value.reason == "bad_value"

    asyncio.run(main())
    asked = [told["path"].rpartition("/")[2] for told in server.log()]
    assert asked == ["first", "other", "highest", "high", "high2", "a", "b", "c", "low"]
