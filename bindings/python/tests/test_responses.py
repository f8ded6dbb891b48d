# Wherry: responses, redirects, streams, and progress, by row
# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import asyncio
import base64
import pickle
from typing import Any, Dict, List

import pytest
from conftest import Server, most_memory

import wherry


@pytest.mark.parametrize("status", [200, 204, 299, 300, 304, 404, 500])
def test_R10_every_status_is_a_response_and_raise_for_status_checks_it(
    server: Server, client: wherry.Client, status: int
) -> None:
    answer = client.get(server.url(f"/status/{status}"))

    assert answer.status_code == status
    assert answer.is_success == (200 <= status < 300)
    assert answer.ok == (status < 400)
    if not answer.ok:
        with pytest.raises(wherry.HTTPStatusError):
            answer.raise_for_status()


def test_R10_an_interim_199_is_not_a_response(server: Server, client: wherry.Client) -> None:
    assert client.get(server.url("/status/199", then=200)).status_code == 200
    head = "HTTP/1.1 199 Wait\r\nX-A: 1\r\n\r\n"
    client.post(server.url("/_script"), json={"only": [{"raw": [["send", head], ["fin"]]}]})

    with pytest.raises(wherry.NetworkError):
        client.get(server.url("/s/only"))


def test_R10_an_accepted_status_is_not_an_error(server: Server, client: wherry.Client) -> None:
    gone = server.url("/status/404")

    accepted = client.get(gone, accept_status=[404, 410])
    assert accepted.ok and accepted.raise_for_status() is accepted
    assert accepted.status_code == 404 and not accepted.is_success
    assert client.get(gone, accept_status=range(400, 500)).raise_for_status().ok
    with client.stream("GET", gone, accept_status=(404,)) as streamed:
        assert streamed.ok and streamed.raise_for_status() is streamed
    for refused in (client.get(gone), client.get(gone, accept_status=[410])):
        assert not refused.ok
        with pytest.raises(wherry.HTTPStatusError):
            refused.raise_for_status()


@pytest.mark.parametrize(
    "kind",
    [
        "application/json", "text/json", "text/javascript", "text/html", "text/plain",
        "text/xml", "application/xml", "application/problem+json; charset=utf-8",
    ],
)  # fmt: skip
def test_R11_JSON_passes_under_its_usual_types(server: Server, client: wherry.Client, kind: str) -> None:
    url = server.url("/json", type=kind, value='{"a":1}')

    assert client.get(url, json_only=True).json() == {"a": 1}


@pytest.mark.parametrize(
    ("kind", "body", "reason"),
    [
        ("application/octet-stream", '{"a":1}', "content_type"),
        ("image/png", '{"a":1}', "content_type"),
        ("application/json", "{", "bad_json_body"),
        ("text/html", "<html>", "bad_json_body"),
    ],
)
def test_R11_an_invalid_JSON_response_raises_an_error_that_has_the_body(
    server: Server, client: wherry.Client, kind: str, body: str, reason: str
) -> None:
    url = server.url("/status/200", type=kind, body=body)
    assert client.get(url).raise_for_status().text == body

    with wherry.Client(json_only=True) as strict:
        for asking, wants in ((client, True), (strict, None)):
            json_only: Any = wants
            with pytest.raises(wherry.HTTPStatusError) as caught:
                asking.get(url, json_only=json_only)
            assert caught.value.reason == reason
            assert caught.value.http_status == 200
            assert caught.value.response is not None
            assert caught.value.response.status_code == 200
            assert caught.value.response.text == body
            assert caught.value.response.headers["content-type"] == kind
        assert strict.get(url, json_only=False).text == body


def test_R11_a_rejected_status_has_the_type_error_as_its_cause(
    server: Server,
    client: wherry.Client,
) -> None:
    url = server.url("/status/500", type="application/octet-stream", body="oops")

    answer = client.get(url, json_only=True)

    with pytest.raises(wherry.HTTPStatusError) as caught:
        answer.raise_for_status()
    assert caught.value.reason == "http_status"
    assert caught.value.underlying is not None
    assert caught.value.underlying.reason == "content_type"
    assert caught.value.response is answer and answer.text == "oops"


def test_R12_the_JSON_of_an_empty_body_is_None(server: Server, client: wherry.Client) -> None:
    for path in ("/status/204", "/empty", "/space"):
        assert client.get(server.url(path)).json() is None
        assert client.get(server.url(path), json_only=True).json() is None
    with pytest.raises(wherry.DecodeError):
        client.get(server.url("/text/hello")).json()


def test_R12_null_members_are_kept_or_removed(server: Server, client: wherry.Client) -> None:
    text = '{"a":null,"b":[null,{"c":null,"d":1}],"e":{"f":null}}'
    answer = client.get(server.url("/json", value=text))

    assert answer.json() == {"a": None, "b": [None, {"c": None, "d": 1}], "e": {"f": None}}
    assert answer.json(drop_nulls=True) == {"b": [None, {"d": 1}], "e": {}}
    assert client.get(server.url("/json", value='{"a":null}')).json(drop_nulls=True) == {}
    assert answer.json(drop_nulls=True, object_pairs_hook=list)[0][0] == "b"
    assert answer.json(drop_nulls=True, object_hook=len) == 2


def test_R14_a_response_has_all_its_parts(server: Server, client: wherry.Client) -> None:
    url = server.url("/text/gr%C3%BC%C3%9Fe", charset="latin-1", header="X-A: 1")
    answer = client.get(url)

    assert (answer.status_code, answer.reason_phrase, answer.url) == (200, "OK", url)
    assert answer.encoding == "latin-1"
    assert answer.content == answer.text.encode("latin-1")
    assert answer.headers["content-type"] == "text/plain; charset=latin-1"
    assert answer.headers["x-a"] == "1"
    assert answer.elapsed.total_seconds() > 0
    assert not answer.from_cache and answer.history == []
    assert repr(answer) == "<Response [200]>"


def test_R14_metrics_show_the_duration_of_each_phase(server: Server, client: wherry.Client) -> None:
    assert client.get(server.url("/json")).metrics is None
    length = len(client.get(server.url("/bytes/1000")).content)

    target = server.url("/bytes/1000", disposition="inline; filename=a.b")
    answer = client.get(server.url("/redirect-to", url=target), metrics=True)

    told = answer.metrics
    assert told is not None and length == 1000
    assert (told.http_version, told.redirects, told.retries) == ("1.1", 1, 0)
    assert told.is_reused and told.connect == 0.0 and told.tls == 0.0
    assert told.remote_address == "127.0.0.1" and told.suggested_name == "a.b"
    assert told.sent_bytes > 0 and told.received_bytes > 1000
    assert 0.0 < told.first_byte <= told.total
    assert min(told.queued, told.lookup) >= 0.0
    with wherry.Client() as fresh:
        first = fresh.get(server.url("/bytes/1000"), metrics=True).metrics
        assert first is not None and not first.is_reused and first.connect > 0.0
        assert first.suggested_name == "1000"


def test_R14_every_kind_of_request_has_metrics(server: Server, client: wherry.Client, tmp_path: Any) -> None:
    with client.stream("GET", server.url("/bytes/5000"), metrics=True) as streamed:
        streamed.read()
    with client.start_download(server.url("/bytes/5000"), tmp_path / "file", metrics=True) as handle:
        handle.wait()
    with pytest.raises(wherry.NetworkError) as cut:
        client.get(server.url("/bytes/5000", cut=3000), metrics=True)

    async def main() -> wherry.Response:
        async with wherry.AsyncClient() as other:
            return await other.get(server.url("/bytes/5000"), metrics=True)

    assert handle.response is not None and cut.value.response is not None
    for answer, least in (
        (streamed, 5000), (handle.response, 5000), (asyncio.run(main()), 5000),
        (cut.value.response, 3000),
    ):  # fmt: skip
        assert answer.metrics is not None
        assert answer.metrics.http_version == "1.1"
        assert answer.metrics.received_bytes > least


def test_R27_a_response_returns_the_object_of_the_caller(server: Server, client: wherry.Client, tmp_path: Any) -> None:
    mine = object()
    answer = client.get(server.url("/status/404"), context=mine)
    assert answer.context is mine
    assert client.get(server.url("/json")).context is None
    with pytest.raises(wherry.HTTPStatusError) as refused:
        answer.raise_for_status()
    with pytest.raises(wherry.NetworkError) as cut:
        client.get(server.url("/bytes/100", cut=50), context=mine)
    assert refused.value.context is mine and cut.value.context is mine
    with client.stream("GET", server.url("/json"), context=mine) as streamed:
        assert streamed.context is mine
    with client.start_download(server.url("/status/404"), tmp_path / "a", context=mine) as handle:
        assert handle.context is mine
        with pytest.raises(wherry.HTTPStatusError) as failed:
            handle.wait()
    assert failed.value.context is mine

    async def main() -> List[Any]:
        async with wherry.AsyncClient() as other:
            urls = [server.url("/json"), server.url("/bytes/100", cut=50)]
            ends = await asyncio.gather(
                *[other.get(url, context=number) for number, url in enumerate(urls)],
                return_exceptions=True,
            )
            return [getattr(end, "context") for end in ends]

    assert asyncio.run(main()) == [0, 1]


def test_R14_a_header_that_is_not_UTF8_is_latin1(server: Server, client: wherry.Client) -> None:
    head = b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\nX-Old: caf\xe9\r\n" + ("X-New: café\r\n\r\n".encode())
    script = {"raw": [{"raw": [["send_base64", base64.b64encode(head).decode()], ["fin"]]}]}
    client.post(server.url("/_script"), json=script)

    answer = client.get(server.url("/s/raw"))

    assert answer.headers["X-Old"] == "café"
    assert answer.headers["X-New"] == "café"


def test_R15_a_422_keeps_its_status_and_body(server: Server, client: wherry.Client) -> None:
    answer = client.get(server.url("/status/422", body='{"field":"name"}', type="application/json"))

    with pytest.raises(wherry.HTTPStatusError) as caught:
        answer.raise_for_status()

    assert caught.value.http_status == 422
    assert caught.value.response is answer
    assert caught.value.response.json() == {"field": "name"}
    assert "422" in str(caught.value)


def test_R19_redirects_are_followed_and_listed(server: Server, client: wherry.Client) -> None:
    answer = client.get(server.url("/redirect/3"))

    assert answer.status_code == 200
    assert answer.url.startswith(server.base + "/echo")
    assert [hop.status_code for hop in answer.history] == [302, 302, 302]
    assert [hop.url.split("?")[0] for hop in answer.history] == [server.base + f"/redirect/{n}" for n in (3, 2, 1)]


def test_R19_a_client_can_leave_redirects_unfollowed(server: Server, client: wherry.Client) -> None:
    answer = client.get(server.url("/redirect/2"), follow_redirects=False)

    assert answer.status_code == 302 and answer.is_redirect and answer.ok
    with wherry.Client(follow_redirects=False) as still:
        assert still.get(server.url("/redirect/1")).status_code == 302


def test_R19_a_redirect_loop_ends(server: Server, client: wherry.Client) -> None:
    with pytest.raises(wherry.WherryError) as caught:
        client.get(server.url("/loop"))
    assert caught.value.reason == "too_many_redirects"


def test_R22_a_streamed_body_is_complete(server: Server, client: wherry.Client) -> None:
    with client.stream("GET", server.url("/bytes/3000000")) as answer:
        assert answer.status_code == 200
        assert answer.headers["content-length"] == "3000000"
        with pytest.raises(wherry.StateError):
            answer.content
        pieces = list(answer.iter_bytes(1 << 16))
    whole = client.get(server.url("/bytes/3000000")).content

    assert b"".join(pieces) == whole
    assert {len(piece) for piece in pieces[:-1]} == {1 << 16}


def test_R22_a_slow_reader_slows_the_sender(server: Server, client: wherry.Client) -> None:
    size = 64 << 20
    with client.stream("GET", server.url(f"/bytes/{size}")) as answer:
        pieces = answer.iter_bytes()
        first = len(next(pieces))
        for _ in range(50):  # The client has every chance to read more.
            client.get(server.url("/json"))
        sent = server.log()[0]["sent"]
        rest = sum(map(len, pieces))

    assert sent < size
    assert first + rest == size


def test_R22_a_streamed_body_is_not_held_in_memory(server: Server) -> None:
    size = 128 << 20
    before = f"""
client = wherry.Client(max_body_bytes={size})
url = {server.url(f"/bytes/{size}")!r}
with client.stream("GET", {server.url("/bytes/1000000")!r}) as answer:
    for piece in answer.iter_bytes():
        pass
"""
    stream = 'with client.stream("GET", url) as answer: '

    used = most_memory(before, stream + f"assert sum(map(len, answer.iter_bytes())) == {size}")
    held = most_memory(before, stream + "answer.read()")

    assert used < 8 << 20
    assert held > size  # Memory use is measured.


def test_R22_leaving_a_stream_ends_the_transfer(server: Server, client: wherry.Client) -> None:
    with client.stream("GET", server.url("/bytes/100000000", rate=1000000)) as answer:
        next(answer.iter_bytes())
    server.wait(ended=1)
    client.wait(timeout=120)
    with pytest.raises(wherry.StateError):
        list(answer.iter_bytes())


def test_R22_a_stream_that_is_cut_raises_at_the_cut(server: Server, client: wherry.Client) -> None:
    found = 0
    with client.stream("GET", server.url("/bytes/100000", cut=60000)) as answer:
        with pytest.raises(wherry.NetworkError):
            for piece in answer.iter_bytes():
                found += len(piece)
    assert found == 60000


def test_R22_a_stream_yields_lines(server: Server, client: wherry.Client) -> None:
    with client.stream("GET", server.url("/sse", count=3, newline="crlf")) as answer:
        lines = list(answer.iter_lines())

    assert lines[:4] == ["id: 0", "event: tick", 'data: {"n":0}', "data: größer"]
    assert len([line for line in lines if line.startswith("id: ")]) == 3


LINES = b"a\r\nb|c|\r\n|"


@pytest.mark.parametrize(
    ("arguments", "options", "lines"),
    [
        ((), {}, ["a", "b|c|", "|"]), ((512,), {}, ["a", "b|c|", "|"]), ((1, True), {}, ["a", "b|c|", "|"]),
        ((), {"chunk_size": 1, "decode_unicode": True, "delimiter": None}, ["a", "b|c|", "|"]),
        ((), {"delimiter": "|"}, ["a\r\nb", "c", "\r\n"]), ((), {"delimiter": b"\r\n"}, ["a", "b|c|", "|"]),
        ((512, True, "\r\n"), {}, ["a", "b|c|", "|"]),
    ],
)  # fmt: skip
def test_R22_lines_accept_the_arguments_of_requests(
    server: Server, client: wherry.Client, arguments: Any, options: Dict[str, Any], lines: List[str]
) -> None:
    # They were a TypeError of the interpreter.
    server.script("lines", [{"body": LINES.decode(), "chunk": 1}])
    assert list(wherry.Response(200, content=LINES).iter_lines(*arguments, **options)) == lines
    one_by_one = [bytes([byte]) for byte in LINES]
    assert list(wherry.Response(200, content=one_by_one).iter_lines(*arguments, **options)) == lines
    with client.stream("GET", server.url("/s/lines")) as answer:
        assert list(answer.iter_lines(*arguments, **options)) == lines

    async def main() -> List[str]:
        answer = wherry.Response(200, content=one_by_one)
        return [line async for line in answer.aiter_lines(*arguments, **options)]

    assert asyncio.run(main()) == lines


@pytest.mark.parametrize(
    ("options", "told"),
    [
        ({"decode_unicode": False}, "iter_lines() yields str, so decode_unicode= must be True, not False"),
        ({"chunk_size": "x"}, "chunk_size= takes a whole number or None, not 'x'"),
        ({"chunk_size": 0}, "chunk_size= must be 1 or more"), ({"delimiter": 5}, "delimiter= takes str, bytes, or None"),
        ({"delimiter": ""}, "delimiter= must not be empty"),
    ],
)  # fmt: skip
def test_R22_lines_name_a_wrong_argument(options: Dict[str, Any], told: str) -> None:
    answer = wherry.Response(200, content=b"a")
    for lines in (answer.iter_lines, answer.aiter_lines):
        with pytest.raises((TypeError, wherry.ArgumentError)) as caught:
            lines(**options)
        assert told in str(caught.value)


@pytest.mark.parametrize("size", [0, -1, "x", 1.5, True])
def test_R22_a_wrong_chunk_size_is_an_error_that_names_it(server: Server, client: wherry.Client, size: Any) -> None:
    # 0 was a ZeroDivisionError, and a negative size yielded nothing, without an error.
    for name in ("iter_bytes", "iter_text", "iter_content"):
        with client.stream("GET", server.url("/json")) as answer:
            with pytest.raises((TypeError, wherry.ArgumentError), match="chunk_size="):
                list(getattr(answer, name)(size))
        with pytest.raises((TypeError, wherry.ArgumentError), match="chunk_size="):
            list(getattr(wherry.Response(200, content=b"abc"), name)(size))


def test_R22_a_stream_can_be_read_in_one_call(server: Server, client: wherry.Client) -> None:
    with client.stream("GET", server.url("/json")) as answer:
        assert answer.read() == answer.content
        assert answer.json()["code"] == 0
    with client.stream("GET", server.url("/status/404", body="gone")) as answer:
        assert (answer.status_code, answer.read()) == (404, b"gone")


def test_R23_progress_never_decreases_nor_exceeds_the_total(server: Server, client: wherry.Client) -> None:
    seen: List[wherry.Progress] = []

    client.get(server.url("/bytes/500000", rate=2000000), progress=seen.append)

    done = [p.done_bytes for p in seen]
    assert done == sorted(done) and done[-1] == 500000
    assert all(p.fraction is None or 0 <= p.fraction <= 1 for p in seen)
    assert seen[-1].total_bytes == 500000


def test_R23_progress_of_an_encoded_body_never_exceeds_one(server: Server, client: wherry.Client) -> None:
    seen: List[wherry.Progress] = []

    client.get(server.url("/gzip", zeros=300000), progress=seen.append)

    assert seen
    assert all(p.fraction is None or p.fraction <= 1 for p in seen)


def test_R23_an_exception_in_a_progress_function_is_raised_and_cancels(server: Server, client: wherry.Client) -> None:
    def stop(_: wherry.Progress) -> None:
        raise ZeroDivisionError("enough")

    with pytest.raises(ZeroDivisionError, match="enough"):
        client.get(server.url("/bytes/10000000", rate=1000000), progress=stop)
    server.wait(ended=1)
    client.wait(timeout=120)


@pytest.mark.parametrize("coding", ["gzip", "deflate", "br", "zstd"])
def test_R24_each_content_encoding_is_decoded(server: Server, coding: str) -> None:
    with wherry.Client(compressed=2) as client:
        answer = client.get(server.url(f"/{coding}"))

    assert answer.json()["coding"] == "wherry"


def test_R19_true_keeps_the_redirect_limit(server: Server) -> None:
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


def test_a_rejected_streamed_response_has_the_same_reason_as_a_buffered_one(
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
