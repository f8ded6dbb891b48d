# Wherry: HTTP/2 over TLS, against nginx
# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import asyncio
import hashlib
import os
import socket
import ssl
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Dict, Iterator, List
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
    """The test server's path through nginx: what it cuts is a stream that is reset."""
    url = urlsplit(server.url(path, **query))
    return f"{secure}/via/{url.port}{url.path}?{url.query}"


def test_HTTP2_is_spoken_over_tls_where_it_is_offered_and_not_forbidden(
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


def test_HTTP2_carries_many_requests_at_a_time_each_with_its_own_answer(
    nginx: Dict[str, Any], secure: str, server: Server
) -> None:
    async def main() -> List[Any]:
        async with wherry.AsyncClient(verify=nginx["ca"], timeout=None) as client:
            assert (await client.get(secure + "/protocol")).text == "HTTP/2.0"
            gate = via(secure, server, "/json", gate=server.gate())
            held = [asyncio.ensure_future(client.get(gate)) for _ in range(20)]
            wait = asyncio.get_running_loop().run_in_executor
            # More than there may be connections: they are streams.
            await wait(None, lambda: server.wait(requests=20))
            url = via(secure, server, "/echo")
            answers = await asyncio.gather(
                *[client.post(url, params={"n": n}, json=[n]) for n in range(100)]
            )
            held.pop().cancel()
            await wait(None, server.open_gate, server.gate())
            assert [(await one).status_code for one in held] == [200] * 19
            return [(told["query"][-1], told["json"]) for told in (a.json() for a in answers)]

    assert asyncio.run(main()) == [(["n", str(n)], [n]) for n in range(100)]


def test_HTTP2_a_cut_answer_is_an_error_and_the_connection_goes_on(
    secure: str, server: Server, trusting: wherry.Client
) -> None:
    for query in ({"cut": 5000}, {"reset": 5000}, {"chunked": 1, "cut": 5000}):
        faults: Any = query
        with pytest.raises(wherry.NetworkError):
            trusting.get(via(secure, server, "/bytes/10000", **faults))
        answer = trusting.get(secure + "/protocol", metrics=True)
        assert answer.text == "HTTP/2.0"
        assert answer.metrics is not None and answer.metrics.is_reused


def test_HTTP2_a_download_whose_stream_is_reset_goes_on(
    secure: str, server: Server, trusting: wherry.Client, tmp_path: Any
) -> None:
    url = via(secure, server, f"/bytes/{SIZE}", cut=CUT, times=1)
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


def test_HTTP2_bodies_stream_in_both_directions(
    secure: str, server: Server, trusting: wherry.Client
) -> None:
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


def weight_of(listener: socket.socket, tls: ssl.SSLContext) -> int:
    """Answers one request over HTTP/2; the weight in its HEADERS frame, 16 where it has none."""
    peer, _ = listener.accept()
    with tls.wrap_socket(peer, server_side=True) as stream, stream.makefile("rb") as frames:
        assert frames.read(24) == b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
        stream.sendall(bytes((0, 0, 0, 4, 0, 0, 0, 0, 0)))  # SETTINGS
        while True:
            head = frames.read(9)
            size, kind, flags = int.from_bytes(head[:3], "big"), head[3], head[4]
            content = frames.read(size)
            if kind == 1:
                break
        # HEADERS with ":status: 200", and the end of stream and fields.
        stream.sendall(bytes((0, 0, 1, 1, 5)) + head[5:] + b"\x88")
        while frames.read(9):  # Until the client goes.
            pass
        return content[4] + 1 if flags & 0x20 else 16


def test_R28_the_priority_is_the_streams_weight(certificate: str) -> None:
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
