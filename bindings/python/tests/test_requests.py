# Wherry: requests, row by row, blocking
# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import array
import base64
import ctypes
import gc
import hashlib
import io
import os
import pathlib
import pickle
import resource
import signal
import socket
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from typing import Any, BinaryIO, Dict, Iterator, List

import pytest
from conftest import Server

import wherry
from wherry import _codes as codes
from wherry._body import Source
from wherry._bridge import lib


def body(told: Dict[str, Any]) -> bytes:
    return base64.b64decode(told["body"])


def field(told: Dict[str, Any], name: str) -> List[str]:
    return [value for header, value in told["headers"] if header.lower() == name]


@pytest.mark.parametrize("method", ["get", "post", "put", "patch", "delete", "options"])
def test_R1_each_method_has_its_function(
    server: Server, client: wherry.Client, method: str
) -> None:
    told = getattr(client, method)(server.url("/echo"), params={"q": "1"}).json()

    assert told["method"] == method.upper()
    assert ["q", "1"] in told["query"]


def test_R2_without_a_method_parameters_decide(server: Server, client: wherry.Client) -> None:
    assert client.request(None, server.url("/echo")).json()["method"] == "GET"

    told = client.request(None, server.url("/echo"), parameters={"a": 1}).json()

    assert (told["method"], told["json"]) == ("POST", {"a": 1})


def test_R3_head_has_fields_and_no_body(server: Server, client: wherry.Client) -> None:
    answer = client.head(server.url("/bytes/1000"))

    assert answer.headers["content-length"] == "1000"
    assert answer.content == b""


def test_R3_any_token_is_a_method(server: Server, client: wherry.Client) -> None:
    assert client.request("PURGE", server.url("/echo")).json()["method"] == "PURGE"
    with pytest.raises(wherry.ArgumentError):
        client.request("P URGE", server.url("/echo"))


@pytest.mark.parametrize(
    ("method", "where"),
    [("GET", "query"), ("DELETE", "query"), ("POST", "json"), ("PUT", "json"), ("PATCH", "json")],
)
def test_R4_parameters_go_where_the_method_wants_them(
    server: Server, client: wherry.Client, method: str, where: str
) -> None:
    told = client.request(method, server.url("/echo"), parameters={"a": "b"}).json()

    if where == "query":
        assert ["a", "b"] in told["query"] and told["size"] == 0
    else:
        assert told["json"] == {"a": "b"}
        assert field(told, "content-type")[0].startswith("application/json")


def test_R5_a_delete_may_carry_an_array_and_a_query(server: Server, client: wherry.Client) -> None:
    told = client.request("DELETE", server.url("/echo"), json=[1, 2], params={"q": 3}).json()

    assert told["json"] == [1, 2]
    assert ["q", "3"] in told["query"]


@pytest.mark.parametrize(
    ("params", "query"),
    [
        ({"a": "b c"}, "a=b%20c"),
        ({"a": "1+1&2=2"}, "a=1%2B1%262%3D2"),
        ({"e": "\U0001f600"}, "e=%F0%9F%98%80"),
        ({"a": [1, 2]}, "a=1&a=2"),
        ([("b", 1), ("a", 2), ("b", 3)], "b=1&a=2&b=3"),
        ({"a": None, "b": 1}, "b=1"),
        ("x=1&y=2", "x=1&y=2"),
    ],
)
def test_R6_params_read_as_requests_reads_them(
    server: Server, client: wherry.Client, params: Any, query: str
) -> None:
    told = client.get(server.url("/echo"), params=params).json()

    assert told["target"].partition("&")[2] == query


@pytest.mark.parametrize(
    ("style", "query"),
    [
        ("brackets", "a[]=1&a[]=2"),
        ("repeat", "a=1&a=2"),
        ("index", "a[0]=1&a[1]=2"),
    ],
)
def test_R6_parameters_nest_by_rule(
    server: Server, client: wherry.Client, style: str, query: str
) -> None:
    from urllib.parse import unquote

    told = client.get(server.url("/echo"), parameters={"a": [1, 2]}, array_style=style).json()

    assert unquote(told["target"]).partition("&")[2] == query


def test_R6_a_dictionary_as_data_is_a_form(server: Server, client: wherry.Client) -> None:
    told = client.post(server.url("/echo"), data={"a": "ö &", "b": [1, 2]}).json()

    assert told["form"] == [["a", "ö &"], ["b", "1"], ["b", "2"]]
    assert field(told, "content-type") == ["application/x-www-form-urlencoded"]


@pytest.mark.parametrize("value", [float("nan"), {"a": float("inf")}, {"a": object()}, {1, 2}])
def test_R8_what_json_cannot_say_is_refused_unsent(
    server: Server, client: wherry.Client, value: Any
) -> None:
    with pytest.raises(wherry.ArgumentError) as caught:
        client.post(server.url("/echo"), json=value)

    assert caught.value.reason == "bad_parameters"
    assert server.log() == []


def test_R9_bytes_text_and_files_are_bodies(
    server: Server, client: wherry.Client, tmp_path: Any
) -> None:
    path = tmp_path / "body.bin"
    path.write_bytes(b"0123456789")
    url = server.url("/echo")

    assert body(client.post(url, data=b"\x00\xff").json()) == b"\x00\xff"
    assert body(client.post(url, content="grün").json()) == "grün".encode()
    assert body(client.post(url, data=path).json()) == b"0123456789"
    with open(path, "rb") as file:
        assert body(client.post(url, data=file).json()) == b"0123456789"
    with open(path, "rb") as file:
        file.seek(4)
        told = client.post(url, data=file).json()
        assert (body(told), told["chunked"]) == (b"456789", False)


def test_R9_a_missing_file_fails_before_connecting(
    server: Server, client: wherry.Client, tmp_path: Any
) -> None:
    with pytest.raises(wherry.FileError):
        client.post(server.url("/echo"), data=tmp_path / "nothing")
    assert server.log() == []


def test_R9_a_generator_is_streamed(server: Server, client: wherry.Client) -> None:
    def pieces() -> Iterator[bytes]:
        for number in range(300):
            yield b"%08d" % number * 1000

    told = client.post(server.url("/sink"), data=pieces()).json()

    assert told["bytes"] == 300 * 8000
    assert server.log()[0]["headers"]


def test_R9_what_a_generator_raises_is_raised_and_cancels(
    server: Server, client: wherry.Client
) -> None:
    def pieces() -> Iterator[bytes]:
        yield b"first"
        raise KeyError("broken")

    with pytest.raises(KeyError, match="broken"):
        client.post(server.url("/sink"), data=pieces())
    assert client.get(server.url("/json")).ok


def test_R9_a_large_file_is_not_held_in_memory(
    server: Server, client: wherry.Client, tmp_path: Any
) -> None:
    path = tmp_path / "large"
    with open(path, "wb") as file:
        file.truncate(100 << 20)
    client.get(server.url("/json"))
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss

    told = client.put(server.url("/sink"), data=path).json()

    assert told["bytes"] == 100 << 20
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 50 << 10


@pytest.mark.parametrize("status", [199 + 1, 204, 299, 300, 404, 500])
def test_R10_every_status_is_an_answer_and_raise_for_status_judges(
    server: Server, client: wherry.Client, status: int
) -> None:
    answer = client.get(server.url(f"/status/{status}"))

    assert answer.status_code == status
    assert answer.is_success == (200 <= status < 300)
    assert answer.ok == (status < 400)
    if not answer.ok:
        with pytest.raises(wherry.HTTPStatusError):
            answer.raise_for_status()


def test_R11_json_is_judged_only_where_it_was_asked_for(
    server: Server, client: wherry.Client
) -> None:
    url = server.url("/json", type="application/octet-stream")

    assert client.get(url).json()["code"] == 0
    told = client.get(url, json_only=True)
    assert told._error is not None and told._error.reason == "content_type"
    assert told.json()["code"] == 0


def test_R12_json_of_empty_bodies_is_none(server: Server, client: wherry.Client) -> None:
    assert client.get(server.url("/empty")).json() is None
    assert client.get(server.url("/space")).json() is None
    with pytest.raises(wherry.DecodeError):
        client.get(server.url("/text/hello")).json()


def test_R14_an_answer_has_all_its_parts(server: Server, client: wherry.Client) -> None:
    url = server.url("/text/gr%C3%BC%C3%9Fe", charset="latin-1", header="X-A: 1")
    answer = client.get(url)

    assert (answer.status_code, answer.reason_phrase, answer.url) == (200, "OK", url)
    assert answer.encoding == "latin-1"
    assert answer.content == answer.text.encode("latin-1")
    assert answer.headers["content-type"] == "text/plain; charset=latin-1"
    assert answer.headers["x-a"] == "1"
    assert answer.elapsed.total_seconds() > 0
    assert not answer.from_cache and answer.history == ()
    assert repr(answer) == "<Response [200]>"


def test_R14_a_field_that_is_not_utf8_is_latin1(server: Server, client: wherry.Client) -> None:
    head = b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\nX-Old: caf\xe9\r\n" + (
        "X-New: café\r\n\r\n".encode()
    )
    script = {"raw": [{"raw": [["send_base64", base64.b64encode(head).decode()], ["fin"]]}]}
    client.post(server.url("/_script"), json=script)

    answer = client.get(server.url("/s/raw"))

    assert answer.headers["X-Old"] == "café"
    assert answer.headers["X-New"] == "café"


@pytest.mark.parametrize("byte", [*range(9), *range(10, 32), 127])
def test_SEC_U1_no_control_byte_gets_into_a_request(mock: wherry.MockTransport, byte: int) -> None:
    text = f"a{chr(byte)}b"
    mock.add(None, "*")
    with wherry.Client(transport=mock) as client:
        for method, url, options in (
            (text, "http://h/", {}),
            ("GET", f"http://h/{text}", {}),
            ("GET", "http://h/", {"headers": {text: "v"}}),
            ("GET", "http://h/", {"headers": {"X": text}}),
            ("GET", "http://h/", {"headers": {"User-Agent": text}}),
            ("GET", "http://h/", {"headers": {"Cookie": text}}),
            ("GET", "http://h/", {"auth": wherry.Bearer(text)}),
            ("POST", "http://h/", {"files": {"a": ("f", b"x", text)}}),
        ):
            with pytest.raises(wherry.ArgumentError):
                client.request(method, url, **options)
        with pytest.raises(wherry.ArgumentError):
            client.configure(user_agent=text)
        with pytest.raises(wherry.ArgumentError):
            client.headers["X"] = text
    assert mock.requests == []


def test_R15_a_422_keeps_its_status_and_body(server: Server, client: wherry.Client) -> None:
    answer = client.get(
        server.url("/status/422", body='{"field":"name"}', type="application/json")
    )

    with pytest.raises(wherry.HTTPStatusError) as caught:
        answer.raise_for_status()

    assert caught.value.http_status == 422
    assert caught.value.response is answer
    assert caught.value.response.json() == {"field": "name"}
    assert "422" in str(caught.value)


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def test_R16_nobody_listening_is_a_network_error(client: wherry.Client) -> None:
    with pytest.raises(wherry.NetworkError) as caught:
        client.get(f"http://127.0.0.1:{free_port()}/")

    assert caught.value.reason == "connect"
    assert caught.value.curl_code == 7
    assert isinstance(caught.value, ConnectionError)
    assert caught.value.http_status == 0


def test_R16_a_cut_body_is_a_network_error(server: Server, client: wherry.Client) -> None:
    with pytest.raises(wherry.NetworkError) as caught:
        client.get(server.url("/bytes/10000", cut=500))
    assert caught.value.reason == "truncated"


def test_R16_a_bad_url_is_an_argument_error(client: wherry.Client) -> None:
    for url in ("ftp://127.0.0.1/", "http://", "http://a b/", "http://h\0/", "\ud800"):
        with pytest.raises(wherry.ArgumentError) as caught:
            client.get(url)
        assert caught.value.reason == "bad_url", url


def test_R16_a_body_beyond_its_limit_is_a_limit_error(
    server: Server, client: wherry.Client
) -> None:
    with pytest.raises(wherry.LimitError) as caught:
        client.get(server.url("/bytes/100000"), max_body_bytes=1000)
    assert caught.value.reason == "too_large"


def test_R16_a_cancelled_request_says_so(server: Server, client: wherry.Client) -> None:
    with ThreadPoolExecutor(1) as threads:
        waiting = threads.submit(client.get, server.url("/silent"), tag="mine")
        server.wait(requests=1)
        assert client.cancel(tag="mine") == 1
        with pytest.raises(wherry.CancelledError):
            waiting.result(20)


def test_R16_a_stranger_is_a_tls_error(tls_base: str, certificate: str) -> None:
    with wherry.Client() as wary:
        with pytest.raises(wherry.TLSError) as caught:
            wary.get(tls_base + "/json")
        assert caught.value.reason == "untrusted"
    with wherry.Client(verify=os.path.join(certificate, "cert.pem")) as knowing:
        assert knowing.get(tls_base + "/json").ok


def test_R16_verify_false_trusts_anybody(tls_base: str) -> None:
    with wherry.Client(verify=False) as trusting:
        assert trusting.get(tls_base + "/json").ok


def test_R17_any_number_of_threads_may_block_on_one_client(
    server: Server, client: wherry.Client
) -> None:
    with ThreadPoolExecutor(16) as threads:
        told = list(
            threads.map(
                lambda n: client.get(server.url("/echo"), params={"n": n}).json()["query"][-1],
                range(200),
            )
        )

    assert told == [["n", str(n)] for n in range(200)]


def test_R17_a_request_may_be_sent_from_a_progress_function(
    server: Server, client: wherry.Client
) -> None:
    inner: List[int] = []

    def look(_: wherry.Progress) -> None:
        inner.append(client.get(server.url("/json")).status_code)

    outer = client.get(server.url("/bytes/100000"), progress=look)

    assert outer.status_code == 200 and len(outer.content) == 100000
    assert inner and set(inner) == {200}


def test_R18_a_download_goes_on_while_its_thread_does_something_else(
    server: Server, client: wherry.Client, tmp_path: Any
) -> None:
    target = tmp_path / "file"
    with client.start_download(server.url("/bytes/300000"), target) as handle:
        server.wait(ended=1)
        assert handle.wait() == str(target)
    assert target.stat().st_size == 300000


def test_R19_redirects_are_followed_and_told(server: Server, client: wherry.Client) -> None:
    answer = client.get(server.url("/redirect/3"))

    assert answer.status_code == 200
    assert answer.url.startswith(server.base + "/echo")
    assert [hop.status_code for hop in answer.history] == [302, 302, 302]
    assert [hop.url.split("?")[0] for hop in answer.history] == [
        server.base + f"/redirect/{n}" for n in (3, 2, 1)
    ]


def test_R19_redirects_may_be_left_alone(server: Server, client: wherry.Client) -> None:
    answer = client.get(server.url("/redirect/2"), follow_redirects=False)

    assert answer.status_code == 302 and answer.is_redirect and answer.ok
    with wherry.Client(follow_redirects=False) as still:
        assert still.get(server.url("/redirect/1")).status_code == 302


def test_R19_a_loop_ends(server: Server, client: wherry.Client) -> None:
    with pytest.raises(wherry.WherryError) as caught:
        client.get(server.url("/loop"))
    assert caught.value.reason == "too_many_redirects"


def test_R20_a_pair_is_basic_and_a_bearer_is_a_bearer(
    server: Server, client: wherry.Client
) -> None:
    basic = client.get(server.url("/echo"), auth=("user", "päss")).json()
    bearer = client.get(server.url("/echo"), auth=wherry.Bearer("t0ken")).json()

    expected = base64.b64encode("user:päss".encode()).decode()
    assert field(basic, "authorization") == [f"Basic {expected}"]
    assert field(bearer, "authorization") == ["Bearer t0ken"]


def test_R22_a_streamed_body_is_whole(server: Server, client: wherry.Client) -> None:
    with client.stream("GET", server.url("/bytes/3000000")) as answer:
        assert answer.status_code == 200
        assert answer.headers["content-length"] == "3000000"
        with pytest.raises(wherry.StateError):
            answer.content
        pieces = list(answer.iter_bytes(1 << 16))
    whole = client.get(server.url("/bytes/3000000")).content

    assert b"".join(pieces) == whole
    assert {len(piece) for piece in pieces[:-1]} == {1 << 16}


def test_R22_a_slow_reader_holds_the_sender_back(server: Server, client: wherry.Client) -> None:
    size = 256 << 20
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    with client.stream("GET", server.url(f"/bytes/{size}")) as answer:
        pieces = answer.iter_bytes()
        first = len(next(pieces))
        sent = server.log()[0]["sent"]
        rest = sum(map(len, pieces))

    assert sent < size
    assert first + rest == size
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 64 << 10


def test_R22_leaving_a_stream_ends_the_transfer(server: Server, client: wherry.Client) -> None:
    with client.stream("GET", server.url("/bytes/100000000", rate=1000000)) as answer:
        next(answer.iter_bytes())
    server.wait(ended=1)
    client.wait(timeout=20)
    with pytest.raises(wherry.StateError):
        list(answer.iter_bytes())


def test_R22_a_cut_stream_raises_where_it_was_cut(server: Server, client: wherry.Client) -> None:
    found = 0
    with client.stream("GET", server.url("/bytes/100000", cut=60000)) as answer:
        with pytest.raises(wherry.NetworkError):
            for piece in answer.iter_bytes():
                found += len(piece)
    assert found == 60000


def test_R22_lines_of_a_stream(server: Server, client: wherry.Client) -> None:
    with client.stream("GET", server.url("/sse", count=3, newline="crlf")) as answer:
        lines = list(answer.iter_lines())

    assert lines[:4] == ["id: 0", "event: tick", 'data: {"n":0}', "data: größer"]
    assert len([line for line in lines if line.startswith("id: ")]) == 3


def test_R22_a_stream_can_be_read_whole(server: Server, client: wherry.Client) -> None:
    with client.stream("GET", server.url("/json")) as answer:
        assert answer.read() == answer.content
        assert answer.json()["code"] == 0
    with client.stream("GET", server.url("/status/404", body="gone")) as answer:
        assert (answer.status_code, answer.read()) == (404, b"gone")


def test_R23_progress_never_goes_back_nor_beyond_the_end(
    server: Server, client: wherry.Client
) -> None:
    seen: List[wherry.Progress] = []

    client.get(server.url("/bytes/500000", rate=2000000), progress=seen.append)

    done = [p.done_bytes for p in seen]
    assert done == sorted(done) and done[-1] == 500000
    assert all(p.fraction is None or 0 <= p.fraction <= 1 for p in seen)
    assert seen[-1].total_bytes == 500000


def test_R23_progress_of_a_coded_body_never_exceeds_one(
    server: Server, client: wherry.Client
) -> None:
    seen: List[wherry.Progress] = []

    client.get(server.url("/gzip", zeros=300000), progress=seen.append)

    assert seen
    assert all(p.fraction is None or p.fraction <= 1 for p in seen)


def test_R23_what_a_progress_function_raises_is_raised_and_cancels(
    server: Server, client: wherry.Client
) -> None:
    def stop(_: wherry.Progress) -> None:
        raise ZeroDivisionError("enough")

    with pytest.raises(ZeroDivisionError, match="enough"):
        client.get(server.url("/bytes/10000000", rate=1000000), progress=stop)
    server.wait(ended=1)
    client.wait(timeout=20)


@pytest.mark.parametrize("coding", ["gzip", "deflate", "br", "zstd"])
def test_R24_each_coding_decodes(server: Server, coding: str) -> None:
    with wherry.Client(compressed=2) as client:
        answer = client.get(server.url(f"/{coding}"))

    assert answer.json()["coding"] == "wherry"


def test_R27_the_tag_comes_back(server: Server, client: wherry.Client) -> None:
    assert client.get(server.url("/json"), tag="group").tag == "group"
    assert client.get(server.url("/json")).tag is None


def test_files_make_a_multipart_form(
    server: Server, client: wherry.Client, tmp_path: Any
) -> None:
    path = tmp_path / "note.txt"
    path.write_bytes(b"on disk")
    with open(path, "rb") as file:
        told = client.post(
            server.url("/echo"),
            data={"title": "Ferien"},
            files={
                "a": file,
                "b": ("b.bin", b"\x00\x01", "application/x-b"),
                "c": ("c.txt", io.BytesIO(b"memory")),
            },
        ).json()

    parts = {part["name"]: part for part in told["parts"]}
    assert list(parts) == ["title", "a", "b", "c"]
    assert parts["a"]["filename"] == "note.txt" and parts["b"]["type"] == "application/x-b"
    assert parts["title"]["text"] == "Ferien"
    for name, content in (("a", b"on disk"), ("b", b"\x00\x01"), ("c", b"memory")):
        assert parts[name]["sha256"] == hashlib.sha256(content).hexdigest()


def test_ctrl_c_answers_at_once_and_cancels(server: Server, client: wherry.Client) -> None:
    def interrupt() -> None:
        server.wait(requests=1)
        os.kill(os.getpid(), signal.SIGINT)

    thread = threading.Thread(target=interrupt)
    thread.start()
    with pytest.raises(KeyboardInterrupt):
        client.get(server.url("/silent"))
    thread.join()

    server.wait(ended=1)
    client.wait(timeout=20)


@pytest.mark.parametrize("function", ["wherry_client_perform_for", "wherry_transfer_wait"])
def test_ctrl_c_beside_the_answer_frees_it(
    server: Server, client: wherry.Client, monkeypatch: pytest.MonkeyPatch, function: str
) -> None:
    original, free = getattr(lib, function), lib.wherry_event_free
    freed: List[int] = []

    def answered(*arguments: Any) -> int:
        status = int(original(*arguments))
        if status == codes.OK:
            raise KeyboardInterrupt
        if function == "wherry_transfer_wait":
            server.open_gate(server.gate())
        return status

    monkeypatch.setattr(lib, function, answered)
    monkeypatch.setattr(lib, "wherry_event_free", lambda event: freed.append(free(event)))
    path = "/json" if function == "wherry_client_perform_for" else "/bytes/100"
    held = {} if path == "/json" else {"hold": 10, "gate": server.gate()}
    with pytest.raises(KeyboardInterrupt):
        client.get(server.url(path, **held))
    assert freed == [codes.OK]
    monkeypatch.undo()
    assert client.get(server.url("/json")).ok


def test_a_signal_handler_may_send_a_request_of_its_own(
    server: Server, client: wherry.Client
) -> None:
    seen: List[int] = []

    def interrupt() -> None:
        server.wait(requests=1)
        os.kill(os.getpid(), signal.SIGUSR1)

    def handle(*_: object) -> None:
        seen.append(client.get(server.url("/status/204")).status_code)
        server.open_gate(server.gate())

    old = signal.signal(signal.SIGUSR1, handle)
    try:
        thread = threading.Thread(target=interrupt)
        thread.start()
        outer = client.get(server.url("/json", gate=server.gate()))
        thread.join()
    finally:
        signal.signal(signal.SIGUSR1, old)

    assert outer.json()["code"] == 0
    assert seen == [204]


def test_no_descriptor_or_handle_is_left(server: Server) -> None:
    def use() -> None:
        with wherry.Client() as client:
            client.get(server.url("/json"))
            client.get(server.url("/status/404"))
            client.post(server.url("/sink"), data=iter([b"a", b"b"]))
            with client.stream("GET", server.url("/bytes/100000")) as answer:
                next(answer.iter_bytes())

    use()
    gc.collect()
    before = len(os.listdir("/proc/self/fd"))
    for _ in range(20):
        use()
    gc.collect()

    deadline = time.monotonic() + 20
    while len(os.listdir("/proc/self/fd")) > before and time.monotonic() < deadline:
        threading.Event().wait(0.01)
    assert len(os.listdir("/proc/self/fd")) <= before


def test_R9_buffers_are_bodies_and_numbers_are_not(server: Server, client: wherry.Client) -> None:
    words = array.array("B", b"abc")
    text = ctypes.create_string_buffer(b"abc", 3)
    for buffer in (words, text, memoryview(b"abc"), bytearray(b"abc")):
        assert body(client.post(server.url("/echo"), content=buffer).json()) == b"abc"

    with pytest.raises(TypeError, match="not int"):
        client.post(server.url("/echo"), data=[1, 2, 3])
    with pytest.raises(TypeError, match="not int"):
        client.post(server.url("/echo"), content=iter([4]))
    with pytest.raises(TypeError, match="cannot be a body"):
        client.post(server.url("/echo"), content=7)


def test_R9_of_a_file_that_grows_its_first_size_is_sent(
    server: Server, client: wherry.Client, tmp_path: Any
) -> None:
    path = tmp_path / "growing"
    path.write_bytes(b"x" * 600_001)

    class Growing:
        """A file that somebody appends to before each read."""

        def __init__(self, file: BinaryIO) -> None:
            self._file = file
            self.tell, self.fileno = file.tell, file.fileno

        def read(self, size: int) -> bytes:
            with open(path, "ab") as more:
                more.write(b"y" * 200_000)
            return self._file.read(size)

    with open(path, "rb") as file:
        file.seek(1)
        told = client.post(server.url("/sink"), data=Growing(file)).json()

    assert told["bytes"] == 600_000
    assert field({"headers": server.log()[0]["headers"]}, "content-length") == ["600000"]


def test_R9_what_the_library_says_of_a_body_is_not_taken_for_its_end(
    server: Server, client: wherry.Client, tmp_path: Any
) -> None:
    """A transfer without a streamed body takes no bytes, and runs on."""
    with client.start_download(
        server.url("/bytes/2000000", hold=1000000, gate=server.gate()), tmp_path / "file"
    ) as handle:
        with pytest.raises(wherry.StateError):
            Source(iter([b"x"])).give(handle._exchange.transfer)
        with pytest.raises(wherry.StateError):
            Source(iter([])).give(handle._exchange.transfer)
        handle.discard()
        with pytest.raises(wherry.CancelledError):
            handle.wait()
        Source(iter([b"x"])).give(handle._exchange.transfer)


def test_R19_true_keeps_the_limit_of_redirects(server: Server) -> None:
    with wherry.Client(max_redirects=2) as client:
        for answer in (
            client.get(server.url("/redirect/2"), follow_redirects=True),
            client.get(server.url("/redirect/3"), follow_redirects=True, max_redirects=3),
            client.get(server.url("/redirect/3"), max_redirects=3, follow_redirects=True),
        ):
            assert answer.status_code == 200
        with pytest.raises(wherry.HTTPStatusError, match="redirects"):
            client.get(server.url("/redirect/3"), follow_redirects=True)
        assert client.get(server.url("/redirect/1"), follow_redirects=False).status_code == 302
        client.configure(follow_redirects=True)
        with pytest.raises(wherry.HTTPStatusError, match="redirects"):
            client.get(server.url("/redirect/3"))
        client.configure(follow_redirects=False)
        assert client.get(server.url("/redirect/1")).status_code == 302
        assert client.get(server.url("/redirect/3"), follow_redirects=True).status_code == 200
        client.configure(follow_redirects=True)
        assert client.get(server.url("/redirect/3")).status_code == 200
    with wherry.Client(max_redirects=5, follow_redirects=False) as still:
        assert still.get(server.url("/redirect/1")).status_code == 302
        with pickle.loads(pickle.dumps(still)) as again:
            assert again.get(server.url("/redirect/1")).status_code == 302


def test_a_streamed_refusal_has_the_reason_of_a_collected_one(
    server: Server, client: wherry.Client
) -> None:
    with pytest.raises(wherry.HTTPStatusError) as collected:
        client.get(server.url("/status/404")).raise_for_status()
    with client.stream("GET", server.url("/status/404")) as answer:
        with pytest.raises(wherry.StateError) as unread:
            answer.content
        with pytest.raises(wherry.HTTPStatusError) as streamed:
            answer.raise_for_status()
        list(answer.iter_bytes())
        with pytest.raises(wherry.StateError) as taken:
            list(answer.iter_bytes())
    assert collected.value.reason == streamed.value.reason == "http_status"
    assert unread.value.reason == taken.value.reason == "wrong_state"


def test_paths_are_utf_8(server: Server, client: wherry.Client, tmp_path: Any) -> None:
    path = os.fsdecode(os.fsencode(tmp_path) + b"/\xff")
    for call in (
        lambda: client.download(server.url("/json"), path),
        lambda: client.post(server.url("/sink"), data=pathlib.Path(path)),
    ):
        with pytest.raises(wherry.ArgumentError) as caught:
            call()
        assert caught.value.reason == "bad_text"
    assert server.log() == []
