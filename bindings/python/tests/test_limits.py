# Wherry: limits on what a server can cost: sizes, ratios, headers, time, and false lengths
# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import asyncio
from typing import Any

import pytest
from conftest import PATIENT, Server, script, start_server

import wherry


def ending(client: wherry.Client, url: str) -> str:
    """The result of a GET: "" on success, otherwise the reason."""
    try:
        client.get(url)
    except wherry.WherryError as error:
        return str(error.reason)
    return ""


def test_SEC_R1_SEC_R2_limits_apply_to_the_decoded_size_of_a_body_and_to_its_ratio(
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


def test_SEC_R3_a_gzip_body_cut_at_any_byte_is_an_error(server: Server, client: wherry.Client) -> None:
    count = int(client.get(server.url("/gzip")).headers["content-length"])
    for cut in range(1, count):
        reason = ending(client, server.url(f"/gzip?no_length=1&cut={cut}"))
        assert reason in ("bad_encoding", "truncated"), cut


def test_SEC_R4_a_body_that_ends_early_is_an_error(server: Server, client: wherry.Client, tmp_path: Any) -> None:
    for path in (
        "/bytes/1000?length=2000", "/bytes/1000?cut=500", "/bytes/1000?chunked=1&cut=500",
        "/bytes/1000?chunked_cut=1",
    ):  # fmt: skip
        assert ending(client, server.url(path)) == "truncated", path
    for told in start_server("--tls-make", "good"):
        # Without a length and close_notify, a download cannot know whether the file is complete.
        url = f"https://localhost:{told['tls_port']}/bytes/1000?no_length=1&cut=400&unclean=1"
        with wherry.Client(verify=told["ca"], max_retries=0) as secure:
            cut = secure.get(url)
            assert len(cut.content) == 400 and cut.is_length_unverified
            with pytest.raises(wherry.NetworkError) as refused:
                secure.get(url, require_verified_length=True)
            assert refused.value.reason == "length_unverified"
            # close_notify proves that the server ended the body: no byte is missing.
            ended = secure.get(url.split("&cut")[0], require_verified_length=True)
            assert len(ended.content) == 1000 and not ended.is_length_unverified
            secure.download(url.split("&cut")[0], tmp_path / "ended")
            with pytest.raises(wherry.NetworkError) as caught:
                secure.download(url, tmp_path / "file")
            # A body saved by a headers function got its final name.
            for strict in (False, True):
                saving: Any = {"on_headers": lambda head: tmp_path / "file"}
                with pytest.raises(wherry.NetworkError) as unsaved:
                    secure.get(url, require_verified_length=strict, **saving)
                assert unsaved.value.reason == "length_unverified"
                assert not (tmp_path / "file").exists()
        assert (tmp_path / "ended").stat().st_size == 1000
        assert caught.value.reason == "length_unverified"
    assert not (tmp_path / "file").exists()


def test_SEC_R5_response_headers_have_limits_for_count_line_and_total_size(
    server: Server, client: wherry.Client
) -> None:
    for count, size, reason in (
        (200, 10, ""), (257, 10, "header_too_large"), (1, 16000, ""), (1, 16500, "header_too_large"),
        (100, 4000, "header_too_large"),
        # Around libcurl's limit, which counts line ends too.
        (240, 1266, "header_too_large"), (240, 1271, "header_too_large"), (240, 1276, "header_too_large"),
    ):  # fmt: skip
        assert ending(client, server.url(f"/headers?count={count}&size={size}")) == reason
    with wherry.Client(max_header_bytes=2000) as narrow:
        assert ending(narrow, server.url("/headers?count=10&size=300")) == "header_too_large"


def test_SEC_R6_an_endless_slow_response_ends_at_the_total_timeout(server: Server, client: wherry.Client) -> None:
    for path in ("/slow-head?drip=1&interval_ms=50", "/drip?bytes=1000&interval_ms=50"):
        with pytest.raises(wherry.TimeoutError) as caught:
            client.get(server.url(path), timeout=wherry.Timeout(total=0.3))
        assert caught.value.reason == "total_timeout"


def test_SEC_R7_contradictory_headers_never_become_a_response(server: Server, client: wherry.Client) -> None:
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


def test_SEC_T12_a_stalled_handshake_ends_at_its_timeout(server: Server) -> None:
    """A server that accepts connections and never sends TLS data."""
    import socket

    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        listener.listen()
        url = f"https://127.0.0.1:{listener.getsockname()[1]}/"
        with wherry.Client(proxy="", timeout=wherry.Timeout(connect=0.3)) as client:
            with pytest.raises(wherry.TimeoutError) as caught:
                client.get(url)
    assert caught.value.reason == "connect_timeout"


def test_R28_high_priority_is_first_in_the_queue_for_one_slot(server: Server) -> None:
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
            # Another host has a separate slot: after its response, all of them are waiting.
            await client.get(server.url("/text/other").replace("127.0.0.1", "localhost"))
            await loop.run_in_executor(None, lambda: server.open_gate(server.gate()))
            await asyncio.gather(first, *others)
            with pytest.raises(wherry.ArgumentError) as caught:
                await client.get(server.url("/text/a"), priority=101)
            assert caught.value.reason == "bad_value"

    asyncio.run(main())
    asked = [told["path"].rpartition("/")[2] for told in server.log()]
    assert asked == ["first", "other", "highest", "high", "high2", "a", "b", "c", "low"]
