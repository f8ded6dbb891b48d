# Wherry: blocking requests, by row
# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import base64
import gc
import os
import signal
import socket
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Dict, List

import pytest
from conftest import Server, body, field

import wherry
from wherry._client import client as _client
from wherry._native import codes
from wherry._native.library import integer, lib


@pytest.mark.parametrize("method", ["get", "post", "put", "patch", "delete", "options"])
def test_R1_each_method_has_a_function(server: Server, client: wherry.Client, method: str) -> None:
    told = getattr(client, method)(server.url("/echo"), params={"q": "1"}).json()

    assert told["method"] == method.upper()
    assert ["q", "1"] in told["query"]


def test_R2_without_a_method_the_parameters_decide(server: Server, client: wherry.Client) -> None:
    assert client.request(None, server.url("/echo")).json()["method"] == "GET"

    told = client.request(None, server.url("/echo"), parameters={"a": 1}).json()

    assert (told["method"], told["json"]) == ("POST", {"a": 1})


def test_R3_HEAD_has_headers_and_no_body(server: Server, client: wherry.Client) -> None:
    answer = client.head(server.url("/bytes/1000"))

    assert answer.headers["content-length"] == "1000"
    assert answer.content == b""


def test_R3_any_token_is_a_valid_method(server: Server, client: wherry.Client) -> None:
    assert client.request("PURGE", server.url("/echo")).json()["method"] == "PURGE"
    with pytest.raises(wherry.ArgumentError):
        client.request("P URGE", server.url("/echo"))


@pytest.mark.parametrize(
    ("method", "where"),
    [("GET", "query"), ("DELETE", "query"), ("POST", "json"), ("PUT", "json"), ("PATCH", "json")],
)
def test_R4_the_method_decides_where_parameters_are_sent(
    server: Server, client: wherry.Client, method: str, where: str
) -> None:
    told = client.request(method, server.url("/echo"), parameters={"a": "b"}).json()

    if where == "query":
        assert ["a", "b"] in told["query"] and told["size"] == 0
    else:
        assert told["json"] == {"a": "b"}
        assert field(told, "content-type")[0].startswith("application/json")


@pytest.mark.parametrize("method", ["GET", "HEAD", "DELETE", "POST", "PUT", "PATCH"])
@pytest.mark.parametrize("kind", ["none", "json", "form", "bytes"])
def test_R4_every_method_works_with_every_encoding(
    server: Server, client: wherry.Client, method: str, kind: str
) -> None:
    bodies: Dict[str, Dict[str, Any]] = {
        "none": {}, "json": {"json": {"j": 4}}, "form": {"data": {"f": "5"}},
        "bytes": {"content": b"raw"},
    }  # fmt: skip
    in_query = method in ("GET", "HEAD", "DELETE")
    url = server.url("/echo", u=0)
    options: Any = {"params": {"q": ["2", "3"]}, "parameters": {"p": "1"}, **bodies[kind]}
    if method == "HEAD" and kind != "none":
        with pytest.raises(wherry.ArgumentError) as caught:
            client.request(method, url, **options)
        assert caught.value.reason == "bad_method" and server.log() == []
        return

    answer = client.request(method, url, **options)

    (entry,) = server.log()
    rest = [["q", "2"], ["q", "3"]]
    # Parameters are sent in the query if they cannot be a form or JSON.
    p_in_query = in_query or kind in ("json", "bytes")
    assert entry["query"] == [["key", server.key], ["u", "0"]] + [["p", "1"]] * p_in_query + rest
    if method == "HEAD":
        return
    told = answer.json()
    p_in_form = "p=1&" if not in_query else ""
    expected: Dict[str, Any] = {
        "none": "" if in_query else '{"p":"1"}', "json": '{"j":4}', "form": p_in_form + "f=5",
        "bytes": "raw",
    }  # fmt: skip
    assert body(told).decode() == expected[kind]
    kinds = {
        "none": [] if in_query else ["application/json"], "json": ["application/json"],
        "form": ["application/x-www-form-urlencoded"],
    }  # fmt: skip
    if kind in kinds:
        assert [value.partition(";")[0] for value in field(told, "content-type")] == kinds[kind]


def test_R5_DELETE_may_have_an_array_and_a_query(server: Server, client: wherry.Client) -> None:
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
        ({"a": None, "b": 1}, "a=&b=1"),
        ({"a": [None, True, False]}, "a=&a=true&a=false"),
        ({"a": []}, ""),
        ("x=1&y=2", "x=1&y=2"),
        ("a+b&q=%E4", "a+b&q=%E4"),
        (b"a&&b=\xe4", "a&&b=%E4"),
        ("a b=ä#", "a%20b=%C3%A4%23"),
        ("", ""),
    ],
)
def test_R6_params_follow_httpx_and_text_is_sent_as_written(
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
def test_R6_nested_parameters_follow_the_encoding_rule(
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
def test_R8_a_value_that_JSON_cannot_represent_is_refused_before_sending(
    server: Server, client: wherry.Client, value: Any
) -> None:
    with pytest.raises(wherry.ArgumentError) as caught:
        client.post(server.url("/echo"), json=value)

    assert caught.value.reason == "bad_parameters"
    assert server.log() == []


@pytest.mark.parametrize("byte", [*range(9), *range(10, 32), 127])
def test_SEC_U1_control_bytes_never_reach_a_request(mock: wherry.MockTransport, byte: int) -> None:
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
            ("GET", "http://h/", {"auth": (text, "")}),
            ("POST", "http://h/", {"files": {"a": ("f", b"x", text)}}),
        ):
            with pytest.raises(wherry.ArgumentError):
                client.request(method, url, **options)
        with pytest.raises(wherry.ArgumentError):
            wherry.Bearer(text)
        with pytest.raises(wherry.ArgumentError):
            client.configure(user_agent=text)
        with pytest.raises(wherry.ArgumentError):
            client.headers["X"] = text
    assert mock.requests == []


def test_R16_a_closed_port_is_a_network_error(client: wherry.Client) -> None:
    with socket.socket() as deaf:  # it owns the port and does not listen
        deaf.bind(("127.0.0.1", 0))
        with pytest.raises(wherry.NetworkError) as caught:
            client.get(f"http://127.0.0.1:{deaf.getsockname()[1]}/")

    assert caught.value.reason == "connect" and "the connection was refused" in caught.value.message
    assert caught.value.curl_code == 7
    assert isinstance(caught.value, ConnectionError)
    assert caught.value.http_status == 0


def test_R16_a_port_without_TLS_is_named(client: wherry.Client) -> None:
    def respond(listener: socket.socket) -> None:
        connection, _ = listener.accept()
        with connection:
            connection.recv(1)
            connection.sendall(b"HTTP/1.1 400 Bad Request\r\n\r\n")

    with socket.create_server(("127.0.0.1", 0)) as listener:
        thread = threading.Thread(target=respond, args=[listener])
        thread.start()
        with pytest.raises(wherry.TLSError) as caught:
            client.get(f"https://127.0.0.1:{listener.getsockname()[1]}/")
        thread.join()
    assert caught.value.message.endswith("The server does not use TLS on this port: check the port, or use http.")


def test_R16_a_cut_body_is_a_network_error(server: Server, client: wherry.Client) -> None:
    with pytest.raises(wherry.NetworkError) as caught:
        client.get(server.url("/bytes/10000", cut=500))
    assert caught.value.reason == "truncated"


def test_R16_an_invalid_URL_is_an_argument_error(client: wherry.Client) -> None:
    for url in ("ftp://127.0.0.1/", "http://", "http://a b/", "http://h\0/", "\ud800"):
        with pytest.raises(wherry.ArgumentError) as caught:
            client.get(url)
        assert caught.value.reason == "bad_url", url
    with pytest.raises(wherry.ArgumentError, match="has no scheme. Write http://localhost:80/a or"):
        client.get("localhost:80/a")


def test_R16_a_body_over_its_limit_is_a_limit_error(server: Server, client: wherry.Client) -> None:
    with pytest.raises(wherry.LimitError) as caught:
        client.get(server.url("/bytes/100000"), max_body_bytes=1000)
    assert caught.value.reason == "too_large"


def test_R16_a_cancelled_request_reports_that_it_was_cancelled(
    server: Server,
    client: wherry.Client,
) -> None:
    with ThreadPoolExecutor(1) as threads:
        waiting = threads.submit(client.get, server.url("/silent"), tag="mine")
        server.wait(requests=1)
        assert client.cancel(tag="mine") == 1
        with pytest.raises(wherry.CancelledError):
            waiting.result(120)


def test_R16_an_untrusted_certificate_is_a_TLS_error(tls_base: str, certificate: str) -> None:
    with wherry.Client() as wary:
        with pytest.raises(wherry.TLSError) as caught:
            wary.get(tls_base + "/json")
        assert caught.value.reason == "untrusted"
    with wherry.Client(verify=os.path.join(certificate, "cert.pem")) as knowing:
        assert knowing.get(tls_base + "/json").ok


def test_R16_verify_False_disables_certificate_checks(tls_base: str) -> None:
    with wherry.Client(verify=False) as trusting:
        assert trusting.get(tls_base + "/json").ok


def test_R17_any_number_of_threads_may_share_one_client(server: Server, client: wherry.Client) -> None:
    with ThreadPoolExecutor(16) as threads:
        told = list(
            threads.map(
                lambda n: client.get(server.url("/echo"), params={"n": n}).json()["query"][-1],
                range(200),
            )
        )

    assert told == [["n", str(n)] for n in range(200)]


def test_R17_a_request_may_be_sent_from_a_progress_function(server: Server, client: wherry.Client) -> None:
    inner: List[int] = []

    def look(_: wherry.Progress) -> None:
        inner.append(client.get(server.url("/json")).status_code)

    outer = client.get(server.url("/bytes/100000"), progress=look)

    assert outer.status_code == 200 and len(outer.content) == 100000
    assert inner and set(inner) == {200}


def test_R18_a_download_continues_while_its_thread_does_other_work(
    server: Server, client: wherry.Client, tmp_path: Any
) -> None:
    target = tmp_path / "file"
    with client.start_download(server.url("/bytes/300000"), target) as handle:
        server.wait(ended=1)
        assert handle.wait() == str(target)
    assert target.stat().st_size == 300000


def test_R20_a_pair_is_Basic_and_Bearer_is_Bearer(server: Server, client: wherry.Client) -> None:
    basic = client.get(server.url("/echo"), auth=("user", "päss")).json()
    bearer = client.get(server.url("/echo"), auth=wherry.Bearer("t0ken")).json()

    expected = base64.b64encode("user:päss".encode()).decode()
    assert field(basic, "authorization") == [f"Basic {expected}"]
    assert field(bearer, "authorization") == ["Bearer t0ken"]


def test_R27_the_tag_is_returned(server: Server, client: wherry.Client) -> None:
    assert client.get(server.url("/json"), tag="group").tag == "group"
    assert client.get(server.url("/json")).tag is None


def test_ctrl_c_returns_at_once_and_cancels(server: Server, client: wherry.Client) -> None:
    def interrupt() -> None:
        server.wait(requests=1)
        os.kill(os.getpid(), signal.SIGINT)

    thread = threading.Thread(target=interrupt)
    thread.start()
    with pytest.raises(KeyboardInterrupt):
        client.get(server.url("/silent"))
    thread.join()

    server.wait(ended=1)
    client.wait(timeout=120)


@pytest.mark.parametrize("function", ["wherry_client_perform_for", "wherry_transfer_wait"])
def test_ctrl_c_at_the_moment_of_the_response_frees_it(
    server: Server, client: wherry.Client, monkeypatch: pytest.MonkeyPatch, function: str
) -> None:
    call, free = _client._Call(), lib.wherry_event_free
    original = call.perform_for if function == "wherry_client_perform_for" else lib.wherry_transfer_wait
    freed: List[int] = []

    def answered(*arguments: Any) -> int:
        status = int(original(*arguments))
        if status == codes.OK:
            raise KeyboardInterrupt
        if function == "wherry_transfer_wait":
            server.open_gate(server.gate())
        return status

    if function == "wherry_client_perform_for":  # the first time slice has the response, however late
        call.perform_for, call.slice = answered, integer(600_000)
    else:
        monkeypatch.setattr(lib, function, answered)
    monkeypatch.setattr(_client, "_calls", [call])
    monkeypatch.setattr(lib, "wherry_event_free", lambda event: freed.append(free(event)))
    path = "/json" if function == "wherry_client_perform_for" else "/bytes/100"
    held = {} if path == "/json" else {"hold": 10, "gate": server.gate()}
    with pytest.raises(KeyboardInterrupt):
        client.get(server.url(path, **held))
    assert freed == [codes.OK]
    monkeypatch.undo()
    assert client.get(server.url("/json")).ok


def test_a_signal_handler_may_send_a_request(server: Server, client: wherry.Client) -> None:
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


def test_no_descriptor_or_handle_leaks(server: Server) -> None:
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

    deadline = time.monotonic() + 600
    while len(os.listdir("/proc/self/fd")) > before and time.monotonic() < deadline:
        threading.Event().wait(0.01)
    assert len(os.listdir("/proc/self/fd")) <= before
