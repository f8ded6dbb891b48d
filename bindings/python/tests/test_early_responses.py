# Wherry: HTTP/2 responses that arrive before the request is sent completely
# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import os
import shutil
import socket
import ssl
import subprocess
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO, Iterator, Optional, Tuple

import pytest
from conftest import PATIENCE, PATIENT

import wherry

DATA, HEADERS, RST_STREAM, SETTINGS, WINDOW_UPDATE = 0, 1, 3, 4, 8
END_STREAM, END_HEADERS = 1, 4
NO_ERROR, INTERNAL_ERROR = 0, 2
#: Entries of the static table of HPACK.
OK, NOT_FOUND = b"\x88", b"\x8d"
LENGTH_5 = b"\x0f\x0d\x015"
BODY = b"12345678"


def frame(kind: int, flags: int, stream: int, payload: bytes = b"") -> bytes:
    return len(payload).to_bytes(3, "big") + bytes((kind, flags)) + stream.to_bytes(4, "big") + payload


def reset(stream: int, code: int = NO_ERROR) -> bytes:
    return frame(RST_STREAM, 0, stream, code.to_bytes(4, "big"))


def window(stream: int, size: int) -> bytes:
    return frame(WINDOW_UPDATE, 0, stream, size.to_bytes(4, "big"))


def read(frames: BinaryIO) -> Optional[Tuple[int, int, int]]:
    """The kind, flags, and stream of the next frame; None when the client disconnects."""
    try:
        head = frames.read(9)
        frames.read(int.from_bytes(head[:3], "big"))
    except OSError:
        return None
    return (head[3], head[4], int.from_bytes(head[5:], "big")) if len(head) == 9 else None


class Answers:
    """A server that lets a client send no body, and answers the headers of each POST with frames."""

    def __init__(self, folder: str) -> None:
        self.cert = os.path.join(folder, "cert.pem")
        self._tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        self._tls.load_cert_chain(self.cert, os.path.join(folder, "key.pem"))
        self._tls.set_alpn_protocols(["h2", "http/1.1"])
        self._listener = socket.create_server(("127.0.0.1", 0))
        self._listener.settimeout(PATIENCE)
        self.url = f"https://127.0.0.1:{self._listener.getsockname()[1]}/"
        self._pool = ThreadPoolExecutor(1)

    def __enter__(self) -> Answers:
        return self

    def __exit__(self, *_: object) -> None:
        self._pool.shutdown()
        self._listener.close()

    @contextmanager
    def client(self) -> Iterator[wherry.Client]:
        """A client that knows the window, because it has received a response."""
        with wherry.Client(verify=self.cert, proxy="", max_retries=0, **PATIENT) as client:
            assert client.get(self.url).status_code == 200
            yield client

    def serve(self, *answers: bytes, later: bytes = b"", then: bytes = b"") -> Future[None]:
        """Answers the POST with records of frames for stream 3, each DATA frame with ``later``, and a
        request on a second connection over HTTP/1.1 with ``then``."""
        return self._pool.submit(self._serve, answers, later, then)

    def _serve(self, answers: Tuple[bytes, ...], later: bytes, then: bytes) -> None:
        peer, _ = self._listener.accept()
        with self._tls.wrap_socket(peer, server_side=True) as stream, stream.makefile("rb") as frames:
            assert frames.read(24) == b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
            stream.sendall(frame(SETTINGS, 0, 0, b"\0\4\0\0\0\0"))  # INITIAL_WINDOW_SIZE: 0
            while (told := read(frames)) is not None:
                kind, flags, number = told
                if kind == HEADERS and flags & END_STREAM:
                    stream.sendall(frame(HEADERS, END_STREAM | END_HEADERS, number, OK))
                elif kind == HEADERS:
                    for record in answers:
                        stream.sendall(record)
                elif kind == DATA:
                    stream.sendall(later)
                if kind == HEADERS and then and not flags & END_STREAM:
                    self._second(then)

    def _second(self, answer: bytes) -> None:
        peer, _ = self._listener.accept()
        with self._tls.wrap_socket(peer, server_side=True) as stream, stream.makefile("rb") as lines:
            assert stream.selected_alpn_protocol() == "http/1.1"
            while lines.readline() != b"\r\n":
                pass
            assert lines.read(len(BODY)) == BODY
            stream.sendall(answer)


@pytest.fixture
def answers(certificate: str) -> Iterator[Answers]:
    with Answers(certificate) as made:
        yield made


WHOLE = frame(HEADERS, END_STREAM | END_HEADERS, 3, OK)
HEAD = frame(HEADERS, END_HEADERS, 3, OK)
LENGTH = frame(HEADERS, END_HEADERS, 3, OK + LENGTH_5)
HELLO = frame(DATA, END_STREAM, 3, b"hello")


@pytest.mark.parametrize(
    ("records", "later", "body"),
    [
        ((WHOLE + window(3, 4),), window(3, 4), b""),
        ((HEAD + HELLO + window(3, 4),), window(3, 4), b"hello"),
        ((LENGTH + HELLO,), b"", b"hello"),
        ((LENGTH + HELLO + window(3, 4),), b"", b"hello"),
        ((WHOLE, reset(3)), b"", b""),
        ((HEAD + HELLO, reset(3)), b"", b"hello"),
        ((LENGTH + HELLO, reset(3)), b"", b"hello"),
    ],
    ids=[
        "headers, rest of the request", "body, rest of the request", "length", "length, a part of the request",
        "headers, reset", "body, reset", "length, reset",
    ],
)  # fmt: skip
def test_R29_an_HTTP2_response_before_the_end_of_its_request_is_a_response(
    answers: Answers, records: Tuple[bytes, ...], later: bytes, body: bytes
) -> None:
    told = answers.serve(*records, later=later)
    with answers.client() as client:
        response = client.post(answers.url, data=BODY)
        assert (response.status_code, response.content) == (200, body)
    told.result(PATIENCE)


def test_R29_an_early_HTTP2_response_that_ends_with_an_error_is_an_error(answers: Answers) -> None:
    told = answers.serve(HEAD + frame(DATA, 0, 3, b"hel"), reset(3, INTERNAL_ERROR))
    with answers.client() as client, pytest.raises(wherry.NetworkError, match="INTERNAL_ERROR"):
        client.post(answers.url, data=BODY)
    told.result(PATIENCE)


def test_R29_an_early_HTTP2_response_of_unknown_length_may_lack_data(answers: Answers) -> None:
    told = answers.serve(HEAD + HELLO, reset(3))
    with answers.client() as client:
        assert client.post(answers.url, data=BODY).is_length_unverified
    told.result(PATIENCE)


def test_R29_a_request_whose_early_response_libcurl_loses_is_sent_over_HTTP1_if_the_server_refused_it(
    answers: Answers,
) -> None:
    refused = frame(HEADERS, END_STREAM | END_HEADERS, 3, NOT_FOUND)
    told = answers.serve(refused + reset(3), then=b"HTTP/1.1 404 Not Found\r\nContent-Length: 2\r\n\r\nno")
    with answers.client() as client:
        response = client.post(answers.url, data=BODY, metrics=True)
        assert (response.status_code, response.content) == (404, b"no")
        assert response.metrics is not None and response.metrics.http_version == "1.1"
    told.result(PATIENCE)


def test_R29_a_POST_that_may_be_processed_is_not_sent_again_if_libcurl_loses_its_early_response(
    answers: Answers,
) -> None:
    told = answers.serve(WHOLE + reset(3))
    with answers.client() as client:
        with pytest.raises(wherry.NetworkError, match="Lost the response .* Use HTTP/1.1") as caught:
            client.post(answers.url, data=BODY)
        assert caught.value.reason == "connection_reset"
        assert client.counters().requests == 2
    told.result(PATIENCE)


@pytest.fixture
def go_server(certificate: str, tmp_path: Path) -> Iterator[Tuple[str, str]]:
    """The URL of a server of Go's net/http, and its certificate."""
    compiler = shutil.which("go")
    if compiler is None:
        pytest.skip("Go is missing: run scripts/setup --languages")
    program, source = tmp_path / "early_server", Path(__file__).with_name("early_server.go")
    settings = {**os.environ, "GOCACHE": str(tmp_path / "cache"), "GO111MODULE": "off"}
    subprocess.run([compiler, "build", "-o", program, source], check=True, env=settings)
    cert = os.path.join(certificate, "cert.pem")
    words = [str(program), cert, os.path.join(certificate, "key.pem")]
    with subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as server:
        assert server.stdin is not None and server.stdout is not None
        yield f"https://127.0.0.1:{int(server.stdout.readline())}", cert
        server.stdin.close()  # The server ends.


def test_R29_no_response_of_a_server_that_does_not_read_requests_is_lost(go_server: Tuple[str, str]) -> None:
    url, cert = go_server
    for status, size, count in ((200, 8, 400), (401, 16_384, 400), (401, 60_000, 200), (413, 5_000_000, 20)):
        body = bytes(size)
        with wherry.Client(verify=cert, proxy="", max_retries=0, **PATIENT) as client, ThreadPoolExecutor(16) as pool:
            sent = [pool.submit(client.post, f"{url}/{status}", data=body) for _ in range(count)]
            told = {(each.result().status_code, each.result().content) for each in sent}
        assert told == {(status, b"early")}, size
