# Wherry: user names, passwords, credential callbacks, and replayed bodies
# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import asyncio
import hashlib
import io
import os
import pickle
from typing import Any, AsyncIterator, Dict, Iterator, List, Optional, Tuple

import pytest
from conftest import Make, Server, run_python
from test_uploads import png

import wherry

DIGEST = wherry.DigestAuth("skye", "p")


def statuses(server: Server) -> List[int]:
    return [int(entry["status"]) for entry in server.log()]


def authorization(server: Server) -> List[Optional[str]]:
    return [next((v for n, v in entry["headers"] if n.lower() == "authorization"), None) for entry in server.log()]


def test_R20_digest_authentication_uses_one_challenge_for_many_requests(
    make: Make,
    server: Server,
) -> None:
    way = make(auth=DIGEST)
    for algorithm in ("MD5", "SHA-256"):
        for _ in range(3):
            place = f"/auth/digest/skye/p/{algorithm}"
            answer = way.get(server.url(place, algorithm=algorithm))
            assert answer.json()["scheme"] == "digest"
    # The nonce of the first URL is tried on the second.
    assert statuses(server) == [401, 200, 200, 200, 401, 200, 200, 200]


@pytest.mark.parametrize(
    "query",
    [
        {"algorithm": "SHA-512-256"}, {"algorithm": "SHA-512-256-sess", "userhash": "1"},
        {"qop": "auth-int"}, {"qop": "auth-int", "algorithm": "MD5-sess"},
        {"algorithm": "SHA-512-256", "weaker": "MD5"},
    ],
)  # fmt: skip
def test_R20_Digest_supports_RFC_7616(make: Make, server: Server, tmp_path: Any, query: Dict[str, str]) -> None:
    way = make(auth=DIGEST)
    url = server.url("/auth/digest/skye/p", **query)
    path = tmp_path / "a.bin"
    path.write_bytes(bytes(200_000))
    assert way.get(url).json()["scheme"] == "digest"
    assert way.request("POST", url, data=b"hello").json()["size"] == 5
    with open(path, "rb") as file:
        assert way.request("POST", url, data=file).json()["size"] == 200_000
    with open(path, "rb") as file:
        assert way.request("POST", url, files={"file": file}).json()["size"] > 200_000
    assert way.request("POST", url, json={"a": "b" * 5000}, body_coding="gzip").json()["size"] < 500
    assert statuses(server) == [401, 200, 200, 200, 200, 200]


def test_R20_auth_int_is_refused_for_a_body_that_can_be_read_only_once(
    make: Make,
    server: Server,
) -> None:
    way = make(auth=DIGEST)
    url = server.url("/auth/digest/skye/p", qop="auth-int")
    assert way.get(url).status_code == 200
    with pytest.raises(wherry.WherryError, match="qop=auth-int") as caught:
        way.request("POST", url, data=iter([b"a", b"b"]))
    assert caught.value.reason == "body_spent"


def test_R20_a_name_that_is_not_ASCII_is_sent_extended_or_hashed(
    make: Make,
    server: Server,
) -> None:
    way = make(auth=wherry.DigestAuth("Jäsøn Doe", "pä"))
    for more in ({}, {"userhash": "1"}):
        url = server.url("/auth/digest/Jäsøn Doe/pä", charset="UTF-8", algorithm="MD5", **more)
        assert way.get(url).status_code == 200
        sent = authorization(server)[-1] or ""
        assert ("username*=UTF-8''J%C3%A4s%C3%B8n%20Doe" in sent) is (not more)


def test_R20_a_netrc_file_supplies_credentials_also_after_redirects(make: Make, server: Server, tmp_path: Any) -> None:
    path = tmp_path / "netrc"
    path.write_text("machine 127.0.0.1 login here password p1\nmachine localhost login there password p2\n")
    way = make(netrc=path)
    away = server.url("/echo").replace("127.0.0.1", "localhost")
    assert way.get(server.url("/redirect-to", url=away)).status_code == 200
    assert authorization(server) == ["Basic aGVyZTpwMQ==", "Basic dGhlcmU6cDI="]
    # Explicit settings of the program take precedence, also explicit None.
    assert way.get(server.url("/echo"), auth=("a", "b")).status_code == 200
    assert way.get(server.url("/echo"), auth=None).status_code == 200
    assert way.get(server.url("/echo"), headers={"Authorization": "Own 1"}).status_code == 200
    assert authorization(server)[2:] == ["Basic YTpi", None, "Own 1"]


def test_R20_netrc_True_reads_the_file_in_the_home_directory(server: Server, tmp_path: Any) -> None:
    (tmp_path / ".netrc").write_text("default login me password p\n")
    source = f"""
import pickle, wherry
for netrc in (True, False, "~/.netrc"):
    with wherry.Client(netrc=netrc) as client:
        for each in (client, pickle.loads(pickle.dumps(client))):
            print(dict(each.get({server.url("/echo")!r}).json()["headers"]).get("Authorization"))
"""
    done = run_python(source, env={"HOME": str(tmp_path)})
    found = "Basic bWU6cA=="
    assert done.stdout.splitlines() == [found, found, "None", "None", found, found], done.stderr
    with pytest.raises(wherry.FileError) as missing:
        wherry.Client(netrc=tmp_path / "none")
    assert missing.value.reason == "no_file"
    (tmp_path / "bad").write_text("machine h.org\n\nlogin a passwd s3cret\n")
    with pytest.raises(wherry.ArgumentError, match="bad, line 3: ") as damaged:
        wherry.Client(netrc=str(tmp_path / "bad"))
    assert "s3cret" not in str(damaged.value)


def test_R20_keywords_set_the_credentials(make: Make, server: Server) -> None:
    way = make(auth=("client", "p"))
    assert way.get(server.url("/echo")).status_code == 200
    assert way.get(server.url("/auth/digest/skye/p"), auth=DIGEST).status_code == 200
    found = authorization(server)
    assert found[0] == "Basic Y2xpZW50OnA=" and found[1] is None
    assert found[2] is not None and found[2].startswith("Digest ")
    # A Basic challenge gets no digest password unless the caller allows it.
    assert way.get(server.url("/auth/basic/skye/p"), auth=DIGEST).status_code == 401
    either = wherry.DigestAuth("skye", "p", basic=True)
    assert way.get(server.url("/auth/basic/skye/p"), auth=either).status_code == 200


def test_R20_a_client_replaces_and_drops_its_digest_credentials(
    client: wherry.Client,
    server: Server,
) -> None:
    client.auth = wherry.DigestAuth("skye", "wrong")
    assert client.get(server.url("/auth/digest/skye/p")).status_code == 401
    client.auth = DIGEST
    assert client.get(server.url("/auth/digest/skye/p")).status_code == 200
    client.auth = ("a", "b")
    assert client.get(server.url("/echo")).status_code == 200
    client.auth = None
    assert client.get(server.url("/echo")).status_code == 200
    assert authorization(server)[-2:] == ["Basic YTpi", None]


def test_R20_SEC_U3_credentials_stay_with_their_origin(
    client: wherry.Client,
    server: Server,
) -> None:
    for scheme in ("basic", "digest"):
        away = server.url(f"/auth/{scheme}/skye/p").replace("127.0.0.1", "localhost")
        home = server.url("/redirect-to", url=away)
        auth: Any = ("skye", "p") if scheme == "basic" else DIGEST
        assert client.get(home, auth=auth).status_code == 401
        assert authorization(server)[-1] is None
        assert client.get(home, auth=auth, keep_auth_across_hosts=True).status_code == 200


def test_R20_a_credential_callback_supplies_retries_or_denies(make: Make, server: Server) -> None:
    way = make()
    url = server.url("/auth/digest/skye/p")
    asked: List[Tuple[int, str]] = []

    def answer(response: wherry.Response, realm: str) -> Tuple[str, str]:
        asked.append((response.status_code, realm))
        return "skye", "p" if len(asked) > 1 else "no"

    assert way.get(url, on_credentials=answer).status_code == 200
    assert asked == [(401, "wherry")] * 2
    nothing = way.get(url, on_credentials=lambda response, realm: None)
    assert nothing.status_code == 401 and nothing.content

    def denied(response: wherry.Response, realm: str) -> None:
        raise KeyError("nobody is logged in")

    with pytest.raises(KeyError, match="logged in"):
        way.get(url, on_credentials=denied)
    with pytest.raises(TypeError, match="auth="):
        way.get(url, on_credentials=lambda response, realm: 7)
    assert way.get(server.url("/echo")).status_code == 200


def test_R20_a_coroutine_supplies_credentials_for_an_async_client(server: Server) -> None:
    url = server.url("/auth/digest/skye/p")

    async def answer(response: wherry.Response, realm: str) -> Tuple[str, str]:
        await asyncio.sleep(0)
        return "skye", "p"

    async def fails(response: wherry.Response, realm: str) -> None:
        await asyncio.sleep(0)
        raise KeyError(realm)

    async def main() -> None:
        async with wherry.AsyncClient() as client:
            assert (await client.get(url, on_credentials=answer)).status_code == 200
            async with client.stream("GET", url, on_credentials=answer) as stream:
                assert stream.status_code == 200
            with pytest.raises(KeyError, match="wherry"):
                await client.get(url, on_credentials=fails)

    asyncio.run(main())
    with wherry.Client() as client, pytest.raises(TypeError, match="AsyncClient"):
        client.get(url, on_credentials=answer)


@pytest.mark.parametrize("way", ["pages", "endpoint"])
def test_R20_a_coroutine_supplies_credentials_for_pages_and_endpoints_too(mock: wherry.MockTransport, way: str) -> None:
    mock.add(None, "*", times=1, status=401, headers={"WWW-Authenticate": 'Basic realm="home"'})
    mock.add(None, "*", json=[1, 2])
    asked: List[Tuple[int, str]] = []

    async def answer(response: wherry.Response, realm: str) -> Tuple[str, str]:
        await asyncio.sleep(0)
        asked.append((response.status_code, realm))
        return "skye", "p"

    async def fails(response: wherry.Response, realm: str) -> None:
        await asyncio.sleep(0)
        raise KeyError(realm)

    async def ask(client: wherry.AsyncClient, function: Any) -> Any:
        if way == "pages":
            async with client.pages("http://h/", on_credentials=function) as pages:
                assert await pages.load_next()
                return pages.items
        async with wherry.AsyncEndpoint(client, "http://h", "", "GET", on_credentials=function) as endpoint:
            return (await endpoint.access()).json()

    async def main() -> None:
        async with wherry.AsyncClient(transport=mock) as client:
            assert await ask(client, answer) == [1, 2]
            assert asked == [(401, "home")]
            assert mock.requests[1].headers["Authorization"] == "Basic c2t5ZTpw"
        async with wherry.AsyncClient(transport=again) as client:
            with pytest.raises(KeyError, match="home"):
                await ask(client, fails)

    with wherry.MockTransport() as again:
        again.add(None, "*", status=401, headers={"WWW-Authenticate": 'Basic realm="home"'})
        asyncio.run(main())


def test_R20_a_download_has_credentials(
    client: wherry.Client,
    server: Server,
    tmp_path: Any,
) -> None:
    path = client.download(server.url("/auth/digest/skye/p"), str(tmp_path / "a"), auth=DIGEST)
    assert os.path.getsize(path) > 10 and statuses(server) == [401, 200]


def test_SEC_S1_passwords_never_show_and_survive_pickling(server: Server) -> None:
    assert "s3cret" not in repr(wherry.DigestAuth("skye", "s3cret"))
    with wherry.Client(auth=wherry.DigestAuth("skye", "s3cret")) as client:
        assert "s3cret" not in repr(client)
        with pickle.loads(pickle.dumps(client)) as copy:
            assert copy.auth.password == "s3cret"
        with pytest.raises(wherry.HTTPStatusError) as caught:
            client.get(server.url("/auth/digest/skye/p")).raise_for_status()
        assert "s3cret" not in f"{caught.value!r} {caught.value}"
    with pytest.raises(wherry.ArgumentError), wherry.Client() as client:
        client.get(server.url("/echo"), auth=wherry.DigestAuth("a\r\nX: 1", "p"))


# Bodies

SIZE = 1_500_000


class Letters:
    """A body that can be iterated several times."""

    def __init__(self) -> None:
        self.begun = 0

    def __iter__(self) -> Iterator[bytes]:
        self.begun += 1
        return iter([b"a" * 30_000] * 50)


@pytest.mark.parametrize("kind", ["bytes", "bytesio", "path", "seekable", "iterable", "form"])
def test_U13_the_complete_body_is_sent_again_after_a_digest_401(
    make: Make, server: Server, tmp_path: Any, kind: str
) -> None:
    plain = b"a" * SIZE
    path = tmp_path / "body"
    path.write_bytes(b"..." + plain)
    letters = Letters()
    with open(path, "rb", buffering=0) as file:
        file.seek(3)
        options: Any = {
            "bytes": {"data": plain},
            "bytesio": {"data": io.BytesIO(plain)},
            "path": {"data": path},
            "seekable": {"data": file},
            "iterable": {"data": letters},
            "form": {"files": {"a": ("a.bin", plain)}},
        }[kind]
        answer = make().request("POST", server.url("/auth/digest/skye/p"), auth=DIGEST, **options)
    assert answer.status_code == 200 and statuses(server) == [401, 200]
    report = answer.json()
    if kind == "form":
        assert report["size"] > SIZE
    elif kind == "path":
        assert report["size"] == SIZE + 3
    else:
        assert report["sha256"] == hashlib.sha256(plain).hexdigest()
    assert letters.begun in ((2,) if kind == "iterable" else (0,))


def test_U13_images_are_sent_again(client: wherry.Client, server: Server) -> None:
    answer = client.upload(server.url("/auth/digest/skye/p"), png(64, 48), auth=DIGEST)
    assert answer.status_code == 200 and answer.json()["size"] > 100
    assert statuses(server) == [401, 200]


def test_U13_an_async_stream_restarts_if_it_can(server: Server) -> None:
    class Endless:
        def __init__(self) -> None:
            self.begun = 0

        async def __aiter__(self) -> AsyncIterator[bytes]:
            self.begun += 1
            for _ in range(50):
                await asyncio.sleep(0)
                yield b"a" * 30_000

    async def main() -> None:
        pieces = Endless()
        async with wherry.AsyncClient() as client:
            answer = await client.post(server.url("/auth/digest/skye/p"), auth=DIGEST, data=pieces)
            assert answer.json()["sha256"] == hashlib.sha256(b"a" * SIZE).hexdigest()
            assert pieces.begun == 2

    asyncio.run(main())


def test_U13_a_generator_that_cannot_restart_raises_a_clear_error(
    make: Make,
    server: Server,
) -> None:
    def pieces() -> Iterator[bytes]:
        yield b"abc"

    with pytest.raises(wherry.HTTPStatusError) as caught:
        make().request("POST", server.url("/auth/digest/skye/p"), auth=DIGEST, data=pieces())
    assert caught.value.reason == "body_spent" and "stream" in str(caught.value)
    assert statuses(server) == [401]
