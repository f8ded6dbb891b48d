# Wherry: data that must not leave the program, and input that must not misdirect it
# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import asyncio
import os
import pathlib
import random
import socket
from typing import Any, Callable, Dict, Iterator, List
from urllib.parse import urlsplit

import pytest
from conftest import Server, body, field
from test_uploads import png

import wherry

CONTROLS = [chr(byte) for byte in (*range(9), *range(10, 32), 127)]


@pytest.fixture
def trusting(certificate: str) -> Iterator[wherry.Client]:
    """A client that trusts the certificate of the test server."""
    with wherry.Client(verify=os.path.join(certificate, "cert.pem")) as made:
        yield made


# SEC-U1: control bytes


def test_SEC_U1_control_bytes_never_reach_any_text(mock: wherry.MockTransport) -> None:
    mock.add(None, "*")
    for control in CONTROLS:
        text = f"a{control}b"
        with wherry.Client(base_url="http://h/", transport=mock) as client:
            tries: List[Callable[[], Any]] = [
                *(
                    lambda name=name: client.get("x", headers={name: text})
                    for name in (
                        "X", "User-Agent", "Referer", "Cookie", "Range", "Authorization", "Accept",
                        "Proxy-Authorization", "Content-Type",
                    )
                ),
                lambda: client.get("x", headers={text: "v"}),
                lambda: client.get(text),
                lambda: client.get(f"http://h{text}/"),
                lambda: client.get(f"x?{text}"),
                lambda: client.request(text, "x"),
                lambda: client.get("x", auth=wherry.Bearer(text)),
                lambda: client.post("x", files={"a": ("f", b"x", text)}),
                lambda: client.configure(auth=wherry.Bearer(text)),
                lambda: client.configure(user_agent=text),
                lambda: client.configure(jpeg_type=text),
                lambda: client.configure(image_names=text),
                lambda: client.configure(base_url=f"http://h/{text}"),
                lambda: client.configure(bases={"a": f"http://h/{text}"}),
                lambda: client.headers.update({"X": text}),
                lambda: client.headers.update({text: "v"}),
                lambda: wherry.Client(user_agent=text),
                lambda: wherry.Client(jpeg_type=text),
                lambda: wherry.Client(base_url=f"http://{text}/"),
                lambda: wherry.Client(bases={"a": f"http://{text}/"}),
                lambda: wherry.Client(headers={"X": text}),
                lambda: wherry.Client(auth=wherry.Bearer(text)),
            ]  # fmt: skip
            for number, attempt in enumerate(tries):
                with pytest.raises(wherry.ArgumentError):
                    attempt()
                    raise AssertionError(f"try {number} with {control!r}")
            assert mock.requests == []
            assert client.get("x").ok and len(mock.requests) == 1
        mock = wherry.MockTransport()
        mock.add(None, "*")
    mock.close()


def test_SEC_U1_text_of_any_content_stays_out_of_the_headers(server: Server, tmp_path: Any) -> None:
    """Names and values that are encoded in requests, and texts that stay local."""
    evil = "a\r\nX-Evil: 1\r\n\r\nGET /evil HTTP/1.1"
    proxy = server.base.replace("http://", "http://u%0d%0aX-Evil:%201:p@")
    with wherry.Client(app_version=evil, parameters={evil: evil}, proxy=proxy) as client:
        told = client.get(server.url("/echo"), params={evil: evil}, tag=evil)
        assert [evil, evil] in told.json()["query"] and told.tag == evil
        form = client.post(server.url("/echo"), data={evil: evil}).json()
        assert form["form"] == [[evil, evil], [evil, evil]]  # The client's parameter and the request's.
        parts = client.post(server.url("/echo"), files={evil: (evil, b"x")}).json()["parts"]
        assert len(parts) == 2 and parts[-1]["size"] == 1
        client.upload(server.url("/echo"), (evil, png(2, 2)), name=evil, fields={evil: evil})
        assert client.count(tag=evil) == 0
        with pytest.raises(wherry.ArgumentError):
            client.get(server.url("/echo"), auth=(evil, evil))
    log = server.log()
    assert [told["path"] for told in log] == ["/echo"] * 4
    for entry in log:
        assert field(entry, "x-evil") == [] and len(field(entry, "host")) == 1


# SEC-U2: one host


@pytest.mark.parametrize(
    "url",
    [
        "http://good.test\\@evil.test/", "http://user@good.test/", "http://a:b@c/", "http://",
        "//x", "javascript:x", "http://good.test:port/", "http://good.test:0/", "http://[::1/",
        "ht tp://x/", "http://good.test\0.evil/", "http://good .test/", "http//x", "",
        "file:///etc/passwd",
    ],
)  # fmt: skip
def test_SEC_U2_a_URL_that_names_no_host_or_two_is_refused(mock: wherry.MockTransport, tmp_path: Any, url: str) -> None:
    mock.add(None, "*")

    async def main() -> None:
        async with wherry.AsyncClient(transport=mock) as client:
            with pytest.raises(wherry.ArgumentError):
                await client.get(url)

    with wherry.Client(transport=mock) as client:
        for ask in (
            client.get, lambda url: client.download(url, tmp_path / "file"),
            lambda url: client.upload(url, png(2, 2)),
            lambda url: client.stream("GET", url).__enter__(),
        ):  # fmt: skip
            with pytest.raises(wherry.ArgumentError) as caught:
                ask(url)
            assert caught.value.reason == "bad_url"
    asyncio.run(main())
    assert mock.requests == []


WORDS = [
    "http", "https", ":", "/", "//", "\\", "@", "#", "?", "a", "b.c", "127.1", "[", "]", "::1", "%",
    "%2f", "%00", "..", ".", "\x7f", "天", " ", "\t", "80", "99999", "&", "=", ";", "|", "\0",
    "\udc80",
]  # fmt: skip


def test_SEC_U2_no_text_causes_worse_than_a_refusal(mock: wherry.MockTransport) -> None:
    mock.add(None, "*")
    dice = random.Random()
    asked = 0
    with wherry.Client(transport=mock) as client:
        for turn in range(3000):
            text = "http://" * (turn % 2) + "".join(dice.choices(WORDS, k=dice.randint(1, 8)))
            try:
                answer = client.get(text, tag="a")
            except wherry.ArgumentError as error:
                assert error.reason == "bad_url", repr(text)
                continue
            sent = mock._request(asked).url
            asked += 1
            parts = urlsplit(sent)
            # The fragment stays in the URL of the response, and is not sent.
            assert answer.url.partition("#")[0] == sent, repr(text)
            assert parts.scheme in ("http", "https"), repr(text)
            assert parts.hostname and "@" not in parts.netloc, repr(text)
            assert not set(sent) & {"\\", " ", "\t", "\0", "\x7f"}, repr(text)
    assert 0 < asked < 3000


def test_SEC_U2_a_response_reports_the_URL_that_was_sent(mock: wherry.MockTransport) -> None:
    mock.add(None, "*")
    dice = random.Random()
    words = [*WORDS, "h.test", "/a", "x=1", "A", ".b", "'", "!", "*", "(", ")", "+", ",", "$", "_"]
    hosts = ["http://h.test", "http://127.0.0.1:8080", "https://a-b.c:1", "http://h/", "HTTP://H"]

    async def main(urls: List[str]) -> List[str]:
        async with wherry.AsyncClient(transport=mock) as client:
            return [(await client.get(url)).url for url in urls]

    found: Dict[str, str] = {}
    with wherry.Client(transport=mock) as client:
        for _ in range(3000):
            url = dice.choice(hosts) + "".join(dice.choices(words, k=dice.randint(0, 5)))
            try:
                found[url] = client.get(url, tag="a").url
            except wherry.ArgumentError:
                continue
            assert client.get(url).url == found[url], repr(url)
    assert asyncio.run(main(list(found))) == list(found.values())
    assert any(told != asked for asked, told in found.items())
    assert any(told == asked for asked, told in found.items())


def test_SEC_U2_the_request_goes_to_the_host_that_was_checked(server: Server) -> None:
    dice = random.Random()
    answered = 0
    with wherry.Client(headers={"X-Test-Key": server.key}, follow_redirects=False) as client:
        for _ in range(300):
            url = server.base + "".join(dice.choices(WORDS, k=dice.randint(0, 6)))
            try:
                answer = client.get(url, tag="a")
            except wherry.ArgumentError as error:
                assert error.reason == "bad_url", repr(url)
                continue
            answered += 1
            assert answer.url.startswith(server.base + "/"), repr(url)
    # A path that begins with @ has another key, and is in another log.
    hosts = [field(told, "host") for told in server.log()]
    assert hosts and len(hosts) <= answered
    assert all(host == [server.base[len("http://") :]] for host in hosts)


# SEC-U3 to SEC-U6: redirects


def test_SEC_U3_client_credentials_stay_with_their_origin(server: Server) -> None:
    there = server.base.replace("127.0.0.1", "localhost")
    secrets = {"Proxy-Authorization": "Basic s", "Cookie": "a=b", "X-Secret": "s"}
    for settings in ({"auth": wherry.Bearer("s")}, {"auth": ("u", "p")}):
        options: Any = {"headers": secrets, **settings}
        with wherry.Client(**options) as client:
            for target, stay in ((server.base, True), (there, False)):
                url = server.url("/redirect-to", url=target + "/echo")
                told = client.get(url).json()
                for name in ("Authorization", "Proxy-Authorization", "Cookie"):
                    assert bool(field(told, name.lower())) == stay, (name, target)
                assert bool(field(told, "x-secret")) == stay
                kept = client.get(url, keep_auth_across_hosts=True).json()
                assert bool(field(kept, "authorization"))


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
def test_SEC_U4_HTTPS_never_redirects_to_HTTP(
    server: Server, tls_base: str, trusting: wherry.Client, tmp_path: Any, status: int
) -> None:
    secure = Server(tls_base, server.key)
    url = secure.url("/redirect-to", url=server.url("/echo"), status=status)
    # The same certificate and route; only the scheme differs.
    assert trusting.get(secure.url("/redirect-to", url=secure.url("/echo"), status=status)).ok

    for ask in (
        trusting.get,
        lambda url: trusting.post(url, json={"secret": 1}),
        lambda url: trusting.download(url, tmp_path / "file"),
        lambda url: trusting.upload(url, png(2, 2)),
        lambda url: trusting.stream("GET", url).__enter__(),
    ):
        with pytest.raises(wherry.HTTPStatusError) as caught:
            ask(url)
        assert caught.value.reason == "redirect_refused"
    assert server.log() == [] and os.listdir(tmp_path) == []


@pytest.mark.parametrize("status", [302, 307])
def test_SEC_U5_no_redirect_changes_to_another_scheme_or_opens_a_connection(
    server: Server, client: wherry.Client, tmp_path: Any, status: int
) -> None:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        listener.listen()
        listener.setblocking(False)
        here = "127.0.0.1:%d" % listener.getsockname()[1]
        for target in (
            "file:///etc/passwd", f"ftp://{here}/x", f"gopher://{here}/_x", f"dict://{here}/d",
            f"ws://{here}/", "javascript:1", "data:,x", f"smb://{here}/x",
        ):  # fmt: skip
            url = server.url("/redirect-to", url=target, status=status)
            for ask in (client.get, lambda url: client.download(url, tmp_path / "file")):
                with pytest.raises(wherry.HTTPStatusError) as caught:
                    ask(url)
                assert caught.value.reason == "redirect_refused"
                answer = caught.value.response
                assert answer is not None and b"root:" not in answer.content
        with pytest.raises(BlockingIOError):
            listener.accept()
    assert os.listdir(tmp_path) == []


def test_SEC_U6_ten_redirects_are_followed_and_the_eleventh_is_not(server: Server, client: wherry.Client) -> None:
    assert len(client.get(server.url("/redirect/10")).history) == 10
    with pytest.raises(wherry.HTTPStatusError) as caught:
        client.get(server.url("/redirect/11"))
    assert caught.value.reason == "too_many_redirects"
    before = len(server.log())
    with pytest.raises(wherry.HTTPStatusError):
        client.get(server.url("/loop"))
    assert len(server.log()) - before == 11


@pytest.mark.parametrize("status", [307, 308])
def test_SEC_U6_a_body_that_cannot_be_replayed_is_not_sent_again(
    server: Server, client: wherry.Client, tmp_path: Any, status: int
) -> None:
    url = server.url("/redirect/2", status=status)
    path = tmp_path / "body"
    path.write_bytes(b"0123456789" * 30000)

    for data, whole in ((b"abc", b"abc"), (path, path.read_bytes())):
        assert body(client.post(url, data=data).json()) == whole
    with pytest.raises(wherry.HTTPStatusError) as caught:
        client.post(url, data=iter([b"abc"]))
    assert caught.value.reason == "redirect_refused"

    async def pieces() -> Any:
        yield b"abc"

    async def main() -> str:
        async with wherry.AsyncClient() as other:
            with pytest.raises(wherry.HTTPStatusError) as refused:
                await other.post(url, data=pieces())
            return refused.value.reason

    assert asyncio.run(main()) == "redirect_refused"
    assert [told["path"] for told in server.log()].count("/echo") == 2


def test_S11_errors_contain_no_secret(server: Server, client: wherry.Client) -> None:
    secret = "s3cr3t"
    failures: Dict[str, Callable[[], Any]] = {
        "userinfo": lambda: client.get(f"http://user:{secret}@h/"),
        "query": lambda: client.get(server.url("/loop", token=secret)),
        "cut": lambda: client.get(server.url("/bytes/100", cut=10, token=secret)),
        "auth": lambda: client.get(server.url("/bytes/100", cut=10), auth=("u", secret)),
        "bearer": lambda: client.get("http://127.0.0.1:1/", auth=wherry.Bearer(secret)),
    }
    for name, fail in failures.items():
        with pytest.raises(wherry.WherryError) as caught:
            fail()
        assert secret not in str(caught.value), name
        assert secret not in repr(caught.value.underlying), name
    for shown in (wherry.Bearer(secret), wherry.Basic("u", secret)):
        assert secret not in repr(shown)


def test_SEC_U11_a_Host_header_selects_another_host_and_disables_cookies_and_caches(
    server: Server, tmp_path: pathlib.Path
) -> None:
    """Host was refused like the framing headers."""
    with wherry.Client(cache=True, storage_directory=str(tmp_path)) as client:
        client.cookies.set("a", "1", url=server.url("/"))
        url = server.url("/cache", control="max-age=3600")
        for host in ("a.example", "b.example:81", "a.example"):
            assert not client.get(url, headers={"Host": host}).from_cache
        assert not client.get(url).from_cache and client.get(url).from_cache
        log = server.log()
        assert [field(told, "host") for told in log[:3]] == [["a.example"], ["b.example:81"], ["a.example"]]
        assert [field(told, "cookie") for told in log] == [[], [], [], ["a=1"]]
        away = server.url("/echo").replace("127.0.0.1", "localhost")
        there = client.get(server.url("/redirect-to", url=away), headers={"Host": "a.example"})
        assert field(there.json(), "host")[0].startswith("localhost:")
        for bad in ("a b", "a:0", "u@a", "b\u00fccher.example", ""):
            with pytest.raises(wherry.ArgumentError) as caught:
                client.get(url, headers={"Host": bad})
            assert caught.value.reason == "bad_header"
        client.headers["Host"] = "client.example"
        assert field(client.get(server.url("/echo")).json(), "host") == ["client.example"]
