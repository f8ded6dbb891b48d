# Wherry: HTTP/2 over TLS, against nginx
# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import asyncio
import hashlib
import os
import socket
import ssl
import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from typing import Any, BinaryIO, Dict, Iterator, List, Tuple
from urllib.parse import urlsplit

import pytest
from conftest import PATIENCE, PATIENT, Server, field, start_server

import wherry

SIZE, CUT = 1_060_921, 400_000


@pytest.fixture(scope="module")
def nginx() -> Iterator[Dict[str, Any]]:
    for told in start_server(module="wherry_testserver.nginx"):
        if "missing" in told:
            pytest.skip(told["missing"])
        yield told


@pytest.fixture
def secure(nginx: Dict[str, Any]) -> str:
    """Where nginx speaks HTTP/2."""
    return f"https://localhost:{nginx['tls_port']}"


@pytest.fixture
def trusting(nginx: Dict[str, Any]) -> Iterator[wherry.Client]:
    with wherry.Client(verify=nginx["ca"], max_retries=0) as made:
        yield made


def via(secure: str, server: Server, path: str, **query: Any) -> str:
    """The test server's path through nginx: a cut response becomes a stream reset."""
    url = urlsplit(server.url(path, **query))
    return f"{secure}/via/{url.port}{url.path}?{url.query}"


def test_HTTP2_is_used_over_TLS_if_the_server_offers_it_and_the_client_allows_it(
    nginx: Dict[str, Any], secure: str, trusting: wherry.Client
) -> None:
    for options, text, version in (
        ({}, "HTTP/2.0", "2"), ({"http_version": "2"}, "HTTP/2.0", "2"),
        ({"http_version": "1.1"}, "HTTP/1.1", "1.1"),
    ):  # fmt: skip
        asked: Any = options
        answer = trusting.get(secure + "/protocol", metrics=True, **asked)
        assert answer.text == text
        assert answer.metrics is not None and answer.metrics.http_version == version
    assert trusting.get(f"http://127.0.0.1:{nginx['port']}/protocol").text == "HTTP/1.1"


def test_C19_a_download_over_TLS_uses_1_1_and_2_on_request(nginx: Dict[str, Any], secure: str, tmp_path: Any) -> None:
    url = secure + "/protocol"
    for version, text in ((None, "HTTP/1.1"), ("2", "HTTP/2.0"), ("1.1", "HTTP/1.1")):
        path = tmp_path / f"{version}"
        # A separate client: a kept HTTP/1.1 connection would be used for HTTP/2 too.
        with wherry.Client(verify=nginx["ca"]) as client:
            client.download(url, path, http_version=version)
        assert path.read_text() == text
    with wherry.Client(verify=nginx["ca"], http_version="2") as client:
        client.download(url, tmp_path / "configured")
    assert (tmp_path / "configured").read_text() == "HTTP/2.0"


def test_HTTP2_is_the_version_of_every_kind_of_response(
    secure: str,
    trusting: wherry.Client,
) -> None:
    url = secure + "/protocol"
    told = [trusting.get(url), trusting.get(url, tag="a"), trusting.get(url, progress=lambda _: None)]
    with trusting.stream("GET", url) as stream:
        told.append(stream)
        assert [answer.http_version for answer in told] == ["HTTP/2"] * 4


def test_HTTP2_carries_many_concurrent_requests_each_with_its_own_response(
    nginx: Dict[str, Any], secure: str, server: Server
) -> None:
    async def main() -> List[Any]:
        async with wherry.AsyncClient(verify=nginx["ca"], timeout=None) as client:
            answer = await client.get(secure + "/protocol")
            assert answer.text == "HTTP/2.0" and answer.http_version == "HTTP/2"
            gate = via(secure, server, "/json", gate=server.gate())
            held = [asyncio.ensure_future(client.get(gate)) for _ in range(20)]
            wait = asyncio.get_running_loop().run_in_executor
            # More than the connection limit: they are streams.
            await wait(None, lambda: server.wait(requests=20))
            url = via(secure, server, "/echo")
            answers = await asyncio.gather(*[client.post(url, params={"n": n}, json=[n]) for n in range(100)])
            held.pop().cancel()
            await wait(None, server.open_gate, server.gate())
            assert [(await one).status_code for one in held] == [200] * 19
            return [(told["query"][-1], told["json"]) for told in (a.json() for a in answers)]

    assert asyncio.run(main()) == [(["n", str(n)], [n]) for n in range(100)]


def test_HTTP2_a_cut_response_is_an_error_and_the_connection_stays_open(
    secure: str, server: Server, trusting: wherry.Client
) -> None:
    for query in ({"cut": 5000}, {"reset": 5000}, {"chunked": 1, "cut": 5000}):
        faults: Any = query
        with pytest.raises(wherry.NetworkError):
            trusting.get(via(secure, server, "/bytes/10000", **faults))
        assert trusting.get(secure + "/protocol").http_version == "HTTP/2"
        answer = trusting.get(secure + "/protocol", metrics=True)
        assert answer.text == "HTTP/2.0" and answer.http_version == "HTTP/2"
        assert answer.metrics is not None and answer.metrics.is_reused


def test_HTTP2_a_download_resumes_after_a_stream_reset(
    secure: str, server: Server, trusting: wherry.Client, tmp_path: Any
) -> None:
    url = via(secure, server, f"/bytes/{SIZE}", cut=CUT, times=1)
    trusting.configure(http_version="2")
    with pytest.raises(wherry.NetworkError) as caught:
        trusting.download(url, tmp_path / "file")
    assert caught.value.partial_path is not None
    (left,) = wherry.partials(tmp_path)
    assert 0 < left.done_bytes <= CUT

    trusting.download(url, tmp_path / "file")

    right = wherry.get(server.url(f"/digest/{SIZE}")).text
    assert hashlib.sha256((tmp_path / "file").read_bytes()).hexdigest() == right
    assert os.listdir(tmp_path) == ["file"]
    ranges = [field(told, "range") for told in server.log() if "/bytes/" in told["target"]]
    assert ranges == [[], [f"bytes={left.done_bytes}-"]]


def test_C19_a_body_over_16_KiB_uses_1_1_and_2_on_request(nginx: Dict[str, Any], secure: str) -> None:
    for count, version, text in ((16384, None, "HTTP/2.0"), (16385, None, "HTTP/1.1"), (16385, "2", "HTTP/2.0")):
        with wherry.Client(verify=nginx["ca"], http_version=version) as client:
            assert client.post(secure + "/protocol", data=bytes(count)).text == text


def test_HTTP2_bodies_stream_in_both_directions(secure: str, server: Server, trusting: wherry.Client) -> None:
    size = 16 << 20
    digest = hashlib.sha256()
    with trusting.stream("GET", secure + "/16m.bin") as answer:
        for piece in answer.iter_bytes():
            digest.update(piece)
    assert answer.headers["content-length"] == str(size)
    assert digest.hexdigest() == wherry.get(server.url(f"/digest/{size}")).text

    sent = trusting.post(
        via(secure, server, "/sink"), data=(bytes(1 << 20) for _ in range(16)),
        timeout=wherry.Timeout(idle=PATIENCE, first_byte=PATIENCE),
    ).json()  # fmt: skip
    assert sent["bytes"] == size and sent["sha256"] == hashlib.sha256(bytes(size)).hexdigest()


def answered(stream: ssl.SSLSocket, frames: BinaryIO) -> int:
    """Answers one request over HTTP/2 with 200; returns the weight in its HEADERS frame, or 16."""
    assert frames.read(24) == b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
    stream.sendall(bytes((0, 0, 0, 4, 0, 0, 0, 0, 0)))  # SETTINGS
    head, content = asked(frames)
    # HEADERS with ":status: 200", END_STREAM, and END_HEADERS.
    stream.sendall(bytes((0, 0, 1, 1, 5)) + head[5:] + b"\x88")
    return content[4] + 1 if head[4] & 0x20 else 16


def asked(frames: BinaryIO) -> Tuple[bytes, bytes]:
    """The next HEADERS frame: its frame header, which ends in the stream id, and its payload."""
    while True:
        head = frames.read(9)
        content = frames.read(int.from_bytes(head[:3], "big"))
        if head[3] == 1:
            return head, content


def weight_of(listener: socket.socket, tls: ssl.SSLContext) -> int:
    peer, _ = listener.accept()
    with tls.wrap_socket(peer, server_side=True) as stream, stream.makefile("rb") as frames:
        weight = answered(stream, frames)
        while frames.read(9):  # Until the client disconnects.
            pass
        return weight


def test_C19_stray_bytes_on_the_connection_of_a_finished_download_are_not_a_response(
    certificate: str, tmp_path: Any
) -> None:
    cert, key = os.path.join(certificate, "cert.pem"), os.path.join(certificate, "key.pem")
    tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    tls.load_cert_chain(cert, key)
    tls.set_alpn_protocols(["h2", "http/1.1"])
    is_idle, is_soiled = threading.Event(), threading.Event()

    def accepted(listener: socket.socket, stack: ExitStack) -> Tuple[ssl.SSLSocket, BinaryIO]:
        peer, _ = listener.accept()
        stream = stack.enter_context(tls.wrap_socket(peer, server_side=True))
        return stream, stack.enter_context(stream.makefile("rb"))

    def serve(listener: socket.socket) -> bytes:
        with ExitStack() as stack:
            first, frames = accepted(listener, stack)
            answered(first, frames)
            first.shutdown(socket.SHUT_WR)  # The connection is not used again.
            second, lines = accepted(listener, stack)
            assert second.selected_alpn_protocol() == "http/1.1"
            while lines.readline() != b"\r\n":
                pass
            second.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\ngood")
            assert is_idle.wait(PATIENCE)
            second.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nevil")
            is_soiled.set()
            third, frames = accepted(listener, stack)
            answered(third, frames)
            while frames.read(9):  # Until the client disconnects.
                pass
            try:
                return lines.read()
            except OSError:  # The client closed it without reading the stray response.
                return b""

    with socket.create_server(("127.0.0.1", 0)) as listener, ThreadPoolExecutor(1) as pool:
        url = f"https://127.0.0.1:{listener.getsockname()[1]}/"
        listener.settimeout(PATIENCE)
        told = pool.submit(serve, listener)
        with wherry.Client(verify=cert, proxy="", **PATIENT) as client:
            assert client.get(url).content == b""
            client.download(url, tmp_path / "file")
            is_idle.set()
            assert is_soiled.wait(PATIENCE)
            assert client.get(url).content == b""
        assert told.result(PATIENCE) == b"", "nothing is asked over it"
    assert (tmp_path / "file").read_bytes() == b"good"


def test_R28_the_request_priority_is_the_stream_weight(certificate: str) -> None:
    cert, key = os.path.join(certificate, "cert.pem"), os.path.join(certificate, "key.pem")
    tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    tls.load_cert_chain(cert, key)
    tls.set_alpn_protocols(["h2"])
    found: Dict[int, int] = {}
    with socket.create_server(("127.0.0.1", 0)) as listener, ThreadPoolExecutor(1) as pool:
        url = f"https://127.0.0.1:{listener.getsockname()[1]}/"
        for priority in (0, 100, 50, 1, -1, -50, -100):
            told = pool.submit(weight_of, listener, tls)
            with wherry.Client(verify=cert, proxy="", **PATIENT) as client:
                assert client.get(url, priority=priority).status_code == 200
            found[priority] = told.result(PATIENCE)
    assert found == {0: 16, 100: 256, 50: 136, 1: 18, -1: 16, -50: 9, -100: 1}


@pytest.mark.parametrize(
    ("word", "goes_again"),
    [
        # GOAWAY: the last processed stream, and no error.
        (bytes((0, 0, 8, 7, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0)), True),
        (bytes((0, 0, 8, 7, 0, 0, 0, 0, 0, 0, 0, 0, 3, 0, 0, 0, 0)), False),
        # RST_STREAM of the third stream: CANCEL.
        (bytes((0, 0, 4, 3, 0, 0, 0, 0, 3, 0, 0, 0, 8)), False),
        (b"", False),
    ],
    ids=["goaway before", "goaway after", "cancelled", "cut"],
)
def test_R29_over_HTTP2_a_POST_is_retried_only_if_the_server_did_not_process_it(
    certificate: str, word: bytes, goes_again: bool
) -> None:
    cert, key = os.path.join(certificate, "cert.pem"), os.path.join(certificate, "key.pem")
    tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    tls.load_cert_chain(cert, key)
    tls.set_alpn_protocols(["h2"])

    def serve(listener: socket.socket) -> None:
        peer, _ = listener.accept()
        first = tls.wrap_socket(peer, server_side=True)
        with first, first.makefile("rb") as frames:
            answered(first, frames)
            head, _ = asked(frames)
            assert head[5:] == bytes((0, 0, 0, 3))
            first.sendall(word)
            if word[3:4] == b"\x03":  # The connection stays open.
                head, _ = asked(frames)
                first.sendall(bytes((0, 0, 1, 1, 5)) + head[5:] + b"\x88")
                return
        while True:
            peer, _ = listener.accept()
            try:
                stream = tls.wrap_socket(peer, server_side=True)
                with stream, stream.makefile("rb") as frames:
                    answered(stream, frames)
                    while frames.read(9):  # Until the client disconnects.
                        pass
                    return
            except (OSError, AssertionError, IndexError):
                pass  # The client dropped it before it sent a request on it.

    with socket.create_server(("127.0.0.1", 0)) as listener, ThreadPoolExecutor(1) as pool:
        url = f"https://127.0.0.1:{listener.getsockname()[1]}/"
        listener.settimeout(PATIENCE)
        told = pool.submit(serve, listener)
        with wherry.Client(verify=cert, proxy="", **PATIENT) as client:
            assert client.get(url).status_code == 200
            if goes_again:
                assert client.post(url, data=b"amount=1").status_code == 200
                assert client.counters().requests == 3
            else:
                with pytest.raises(wherry.NetworkError) as caught:
                    client.post(url, data=b"amount=1")
                assert caught.value.reason in ("connection_reset", "truncated")
                assert client.counters().requests == 2
                assert client.get(url).status_code == 200
        told.result(PATIENCE)
