# Wherry: requests sent a second time, and the request of a response
# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import asyncio
import io
import pathlib
import pickle
from typing import Any, Dict, List, Tuple

import pytest
from conftest import Server, field

import wherry


def fields(server: Server, name: str) -> List[List[str]]:
    return [field(told, name) for told in server.log()]


def test_a_request_that_is_sent_again_has_the_params_of_its_client_once(server: Server) -> None:
    # `send` added the params of the client to a URL that already had them.
    with wherry.Client(params={"key": server.key, "lang": "en"}, parameters={"p": 1}) as client:
        first = client.get(server.base + "/redirect/1", follow_redirects=False)
        again = client.send(first.request, follow_redirects=False)
        assert again.url == first.url
        assert again.request.url == first.url and first.url.count("lang=en") == 1
        posted = client.post(server.base + "/echo", parameters={"q": 2})
        assert client.send(posted.request).json()["json"] == posted.json()["json"]

    async def main() -> str:
        async with wherry.AsyncClient(params={"key": server.key}) as client:
            first = await client.get(server.base + "/echo")
            return (await client.send(first.request)).url

    assert asyncio.run(main()).count("key=") == 1


@pytest.mark.parametrize("of_request", [False, True])
def test_a_request_that_is_sent_again_uses_digest_credentials(
    server: Server,
    of_request: bool,
) -> None:
    # `send` forced auth=None, so a client with DigestAuth got 401.
    digest = wherry.DigestAuth("skye", "p")
    options: Dict[str, Any] = {"auth": digest} if of_request else {}
    with wherry.Client(auth=None if of_request else digest) as client:
        to = server.url("/auth/digest/skye/p")
        first = client.get(server.url("/redirect-to", url=to), follow_redirects=False, **options)
        assert first.next_request is not None
        assert client.send(first.next_request).status_code == 200
        # Without credentials, or for another origin, none are sent.
        assert client.get(to, auth=None).request._auth is None
        assert client.send(client.get(to, auth=None).request).status_code == 401
        elsewhere = to.replace("127.0.0.1", "localhost")
        away = client.get(server.url("/redirect-to", url=elsewhere), follow_redirects=False, **options)
        assert away.next_request is not None
        assert client.send(away.next_request).status_code == 401
        assert "Authorization" not in client.send(away.next_request).request.headers
        # Keywords override the values of the request.
        assert client.send(away.next_request, auth=digest).status_code == 200


def test_client_credentials_are_sent_with_requests_created_by_a_program(server: Server) -> None:
    with wherry.Client(auth=("me", "secret"), headers={"X-A": "1"}) as client:
        told = client.send(wherry.SentRequest("PUT", server.url("/echo"), [("X-B", "2")], b"body")).json()
    assert told["method"] == "PUT" and told["body"] == "Ym9keQ=="
    assert field(told, "Authorization") and field(told, "X-A") == ["1"] and field(told, "X-B") == ["2"]


@pytest.mark.parametrize("of_client", [False, True])
def test_a_cookie_header_is_not_restored_after_a_redirect_to_another_origin(server: Server, of_client: bool) -> None:
    cookie = {"Cookie": "a=1"}
    with wherry.Client(headers=cookie if of_client else None) as client:
        other = server.url("/echo").replace("127.0.0.1", "localhost")
        first = client.get(
            server.url("/redirect-to", url=other), headers=None if of_client else cookie,
            follow_redirects=False)  # fmt: skip
        assert field(server.log()[0], "Cookie") == ["a=1"] and first.next_request is not None
        assert "Cookie" not in first.next_request.headers
        assert field(client.send(first.next_request).json(), "Cookie") == []
        near = client.get(server.url("/redirect/1"), cookies={"b": "2"}, follow_redirects=False)
        assert near.next_request is not None
        assert field(client.send(near.next_request).json(), "Cookie") == ["b=2"]


def bodies(path: pathlib.Path) -> List[Dict[str, Any]]:
    path.write_bytes(b"file")
    return [
        {"content": iter([b"a", b"b"])}, {"data": path}, {"files": {"f": b"x"}},
        {"content": wherry.Sized([b"ab"], 2)},
    ]  # fmt: skip


@pytest.mark.parametrize("status", [307, 308])
def test_a_body_that_is_not_kept_is_not_sent_as_an_empty_one(
    server: Server, client: wherry.Client, tmp_path: pathlib.Path, status: int
) -> None:
    # `client.send(response.next_request)` sent an empty body.
    for options in bodies(tmp_path / "file"):
        first = client.post(server.url("/redirect/1", status=status), follow_redirects=False, **options)
        following = first.next_request
        assert following is not None and following.method == "POST" and following.content is None
        with pytest.raises(wherry.StateError, match="its body was streamed and is not kept") as caught:
            client.send(following)
        assert caught.value.reason == "wrong_state"
        assert client.send(following, content=b"again").json()["body"] == "YWdhaW4="
    picture = memoryview(bytes(3)).cast("B", (1, 1, 3))
    first = client.upload(server.url("/redirect/1", status=status), picture, follow_redirects=False)
    assert first.next_request is not None
    with pytest.raises(wherry.StateError):
        client.send(first.next_request)
    kept = client.post(server.url("/redirect/1", status=status), data={"a": "b"}, follow_redirects=False)
    assert kept.next_request is not None
    assert client.send(kept.next_request).json()["form"] == [["a", "b"]]
    # After 303 it is a GET without a body.
    see = client.post(server.url("/redirect/1", status=303), data=iter([b"a"]), follow_redirects=False)
    assert see.next_request is not None and client.send(see.next_request).json()["method"] == "GET"


def test_later_changes_of_its_values_do_not_change_a_sent_request(server: Server, client: wherry.Client) -> None:
    # The request kept references: a changed dictionary changed the request, and iterators were
    # empty.
    document: Dict[str, Any] = {"a": 1}
    headers = {"X-A": "1"}
    form = {"f": ["1"]}
    parameters = {"p": [1]}
    answers = [
        client.post(server.url("/echo"), json=document, headers=headers),
        client.post(server.url("/echo"), data=form, headers=headers),
        client.post(server.url("/echo"), parameters=parameters),
    ]
    data = bytearray(b"abc")
    answers.append(client.post(server.url("/echo"), content=data))
    document["a"] = 2
    headers["X-A"] = "2"
    form["f"].append("2")
    parameters["p"].append(2)
    data[0] = 0x7A
    assert [answer.request.content for answer in answers] == [b'{"a":1}', b"f=1", b'{"p":[1]}', b"abc"]
    assert [answer.request.headers["X-A"] for answer in answers[:2]] == ["1", "1"]
    pairs: Any = iter([("X-I", "1"), ("X-J", "2")])
    answer = client.get(server.url("/echo"), headers=pairs)
    assert field(answer.json(), "X-I") == ["1"] == [answer.request.headers["X-I"]]
    assert answer.request.headers["X-J"] == "2"


def test_a_request_has_the_edits_of_adapt(server: Server) -> None:
    # `response.request` never had the changes made by an adapt= function.
    def sign(request: wherry.Request) -> None:
        request.headers["X-Signed"] = f"{request.method} {len(request.content or b'')}"
        del request.headers["X-Client"]
        if request.content:
            request.content = request.content + b"!"

    async def main() -> wherry.Response:
        async with wherry.AsyncClient(headers={"X-Client": "1"}, adapt=sign) as client:
            return await client.post(server.url("/redirect/1"), content=b"abc")

    with wherry.Client(headers={"X-Client": "1", "X-Kept": "2"}, adapt=sign) as client:
        answers = [client.post(server.url("/redirect/1"), content=b"abc"), asyncio.run(main())]
        again = pickle.loads(pickle.dumps(answers[0]))
    for answer in [*answers, again]:
        first = answer.history[0].request
        assert (first.method, first.headers["X-Signed"], first.content) == ("POST", "POST 3", b"abc!")
        assert first.url == answer.history[0].url
        assert answer.request.method == "GET" and answer.request.content is None
        assert answer.request.headers["X-Signed"] == "GET 0" and "X-Client" not in answer.request.headers
    assert answers[0].request.headers["X-Kept"] == "2"


@pytest.mark.parametrize("follows", [False, True])
@pytest.mark.parametrize("adapts", [False, True])
def test_a_request_to_another_origin_has_the_headers_that_may_be_sent_there(
    server: Server, adapts: bool, follows: bool
) -> None:
    # `next_request` took an API key along, which a redirect that is followed leaves behind.
    def adapt(request: wherry.Request) -> None:
        request.headers["X-Signed"] = "1"

    other = server.url("/echo").replace("127.0.0.1", "localhost")
    settings: Dict[str, Any] = {"adapt": adapt} if adapts else {}
    secrets = {"X-Api-Key": "k", "Accept": "text/x"}
    with wherry.Client(auth=("me", "x"), headers=secrets, base_url=server.base, **settings) as client:
        answer = client.post(
            "redirect-to", params={"url": other, "key": server.key}, data={"a": "b"}, headers={"X-Own": "1"},
            follow_redirects=follows)  # fmt: skip
        if not follows:
            assert answer.next_request is not None and "X-Api-Key" in answer.request.headers
            answer = client.send(answer.next_request, adapt=None)
        else:
            assert "Authorization" in answer.history[0].request.headers
        names = ("Authorization", "X-Api-Key", "X-Own", "X-Signed", "Content-Type", "Accept")
        sent = [field(answer.json(), name) != [] for name in names]
        assert sent == [False] * 5 + [True] and answer.request.method == "GET"
        assert [name in answer.request.headers for name in names] == sent


def test_a_stream_has_the_properties_of_its_response_at_its_end(
    tls_base: str,
    certificate: str,
) -> None:
    # `is_length_unverified` of a stream was always False.
    url = f"{tls_base}/bytes/1000?no_length=1&close=1&cut=400&unclean=1"
    with wherry.Client(verify=certificate + "/cert.pem") as client:
        with client.stream("GET", url) as stream:
            assert not stream.is_length_unverified
            stream.read()
            assert stream.is_length_unverified

    async def main() -> None:
        async with wherry.AsyncClient(verify=certificate + "/cert.pem") as client:
            async with client.stream("GET", url) as stream:
                await stream.aread()
                assert stream.is_length_unverified

    asyncio.run(main())


def test_a_mocked_response_has_a_request(server: Server) -> None:
    request = wherry.SentRequest("GET", "http://h/a")
    assert wherry.Response(200, request=request).request.url == "http://h/a"
    assert wherry.Response(200, request=request).url == "http://h/a"


def unseekable(data: bytes) -> Tuple[Any, List[int]]:
    """A reader whose position can be read, and moved to the end, but not back."""
    calls: List[int] = []

    class Reader(io.RawIOBase):
        def __init__(self) -> None:
            self._file = io.BytesIO(data)

        def read(self, size: int = -1) -> bytes:
            return self._file.read(size)

        def tell(self) -> int:
            return self._file.tell()

        def seek(self, offset: int, whence: int = 0) -> int:
            calls.append(offset)
            if whence == 0:
                raise OSError("the tape does not run backwards")
            return self._file.seek(offset, whence)

    return Reader(), calls


def test_a_file_that_cannot_rewind_is_an_error_instead_of_an_empty_body(server: Server, client: wherry.Client) -> None:
    # The failing seek was ignored, and the file was at its end: an empty body was sent.
    reader, _ = unseekable(b"abc")
    with pytest.raises(wherry.ArgumentError, match="does not run backwards"):
        client.post(server.url("/echo"), data=reader)
    reader, _ = unseekable(b"abc")
    with pytest.raises(wherry.ArgumentError, match="does not run backwards"):
        client.post(server.url("/echo"), files={"f": reader})
    assert server.log() == []
